//go:build e2e

package agent_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestRightsAreThoseThatAreUsed lets the role write to Machines, on which each reconcile sets a hook, and checks that
// it holds neither wildcards nor lists of Secrets. All tests here run with it.
func TestRightsAreThoseThatAreUsed(t *testing.T) {
	may := markedRole()
	if may.err != nil {
		t.Skipf("controller-gen: %v", may.err)
	}
	writesMachines := false
	for _, rule := range may.rules {
		if slices.Contains(rule.Verbs, "*") || slices.Contains(rule.Resources, "*") || slices.Contains(rule.APIGroups, "*") {
			t.Errorf("a wildcard: %v", rule)
		}
		if slices.Contains(rule.Resources, "secrets") && (slices.Contains(rule.Verbs, "list") || slices.Contains(rule.Verbs, "watch")) {
			t.Errorf("all Secrets are read: %v", rule)
		}
		writesMachines = writesMachines || slices.Contains(rule.Resources, "machines") && slices.Contains(rule.Verbs, "patch")
	}
	if !writesMachines {
		t.Errorf("Machines cannot be written: %v", may.rules)
	}
}

// TestBootstrapDataOfAnyFormatIsTaken does not read the data of a machine whose control plane is not hosted.
func TestBootstrapDataOfAnyFormatIsTaken(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	x.addAgent(t, "agent")
	x.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "data-m"}, Data: map[string][]byte{"value": []byte("#cloud-config"), "format": []byte("cloud-config")}})
	x.addCluster(t, x.namespace, "c")
	x.addMachine(t, x.namespace, "c", "m")
	x.reserved(t, x.namespace, "m")
	eventually(t, "the machine to wait for its cluster", func() (bool, string) {
		m := x.machine(t, x.namespace, "m")
		return conditionOf(m, agentv1.AgentSpecSyncedCondition).Reason == "WaitingForAssistedInstaller", describe(m)
	})
}

// TestKindsAreOfTodaysContract: the labels of the kinds say that the stored version follows contract v1beta2.
func TestKindsAreOfTodaysContract(t *testing.T) {
	of := 0
	for _, kind := range kinds(t) {
		labels := kind.GetLabels()
		if labels["cluster.x-k8s.io/provider"] != "infrastructure-agent" {
			continue
		}
		of++
		if labels["cluster.x-k8s.io/v1beta2"] != agentv1.Version {
			t.Errorf("%s has the labels %v", kind.GetName(), labels)
		}
	}
	if of != 4 {
		t.Errorf("%d kinds", of)
	}
}

// TestFailedWritesAreTriedAgain returns the error of each write, so that the reconcile is repeated, and ends
// the same way whichever of them fails.
func TestFailedWritesAreTriedAgain(t *testing.T) {
	broken := errors.New("the API server is away")
	for fails := 0; ; fails++ { // the write of that number
		scheme := newScheme(t)
		count, failed := 0, false
		write := func(next func() error) error {
			count++
			if count-1 == fails {
				failed = true
				return broken
			}
			return next()
		}
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
		cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: "1"}, Spec: clusterv1.MachineSpec{ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")}}}
		infra := &agentv1.AgentMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m", UID: "1"}}}}
		free := &agentinstall.Agent{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent"}, Spec: agentinstall.AgentSpec{Approved: true},
			Status: agentinstall.AgentStatus{DebugInfo: agentinstall.DebugInfo{State: "known-unbound"}, Inventory: agentinstall.HostInventory{
				Hostname: "h", CPU: agentinstall.HostCPU{Count: 8, Architecture: "x86_64"}, Memory: agentinstall.HostMemory{PhysicalBytes: 32 << 30},
			}},
		}
		conditionsOf(free, true, false)
		c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster, machine, infra, toUnstructured(t, free)).WithStatusSubresource(infra).Build(), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
				return write(func() error { return c.Patch(ctx, object, patch, options...) })
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, of string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
				return write(func() error { return c.SubResource(of).Patch(ctx, object, patch, options...) })
			},
		})
		r := &agent.MachineReconciler{
			Client: c, Live: c, Pool: &agent.HubPool{Client: c, Live: c, Clock: clock.Real()}, Recorder: events.NewFakeRecorder(100),
			Installations: clusterloop.New(clusterloop.Config{
				Connect: func(string) (install.Backend, error) { return &service{}, nil }, Clock: clock.Real(), Wake: func(clusterloop.Key, []model.Scope) {},
				Desire: func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error) {
					return nil, clusterloop.ErrNotYet
				},
			}),
		}
		request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(infra)}
		_, err := r.Reconcile(t.Context(), request)
		if failed != errors.Is(err, broken) {
			t.Fatalf("write %d fails: %v, and the reconcile says %v", fails, failed, err)
		}
		if !failed {
			if fails < 4 {
				t.Errorf("only %d writes", fails)
			}
			return
		}
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatalf("after write %d failed: %v", fails, err)
		}
		if err := c.Get(t.Context(), request.NamespacedName, infra); err != nil {
			t.Fatal(err)
		}
		if _, blocks := infra.Annotations[clusterctlv1.BlockMoveAnnotation]; infra.Spec.ProviderID != "agent://agent" || conditionOf(infra, agentv1.AgentReservedCondition).Status != metav1.ConditionTrue || !blocks {
			t.Errorf("after write %d failed: %q, %s", fails, infra.Spec.ProviderID, describe(infra))
		}
	}
}

// TestReasonsOfLostHostsAreTold reports why a machine cannot have its host, also if the reservation cannot be removed.
func TestReasonsOfLostHostsAreTold(t *testing.T) {
	broken := errors.New("nobody admits anything")
	m := newMoved(t, "ns")
	m.machine.Spec.ProviderID = "" // it was not handed over
	if err := m.client.Update(t.Context(), m.machine); err != nil {
		t.Fatal(err)
	}
	m.Client = interceptor.NewClient(m.client.(client.WithWatch), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return broken
		},
	})
	m.Pool = &agent.HubPool{Client: m.client, Live: m.client, Clock: clock.Real()}
	if _, err := m.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(m.infra)}); !errors.Is(err, broken) {
		t.Errorf("the reconcile says %v", err)
	}
	m.get(m.infra)
	if c := conditionOf(m.infra, agentv1.AgentReservedCondition); c.Status != metav1.ConditionFalse || c.Reason != agentv1.AgentGoneReason || c.Message != "Agent moved does not exist any more" {
		t.Errorf("%+v", c)
	}
}
