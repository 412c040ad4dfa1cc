package lifecycle

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

func template(name, url string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "Metal3MachineTemplate", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"image": map[string]any{"url": url}, "automatedCleaningMode": "metadata"}}},
	}}
}

// made is a Machine as its control plane says.
func made() (*controlplanev1.OpenshiftAssistedControlPlaneSpec, *MachineObjects) {
	spec := &controlplanev1.OpenshiftAssistedControlPlaneSpec{
		OpenshiftAssistedConfigSpec: bootstrapv1.OpenshiftAssistedConfigSpec{
			SSHAuthorizedKey: "key", NodeLabels: map[string]string{"rack": "a"}, Proxy: &bootstrapv1.Proxy{HTTPProxy: "http://proxy"},
		},
	}
	spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "Metal3MachineTemplate", Name: "first"}
	m := &MachineObjects{
		Machine:        &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m-0", CreationTimestamp: metav1.Time{Time: born()}}},
		Config:         &bootstrapv1.OpenshiftAssistedConfig{Spec: *spec.OpenshiftAssistedConfigSpec.DeepCopy()},
		Infrastructure: &unstructured.Unstructured{Object: map[string]any{}},
	}
	m.Infrastructure.SetAnnotations(map[string]string{
		clusterv1.TemplateClonedFromNameAnnotation: "first", clusterv1.TemplateClonedFromGroupKindAnnotation: "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io",
	})
	return spec, m
}

// TestOutdated: a Machine is outdated by the fields that only another Machine can follow, which are named.
func TestOutdated(t *testing.T) {
	domains := []clusterv1.FailureDomain{{Name: "a"}, {Name: "b"}}
	for _, of := range []struct {
		name   string
		change func(*controlplanev1.OpenshiftAssistedControlPlaneSpec, *MachineObjects)
		want   []string
	}{
		{"nothing has changed", func(*controlplanev1.OpenshiftAssistedControlPlaneSpec, *MachineObjects) {}, nil},
		{
			"another template", func(s *controlplanev1.OpenshiftAssistedControlPlaneSpec, _ *MachineObjects) {
				s.MachineTemplate.Spec.InfrastructureRef.Name = "second"
			},
			[]string{"spec.machineTemplate.spec.infrastructureRef: Metal3MachineTemplate first, Metal3MachineTemplate second required (differs in spec.template.spec.image)"},
		},
		{
			"another infrastructure", func(s *controlplanev1.OpenshiftAssistedControlPlaneSpec, _ *MachineObjects) {
				s.MachineTemplate.Spec.InfrastructureRef.Kind = "AgentMachineTemplate"
			},
			[]string{"spec.machineTemplate.spec.infrastructureRef: Metal3MachineTemplate first, AgentMachineTemplate first required (differs in spec.template.spec.image)"},
		},
		{"nobody knows of which template", func(_ *controlplanev1.OpenshiftAssistedControlPlaneSpec, m *MachineObjects) {
			m.Infrastructure.SetAnnotations(nil)
		}, nil},
		{"its infrastructure object is not there", func(s *controlplanev1.OpenshiftAssistedControlPlaneSpec, m *MachineObjects) {
			s.MachineTemplate.Spec.InfrastructureRef.Name, m.Infrastructure = "second", nil
		}, nil},
		{
			"its config", func(s *controlplanev1.OpenshiftAssistedControlPlaneSpec, _ *MachineObjects) {
				s.OpenshiftAssistedConfigSpec.Proxy, s.OpenshiftAssistedConfigSpec.KeepDisks = nil, []string{"/dev/sda"}
			},
			[]string{"spec.openshiftAssistedConfigSpec.keepDisks", "spec.openshiftAssistedConfigSpec.proxy"},
		},
		{"an empty list is none", func(s *controlplanev1.OpenshiftAssistedControlPlaneSpec, _ *MachineObjects) {
			s.OpenshiftAssistedConfigSpec.KeepDisks = []string{}
		}, nil},
		{"what the node follows", func(s *controlplanev1.OpenshiftAssistedControlPlaneSpec, _ *MachineObjects) {
			s.OpenshiftAssistedConfigSpec.NodeLabels, s.OpenshiftAssistedConfigSpec.AllowedAddresses = nil, []string{"192.0.2.1"}
			s.OpenshiftAssistedConfigSpec.Taints = []bootstrapv1.Taint{{Key: "a"}}
		}, nil},
		{"its config is not there", func(s *controlplanev1.OpenshiftAssistedControlPlaneSpec, m *MachineObjects) {
			s.OpenshiftAssistedConfigSpec.Proxy, m.Config = nil, nil
		}, nil},
		{"its failure domain", func(_ *controlplanev1.OpenshiftAssistedControlPlaneSpec, m *MachineObjects) {
			m.Machine.Spec.FailureDomain = "a"
		}, nil},
		{
			"no failure domain any more", func(_ *controlplanev1.OpenshiftAssistedControlPlaneSpec, m *MachineObjects) {
				m.Machine.Spec.FailureDomain = "c"
			},
			[]string{"spec.failureDomain: c is not a failure domain of the control plane any more"},
		},
		{"another version", func(s *controlplanev1.OpenshiftAssistedControlPlaneSpec, m *MachineObjects) {
			s.Version, s.DistributionVersion, m.Machine.Spec.Version = "v1.34.1", "4.21.1", "v1.33.4"
		}, nil},
		{"labels, taints and time-outs", func(s *controlplanev1.OpenshiftAssistedControlPlaneSpec, _ *MachineObjects) {
			s.MachineTemplate.ObjectMeta.Labels = map[string]string{"a": "b"}
			s.MachineTemplate.Spec.Taints = []clusterv1.MachineTaint{{Key: "a"}}
			s.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds, s.MachineTemplate.Spec.MinReadySeconds = ptr.To[int32](1), ptr.To[int32](2)
		}, nil},
	} {
		t.Run(of.name, func(t *testing.T) {
			spec, m := made()
			of.change(spec, m)
			if is := m.Outdated(spec, domains, template("first", "http://a"), template("second", "http://b")); !slices.Equal(is, of.want) {
				t.Errorf("got %q, want %q", is, of.want)
			}
		})
	}
	spec, m := made()
	m.Machine.Spec.FailureDomain = "c"
	if is := m.Outdated(spec, nil, nil, nil); len(is) > 0 {
		t.Errorf("where no failure domain is known, none is gone: %q", is)
	}
	spec.MachineTemplate.Spec.InfrastructureRef.Name = "second"
	if is := m.Outdated(spec, nil, nil, template("second", "http://b")); len(is) != 1 || strings.Contains(is[0], "differs") {
		t.Errorf("what differs is not known: %q", is)
	}
}

// TestExpired: once spec.rollout.after has passed, every Machine that was made before it is outdated.
func TestExpired(t *testing.T) {
	spec, m := made()
	for name, of := range map[string]struct {
		after, now time.Time
		want       bool
	}{
		"nothing is said":       {time.Time{}, born().Add(time.Hour), false},
		"it has passed":         {born().Add(time.Minute), born().Add(time.Hour), true},
		"it has not passed yet": {born().Add(2 * time.Hour), born().Add(time.Hour), false},
		"made afterwards":       {born().Add(-time.Minute), born().Add(time.Hour), false},
	} {
		spec.Rollout.After = metav1.Time{Time: of.after}
		if is := Expired(spec, m.Machine, of.now); is != of.want {
			t.Errorf("%s: %t", name, is)
		}
	}
}

// TestApply: what a node, a Machine or an object can take in place is written to it, and removed from it, and nothing
// that others have put there is changed.
func TestApply(t *testing.T) {
	spec, m := made()
	own := map[string]string{clusterv1.ClusterNameLabel: "lab"}
	m.Machine.Labels, m.Config.Labels = map[string]string{"person": "x"}, map[string]string{"person": "y"}
	m.Infrastructure.SetLabels(map[string]string{"person": "z"})
	spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{Labels: map[string]string{"rack": "a", "old": "1"}, Annotations: map[string]string{"note": "n"}}
	settings := &spec.MachineTemplate.Spec.OpenshiftAssistedControlPlaneMachineSettings
	settings.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "Wired"}}
	settings.Taints, settings.MinReadySeconds = []clusterv1.MachineTaint{{Key: "t"}}, ptr.To[int32](30)
	settings.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](600)
	spec.OpenshiftAssistedConfigSpec.NodeLabels = map[string]string{"zone": "b"}
	m.Apply(spec, own, "v1.34.1")

	objects := map[string]interface {
		GetLabels() map[string]string
		GetAnnotations() map[string]string
	}{"x": m.Machine, "y": m.Config, "z": m.Infrastructure}
	for person, o := range objects {
		want := map[string]string{"person": person, "rack": "a", "old": "1", clusterv1.ClusterNameLabel: "lab"}
		if !reflect.DeepEqual(o.GetLabels(), want) || o.GetAnnotations()["note"] != "n" {
			t.Errorf("%s has %v, %v", person, o.GetLabels(), o.GetAnnotations())
		}
	}
	s := &m.Machine.Spec
	if s.Version != "v1.34.1" || len(s.ReadinessGates) != 1 || len(s.Taints) != 1 || *s.MinReadySeconds != 30 || *s.Deletion.NodeDrainTimeoutSeconds != 600 || *s.Deletion.NodeDeletionTimeoutSeconds != 10 {
		t.Errorf("the Machine is %+v", s)
	}
	if m.Machine.Annotations[HookAnnotation] != HookOwner || m.Config.Spec.NodeLabels["zone"] != "b" || m.Config.Spec.NodeLabels["rack"] != "" {
		t.Errorf("the Machine has %v, the config %v", m.Machine.Annotations, m.Config.Spec.NodeLabels)
	}
	if m.Infrastructure.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation] != "first" || m.Config.Annotations[HookAnnotation] != "" {
		t.Errorf("annotations are %v, %v", m.Infrastructure.GetAnnotations(), m.Config.Annotations)
	}

	before := asText(t, m)
	if m.Apply(spec, own, ""); asText(t, m) != before {
		t.Errorf("once more makes a difference:\n%s\n%s", before, asText(t, m))
	}
	spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{Labels: map[string]string{"rack": "b"}}
	*settings = controlplanev1.OpenshiftAssistedControlPlaneMachineSettings{}
	m.Apply(spec, own, "")
	for person, o := range objects {
		want := map[string]string{"person": person, "rack": "b", clusterv1.ClusterNameLabel: "lab"}
		if _, still := o.GetAnnotations()["note"]; still || !reflect.DeepEqual(o.GetLabels(), want) {
			t.Errorf("%s still has %v, %v", person, o.GetLabels(), o.GetAnnotations())
		}
	}
	if s.Version != "v1.34.1" || s.ReadinessGates != nil || s.Taints != nil || s.MinReadySeconds != nil || s.Deletion.NodeDrainTimeoutSeconds != nil || *s.Deletion.NodeDeletionTimeoutSeconds != 10 {
		t.Errorf("the Machine is still %+v", s)
	}
	spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{}
	if m.Apply(spec, own, ""); m.Machine.Annotations[AppliedAnnotation] != "" || m.Machine.Labels["rack"] != "" {
		t.Errorf("it remembers %v", m.Machine.Annotations)
	}
}

func asText(t *testing.T, m *MachineObjects) string {
	t.Helper()
	text, err := json.Marshal([]any{m.Machine, m.Config, m.Infrastructure})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
