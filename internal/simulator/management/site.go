// Package management puts together what lies around the controllers of a management cluster of
// Cluster API: an assisted-service with the operators of a hub, machines that Metal3 provisions,
// and the workload clusters that are installed on them, each played on an API server.
package management

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/hub"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/metal3"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// Config says around which management cluster, and what there is. Kube and Clock are required.
type Config struct {
	// Kube is the API server of the management cluster, as an administrator.
	Kube *rest.Config
	// Namespace limits the operators to one namespace; "" is all of them.
	Namespace string
	// Clock is the time of the simulation.
	Clock clock.Clock
	// Reader is the clock of those who read the hub, where that is another one: see hub.Config.
	Reader clock.Clock
	// Seed decides on everything that would be chance.
	Seed int64
	// Hive plays Hive's operator, too, and Webhooks registers the hub's admission, on loopback.
	Hive, Webhooks bool
	// Auth is how the service knows its callers; empty is not at all.
	Auth auth.Mode
	// Images are release images of registries, by their digests: see hub.Config.
	Images map[string]string
	// Network is where the machines sit; the zero value is 192.168.127.0/24, which has room for 200.
	Network host.Network
	// Scenario is the trouble that is made; nil for none.
	Scenario *scenario.Scenario
	// Servers are API servers, with controllers that sign certificates, on each of which one workload
	// cluster is played at a time.
	Servers []*rest.Config
	// Shared is an API server for the nodes of all clusters that find none of Servers free. Each is
	// shown its own nodes and requests of kubelets alone. The nodes' names have to differ. The clusters'
	// ClusterVersion is one that is always available, with the version of the first. Nil has such clusters
	// installed without an API server.
	Shared *rest.Config
	// Beside is the site of another management cluster. This site shares its service, machines and workload
	// clusters, as after a move, and ignores the other fields about them.
	Beside *Site
	// Logf takes a line about each thing that happens; nil drops them. It never gets a secret.
	Logf func(format string, args ...any)
}

// Site is what lies around one management cluster.
type Site struct {
	*estate

	config  Config
	ctx     context.Context // until it is closed, or a part of it fails
	stop    context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	errs []error
}

// estate is what management clusters may have in common.
type estate struct {
	url      string
	callers  *auth.Service
	hardware *metal3.Hardware
	clusters *workloads
}

// Start starts everything, until ctx ends or Close is called.
func Start(ctx context.Context, config Config) (*Site, error) {
	if config.Logf == nil {
		config.Logf = func(string, ...any) {}
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Site{config: config, ctx: ctx, stop: stop}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("surround the management cluster: %w", err), s.Close())
	}
	return s, nil
}

func (s *Site) start(ctx context.Context) error {
	if s.config.Beside != nil {
		s.estate = s.config.Beside.estate
	} else if err := s.found(ctx); err != nil {
		return err
	}
	if _, err := hub.AddImageSets(ctx, s.config.Kube); err != nil {
		return err
	}
	s.play("hub", func() error {
		return hub.Run(ctx, hub.Config{
			Kube: s.config.Kube, Namespace: s.config.Namespace, Service: s.url, Callers: s.callers, Clock: s.config.Clock,
			Reader: s.config.Reader, Hive: s.config.Hive,
			Webhooks: s.config.Webhooks, Images: s.config.Images, Reclaim: s.hardware.Reclaim, Metal3: true, Logf: s.says("hub"),
		})
	})
	s.play("metal3", func() error {
		return metal3.Run(
			ctx,
			metal3.Config{Kube: s.config.Kube, Namespace: s.config.Namespace, Hardware: s.hardware, Clock: s.config.Clock, Logf: s.says("metal3")},
		)
	})
	return nil
}

func (s *Site) found(ctx context.Context) error {
	if err := s.serve(ctx, "127.0.0.1:0", true); err != nil {
		return err
	}
	var err error
	s.hardware, err = metal3.NewHardware(metal3.HardwareConfig{
		ServiceURL: s.url, Clock: s.config.Clock, Seed: uint64(s.config.Seed), Network: s.config.Network, Scenario: s.config.Scenario,
		Joins: s.clusters.join, JoinsAll: true, Logf: s.says("machine"),
	})
	if err != nil {
		return err
	}
	s.play("machines", func() error { return s.hardware.Run(ctx) })
	return s.clusters.prepare(ctx)
}

// serve starts the service on an address, that of a hub's operators or one that is spoken to by REST.
func (s *Site) serve(ctx context.Context, address string, kubeAPI bool) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	s.estate = &estate{url: "http://" + listener.Addr().String()}
	s.clusters = newWorkloads(ctx, s.config, s.says("workload"))
	service, err := simulator.NewService(simulator.ServiceConfig{
		Clock: s.config.Clock, Seed: s.config.Seed, Scenario: s.config.Scenario, KubeAPI: kubeAPI, PublicURL: func() string { return s.url },
		Access: s.clusters.access,
	}, s.config.Auth)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.callers = service.Callers()
	if s.clusters.service, err = assisted.New(s.url, s.callers); err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: service, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	s.play("service", func() error { return server.Serve(listener) })
	s.play("service", func() error { return service.Run(ctx) })
	s.play("service", func() error { <-ctx.Done(); return server.Close() })
	return nil
}

func (s *Site) says(who string) func(string, ...any) {
	return func(format string, args ...any) { s.config.Logf(who+": "+format, args...) }
}

// play runs a part of the site, and notes why it ends before the site does.
func (s *Site) play(what string, run func() error) {
	s.running.Go(func() {
		err := run()
		if err == nil || s.ctx.Err() != nil {
			return // it was to end
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errs = append(s.errs, fmt.Errorf("%s: %w", what, err))
		s.stop()
	})
}

// Close ends everything, and returns what went wrong, if anything did.
func (s *Site) Close() error {
	s.stop()
	s.running.Wait()
	var err error
	if s.estate != nil && s.config.Beside == nil && s.clusters != nil {
		err = s.clusters.close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(append(s.errs, err)...)
}

// Context ends with the site: when it is closed, or a part of it fails, which Close then tells.
func (s *Site) Context() context.Context { return s.ctx }

// ServiceURL is where the assisted-service is reached.
func (s *Site) ServiceURL() string { return s.url }

// Hardware are the machines.
func (s *Site) Hardware() *metal3.Hardware { return s.hardware }

// Workload is the workload cluster of a name, once its installation has started; nil before.
func (s *Site) Workload(name string) *Workload { return s.clusters.named(name) }
