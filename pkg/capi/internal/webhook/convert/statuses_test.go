package convert

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conversion"

	"github.com/oaictl/oaictl/pkg/capi/api"
	agentv1beta1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta1"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1alpha1"
	"github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1alpha2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1alpha2 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1alpha2"
	controlplanev1alpha3 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1alpha3"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// TestEveryVersionIsConverted makes the converters as the webhooks do: each version in the
// scheme has one.
func TestEveryVersionIsConverted(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]Constructor{
		"OpenshiftAssistedConfig": Config(), "OpenshiftAssistedConfigTemplate": ConfigTemplate(), "OpenshiftAssistedControlPlane": ControlPlane(),
		"AgentCluster": AgentCluster(), "AgentMachine": AgentMachine(), "AgentMachineTemplate": AgentMachineTemplate(),
	} {
		if _, err := make(scheme); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
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

	var v1 v1alpha1.OpenshiftAssistedConfig
	if err := configs()[1].ConvertHubToSpoke(t.Context(), hub, &v1); err != nil {
		t.Fatal(err)
	}
	if s := v1.Status; !s.Ready || *s.DataSecretName != "worker-0" || s.InfraEnvRef.Name != "worker-0" || s.InfraEnvRef.Kind != "InfraEnv" {
		t.Errorf("v1alpha1 shows %+v", s)
	}
	var v2 v1alpha2.OpenshiftAssistedConfig
	if err := configs()[0].ConvertHubToSpoke(t.Context(), hub, &v2); err != nil {
		t.Fatal(err)
	}
	for version, old := range map[string][]bootstrapv1.DeprecatedCondition{"v1alpha1": v1.Status.Conditions, "v1alpha2": v2.Status.V1Beta1Conditions} {
		if len(old) != 2 || old[0].Severity != "Info" || old[0].Reason != "InfraEnvFailed" || old[1].Severity != "" || old[1].Reason != "" {
			t.Errorf("%s has the conditions %+v", version, old)
		}
	}
}

func TestOlderControlPlanesShowWhatBecameOfThem(t *testing.T) {
	hub := &controlplanev1.OpenshiftAssistedControlPlane{}
	hub.Status.Conditions = []metav1.Condition{{Type: clusterv1.AvailableCondition, Status: metav1.ConditionTrue, Reason: "Available"}}
	hub.Status.Initialization.ControlPlaneInitialized = new(true)
	hub.Status.Replicas, hub.Status.AvailableReplicas, hub.Status.UpToDateReplicas = new(int32(3)), new(int32(2)), new(int32(3))
	hub.Status.Version = "v1.33.4"
	var old controlplanev1alpha2.OpenshiftAssistedControlPlane
	if err := controlPlanes()[1].ConvertHubToSpoke(t.Context(), hub, &old); err != nil {
		t.Fatal(err)
	}
	if s := old.Status; !s.Ready || !s.Initialized || s.UnavailableReplicas != 1 || s.UpdatedReplicas != 3 || *s.Version != "v1.33.4" || len(s.Conditions) != 1 {
		t.Errorf("v1alpha2 shows %+v", s)
	}
}

func TestOlderAgentKindsAreReady(t *testing.T) {
	machine := &agentv1.AgentMachine{}
	machine.Status.Initialization.Provisioned = new(true)
	var oldMachine agentv1beta1.AgentMachine
	if err := agentMachines()[0].ConvertHubToSpoke(t.Context(), machine, &oldMachine); err != nil || !oldMachine.Status.Ready {
		t.Errorf("AgentMachine v1beta1 is ready: %v, %v", oldMachine.Status.Ready, err)
	}
	cluster := &agentv1.AgentCluster{}
	cluster.Status.Initialization.Provisioned = new(true)
	var oldCluster agentv1beta1.AgentCluster
	if err := agentClusters()[0].ConvertHubToSpoke(t.Context(), cluster, &oldCluster); err != nil || !oldCluster.Status.Ready {
		t.Errorf("AgentCluster v1beta1 is ready: %v, %v", oldCluster.Status.Ready, err)
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
	var old controlplanev1alpha3.OpenshiftAssistedControlPlane
	if err := controlPlanes()[0].ConvertHubToSpoke(t.Context(), hub, &old); err != nil {
		t.Fatal(err)
	}
	old.Spec.Replicas = 5
	old.Spec.OpenshiftAssistedConfigSpec.CPUArchitecture = ""
	var after controlplanev1.OpenshiftAssistedControlPlane
	if err := controlPlanes()[0].ConvertSpokeToHub(t.Context(), &old, &after); err != nil {
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
	var old controlplanev1alpha3.OpenshiftAssistedControlPlane
	if err := controlPlanes()[0].ConvertHubToSpoke(t.Context(), hub, &old); err != nil {
		t.Fatal(err)
	}
	if len(old.Annotations) > 0 {
		t.Errorf("annotations are %q", old.Annotations)
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
			old := controlplanev1alpha3.OpenshiftAssistedControlPlane{}
			old.Annotations = map[string]string{conversion.DataAnnotation: c.data, "mine": "stays"}
			var hub controlplanev1.OpenshiftAssistedControlPlane
			err := controlPlanes()[0].ConvertSpokeToHub(t.Context(), &old, &hub)
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
	old := controlplanev1alpha2.OpenshiftAssistedControlPlane{}
	old.Spec.MachineTemplate.InfrastructureRef.APIVersion = "infrastructure.cluster.x-k8s.io/v1alpha7"
	old.Spec.MachineTemplate.InfrastructureRef.Kind = "Metal3MachineTemplate"
	old.Spec.MachineTemplate.InfrastructureRef.Name = "lab"
	old.Spec.MachineTemplate.InfrastructureRef.Namespace = "default"
	var hub controlplanev1.OpenshiftAssistedControlPlane
	if err := controlPlanes()[1].ConvertSpokeToHub(t.Context(), &old, &hub); err != nil {
		t.Fatal(err)
	}
	ref := hub.Spec.MachineTemplate.Spec.InfrastructureRef
	if ref.APIGroup != "infrastructure.cluster.x-k8s.io" || ref.Kind != "Metal3MachineTemplate" || ref.Name != "lab" {
		t.Errorf("the reference becomes %+v", ref)
	}
	var again controlplanev1alpha2.OpenshiftAssistedControlPlane
	if err := controlPlanes()[1].ConvertHubToSpoke(t.Context(), &hub, &again); err != nil {
		t.Fatal(err)
	}
	if again.Spec.MachineTemplate.InfrastructureRef != old.Spec.MachineTemplate.InfrastructureRef {
		t.Errorf("it comes back as %+v", again.Spec.MachineTemplate.InfrastructureRef)
	}
	hub.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "new"
	if err := controlPlanes()[1].ConvertHubToSpoke(t.Context(), &hub, &again); err != nil {
		t.Fatal(err)
	}
	if got := again.Spec.MachineTemplate.InfrastructureRef; got.Name != "new" || got.APIVersion != "infrastructure.cluster.x-k8s.io/v1beta1" {
		t.Errorf("a changed reference becomes %+v", got)
	}
}
