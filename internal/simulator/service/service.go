// Package service is the service half of the simulator: an assisted-service
// (REST v2) that lives in the process. It keeps its clusters, infra-envs and
// hosts in memory, speaks HTTP exactly as the real service does, and knows
// nothing of the machines but what they post.
//
// All state hangs on one Service under one lock: its records, the journal of its
// events, and the source of its times and ids. The parts of the API (clusterAPI,
// hostAPI, agentAPI, infraEnvAPI, fileAPI) and the monitor each have those of them
// that they need. A handler runs under the lock and returns values that are encoded
// after it is released; the monitor (Run) takes the same lock once per tick.
package service

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/service/discovery"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// Base is the path below which the API is served.
const Base = "/api/assisted-install"

// Config says what kind of service to be. Only Clock is required.
type Config struct {
	// Clock is the service's time: every timestamp, timeout and Date header.
	Clock clock.Clock
	// Seed makes ids and choices repeatable. The same seed and the same calls give the same answers.
	Seed int64
	// PublicURL is how clients reach the service, without a path
	// ("http://127.0.0.1:8090"). It is asked for whenever an address is printed,
	// because a listener may be opened after the service is made.
	PublicURL func() string
	// ImageURL is a discovery image's address and expiry (zero: never); nil means <PublicURL>/byid/…
	ImageURL func(ImageRequest) (url string, expires time.Time)
	// Authenticate wraps the API. Nil lets everybody in (auth type none).
	Authenticate func(http.Handler) http.Handler
	// AgentToken is the agents' token, given the pull secret's cloud.openshift.com entry; nil or "" is none.
	AgentToken func(infraEnvID, cloudSecret string) string
	// FileAccess is the query by which files need no header, and its end (zero: never). Nil is nothing.
	FileAccess func(infraEnvID string) (query url.Values, expires time.Time)
	// Subscriptions says that each cluster is registered with a subscription.
	Subscriptions bool
	// Scenario is the trouble to make; nil for none.
	Scenario *scenario.Scenario
	// OnTrouble is called for "expire-token" and "expire-image". It may be nil.
	OnTrouble func(kind string)
	// KubeAPI says that the service runs as the operator of a hub.
	KubeAPI bool
	// Release is the service's own release; empty is the newest.
	Release versions.ServiceRelease
	// Access gives the API server that plays a cluster, and its credentials, when an installation starts. Nil, or
	// false, is a cluster without an API server. It is called under the lock of the service, and must not block.
	Access func(clusterID, name string) (Access, bool)
	// MonitorInterval is the time between two evaluations; 10 s if zero.
	MonitorInterval time.Duration
}

// ImageRequest names a discovery image.
type ImageRequest struct {
	InfraEnvID string
	// Version is the minor release of the live image, such as "4.21".
	Version string
	// Arch is the architecture as the service spells it.
	Arch string
	// Type is full-iso, minimal-iso or disconnected-iso.
	Type string
	// SigningKey is the infra-env's own secret, which regenerate-signing-key replaces.
	SigningKey []byte
}

// Access is how an administrator reaches a cluster.
type Access struct {
	// Server is the URL of its API server, CA the authority of its certificate, and Cert and Key the
	// administrator's certificate (PEM).
	Server        string
	CA, Cert, Key []byte
}

// Service is an assisted-service in memory, an http.Handler; Run drives what happens by itself.
type Service struct {
	cfg     Config
	started time.Time
	handler http.Handler
	faults  *faults

	// mu guards all that follows.
	mu        sync.Mutex
	records   *records
	source    *source
	journal   *journal
	variant   *variant
	monitor   *monitor
	clusters  *clusterAPI
	infraEnvs *infraEnvAPI
}

// New makes a service that knows no clusters yet.
func New(cfg Config) *Service {
	if cfg.MonitorInterval <= 0 {
		cfg.MonitorInterval = 10 * time.Second
	}
	if cfg.PublicURL == nil {
		cfg.PublicURL = func() string { return "http://127.0.0.1:8090" }
	}
	if cfg.ImageURL == nil {
		public := cfg.PublicURL
		cfg.ImageURL = func(r ImageRequest) (string, time.Time) {
			return fmt.Sprintf("%s/byid/%s/%s/%s/%s.iso", public(), r.InfraEnvID, r.Version, r.Arch,
				strings.TrimSuffix(r.Type, "-iso")), time.Time{}
		}
	}
	from := newSource(cfg.Clock, cfg.Seed)
	kept := &records{gone: map[string]*model.PrintedCluster{}}
	log := &journal{source: from}
	kind := &variant{release: cfg.Release, hub: cfg.KubeAPI, unmade: unmadeChecks(cfg.Release)}
	told := &steps.Maker{Release: cfg.Release, Entropy: from.entropy, Patience: steps.StockPatience()}
	shown := &printer{variant: kind}
	watch := &monitor{records: kept, source: from, journal: log, variant: kind, steps: told, access: cfg.Access}
	files := &fileAPI{records: kept, source: from, journal: log, printer: shown}
	hosts := &hostAPI{records: kept, source: from, journal: log, variant: kind, printer: shown, monitor: watch}
	agents := &agentAPI{records: kept, source: from, journal: log, variant: kind, printer: shown, steps: told}
	s := &Service{
		cfg: cfg, started: cfg.Clock.Now(), faults: newFaults(cfg.Scenario),
		records: kept, source: from, journal: log, variant: kind, monitor: watch,
		clusters: &clusterAPI{
			records: kept, source: from, journal: log, variant: kind, printer: shown, monitor: watch, hosts: hosts,
			subscriptions: cfg.Subscriptions,
			pickBootstrap: func(masters []*model.Host) *model.Host { return masters[0] },
		},
		infraEnvs: &infraEnvAPI{
			records: kept, source: from, journal: log,
			publicURL: cfg.PublicURL, imageAddress: cfg.ImageURL, agentToken: cfg.AgentToken, fileAccess: cfg.FileAccess,
		},
	}
	s.handler = s.routes(s.clusters, files, s.infraEnvs, hosts, agents, kind, log)
	if cfg.Authenticate != nil {
		s.handler = publicOr(s.handler, cfg.Authenticate(s.handler))
	}
	return s
}

// publicOr lets everybody ask whether the service is ready, and protects the rest.
func publicOr(open, protected http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ready", "/health", Base + "/ready", Base + "/health":
			open.ServeHTTP(w, r)
		default:
			protected.ServeHTTP(w, r)
		}
	})
}

// ServeHTTP implements http.Handler for /api/assisted-install, /ready and /health.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.date())
	s.withFaults(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer clock.Freeze(s.cfg.Clock)()
		s.handler.ServeHTTP(w, r)
	})).ServeHTTP(w, r)
}

// Run evaluates clusters and hosts on every tick until ctx is done, and returns its cause.
func (s *Service) Run(ctx context.Context) error {
	for {
		if err := s.cfg.Clock.Sleep(ctx, s.cfg.MonitorInterval); err != nil {
			return err
		}
		done := clock.Freeze(s.cfg.Clock)
		s.tick()
		done()
	}
}

func (s *Service) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.monitor.tick()
}

func (s *Service) date() string { return s.source.now().Format(http.TimeFormat) }

// Media is what an infra-env puts into its discovery media.
type Media struct {
	// These are the Ignition configs of a full image, of a minimal one, which has the
	// hosts' networks in StaticNetwork, and of the infra-env's own type.
	Ignition, MinimalIgnition, NetbootIgnition []byte
	// KernelArguments are appended to the kernel's own, in order.
	KernelArguments []string
	// StaticNetwork is the archive of minimal images (/downloads/minimal-initrd), or nil.
	StaticNetwork []byte
	// SigningKey is the infra-env's own secret for the addresses of its media.
	SigningKey []byte
	// Updated is when any of this last changed.
	Updated time.Time
}

// Media tells an image service what to put into an infra-env's media; false if there is no such infra-env.
func (s *Service) Media(infraEnvID string) (Media, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.records.infraEnvs.of(infraEnvID)
	if e == nil {
		return Media{}, false
	}
	m := Media{
		KernelArguments: discovery.KernelArguments(e), StaticNetwork: discovery.MinimalArchive(e),
		SigningKey: e.SigningKey, Updated: time.Time(e.UpdatedAt),
	}
	for isoType, into := range map[string]*[]byte{
		discovery.FullISO: &m.Ignition, discovery.MinimalISO: &m.MinimalIgnition, "": &m.NetbootIgnition,
	} {
		text, err := s.infraEnvs.ignitionOf(e, isoType)
		if err != nil {
			return Media{}, false
		}
		*into = []byte(text)
	}
	return m, true
}

// KnowsAgentSecret reports whether a secret is of some pull secret's cloud.openshift.com:
// by that the agents of the hosted service identify themselves.
func (s *Service) KnowsAgentSecret(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := func(pullSecret string) bool {
		known := discovery.CloudSecret(pullSecret)
		return known != "" && subtle.ConstantTimeCompare([]byte(known), []byte(secret)) == 1
	}
	for _, e := range s.records.infraEnvs.inOrder() {
		if is(e.PullSecret) {
			return true
		}
	}
	for _, c := range s.records.clusters.inOrder() {
		if is(c.PullSecret) {
			return true
		}
	}
	return false
}

// HasHosts reports whether hosts are all of an infra-env.
func (s *Service) HasHosts(infraEnvID string, hosts []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.records.hostsOfInfraEnv(infraEnvID)
	return !slices.ContainsFunc(hosts, func(id string) bool {
		return !slices.ContainsFunc(known, func(h *model.Host) bool { return h.ID == id })
	})
}
