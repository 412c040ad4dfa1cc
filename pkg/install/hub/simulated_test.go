//go:build e2e

package hub_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// memoryFiles keeps results in memory.
type memoryFiles struct {
	mu    sync.Mutex
	saved map[string][]byte
}

func (f *memoryFiles) Observe(context.Context, model.ClusterRef) (map[string]model.SavedResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := map[string]model.SavedResult{}
	for name, data := range f.saved {
		kept[name] = model.SavedResult{Digest: model.Digest(data), Private: true}
	}
	return kept, nil
}

func (f *memoryFiles) Claim(context.Context, model.ClusterRef, func(string) ([]byte, error)) (string, error) {
	return "", nil
}

func (f *memoryFiles) Save(_ context.Context, _ model.ClusterRef, name string, data []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.saved == nil {
		f.saved = map[string][]byte{}
	}
	f.saved[name] = data
	return "", nil
}

// Whole installs against a simulated service behind a real API server: they end
// installed, write each object twice at most, and a second run writes nothing.
func TestInstallOnASimulatedHub(t *testing.T) {
	for name, test := range map[string]struct {
		example string
		config  simulated.Config
		kinds   []model.Kind
	}{
		"workers, without Hive": {"ha-workers", simulated.Config{}, []model.Kind{model.RecordInstalled}},
		"a service that stalls, with errors of its backend": {
			"sno", simulated.Config{Hive: true, Webhooks: true, Trouble: simulated.Trouble{UnsyncedAgents: true, BackendErrors: 2}}, []model.Kind{model.NudgeCluster},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			installSimulated(t, exampleOf(t, test.example), test.config, test.kinds)
		})
	}
}

// A cluster that was registered with an arbiter gets a third machine of the control
// plane in its place, and is installed so; a second run writes nothing.
func TestControlPlaneThatChanges(t *testing.T) {
	cluster, before := exampleOf(t, "compact"), exampleOf(t, "compact")
	two, one := 2, 1
	before.Spec.Topology.ControlPlane, before.Spec.Topology.Arbiters, before.Spec.Hosts[2].Role = &two, &one, spec.Arbiter
	s := newStage(t, cluster, simulated.Config{Webhooks: true})
	plane, err := hub.New(hub.Config{Kube: s.config.Kube, Namespace: s.config.Namespace, Clock: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	register := model.Action{Key: "cluster/register", Kind: model.RegisterCluster, Name: before.Metadata.Name}
	if err := plane.Act(t.Context(), &model.Desired{Spec: before}, register); err != nil {
		t.Fatal(err)
	}
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
	cluster := exampleOf(t, "compact")
	cluster.Spec.Boot.Method = spec.BootMetal3
	credentials := exampleOf(t, "redfish").Spec.Hosts[0].BMC.Credentials
	for i := range cluster.Spec.Hosts {
		cluster.Spec.Hosts[i].BMC = &spec.BMC{Address: "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1", Credentials: credentials}
	}
	return cluster
}

// Machines that boot an InfraEnv that somebody else has bound to the cluster are not
// told which cluster is theirs: the hub refuses that, and does not look after them.
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
	if _, err := s.admin.Resource(hubapi.Resource(hubapi.KindInfraEnv)).Namespace(s.config.Namespace).Create(t.Context(), env, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if result, _ := s.run(t, &model.Desired{Spec: cluster}, nil); result.Verdict != model.VerdictInstalled || s.done[model.RegisterHost] == 0 {
		t.Fatalf("verdict %s, done %v", result.Verdict, s.done)
	}
	machines, err := s.admin.Resource(hubapi.Resource(hubapi.KindBareMetalHost)).Namespace(s.config.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
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

func exampleOf(t *testing.T, name string) *spec.Cluster {
	t.Helper()
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "..", "examples", name, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// installSimulated installs a cluster and looks at how: kinds of actions have to
// be among those that were done. Then another run, without the results of the
// first, finds nothing to do.
func installSimulated(t *testing.T, cluster *spec.Cluster, config simulated.Config, kinds []model.Kind) {
	t.Helper()
	s, desired := newStage(t, cluster, config), &model.Desired{Spec: cluster}
	result, writes := s.run(t, desired, &memoryFiles{})
	if result.Verdict != model.VerdictInstalled {
		t.Errorf("verdict %s", result.Verdict)
	}
	for _, kind := range kinds {
		if s.done[kind] == 0 {
			t.Errorf("no %s in %v", kind, s.done)
		}
	}
	for path, n := range writes {
		if strings.Contains(path, "/agentclusterinstalls/") {
			n -= s.done[model.NudgeCluster] // a touch is a write as well
		}
		if n > 2 {
			t.Errorf("%s was written %d times", path, n)
		}
	}
	if !slices.Contains(s.states, string(model.ClusterPreparing)) || !slices.Contains(s.states, string(model.ClusterFinalizing)) {
		t.Errorf("states %v", s.states)
	}
	t.Logf("writes of %s: %v; states %s", cluster.Metadata.Name, slices.Sorted(maps.Values(writes)), strings.Join(s.states, " "))
	if _, writes := s.run(t, desired, nil); len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}

func (*memoryFiles) Append(context.Context, model.ClusterRef, string, []byte) error { return nil }

func (*memoryFiles) Record(context.Context, model.ClusterRef, string) ([]byte, error) {
	return nil, nil
}
