// Package service is the service half of the simulator: an assisted-service
// (REST v2) that lives in the process. It keeps its clusters, infra-envs and
// hosts in memory, speaks HTTP exactly as the real service does, and knows
// nothing of the machines but what they post.
//
// All state hangs on one Service under one lock. A handler runs under the lock
// and returns values that are encoded after it is released; the monitor (Run)
// takes the same lock once per tick.
package service

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/steps"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
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
	unmade  map[string]bool // checks that its release does not make

	mu            sync.Mutex
	random        *rand.Rand
	entropy       io.Reader
	clusters      map[string]*model.Cluster
	gone          map[string]*model.PrintedCluster // clusters that were deleted, as they were last
	clusterOrder  []string
	infraEnvs     map[string]*model.InfraEnv
	infraEnvOrder []string
	hosts         map[string]*model.Host // by infra-env id/host id
	hostOrder     []string
	events        []event
	// pickBootstrap chooses among the control plane hosts. The real service takes any of them.
	pickBootstrap func([]*model.Host) *model.Host
	// hostsLater has a tick look at hosts after the clusters; the real service does both at once.
	hostsLater bool
	steps      steps.Maker
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
	var seed [32]byte
	for i := range 8 {
		seed[i] = byte(cfg.Seed >> (8 * i))
	}
	source := rand.NewChaCha8(seed)
	s := &Service{
		cfg: cfg, started: cfg.Clock.Now(), random: rand.New(source), entropy: source,
		clusters: map[string]*model.Cluster{}, gone: map[string]*model.PrintedCluster{}, infraEnvs: map[string]*model.InfraEnv{},
		hosts:         map[string]*model.Host{},
		pickBootstrap: func(masters []*model.Host) *model.Host { return masters[0] },
		steps:         steps.Maker{Release: cfg.Release, Entropy: source, Patience: steps.StockPatience()}, unmade: unmadeChecks(cfg.Release),
	}
	s.faults = newFaults(cfg.Scenario)
	s.handler = s.routes()
	if cfg.Authenticate != nil {
		s.handler = s.publicOr(cfg.Authenticate(s.handler))
	}
	return s
}

func (s *Service) publicOr(protected http.Handler) http.Handler {
	open := s.routes()
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
		defer clock.Working(s.cfg.Clock)()
		s.handler.ServeHTTP(w, r)
	})).ServeHTTP(w, r)
}

// Run evaluates clusters and hosts on every tick until ctx is done, and returns its cause.
func (s *Service) Run(ctx context.Context) error {
	for {
		if err := s.cfg.Clock.Sleep(ctx, s.cfg.MonitorInterval); err != nil {
			return err
		}
		done := clock.Working(s.cfg.Clock)
		s.tick()
		done()
	}
}

func (s *Service) now() time.Time { return s.cfg.Clock.Now().UTC() }

func (s *Service) date() string { return s.now().Format(http.TimeFormat) }

func (s *Service) newID() string {
	id, err := uuid.NewRandomFromReader(s.entropy)
	if err != nil { // a deterministic source never fails
		return uuid.NewString()
	}
	return id.String()
}

func (s *Service) getCluster(id string) (*model.Cluster, error) {
	return s.storedCluster(id, "Failed to get cluster "+id+": record not found")
}

// storedCluster is getCluster for those operations that tell of the database what it is that is not there.
func (s *Service) storedCluster(id, refusal string) (*model.Cluster, error) {
	if c := s.clusters[id]; c != nil {
		return c, nil
	}
	return nil, wire.NotFound("%s", refusal)
}

func (s *Service) getInfraEnv(id string) (*model.InfraEnv, error) {
	if e := s.infraEnvs[id]; e != nil {
		return e, nil
	}
	return nil, wire.NotFound("record not found")
}

func (s *Service) getHost(infraEnvID, id string) (*model.Host, error) {
	if h := s.hosts[infraEnvID+"/"+id]; h != nil {
		return h, nil
	}
	return nil, wire.NotFound("failed to get host %s in infra_env %s: record not found", id, infraEnvID)
}

// The clusters and hosts, in the order in which they were made.

func (s *Service) clustersInOrder() []*model.Cluster { return inOrder(s.clusterOrder, s.clusters) }
func (s *Service) hostsInOrder() []*model.Host       { return inOrder(s.hostOrder, s.hosts) }

func inOrder[T any](keys []string, all map[string]*T) []*T {
	list := make([]*T, 0, len(keys))
	for _, key := range keys {
		list = append(list, all[key])
	}
	return list
}

func (s *Service) hostsOfInfraEnv(id string) []*model.Host {
	return slices.DeleteFunc(s.hostsInOrder(), func(h *model.Host) bool { return h.InfraEnvID != id })
}

func (s *Service) dropHost(h *model.Host) {
	key := h.InfraEnvID + "/" + h.ID
	delete(s.hosts, key)
	s.hostOrder = slices.DeleteFunc(s.hostOrder, func(k string) bool { return k == key })
	if c := h.Cluster; c != nil {
		c.Deleted[key] = h
	}
	h.Leave()
}

// Handlers of operations on one object, by its id in the path; refused where there is none.

func (s *Service) ofCluster(handle func(*wire.Call, *model.Cluster) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.Cluster, error) { return s.getCluster(c.PathValue("cluster_id")) }, handle)
}

func (s *Service) ofStored(refusal string, handle func(*wire.Call, *model.Cluster) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.Cluster, error) { return s.storedCluster(c.PathValue("cluster_id"), refusal) }, handle)
}

func (s *Service) ofInfraEnv(handle func(*wire.Call, *model.InfraEnv) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.InfraEnv, error) { return s.getInfraEnv(c.PathValue("infra_env_id")) }, handle)
}

func (s *Service) ofHost(handle func(*wire.Call, *model.Host) (wire.Reply, error)) wire.Handler {
	return about(func(c *wire.Call) (*model.Host, error) {
		return s.getHost(c.PathValue("infra_env_id"), c.PathValue("host_id"))
	}, handle)
}

func about[T any](find func(*wire.Call) (*T, error), handle func(*wire.Call, *T) (wire.Reply, error)) wire.Handler {
	return func(c *wire.Call) (wire.Reply, error) {
		found, err := find(c)
		if err != nil {
			return wire.Reply{}, err
		}
		return handle(c, found)
	}
}
