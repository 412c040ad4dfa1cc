package agent_test

import (
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/model"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent"
	"github.com/oaictl/oaictl/pkg/capi/internal/installation"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install"
)

// TestMachinesThatWereMovedStay takes an AgentMachine in, as a move makes it, whose host only the service of another
// management cluster knows: the machine is installed, takes no other host, and goes when its Machine does.
func TestMachinesThatWereMovedStay(t *testing.T) {
	for name, overREST := range map[string]bool{"on a hub": false, "over REST": true} {
		t.Run(name, func(t *testing.T) {
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
			cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
			machine := &clusterv1.Machine{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "ns", Name: "m", UID: "1", Finalizers: []string{"core"}, Annotations: map[string]string{agentv1.PreTerminateHookAnnotation: ""},
				},
				Spec: clusterv1.MachineSpec{ClusterName: "c", ProviderID: "agent://moved", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")}},
			}
			infra := &agentv1.AgentMachine{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "ns", Name: "m", Finalizers: []string{agentv1.AgentMachineFinalizer}, Annotations: map[string]string{machines.AnnotationReservedHost: "ns/moved"},
					OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m", UID: "1"}},
				},
				Spec: agentv1.AgentMachineSpec{ProviderID: "agent://moved"},
			}
			free := &agentinstall.Agent{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "free"}, Spec: agentinstall.AgentSpec{Approved: true},
				Status: agentinstall.AgentStatus{DebugInfo: agentinstall.DebugInfo{State: "known-unbound"}},
			}
			conditionsOf(free, true, false)
			c := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(cluster, machine, infra, toUnstructured(t, free)).WithStatusSubresource(infra, machine).Build()
			service, desire := installed("ns")
			service.observed.Spoke = &install.Spoke{Nodes: []model.Node{{Name: "node", ProviderID: "agent://moved", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}}}}
			set := installation.New(installation.Config{
				Connect: func(string) (install.Backend, error) { return service, nil }, Desire: desire, Clock: clock.Real(), Wake: func(installation.Key, []install.Scope) {},
			})
			if _, err := set.View(t.Context(), installation.Key{Namespace: "ns", Name: "c"}); err != nil { // as the control plane does
				t.Fatal(err)
			}
			told := events.NewFakeRecorder(100)
			r := &agent.MachineReconciler{Client: c, Live: c, Pool: &agent.HubPool{Client: c, Live: c}, Recorder: told, Installations: set}
			if overREST {
				r.Pool = &agent.ServicePool{Service: set.Service}
			}
			reconcile := func() {
				t.Helper()
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(infra)}); err != nil {
					t.Fatal(err)
				}
			}
			get := func(object client.Object) {
				t.Helper()
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // it stays so
				reconcile()
				get(infra)
				ready, reserved := conditionOf(infra, clusterv1.ReadyCondition), conditionOf(infra, agentv1.AgentReservedCondition)
				if !ptr.Deref(infra.Status.Initialization.Provisioned, false) || ready.Status != metav1.ConditionTrue || !strings.Contains(reserved.Message, "there is no "+r.Pool.Thing()+" moved here") {
					t.Errorf("it is %s", describe(infra))
				}
				if got := infra.Status.Addresses; len(got) != 3 || got[1].Address != "192.0.2.7" {
					t.Errorf("its addresses are %+v", got)
				}
			}
			if err := c.Delete(t.Context(), machine); err != nil {
				t.Fatal(err)
			}
			get(machine)
			machine.Status.Deletion = &clusterv1.MachineDeletionStatus{WaitForPreTerminateHookStartTime: metav1.Now()}
			if err := c.Status().Update(t.Context(), machine); err != nil {
				t.Fatal(err)
			}
			reconcile()
			get(machine)
			get(infra)
			if _, held := machine.Annotations[agentv1.PreTerminateHookAnnotation]; held || len(infra.Finalizers) > 0 {
				t.Errorf("it is held: %v, %v", machine.Annotations, infra.Finalizers)
			}
			if infra.Spec.ProviderID != "agent://moved" || len(service.acted) > 0 {
				t.Errorf("it is %s, and the service was asked for %v", infra.Spec.ProviderID, service.acted)
			}
			u := toUnstructured(t, free)
			get(u)
			if len(u.GetAnnotations()) > 0 {
				t.Errorf("another host was taken: %v", u.GetAnnotations())
			}
			close(told.Events)
			var all []string
			for event := range told.Events {
				all = append(all, event)
			}
			if text := strings.Join(all, "\n"); !strings.Contains(text, "Warning "+agentv1.WaitingForPersonReason) || !strings.Contains(text, "until somebody switches it off") {
				t.Errorf("told was %s", text)
			}
		})
	}
}
