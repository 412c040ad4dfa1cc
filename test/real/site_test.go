//go:build e2e

package real

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	kube "k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	hubsim "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/internal/simulator/metal3"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	hubplane "github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// simulatedSpeed is how much faster than life the simulated service, its machines and
// oaictl run. The simulated operator of a hub looks at the service some twenty times a
// second of real time, so that a faster clock would have it miss states.
const simulatedSpeed = 100

// backend is a way to reach the service.
type backend struct {
	name string
	hub  bool
	hive bool // the simulated operator plays Hive's, too
	bmhs bool // the operator of bare metal is played beside it
	given
}

// backends are the ways to install: the one that the environment names, else both of the
// simulated service. The first is what the others are compared with.
func backends(t testing.TB) []backend {
	t.Helper()
	g, err := fromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	rest, hub := backend{name: "rest", given: g}, backend{name: "hub", hub: true, hive: true, given: g}
	switch {
	case g.service == "":
		return []backend{rest, hub}
	case g.kube != nil:
		return []backend{hub} // a service behind a hub takes no clusters over REST
	}
	return []backend{rest}
}

// overREST is the way to install for what a hub has no word for.
func overREST(t testing.TB) backend {
	t.Helper()
	b := backends(t)[0]
	if b.hub {
		t.Skip("a hub has no word for it")
	}
	return b
}

// bare is the simulated hub without Hive's operator. Where a service is given, a hub is
// as it is.
func bare() backend { return backend{name: "hub without Hive", hub: true} }

// simulated reports whether the service is the simulator's.
func (b backend) simulated() bool { return b.service == "" }

// site is a service of one backend, and one cluster that is to be installed there.
type site struct {
	backend
	cluster  *spec.Cluster
	scenario *scenario.Scenario
	seed     int64
	time     clock.Clock // of oaictl, and of the service if it is simulated
	machines clock.Clock // of the machines
	wire     wire

	// Of a hub only.
	client    dynamic.Interface
	namespace string
	hardware  *metal3.Hardware // the machines of its BareMetalHosts; nil where they are not played

	fixture.Calls
}

// open prepares a cluster with a name that no other has, on a service: the given one, or a simulated one of the test's
// own. In any case it is deleted in the end.
func (b backend) open(t testing.TB, cluster *spec.Cluster, trouble *scenario.Scenario) *site {
	t.Helper()
	cluster.Metadata.Name += "-" + suffix(t)
	x := &site{backend: b, cluster: cluster, scenario: trouble, seed: b.seed(t)}
	if b.simulated() {
		x.simulate(t)
	} else {
		x.time, x.machines = clock.Real(), clock.Scaled(b.speed)
		x.wire = wire{base: b.service, client: b.given.client, auth: b.auth}
		x.needs(t, cluster)
		if b.pullSecret != "" {
			text, err := os.ReadFile(b.pullSecret)
			if err != nil {
				t.Fatal(err)
			}
			cluster.Spec.PullSecret = spec.NewSecret(string(text)).Source()
		}
	}
	if b.hub {
		x.namespace = cluster.Metadata.Name
		client, err := dynamic.NewForConfig(x.kube)
		if err != nil {
			t.Fatal(err)
		}
		x.client = client
		x.releases(t)
	}
	if !b.simulated() {
		x.cleanUp(t)
	}
	return x
}

// suffix is what makes a name unique.
func suffix(t testing.TB) string {
	t.Helper()
	var random [3]byte
	if _, err := rand.Read(random[:]); err != nil {
		t.Fatal(err)
	}
	return "t" + hex.EncodeToString(random[:])
}

// seed makes the machines of a test others than those of all other tests, since a service
// knows a machine by its UUID; those of a simulated service of its own are the same on
// every backend, which makes what happens to them so, too.
func (b backend) seed(t testing.TB) int64 {
	t.Helper()
	if b.simulated() {
		return 1
	}
	n, err := rand.Int(rand.Reader, big.NewInt(1<<40))
	if err != nil {
		t.Fatal(err)
	}
	return n.Int64()
}

// simulate starts a service of the test's own, on a clock that runs fast, and what plays
// a hub before it.
func (x *site) simulate(t testing.TB) {
	t.Helper()
	x.time = clock.Scaled(simulatedSpeed)
	x.machines = x.time
	if x.hub {
		api := server.Start(t)
		x.kube, x.kubeconfig = api.Config, api.Kubeconfig(t)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	x.wire = wire{base: address}
	service, err := simulator.NewService(simulator.ServiceConfig{
		Clock: x.time, Seed: x.seed, Scenario: x.scenario, PublicURL: func() string { return address }, KubeAPI: x.hub,
	}, x.callers())
	if err != nil {
		t.Fatal(err)
	}
	if x.hub {
		token, err := service.Callers().Mint(auth.Grant{Scheme: auth.UserAuth})
		if err != nil {
			t.Fatal(err)
		}
		x.wire.token = token
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	front := &http.Server{Handler: service, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	running.Go(func() { _ = front.Serve(listener) })
	running.Go(func() { _ = service.Run(ctx) })
	if x.hub {
		c := hubsim.Config{
			Kube: x.kube, Namespace: x.cluster.Metadata.Name, Service: address, Callers: service.Callers(), Clock: x.time, Hive: x.hive,
			Metal3: x.bmhs, Logf: func(format string, args ...any) { t.Logf("operator: "+format, args...) },
		}
		if x.bmhs {
			c.Reclaim = func(uuid, image string) { x.hardware.Reclaim(uuid, image) }
		}
		running.Go(func() {
			if err := hubsim.Run(ctx, c); err != nil && ctx.Err() == nil {
				t.Errorf("the simulated operator: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		_ = front.Close()
		running.Wait()
	})
}

// callers is how a simulated service knows its callers: behind a hub by the tokens of
// their images, as an operator sets it up.
func (b backend) callers() auth.Mode {
	if b.hub {
		return auth.Local
	}
	return auth.None
}

// releases are the ClusterImageSets of a hub. A simulated one gets them; where a given
// one has none of the version that the cluster needs, the test is skipped.
func (x *site) releases(t testing.TB) {
	t.Helper()
	sets := x.client.Resource(hubapi.Resource(hubapi.KindClusterImageSet))
	if x.simulated() {
		fixture.OfferReleases(t, x.client)
		return
	}
	list, err := sets.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range list.Items {
		if image, _ := set.Object["spec"].(map[string]any)["releaseImage"].(string); strings.Contains(image, ":"+x.cluster.Spec.OpenShift.Version+".") {
			return
		}
	}
	t.Skipf("the hub has no ClusterImageSet of OpenShift %s", x.cluster.Spec.OpenShift.Version)
}

// plane is a service plane as a new process has one. It is closed at the test's end.
func (x *site) plane(t testing.TB) remote {
	t.Helper()
	if !x.hub {
		client := x.given.client
		if client == nil {
			transport := http.DefaultTransport.(*http.Transport).Clone()
			t.Cleanup(transport.CloseIdleConnections)
			client = &http.Client{Transport: transport}
		}
		plane, err := rest.New(rest.Config{
			URL: x.wire.base, Clock: x.time, HTTPClient: client, CAFile: x.caFile, Auth: x.auth,
			Trace: x.Note,
		})
		if err != nil {
			t.Fatal(err)
		}
		return plane
	}
	plane, err := hubplane.New(hubplane.Config{
		Kube: kube.CopyConfig(x.kube), Clock: x.time, HTTPClient: x.given.client,
		Log: x.Note,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Close)
	return plane
}

// patience is how long a run may take, and how long it waits for a person: on the clock of the caller, which is slow
// where the service is real.
func (x *site) patience() install.Config {
	if x.simulated() {
		return install.Config{Timeout: 6 * time.Hour, UserTimeout: 40 * time.Minute}
	}
	return install.Config{Timeout: 20 * time.Minute, UserTimeout: 2 * time.Minute}
}
