package hub

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	kube "k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/simulator"
	hubsim "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	hubplane "github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/hubapi"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// speed is how much faster than life service and machines run. The simulated
// operator looks at the service some twenty times a second of real time, so that
// a faster clock would have it miss states; and many run at once, on a machine
// that may have other work to do.
const speed = 100

// backend is a way to reach the service, and what is particular about it.
type backend struct {
	name string
	hub  bool
	hive bool // Hive's operator runs on the hub
	// metal3 has the hub boot the machines.
	metal3 bool
}

// backends are the ways to install the same cluster. The first is what the others
// are compared with.
func backends() []backend { return []backend{{name: "rest"}, onHub()} }

// onHub is a hub with Hive's operator, bare one without.
func onHub() backend { return backend{name: "hub", hub: true, hive: true} }
func bare() backend  { return backend{name: "hub without Hive", hub: true} }

// site is a service of one backend with its machines, and how it is reached.
type site struct {
	backend
	cluster *spec.Cluster
	time    clock.Clock
	service *simulator.Simulator

	// Of a hub only.
	server    *kubetest.Cluster
	kube      *kube.Config // of who installs
	client    dynamic.Interface
	namespace string

	heard func(hubplane.Call) // is told of every call, too; may be nil

	mu    sync.Mutex
	calls []call
}

// call is one request of oaictl to the service or the API server.
type call struct {
	method, path string
	status       int
}

func (c call) writes() bool {
	return c.method != http.MethodGet && c.method != http.MethodHead && c.method != "WATCH"
}

// setup is what a site has that is not the same everywhere.
type setup struct {
	cluster  *spec.Cluster
	scenario *scenario.Scenario
	speed    float64
	server   *kubetest.Cluster // nil: the one of all tests
	operator hubsim.Config     // Hive, Webhooks and Trouble of it
	// absent leaves the simulated operator out.
	absent bool
}

// example reads the cluster of an example.
func example(t testing.TB, name string) *spec.Cluster {
	t.Helper()
	cluster, err := spec.Load(t.Context(), filepath.Join("..", "..", "examples", name, "cluster.yaml"), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// open starts what a backend needs, until the test's end.
func (b backend) open(t testing.TB, s setup) *site {
	t.Helper()
	if s.speed == 0 {
		s.speed = speed
	}
	x := &site{backend: b, cluster: s.cluster, time: clock.Scaled(s.speed)}
	if b.hub {
		if x.server = s.server; x.server == nil {
			x.server = server.Start(t)
		}
		x.kube, x.namespace = x.server.Config, x.server.Namespace(t)
		client, err := dynamic.NewForConfig(x.server.Config)
		if err != nil {
			t.Fatal(err)
		}
		x.client = client
		x.imageSets(t)
	}
	ctx, stop := context.WithCancel(t.Context())
	service, err := simulator.Start(ctx, simulator.Config{Clock: x.time, Seed: 1, Cluster: s.cluster, Scenario: s.scenario, KubeAPI: b.hub})
	if err != nil {
		t.Fatal(err)
	}
	x.service = service
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
		if err := service.Close(); err != nil {
			t.Errorf("the simulator: %v", err)
		}
	})
	if b.hub && !s.absent {
		c := s.operator
		c.Kube, c.Namespace, c.Service, c.Clock, c.Hive = x.server.Config, x.namespace, service.URL(), x.time, b.hive
		c.Logf = func(format string, args ...any) { t.Logf("operator: "+format, args...) }
		running.Go(func() {
			if err := hubsim.Run(ctx, c); err != nil && ctx.Err() == nil {
				t.Errorf("the simulated operator: %v", err)
			}
		})
	}
	return x
}

// releases are what a hub has, as its operator offers them.
func releases() map[string]string {
	return map[string]string{
		"img4.20.33-x86-64": "quay.io/openshift-release-dev/ocp-release:4.20.33-x86_64",
		"img4.21.28-x86-64": "quay.io/openshift-release-dev/ocp-release:4.21.28-x86_64",
	}
}

func (x *site) imageSets(t testing.TB) {
	t.Helper()
	for name, image := range releases() {
		set := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": hubapi.GroupHive + "/" + hubapi.VersionHive, "kind": hubapi.KindClusterImageSet,
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"releaseImage": image},
		}}
		_, err := x.client.Resource(hubapi.ClusterImageSets()).Create(t.Context(), set, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// plane is a service plane as a new process has one. It is closed at the test's
// end.
func (x *site) plane(t testing.TB) remote {
	t.Helper()
	if !x.hub {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		t.Cleanup(transport.CloseIdleConnections)
		plane, err := rest.New(rest.Config{
			URL: x.service.URL(), Clock: x.time, HTTPClient: &http.Client{Transport: transport},
			Trace: func(e rest.Exchange) { x.note(call{e.Method, pathOf(e.URL), e.Status}) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return plane
	}
	return x.planeAs(t, x.kube)
}

// planeAs is a plane with the credentials of somebody.
func (x *site) planeAs(t testing.TB, who *kube.Config) *hubplane.Plane {
	t.Helper()
	plane, err := hubplane.New(hubplane.Config{
		Kube: who, Namespace: x.namespace, Clock: x.time,
		Log: func(c hubplane.Call) {
			x.note(call{c.Method, c.Path, c.Status})
			if x.heard != nil {
				x.heard(c)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Close)
	return plane
}

// pathOf is the path of a URL.
func pathOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Path
}

func (x *site) note(c call) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls = append(x.calls, c)
}

// noted are the calls so far; forget begins anew.
func (x *site) noted() []call {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]call(nil), x.calls...)
}

func (x *site) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls = nil
}

// written are the writes so far.
func (x *site) written() []call {
	var out []call
	for _, c := range x.noted() {
		if c.writes() {
			out = append(out, c)
		}
	}
	return out
}
