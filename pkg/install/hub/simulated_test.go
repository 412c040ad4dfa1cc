package hub_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// memoryFiles keeps results in memory.
type memoryFiles struct {
	mu    sync.Mutex
	saved map[string][]byte
}

func (f *memoryFiles) Observe(context.Context, string) (install.Results, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	has := func(name string) bool { return len(f.saved[name]) > 0 }
	return install.Results{NoIngress: has("kubeconfig-noingress"), Kubeconfig: has("kubeconfig"), Password: has("kubeadmin-password")}, nil
}

func (f *memoryFiles) Save(_ context.Context, _, name string, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.saved == nil {
		f.saved = map[string][]byte{}
	}
	f.saved[name] = data
	return nil
}

// Whole installs against a simulated service behind a real API server: they end
// installed, write each object twice at most, and a second run writes nothing.
func TestInstallOnASimulatedHub(t *testing.T) {
	for name, test := range map[string]struct {
		example string
		config  simulated.Config
		kinds   []install.Kind
	}{
		"compact, with Hive":                 {"compact", simulated.Config{Hive: true, Webhooks: true}, nil},
		"workers, without Hive":              {"ha-workers", simulated.Config{}, []install.Kind{install.RecordInstalled}},
		"single node, a service that stalls": {"sno", simulated.Config{Trouble: simulated.Trouble{UnsyncedAgents: true}}, []install.Kind{install.NudgeCluster}},
		"errors of the backend":              {"compact", simulated.Config{Hive: true, Trouble: simulated.Trouble{BackendErrors: 2}}, nil},
	} {
		t.Run(name, func(t *testing.T) { installSimulated(t, exampleOf(t, test.example), test.config, test.kinds) })
	}
}

// Machines that the hub boots are what the file says by their BareMetalHosts, and
// install as any. The simulated ones boot by themselves: one that has registered
// before it could be given to the hub is not given to it any more.
func TestInstallMachinesThatTheHubBoots(t *testing.T) {
	cluster := exampleOf(t, "compact")
	cluster.Spec.Boot.Method = spec.BootMetal3
	credentials := exampleOf(t, "redfish").Spec.Hosts[0].BMC.Credentials
	for i := range cluster.Spec.Hosts {
		cluster.Spec.Hosts[i].BMC = &spec.BMC{Address: "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1", Credentials: credentials}
	}
	installSimulated(t, cluster, simulated.Config{Webhooks: true}, nil)
}

func exampleOf(t *testing.T, name string) *spec.Cluster {
	t.Helper()
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "..", "examples", name, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func installSimulated(t *testing.T, cluster *spec.Cluster, config simulated.Config, kinds []install.Kind) {
	kube := hub.ServerForTests(t)
	clock := clock.Scaled(300)
	service, err := simulator.Start(t.Context(), simulator.Config{Clock: clock, Seed: 1, Cluster: cluster, KubeAPI: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	config.Kube, config.Service, config.Clock, config.Namespace = kube.Config, service.URL(), clock, kube.Namespace(t)
	running.Go(func() {
		if err := simulated.Run(ctx, config); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	admin, err := dynamic.NewForConfig(kube.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"4.20.33", "4.21.28"} {
		set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"releaseImage": "quay.io/openshift-release-dev/ocp-release:" + version + "-x86_64"}}}
		set.SetAPIVersion("hive.openshift.io/v1")
		set.SetKind("ClusterImageSet")
		set.SetName("openshift-v" + version)
		if _, err := admin.Resource(hubapi.ClusterImageSets()).Apply(t.Context(), set.GetName(), set, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	var (
		mu     sync.Mutex
		writes = map[string]int{}
		done   = map[install.Kind]int{}
		states []string
	)
	log := func(call hub.Call) {
		mu.Lock()
		defer mu.Unlock()
		if call.Writes() && call.Status < 300 {
			writes[call.Path]++
		}
	}
	events := func(e install.Event) {
		if e.Type == install.EventAction && e.State == "done" {
			done[install.Kind(e.Reason)]++
		}
		if e.Key == "cluster/state" {
			states = append(states, e.State)
		}
		if os.Getenv("HUB_TRACE") != "" {
			t.Logf("%s %s %s %s %s", e.Time.Format(time.TimeOnly), e.Type, e.Key, e.State, e.Message)
		}
	}
	run := func() install.Result {
		t.Helper()
		plane, err := hub.New(hub.Config{Kube: kube.Config, Namespace: config.Namespace, Clock: clock, Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		files := &memoryFiles{}
		if len(states) > 0 {
			files = nil
		}
		options := []install.Option{install.WithClock(clock), install.WithEvents(events), install.WithTimeouts(4*time.Hour, time.Hour)}
		if files != nil {
			options = append(options, install.WithFiles(files))
		}
		result, err := install.New(plane, options...).Run(t.Context(), &install.Desired{Spec: cluster})
		if err != nil {
			t.Fatalf("%v (next: %s); states %v, done %v", err, install.NextOf(err), states, done)
		}
		return result
	}
	if result := run(); result.Verdict != install.VerdictInstalled {
		t.Errorf("verdict %s", result.Verdict)
	}
	for _, kind := range kinds {
		if done[kind] == 0 {
			t.Errorf("no %s in %v", kind, done)
		}
	}
	for path, n := range writes {
		if strings.Contains(path, "/agentclusterinstalls/") {
			n -= done[install.NudgeCluster] // a touch is a write as well
		}
		if n > 2 {
			t.Errorf("%s was written %d times", path, n)
		}
	}
	if !slices.Contains(states, string(install.ClusterPreparing)) || !slices.Contains(states, string(install.ClusterFinalizing)) {
		t.Errorf("states %v", states)
	}
	t.Logf("writes of %s: %v; states %s", cluster.Metadata.Name, slices.Sorted(maps.Values(writes)), strings.Join(states, " "))
	clear(writes)
	run()
	if len(writes) > 0 {
		t.Errorf("a second run writes %v", writes)
	}
}
