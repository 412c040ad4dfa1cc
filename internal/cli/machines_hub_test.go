//go:build e2e

package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// management is a hub, to which the kinds of Cluster API are added.
type management struct {
	*kubetest.Cluster
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// put makes an object, with its status.
func (m *management) put(t *testing.T, text string) {
	t.Helper()
	objects, err := kubetest.Objects([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, o := range objects {
		kind := o.GroupVersionKind()
		mapping := must.Get(m.mapper.RESTMapping(kind.GroupKind(), kind.Version))(t)
		var to dynamic.ResourceInterface = m.client.Resource(mapping.Resource)
		if o.GetNamespace() != "" {
			to = m.client.Resource(mapping.Resource).Namespace(o.GetNamespace())
		}
		made := must.Get(to.Create(t.Context(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}))(t, o.Object)
		if status, is := o.Object["status"]; is {
			made.Object["status"] = status
			must.Get(to.UpdateStatus(t.Context(), made, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict}))(t, o.Object)
		}
	}
}

func conditionsYAML(list ...[4]string) string {
	var all []string
	for _, c := range list {
		all = append(all, fmt.Sprintf(`{type: %s, status: %q, reason: %s, message: %q, lastTransitionTime: "2026-08-01T12:00:00Z"}`, c[0], c[1], c[2], c[3]))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// poolObjects are a Machine of a pool with its objects.
func poolObjects(namespace, name, phase string, agentMachine [4]string, ready string) string {
	return fmt.Sprintf(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {namespace: %[1]s, name: %[2]s, labels: {cluster.x-k8s.io/cluster-name: lab}}
spec:
  clusterName: lab
  bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: OpenshiftAssistedConfig, name: %[2]s}}
  infrastructureRef: {apiGroup: capi-provider.agent-install.openshift.io, kind: AgentMachine, name: %[2]s}
status: {phase: %[3]s, conditions: %[4]s}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: OpenshiftAssistedConfig
metadata: {namespace: %[1]s, name: %[2]s}
status: {conditions: %[5]s}
---
apiVersion: capi-provider.agent-install.openshift.io/v1beta2
kind: AgentMachine
metadata: {namespace: %[1]s, name: %[2]s}
status: {conditions: %[6]s}
`, namespace, name, phase,
		conditionsYAML([4]string{"InfrastructureReady", ready, agentMachine[2], agentMachine[3]}, [4]string{"NodeHealthy", "Unknown", "InspectionFailed", "Waiting for AgentMachine to report spec.providerID"}, [4]string{"Ready", ready, "NotReady", "* InfrastructureReady: " + agentMachine[3]}),
		conditionsYAML([4]string{"DataSecretAvailable", "True", "DataSecretAvailable", ""}, [4]string{"Ready", "True", "Ready", ""}),
		conditionsYAML(agentMachine, [4]string{"Ready", agentMachine[1], agentMachine[2], agentMachine[3]}))
}

// TestMachinesOfAHub looks at Machines on a real API server: first at one without Cluster API, then at one with it.
func TestMachinesOfAHub(t *testing.T) {
	m := &management{Cluster: kubetest.Start(t)}
	m.client = must.Get(dynamic.NewForConfig(m.Config))(t)
	kubeconfig := m.Kubeconfig(t)
	at := func(line string) outcome {
		t.Helper()
		return reached(t, line+" --backend hub --kubeconfig "+kubeconfig)
	}

	const unserved = "it does not serve machines.cluster.x-k8s.io: it is no management cluster of Cluster API\n"
	for line, next := range map[string]string{"get machines": "why host NAME", "why machine w-1": "why host w-1"} {
		if got := at(line); got.code != 2 || !strings.Contains(got.errors, unserved) || !strings.Contains(got.errors, next) {
			t.Errorf("%s without Cluster API: %+v", line, got)
		}
	}
	if got := at("get hosts -o wide"); got.code != 0 {
		t.Errorf("without Cluster API: %+v", got)
	}

	_, core := kubetest.CoreModule(t)
	must.Do(t, m.Install(t.Context(), nil, filepath.Join(core, "core", "config", "crd", "bases"), filepath.Join("..", "..", "pkg", "capi", "manifests", "crd"), filepath.Join("..", "..", "test", "crds", "metal3")))
	m.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(m.Config)))
	if got := at("get machines"); got.code != 0 || !strings.Contains(got.errors, "no Machines\n") {
		t.Errorf("without Machines: %+v", got)
	}
	m.put(t, "{apiVersion: v1, kind: Namespace, metadata: {name: lab}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: other}}\n")
	m.put(t, clusterObjects)
	m.put(t, "{apiVersion: agent-install.openshift.io/v1beta1, kind: InfraEnv, metadata: {namespace: lab, name: pool}, spec: {pullSecretRef: {name: p}}}")
	none := [4]string{"AgentReserved", "False", "NoSuitableAgents", "3 Agents: 2 with too little memory, 1 bound to a cluster"}
	m.put(t, poolObjects("lab", "lab-w-1", "Pending", none, "False"))
	m.put(t, poolObjects("lab", "lab-w-2", "Provisioning", [4]string{"AgentValidated", "False", "ValidationsFailing", "the host has too little memory"}, "False"))
	m.put(t, poolObjects("lab", "lab-w-3", "Running", [4]string{"Installed", "True", "InstallationCompleted", ""}, "True"))
	m.put(t, poolObjects("other", "lab-w-1", "Pending", none, "False"))
	m.put(t, fmt.Sprintf(poolAgent, "lab", "00000000-0000-0000-0000-000000000001", ", agentMachineRef: lab-w-2", "rack-1"))
	m.put(t, fmt.Sprintf(poolAgent, "lab", "00000000-0000-0000-0000-000000000002", "", "rack-2"))

	for line, want := range map[string]string{
		"get machines lab/lab": `NAME      PHASE          HOST     WAITS FOR
lab-w-1   Pending        -        3 Agents: 2 with too little memory, 1 bound to
                                  a cluster
lab-w-2   Provisioning   rack-1   the host has too little memory
lab-w-3   Running        -        -
`,
		"get machine -n other": `NAME      CLUSTER     PHASE     HOST   WAITS FOR
lab-w-1   other/lab   Pending   -      Cluster lab does not exist
`,
		"why machine lab/lab-w-1": `Machine lab/lab-w-1 is Pending: 1 thing in the way.
It has no host yet.

1. AgentMachine lab-w-1: 3 Agents: 2 with too little memory, 1 bound to a cluster
   Check: kubectl -n lab describe agentmachine.capi-provider.agent-install.openshift.io lab-w-1
`,
		"why machine lab-w-2": "Machine lab/lab-w-2 is Provisioning: ",
		"why machine lab-w-3": "Machine lab/lab-w-3 is Running: nothing stands in the way.\n",
	} {
		if got := at(line); got.code != 0 || !strings.HasPrefix(got.out, want) {
			t.Errorf("%s: %d\n%s%s", line, got.code, got.out, got.errors)
		}
	}
	if got := at("why host lab-w-2"); got.code != 0 || !strings.Contains(got.out, "Its host is rack-1, which is Blocked.\n") || strings.Count(got.out, "memory") == 0 || strings.Contains(got.out, "AgentMachine") {
		t.Errorf("%+v", got)
	}
	if got := at("why machine lab-w-1"); got.code != 5 || !strings.Contains(got.errors, "there are several: lab/lab-w-1, other/lab-w-1\n") {
		t.Errorf("%+v", got)
	}
	if got := at("get hosts -o wide"); got.code != 0 || !strings.Contains(got.out, "MACHINE   ADDRESSES") || !strings.Contains(got.out, "lab-w-2") {
		t.Errorf("%+v", got)
	}
	t.Log(at("get machines -o wide").out, at("get hosts -o wide").out, at("get hosts").out, at("get hosts -o json -n other").out)

	// a person who may read only Machines and hosts still sees what the Machine itself says
	rule := func(group, resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{"list"}}
	}
	poor := m.User(t, "night", rule("cluster.x-k8s.io", "machines"), rule("agent-install.openshift.io", "agents"))
	got := reached(t, "why machine lab/lab-w-1 --backend hub --kubeconfig "+m.KubeconfigOf(t, poor))
	if got.code != 0 || !strings.Contains(got.out, "1. Machine lab-w-1: 3 Agents: 2 with too little memory") {
		t.Errorf("%+v", got)
	}
}
