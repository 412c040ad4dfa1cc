//go:build e2e

package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
)

// within is how long anything may take.
const within = 3 * time.Minute

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() (bool, string)) {
	t.Helper()
	last := ""
	for end := clock.Real().Now().Add(within); clock.Real().Now().Before(end); {
		var ok bool
		if ok, last = holds(); ok {
			return
		}
		if err := clock.Real().Sleep(t.Context(), 30*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("waited in vain for %s: %s", what, last)
}

// never makes sure that something does not happen for a moment in which it would.
func never(t *testing.T, what string, happens func() (bool, string)) {
	t.Helper()
	for range 20 {
		if does, how := happens(); does {
			t.Fatalf("%s: %s", what, how)
		}
		if err := clock.Real().Sleep(t.Context(), 30*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

func (x *site) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := x.client.Create(t.Context(), object); err != nil {
		t.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

func (x *site) delete(t *testing.T, object client.Object) {
	t.Helper()
	if err := x.client.Delete(t.Context(), object); err != nil {
		t.Fatalf("delete %s: %v", object.GetName(), err)
	}
}

// get is an object as it is now; false where there is none.
func (x *site) get(t *testing.T, object client.Object, namespace, name string) bool {
	t.Helper()
	err := x.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// patch changes an object by a JSON merge patch.
func (x *site) patch(t *testing.T, object client.Object, text string) {
	t.Helper()
	if err := x.client.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatalf("patch %s: %v", object.GetName(), err)
	}
}

// addCluster makes a Cluster with an AgentCluster, which changes may alter, and waits for its infrastructure.
func (x *site) addCluster(t *testing.T, namespace, name string, changes ...func(*clusterv1.Cluster, *agentv1.AgentCluster)) {
	t.Helper()
	infra := &agentv1.AgentCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       agentv1.AgentClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "192.0.2.1", Port: 6443}},
	}
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.ClusterKind, Name: name}},
	}
	for _, change := range changes {
		change(cluster, infra)
	}
	x.create(t, infra)
	x.create(t, cluster)
	eventually(t, "the infrastructure of "+name, func() (bool, string) {
		x.get(t, cluster, namespace, name)
		return ptr.Deref(cluster.Status.Initialization.InfrastructureProvisioned, false), fmt.Sprintf("%+v", cluster.Status.Conditions)
	})
}

// addMachine makes a Machine of a Cluster with an AgentMachine of the same name.
func (x *site) addMachine(t *testing.T, namespace, cluster, name string, changes ...func(*clusterv1.Machine, *agentv1.AgentMachine)) {
	t.Helper()
	infra := &agentv1.AgentMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}}}
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}},
		Spec: clusterv1.MachineSpec{
			ClusterName: cluster, Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data-" + shortened(name))},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: agentv1.Group, Kind: agentv1.MachineKind, Name: name},
		},
	}
	for _, change := range changes {
		change(machine, infra)
	}
	x.create(t, infra)
	x.create(t, machine)
}

// addIdleMachine makes a Machine of the Cluster c that never gets any bootstrap data.
func (x *site) addIdleMachine(t *testing.T, name string, changes ...func(*clusterv1.Machine, *agentv1.AgentMachine)) {
	t.Helper()
	x.create(t, objectOf(t, `{apiVersion: bootstrap.example.com/v1, kind: TestConfig, metadata: {name: `+name+`, namespace: `+x.namespace+`}}`))
	x.addMachine(t, x.namespace, "c", name, append(changes, func(m *clusterv1.Machine, _ *agentv1.AgentMachine) {
		m.Spec.Bootstrap = clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.example.com", Kind: "TestConfig", Name: name}}
	})...)
}

func shortened(name string) string { return name[:min(len(name), 40)] }

func (x *site) machine(t *testing.T, namespace, name string) *agentv1.AgentMachine {
	t.Helper()
	m := &agentv1.AgentMachine{}
	if !x.get(t, m, namespace, name) {
		return nil
	}
	return m
}

// addAgent makes an Agent that is free, which changes may alter.
func (x *site) addAgent(t *testing.T, name string, changes ...func(*agentinstall.Agent)) {
	t.Helper()
	agent := &agentinstall.Agent{
		ObjectMeta: metav1.ObjectMeta{Namespace: x.agents, Name: name, Labels: map[string]string{hubapi.LabelAgentInfraEnv: "pool"}},
		Spec:       agentinstall.AgentSpec{Approved: true},
		Status: agentinstall.AgentStatus{
			DebugInfo: agentinstall.DebugInfo{State: "known-unbound"},
			Inventory: agentinstall.HostInventory{
				Hostname: "host-of-" + name, CPU: agentinstall.HostCPU{Count: 8, Architecture: "x86_64"}, Memory: agentinstall.HostMemory{PhysicalBytes: 32 << 30},
				Disks:      []agentinstall.HostDisk{{ID: "disk", SizeBytes: 500e9, InstallationEligibility: &agentinstall.DiskEligibility{Eligible: true, NotEligibleReasons: []string{}}}},
				Interfaces: []agentinstall.HostInterface{{Name: "eth0", HasCarrier: true, Flags: []string{}, IPV4Addresses: []string{"192.0.2.10/24"}, IPV6Addresses: []string{"2001:db8::10/64", "fe80::1/64"}}},
			},
		},
	}
	conditionsOf(agent, true, false)
	for _, change := range changes {
		change(agent)
	}
	u := toUnstructured(t, agent)
	status := u.Object["status"]
	x.create(t, u)
	u.Object["status"] = status
	if err := x.client.Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
}

// agent is an Agent as it is now.
func (x *site) agent(t *testing.T, name string) (*agentinstall.Agent, *unstructured.Unstructured) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindAgent))
	if !x.get(t, u, x.agents, name) {
		return nil, nil
	}
	agent := &agentinstall.Agent{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, agent); err != nil {
		t.Fatal(err)
	}
	return agent, u
}

// reports makes the service report something else of an Agent.
func (x *site) reports(t *testing.T, name string, change func(*agentinstall.Agent)) {
	t.Helper()
	agent, u := x.agent(t, name)
	change(agent)
	changed := toUnstructured(t, agent)
	if err := x.client.Patch(t.Context(), changed, client.MergeFrom(u)); err != nil {
		t.Fatal(err)
	}
	agentNow, now := x.agent(t, name)
	agentNow.Status = agent.Status
	if err := x.client.Status().Patch(t.Context(), toUnstructured(t, agentNow), client.MergeFrom(now)); err != nil {
		t.Fatal(err)
	}
}

// reservedFor is the AgentMachine that an Agent carries the name of, "" for none.
func reservedFor(a *agentinstall.Agent) string {
	if a.Labels[agentv1.AgentMachineRefLabel] == "" {
		return ""
	}
	return a.Annotations[agentv1.AgentMachineRefNamespaceAnnotation] + "/" + a.Labels[agentv1.AgentMachineRefLabel]
}

// reserved waits until an AgentMachine has a host, and gives its name.
func (x *site) reserved(t *testing.T, namespace, name string) string {
	t.Helper()
	var m *agentv1.AgentMachine
	eventually(t, "a host for "+name, func() (bool, string) {
		m = x.machine(t, namespace, name)
		return m != nil && m.Spec.ProviderID != "" && conditionOf(m, agentv1.AgentReservedCondition).Status == metav1.ConditionTrue, describe(m)
	})
	return strings.TrimPrefix(m.Spec.ProviderID, agentv1.ProviderIDPrefix)
}

// events are the events of a Machine.
func (x *site) events(t *testing.T, namespace, name string) string {
	t.Helper()
	list, err := x.Client.EventsV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list.Items {
		if e.Regarding.Kind == "Machine" && e.Regarding.Name == name {
			lines = append(lines, e.Type+" "+e.Reason+" "+e.Note)
		}
	}
	return strings.Join(lines, "\n")
}
