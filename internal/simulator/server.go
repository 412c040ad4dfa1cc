package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/image"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/internal/simulator/service"
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
}

// Service is the whole service half: the REST API, its authentication and the
// images, behind one handler.
type Service struct {
	api     *service.Service
	callers *auth.Service
	handler http.Handler
}

// NewService makes the service half. It knows no clusters yet.
func NewService(config ServiceConfig) (*Service, error) {
	callers, err := auth.New(auth.Config{Mode: config.Auth, Clock: config.Clock})
	if err != nil {
		return nil, fmt.Errorf("make the simulated service: %w", err)
	}
	s := &Service{callers: callers}
	images, err := image.New(image.Config{
		Clock: config.Clock, Lookup: s.source, Access: accessFor(config), APIKey: callers.SigningKey(),
	})
	if err != nil {
		return nil, fmt.Errorf("make the simulated service: %w", err)
	}
	s.api = service.New(service.Config{
		Clock: config.Clock, Seed: config.Seed, Scenario: config.Scenario, PublicURL: config.PublicURL,
		ImageURL: func(r service.ImageRequest) (string, time.Time) {
			url, expires, err := images.URL(image.Link{Base: config.PublicURL(), InfraEnvID: r.InfraEnvID, Version: r.Version, Arch: r.Arch, Type: r.Type})
			if err != nil {
				return "", time.Time{}
			}
			return url, expires
		},
		OnTrouble: func(kind string) {
			switch kind {
			case "expire-token":
				callers.ExpireAll()
			case "expire-image":
				images.ExpireAll()
			}
		},
	})
	known, media, login := callers.Wrap(s.api), images.Handler(), callers.Login()
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == auth.TokenPath:
			login.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, service.Base) || r.URL.Path == "/ready" || r.URL.Path == "/health":
			known.ServeHTTP(w, r)
		default:
			media.ServeHTTP(w, r)
		}
	})
	return s, nil
}

// accessFor is the kind of image links that go with a kind of authentication.
// A scenario that lets links expire needs links that can.
func accessFor(config ServiceConfig) image.Access {
	expiring := config.Scenario != nil && slices.ContainsFunc(config.Scenario.Service, func(r scenario.Rule) bool { return r.Do == "expire-image" })
	switch {
	case config.Auth == auth.AgentInstallerLocal:
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

// source asks the API, as the image service does, for what goes into an
// InfraEnv's media.
func (s *Service) source(ctx context.Context, id string) (image.Source, bool) {
	ignition, err := s.get(ctx, id, "/downloads/files?file_name=discovery.ign")
	if err != nil {
		return image.Source{}, false
	}
	network, err := s.get(ctx, id, "/downloads/minimal-initrd")
	if err != nil {
		return image.Source{}, false
	}
	arguments, err := s.kernelArguments(ctx, id)
	if err != nil {
		return image.Source{}, false
	}
	return image.Source{Ignition: ignition, StaticNetwork: network, KernelArguments: arguments}, true
}

// kernelArguments are those that an InfraEnv appends. The API gives them as
// JSON in a string.
func (s *Service) kernelArguments(ctx context.Context, id string) ([]string, error) {
	data, err := s.get(ctx, id, "")
	if err != nil {
		return nil, err
	}
	var env struct {
		Arguments string `json:"kernel_arguments"`
	}
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, err
	}
	if env.Arguments == "" {
		return nil, nil
	}
	var list []struct {
		Value string `json:"value"`
	}
	if err := json.Unmarshal([]byte(env.Arguments), &list); err != nil {
		return nil, err
	}
	values := make([]string, 0, len(list))
	for _, argument := range list {
		values = append(values, argument.Value)
	}
	return values, nil
}

var errRefused = errors.New("the service has no such file")

// get reads from the API without a network in between.
func (s *Service) get(ctx context.Context, id, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, service.Base+"/v2/infra-envs/"+id+path, nil)
	if err != nil {
		return nil, err
	}
	answer := &answer{header: http.Header{}, status: http.StatusOK}
	s.api.ServeHTTP(answer, request)
	if answer.status >= http.StatusBadRequest {
		return nil, errRefused
	}
	return answer.body.Bytes(), nil
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header            { return a.header }
func (a *answer) WriteHeader(status int)         { a.status = status }
func (a *answer) Write(data []byte) (int, error) { return a.body.Write(data) }
