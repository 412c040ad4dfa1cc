//go:build e2e

package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
)

// TestEachMachineHasAnAgentOfItsOwn has ten machines take ten Agents at one time, through two managers that
// know nothing of each other: each has one, and none has two.
func TestEachMachineHasAnAgentOfItsOwn(t *testing.T) {
	t.Parallel()
	x := open(t, setup{managers: 2})
	const count = 10
	for i := range count {
		x.addAgent(t, fmt.Sprintf("agent-%d", i))
	}
	x.addCluster(t, x.namespace, "c")
	for i := range count {
		x.addMachine(t, x.namespace, "c", fmt.Sprintf("m-%d", i))
	}
	of := map[string]string{}
	for i := range count {
		name := fmt.Sprintf("m-%d", i)
		host := x.reserved(t, x.namespace, name)
		if other := of[host]; other != "" {
			t.Errorf("%s and %s have the Agent %s", name, other, host)
		}
		of[host] = name
		agent, _ := x.agent(t, host)
		if got, want := reservedFor(agent), x.namespace+"/"+name; got != want {
			t.Errorf("the Agent of %s carries the name %q", want, got)
		}
	}
	if len(of) != count {
		t.Errorf("%d of %d Agents are reserved", len(of), count)
	}
}

// TestReservationsAreFinished goes on with what a process left that ended between two of its writes.
func TestReservationsAreFinished(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	x.addAgent(t, "small", func(a *agentinstall.Agent) { a.Status.Inventory.CPU.Count = 4 })
	x.addAgent(t, "half-taken")
	x.addAgent(t, "taken", func(a *agentinstall.Agent) {
		a.Labels[agentv1.AgentMachineRefLabel] = "somebody"
		a.Annotations = map[string]string{agentv1.AgentMachineRefNamespaceAnnotation: x.namespace}
	})
	x.addAgent(t, "restored", func(a *agentinstall.Agent) {
		a.Labels[agentv1.AgentMachineRefLabel] = "of-backup"
		a.Annotations = map[string]string{agentv1.AgentMachineRefNamespaceAnnotation: x.namespace}
	})
	x.addCluster(t, x.namespace, "c")
	claims := func(host string) func(*clusterv1.Machine, *agentv1.AgentMachine) {
		return func(_ *clusterv1.Machine, m *agentv1.AgentMachine) {
			m.Spec.ProviderID = agentv1.ProviderIDPrefix + host
			m.Annotations = map[string]string{machines.AnnotationReservedHost: x.agents + "/" + host}
			m.Finalizers = []string{agentv1.AgentMachineFinalizer}
		}
	}
	x.addMachine(t, x.namespace, "c", "began", claims("half-taken"))
	if host := x.reserved(t, x.namespace, "began"); host != "half-taken" {
		t.Errorf("a reservation that was begun was not finished: %s", host)
	}
	agent, _ := x.agent(t, "half-taken")
	if got := reservedFor(agent); got != x.namespace+"/began" {
		t.Errorf("the Agent carries the name %q", got)
	}
	x.addMachine(t, x.namespace, "c", "of-backup")
	if host := x.reserved(t, x.namespace, "of-backup"); host != "restored" {
		t.Errorf("what is reserved already was not found again: %s", host)
	}
	x.addMachine(t, x.namespace, "c", "late", claims("taken"))
	eventually(t, "another host than the one that somebody else has", func() (bool, string) {
		m := x.machine(t, x.namespace, "late")
		return m.Spec.ProviderID == agentv1.ProviderIDPrefix+"small", m.Spec.ProviderID + " " + describe(m)
	})
	agent, _ = x.agent(t, "taken")
	if got := reservedFor(agent); got != x.namespace+"/somebody" {
		t.Errorf("the Agent of somebody else carries the name %q", got)
	}
}

// TestForeignAgentsAreLeftAlone keeps away from Agents that are not approved, that are bound, reserved, of another
// InfraEnv or in another namespace, and says how many they are.
func TestForeignAgentsAreLeftAlone(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	foreign := map[string]func(*agentinstall.Agent){
		"unapproved": func(a *agentinstall.Agent) { a.Spec.Approved = false },
		"bound": func(a *agentinstall.Agent) {
			a.Spec.ClusterDeploymentName, a.Status.DebugInfo.State = &hubapi.Reference{Namespace: "elsewhere", Name: "cluster"}, "installed"
		},
		"reserved":     func(a *agentinstall.Agent) { a.Labels[agentv1.AgentMachineRefLabel] = "m" }, // in whichever namespace
		"other-pool":   func(a *agentinstall.Agent) { a.Labels[hubapi.LabelAgentInfraEnv] = "of-a-site" },
		"disconnected": func(a *agentinstall.Agent) { a.Status.Conditions[1].Status = metav1.ConditionFalse },
		"invalid":      func(a *agentinstall.Agent) { a.Status.Conditions[2].Status = metav1.ConditionFalse },
	}
	versions := map[string]string{}
	for name, change := range foreign {
		x.addAgent(t, name, change)
		_, u := x.agent(t, name)
		versions[name] = u.GetResourceVersion()
	}
	x.addCluster(t, x.namespace, "c", func(_ *clusterv1.Cluster, infra *agentv1.AgentCluster) {
		infra.Spec.InfraEnvRefs = []agentv1.InfraEnvReference{{Name: "pool"}}
	})
	x.addMachine(t, x.namespace, "c", "m")
	want := "none of 5 Agents in namespace " + x.namespace + " of InfraEnv pool fits: 1 bound to a cluster (host-of-bound), 1 disconnected (host-of-disconnected), " +
		"1 failing their validations (host-of-invalid), 1 not approved (host-of-unapproved), 1 reserved for another machine (host-of-reserved)"
	eventually(t, "the reasons", func() (bool, string) {
		c := conditionOf(x.machine(t, x.namespace, "m"), agentv1.AgentReservedCondition)
		return c.Reason == agentv1.NoSuitableAgentsReason && c.Message == want, c.Reason + ": " + c.Message
	})
	never(t, "a foreign Agent was changed", func() (bool, string) {
		for name, version := range versions {
			if _, u := x.agent(t, name); u.GetResourceVersion() != version {
				return true, name
			}
		}
		return false, ""
	})
	eventually(t, "an event on the Machine", func() (bool, string) {
		events := x.events(t, x.namespace, "m")
		return strings.Contains(events, want), events
	})
}

// TestWaitingMachinesHearOfAgents makes a machine wait until the Agent that it needs is approved.
func TestWaitingMachinesHearOfAgents(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	x.addAgent(t, "large", func(a *agentinstall.Agent) { a.Spec.Approved, a.Status.Inventory.CPU.Count = false, 64 })
	x.addAgent(t, "small")
	x.addCluster(t, x.namespace, "c")
	x.addMachine(t, x.namespace, "c", "m", func(_ *clusterv1.Machine, m *agentv1.AgentMachine) {
		m.Spec.MinCPUs, m.Spec.MinMemory = ptr.To[int32](32), ptr.To(resource.MustParse("16Gi"))
	})
	eventually(t, "the machine to wait", func() (bool, string) {
		c := conditionOf(x.machine(t, x.namespace, "m"), agentv1.AgentReservedCondition)
		return c.Message == "none of 2 Agents in namespace "+x.namespace+" fits: 1 not approved (host-of-large), 1 with too few CPUs (host-of-small)", c.Message
	})
	x.reports(t, "large", func(a *agentinstall.Agent) { a.Spec.Approved = true })
	if host := x.reserved(t, x.namespace, "m"); host != "large" {
		t.Errorf("the machine has the Agent %s", host)
	}
}

// TestNamesOfNamespacesAreKeptApart makes machines of one name in two namespaces take Agents of a third namespace, and
// machines with names that are longer than a label and differ only at the end.
func TestNamesOfNamespacesAreKeptApart(t *testing.T) {
	t.Parallel()
	x := open(t, setup{namespaces: 2, agents: "own"})
	for i := range 4 {
		x.addAgent(t, fmt.Sprintf("agent-%d", i))
	}
	long := strings.Repeat("a-long-name-", 6)
	names := []string{"worker", long + "1", long + "2"}
	of := map[string]string{}
	for _, namespace := range x.namespaces {
		x.addCluster(t, namespace, "c")
	}
	for _, at := range []struct{ namespace, name string }{{x.namespaces[0], names[0]}, {x.namespaces[1], names[0]}, {x.namespaces[0], names[1]}, {x.namespaces[0], names[2]}} {
		x.addMachine(t, at.namespace, "c", at.name)
		host := x.reserved(t, at.namespace, at.name)
		agent, _ := x.agent(t, host)
		me := at.namespace + "/" + at.name
		if other := of[host]; other != "" {
			t.Errorf("%s and %s have the Agent %s", me, other, host)
		}
		of[host] = me
		if got := agent.Annotations[pool.AnnotationOwner]; got != me {
			t.Errorf("the Agent of %s carries the name %q", me, got)
		}
		if got := agent.Labels[agentv1.AgentMachineRefLabel]; len(at.name) <= 63 && got != at.name || got == "" {
			t.Errorf("the label of the Agent of %s is %q", me, got)
		}
	}
	for host, me := range of { // and they stay
		namespace, name, _ := strings.Cut(me, "/")
		if now := x.reserved(t, namespace, name); now != host {
			t.Errorf("%s has the Agent %s, and had %s", me, now, host)
		}
	}
}

// TestAgentsOfOtherNamespacesAreNotTaken keeps to the namespace of the machine where no other is configured, even if an
// AgentMachine names another.
func TestAgentsOfOtherNamespacesAreNotTaken(t *testing.T) {
	t.Parallel()
	x := open(t, setup{namespaces: 2})
	x.addAgent(t, "neighbours")
	_, before := x.agent(t, "neighbours")
	own := x.namespaces[1]
	x.addCluster(t, own, "c")
	x.addMachine(t, own, "c", "m", func(_ *clusterv1.Machine, m *agentv1.AgentMachine) {
		m.Spec.ProviderID = agentv1.ProviderIDPrefix + "neighbours"
		m.Annotations = map[string]string{machines.AnnotationReservedHost: x.namespaces[0] + "/neighbours"}
	})
	eventually(t, "the machine to wait", func() (bool, string) {
		m := x.machine(t, own, "m")
		c := conditionOf(m, agentv1.AgentReservedCondition)
		return c.Message == "there are no Agents in namespace "+own && m.Spec.ProviderID == "", m.Spec.ProviderID + " " + c.Message
	})
	if _, after := x.agent(t, "neighbours"); after.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("the Agent of another namespace was changed")
	}
}

// TestHostsOfOtherClustersAreNotTaken neither reserves nor gives back a host that is bound to another namespace's
// cluster, though the control plane's annotation names that cluster for its own, and the AgentMachine the host.
func TestHostsOfOtherClustersAreNotTaken(t *testing.T) {
	t.Parallel()
	x := open(t, setup{namespaces: 2, agents: "own"})
	own, other := x.namespaces[0], x.namespaces[1]
	x.addAgent(t, "theirs", func(a *agentinstall.Agent) {
		a.Spec.ClusterDeploymentName = &hubapi.Reference{Namespace: other, Name: "lab"}
		a.Status.DebugInfo.State = "known"
	})
	_, before := x.agent(t, "theirs")
	controlPlane := &controlplanev1.OpenshiftAssistedControlPlane{ObjectMeta: metav1.ObjectMeta{
		Namespace: own, Name: "c", Annotations: map[string]string{clusterspec.AnnotationClusterID: other + "/lab"},
	}}
	controlPlane.Spec.DistributionVersion, controlPlane.Spec.Config.BaseDomain = "4.20.1", "example.com"
	controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.MachineTemplateKind, Name: "none"}
	x.create(t, controlPlane)
	x.addCluster(t, own, "c", func(cluster *clusterv1.Cluster, _ *agentv1.AgentCluster) {
		cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.Group, Kind: controlplanev1.ControlPlaneKind, Name: "c"}
	})
	eventually(t, "the refusal", func() (bool, string) {
		infra := &agentv1.AgentCluster{}
		x.get(t, infra, own, "c")
		c := conditionOf(infra, agentv1.ClusterDeploymentReadyCondition)
		return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "remove the annotation") && infra.Status.ClusterDeploymentRef.Name == "", describe(infra)
	})
	x.addMachine(t, own, "c", "m", func(_ *clusterv1.Machine, m *agentv1.AgentMachine) {
		m.Spec.ProviderID = agentv1.ProviderIDPrefix + "theirs"
		m.Annotations = map[string]string{machines.AnnotationReservedHost: x.agents + "/theirs"}
	})
	eventually(t, "the machine to do without the host", func() (bool, string) {
		m := x.machine(t, own, "m")
		return m.Spec.ProviderID == "", m.Spec.ProviderID + " " + describe(m)
	})
	x.deleteMachine(t, "m")
	x.gone(t, "m")
	if _, after := x.agent(t, "theirs"); after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("the host of another cluster was changed: %v", after.Object["spec"])
	}
}

// TestMachinesWaitForDataAndInfrastructure reserves nothing for a machine that has no bootstrap data yet, nor for a
// machine of a Cluster that has no infrastructure.
func TestMachinesWaitForDataAndInfrastructure(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	x.addAgent(t, "agent")
	x.addCluster(t, x.namespace, "c")
	x.addIdleMachine(t, "idle")
	early := &agentv1.AgentCluster{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "early"}} // its endpoint is not known
	x.create(t, early)
	x.create(t, &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "early"},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.ClusterKind, Name: "early"}},
	})
	x.addMachine(t, x.namespace, "early", "early")
	for name, reason := range map[string]string{"idle": "WaitingForBootstrapData", "early": "WaitingForClusterInfrastructure"} {
		eventually(t, "machine "+name+" to wait", func() (bool, string) {
			m := x.machine(t, x.namespace, name)
			return conditionOf(m, agentv1.AgentReservedCondition).Reason == reason, describe(m)
		})
		if m := x.machine(t, x.namespace, name); m.Spec.ProviderID != "" || len(m.Finalizers) > 0 {
			t.Errorf("%s has %q and finalizers %v", name, m.Spec.ProviderID, m.Finalizers)
		}
	}
	if agent, _ := x.agent(t, "agent"); reservedFor(agent) != "" {
		t.Errorf("the Agent is reserved for %s", reservedFor(agent))
	}
	x.patch(t, early, `{"spec": {"controlPlaneEndpoint": {"host": "192.0.2.1", "port": 6443}}}`)
	x.reserved(t, x.namespace, "early")
}

// TestLostAgentsAreReplacedBeforeTheInstallationAlone gives a machine another host where its own has gone
// before it was handed over, and never afterwards.
func TestLostAgentsAreReplacedBeforeTheInstallationAlone(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	for i := range 2 {
		x.addAgent(t, fmt.Sprintf("agent-%d", i))
	}
	x.addCluster(t, x.namespace, "c")
	x.addMachine(t, x.namespace, "c", "m")
	first := x.reserved(t, x.namespace, "m")
	_, u := x.agent(t, first)
	x.delete(t, u)
	var second string
	eventually(t, "another host", func() (bool, string) {
		second = x.reserved(t, x.namespace, "m")
		return second != first, second
	})
	x.reports(t, second, func(a *agentinstall.Agent) {
		a.Spec.ClusterDeploymentName = &hubapi.Reference{Namespace: x.namespace, Name: "c"}
		a.Status.DebugInfo.State = "installed"
		conditionsOf(a, true, true)
	})
	eventually(t, "the machine to be handed over", func() (bool, string) {
		m := x.machine(t, x.namespace, "m")
		return ptr.Deref(m.Status.Initialization.Provisioned, false), describe(m)
	})
	x.addAgent(t, "agent-2")
	_, u = x.agent(t, second)
	x.delete(t, u)
	eventually(t, "the machine to say so", func() (bool, string) {
		m := x.machine(t, x.namespace, "m")
		ready := conditionOf(m, clusterv1.ReadyCondition)
		return ready.Status == metav1.ConditionFalse && ready.Reason == agentv1.AgentGoneReason, describe(m)
	})
	never(t, "the host was replaced", func() (bool, string) {
		m := x.machine(t, x.namespace, "m")
		return m.Spec.ProviderID != agentv1.ProviderIDPrefix+second || !ptr.Deref(m.Status.Initialization.Provisioned, false), m.Spec.ProviderID
	})
}
