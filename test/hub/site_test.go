//go:build e2e

package hub

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	kube "k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	hubsim "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	hubplane "github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
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
	// metal3 makes the hub boot the machines.
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
	kube      *kube.Config // of the installing user
	client    dynamic.Interface
	namespace string

	heard func(install.Call) // is called for every call, too; may be nil

	fixture.Calls
}

// setup is what a site has that is not the same everywhere.
type setup struct {
	cluster  *spec.Cluster
	scenario *scenario.Scenario
	speed    float64
	server   *kubetest.Cluster // nil: the one of all tests
	operator hubsim.Config     // Hive, Webhooks and Trouble of it
	// joins is what happens to machines that are added to an installed cluster.
	joins func(context.Context, host.Joining) error
	// absent leaves the simulated operator out.
	absent bool
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
		fixture.OfferReleases(t, x.client)
	}
	ctx, stop := context.WithCancel(t.Context())
	service, err := simulator.Start(ctx, simulator.Config{Clock: x.time, Seed: 1, Cluster: s.cluster, Scenario: s.scenario, KubeAPI: b.hub, Joins: s.joins})
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
		running.Go(func() { operate(ctx, t, c) })
	}
	return x
}

// operate runs the simulated operator. Like a pod, it is started again when it
// ends because it cannot reach the API server.
func operate(ctx context.Context, t testing.TB, c hubsim.Config) {
	for {
		err := hubsim.Run(ctx, c)
		if err == nil || ctx.Err() != nil {
			return
		}
		var unreachable net.Error
		if !errors.As(err, &unreachable) {
			t.Errorf("the simulated operator: %v", err)
			return
		}
		t.Logf("the simulated operator is started again: %v", err)
		if clock.Real().Sleep(ctx, time.Second) != nil {
			return
		}
	}
}

// plane is a service plane as a new process has one. It is closed at the test's
// end.
func (x *site) plane(t testing.TB) install.Backend {
	t.Helper()
	if !x.hub {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		t.Cleanup(transport.CloseIdleConnections)
		plane, err := rest.New(rest.Config{
			URL: x.service.URL(), Clock: x.time, HTTPClient: &http.Client{Transport: transport},
			Trace: x.Note,
		})
		if err != nil {
			t.Fatal(err)
		}
		return plane
	}
	return x.planeAs(t, x.kube)
}

// planeAs is a plane with the credentials of a user.
func (x *site) planeAs(t testing.TB, who *kube.Config) *hubplane.Plane {
	t.Helper()
	plane, err := hubplane.New(hubplane.Config{
		Kube: who, Namespace: x.namespace, Clock: x.time,
		Log: func(c install.Call) {
			x.Note(c)
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
