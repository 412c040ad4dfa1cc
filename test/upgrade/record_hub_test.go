//go:build e2e

package upgrade

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kube "k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	simulatedhub "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// hubStop is when an install on a hub is left: before a write, or when the cluster comes
// to a state. The hub lives on for some time.
type hubStop struct {
	name     string
	writes   int // the number of the write, counted from 1
	agents   int // the same of those to Agents
	state    model.ClusterState
	later    time.Duration
	addNodes bool
}

func (c hubCase) hubStops() []hubStop {
	stops := []hubStop{
		{name: "half registered", writes: 4},
		{name: "registered", state: model.ClusterDraft},
		{name: "discovered", agents: 1, later: 10 * time.Minute},
		{name: "one host configured", agents: 2, later: 10 * time.Minute},
		{name: "preparing", state: model.ClusterPreparing},
		{name: "installing", state: model.ClusterInstalling},
		{name: "finalizing", state: model.ClusterFinalizing, later: time.Minute},
		{name: "installed"},
	}
	if c.late != "" {
		stops = append(stops, hubStop{name: "adding", addNodes: true, agents: 1}, hubStop{name: "added", addNodes: true})
	}
	return stops
}

// errLeft is what requests fail with once an install is left.
var errLeft = errors.New("oaictl is gone")

// leaver ends a run before one of its writes.
type leaver struct {
	next  http.RoundTripper
	leave func()

	mu             sync.Mutex
	writes, agents int // to come until then, that one included; 0 is no limit
	gone           bool
}

func (l *leaver) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return l.next.RoundTrip(r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	count := func(left *int) {
		if *left > 0 {
			*left--
			l.gone = l.gone || *left == 0
		}
	}
	count(&l.writes)
	if strings.Contains(r.URL.Path, "/agents/") {
		count(&l.agents)
	}
	if l.gone {
		l.leave()
		return nil, errLeft
	}
	return l.next.RoundTrip(r)
}

// recordHub writes testdata/CASE/hub.json.gz and hub-results anew.
func (c hubCase) recordHub(t *testing.T) {
	stops := c.hubStops()
	states := make([]hubState, len(stops))
	t.Run("install", func(t *testing.T) {
		for i, stop := range stops {
			t.Run(stop.name, func(t *testing.T) {
				t.Parallel()
				states[i] = c.leaveOnHub(t, stop)
			})
		}
	})
	for i := range states {
		h := restore(t, states[i])
		dir := ""
		if states[i].installed() {
			dir = t.TempDir()
		}
		if states[i].AddNodes {
			c.leaveHubResults(t, h, dir)
		}
		written, a := h.detach(t, c, dir, states[i].AddNodes)
		if a.err != nil {
			t.Fatalf("%s: %v", states[i].Name, a.err)
		}
		states[i].Then = written
		if states[i].Name == "installed" {
			c.keep(t, "hub-results", filesIn(t, dir), map[string]string{h.namespace: namespacePlaceholder})
		}
	}
	c.writeHub(t, states)
}

// writeHub writes testdata/CASE/hub.json.gz.
func (c hubCase) writeHub(t *testing.T, states []hubState) {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	if err := errors.Join(json.NewEncoder(zipped).Encode(states), zipped.Close(), os.WriteFile(c.path("hub.json.gz"), out.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// hubSpeed is how fast the simulated time passes. The simulated operator looks some
// twenty times a second of real time, and a faster clock would have it miss states.
const hubSpeed = 100

// leaveOnHub installs on a simulated hub, and leaves the install.
func (c hubCase) leaveOnHub(t *testing.T, stop hubStop) hubState {
	t.Helper()
	h := newAPIServer(t)
	cluster, passing := c.load(t), clock.Scaled(hubSpeed)
	dark := &scenario.Scenario{}
	if c.late != "" {
		dark.Hosts = []scenario.Rule{{Match: scenario.Match{Name: c.late}, Do: scenario.DoNeverBoot}}
	}
	ctx, halt := context.WithCancel(t.Context())
	service, err := simulator.Start(ctx, simulator.Config{Clock: passing, Seed: 1, Cluster: cluster, Scenario: dark, KubeAPI: true})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		_ = simulatedhub.Run(ctx, simulatedhub.Config{Kube: h.config, Namespace: h.namespace, Service: service.URL(), Clock: passing, Hive: c.hive})
	})
	dir := t.TempDir()
	run := func(addNodes bool, stop hubStop) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		config := kube.CopyConfig(h.config)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return &leaver{next: next, leave: cancel, writes: stop.writes, agents: stop.agents}
		})
		plane, err := hub.New(hub.Config{Kube: config, Namespace: h.namespace, Clock: passing})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		hear := func(e model.Event) {
			if e.Key == "cluster/state" && e.State == string(stop.state) {
				cancel()
			}
		}
		installer := install.New(plane, install.Config{Clock: passing, Files: install.Directory(dir), Events: hear, Timeout: 6 * time.Hour, UserTimeout: -1})
		result, err := installer.Run(ctx, &model.Desired{Spec: cluster, Options: model.Options{AddNodes: addNodes, Run: "run-1"}})
		if err != nil && ctx.Err() == nil {
			t.Fatalf("%s: %v", result.Verdict, err)
		}
	}
	if stop.addNodes {
		run(false, hubStop{})
		running.Go(func() {
			_ = simulator.Boot(ctx, simulator.BootConfig{ServiceURL: service.URL(), Clock: passing, Seed: 1, Cluster: cluster, Day: host.Day2})
		})
	}
	run(stop.addNodes, stop)
	if err := passing.Sleep(t.Context(), stop.later); err != nil {
		t.Fatal(err)
	}
	halt()
	running.Wait()
	if err := service.Close(); err != nil {
		t.Error(err)
	}
	return hubState{Name: stop.name, AddNodes: stop.addNodes, Time: passing.Now().UTC().Truncate(time.Second), Objects: h.objects(t)}
}

// objects are all objects of the namespace, as they are kept in testdata.
func (h *apiServer) objects(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	var kept []unstructured.Unstructured
	for _, kind := range kinds() {
		list, err := h.client.Resource(kind).Namespace(h.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			if object.GetName() == "kube-root-ca.crt" {
				continue
			}
			for _, given := range []string{"resourceVersion", "generation", "creationTimestamp"} {
				unstructured.RemoveNestedField(object.Object, "metadata", given)
			}
			withoutKeys(t, &object)
			text, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if err := object.UnmarshalJSON([]byte(strings.ReplaceAll(string(text), h.namespace, namespacePlaceholder))); err != nil {
				t.Fatal(err)
			}
			kept = append(kept, object)
		}
	}
	return kept
}

// withoutKeys replaces the credentials that a simulated cluster has.
func withoutKeys(t *testing.T, secret *unstructured.Unstructured) {
	t.Helper()
	for key, name := range map[string]string{"kubeconfig": "kubeconfig", "raw-kubeconfig": "kubeconfig-noingress", "password": "kubeadmin-password"} {
		if _, there, _ := unstructured.NestedString(secret.Object, "data", key); !there || secret.GetKind() != "Secret" {
			continue
		}
		text, _ := credentials(name)
		if err := unstructured.SetNestedField(secret.Object, base64.StdEncoding.EncodeToString([]byte(text)), "data", key); err != nil {
			t.Fatal(err)
		}
	}
}
