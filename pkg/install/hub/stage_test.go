//go:build e2e

package hub_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator"
	simulated "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// stage is a simulated hub on a real API server, and what happened there.
type stage struct {
	config simulated.Config
	clock  clock.Clock
	admin  *dynamic.DynamicClient

	mu     sync.Mutex
	writes map[string]int     // by path, of the last run
	done   map[model.Kind]int // actions, of all runs
	states []string           // of the cluster, in their order
}

// newStage runs a simulated hub whose machines are those of a file.
func newStage(t *testing.T, cluster *spec.Cluster, config simulated.Config) *stage {
	t.Helper()
	kube := hub.ServerForTests(t)
	s := &stage{config: config, clock: clock.Scaled(300), done: map[model.Kind]int{}}
	service, err := simulator.Start(t.Context(), simulator.Config{Clock: s.clock, Seed: 1, Cluster: cluster, KubeAPI: true})
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
	s.config.Kube, s.config.Service, s.config.Clock, s.config.Namespace = kube.Config, service.URL(), s.clock, kube.Namespace(t)
	running.Go(func() {
		if err := simulated.Run(ctx, s.config); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	if s.admin, err = dynamic.NewForConfig(kube.Config); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"4.20.33", "4.21.28"} {
		s.imageSet(t, version)
	}
	return s
}

// imageSet has the hub offer a release.
func (s *stage) imageSet(t *testing.T, version string) {
	t.Helper()
	set := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"releaseImage": "quay.io/openshift-release-dev/ocp-release:" + version + "-x86_64"}}}
	set.SetAPIVersion("hive.openshift.io/v1")
	set.SetKind("ClusterImageSet")
	set.SetName("openshift-v" + version)
	if _, err := s.admin.Resource(hubapi.Resource(hubapi.KindClusterImageSet)).Apply(t.Context(), set.GetName(), set, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
		t.Fatal(err)
	}
}

// run carries out what is desired, as a process that remembers nothing, and says
// what was written for it. Results are kept in files, if any.
func (s *stage) run(t *testing.T, desired *model.Desired, files install.Files) (install.Result, map[string]int) {
	t.Helper()
	s.writes = map[string]int{}
	plane, err := hub.New(hub.Config{Kube: s.config.Kube, Namespace: s.config.Namespace, Clock: s.clock, Log: s.called})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	options := []install.Config{{Clock: s.clock, Events: s.listener(t), Timeout: 4 * time.Hour, UserTimeout: time.Hour}}
	if files != nil {
		options = append(options, install.Config{Files: files})
	}
	result, err := install.New(plane, options...).Run(t.Context(), desired)
	if err != nil {
		t.Fatalf("%v (next: %s); states %v, done %v", err, model.FaultOf(err).Next, s.states, s.done)
	}
	return result, s.writes
}

// called counts what is written.
func (s *stage) called(call install.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if call.Writes() && call.Status < 300 {
		s.writes[call.URL]++
	}
}

// listener records what a run did and saw; with HUB_TRACE in the environment it prints all of it.
func (s *stage) listener(t *testing.T) func(model.Event) {
	return func(e model.Event) {
		if e.Type == model.EventAction && e.State == "done" {
			s.done[model.Kind(e.Reason)]++
		}
		if e.Key == "cluster/state" {
			s.states = append(s.states, e.State)
		}
		if os.Getenv("HUB_TRACE") != "" {
			t.Logf("%s %s %s %s %s", e.Time.Format(time.TimeOnly), e.Type, e.Key, e.State, e.Message)
		}
	}
}

func (s *stage) get(t *testing.T, kind schema.GroupVersionResource, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := s.admin.Resource(kind).Namespace(s.config.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}
