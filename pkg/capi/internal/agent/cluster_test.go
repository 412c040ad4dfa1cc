//go:build e2e

package agent_test

import (
	"fmt"
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
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install"
)

// TestEndpointOfACluster takes it from the first place that has it: the AgentCluster, the Cluster, the virtual
// addresses of the control plane, and the name that OpenShift gives it.
func TestEndpointOfACluster(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	none := func(_ *clusterv1.Cluster, infra *agentv1.AgentCluster) {
		infra.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{}
	}
	withControlPlane := func(name string, config controlplanev1.OpenshiftAssistedControlPlaneConfigSpec) func(*clusterv1.Cluster, *agentv1.AgentCluster) {
		controlPlane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: name}}
		controlPlane.Spec.DistributionVersion, controlPlane.Spec.Config = "4.20.1", config
		controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.MachineTemplateKind, Name: "none"}
		x.create(t, controlPlane)
		return func(cluster *clusterv1.Cluster, _ *agentv1.AgentCluster) {
			cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.Group, Kind: controlplanev1.ControlPlaneKind, Name: name}
		}
	}
	for name, test := range map[string]struct {
		changes []func(*clusterv1.Cluster, *agentv1.AgentCluster)
		want    string
	}{
		"own": {nil, "192.0.2.1:6443"},
		"of-cluster": {[]func(*clusterv1.Cluster, *agentv1.AgentCluster){none, func(c *clusterv1.Cluster, _ *agentv1.AgentCluster) {
			c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: "192.0.2.2", Port: 7443}
		}}, "192.0.2.2:7443"},
		"vips": {[]func(*clusterv1.Cluster, *agentv1.AgentCluster){none, withControlPlane("vips", controlplanev1.OpenshiftAssistedControlPlaneConfigSpec{
			BaseDomain: "example.com", NetworkSpec: controlplanev1.NetworkSpec{APIVIPs: []string{"2001:db8::5", "192.0.2.5"}, IngressVIPs: []string{"2001:db8::6", "192.0.2.6"}},
		})}, "2001:db8::5:6443"},
		"domain": {[]func(*clusterv1.Cluster, *agentv1.AgentCluster){none, withControlPlane("domain", controlplanev1.OpenshiftAssistedControlPlaneConfigSpec{BaseDomain: "example.com"})}, "api.domain.example.com:6443"},
		"other-name": {[]func(*clusterv1.Cluster, *agentv1.AgentCluster){none, withControlPlane("other-name", controlplanev1.OpenshiftAssistedControlPlaneConfigSpec{
			BaseDomain: "example.com", ClusterName: "lab",
		})}, "api.lab.example.com:6443"},
	} {
		x.addCluster(t, x.namespace, name, test.changes...)
		cluster, infra := &clusterv1.Cluster{}, &agentv1.AgentCluster{}
		eventually(t, "the endpoint of "+name, func() (bool, string) {
			x.get(t, cluster, x.namespace, name)
			got := fmt.Sprintf("%s:%d", cluster.Spec.ControlPlaneEndpoint.Host, cluster.Spec.ControlPlaneEndpoint.Port)
			return got == test.want, got
		})
		x.get(t, infra, x.namespace, name)
		if ready := conditionOf(infra, clusterv1.ReadyCondition); ready.Status != metav1.ConditionTrue || len(infra.Finalizers) > 0 {
			t.Errorf("%s: %s, finalizers %v", name, describe(infra), infra.Finalizers)
		}
	}
	t.Run("its id is that of the control plane", func(t *testing.T) {
		x.patch(t, &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "domain"}},
			`{"metadata": {"annotations": {"oaictl.io/cluster-id": "`+x.namespace+`/domain"}}}`)
		infra := &agentv1.AgentCluster{}
		eventually(t, "the ClusterDeployment", func() (bool, string) {
			x.get(t, infra, x.namespace, "domain")
			return infra.Status.ClusterDeploymentRef == agentv1.ClusterDeploymentReference{Namespace: x.namespace, Name: "domain"}, describe(infra)
		})
	})
	t.Run("nothing says it", func(t *testing.T) {
		infra := &agentv1.AgentCluster{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "unknown"}}
		x.create(t, infra)
		cluster := &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "unknown"},
			Spec:       clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.ClusterKind, Name: "unknown"}},
		}
		x.create(t, cluster)
		eventually(t, "the reason", func() (bool, string) {
			x.get(t, infra, x.namespace, "unknown")
			return conditionOf(infra, clusterv1.ReadyCondition).Reason == "NoControlPlaneEndpoint", describe(infra)
		})
		if ptr.Deref(infra.Status.Initialization.Provisioned, false) {
			t.Error("it is provisioned")
		}
	})
}

// TestExternallyManagedClustersAreLeftAlone writes nothing to an AgentCluster that another component manages.
func TestExternallyManagedClustersAreLeftAlone(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	infra := &agentv1.AgentCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "c", Annotations: map[string]string{clusterv1.ManagedByAnnotation: "somebody"}},
		Spec:       agentv1.AgentClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "192.0.2.1", Port: 6443}},
	}
	x.create(t, infra)
	x.create(t, &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "c"},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.ClusterKind, Name: "c"}},
	})
	eventually(t, "the core to own it", func() (bool, string) {
		x.get(t, infra, x.namespace, "c")
		return len(infra.OwnerReferences) > 0, ""
	})
	never(t, "it was written to", func() (bool, string) {
		x.get(t, infra, x.namespace, "c")
		return len(infra.Status.Conditions) > 0, describe(infra)
	})
}

// TestFailureDomains shows those that have Agents, or Machines that stay, and puts a machine where its Machine asks to be.
func TestFailureDomains(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	in := func(row string) func(*agentinstall.Agent) {
		return func(a *agentinstall.Agent) { a.Labels["row"] = row }
	}
	x.addAgent(t, "a-1", in("a"))
	x.addAgent(t, "b-1", in("b"))
	domain := func(name, row string, controlPlane *bool) agentv1.AgentFailureDomain {
		return agentv1.AgentFailureDomain{Name: name, ControlPlane: controlPlane, AgentLabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"row": row}}}
	}
	x.addCluster(t, x.namespace, "c", func(_ *clusterv1.Cluster, infra *agentv1.AgentCluster) {
		infra.Spec.FailureDomains = []agentv1.AgentFailureDomain{domain("row-a", "a", nil), domain("row-b", "b", ptr.To(false)), domain("row-c", "c", nil), domain("row-d", "d", nil)}
	})
	cluster := &clusterv1.Cluster{}
	eventually(t, "the failure domains", func() (bool, string) {
		x.get(t, cluster, x.namespace, "c")
		all := cluster.Status.FailureDomains
		return len(all) == 2 && all[0].Name == "row-a" && *all[0].ControlPlane && all[1].Name == "row-b" && !*all[1].ControlPlane, fmt.Sprintf("%+v", all)
	})
	x.addMachine(t, x.namespace, "c", "m", func(m *clusterv1.Machine, _ *agentv1.AgentMachine) { m.Spec.FailureDomain = "row-b" })
	if host := x.reserved(t, x.namespace, "m"); host != "b-1" {
		t.Errorf("the machine has %s", host)
	}
	eventually(t, "its failure domain", func() (bool, string) {
		m := x.machine(t, x.namespace, "m")
		return m.Status.FailureDomain == "row-b", m.Status.FailureDomain
	})
	x.addAgent(t, "c-1", in("c"))
	eventually(t, "one more", func() (bool, string) {
		x.get(t, cluster, x.namespace, "c")
		return len(cluster.Status.FailureDomains) == 3, fmt.Sprintf("%+v", cluster.Status.FailureDomains)
	})
	x.addMachine(t, x.namespace, "c", "moved", func(m *clusterv1.Machine, _ *agentv1.AgentMachine) { m.Spec.FailureDomain = "row-d" })
	eventually(t, "the one that a Machine is in, whose host is elsewhere", func() (bool, string) {
		x.get(t, cluster, x.namespace, "c")
		all := cluster.Status.FailureDomains
		return len(all) == 4 && all[3].Name == "row-d", fmt.Sprintf("%+v", all)
	})
	x.deleteMachine(t, "moved")
	eventually(t, "it to be none any more", func() (bool, string) {
		x.get(t, cluster, x.namespace, "c")
		return len(cluster.Status.FailureDomains) == 3, fmt.Sprintf("%+v", cluster.Status.FailureDomains)
	})
}

// TestTemplatesTellTheAutoscaler says what a node of a template would be like, and how many there could be.
func TestTemplatesTellTheAutoscaler(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	template := &agentv1.AgentMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "t"}}
	template.Spec.Template.Spec = agentv1.AgentMachineSpec{AgentLabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"size": "large"}}, MinCPUs: ptr.To[int32](16)}
	x.create(t, template)
	now := func() string {
		x.get(t, template, x.namespace, "t")
		s := &template.Status
		return fmt.Sprintf("%s CPUs, %s, %s %s, %d free; %s", s.Capacity.Cpu(), s.Capacity.Memory(), s.NodeInfo.Architecture, s.NodeInfo.OperatingSystem, ptr.Deref(s.FreeAgents, -1),
			conditionOf(template, agentv1.PoolObservedCondition).Message)
	}
	shows := func(want string) {
		t.Helper()
		eventually(t, want, func() (bool, string) { got := now(); return got == want, got })
	}
	shows("0 CPUs, 0,  , 0 free; none of 0 Agents fits")
	large := func(cpus int64) func(*agentinstall.Agent) {
		return func(a *agentinstall.Agent) { a.Labels["size"], a.Status.Inventory.CPU.Count = "large", cpus }
	}
	x.addAgent(t, "small")
	x.addAgent(t, "large", large(64))
	shows("64 CPUs, 32Gi, amd64 linux, 1 free; ")
	x.addAgent(t, "middle", large(32), func(a *agentinstall.Agent) { a.Status.Inventory.CPU.Architecture = "aarch64" })
	shows("32 CPUs, 32Gi, arm64 linux, 2 free; ")
	x.reports(t, "middle", func(a *agentinstall.Agent) { a.Spec.Approved = false })
	shows("64 CPUs, 32Gi, amd64 linux, 1 free; ")
}

// TestTemplatesFollowTheirCluster: what a template shows changes with its Cluster and with the AgentCluster, whichever
// Agents come or go.
func TestTemplatesFollowTheirCluster(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	x.addAgent(t, "agent")
	x.addCluster(t, x.namespace, "c")
	cluster, infra := &clusterv1.Cluster{}, &agentv1.AgentCluster{}
	x.get(t, cluster, x.namespace, "c")
	x.get(t, infra, x.namespace, "c")
	x.patch(t, cluster, `{"spec": {"paused": true}}`)
	template := &agentv1.AgentMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "t", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}}
	x.create(t, template)
	shows := func(what string, paused metav1.ConditionStatus, free int32) {
		t.Helper()
		eventually(t, what, func() (bool, string) {
			x.get(t, template, x.namespace, "t")
			return conditionOf(template, clusterv1.PausedCondition).Status == paused && ptr.Deref(template.Status.FreeAgents, -1) == free, describe(template)
		})
	}
	shows("the template to be paused", metav1.ConditionTrue, -1)
	x.patch(t, cluster, `{"spec": {"paused": false}}`)
	shows("the template to go on", metav1.ConditionFalse, 1)
	x.patch(t, infra, `{"spec": {"infraEnvRefs": [{"name": "another"}]}}`)
	shows("the other pool", metav1.ConditionFalse, 0)
}

// TestFailureDomainsAreLookedAtAgain where no watch reports that a host has come.
func TestFailureDomainsAreLookedAtAgain(t *testing.T) {
	for name, domains := range map[string][]agentv1.AgentFailureDomain{
		"no domains": nil, "a domain": {{Name: "a", AgentLabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"row": "a"}}}},
	} {
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "1"}}
		infra := &agentv1.AgentCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: "c", UID: "1"}}},
			Spec: agentv1.AgentClusterSpec{
				ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "192.0.2.1", Port: 6443}, InfraEnvRefs: []agentv1.InfraEnvReference{{Name: "pool"}}, FailureDomains: domains,
			},
		}
		c := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(cluster, infra).WithStatusSubresource(infra).Build()
		of := &agent.ServicePool{Service: func(string) (install.Backend, error) { return &service{}, nil }, Pools: machines.Pools{"ns": {"pool"}}}
		r := &agent.ClusterReconciler{Client: c, Live: c, Pool: of, Recorder: events.NewFakeRecorder(10)}
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(infra)})
		if err != nil || (result.RequeueAfter > 0) != (domains != nil) {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

// TestCapacityOfNoPoolIsNotTold: while the AgentCluster is not there that says what the pool is, no host counts.
func TestCapacityOfNoPoolIsNotTold(t *testing.T) {
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.ClusterKind, Name: "gone"}},
	}
	template := &agentv1.AgentMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "t", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}}
	host := &agentinstall.Agent{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "agent"}, Spec: agentinstall.AgentSpec{Approved: true}}
	host.Status.DebugInfo.State, host.Status.Inventory.Hostname = "known-unbound", "h"
	conditionsOf(host, true, false)
	c := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(cluster, template, toUnstructured(t, host)).WithStatusSubresource(template).Build()
	r := &agent.TemplateReconciler{Client: c, Pool: &agent.HubPool{Client: c, Live: c, Clock: clock.Real()}}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(template)}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(template), template); err != nil {
		t.Fatal(err)
	}
	if got := conditionOf(template, agentv1.PoolObservedCondition); got.Reason != "WaitingForClusterInfrastructure" || template.Status.FreeAgents != nil {
		t.Errorf("%v are free: %+v", template.Status.FreeAgents, got)
	}
}

// TestWatchFilter leaves objects without the label alone.
func TestWatchFilter(t *testing.T) {
	t.Parallel()
	x := open(t, setup{watchFilter: "ours"})
	x.addAgent(t, "agent")
	watched := func(_ *clusterv1.Cluster, infra *agentv1.AgentCluster) {
		infra.Labels = map[string]string{clusterv1.WatchLabel: "ours"}
	}
	x.addCluster(t, x.namespace, "c", watched)
	template := &agentv1.AgentMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "t"}}
	x.create(t, template)
	x.addMachine(t, x.namespace, "c", "m")
	never(t, "what has no label was written to", func() (bool, string) {
		if m := x.machine(t, x.namespace, "m"); len(m.Status.Conditions) > 0 {
			return true, describe(m)
		}
		x.get(t, template, x.namespace, "t")
		return len(template.Status.Conditions) > 0, describe(template)
	})
}
