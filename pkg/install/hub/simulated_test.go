//go:build e2e

package hub_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// A cluster that was registered with an arbiter gets a third machine of the control
// plane in its place, and is installed so; a second run writes nothing.
func TestControlPlaneThatChanges(t *testing.T) {
	cluster, before := sample.Example(t, "compact"), sample.Example(t, "compact")
	two, one := 2, 1
	before.Spec.Topology.ControlPlane, before.Spec.Topology.Arbiters, before.Spec.Hosts[2].Role = &two, &one, spec.Arbiter
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	plane := must.Get(hub.New(hub.Config{Kube: s.config.Kube, Namespace: s.config.Namespace, Clock: s.clock}))(t)
	defer plane.Close()
	register := model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: before.Metadata.Name}
	must.Do(t, plane.Act(t.Context(), &model.Desired{Spec: before}, register))
	result, writes := s.run(t, &model.Desired{Spec: cluster}, nil)
	if result.Verdict != model.VerdictInstalled || s.done[model.UpdateCluster] != 1 {
		t.Errorf("verdict %s, done %v, writes %v", result.Verdict, s.done, writes)
	}
	if _, writes := s.run(t, &model.Desired{Spec: cluster}, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}

// Machines that the hub boots are what the file says by their BareMetalHosts, and
// install as any. The simulated ones boot by themselves: one that has registered
// before it could be given to the hub is not given to it any more.
func TestInstallMachinesThatTheHubBoots(t *testing.T) {
	installSimulated(t, bootedByHub(t), simulated.Config{Webhooks: true}, nil)
}

// bootedByHub is a cluster whose machines the hub boots.
func bootedByHub(t *testing.T) *spec.Cluster {
	t.Helper()
	cluster := sample.Example(t, "compact")
	cluster.Spec.Boot.Method = spec.BootMetal3
	credentials := sample.Example(t, "redfish").Spec.Hosts[0].BMC.Credentials
	for i := range cluster.Spec.Hosts {
		cluster.Spec.Hosts[i].BMC = &spec.BMC{Address: "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1", Credentials: credentials}
	}
	return cluster
}

// Machines that boot an InfraEnv that another client has bound to the cluster do not get a reference to the cluster:
// the hub refuses that reference, and would not manage them.
func TestMachinesOfABoundInfraEnv(t *testing.T) {
	cluster := bootedByHub(t)
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	cluster.Spec.InfraEnv.Ref = "rack"
	env := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"clusterRef": map[string]any{"name": cluster.Metadata.Name, "namespace": s.config.Namespace}, "pullSecretRef": map[string]any{"name": cluster.Metadata.Name + "-pull-secret"},
	}}}
	env.SetAPIVersion("agent-install.openshift.io/v1beta1")
	env.SetKind("InfraEnv")
	env.SetName("rack")
	must.Get(s.admin.Resource(hubapi.Resource(hubapi.KindInfraEnv)).Namespace(s.config.Namespace).Create(t.Context(), env, metav1.CreateOptions{}))(t)
	if result, _ := s.run(t, &model.Desired{Spec: cluster}, nil); result.Verdict != model.VerdictInstalled || s.done[model.RegisterHost] == 0 {
		t.Fatalf("verdict %s, done %v", result.Verdict, s.done)
	}
	machines := must.Get(s.admin.Resource(hubapi.Resource(hubapi.KindBareMetalHost)).Namespace(s.config.Namespace).List(t.Context(), metav1.ListOptions{}))(t)
	for _, m := range machines.Items {
		agents, err := s.admin.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(s.config.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: hubapi.LabelAgentBMH + "=" + m.GetName()})
		if err != nil || len(agents.Items) != 1 {
			t.Errorf("the hub does not look after %s, annotations %v: %v", m.GetName(), m.GetAnnotations(), err)
		}
		if m.GetAnnotations()[hubapi.AnnotationBMHDetached] == "" {
			t.Errorf("the hub does not let go of %s, which is installed", m.GetName())
		}
	}
}

// load reads a cluster of the tests.
func load(t *testing.T, text string) *spec.Cluster {
	t.Helper()
	env := spec.OSEnv()
	env.LookupEnv = func(name string) (string, bool) {
		text, set := map[string]string{"PULL": `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, "ADMIN": "apiVersion: v1\nkind: Config\n"}[name]
		return text, set
	}
	return must.Get(spec.Parse(t.Context(), "cluster.yaml", []byte(text), env))(t)
}

// oneNode says what only a hub knows.
const oneNode = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: edge}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24]}
  hub:
    agentLabels: {zone: a}
    nodeLabels: {example.com/site: north}
    classifications: [{label: size, value: Large, query: .cpu.count > 1}, {label: gpu, value: "yes", query: (.gpus | length) > 99}]
    ironic: {image: "quay.io/metal3/ironic-agent:v1", ipFamilies: [v4]}
    ipxe: boot-order
  hosts:
  - {name: node, role: control-plane, match: {mac: "52:54:00:00:00:00"}, labels: {rack: a}}
`

// TestWhatOnlyAHubKnows is written, takes effect, is read back so that a second run writes nothing, and is deleted with
// the cluster.
func TestWhatOnlyAHubKnows(t *testing.T) {
	cluster := load(t, oneNode)
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	if result, _ := s.run(t, &model.Desired{Spec: cluster}, nil); result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %s", result.Verdict)
	}
	if _, written := s.run(t, &model.Desired{Spec: cluster}, nil); len(written) > 0 {
		t.Errorf("a second run writes %v", written)
	}
	env := s.get(t, hubapi.Resource(hubapi.KindInfraEnv), "edge")
	if env.GetLabels()["example.com/site"] != "north" || env.GetAnnotations()[hubapi.AnnotationPropagateNodeLabels] != "example.com/site" || env.GetAnnotations()[hubapi.AnnotationIPFamily] != "v4" {
		t.Errorf("InfraEnv %v %v", env.GetLabels(), env.GetAnnotations())
	}
	agents, err := s.admin.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(s.config.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "zone=a," + hubapi.LabelClassificationPrefix + "size=Large"})
	if err != nil || len(agents.Items) != 1 {
		t.Fatalf("%d Agents with the labels: %v", len(agents.Items), err)
	}
	labels, _, _ := unstructured.NestedStringMap(agents.Items[0].Object, "spec", "nodeLabels")
	if labels["rack"] != "a" || labels["example.com/site"] != "north" {
		t.Errorf("node labels %v", labels)
	}
	plane := must.Get(hub.New(hub.Config{Kube: s.config.Kube, Namespace: s.config.Namespace, Clock: s.clock}))(t)
	defer plane.Close()
	must.Do(t, plane.DeleteCluster(t.Context(), s.config.Namespace+"/edge", install.DeleteOptions{}))
	left, err := s.admin.Resource(hubapi.Resource(hubapi.KindAgentClassification)).Namespace(s.config.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		t.Errorf("%d AgentClassifications are left: %v", len(left.Items), err)
	}
}

// elsewhere is a cluster that something else installed.
const elsewhere = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: old}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  import: {kubeconfig: {env: ADMIN}, clusterID: 11111111-2222-3333-4444-555555555555}
  discovery: {osVersion: "4.20"}
  hosts:
  - {name: w-0, role: worker, match: {mac: "52:54:00:00:01:00"}}
  - {name: w-1, role: worker, match: {mac: "52:54:00:00:01:01"}}
`

// TestAddNodesToAnImportedCluster: the objects of a cluster that something else
// installed are made, and its hosts are added; a second run writes nothing.
func TestAddNodesToAnImportedCluster(t *testing.T) {
	cluster := load(t, elsewhere)
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	desired := &model.Desired{Spec: cluster, Options: model.Options{AddNodes: true}}
	result, written := s.run(t, desired, nil)
	slices.Sort(result.Plan.Added)
	if result.Verdict != model.VerdictInstalled || strings.Join(result.Plan.Added, " ") != "w-0 w-1" {
		t.Fatalf("verdict %s, added %v", result.Verdict, result.Plan.Added)
	}
	for path, n := range written {
		if n > 2 {
			t.Errorf("%s was written %d times", path, n)
		}
	}
	deployment := s.get(t, hubapi.Resource(hubapi.KindClusterDeployment), "old")
	installed, _, _ := unstructured.NestedBool(deployment.Object, "spec", "installed")
	secret, _, _ := unstructured.NestedString(deployment.Object, "spec", "clusterMetadata", "adminKubeconfigSecretRef", "name")
	if !installed || secret != "old-admin-kubeconfig" {
		t.Errorf("installed %v, kubeconfig in %q", installed, secret)
	}
	if version, _, _ := unstructured.NestedString(s.get(t, hubapi.Resource(hubapi.KindInfraEnv), "old").Object, "spec", "osImageVersion"); version != "4.20" {
		t.Errorf("the live system is of %q", version)
	}
	if _, written := s.run(t, desired, nil); len(written) > 0 {
		t.Errorf("a second run writes %v", written)
	}
}

// nodesOf is a file of kind Nodes with one host, completed with its cluster.
func nodesOf(t *testing.T, cluster string, host spec.Host) *spec.Cluster {
	t.Helper()
	n := &spec.Nodes{Spec: spec.NodesSpec{Cluster: cluster, Hosts: []spec.Host{host}}}
	c := must.Get(n.Resolve(t.Context(), ".", spec.Env{}, nil))(t)
	return must.Get(c.AddedTo(spec.Target{Name: cluster, BaseDomain: "example.com"}))(t)
}

// TestAddNodesOfAFile: a host of a file of kind Nodes joins a cluster whose own file is
// not given. Its objects are left alone, and so is its InfraEnv, which serves; a second run
// writes nothing.
func TestAddNodesOfAFile(t *testing.T) {
	whole := load(t, elsewhere+"  - {name: w-5, role: worker, match: {mac: \"52:54:00:00:01:05\"}}\n")
	s := newStage(t, whole, simulated.Config{Webhooks: true})
	adds := model.Options{AddNodes: true}
	if result, _ := s.run(t, &model.Desired{Spec: load(t, elsewhere), Options: adds}, nil); result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %s", result.Verdict)
	}
	desired := &model.Desired{Options: adds, Spec: nodesOf(t, "old", spec.Host{
		Name: "w-5", Match: spec.Match{MAC: "52:54:00:00:01:05"}, Taints: []spec.Taint{{Key: "slow", Effect: "NoSchedule"}}, ProviderID: "agent://w-5",
	})}
	result, written := s.run(t, desired, nil)
	if result.Verdict != model.VerdictInstalled || !slices.Equal(result.Plan.Added, []string{"w-5"}) {
		t.Errorf("verdict %s, added %v", result.Verdict, result.Plan.Added)
	}
	for path := range written {
		if !strings.Contains(path, "/agents/") {
			t.Errorf("%s was written", path)
		}
	}
	if _, written := s.run(t, desired, nil); len(written) > 0 {
		t.Errorf("a second run writes %v", slices.Collect(maps.Keys(written)))
	}
}

// Hosts that are known by InfraEnvs of their own come from these, are approved for that, and
// installed beside the one that shares the cluster's.
func TestHostsWithInfraEnvsOfTheirOwn(t *testing.T) {
	cluster := sample.Example(t, "compact")
	for i, match := range []spec.Match{{InfraEnv: "second"}, {InfraEnv: "compact-9", MAC: cluster.Spec.Hosts[2].Match.MAC}} {
		cluster.Spec.Hosts[i+1].Match = match
	}
	s, desired := newStage(t, cluster, simulated.Config{Webhooks: true}), &model.Desired{Spec: cluster}
	result, _ := s.run(t, desired, nil)
	if result.Verdict != model.VerdictInstalled || s.done[model.RegisterInfraEnv] != 3 {
		t.Errorf("verdict %s, done %v", result.Verdict, s.done)
	}
	from := map[string]string{}
	for _, h := range result.Observed.Hosts {
		from[h.Hostname] = s.get(t, hubapi.Resource(hubapi.KindAgent), h.ID).GetLabels()[hubapi.LabelAgentInfraEnv]
	}
	if want := map[string]string{"cp-0": "compact", "cp-1": "second", "cp-2": "compact-9"}; !maps.Equal(from, want) {
		t.Errorf("hosts came from %v, want %v", from, want)
	}
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}

// A host that is added to an installed cluster has such an InfraEnv made for it.
func TestAddTheHostOfAnInfraEnv(t *testing.T) {
	cluster := load(t, elsewhere+"  - {name: w-5, role: worker, match: {infraEnv: fifth}}\n")
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	desired := &model.Desired{Spec: cluster, Options: model.Options{AddNodes: true}}
	result, _ := s.run(t, desired, nil)
	if result.Verdict != model.VerdictInstalled || !slices.Contains(result.Plan.Added, "w-5") || s.done[model.RegisterInfraEnv] != 2 {
		t.Errorf("verdict %s, added %v, done %v", result.Verdict, result.Plan.Added, s.done)
	}
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}

// A cluster is installed with a host of a pool that was approved and reserved by hand, beside one that has its image to
// itself and one that shares the cluster's. Nothing is written to the rest of the pool, and a second run writes
// nothing.
func TestInstallWithAReservedAgent(t *testing.T) {
	const reserved, left = "52540000-0000-4000-8000-000000000701", "52540000-0000-4000-8000-000000000702"
	cluster := sample.Example(t, "compact")
	cluster.Spec.Hosts[1].Match = spec.Match{InfraEnv: "second"}
	cluster.Spec.Hosts[2].Match, cluster.Spec.Hosts[2].Hostname = spec.Match{Agent: "pool/" + reserved}, ""
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	cluster.Spec.Hosts[2].Match.Agent = s.config.Namespace + "/" + reserved
	s.makePool(t)
	machines := must.Get((&spec.Nodes{Spec: spec.NodesSpec{Cluster: "compact.example.com", InfraEnv: spec.InfraEnv{Ref: "rack"}, Hosts: []spec.Host{
		{Name: "rack-1", Match: spec.Match{UUID: reserved}}, {Name: "rack-2", Match: spec.Match{UUID: left}},
	}}}).Resolve(t.Context(), ".", spec.Env{}, nil))(t)
	go func() {
		if err := simulator.Boot(t.Context(), simulator.BootConfig{ServiceURL: s.config.Service, Clock: s.clock, Seed: 2, Cluster: machines}); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	}()
	s.approve(t, reserved)
	desired := &model.Desired{Spec: cluster}
	result, writes := s.run(t, desired, nil)
	if result.Verdict != model.VerdictInstalled || s.done[model.BindHost] != 1 {
		t.Errorf("verdict %s, done %v", result.Verdict, s.done)
	}
	for path := range writes {
		if strings.HasSuffix(path, left) || strings.HasSuffix(path, "/rack") {
			t.Errorf("%s was written", path)
		}
	}
	if spec, _, _ := unstructured.NestedMap(s.get(t, hubapi.Resource(hubapi.KindAgent), reserved).Object, "spec"); spec["approved"] != true || spec["hostname"] != nil || spec["role"] != "master" {
		t.Errorf("the Agent's spec %v", spec)
	}
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
	// The other one is added: it is what the file says before it is bound, which installs it.
	s.approve(t, left)
	workers := 1
	cluster.Spec.Topology.Workers = &workers
	cluster.Spec.Hosts = append(cluster.Spec.Hosts, spec.Host{Name: "w-0", Hostname: "w-0", Role: spec.Worker, Match: spec.Match{Agent: s.config.Namespace + "/" + left}})
	desired.Options.AddNodes = true
	if result, _ := s.run(t, desired, nil); !slices.Equal(result.Plan.Added, []string{"w-0"}) || s.done[model.InstallHost] > 0 || s.done[model.RegisterInfraEnv] != 2 {
		t.Errorf("added %v, done %v", result.Plan.Added, s.done)
	}
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}

// approve waits for an Agent, and approves it as a person does.
func (s *stage) approve(t *testing.T, name string) {
	t.Helper()
	agents := s.admin.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(s.config.Namespace)
	for end := s.clock.Now().Add(time.Hour); ; {
		_, err := agents.Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"approved":true}}`), metav1.PatchOptions{FieldManager: "somebody"})
		if err == nil {
			return
		}
		if s.clock.Now().After(end) {
			t.Fatal(err)
		}
		must.Do(t, s.clock.Sleep(t.Context(), 10*time.Second))
	}
}
