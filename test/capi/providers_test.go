//go:build e2e

package capi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/oaictl/oaictl/internal/kubetest"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/management"
	"github.com/oaictl/oaictl/pkg/capi"
)

// identity is the ServiceAccount of a provider, with the rights that the release gives it and no others.
type identity struct {
	config  *rest.Config
	denied  *kubetest.Denials
	watches *watches
}

// authorize gives each provider its ServiceAccount with its rights, until the test's end.
func (r *rig) authorize() {
	r.t.Helper()
	r.accounts = map[capi.Provider]identity{}
	var all []*unstructured.Unstructured
	of := map[capi.Provider]*unstructured.Unstructured{}
	for _, provider := range capi.Providers() {
		objects := r.components(provider)
		all = append(all, objects...)
		for _, o := range objects {
			if o.GetKind() == "ServiceAccount" {
				of[provider] = o
			}
		}
	}
	r.ApplyRights(r.t, all...)
	for provider, o := range of {
		a := identity{r.Account(r.t, o.GetNamespace(), o.GetName()), &kubetest.Denials{}, newWatches()}
		a.config.Wrap(r.writes.through)
		a.config.Wrap(a.watches.through)
		a.config.Wrap(a.denied.Wrap)
		r.accounts[provider] = a
	}
}

// components are the objects that a provider is installed by: for all namespaces, or, where hosts are in another one, for
// these two.
func (r *rig) components(provider capi.Provider) []*unstructured.Unstructured {
	r.t.Helper()
	values := map[string]string{}
	files := []string{string(provider) + "-components.yaml"}
	if r.hosts != "" {
		values["WATCH_NAMESPACE"], values["AGENTS_NAMESPACE"] = r.namespace, r.hosts
		files = append(files, string(provider)+"-namespaced.yaml")
	}
	var all []*unstructured.Unstructured
	for _, name := range files {
		objects := must.Get(kubetest.Objects([]byte(r.expand(name, values))))(r.t)
		all = append(all, objects...)
	}
	return all
}

// start runs the providers, each in a manager of its own, until stop is called. What they ask for and may not is an
// error of the test.
func (r *rig) start() {
	r.t.Helper()
	if r.accounts == nil {
		r.authorize()
	}
	hooks := &sharedHooks{
		Server: webhook.NewServer(webhook.Options{Port: r.webhooks.Port, CertDir: r.webhooks.CertDir}), managers: len(r.accounts), known: map[string]bool{},
	}
	ctx, stop := context.WithCancel(r.t.Context())
	var running sync.WaitGroup
	for provider, as := range r.accounts {
		options := r.options(provider)
		options.Webhooks = hooks
		running.Go(func() {
			if err := capi.Run(ctx, r.onTime(as.config), options); err != nil {
				r.t.Errorf("the %s provider: %v", provider, err)
			}
		})
	}
	r.stop = sync.OnceFunc(func() {
		stop()
		running.Wait()
		r.checkRights()
	})
	r.until("webhooks answer", time.Minute, func() (bool, string) {
		err := hooks.StartedChecker()(nil)
		return err == nil, fmt.Sprint(err)
	})
}

// onTime makes the API server report the time of the simulation, as if the hub dated its hosts by the same clock.
// Otherwise the time that the simulation has run ahead before the providers start would look like a clock that differs.
func (r *rig) onTime(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return dated{next, r.clock} })
	return config
}

// dated passes calls on, and dates their answers by a clock.
type dated struct {
	next  http.RoundTripper
	clock clock.Clock
}

// RoundTrip is of http.RoundTripper.
func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := d.next.RoundTrip(request)
	if err == nil {
		response.Header.Set("Date", d.clock.Now().UTC().Format(http.TimeFormat))
	}
	return response, err
}

// options are how a provider runs.
func (r *rig) options(provider capi.Provider) capi.Options {
	r.t.Helper()
	options := capi.Options{
		Providers: []capi.Provider{provider}, Namespace: r.namespace, AgentNamespace: r.hosts, Clock: r.clock, Log: funcr.New(r.log, funcr.Options{}), Release: management.Release,
		AllowEndpoints: loopback(),
	}
	if r.overREST {
		options.Service = r.service()
	}
	if provider == capi.Bootstrap && r.media != "" {
		options.MediaURL, options.MediaAddress = "http://"+r.media, r.media
	}
	return options
}

// checkRights reports what the providers were denied. It is known to the providers that they may not read a namespace:
// they leave it as it is.
func (r *rig) checkRights() {
	r.t.Helper()
	for _, provider := range slices.Sorted(maps.Keys(r.accounts)) {
		times := map[string]int{}
		for _, request := range r.accounts[provider].denied.Take() {
			if !strings.HasPrefix(request, "GET /api/v1/namespaces/") || strings.Count(request, "/") > 4 {
				times[request]++
			}
		}
		for _, request := range slices.Sorted(maps.Keys(times)) {
			r.t.Errorf("the %s provider was denied, %d times: %s", provider, times[request], request)
		}
	}
}

// sharedHooks are the webhooks of several managers on one port. They are served once all managers have started.
type sharedHooks struct {
	webhook.Server

	managers int
	mu       sync.Mutex
	started  int
	known    map[string]bool // paths
}

// Register is of webhook.Server. What converts is the same of each manager.
func (s *sharedHooks) Register(path string, hook http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known[path] {
		s.known[path] = true
		s.Server.Register(path, hook)
	}
}

// Start is of webhook.Server: the last manager that starts serves what all have registered.
func (s *sharedHooks) Start(ctx context.Context) error {
	s.mu.Lock()
	s.started++
	last := s.started == s.managers
	s.mu.Unlock()
	if last {
		return s.Server.Start(ctx)
	}
	<-ctx.Done()
	return nil
}

// loopback is where installed clusters are played.
func loopback() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }
