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
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/image"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/service"
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
	// Auth is how the service authenticates callers; empty is not at all. Images gives the InfraEnvs where the
	// service does not list them.
	Auth   auth.Mode
	Images func(ctx context.Context) ([]string, error)
	// Joins is what becomes of machines that are added to an installed cluster: see BootConfig. It may be nil.
	Joins func(ctx context.Context, j host.Joining) error
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
	boots := BootConfig{
		ServiceURL: s.url, Clock: config.Clock, Seed: config.Seed, Scenario: config.Scenario, Cluster: config.Cluster, Logf: config.Logf,
		Images: config.Images, Joins: config.Joins,
	}
	bmcs, doors, err := OpenBMCs(boots)
	if err != nil {
		stop()
		return nil, errors.Join(err, listener.Close())
	}
	simulated, err := NewService(ServiceConfig{
		Clock: config.Clock, Seed: config.Seed, Scenario: config.Scenario, PublicURL: func() string { return s.url },
		KubeAPI: config.KubeAPI, Release: config.Release,
	}, config.Auth)
	if err != nil {
		stop()
		if doors != nil {
			err = errors.Join(err, doors.Close())
		}
		return nil, errors.Join(err, listener.Close())
	}
	s.calls = simulated.Callers()
	if bmcs != nil {
		s.bmcs = "http://" + doors.Addr().String()
		s.group.Go(func() { s.recordError(bmcs.Serve(ctx, doors)) })
	}
	server := &http.Server{Handler: simulated, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	s.group.Go(func() { s.recordError(server.Serve(listener)) })
	s.group.Go(func() { s.recordError(simulated.Run(ctx)) })
	s.group.Go(func() { <-ctx.Done(); s.recordError(server.Close()) })
	boot := Boot
	if config.KubeAPI {
		boot = BootAgain // it outlives clusters
	}
	boots.BMCs = bmcs
	s.group.Go(func() { s.recordError(boot(ctx, boots)) })
	return s, nil
}

// URL is where the service is reached.
func (s *Simulator) URL() string { return s.url }

// Callers is how the service knows who calls it.
func (s *Simulator) Callers() *auth.Service { return s.calls }

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

func (s *Simulator) recordError(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, http.ErrServerClosed) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

// ServiceConfig says what kind of service is simulated.
type ServiceConfig = service.Config

// Access is how an administrator reaches a cluster: see ServiceConfig.Access.
type Access = service.Access

// Service is the whole service half: the REST API, its authentication and the images, behind one handler.
type Service struct {
	http.Handler

	api     *service.Service
	callers *auth.Service
}

// NewService makes the service half without clusters. The mode is how it authenticates callers; empty is not at
// all. NewService sets the fields of the configuration about callers and images.
func NewService(config ServiceConfig, mode auth.Mode) (*Service, error) {
	s := &Service{}
	var err error
	s.callers, err = auth.New(auth.Config{
		Mode: mode, Clock: config.Clock, AgentSecret: func(secret string) bool { return s.api.KnowsAgentSecret(secret) },
		HasHosts: func(infraEnvID string, hosts []string) bool { return s.api.HasHosts(infraEnvID, hosts) },
	})
	if err != nil {
		return nil, fmt.Errorf("make the simulated service: %w", err)
	}
	images, err := image.New(image.Config{
		Clock: config.Clock, Lookup: s.source, Access: accessFor(mode, config.Scenario), APIKey: s.callers.SigningKey(),
	})
	if err != nil {
		return nil, fmt.Errorf("make the simulated service: %w", err)
	}
	config.Authenticate, config.AgentToken, config.FileAccess = s.callers.Wrap, s.agentToken(mode), s.fileAccess(mode, config.Clock)
	config.Subscriptions = mode == auth.RHSSO
	config.ImageURL = func(r service.ImageRequest) (string, time.Time) {
		url, expires, err := images.URL(image.Link{
			Base: config.PublicURL(), InfraEnvID: r.InfraEnvID, Version: r.Version, Arch: r.Arch, Type: r.Type, SigningKey: r.SigningKey,
		})
		if err != nil {
			return "", time.Time{}
		}
		return url, expires
	}
	config.OnTrouble = func(kind string) {
		switch kind {
		case "expire-token":
			s.callers.ExpireAll()
		case "expire-image":
			images.ExpireAll()
		}
	}
	s.api = service.New(config)
	media, login := images.Handler(), s.callers.Login()
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == auth.TokenPath:
			login.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, service.Base) || r.URL.Path == "/ready" || r.URL.Path == "/health":
			s.api.ServeHTTP(w, r)
		default:
			media.ServeHTTP(w, r)
		}
	})
	return s, nil
}

// accessFor is how image links are opened. A scenario that lets links expire needs links that can.
func accessFor(mode auth.Mode, trouble *scenario.Scenario) image.Access {
	expiring := trouble != nil && slices.ContainsFunc(trouble.Service, func(r scenario.Rule) bool { return r.Do == "expire-image" })
	switch {
	case mode == auth.AgentInstallerLocal, mode == auth.Local:
		return image.ByAPIKey
	case mode == auth.RHSSO || expiring:
		return image.ByToken
	}
	return image.ByID
}

// Run makes time pass in the service until ctx ends.
func (s *Service) Run(ctx context.Context) error { return s.api.Run(ctx) }

// Callers is the service's authentication, to mint tokens with.
func (s *Service) Callers() *auth.Service { return s.callers }

// agentToken is what an agent is let in with: its part of the pull secret, or a token of its infra-env.
func (s *Service) agentToken(mode auth.Mode) func(infraEnvID, cloudSecret string) string {
	switch mode {
	case auth.RHSSO:
		return func(_, cloudSecret string) string { return cloudSecret }
	case auth.AgentInstallerLocal, auth.Local:
		var made sync.Map // an image must not change from one read to the next
		return func(infraEnvID, _ string) string {
			token, err := s.callers.Mint(auth.Grant{Scheme: auth.AgentAuth, InfraEnvID: infraEnvID})
			if err != nil {
				return "" // the agent is refused, and says so
			}
			kept, _ := made.LoadOrStore(infraEnvID, token)
			return kept.(string)
		}
	}
	return nil
}

// fileAccess is how the address of an InfraEnv's files proves that its bearer may have them.
func (s *Service) fileAccess(mode auth.Mode, c clock.Clock) func(infraEnvID string) (url.Values, time.Time) {
	grant, key := auth.Grant{Scheme: auth.URLAuth}, "api_key"
	switch mode {
	case auth.RHSSO:
		grant, key = auth.Grant{Scheme: auth.ImageURLAuth, Lifetime: image.LinkLifetime}, "image_token"
	case auth.AgentInstallerLocal, auth.Local:
	default:
		return nil
	}
	return func(infraEnvID string) (url.Values, time.Time) {
		grant := grant
		grant.InfraEnvID = infraEnvID
		token, err := s.callers.Mint(grant)
		if err != nil {
			return url.Values{}, time.Time{} // it opens nothing, and the service says so
		}
		if grant.Lifetime == 0 {
			return url.Values{key: {token}}, time.Time{}
		}
		return url.Values{key: {token}}, c.Now().Add(grant.Lifetime).Truncate(time.Second)
	}
}

func (s *Service) source(_ context.Context, id string) (image.Source, bool) {
	media, ok := s.api.Media(id)
	return image.Source{
		Ignition: media.Ignition, MinimalIgnition: media.MinimalIgnition, NetbootIgnition: media.NetbootIgnition,
		KernelArguments: media.KernelArguments, StaticNetwork: media.StaticNetwork, SigningKey: media.SigningKey, Updated: media.Updated,
	}, ok
}
