package convert

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/pkg/capi/api"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// TestEveryVersionIsConverted makes the converters as the webhooks do: each version that is served has one.
func TestEveryVersionIsConverted(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, hub := range map[string]client.Object{
		"OpenshiftAssistedConfig": &bootstrapv1.OpenshiftAssistedConfig{}, "OpenshiftAssistedConfigTemplate": &bootstrapv1.OpenshiftAssistedConfigTemplate{},
		"OpenshiftAssistedControlPlane": &controlplanev1.OpenshiftAssistedControlPlane{}, "AgentCluster": &agentv1.AgentCluster{},
		"AgentMachine": &agentv1.AgentMachine{}, "AgentMachineTemplate": &agentv1.AgentMachineTemplate{},
	} {
		if _, err := Kind(hub)(scheme); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if versions := len(converterOf(t, hub).older); versions != len(tables[kind]) || versions != 2 {
			t.Errorf("%s has %d older versions", kind, versions)
		}
	}
}

// TestWhatCannotBeConverted is told when a manager starts, or by the object.
func TestWhatCannotBeConverted(t *testing.T) {
	hub, storedAlone := &agentv1.AgentMachine{}, runtime.NewScheme()
	if _, err := newConverter(storedAlone, hub); err == nil {
		t.Error("a kind that no scheme has is converted")
	}
	if err := agentv1.AddToScheme(storedAlone); err != nil {
		t.Fatal(err)
	}
	if _, err := newConverter(storedAlone, hub); err == nil || err.Error() != "AgentMachine v1alpha1 is served, and cannot be converted" {
		t.Errorf("without the older versions: %v", err)
	}
	if _, err := definitionOf(agentv1.GroupVersion().WithKind("AgentThing")); err == nil {
		t.Error("a kind without definition has one")
	}
	c, typed := converterOf(t, hub), &agentv1.AgentMachine{}
	hub.SetGroupVersionKind(c.hub)
	typed.SetGroupVersionKind(c.hub.GroupKind().WithVersion("v1beta1"))
	if err := c.ConvertObject(t.Context(), hub, typed); err == nil || !strings.Contains(err.Error(), "is a *v1beta2.AgentMachine") {
		t.Errorf("into a typed object of an older version: %v", err)
	}
	older := as(t, "v1beta1", hub)
	older.Object["spec"] = map[string]any{"providerID": map[string]any{}}
	if err := store(t, older, hub); err == nil || !strings.Contains(err.Error(), "making a AgentMachine") {
		t.Errorf("a field of another type: %v", err)
	}
}

// as is an object of the stored version in an older one.
func as(t *testing.T, version string, hub client.Object) *unstructured.Unstructured {
	t.Helper()
	c := converterOf(t, hub)
	hub.GetObjectKind().SetGroupVersionKind(c.hub)
	older := &unstructured.Unstructured{}
	older.SetGroupVersionKind(c.hub.GroupKind().WithVersion(version))
	if err := c.ConvertObject(t.Context(), hub, older); err != nil {
		t.Fatal(err)
	}
	return older
}

// store makes an object of an older version the stored one.
func store(t *testing.T, older *unstructured.Unstructured, hub client.Object) error {
	t.Helper()
	c := converterOf(t, hub)
	hub.GetObjectKind().SetGroupVersionKind(c.hub)
	return c.ConvertObject(t.Context(), older, hub)
}

var conditions = []metav1.Condition{
	{Type: "Ready", Status: metav1.ConditionFalse, Reason: "InfraEnvFailed", Message: "no image"},
	{Type: "DataSecretAvailable", Status: metav1.ConditionTrue, Reason: "DataSecretAvailable"},
	{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse, Reason: "NotPaused"},
}

func TestOlderConfigsShowWhatBecameOfThem(t *testing.T) {
	hub := &bootstrapv1.OpenshiftAssistedConfig{}
	hub.Status.Conditions = conditions
	hub.Status.Initialization.DataSecretCreated = new(true)
	hub.Status.DataSecretName = "worker-0"
	hub.Status.InfraEnvRef = &bootstrapv1.ObjectReference{Namespace: "default", Name: "worker-0"}

	v1 := as(t, "v1alpha1", hub)
	kind, _, _ := unstructured.NestedString(v1.Object, "status", "infraEnvRef", "kind")
	name, _, _ := unstructured.NestedString(v1.Object, "status", "infraEnvRef", "name")
	secret, _, _ := unstructured.NestedString(v1.Object, "status", "dataSecretName")
	if ready, _, _ := unstructured.NestedBool(v1.Object, "status", "ready"); !ready || secret != "worker-0" || name != "worker-0" || kind != "InfraEnv" {
		t.Errorf("v1alpha1 shows %+v", v1.Object["status"])
	}
	v2 := as(t, "v1alpha2", hub)
	for _, each := range []struct {
		of    *unstructured.Unstructured
		field string
	}{{v1, "conditions"}, {v2, "v1beta1Conditions"}} {
		old, _, _ := unstructured.NestedSlice(each.of.Object, "status", each.field)
		if len(old) != 2 {
			t.Fatalf("%s has the conditions %+v", each.of.GetAPIVersion(), old)
		}
		first, _ := old[0].(map[string]any)
		second, _ := old[1].(map[string]any)
		if first["severity"] != "Info" || first["reason"] != "InfraEnvFailed" || second["severity"] != nil || second["reason"] != nil {
			t.Errorf("%s has the conditions %+v", each.of.GetAPIVersion(), old)
		}
	}
}

func TestOlderControlPlanesShowWhatBecameOfThem(t *testing.T) {
	hub := &controlplanev1.OpenshiftAssistedControlPlane{}
	hub.Status.Conditions = []metav1.Condition{{Type: clusterv1.AvailableCondition, Status: metav1.ConditionTrue, Reason: "Available"}}
	hub.Status.Initialization.ControlPlaneInitialized = new(true)
	hub.Status.Replicas, hub.Status.AvailableReplicas, hub.Status.UpToDateReplicas = new(int32(3)), new(int32(2)), new(int32(3))
	hub.Status.Version = "v1.33.4"
	status, _, _ := unstructured.NestedMap(as(t, "v1alpha2", hub).Object, "status")
	for field, want := range map[string]any{
		"ready": true, "initialized": true, "unavailableReplicas": int64(1), "updatedReplicas": int64(3), "version": "v1.33.4",
	} {
		if status[field] != want {
			t.Errorf("v1alpha2 shows %s %v", field, status[field])
		}
	}
	if shown, _ := status["conditions"].([]any); len(shown) != 1 {
		t.Errorf("v1alpha2 shows the conditions %v", shown)
	}
}

// TestOlderKindsAreReady: a flag of the older versions is shown whether it is set or not.
func TestOlderKindsAreReady(t *testing.T) {
	machine, cluster := &agentv1.AgentMachine{}, &agentv1.AgentCluster{}
	for _, is := range []bool{false, true} {
		machine.Status.Initialization.Provisioned, cluster.Status.Initialization.Provisioned = &is, &is
		for _, hub := range []client.Object{machine, cluster} {
			older := as(t, "v1beta1", hub)
			if ready, shown, err := unstructured.NestedBool(older.Object, "status", "ready"); ready != is || !shown || err != nil {
				t.Errorf("%s v1beta1 is ready: %v, %v, %v", older.GetKind(), ready, shown, err)
			}
		}
	}
}

// TestAnEditThroughAnOlderVersionKeepsTheRest edits one field that v1alpha3 knows, and finds
// those again that it does not.
func TestAnEditThroughAnOlderVersionKeepsTheRest(t *testing.T) {
	hub := &controlplanev1.OpenshiftAssistedControlPlane{}
	hub.Spec.Replicas, hub.Spec.Version, hub.Spec.DistributionVersion = new(int32(3)), "v1.33.4", "4.20.3"
	hub.Spec.Config.BaseDomain = "example.com"
	hub.Spec.Config.MTU = 1400
	hub.Spec.OpenshiftAssistedConfigSpec.MachineConfigPool = "gpu"
	hub.Spec.OpenshiftAssistedConfigSpec.CPUArchitecture = "arm64"
	old := as(t, "v1alpha3", hub)
	if err := unstructured.SetNestedField(old.Object, int64(5), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(old.Object, "spec", "openshiftAssistedConfigSpec", "cpuArchitecture")
	var after controlplanev1.OpenshiftAssistedControlPlane
	if err := store(t, old, &after); err != nil {
		t.Fatal(err)
	}
	s := after.Spec
	if *s.Replicas != 5 || s.OpenshiftAssistedConfigSpec.CPUArchitecture != "" {
		t.Errorf("the edit is lost: %+v", s)
	}
	if s.Version != "v1.33.4" || s.Config.MTU != 1400 || s.OpenshiftAssistedConfigSpec.MachineConfigPool != "gpu" || s.Config.BaseDomain != "example.com" {
		t.Errorf("what v1alpha3 does not know is lost: %+v", s)
	}
	if _, left := after.Annotations[conversion.DataAnnotation]; left {
		t.Error("the annotation is stored")
	}
}

func TestAnObjectThatOlderVersionsCanSayHasNoAnnotation(t *testing.T) {
	hub := &controlplanev1.OpenshiftAssistedControlPlane{}
	hub.Spec.Replicas, hub.Spec.DistributionVersion, hub.Spec.Config.BaseDomain = new(int32(3)), "4.20.3", "example.com"
	if old := as(t, "v1alpha3", hub); len(old.GetAnnotations()) > 0 {
		t.Errorf("annotations are %q", old.GetAnnotations())
	}
}

// TestConvertingBetweenOlderVersions goes by way of the stored one.
func TestConvertingBetweenOlderVersions(t *testing.T) {
	hub := &controlplanev1.OpenshiftAssistedControlPlane{}
	hub.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = new(int32(90))
	c, middle := converterOf(t, hub), as(t, "v1alpha3", hub)
	oldest := &unstructured.Unstructured{}
	oldest.SetGroupVersionKind(c.hub.GroupKind().WithVersion("v1alpha2"))
	if err := c.ConvertObject(t.Context(), middle, oldest); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedString(oldest.Object, "spec", "machineTemplate", "nodeDrainTimeout"); got != "1m30s" {
		t.Errorf("the timeout is %q", got)
	}
	if err := unstructured.SetNestedField(oldest.Object, "soon", "spec", "machineTemplate", "nodeDrainTimeout"); err != nil {
		t.Fatal(err)
	}
	if err := store(t, oldest, hub); err == nil || !strings.Contains(err.Error(), "spec.machineTemplate.nodeDrainTimeout") {
		t.Errorf("a timeout that is none becomes %v", err)
	}
}

func TestAnnotationsOfOthers(t *testing.T) {
	for name, c := range map[string]struct{ data, fails string }{
		"of another hub": {`{"apiVersion": "controlplane.cluster.x-k8s.io/v1alpha3", "spec": {"version": "v1.1.1"}}`, ""},
		"without hub":    {`{"spec": {"version": "v1.1.1"}}`, ""},
		"no JSON":        {`{`, "remove it"},
		"other fields":   {`{"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "spec": {"version": 7}}`, "remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			var hub controlplanev1.OpenshiftAssistedControlPlane
			old := as(t, "v1alpha3", &hub)
			old.SetAnnotations(map[string]string{conversion.DataAnnotation: c.data, "mine": "stays"})
			err := store(t, old, &hub)
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil || hub.Spec.Version != "" || len(hub.Annotations) != 1 {
				t.Errorf("it becomes version %q, annotations %q, error %v", hub.Spec.Version, hub.Annotations, err)
			}
		})
	}
}

// TestInfrastructureReferenceKeepsItsVersion reads a v1alpha2 manifest back as it was written.
func TestInfrastructureReferenceKeepsItsVersion(t *testing.T) {
	reference := func(of *unstructured.Unstructured) map[string]string {
		ref, _, _ := unstructured.NestedStringMap(of.Object, "spec", "machineTemplate", "infrastructureRef")
		return ref
	}
	var hub controlplanev1.OpenshiftAssistedControlPlane
	old := as(t, "v1alpha2", &hub)
	if err := unstructured.SetNestedStringMap(old.Object, map[string]string{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha7", "kind": "Metal3MachineTemplate", "name": "lab", "namespace": "default",
	}, "spec", "machineTemplate", "infrastructureRef"); err != nil {
		t.Fatal(err)
	}
	if err := store(t, old, &hub); err != nil {
		t.Fatal(err)
	}
	ref := hub.Spec.MachineTemplate.Spec.InfrastructureRef
	if ref.APIGroup != "infrastructure.cluster.x-k8s.io" || ref.Kind != "Metal3MachineTemplate" || ref.Name != "lab" {
		t.Errorf("the reference becomes %+v", ref)
	}
	if again := reference(as(t, "v1alpha2", &hub)); again["apiVersion"] != "infrastructure.cluster.x-k8s.io/v1alpha7" || again["namespace"] != "default" {
		t.Errorf("it comes back as %+v", again)
	}
	hub.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "new"
	if got := reference(as(t, "v1alpha2", &hub)); got["name"] != "new" || got["apiVersion"] != "infrastructure.cluster.x-k8s.io/v1beta1" {
		t.Errorf("a changed reference becomes %+v", got)
	}
}
