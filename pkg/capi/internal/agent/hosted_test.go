//go:build e2e

package agent_test

import (
	"encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
)

// addHosted makes a cluster whose control plane is hosted, as HyperShift does: the Cluster is called by the
// infrastructure id of the HostedCluster, and the other objects by its name. It is the Cluster's name.
func (x *site) addHosted(t *testing.T, name string) string {
	t.Helper()
	infraID := name + "-x7k2p"
	x.create(t, objectOf(t, fmt.Sprintf(`{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedControlPlane, metadata: {name: %s, namespace: %s},
		spec: {dns: {baseDomain: example.com}, pullSecret: {name: pull-secret}}}`, name, x.namespace)))
	x.addCluster(t, x.namespace, infraID, func(cluster *clusterv1.Cluster, infra *agentv1.AgentCluster) {
		infra.Name, cluster.Spec.InfrastructureRef.Name = name, name
		cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "hypershift.openshift.io", Kind: "HostedControlPlane", Name: name}
		infra.Spec.IgnitionEndpoint = &agentv1.IgnitionEndpoint{
			URL: "https://2001:db8::7:30443/ignition", CACertificateReference: &agentv1.CACertificateReference{Namespace: x.namespace, Name: "ignition-ca"},
		}
	})
	infra := &agentv1.AgentCluster{}
	eventually(t, "the reason why there is no ClusterDeployment", func() (bool, string) {
		x.get(t, infra, x.namespace, name)
		return conditionOf(infra, clusterv1.ReadyCondition).Reason == "HostedControlPlaneNotReady", describe(infra)
	})
	plane := objectOf(t, fmt.Sprintf(`{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedControlPlane, metadata: {name: %s, namespace: %s}}`, name, x.namespace))
	if err := x.client.Status().Patch(t.Context(), plane, client.RawPatch("application/merge-patch+json", []byte(`{"status": {"kubeConfig": {"name": "admin-kubeconfig"}, "kubeadminPassword": {"name": "password"}}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ClusterDeployment", func() (bool, string) {
		x.get(t, infra, x.namespace, name)
		return infra.Status.ClusterDeploymentRef.Name == infraID && conditionOf(infra, clusterv1.ReadyCondition).Status == metav1.ConditionTrue, describe(infra)
	})
	return infraID
}

func (x *site) hubObject(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(hubapi.GroupVersionKind(kind))
	if !x.get(t, u, x.namespace, name) {
		return nil
	}
	return u
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHostedClusterIsInstalledAlready makes the objects that hosts of a hosted cluster are bound to, which no
// move takes along and no deletion reboots hosts by.
func TestHostedClusterIsInstalledAlready(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	name := x.addHosted(t, "hc")
	cluster := &clusterv1.Cluster{}
	x.get(t, cluster, x.namespace, name)
	deployment, install := x.hubObject(t, hubapi.KindClusterDeployment, name), x.hubObject(t, hubapi.KindAgentClusterInstall, name)
	want := fmt.Sprintf(`{"baseDomain":"example.com","clusterInstallRef":{"group":"extensions.hive.openshift.io","kind":"AgentClusterInstall","name":%[2]q,"version":"v1beta1"},`+
		`"clusterMetadata":{"adminKubeconfigSecretRef":{"name":"admin-kubeconfig"},"adminPasswordSecretRef":{"name":"password"},"clusterID":"%[1]s","infraID":"%[1]s"},`+
		`"clusterName":"hc","installed":true,"platform":{"agentBareMetal":{"agentSelector":{}}},"preserveOnDelete":true,"pullSecretRef":{"name":"pull-secret"}}`, cluster.UID, name)
	if got := asJSON(t, deployment.Object["spec"]); got != want {
		t.Errorf("the ClusterDeployment has\n%s, want\n%s", got, want)
	}
	want = fmt.Sprintf(`{"clusterDeploymentRef":{"name":%[2]q},"ignitionEndpoint":{"caCertificateReference":{"name":"ignition-ca","namespace":%[1]q},"url":"https://[2001:db8::7]:30443"},`+
		`"networking":{"userManagedNetworking":true},"provisionRequirements":{"controlPlaneAgents":3}}`, x.namespace, name)
	if got := asJSON(t, install.Object["spec"]); got != want {
		t.Errorf("the AgentClusterInstall has\n%s, want\n%s", got, want)
	}
	for _, u := range []*unstructured.Unstructured{deployment, install} {
		if owners := u.GetOwnerReferences(); len(owners) > 0 {
			t.Errorf("the %s is owned by %v", u.GetKind(), owners)
		}
		if labels := u.GetLabels(); labels["agentClusterRef"] != "hc" || labels[hubapi.LabelBackup] != "true" {
			t.Errorf("the %s has the labels %v", u.GetKind(), labels)
		}
	}
	// What an earlier provider left is made safe.
	x.patch(t, deployment, fmt.Sprintf(`{"spec": {"preserveOnDelete": false}, "metadata": {"ownerReferences": [{"apiVersion": "capi-provider.agent-install.openshift.io/v1alpha1", "kind": "AgentCluster", "name": "hc", "uid": %q}]}}`, cluster.UID))
	infra := &agentv1.AgentCluster{}
	x.get(t, infra, x.namespace, "hc")
	x.patch(t, infra, `{"metadata": {"annotations": {"test": "look again"}}}`)
	eventually(t, "the object to be safe again", func() (bool, string) {
		deployment = x.hubObject(t, hubapi.KindClusterDeployment, name)
		preserves, _, _ := unstructured.NestedBool(deployment.Object, "spec", "preserveOnDelete")
		return preserves && len(deployment.GetOwnerReferences()) == 0, fmt.Sprint(preserves, deployment.GetOwnerReferences())
	})
	x.delete(t, cluster)
	eventually(t, "all to be gone", func() (bool, string) {
		return !x.get(t, infra, x.namespace, "hc") && x.hubObject(t, hubapi.KindClusterDeployment, name) == nil && x.hubObject(t, hubapi.KindAgentClusterInstall, name) == nil, describe(infra)
	})
}

// ignition is bootstrap data of HyperShift.
func (x *site) ignition(t *testing.T, name, token string, merged int) {
	t.Helper()
	var merge []any
	for range merged {
		merge = append(merge, map[string]any{"source": "https://ignition.example.com/ignition", "httpHeaders": []any{
			map[string]any{"name": "Authorization", "value": "Bearer " + token}, map[string]any{"name": "NodePool", "value": "ns/pool"}, map[string]any{"name": "TargetConfigVersionHash", "value": "1234"},
		}})
	}
	data := map[string][]byte{"value": []byte(asJSON(t, map[string]any{"ignition": map[string]any{"version": "3.2.0", "config": map[string]any{"merge": merge}}}))}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: name}}
	if x.get(t, secret, x.namespace, name) {
		secret.Data = data
		if err := x.client.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		return
	}
	secret.Data = data
	x.create(t, secret)
}

// TestHostsOfAHostedCluster binds Agents to a hosted cluster with what lets them in there, names their
// nodes, and takes all of it back.
func TestHostsOfAHostedCluster(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	name := x.addHosted(t, "hc")
	x.addAgent(t, "agent", func(a *agentinstall.Agent) { a.Spec.Hostname, a.Spec.Role = "as-a-person-said", "worker" })
	x.ignition(t, "data-m", "secret-1", 1)
	x.addMachine(t, x.namespace, name, "m")
	var agent *agentinstall.Agent
	eventually(t, "the Agent to be bound", func() (bool, string) {
		agent, _ = x.agent(t, "agent")
		return agent.Spec.ClusterDeploymentName != nil, describe(x.machine(t, x.namespace, "m"))
	})
	spec := agent.Spec
	if spec.ClusterDeploymentName.Name != name || spec.ClusterDeploymentName.Namespace != x.namespace || spec.MachineConfigPool != "ignition" ||
		*spec.IgnitionEndpointTokenReference != (hubapi.FullReference{Namespace: x.namespace, Name: "agent-data-m"}) ||
		asJSON(t, spec.IgnitionEndpointHTTPHeaders) != `{"NodePool":"ns/pool","TargetConfigVersionHash":"1234"}` {
		t.Errorf("the Agent has %s", asJSON(t, spec))
	}
	if spec.Hostname != "as-a-person-said" || spec.Role != "worker" {
		t.Errorf("what a person said was overwritten: %s", asJSON(t, spec))
	}
	token := &corev1.Secret{}
	x.get(t, token, x.namespace, "agent-data-m")
	if string(token.Data["ignition-token"]) != "secret-1" || token.Labels["agent-install.openshift.io/watch"] != "true" || token.Labels[hubapi.LabelBackup] != "true" {
		t.Errorf("the token's Secret has %v and %d bytes", token.Labels, len(token.Data["ignition-token"]))
	}
	x.ignition(t, "data-m", "secret-2", 1)
	x.reports(t, "agent", func(a *agentinstall.Agent) { a.Status.DebugInfo.State = "binding" })
	eventually(t, "a new token", func() (bool, string) {
		x.get(t, token, x.namespace, "agent-data-m")
		return string(token.Data["ignition-token"]) == "secret-2", ""
	})
	// The node comes, under the name that the host has.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-of-" + x.namespace}}
	x.create(t, node)
	x.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "admin-kubeconfig"}, Data: map[string][]byte{"kubeconfig": x.kubeconfig(t)}})
	x.reports(t, "agent", func(a *agentinstall.Agent) {
		a.Spec.Hostname, a.Status.DebugInfo.State = node.Name, "installing-in-progress"
		a.Status.Progress = agentinstall.HostProgress{CurrentStage: "Rebooting", ProgressStages: []string{"Writing image to disk", "Rebooting", "Done"}}
	})
	eventually(t, "the node to be named", func() (bool, string) {
		x.get(t, node, "", node.Name)
		return node.Spec.ProviderID == "agent://agent", describe(x.machine(t, x.namespace, "m"))
	})
	machine := &clusterv1.Machine{}
	eventually(t, "the Machine to have addresses before its node is Ready", func() (bool, string) {
		x.get(t, machine, x.namespace, "m")
		return len(machine.Status.Addresses) == 4 && machine.Spec.ProviderID == "agent://agent", fmt.Sprint(machine.Status.Addresses)
	})
	x.reports(t, "agent", func(a *agentinstall.Agent) {
		a.Status.DebugInfo.State = "added-to-existing-cluster"
		conditionsOf(a, true, true)
	})
	eventually(t, "the machine to be ready", func() (bool, string) {
		m := x.machine(t, x.namespace, "m")
		return conditionOf(m, clusterv1.ReadyCondition).Status == metav1.ConditionTrue, describe(m)
	})
	x.delete(t, machine)
	eventually(t, "the Agent to be given back", func() (bool, string) {
		agent, _ = x.agent(t, "agent")
		return agent.Spec.ClusterDeploymentName == nil, describe(x.machine(t, x.namespace, "m"))
	})
	if spec := agent.Spec; spec.MachineConfigPool != "" || spec.IgnitionEndpointTokenReference != nil || len(spec.IgnitionEndpointHTTPHeaders) > 0 || spec.Role != "worker" {
		t.Errorf("the Agent has %s", asJSON(t, spec))
	}
	x.reports(t, "agent", func(a *agentinstall.Agent) {
		a.Status.DebugInfo.State = "discovering-unbound"
		conditionsOf(a, false, false)
	})
	x.gone(t, "m")
}

// TestDataWithSeveralConfigsIsRefused says of bootstrap data what the service cannot do with it, and goes on
// once it is right.
func TestDataWithSeveralConfigsIsRefused(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	name := x.addHosted(t, "hc")
	x.addAgent(t, "agent")
	x.ignition(t, "data-m", "secret", 2)
	x.addMachine(t, x.namespace, name, "m")
	want := "the Secret data-m: the bootstrap data has 2 configs to merge (ignition.config.merge), and the service fetches exactly one for a machine of a hosted cluster"
	eventually(t, "the reason", func() (bool, string) {
		c := conditionOf(x.machine(t, x.namespace, "m"), agentv1.AgentSpecSyncedCondition)
		return c.Reason == "BootstrapDataUnusable" && c.Message == want, c.Reason + ": " + c.Message
	})
	if agent, _ := x.agent(t, "agent"); agent.Spec.ClusterDeploymentName != nil {
		t.Error("the Agent is bound")
	}
	x.ignition(t, "data-m", "secret", 1)
	x.patch(t, x.machine(t, x.namespace, "m"), `{"metadata": {"annotations": {"test": "look again"}}}`)
	eventually(t, "the Agent to be bound", func() (bool, string) {
		agent, _ := x.agent(t, "agent")
		return agent.Spec.ClusterDeploymentName != nil, describe(x.machine(t, x.namespace, "m"))
	})
}

// TestTokenIsOfTheWholeNodePool keeps the Secret with the token, which the machines of a NodePool share, for as long
// as their cluster is there, whichever of the machines goes.
func TestTokenIsOfTheWholeNodePool(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	name := x.addHosted(t, "hc")
	infra := &agentv1.AgentCluster{}
	x.get(t, infra, x.namespace, "hc")
	x.ignition(t, "data-pool", "secret", 1)
	inPool := func(m *clusterv1.Machine, _ *agentv1.AgentMachine) {
		m.Spec.Bootstrap.DataSecretName = ptr.To("data-pool")
	}
	bound := func(machine string) string {
		x.addAgent(t, "agent-of-"+machine)
		x.addMachine(t, x.namespace, name, machine, inPool)
		host := x.reserved(t, x.namespace, machine)
		eventually(t, host+" to be bound", func() (bool, string) {
			agent, _ := x.agent(t, host)
			return agent.Spec.ClusterDeploymentName != nil, describe(x.machine(t, x.namespace, machine))
		})
		return host
	}
	host := bound("first")
	// A provider of before had the first machine own the Secret.
	first := x.machine(t, x.namespace, "first")
	owned := metav1.OwnerReference{APIVersion: agentv1.GroupVersion().String(), Kind: agentv1.MachineKind, Name: first.Name, UID: first.UID}
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "agent-data-pool"}}
	x.patch(t, token, `{"metadata": {"ownerReferences": [`+asJSON(t, owned)+`]}}`)
	other := bound("second")
	x.get(t, token, x.namespace, token.Name)
	if owners := token.OwnerReferences; len(owners) != 1 || owners[0].Kind != agentv1.ClusterKind || owners[0].UID != infra.UID {
		t.Errorf("the Secret is owned by %s", asJSON(t, owners))
	}
	x.create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: "of-first", OwnerReferences: []metav1.OwnerReference{owned}}})
	leaves := func(machine, host string) {
		x.deleteMachine(t, machine)
		eventually(t, host+" to be given back", func() (bool, string) {
			agent, _ := x.agent(t, host)
			return agent.Spec.ClusterDeploymentName == nil, describe(x.machine(t, x.namespace, machine))
		})
		x.reports(t, host, func(a *agentinstall.Agent) { a.Status.DebugInfo.State = "known-unbound" })
		x.gone(t, machine)
	}
	leaves("first", host)
	eventually(t, "what the first machine owned to be collected", func() (bool, string) {
		return !x.get(t, &corev1.ConfigMap{}, x.namespace, "of-first"), ""
	})
	if !x.get(t, token, x.namespace, token.Name) || string(token.Data["ignition-token"]) != "secret" {
		t.Errorf("the second machine has lost its token")
	}
	leaves("second", other)
	x.delete(t, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: x.namespace, Name: name}})
	eventually(t, "the Secret to go with the cluster", func() (bool, string) { return !x.get(t, token, x.namespace, token.Name), "" })
}

// TestHostsTakenOutOfAHostedClusterStayOut does not install a host again that a person has taken out of its cluster,
// and says what that person can do, until it is bound again.
func TestHostsTakenOutOfAHostedClusterStayOut(t *testing.T) {
	t.Parallel()
	x := open(t, setup{})
	name := x.addHosted(t, "hc")
	x.addAgent(t, "agent")
	x.ignition(t, "data-m", "secret", 1)
	x.addMachine(t, x.namespace, name, "m")
	x.reserved(t, x.namespace, "m")
	isBound := func() (bool, string) {
		agent, _ := x.agent(t, "agent")
		return agent.Spec.ClusterDeploymentName != nil && agent.Spec.MachineConfigPool != "", describe(x.machine(t, x.namespace, "m"))
	}
	eventually(t, "the Agent to be bound", isBound)
	// Before it is handed over, it is bound as often as it takes.
	unbind := func() {
		x.reports(t, "agent", func(a *agentinstall.Agent) {
			a.Spec.ClusterDeploymentName, a.Spec.MachineConfigPool, a.Status.DebugInfo.State = nil, "", "known-unbound"
			conditionsOf(a, true, false)
		})
	}
	unbind()
	eventually(t, "the Agent to be bound again", isBound)
	x.reports(t, "agent", func(a *agentinstall.Agent) {
		a.Status.DebugInfo.State = "added-to-existing-cluster"
		conditionsOf(a, true, true)
	})
	eventually(t, "the machine to be handed over", func() (bool, string) {
		m := x.machine(t, x.namespace, "m")
		return ptr.Deref(m.Status.Initialization.Provisioned, false), describe(m)
	})
	unbind()
	want := "Agent agent was removed from its cluster after the machine was installed, and it is not installed again automatically: delete Machine m to give the host back to its pool, " +
		"or write clusterDeploymentName with the name " + name + " and the namespace " + x.namespace + " into spec of the Agent to have it installed again"
	eventually(t, "the reason", func() (bool, string) {
		m := x.machine(t, x.namespace, "m")
		synced, ready := conditionOf(m, agentv1.AgentSpecSyncedCondition), conditionOf(m, clusterv1.ReadyCondition)
		return synced.Reason == "AgentLeftCluster" && synced.Message == want && ready.Status == metav1.ConditionFalse && ready.Message == want, describe(m)
	})
	never(t, "the Agent was bound", isBound)
	x.reports(t, "agent", func(a *agentinstall.Agent) {
		a.Spec.ClusterDeploymentName, a.Status.DebugInfo.State = &hubapi.Reference{Namespace: x.namespace, Name: name}, "binding"
		conditionsOf(a, true, false)
	})
	eventually(t, "what lets it in to be written again", isBound)
	unbind()
	x.deleteMachine(t, "m")
	x.gone(t, "m")
	if agent, _ := x.agent(t, "agent"); reservedFor(agent) != "" {
		t.Errorf("the Agent is reserved for %s", reservedFor(agent))
	}
}
