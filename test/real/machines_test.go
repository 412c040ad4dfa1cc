//go:build e2e

package real

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/internal/simulator/host"
	hubsim "github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/test/fixture"
)

// remote is what every plane can do beside installing.
type remote interface {
	install.Backend
	CancelInstall(ctx context.Context, clusterID string) error
	ResetInstall(ctx context.Context, clusterID string) error
}

// boot switches the machines of the cluster on, once after is closed, each as soon as
// there is an image for it. They run until the test's end.
func (x *site) boot(t testing.TB, day host.BootDay, after <-chan struct{}, bmcs *bmc.Server) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	config := simulator.BootConfig{
		ServiceURL: x.wire.base, HTTPClient: x.wire.client, Clock: x.machines, Seed: x.seed, Scenario: x.scenario, Cluster: x.cluster,
		Day: day, HostToken: x.hostToken, BMCs: bmcs,
	}
	config.UserToken = userToken(t, x.auth)
	if x.hub {
		config.Images = hubsim.Images(x.kube, x.namespace)
	}
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-after:
		case <-ctx.Done():
			return
		}
		if err := simulator.Boot(ctx, config); err != nil && ctx.Err() == nil {
			t.Errorf("the machines: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// userToken is what a user's request carries.
func userToken(t testing.TB, auth rest.TokenSource) string {
	t.Helper()
	if auth == nil {
		return ""
	}
	name, value, err := auth.Header(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.EqualFold(name, "Authorization") {
		return ""
	}
	return value
}

// now is for machines that boot at once.
func now() <-chan struct{} {
	past := make(chan struct{})
	close(past)
	return past
}

// lateness is six passes of the service's monitor over a cluster without machines.
const latePasses = 6

// late is for machines that boot after the service has checked the empty cluster again and again, from the time that
// there is an image: what it empties, or derives from machines, it has emptied by then. Events of the run go to the
// returned function.
func (x *site) late(t testing.TB) (after <-chan struct{}, hear func(model.Event)) {
	t.Helper()
	boot := make(chan struct{})
	var once sync.Once
	return boot, func(e model.Event) {
		if e.Type != model.EventAction || e.Reason != string(model.RegisterInfraEnv) || e.State != "done" {
			return
		}
		once.Do(func() {
			go func() {
				interval := stockMonitor
				if !x.simulated() {
					interval = x.monitor
				}
				if x.time.Sleep(t.Context(), latePasses*interval) == nil {
					close(boot)
				}
			}()
		})
	}
}

// controllers are the BMCs of a file whose machines boot through them, and how a run
// reaches them; none for others.
func (x *site) controllers(t testing.TB, plane remote) (*bmc.Server, []install.Config) {
	t.Helper()
	bmcs, err := simulator.NewBMCs(simulator.BootConfig{Clock: x.machines, Seed: x.seed, Scenario: x.scenario, Cluster: x.cluster})
	if err != nil {
		t.Fatal(err)
	}
	if bmcs == nil {
		return nil, nil
	}
	doors, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = bmcs.Serve(ctx, doors) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	proxy := &url.URL{Scheme: "http", Host: doors.Addr().String()}
	return bmcs, []install.Config{fixture.WithMachines(t, plane, x.cluster, proxy, x.time)}
}
