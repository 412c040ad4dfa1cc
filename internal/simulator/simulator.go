// Package simulator puts the two halves together: an assisted-service in this
// process (package service, with image, auth and versions beside it) and the
// machines that boot its discovery image (package host). They talk over HTTP on
// a real socket, exactly as the real ones do, and so does everybody else.
package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Config says what is simulated.
type Config struct {
	// Clock is the time of service and machines; clock.Scaled(300) makes an hour pass in twelve seconds.
	Clock clock.Clock
	// Seed decides on everything that would be chance.
	Seed int64
	// Scenario is the trouble that is made; nil for none.
	Scenario *scenario.Scenario
	// Cluster names the machines, which boot as soon as there is an image for them.
	Cluster *spec.Cluster
	// KubeAPI says that the service runs as the operator of a hub (package hub).
	KubeAPI bool
	// Auth is how callers are known; empty is none. Where InfraEnvs are listed to nobody, Images gives them.
	Auth   auth.Mode
	Images func(ctx context.Context) ([]string, error)
	// Release is the service's own release; empty is the newest.
	Release versions.ServiceRelease
	// Logf takes a line about each thing that happens; nil drops them.
	Logf func(format string, args ...any)
}

// Simulator is a service and its machines, running.
type Simulator struct {
	url   string
	calls *auth.Service
	bmcs  string
	stop  context.CancelFunc
	group sync.WaitGroup
	mu    sync.Mutex
	errs  []error
}

// Start runs a service and the cluster's machines on loopback, until ctx ends or Close is called.
func Start(ctx context.Context, config Config) (*Simulator, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the simulated service: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Simulator{url: "http://" + listener.Addr().String(), stop: stop}
	bmcs, doors, err := s.openBMCs(config)
	if err != nil {
		stop()
		return nil, errors.Join(err, listener.Close())
	}
	simulated, err := NewService(ServiceConfig{
		Clock: config.Clock, Seed: config.Seed, Scenario: config.Scenario, PublicURL: func() string { return s.url }, KubeAPI: config.KubeAPI, Release: config.Release, Auth: config.Auth,
	})
	if err != nil {
		stop()
		if doors != nil {
			err = errors.Join(err, doors.Close())
		}
		return nil, errors.Join(err, listener.Close())
	}
	s.calls = simulated.Callers()
	if bmcs != nil {
		s.group.Go(func() { s.note(bmcs.Serve(ctx, doors)) })
	}
	server := &http.Server{Handler: simulated, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	s.group.Go(func() { s.note(server.Serve(listener)) })
	s.group.Go(func() { s.note(simulated.Run(ctx)) })
	s.group.Go(func() { <-ctx.Done(); s.note(server.Close()) })
	boot := Boot
	if config.KubeAPI {
		boot = bootAgain // it outlives clusters
	}
	s.group.Go(func() {
		s.note(boot(ctx, BootConfig{
			ServiceURL: s.url, Clock: config.Clock, Seed: config.Seed, Scenario: config.Scenario, Cluster: config.Cluster, BMCs: bmcs, Logf: config.Logf,
			Images: config.Images,
		}))
	})
	return s, nil
}

// URL is where the service is reached.
func (s *Simulator) URL() string { return s.url }

// Callers is how the service knows who calls it.
func (s *Simulator) Callers() *auth.Service { return s.calls }

// openBMCs makes the machines' controllers and a listener for them; nil for both where there are none.
func (s *Simulator) openBMCs(config Config) (*bmc.Server, net.Listener, error) {
	bmcs, err := NewBMCs(BMCConfig{Clock: config.Clock, Seed: config.Seed, Scenario: config.Scenario, Cluster: config.Cluster, Logf: config.Logf})
	if err != nil || bmcs == nil {
		return nil, nil, err
	}
	doors, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the simulated BMCs: %w", err)
	}
	s.bmcs = "http://" + doors.Addr().String()
	return bmcs, doors, nil
}

// BMCProxy is the HTTP proxy through which the machines' controllers are reached
// at the addresses that the file has for them; empty where it has none, or
// machines boot by themselves.
func (s *Simulator) BMCProxy() string { return s.bmcs }

// Close switches everything off and returns what went wrong, if anything did.
func (s *Simulator) Close() error {
	s.stop()
	s.group.Wait()
	return errors.Join(s.errs...)
}

func (s *Simulator) note(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, http.ErrServerClosed) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}
