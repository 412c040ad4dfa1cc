package clusterspec

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

var noon = time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)

// world is a Cluster of three control plane Machines and some workers, and what the service has of them.
type world struct {
	*Cluster
	observed *model.Observed
}

func newWorld(state model.ClusterState, workers int) *world {
	w := &world{
		Cluster:  &Cluster{Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "lab"}}, ControlPlane: &controlplanev1.OpenshiftAssistedControlPlane{}, Workers: workers},
		observed: &model.Observed{At: noon, Cluster: &model.Cluster{State: state}},
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

// makesInfraEnv makes the InfraEnv that the host of a Machine registers from.
func (w *world) makesInfraEnv(name string) {
	w.observed.InfraEnvs = append(w.observed.InfraEnvs, model.InfraEnv{ID: "env-" + name, Name: name})
}

// registers has the host of a Machine registered, in a state that it reached so long ago.
func (w *world) registers(name string, state model.HostState, ago time.Duration) {
	w.makesInfraEnv(name)
	w.observed.Hosts = append(w.observed.Hosts, model.Host{ID: "host-" + name, InfraEnvID: "env-" + name, State: state, Since: noon.Add(-ago), ClusterID: "c"})
}

// deletes marks a Machine as being deleted.
func (w *world) deletes(name string) {
	for _, m := range w.Machines {
		if m.Name == name {
			m.DeletionTimestamp = &metav1.Time{Time: noon}
		}
	}
}

// pooled marks a Machine as handed over by a pool. Its host is bound to a cluster, or to none.
func (w *world) pooled(name, cluster string) {
	for i := range w.Machines {
		m := &w.Machines[i]
		if m.Name != name {
			continue
		}
		m.Spec.ProviderID, m.Spec.InfrastructureRef.Kind = "agent://host-"+name, machines.KindAgentMachine
		m.Infrastructure = &unstructured.Unstructured{Object: map[string]any{"kind": machines.KindAgentMachine, "spec": map[string]any{"providerID": m.Spec.ProviderID}}}
		m.Infrastructure.SetNamespace("lab")
		m.reserved = "pool/host-" + name
		w.observed.Hosts = append(w.observed.Hosts, model.Host{ID: "host-" + name, InfraEnvID: "pool", State: model.HostUnbound, ClusterID: cluster})
	}
}

func (w *world) controlPlaneReady(ago time.Duration) {
	for i := range 3 {
		w.registers(fmt.Sprintf("cp-%d", i), model.HostReady, ago)
	}
}

func names(p participants) string {
	text := ""
	for _, m := range p.machines {
		text += m.Name + " "
	}
	for _, m := range p.leftOut {
		text += "without " + m.Name + " "
	}
	return text
}

func TestTakePart(t *testing.T) {
	const all = "cp-0 cp-1 cp-2 w-0 w-1 "
	for name, test := range map[string]struct {
		state   model.ClusterState
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
		}, "cp-0 cp-1 cp-2 w-0 without w-1 ", false},
		"one of them does not answer": {model.ClusterReady, func(w *world) {
			w.controlPlaneReady(11 * time.Minute)
			w.registers("w-0", model.HostReady, time.Minute)
			w.registers("w-1", model.HostDisconnected, time.Second)
		}, "cp-0 cp-1 cp-2 w-0 without w-1 ", false},
		"one of them is still checked": {model.ClusterReady, func(w *world) {
			w.controlPlaneReady(11 * time.Minute)
			w.registers("w-0", model.HostReady, time.Minute)
			w.registers("w-1", model.HostBlocked, 59*time.Second)
		}, all, false},
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
		"a Machine has a provider id before it registers": {model.ClusterDiscovering, func(w *world) {
			w.Machines[0].Spec.ProviderID = "aws:///eu-west-1a/i-0"
			w.makesInfraEnv("cp-0")
			w.Machines[3].Spec.ProviderID = "aws:///eu-west-1a/i-3" // and its InfraEnv was deleted
		}, all, false},
		"a Machine that is added has one before it registers": {model.ClusterInstalled, func(w *world) {
			w.controlPlaneReady(time.Hour)
			w.Machines[3].Spec.ProviderID = "aws:///eu-west-1a/i-3"
			w.makesInfraEnv("w-0")
		}, all, false},
		"a Machine is a node, and somebody deleted its record": {model.ClusterInstalled, func(w *world) {
			w.controlPlaneReady(time.Hour)
			w.Machines[3].Spec.ProviderID, w.Machines[3].Status.NodeRef.Name = "metal3://ns/host/w-0", "w-0"
			w.makesInfraEnv("w-0")
		}, "cp-0 cp-1 cp-2 w-1 ", false},
		"the cluster was moved": {model.ClusterDiscovering, func(w *world) {
			w.observed.Cluster = nil
			w.ControlPlane.Annotations = map[string]string{AnnotationOpenShiftID: "id"}
			for i := range w.Machines {
				w.Machines[i].Spec.ProviderID = "metal3://ns/host/" + w.Machines[i].Name
			}
		}, "", false},
		"it is not known how a Machine boots": {model.ClusterDiscovering, func(w *world) {
			w.Machines[3].Spec.InfrastructureRef.Kind = machines.KindMetal3Machine
			w.Machines[4].Spec.InfrastructureRef.Kind = machines.KindMetal3Machine
			w.registers("w-1", model.HostReady, time.Minute)
		}, "cp-0 cp-1 cp-2 w-1 ", true},
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
		"a Machine is deleted that is ready": {model.ClusterReady, func(w *world) {
			w.controlPlaneReady(time.Minute)
			w.registers("w-0", model.HostReady, time.Minute)
			w.registers("w-1", model.HostReady, time.Minute)
			w.deletes("w-1")
			w.Workers = 1
		}, "cp-0 cp-1 cp-2 w-0 without w-1 ", false},
		"a Machine is deleted that is ready, and workers are waited for no more": {model.ClusterReady, func(w *world) {
			w.controlPlaneReady(11 * time.Minute)
			w.registers("w-0", model.HostReady, 11*time.Minute)
			w.registers("w-1", model.HostReady, 11*time.Minute)
			w.deletes("w-1")
		}, "cp-0 cp-1 cp-2 w-0 without w-1 ", false},
		"a Machine of the control plane is deleted that is ready": {model.ClusterReady, func(w *world) {
			w.controlPlaneReady(time.Minute)
			w.deletes("cp-2")
		}, "cp-0 cp-1 w-0 w-1 without cp-2 ", false},
		"a Machine is deleted that is being installed": {model.ClusterInstalling, func(w *world) {
			w.registers("w-1", model.HostInstalling, time.Minute)
			w.deletes("w-1")
		}, "w-1 ", false},
		"a Machine is deleted that waits to be added": {model.ClusterInstalled, func(w *world) {
			w.registers("w-1", model.HostReady, time.Minute)
			w.deletes("w-1")
		}, "cp-0 cp-1 cp-2 w-0 ", false},
		"a Machine is deleted that is being added": {model.ClusterInstalled, func(w *world) {
			w.registers("w-1", model.HostInstalling, time.Minute)
			w.deletes("w-1")
		}, all, false},
		"the Cluster is deleted whose workers are gone": {model.ClusterReady, func(w *world) {
			w.controlPlaneReady(time.Hour)
			w.deletes("w-0")
			w.deletes("w-1")
			w.DeletionTimestamp = &metav1.Time{Time: noon}
			w.Workers = 0
		}, "cp-0 cp-1 cp-2 ", true},
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

// TestWorkersAreLeftOut: a worker that has registered and is not ready when the wait for workers ends does not keep the
// cluster from being installed, and is not wiped with it. Neither is a worker that is ready while its Machine is being
// deleted.
func TestWorkersAreLeftOut(t *testing.T) {
	t.Run("not ready", func(t *testing.T) { checkLeftOut(t, objects(t), false) })
	t.Run("deleted", func(t *testing.T) {
		all := objects(t)
		for _, o := range all {
			if m, is := o.(*clusterv1.Machine); is && m.Name == "w-0" {
				m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: noon}, []string{"machine.cluster.x-k8s.io"}
			}
		}
		checkLeftOut(t, all, true)
	})
}

func checkLeftOut(t *testing.T, all []client.Object, isReady bool) {
	t.Helper()
	source := sourceOf(t, all)
	d, err := sourceOf(t, objects(t)).Desire(t.Context(), lab, nil)
	if err != nil {
		t.Fatal(err)
	}
	plans, err := install.InfraEnvPlans(d.Spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	long := noon.Add(-time.Hour)
	observed := &model.Observed{At: noon, Cluster: &model.Cluster{
		ClusterRef: model.ClusterRef{ID: "c", Name: "edge", BaseDomain: "example.com", Owned: true, Created: long}, State: model.ClusterBlocked, Manifests: map[string]string{},
		Validations: []model.Validation{{ID: "all-hosts-are-ready-to-install", Category: "hosts-data", Status: "failure", Message: "The cluster has hosts that are not ready to install."}},
	}}
	for _, file := range d.Spec.ManifestFiles() {
		observed.Cluster.Manifests[string(file.Folder)+"/"+file.Name] = model.Digest([]byte(file.Content))
	}
	for i := range plans {
		p := &plans[i]
		observed.InfraEnvs = append(observed.InfraEnvs, model.InfraEnv{
			ID: "env-" + p.Name, Name: p.Name, ClusterID: "c", Owned: true, Created: long, Settings: p.Settings, Image: model.Image{State: model.ImageReady, Created: long},
		})
		host := model.Host{
			ID: "host-" + p.Alone, InfraEnvID: "env-" + p.Name, ClusterID: "c", Hostname: p.Alone, State: model.HostReady, Registered: long, Since: noon.Add(-11 * time.Minute),
			Inventory: model.Inventory{Known: true}, Settings: model.Settings{},
		}
		if p.Alone == "w-0" && !isReady {
			host.State = model.HostBlocked
			host.Validations = []model.Validation{{ID: "has-memory-for-role", Category: "hardware", Status: "failure", Message: "it has 4 GiB"}}
		}
		observed.Hosts = append(observed.Hosts, host)
	}
	if isReady {
		observed.Cluster.State, observed.Cluster.Validations = model.ClusterReady, nil
	}
	var done []string
	for range 20 { // what else is sent to the service
		if d, err = source.Desire(t.Context(), lab, observed); err != nil {
			t.Fatal(err)
		}
		for _, b := range install.Decide(d, observed, model.Memory{}, noon).Blockers {
			t.Errorf("it is blocked: %s", b.Message)
		}
		plan := install.Decide(d, observed, model.Memory{}, noon)
		if len(plan.Actions) == 0 {
			t.Fatalf("it does nothing, and waits for %+v", plan.Waits)
		}
		for _, a := range plan.Actions {
			switch a.Kind {
			case model.UpdateHost:
				host := observed.HostByID(a.Target)
				if host.Settings = a.Settings; host.ID == "host-w-0" {
					t.Error("the worker that is not ready is configured")
				}
			case model.RemoveHost:
				done = append(done, string(a.Scope))
				observed.Hosts = slices.DeleteFunc(observed.Hosts, func(h model.Host) bool { return h.ID == a.Target })
				observed.Cluster.State, observed.Cluster.Validations = model.ClusterReady, nil
			case model.StartInstall:
				if want := []string{"host/w-0"}; !slices.Equal(done, want) || a.Settings[model.SettingWorkers] != model.ValueOf(0) {
					t.Errorf("it is installed with %s workers; taken out are %v", a.Settings[model.SettingWorkers], done)
				}
				return
			default:
				if observed.Cluster.Settings == nil {
					observed.Cluster.Settings = model.Settings{}
				}
				maps.Copy(observed.Cluster.Settings, a.Settings)
			}
		}
	}
	t.Errorf("it is not installed; taken out are %v", done)
}
