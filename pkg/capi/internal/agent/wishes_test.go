package agent_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestHostsAreWhatTheClusterAsksFor: before anything is known of the installation, the first machines of a control
// plane get hosts of the cluster's architecture, and a single node gets a host that is large enough for it.
func TestHostsAreWhatTheClusterAsksFor(t *testing.T) {
	type plane = *controlplanev1.OpenshiftAssistedControlPlane
	for name, of := range map[string]struct {
		change  func(plane)
		role    string // label of the Machine
		missing bool   // the control plane is not there
		infra   string // the AgentCluster, which is not there; "" for none
		want    string // the host; "" where the machine waits
		reason  string
	}{
		"nothing":                       {role: clusterv1.MachineControlPlaneLabel, want: "a-arm64"},
		"an architecture":               {role: clusterv1.MachineControlPlaneLabel, change: func(c plane) { c.Spec.Config.CPUArchitecture = "x86_64" }, want: "b-small"},
		"an architecture, of a worker":  {change: func(c plane) { c.Spec.Config.CPUArchitecture = "x86_64" }, want: "b-small"},
		"a single node":                 {role: clusterv1.MachineControlPlaneLabel, change: func(c plane) { c.Spec.Replicas = ptr.To[int32](1) }, want: "c-large"},
		"a worker beside a single node": {change: func(c plane) { c.Spec.Replicas = ptr.To[int32](1) }, want: "a-arm64"},
		"what is not known yet":         {role: clusterv1.MachineControlPlaneLabel, missing: true, reason: "WaitingForControlPlane"},
		"a pool that is not known yet":  {role: clusterv1.MachineControlPlaneLabel, infra: "gone", reason: "WaitingForClusterInfrastructure"},
	} {
		t.Run(name, func(t *testing.T) {
			controlPlane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "plane"}}
			if of.change != nil {
				of.change(controlPlane)
			}
			labels := map[string]string{clusterv1.ClusterNameLabel: "c"}
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: clusterv1.ClusterSpec{
				ControlPlaneRef: clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.Group, Kind: controlplanev1.ControlPlaneKind, Name: "plane"},
			}}
			cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
			if of.infra != "" {
				cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.ClusterKind, Name: of.infra}
			}
			machine := &clusterv1.Machine{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: "1", Labels: map[string]string{clusterv1.ClusterNameLabel: "c", of.role: ""}},
				Spec:       clusterv1.MachineSpec{ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")}},
			}
			infra := &agentv1.AgentMachine{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "m", Labels: labels, OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m", UID: "1"}},
			}}
			all := []client.Object{cluster, machine, infra}
			if !of.missing {
				all = append(all, controlPlane)
			}
			for _, h := range []struct {
				name, arch string
				cpus       int64
			}{{"a-arm64", "aarch64", 4}, {"b-small", "x86_64", 4}, {"c-large", "x86_64", 8}} {
				free := &agentinstall.Agent{
					ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: h.name}, Spec: agentinstall.AgentSpec{Approved: true},
					Status: agentinstall.AgentStatus{DebugInfo: agentinstall.DebugInfo{State: "known-unbound"}, Inventory: agentinstall.HostInventory{
						Hostname: h.name, CPU: agentinstall.HostCPU{Count: h.cpus, Architecture: h.arch}, Memory: agentinstall.HostMemory{PhysicalBytes: 32 << 30},
					}},
				}
				conditionsOf(free, true, false)
				all = append(all, toUnstructured(t, free))
			}
			c := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(all...).WithStatusSubresource(infra).Build()
			source := &clusterspec.Source{Client: c, Live: c, Hub: true}
			r := &agent.MachineReconciler{
				Client: c, Live: c, Pool: &agent.HubPool{Client: c, Live: c, Clock: clock.Real()},
				Recorder: events.NewFakeRecorder(100), Source: source,
				Installations: clusterloop.New(clusterloop.Config{
					Connect: func(string) (install.Backend, error) { return &service{}, nil }, Clock: clock.Real(), Wake: func(clusterloop.Key, []model.Scope) {}, Desire: source.Desire,
				}),
			}
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(infra)}); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(infra), infra); err != nil {
				t.Fatal(err)
			}
			want := ""
			if of.want != "" {
				want = agentv1.ProviderIDPrefix + of.want
			}
			reserved := conditionOf(infra, agentv1.AgentReservedCondition)
			if infra.Spec.ProviderID != want || want == "" && reserved.Reason != of.reason {
				t.Errorf("it has %q, %+v", infra.Spec.ProviderID, reserved)
			}
		})
	}
}
