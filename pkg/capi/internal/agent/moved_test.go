package agent_test

import (
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// moved is an AgentMachine, with its Machine and its Cluster, as a move makes it: without its status.
type moved struct {
	t       *testing.T
	client  client.Client
	service *service
	machine *clusterv1.Machine
	infra   *agentv1.AgentMachine
	told    *events.FakeRecorder
	agent.MachineReconciler
}

// newMoved makes it, in the namespace ns. Its host is the host moved of env, which is a namespace on a hub.
func newMoved(t *testing.T, env string, objects ...client.Object) *moved {
	m := &moved{t: t, told: events.NewFakeRecorder(100)}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	m.machine = &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "m", UID: "1", Finalizers: []string{"core"}, Annotations: map[string]string{agentv1.PreTerminateHookAnnotation: ""},
		},
		Spec: clusterv1.MachineSpec{ClusterName: "c", ProviderID: "agent://moved", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")}},
	}
	m.infra = &agentv1.AgentMachine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "m", Finalizers: []string{agentv1.AgentMachineFinalizer}, Annotations: map[string]string{machines.AnnotationReservedHost: env + "/moved"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m", UID: "1"}},
		},
		Spec: agentv1.AgentMachineSpec{ProviderID: "agent://moved"},
	}
	m.client = fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(cluster, m.machine, m.infra).WithObjects(objects...).WithStatusSubresource(m.infra, m.machine).Build()
	service, desire := installed("ns")
	service.observed.Spoke = &model.Spoke{Nodes: []model.Node{{Name: "node", ProviderID: "agent://moved", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}}}}
	set := clusterloop.New(clusterloop.Config{
		Connect: func(string) (install.Backend, error) { return service, nil }, Desire: desire, Clock: clock.Real(), Wake: func(clusterloop.Key, []model.Scope) {},
	})
	if _, err := set.View(t.Context(), clusterloop.Key{Namespace: "ns", Name: "c"}); err != nil { // as the control plane does
		t.Fatal(err)
	}
	m.service = service
	m.Client, m.Live, m.Recorder, m.Installations = m.client, m.client, m.told, set
	return m
}

// reconcile reconciles the AgentMachine, and reads it again.
func (m *moved) reconcile() {
	m.t.Helper()
	if _, err := m.Reconcile(m.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(m.infra)}); err != nil {
		m.t.Fatal(err)
	}
	m.get(m.infra)
	m.get(m.machine)
}

func (m *moved) get(object client.Object) {
	m.t.Helper()
	if err := m.client.Get(m.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		m.t.Fatal(err)
	}
}

// delete deletes and drains the Machine.
func (m *moved) delete() {
	m.t.Helper()
	if err := m.client.Delete(m.t.Context(), m.machine); err != nil {
		m.t.Fatal(err)
	}
	m.drain()
}

// drain lets Cluster API reach the hook of the Machine that is being deleted.
func (m *moved) drain() {
	m.t.Helper()
	m.get(m.machine)
	m.machine.Status.Deletion = &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: metav1.Now()}
	if err := m.client.Status().Update(m.t.Context(), m.machine); err != nil {
		m.t.Fatal(err)
	}
}

// is sets the state of the service's cluster.
func (m *moved) is(state model.ClusterState) {
	m.t.Helper()
	m.service.observed.Cluster.State = state
	m.Installations.Changed(clusterloop.Key{Namespace: "ns", Name: "c"})
	if _, err := m.Installations.View(m.t.Context(), clusterloop.Key{Namespace: "ns", Name: "c"}); err != nil {
		m.t.Fatal(err)
	}
}

// installs installs its host with the cluster.
func (m *moved) installs() {
	m.t.Helper()
	host := hostOfPool("moved", "x86_64")
	host.InfraEnvID, host.ClusterID, host.State, host.Status = "rack", "ns/c", model.HostInstalling, "installing"
	m.service.hosts = map[string][]model.Host{"rack": {host}}
	m.is(model.ClusterInstalling)
}

// isHeld reports whether the Machine, or the AgentMachine, waits for the host.
func (m *moved) isHeld() bool {
	_, hooked := m.machine.Annotations[agentv1.PreTerminateHookAnnotation]
	return hooked || len(m.infra.Finalizers) > 0
}

// racks are the pools that are opened to the namespace.
func racks() machines.Pools { return machines.Pools{"ns": {"rack", "env"}} }

// events are those that were reported.
func (m *moved) events() string {
	close(m.told.Events)
	var all []string
	for event := range m.told.Events {
		all = append(all, event)
	}
	return strings.Join(all, "\n")
}

// TestMachinesThatWereMovedStay moves an AgentMachine here, with a host that only the service of another management
// cluster knows: the machine is installed, takes no other host, and is deleted when its Machine is.
func TestMachinesThatWereMovedStay(t *testing.T) {
	for name, overREST := range map[string]bool{"on a hub": false, "over REST": true} {
		t.Run(name, func(t *testing.T) {
			free := &agentinstall.Agent{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "free"}, Spec: agentinstall.AgentSpec{Approved: true},
				Status: agentinstall.AgentStatus{DebugInfo: agentinstall.DebugInfo{State: "known-unbound"}},
			}
			conditionsOf(free, true, false)
			pooled := toUnstructured(t, free)
			m := newMoved(t, "ns", pooled)
			m.Pool = &agent.HubPool{Client: m.client, Live: m.client, Clock: clock.Real()}
			if overREST {
				m.Pool = &agent.ServicePool{Service: m.Installations.Service, Pools: racks()}
			}
			for range 2 { // it stays so
				m.reconcile()
				ready, reserved := conditionOf(m.infra, clusterv1.ReadyCondition), conditionOf(m.infra, agentv1.AgentReservedCondition)
				if !ptr.Deref(m.infra.Status.Initialization.Provisioned, false) || ready.Status != metav1.ConditionTrue || !strings.Contains(reserved.Message, "there is no "+m.Pool.HostKind()+" moved here") {
					t.Errorf("it is %s", describe(m.infra))
				}
				if got := m.infra.Status.Addresses; len(got) != 3 || got[1].Address != "192.0.2.7" {
					t.Errorf("its addresses are %+v", got)
				}
			}
			m.delete()
			m.reconcile()
			if m.isHeld() {
				t.Errorf("it is held: %v, %v", m.machine.Annotations, m.infra.Finalizers)
			}
			if m.infra.Spec.ProviderID != "agent://moved" || len(m.service.acted) > 0 {
				t.Errorf("it is %s, and the service was asked for %v", m.infra.Spec.ProviderID, m.service.acted)
			}
			m.get(pooled)
			if len(pooled.GetAnnotations()) > 0 {
				t.Errorf("another host was taken: %v", pooled.GetAnnotations())
			}
			if told := m.events(); !strings.Contains(told, "Warning "+agentv1.WaitingForPersonReason) || !strings.Contains(told, "until a person switches it off") {
				t.Errorf("told was %s", told)
			}
		})
	}
}

// TestMachinesThatWereMovedKeepTheirHostsOfAService knows an AgentMachine's host again by the ids that were moved with
// it, and gives it back when its Machine is deleted.
func TestMachinesThatWereMovedKeepTheirHostsOfAService(t *testing.T) {
	m := newMoved(t, "rack")
	m.Pool = &agent.ServicePool{Service: m.Installations.Service, Pools: racks()}
	host := hostOfPool("moved", "x86_64")
	host.InfraEnvID, host.ClusterID, host.State, host.Status = "rack", "ns/c", model.HostAdded, "added-to-existing-cluster"
	m.service.hosts = map[string][]model.Host{"rack": {host, hostOfPool("free", "x86_64")}}
	m.reconcile()
	if ready := conditionOf(m.infra, clusterv1.ReadyCondition); ready.Status != metav1.ConditionTrue || m.infra.Status.AgentRef == nil || m.infra.Status.AgentRef.Name != "moved" {
		t.Errorf("it is %s", describe(m.infra))
	}
	m.delete()
	m.reconcile()
	if acted := m.service.actions(model.ReturnHost); len(acted) != 1 || acted[0].Target != "moved" || !m.isHeld() {
		t.Errorf("the service was asked for %v; it is held: %t", acted, m.isHeld())
	}
}

// TestHostsOutOfReachAreKept: where Agents are taken from another namespace than the one where a host was reserved, nothing is done
// to the host, nor with its machine, whether that is handed over, being installed, or deleted.
func TestHostsOutOfReachAreKept(t *testing.T) {
	for name, test := range map[string]struct {
		reserved, agents string // namespaces
		handedOver       bool
		want             string
	}{
		"handed over":         {reserved: "pool", handedOver: true, want: `the providers now use Agents of namespace ns. To continue, apply the providers with AGENTS_NAMESPACE="pool" again`},
		"being installed":     {reserved: "pool", want: `is reserved in namespace pool, but the providers now use Agents of namespace ns`},
		"of its own before":   {reserved: "ns", agents: "pool", want: `the providers now use Agents of namespace pool. To continue, apply the providers with AGENTS_NAMESPACE="" again`},
		"of a third one then": {reserved: "pool", agents: "racks", handedOver: true, want: `the providers now use Agents of namespace racks`},
	} {
		t.Run(name, func(t *testing.T) {
			host := &agentinstall.Agent{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: test.reserved, Name: "moved", Labels: map[string]string{agentv1.AgentMachineRefLabel: "m"},
					Annotations: map[string]string{agentv1.AgentMachineRefNamespaceAnnotation: "ns"},
				},
				Spec:   agentinstall.AgentSpec{Approved: true, ClusterDeploymentName: &hubapi.Reference{Namespace: "ns", Name: "c"}},
				Status: agentinstall.AgentStatus{DebugInfo: agentinstall.DebugInfo{State: "installing"}},
			}
			conditionsOf(host, true, false)
			bound := toUnstructured(t, host)
			m := newMoved(t, test.reserved, bound)
			m.Pool = &agent.HubPool{Client: m.client, Live: m.client, Clock: clock.Real(), Namespace: test.agents}
			if test.handedOver {
				m.infra.Status.AgentRef = &agentv1.AgentReference{Namespace: test.reserved, Name: "moved"}
				m.infra.Status.Initialization.Provisioned = ptr.To(true)
				if err := m.client.Status().Update(t.Context(), m.infra); err != nil {
					t.Fatal(err)
				}
			} else {
				m.machine.Spec.ProviderID = ""
				if err := m.client.Update(t.Context(), m.machine); err != nil {
					t.Fatal(err)
				}
			}
			says := func(kind string) {
				t.Helper()
				m.reconcile()
				if c := conditionOf(m.infra, kind); c.Reason != "AgentOutOfReach" || !strings.Contains(c.Message, test.want) {
					t.Errorf("it says %+v", c)
				}
				if m.infra.Spec.ProviderID != "agent://moved" || m.infra.Annotations[machines.AnnotationReservedHost] != test.reserved+"/moved" || !m.isHeld() || len(m.service.acted) > 0 {
					t.Errorf("it has %q, %v, is held: %t; the service was asked for %v", m.infra.Spec.ProviderID, m.infra.Annotations, m.isHeld(), m.service.acted)
				}
				before := bound.GetResourceVersion()
				if m.get(bound); bound.GetResourceVersion() != before {
					t.Errorf("the host was changed: %v", bound.Object)
				}
			}
			m.get(bound)
			says(agentv1.AgentReservedCondition)
			if ready := conditionOf(m.infra, clusterv1.ReadyCondition); ready.Status != metav1.ConditionFalse {
				t.Errorf("it is %s", describe(m.infra))
			}
			m.delete()
			says(clusterv1.DeletingCondition)
			if err := m.client.Delete(t.Context(), m.infra); err != nil {
				t.Fatal(err)
			}
			says(clusterv1.DeletingCondition)
			if told := m.events(); !strings.Contains(told, "Warning AgentOutOfReach Deleting") {
				t.Errorf("told was %s", told)
			}
		})
	}
}

// TestControlPlaneHasTheSay gives the host of a control plane back once the control plane has reported that etcd can do
// without it, and not before, no matter which of its objects is deleted. Where no control plane manages etcd, the host
// does not wait.
func TestControlPlaneHasTheSay(t *testing.T) {
	const hook = controlplanev1.EtcdMemberHookAnnotation
	says := func(reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: controlplanev1.EtcdMemberRemovedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	for name, test := range map[string]struct {
		hook  string
		says  *metav1.Condition
		waits string // the message; "" where the host goes back
	}{
		"nothing yet":                  {hook: hook, waits: "waiting for the control plane to check whether etcd works without this machine"},
		"etcd needs it":                {hook: hook, says: says("EtcdQuorum", "etcd needs it"), waits: "etcd needs it"},
		"nothing is known of etcd":     {hook: hook, says: says("ClusterUnreachable", "it does not answer"), waits: "it does not answer"},
		"etcd can do without it":       {hook: hook, says: says(controlplanev1.WaitingForOtherHooksReason, "waiting for hooks of other controllers")},
		"its member is gone":           {hook: hook, says: &metav1.Condition{Type: controlplanev1.EtcdMemberRemovedCondition, Status: metav1.ConditionTrue, Reason: "EtcdMemberRemoved"}},
		"a person has let go of it":    {says: says("EtcdQuorum", "etcd needs it")},
		"another provider looks to it": {hook: clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/kcp-cleanup"},
	} {
		for deleted, both := range map[string]bool{"its Machine is deleted": false, "both are deleted": true} {
			t.Run(name+", and "+deleted, func(t *testing.T) {
				m := newMoved(t, "rack")
				m.Pool = &agent.ServicePool{Service: m.Installations.Service, Pools: racks()}
				host := hostOfPool("moved", "x86_64")
				host.InfraEnvID, host.ClusterID, host.State, host.Status = "rack", "ns/c", model.HostAdded, "added-to-existing-cluster"
				m.service.hosts = map[string][]model.Host{"rack": {host}}
				m.reconcile()
				if test.hook != "" {
					m.machine.Annotations[test.hook] = ""
					if err := m.client.Update(t.Context(), m.machine); err != nil {
						t.Fatal(err)
					}
				}
				if test.says != nil {
					conditions.Set(m.machine, *test.says)
				}
				if err := m.client.Status().Update(t.Context(), m.machine); err != nil {
					t.Fatal(err)
				}
				m.delete()
				if both {
					if err := m.client.Delete(t.Context(), m.infra); err != nil {
						t.Fatal(err)
					}
				}
				m.reconcile()
				c := conditionOf(m.infra, clusterv1.DeletingCondition)
				if returned := len(m.service.actions(model.ReturnHost)) > 0; returned != (test.waits == "") || !m.isHeld() {
					t.Errorf("the host was given back: %t; it is held: %t, %+v", returned, m.isHeld(), c)
				}
				if test.waits != "" && (c.Reason != "WaitingForEtcd" || c.Message != test.waits) {
					t.Errorf("it says %+v", c)
				}
			})
		}
	}
}

// TestNodesAreDrainedOnceTheyAreInstalled: the node of a Machine that is deleted while its host is being installed is drained
// once the installation is over, and goes back to its pool then.
func TestNodesAreDrainedOnceTheyAreInstalled(t *testing.T) {
	m := newMoved(t, "rack")
	m.Pool = &agent.ServicePool{Service: m.Installations.Service, Pools: racks()}
	m.machine.Annotations[agentv1.PreDrainHookAnnotation] = ""
	if err := m.client.Update(t.Context(), m.machine); err != nil {
		t.Fatal(err)
	}
	m.installs()
	if err := m.client.Delete(t.Context(), m.machine); err != nil {
		t.Fatal(err)
	}
	says := func(reason string, drains bool, returns int) {
		t.Helper()
		m.reconcile()
		_, hooked := m.machine.Annotations[agentv1.PreDrainHookAnnotation]
		if c := conditionOf(m.infra, clusterv1.DeletingCondition); c.Reason != reason || drains == hooked || len(m.service.actions(model.ReturnHost)) != returns || !m.isHeld() {
			t.Errorf("the service was asked for %v; held: %t, hooked: %t; it says %+v", m.service.acted, m.isHeld(), hooked, c)
		}
	}
	says("WaitingForInstallComplete", false, 0)
	m.service.change("moved", func(h *model.Host) { h.Progress.Stage = "Done"; h.State, h.Status = model.HostInstalled, "installed" })
	m.is(model.ClusterAddingHosts)
	says("WaitingForDrain", false, 0)      // Cluster API does not know its node
	m.machine.Status.NodeRef.Name = "node" // which it finds after it came to the other hook
	m.machine.Status.Deletion = &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: metav1.Now()}
	if err := m.client.Status().Update(t.Context(), m.machine); err != nil {
		t.Fatal(err)
	}
	says("WaitingForDrain", false, 0)
	says("WaitingForDrain", true, 0)
	m.drain()
	says("ReturningAgent", true, 1)
}

// TestNodesThatAreNewAreKept does not take a node away from a Machine that lives because the AgentMachine was deleted while
// it was being installed: it waits for the installation, and for the Machine then.
func TestNodesThatAreNewAreKept(t *testing.T) {
	m := newMoved(t, "rack")
	m.Pool = &agent.ServicePool{Service: m.Installations.Service, Pools: racks()}
	m.machine.Spec.ProviderID = "" // it is not handed over
	if err := m.client.Update(t.Context(), m.machine); err != nil {
		t.Fatal(err)
	}
	m.installs()
	m.reconcile()
	if err := m.client.Delete(t.Context(), m.infra); err != nil {
		t.Fatal(err)
	}
	says := func(reason string, returns int) {
		t.Helper()
		m.reconcile()
		if c := conditionOf(m.infra, clusterv1.DeletingCondition); c.Reason != reason || len(m.service.actions(model.ReturnHost)) != returns || !m.isHeld() {
			t.Errorf("the service was asked for %v; held: %t; it says %+v", m.service.acted, m.isHeld(), c)
		}
	}
	says("WaitingForInstallComplete", 0)
	m.service.change("moved", func(h *model.Host) { h.Progress.Stage = "Done"; h.State, h.Status = model.HostInstalled, "installed" })
	says("WaitingForMachine", 0)
	m.delete()
	m.is(model.ClusterAddingHosts)
	says("ReturningAgent", 1)
}
