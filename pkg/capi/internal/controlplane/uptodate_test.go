//go:build e2e

package controlplane_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// infrastructure is the infrastructure object of a Machine.
func (x *site) infrastructure(m *clusterv1.Machine) *unstructured.Unstructured {
	x.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
	u.SetKind("Metal3Machine")
	if !x.get(u, m.Spec.InfrastructureRef.Name) {
		x.t.Fatalf("Machine %s has no infrastructure object", m.Name)
	}
	return u
}

func (x *site) config(m *clusterv1.Machine) *bootstrapv1.OpenshiftAssistedConfig {
	x.t.Helper()
	config := &bootstrapv1.OpenshiftAssistedConfig{}
	if !x.get(config, m.Spec.Bootstrap.ConfigRef.Name) {
		x.t.Fatalf("Machine %s has no config", m.Name)
	}
	return config
}

// quiet waits until the reconciler writes nothing any more.
func (x *site) quiet() {
	x.t.Helper()
	calm := 0
	x.eventually("no more writes", func() (bool, string) {
		written := x.written.take()
		if calm++; len(written) > 0 {
			calm = 0
		}
		return calm > 30, strings.Join(written, ", ")
	})
}

// TestWhatNodesFollowIsAppliedInPlace: labels, annotations, taints, readiness gates and time-outs reach the
// Machines that are there by one write to each of their objects, and none afterwards. Versions, and what the
// control plane itself is labelled with, change nothing.
func TestWhatNodesFollowIsAppliedInPlace(t *testing.T) {
	x := open(t, 3, model.ClusterAddingHosts)
	x.run(3)
	x.quiet()
	uids := map[string]bool{}
	for _, m := range x.machines() {
		uids[string(m.UID)] = true
		if c := conditions.Get(&m, clusterv1.MachineUpToDateCondition); c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("%s is not up to date: %+v", m.Name, c)
		}
		if m.Spec.Version != "v1.33.4" && !strings.HasPrefix(m.Spec.Version, "v1.33.") {
			t.Errorf("%s has version %q, and its node runs 1.33", m.Name, m.Spec.Version)
		}
		if m.Annotations[lifecycle.HookAnnotation] == "" {
			t.Errorf("%s has no hook: %v", m.Name, m.Annotations)
		}
	}
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) {
		c.Labels["own"], c.Annotations["own"] = "changed", "changed"
		c.Spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{Labels: map[string]string{"rack": "a"}, Annotations: map[string]string{"example.com/note": "n"}}
		of := &c.Spec.MachineTemplate.Spec.OpenshiftAssistedControlPlaneMachineSettings
		of.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "UpToDate"}}
		of.Deletion.NodeDrainTimeoutSeconds, of.MinReadySeconds = ptr.To[int32](20), ptr.To[int32](1)
		c.Spec.OpenshiftAssistedConfigSpec.NodeLabels = map[string]string{"example.com/zone": "b"}
	})
	x.eventually("the change to be applied", func() (bool, string) {
		for _, m := range x.machines() {
			if m.Labels["rack"] != "a" || m.Spec.MinReadySeconds == nil {
				return false, m.Name
			}
		}
		return true, ""
	})
	counts := map[string]int{}
	for range 20 {
		for _, w := range x.written.take() {
			counts[w]++
		}
		_ = x.clock.Sleep(t.Context(), 10e9)
	}
	for _, m := range x.machines() {
		infra, config := x.infrastructure(&m), x.config(&m)
		s := &m.Spec
		if !uids[string(m.UID)] || m.Annotations["example.com/note"] != "n" || s.ReadinessGates[0].ConditionType != "UpToDate" || *s.Deletion.NodeDrainTimeoutSeconds != 20 {
			t.Errorf("Machine %s is %s", m.Name, text(m))
		}
		if infra.GetLabels()["rack"] != "a" || infra.GetAnnotations()["example.com/note"] != "n" || config.Labels["rack"] != "a" || config.Annotations["example.com/note"] != "n" {
			t.Errorf("its objects have %v, %v, %v, %v", infra.GetLabels(), infra.GetAnnotations(), config.Labels, config.Annotations)
		}
		if config.Spec.NodeLabels["example.com/zone"] != "b" || m.Labels["own"] != "" || m.Annotations["own"] != "" || config.Annotations["own"] != "" {
			t.Errorf("Machine %s has %v, %v; its config %v, %v", m.Name, m.Labels, m.Annotations, config.Spec.NodeLabels, config.Annotations)
		}
		if !conditions.IsTrue(&m, clusterv1.MachineUpToDateCondition) {
			t.Errorf("Machine %s is not up to date", m.Name)
		}
		for _, of := range []string{"/machines/" + m.Name, "/metal3machines/" + infra.GetName(), "/openshiftassistedconfigs/" + config.Name} {
			n := 0
			for w, times := range counts {
				if strings.HasPrefix(w, "PATCH") && strings.HasSuffix(w, of) {
					n += times
				}
			}
			if n > 1 {
				t.Errorf("%s was written %d times: %v", of, n, counts)
			}
		}
	}
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) {
		c.Spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{}
	})
	x.eventually("what the template has no more to go", func() (bool, string) {
		for _, m := range x.machines() {
			if m.Labels["rack"] != "" || m.Annotations["example.com/note"] != "" || x.infrastructure(&m).GetLabels()["rack"] != "" || x.config(&m).Labels["rack"] != "" {
				return false, m.Name
			}
		}
		return true, ""
	})
	x.quiet()
	_ = x.clock.Sleep(t.Context(), 15*time.Minute) // nothing is left for later, either
	x.written.take()
	x.touch()
	if written := x.written.take(); len(written) > 0 {
		t.Errorf("with nothing changed, a reconcile writes %q", written)
	}
}

// TestRefusedChangesAreTold: a Cluster API that takes no taints has everything else applied, and the Machines
// say what is not.
func TestRefusedChangesAreTold(t *testing.T) {
	x := open(t, 3, model.ClusterAddingHosts)
	x.run(3)
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) {
		c.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"rack": "a"}
		c.Spec.MachineTemplate.Spec.Taints = []clusterv1.MachineTaint{{Key: "example.com/busy", Effect: "PreferNoSchedule", Propagation: clusterv1.MachineTaintPropagationAlways}}
	})
	x.eventually("the Machines to say so", func() (bool, string) {
		for _, m := range x.machines() {
			c := conditions.Get(&m, clusterv1.MachineUpToDateCondition)
			if c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "MachineTaintPropagation") || m.Labels["rack"] != "a" {
				return false, text(c)
			}
		}
		return true, ""
	})
	if c := conditions.Get(x.plane(), clusterv1.AvailableCondition); c.Status != metav1.ConditionTrue {
		t.Errorf("the control plane is %s", text(c))
	}
}

// touch triggers a reconcile of the control plane though nothing of it has changed.
func (x *site) touch() {
	x.t.Helper()
	for _, m := range x.machines() {
		before := m.DeepCopy()
		m.Annotations["test.example.com/touched"] = x.clock.Now().String()
		if err := x.client.Patch(x.t.Context(), &m, mergeFrom(before)); err != nil {
			x.t.Fatal(err)
		}
	}
	_ = x.clock.Sleep(x.t.Context(), 150e9)
}

// TestMachinesThatDifferAreNamedAndStay: by the default strategy no Machine is replaced, and each says in
// which fields it differs.
func TestMachinesThatDifferAreNamedAndStay(t *testing.T) {
	x := open(t, 3, model.ClusterAddingHosts)
	x.run(3)
	x.patch(func(c *controlplanev1.OpenshiftAssistedControlPlane) {
		c.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "second"
		c.Spec.OpenshiftAssistedConfigSpec.AdditionalNTPSources = []string{"ntp.example.com"}
	})
	x.eventually("the Machines to say in what they differ", func() (bool, string) {
		for _, m := range x.machines() {
			c := conditions.Get(&m, clusterv1.MachineUpToDateCondition)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != clusterv1.MachineNotUpToDateReason ||
				!strings.Contains(c.Message, "* spec.machineTemplate.spec.infrastructureRef: Metal3MachineTemplate first, Metal3MachineTemplate second required (differs in spec.template.spec.image)") ||
				!strings.Contains(c.Message, "* spec.openshiftAssistedConfigSpec.additionalNTPSources") {
				return false, text(c)
			}
		}
		return true, ""
	})
	x.eventually("the control plane to say so", func() (bool, string) {
		c := x.plane()
		all, rolling := conditions.Get(c, clusterv1.MachinesUpToDateCondition), conditions.Get(c, clusterv1.RollingOutCondition)
		return all.Status == metav1.ConditionFalse && all.Reason == clusterv1.NotUpToDateReason && *c.Status.UpToDateReplicas == 0 &&
			rolling.Status == metav1.ConditionFalse && strings.Contains(rolling.Message, "OnDelete"), text([]any{all, rolling})
	})
	x.never("a Machine is replaced that nobody has asked to be", func() (bool, string) {
		all := x.machines()
		return len(all) != 3 || !all[0].DeletionTimestamp.IsZero(), text(all)
	})
}
