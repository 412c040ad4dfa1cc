package desired

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/oaictl/oaictl/internal/model"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

var noon = time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)

// world is a Cluster of three control plane Machines and some workers, and what the service has of them.
type world struct {
	*Cluster
	observed *install.Observed
}

func newWorld(state install.ClusterState, workers int) *world {
	w := &world{
		Cluster:  &Cluster{Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "lab"}}, ControlPlane: &controlplanev1.OpenshiftAssistedControlPlane{}, Workers: workers},
		observed: &install.Observed{At: noon, Cluster: &install.Cluster{State: state}},
	}
	for i := range 3 {
		w.add(fmt.Sprintf("cp-%d", i), true)
	}
	for i := range workers {
		w.add(fmt.Sprintf("w-%d", i), false)
	}
	return w
}

func (w *world) add(name string, controlPlane bool) {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if controlPlane {
		machine.Labels = map[string]string{clusterv1.MachineControlPlaneLabel: ""}
	}
	w.Machines = append(w.Machines, Machine{Machine: machine, Config: &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{Name: name}}})
}

// registers has the host of a Machine registered, in a state that it reached so long ago.
func (w *world) registers(name string, state install.HostState, ago time.Duration) {
	w.observed.InfraEnvs = append(w.observed.InfraEnvs, install.InfraEnv{ID: "env-" + name, Name: name})
	w.observed.Hosts = append(w.observed.Hosts, install.Host{ID: "host-" + name, InfraEnvID: "env-" + name, State: state, Since: noon.Add(-ago), ClusterID: "c"})
}

// pooled has a Machine be handed over by a pool, whose host is bound to a cluster, or to none.
func (w *world) pooled(name, cluster string) {
	for i := range w.Machines {
		m := &w.Machines[i]
		if m.Name != name {
			continue
		}
		m.Spec.ProviderID, m.Spec.InfrastructureRef.Kind = "agent://host-"+name, machines.KindAgentMachine
		m.Infrastructure = &unstructured.Unstructured{Object: map[string]any{"kind": machines.KindAgentMachine, "spec": map[string]any{"providerID": m.Spec.ProviderID}}}
		m.Infrastructure.SetNamespace("lab")
		w.observed.Hosts = append(w.observed.Hosts, install.Host{ID: "host-" + name, InfraEnvID: "pool", State: model.HostUnbound, ClusterID: cluster})
	}
}

func (w *world) controlPlaneReady(ago time.Duration) {
	for i := range 3 {
		w.registers(fmt.Sprintf("cp-%d", i), model.HostReady, ago)
	}
}

func names(p part) string {
	text := ""
	for _, m := range p.machines {
		text += m.Name + " "
	}
	return text
}

func TestTakePart(t *testing.T) {
	const all = "cp-0 cp-1 cp-2 w-0 w-1 "
	for name, test := range map[string]struct {
		state   install.ClusterState
		arrange func(*world)
		want    string
		hold    bool
	}{
		"nothing has registered": {model.ClusterDiscovering, func(*world) {}, all, false},
		"a worker's Machine is not made yet": {model.ClusterDiscovering, func(w *world) {
			w.Workers = 3
			w.controlPlaneReady(time.Minute)
		}, all, true},
		"workers are waited for": {model.ClusterReady, func(w *world) {
			w.controlPlaneReady(9 * time.Minute)
			w.registers("w-0", model.HostReady, time.Minute)
		}, all, false},
		"workers are waited for no more": {model.ClusterReady, func(w *world) {
			w.controlPlaneReady(11 * time.Minute)
			w.registers("w-0", model.HostReady, time.Minute)
			w.registers("w-1", model.HostBlocked, time.Minute)
		}, "cp-0 cp-1 cp-2 w-0 ", false},
		"and those whose Machines are not made neither": {model.ClusterReady, func(w *world) {
			w.Workers = 3
			w.controlPlaneReady(11 * time.Minute)
			w.registers("w-0", model.HostReady, time.Minute)
		}, "cp-0 cp-1 cp-2 w-0 ", false},
		"the wait is said": {model.ClusterReady, func(w *world) {
			w.ControlPlane.Spec.Config.WorkerWait = &metav1.Duration{Duration: time.Hour}
			w.controlPlaneReady(11 * time.Minute)
		}, all, false},
		"required workers are waited for whatever it takes": {model.ClusterReady, func(w *world) {
			w.ControlPlane.Spec.Config.RequiredWorkers = ptr.To[int32](2)
			w.controlPlaneReady(5 * time.Hour)
			w.registers("w-0", model.HostReady, time.Minute)
		}, all, false},
		"all workers are ready": {model.ClusterReady, func(w *world) {
			w.controlPlaneReady(5 * time.Hour)
			w.registers("w-0", model.HostReady, time.Minute)
			w.registers("w-1", model.HostReady, time.Minute)
		}, all, false},
		"one of the control plane is not ready": {model.ClusterBlocked, func(w *world) {
			w.registers("cp-0", model.HostReady, time.Hour)
			w.registers("cp-1", model.HostReady, time.Hour)
			w.registers("cp-2", model.HostBlocked, time.Hour)
		}, all, false},
		"the installation runs": {model.ClusterInstalling, func(w *world) {
			w.controlPlaneReady(time.Hour)
			w.registers("w-1", model.HostInstalling, time.Minute)
		}, "cp-0 cp-1 cp-2 w-1 ", false},
		"it is installed": {model.ClusterInstalled, func(w *world) {
			w.controlPlaneReady(time.Hour)
		}, all, false},
		"a Machine was installed, and the service has no record of it": {model.ClusterInstalled, func(w *world) {
			w.controlPlaneReady(time.Hour)
			w.Machines[3].Spec.ProviderID = "metal3://ns/host/w-0"
		}, "cp-0 cp-1 cp-2 w-1 ", false},
		"a Machine of a pool was installed, and its host was booted anew": {model.ClusterInstalled, func(w *world) {
			w.controlPlaneReady(time.Hour)
			w.pooled("w-0", "")
			w.pooled("w-1", "c")
		}, "cp-0 cp-1 cp-2 w-1 ", false},
		"somebody holds it": {model.ClusterReady, func(w *world) {
			w.ControlPlane.Spec.Config.HoldInstallation = true
			w.controlPlaneReady(time.Minute)
		}, all, true},
		"a Machine is deleted that never registered": {model.ClusterDiscovering, func(w *world) {
			w.Machines[4].DeletionTimestamp = &metav1.Time{Time: noon}
			w.Workers = 1
		}, "cp-0 cp-1 cp-2 w-0 ", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(test.state, 2)
			test.arrange(w)
			got := takePart(w.Cluster, w.observed)
			if names(got) != test.want || got.hold != test.hold {
				t.Errorf("%q, held %v; want %q, held %v", names(got), got.hold, test.want, test.hold)
			}
		})
	}
}

// TestArbitersAreNoWorkers: a Machine with the label of an arbiter is counted as one, and installed as one.
func TestArbitersAreNoWorkers(t *testing.T) {
	w := newWorld(model.ClusterDiscovering, 2)
	w.Machines[3].Labels = map[string]string{bootstrapv1.RoleLabel: bootstrapv1.RoleArbiter}
	if got := takePart(w.Cluster, w.observed); got.controlPlane != 3 || got.arbiters != 1 || got.workers != 1 || got.hold {
		t.Errorf("%d of the control plane, %d arbiters and %d workers take part, held %v", got.controlPlane, got.arbiters, got.workers, got.hold)
	}
	for i, want := range []spec.Role{spec.ControlPlane, spec.ControlPlane, spec.ControlPlane, spec.Arbiter, spec.Worker} {
		if got := roleOf(w.Machines[i]); got != want {
			t.Errorf("%s becomes %s, and should become %s", w.Machines[i].Name, got, want)
		}
	}
}
