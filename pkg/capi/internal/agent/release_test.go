//go:build e2e

package agent_test

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// openInstalled runs the provider beside an installed cluster c, and Agents of these names that are free.
func openInstalled(t *testing.T, agents ...string) *site {
	t.Helper()
	service, desire := installed("")
	x := open(t, setup{service: service, desire: desire})
	service.observed.Cluster.ID = x.namespace + "/c"
	for _, name := range agents {
		x.addAgent(t, name)
	}
	x.addCluster(t, x.namespace, "c")
	return x
}

// handOver marks the Agent of a machine as installed and part of the cluster c, and waits until its machine is handed
// over.
func (x *site) handOver(t *testing.T, name string) string {
	t.Helper()
	host := x.reserved(t, x.namespace, name)
	x.reports(t, host, func(a *agentinstall.Agent) {
		a.Spec.ClusterDeploymentName = &hubapi.Reference{Namespace: x.namespace, Name: "c"}
		a.Status.DebugInfo.State = "added-to-existing-cluster"
		conditionsOf(a, true, true)
	})
	machine := &clusterv1.Machine{}
	eventually(t, name+" to be handed over", func() (bool, string) {
		x.get(t, machine, x.namespace, name)
		return ptr.Deref(machine.Status.Initialization.InfrastructureProvisioned, false), describe(x.machine(t, x.namespace, name))
	})
	return host
}

// unbinds plays the service after ReturnHost: the host leaves its cluster, and is in a state.
func (x *site) unbinds(t *testing.T, state string) {
	x.service.mu.Lock()
	defer x.service.mu.Unlock()
	x.service.act = func(a model.Action) error {
		if a.Kind == model.ReturnHost {
			x.reports(t, a.Target, func(agent *agentinstall.Agent) {
				agent.Spec.ClusterDeploymentName, agent.Status.DebugInfo.State = nil, state
				conditionsOf(agent, state == "known-unbound", false)
			})
		}
		return nil
	}
}

func (x *site) deleteMachine(t *testing.T, name string) {
	t.Helper()
	x.delete(t, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: name}})
}

func (x *site) gone(t *testing.T, name string) {
	t.Helper()
	eventually(t, name+" to be gone", func() (bool, string) {
		machine := &clusterv1.Machine{}
		if x.get(t, machine, x.namespace, name) {
			infra := x.machine(t, x.namespace, name)
			if infra == nil {
				return false, "the Machine is there"
			}
			return false, describe(infra)
		}
		return x.machine(t, x.namespace, name) == nil, "the AgentMachine is there"
	})
}

// TestHostsGoBackOnceTheirNodeIsDrained deletes a Machine with a node: the host is given back after the
// drain and while the node is still there, once, and is free for the next machine.
func TestHostsGoBackOnceTheirNodeIsDrained(t *testing.T) {
	t.Parallel()
	x := openInstalled(t)
	x.addAgent(t, "agent-of-"+x.namespace) // Cluster API finds a node's Machine by this name, in all namespaces
	x.addWorkload(t, "c")
	x.addIdleMachine(t, "cp", func(m *clusterv1.Machine, _ *agentv1.AgentMachine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" }) // without any, nothing is drained
	x.addMachine(t, x.namespace, "c", "m")
	host := x.handOver(t, "m")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + x.namespace}, Spec: corev1.NodeSpec{ProviderID: agentv1.ProviderIDPrefix + host}}
	x.create(t, node)
	machine := &clusterv1.Machine{}
	eventually(t, "the machine to have its node", func() (bool, string) {
		x.get(t, machine, x.namespace, "m")
		return machine.Status.NodeRef.Name == node.Name, ""
	})
	if _, hooked := machine.Annotations[agentv1.PreTerminateHookAnnotation]; !hooked {
		t.Errorf("the Machine has no hook: %v", machine.Annotations)
	}
	if got := machine.Status.Addresses; len(got) != 4 || got[1].Address != "192.0.2.10" || got[2].Address != "2001:db8::10" {
		t.Errorf("its addresses are %+v", got)
	}
	x.patch(t, machine, `{"metadata": {"annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io/test": ""}}}`)
	x.unbinds(t, "reclaiming")
	x.deleteMachine(t, "m")
	never(t, "the host went back before the drain", func() (bool, string) { return len(x.service.actions(model.ReturnHost)) > 0, "" })
	x.patch(t, machine, `{"metadata": {"annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io/test": null}}}`)
	eventually(t, "the host to be on its way back", func() (bool, string) {
		return conditionOf(x.machine(t, x.namespace, "m"), clusterv1.DeletingCondition).Reason == "ReturningAgent" && len(x.service.actions(model.ReturnHost)) > 0, describe(x.machine(t, x.namespace, "m"))
	})
	never(t, "the node was let go while its host leaves it", func() (bool, string) {
		return !x.get(t, node, "", node.Name) || x.machine(t, x.namespace, "m") == nil, ""
	})
	if agent, _ := x.agent(t, host); reservedFor(agent) != x.namespace+"/m" {
		t.Errorf("the host is free already")
	}
	x.reports(t, host, func(a *agentinstall.Agent) { a.Status.DebugInfo.State = "known-unbound"; conditionsOf(a, true, false) })
	x.gone(t, "m")
	if acted := x.service.actions(model.ReturnHost); len(acted) != 1 || acted[0].Target != host || acted[0].InfraEnv != x.agents+"/pool" {
		t.Errorf("the service was asked for %+v", acted)
	}
	if agent, _ := x.agent(t, host); reservedFor(agent) != "" || len(agent.Annotations) > 0 {
		t.Errorf("the host is not free: %v %v", agent.Labels, agent.Annotations)
	}
	x.addMachine(t, x.namespace, "c", "next")
	if again := x.reserved(t, x.namespace, "next"); again != host {
		t.Errorf("the next machine has %s", again)
	}
}

// addWorkload has Cluster API find the nodes of a cluster: they are those of the management cluster.
func (x *site) addWorkload(t *testing.T, name string) {
	t.Helper()
	x.create(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: name + "-kubeconfig", Labels: map[string]string{clusterv1.ClusterNameLabel: name}},
		Type:       clusterv1.ClusterSecretType, Data: map[string][]byte{"value": x.kubeconfig(t)},
	})
	x.patch(t, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: name}}, `{"metadata": {"annotations": {"test": "the control plane is there"}}}`)
	cluster := &clusterv1.Cluster{}
	x.get(t, cluster, x.namespace, name)
	cluster.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	if err := x.client.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
}

// kubeconfig is an administrator's.
func (x *site) kubeconfig(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(x.Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestPeopleAreToldWhomToBoot releases a host that the service cannot boot, and says what is to be done.
func TestPeopleAreToldWhomToBoot(t *testing.T) {
	t.Parallel()
	x := openInstalled(t, "agent")
	x.addMachine(t, x.namespace, "c", "m")
	host := x.handOver(t, "m")
	x.unbinds(t, "unbinding-pending-user-action")
	x.deleteMachine(t, "m")
	x.gone(t, "m")
	want := "a person must boot the discovery image on host-of-agent (agent), for it to be used again: oaictl download iso --infra-env " + x.agents + "/pool"
	eventually(t, "an event", func() (bool, string) {
		events := x.events(t, x.namespace, "m")
		return strings.Contains(events, "Warning "+agentv1.WaitingForPersonReason) && strings.Contains(events, want), events
	})
	agent, _ := x.agent(t, host)
	if reservedFor(agent) != "" {
		t.Errorf("the host is still reserved for %s", reservedFor(agent))
	}
}

// TestNothingGoesBackOfAPausedCluster keeps the host of a Machine that is deleted while its Cluster is
// paused, as while it is moved.
func TestNothingGoesBackOfAPausedCluster(t *testing.T) {
	t.Parallel()
	x := openInstalled(t, "agent", "free")
	x.addMachine(t, x.namespace, "c", "m")
	host := x.handOver(t, "m")
	// Cluster API's core comes back to a Machine that is made while its Cluster is paused at its next resync
	// only, so that this one is its own before.
	x.addIdleMachine(t, "late")
	eventually(t, "late to wait for its bootstrap data", func() (bool, string) {
		m := x.machine(t, x.namespace, "late")
		return conditionOf(m, agentv1.AgentReservedCondition).Reason == "WaitingForBootstrapData", describe(m)
	})
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "c"}}
	x.patch(t, cluster, `{"spec": {"paused": true}}`)
	eventually(t, "the machines to be paused", func() (bool, string) {
		m, late := x.machine(t, x.namespace, "m"), x.machine(t, x.namespace, "late")
		return conditionOf(m, clusterv1.PausedCondition).Status == metav1.ConditionTrue && conditionOf(late, clusterv1.PausedCondition).Status == metav1.ConditionTrue, describe(m) + "; " + describe(late)
	})
	x.patch(t, &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "late"}}, `{"spec": {"bootstrap": {"dataSecretName": "data-late"}}}`)
	x.deleteMachine(t, "m")
	x.delete(t, x.machine(t, x.namespace, "m"))
	never(t, "something was done", func() (bool, string) {
		agent, _ := x.agent(t, host)
		return len(x.service.actions(model.ReturnHost)) > 0 || reservedFor(agent) == "" || x.machine(t, x.namespace, "late").Spec.ProviderID != "", ""
	})
	x.unbinds(t, "known-unbound")
	x.patch(t, cluster, `{"spec": {"paused": null}}`)
	x.gone(t, "m")
	x.reserved(t, x.namespace, "late")
}

// TestNothingGoesBackOfWhatWasMoved lets an AgentMachine go that lives on in another management cluster,
// and leaves its host and its node alone.
func TestNothingGoesBackOfWhatWasMoved(t *testing.T) {
	t.Parallel()
	x := openInstalled(t, "agent")
	x.addMachine(t, x.namespace, "c", "m")
	x.reserved(t, x.namespace, "m")
	if _, blocks := x.machine(t, x.namespace, "m").Annotations[clusterctlv1.BlockMoveAnnotation]; !blocks {
		t.Error("it may be moved before its host is handed over")
	}
	host := x.handOver(t, "m")
	infra := x.machine(t, x.namespace, "m")
	eventually(t, "it to be free to move", func() (bool, string) {
		infra = x.machine(t, x.namespace, "m")
		_, blocks := infra.Annotations[clusterctlv1.BlockMoveAnnotation]
		return !blocks, describe(infra)
	})
	x.patch(t, infra, `{"metadata": {"annotations": {"`+clusterctlv1.DeleteForMoveAnnotation+`": ""}}}`)
	x.delete(t, infra)
	eventually(t, "the AgentMachine to be gone", func() (bool, string) { return x.machine(t, x.namespace, "m") == nil, "" })
	agent, _ := x.agent(t, host)
	if got := x.service.actions(model.ReturnHost); len(got) > 0 || reservedFor(agent) != x.namespace+"/m" || agent.Spec.ClusterDeploymentName == nil {
		t.Errorf("%v; the host is reserved for %q and bound to %v", got, reservedFor(agent), agent.Spec.ClusterDeploymentName)
	}
}

// TestNodesOfMachinesThatLiveAreKept does not give a host back when only the AgentMachine is deleted: its node was not
// drained.
func TestNodesOfMachinesThatLiveAreKept(t *testing.T) {
	t.Parallel()
	x := openInstalled(t, "agent", "unused")
	x.addMachine(t, x.namespace, "c", "m")
	x.handOver(t, "m")
	x.delete(t, x.machine(t, x.namespace, "m"))
	eventually(t, "the reason", func() (bool, string) {
		m := x.machine(t, x.namespace, "m")
		return conditionOf(m, clusterv1.DeletingCondition).Reason == "WaitingForMachine", describe(m)
	})
	never(t, "the host went back", func() (bool, string) { return len(x.service.actions(model.ReturnHost)) > 0, "" })
	x.unbinds(t, "known-unbound")
	x.deleteMachine(t, "m")
	x.gone(t, "m")
	if got := x.service.actions(model.ReturnHost); len(got) != 1 {
		t.Errorf("the service was asked for %v", got)
	}
	// One that was never handed over has no node.
	x.addMachine(t, x.namespace, "c", "early")
	host := x.reserved(t, x.namespace, "early")
	x.delete(t, x.machine(t, x.namespace, "early"))
	eventually(t, "its host to be free", func() (bool, string) {
		agent, _ := x.agent(t, host)
		return reservedFor(agent) == "" && x.machine(t, x.namespace, "early") == nil, reservedFor(agent)
	})
	machine := &clusterv1.Machine{}
	x.get(t, machine, x.namespace, "early")
	if _, hooked := machine.Annotations[agentv1.PreTerminateHookAnnotation]; hooked {
		t.Error("its Machine still waits for it")
	}
	x.deleteMachine(t, "early")
	x.gone(t, "early")
}

// TestDeletionEndsWithoutAnAgent deletes a Machine whose Agent is gone, or is another cluster's by now.
func TestDeletionEndsWithoutAnAgent(t *testing.T) {
	t.Parallel()
	x := openInstalled(t)
	x.addAgent(t, "lost")
	x.addMachine(t, x.namespace, "c", "of-lost")
	_, u := x.agent(t, x.handOver(t, "of-lost"))
	x.addAgent(t, "stolen")
	x.addMachine(t, x.namespace, "c", "of-stolen")
	stolen := x.handOver(t, "of-stolen")
	x.delete(t, u)
	x.reports(t, stolen, func(a *agentinstall.Agent) {
		a.Spec.ClusterDeploymentName = &hubapi.Reference{Namespace: "elsewhere", Name: "other"}
	})
	for _, name := range []string{"of-lost", "of-stolen"} {
		x.deleteMachine(t, name)
		x.gone(t, name)
	}
	agent, _ := x.agent(t, stolen)
	if got := x.service.actions(model.ReturnHost); len(got) > 0 || agent.Spec.ClusterDeploymentName == nil || agent.Spec.ClusterDeploymentName.Name != "other" {
		t.Errorf("the other cluster's host was touched: %v, %v", got, agent.Spec.ClusterDeploymentName)
	}
}

// TestDeletionEndsWithoutAMachine lets an AgentMachine go whose Machine was taken away by force.
func TestDeletionEndsWithoutAMachine(t *testing.T) {
	t.Parallel()
	x := openInstalled(t, "agent")
	x.addMachine(t, x.namespace, "c", "m")
	host := x.handOver(t, "m")
	x.unbinds(t, "known-unbound")
	machine := &clusterv1.Machine{}
	x.get(t, machine, x.namespace, "m")
	x.deleteMachine(t, "m")
	if err := client.IgnoreNotFound(x.client.Patch(t.Context(), machine, client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`)))); err != nil {
		t.Fatal(err)
	}
	x.gone(t, "m")
	agent, _ := x.agent(t, host)
	if reservedFor(agent) != "" || agent.Spec.ClusterDeploymentName != nil {
		t.Errorf("the host is reserved for %q and bound to %v", reservedFor(agent), agent.Spec.ClusterDeploymentName)
	}
}
