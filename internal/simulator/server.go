package simulator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/image"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/service"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// ServiceConfig says what kind of service is simulated.
type ServiceConfig struct {
	Clock    clock.Clock
	Seed     int64
	Scenario *scenario.Scenario
	// PublicURL is where the service is reached, without a path.
	PublicURL func() string
	// Auth is how callers are known; empty is none.
	Auth auth.Mode
	// KubeAPI says that the service runs as the operator of a hub (package hub).
	KubeAPI bool
	// Release is the service's own release; empty is the newest.
	Release versions.ServiceRelease
	// MonitorInterval is the time between two of its looks at clusters and hosts; 10 s if zero.
	MonitorInterval time.Duration
}

// Service is the whole service half: the REST API, its authentication and the images, behind one handler.
type Service struct {
	api     *service.Service
	callers *auth.Service
	handler http.Handler
}

// NewService makes the service half. It knows no clusters yet.
func NewService(config ServiceConfig) (*Service, error) {
	s := &Service{}
	var err error
	s.callers, err = auth.New(auth.Config{
		Mode: config.Auth, Clock: config.Clock, AgentSecret: func(secret string) bool { return s.api.KnowsAgentSecret(secret) },
		HasHosts: func(infraEnvID string, hosts []string) bool { return s.api.HasHosts(infraEnvID, hosts) },
	})
	if err != nil {
		return nil, fmt.Errorf("make the simulated service: %w", err)
	}
	images, err := image.New(image.Config{
		Clock: config.Clock, Lookup: s.source, Access: accessFor(config), APIKey: s.callers.SigningKey(),
	})
	if err != nil {
		return nil, fmt.Errorf("make the simulated service: %w", err)
	}
	s.api = service.New(service.Config{
		Clock: config.Clock, Seed: config.Seed, Scenario: config.Scenario, PublicURL: config.PublicURL, Authenticate: s.callers.Wrap, KubeAPI: config.KubeAPI, Release: config.Release, MonitorInterval: config.MonitorInterval,
		ImageURL: func(r service.ImageRequest) (string, time.Time) {
			url, expires, err := images.URL(image.Link{
				Base: config.PublicURL(), InfraEnvID: r.InfraEnvID, Version: r.Version, Arch: r.Arch, Type: r.Type, SigningKey: r.SigningKey,
			})
			if err != nil {
				return "", time.Time{}
			}
			return url, expires
		},
		AgentToken: s.agentToken(config.Auth), FileAccess: s.fileAccess(config), Subscriptions: config.Auth == auth.RHSSO,
		OnTrouble: func(kind string) {
			switch kind {
			case "expire-token":
				s.callers.ExpireAll()
			case "expire-image":
				images.ExpireAll()
			}
		},
	})
	media, login := images.Handler(), s.callers.Login()
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
func accessFor(config ServiceConfig) image.Access {
	expiring := config.Scenario != nil && slices.ContainsFunc(config.Scenario.Service, func(r scenario.Rule) bool { return r.Do == "expire-image" })
	switch {
	case config.Auth == auth.AgentInstallerLocal, config.Auth == auth.Local:
		return image.ByAPIKey
	case config.Auth == auth.RHSSO || expiring:
		return image.ByToken
	}
	return image.ByID
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

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
func (s *Service) fileAccess(config ServiceConfig) func(infraEnvID string) (url.Values, time.Time) {
	grant, key := auth.Grant{Scheme: auth.URLAuth}, "api_key"
	switch config.Auth {
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
		return url.Values{key: {token}}, config.Clock.Now().Add(grant.Lifetime).Truncate(time.Second)
	}
}

func (s *Service) source(_ context.Context, id string) (image.Source, bool) {
	media, ok := s.api.Media(id)
	return image.Source{
		Ignition: media.Ignition, MinimalIgnition: media.MinimalIgnition, NetbootIgnition: media.NetbootIgnition,
		KernelArguments: media.KernelArguments, StaticNetwork: media.StaticNetwork, SigningKey: media.SigningKey, Updated: media.Updated,
	}, ok
}
