// Package hub is the hub side of the simulator: controllers that do for the
// custom resources of a hub what assisted-service does when it runs there as an
// operator, on a real API server.
//
// They hold no state machines of their own. ClusterDeployment,
// AgentClusterInstall and InfraEnv become a cluster and infra-envs of the
// simulated REST service, over HTTP like any other client's; what the service
// makes of them, and of the machines that boot its images, comes back as
// Agents, conditions, Secrets and status.
//
// One goroutine works off a queue of objects. Watches of the API server and the
// event log of the service fill it, and every object is reconciled from what is
// there now, so that a lost watch, a restart of either server or a conflict
// costs time and nothing else.
package hub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// Config says what hub is simulated.
type Config struct {
	// Kube is the API server. Its CustomResourceDefinitions have to be there, or to come.
	Kube *rest.Config
	// Namespace limits the controllers to one namespace; "" is all of them.
	Namespace string
	// Service is the URL of the simulated REST service.
	Service string
	// Callers is how that service authenticates callers; nil is not at all.
	Callers *auth.Service
	// Clock is the time of the simulation.
	Clock clock.Clock
	// Reader is the clock of those who read the hub, where that is another one: conditions and the stages of hosts
	// are dated by it, as the API server dates its objects. Nil is the time of the simulation.
	Reader clock.Clock
	// Hive says that Hive's operator is there, which copies and records for the ClusterDeployment.
	Hive bool
	// Webhooks serves admission over HTTPS on loopback and registers it.
	Webhooks bool
	// Reclaim has the machine of an installed host boot a discovery image, as the service does with nodes
	// that go back to their pool; nil where no machine can be told to: they wait for a person then.
	Reclaim func(hostID, imageURL string)
	// Metal3 says that another part of the simulation plays the Bare Metal Operator.
	Metal3 bool
	// Images are the release images of registries that the hub reads, by their digests: REPOSITORY@DIGEST is the same as
	// REPOSITORY:TAG. The digests of versions.DigestOf need no registry.
	Images map[string]string
	// Trouble is what goes wrong.
	Trouble Trouble
	// Logf takes a line about what happens; nil drops them.
	Logf func(format string, args ...any)
}

// Trouble is what goes wrong on a hub, besides what a scenario makes the service and the machines do.
type Trouble struct {
	// UnsyncedAgents reproduces a stall of the service: a ready cluster without holdInstallation stays at
	// UnsyncedAgents, though every Agent is synced, until its AgentClusterInstall changes.
	UnsyncedAgents bool
	// ServiceDown reconciles nothing and removes no finalizer, as while the operator does not run.
	ServiceDown bool
	// BackendErrors is how many transfers of a spec fail (SpecSynced BackendError) through no fault of the user's.
	BackendErrors int
	// Deny has admission refuse writes that the rules would let through. It needs Webhooks.
	Deny []Denial
}

// Denial is a refusal of admission.
type Denial struct {
	// Kind and Name are the object's; an empty Name is any.
	Kind, Name string
	// Operation is CREATE, UPDATE or DELETE; empty is any.
	Operation string
	// Message is the text of the refusal.
	Message string
}

type hub struct {
	config  Config
	clock   clock.Clock
	store   *store
	backend *assisted.Client
	queue   *queue
	logf    func(string, ...any)

	clusters   map[key]*clusterMemory // by ClusterDeployment
	infraEnvs  map[key]*infraEnvMemory
	hosts      map[string]*assisted.Host // by id, as last seen
	left       map[string]map[string]any // by host, the cluster that it was taken out of
	takenOut   map[types.UID]bool        // by Agent, whether its node was taken out of its cluster
	passed     map[string]int64          // by host, the generation of its Agent that the service knows
	dates      map[string]dated          // by host and what is dated
	eventsRead int                       // events of the service that were read
	lastRead   time.Time                 // when everything was last read
	pause      time.Duration             // until it is read again, at least
	failing    int                       // backend errors still to be made
	keys       map[auth.Grant]string     // tokens in links that open an InfraEnv or a cluster

	running sync.WaitGroup // what Run has started beside itself
}

// Run simulates the hub until ctx ends; its error is why it could not begin, or the context's cause.
func Run(ctx context.Context, c Config) error {
	service, err := assisted.New(c.Service, c.Callers)
	if err != nil {
		return fmt.Errorf("start the simulated hub: %w", err)
	}
	h := &hub{
		config: c, clock: c.Clock, backend: service, keys: map[auth.Grant]string{}, logf: c.Logf,
		clusters: map[key]*clusterMemory{}, infraEnvs: map[key]*infraEnvMemory{}, hosts: map[string]*assisted.Host{},
		left: map[string]map[string]any{}, takenOut: map[types.UID]bool{},
		queue:  &queue{in: map[key]bool{}, later: map[key]time.Time{}, wake: make(chan struct{}, 1)},
		passed: map[string]int64{}, dates: map[string]dated{},
		failing: c.Trouble.BackendErrors,
	}
	if h.logf == nil {
		h.logf = func(string, ...any) {}
	}
	ctx, stop := context.WithCancel(ctx)
	defer h.running.Wait() // nothing is logged any more afterwards
	defer stop()
	if h.store, err = openStore(ctx, c.Kube, c.Namespace, h); err != nil {
		return fmt.Errorf("start the simulated hub: %w", err)
	}
	if c.Webhooks {
		closing, err := h.serveAdmission(ctx)
		if err != nil {
			return fmt.Errorf("start the simulated hub: %w", err)
		}
		defer closing()
	}
	return h.loop(ctx)
}

// The service's log is read this often, but no more often than a fast clock makes sense of.
const (
	pollEvery = 5 * time.Second
	pollSoon  = 50 * time.Millisecond // real time
	// refreshEvery is how often everything is read: progress within a stage writes no event.
	refreshEvery = 30 * time.Second
	refreshSoon  = 400 * time.Millisecond // real time
	// refreshShare is how much longer than reading everything took the controllers have time for other things.
	refreshShare = 8
)

func (h *hub) loop(ctx context.Context) error {
	ticks := make(chan struct{})
	h.running.Go(func() { h.tick(ctx, ticks) })
	for {
		h.timely(ctx, h.round)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticks:
			h.timely(ctx, h.poll)
		case <-h.queue.wake:
		}
	}
}

// timely does what takes the controllers next to no time, on the simulation's clock.
func (h *hub) timely(ctx context.Context, do func(context.Context)) {
	defer clock.Freeze(h.clock)()
	do(ctx)
}

func (h *hub) tick(ctx context.Context, ticks chan<- struct{}) {
	pause := h.atLeast(pollEvery, pollSoon)
	for h.clock.Sleep(ctx, pause) == nil {
		select {
		case ticks <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

func (h *hub) atLeast(virtual, wall time.Duration) time.Duration {
	return clock.AtLeast(h.clock, virtual, wall)
}

func (h *hub) round(ctx context.Context) {
	if h.config.Trouble.ServiceDown {
		return
	}
	for _, k := range h.queue.take(h.clock.Now()) {
		if ctx.Err() != nil {
			return
		}
		if err := h.reconcile(ctx, k); err != nil && ctx.Err() == nil {
			h.again(k, err)
		}
	}
}

// retryAfter is when an object is looked at again after something unexpected.
const retryAfter = 10 * time.Second

// again puts an object back that could not be reconciled.
func (h *hub) again(k key, err error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		h.queue.after(k, h.clock.Now()) // the watch brings the newer version
		return
	}
	var text *assisted.InputError
	if !errors.As(err, &text) {
		h.logf("%s: %v", k, err)
	}
	h.queue.after(k, h.clock.Now().Add(retryAfter))
}

func (h *hub) reconcile(ctx context.Context, k key) error {
	switch k.kind {
	case hubapi.KindClusterDeployment:
		return h.reconcileCluster(ctx, k)
	case hubapi.KindAgentClusterInstall:
		return h.reconcileInstall(ctx, k)
	case hubapi.KindInfraEnv:
		h.spread(k)
		return h.reconcileInfraEnv(ctx, k)
	case hubapi.KindAgent:
		return h.reconcileAgent(ctx, k)
	case hubapi.KindAgentClassification:
		return h.reconcileClassification(ctx, k)
	case hubapi.KindBareMetalHost:
		return h.reconcileBareMetal(ctx, k)
	}
	h.spread(k)
	return nil
}

func (h *hub) requeueAfter(k key, d time.Duration) { h.queue.after(k, h.clock.Now().Add(d)) }

// queue holds the objects to reconcile, each once, in order, some not before their time.
type queue struct {
	mu    sync.Mutex
	order []key
	in    map[key]bool
	later map[key]time.Time
	wake  chan struct{}
}

func (q *queue) add(k key) {
	q.mu.Lock()
	if !q.in[k] {
		q.in[k] = true
		q.order = append(q.order, k)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// after names an object that is to be reconciled at a time, at the latest.
func (q *queue) after(k key, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if old, waits := q.later[k]; !waits || at.Before(old) {
		q.later[k] = at
	}
}

// take removes all objects that are due, and returns them.
func (q *queue) take(now time.Time) []key {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k, at := range q.later {
		if now.Before(at) {
			continue
		}
		delete(q.later, k)
		if !q.in[k] {
			q.in[k] = true
			q.order = append(q.order, k)
		}
	}
	taken := q.order
	q.order = nil
	clear(q.in)
	return taken
}

// spread has everything looked at that depends on an object, as the service's watches do.
func (h *hub) spread(k key) {
	switch k.kind {
	case hubapi.KindAgent:
		h.spreadAgent(k)
	case hubapi.KindInfraEnv:
		h.addAll(hubapi.KindBareMetalHost, k.space)
		h.addAll(hubapi.KindAgent, k.space)
	case hubapi.KindNMStateConfig:
		h.addAll(hubapi.KindInfraEnv, k.space)
	case hubapi.KindClusterImageSet:
		h.addAll(hubapi.KindClusterDeployment, "")
	case hubapi.KindSecret, hubapi.KindConfigMap:
		h.addAll(hubapi.KindClusterDeployment, k.space)
		h.addAll(hubapi.KindInfraEnv, k.space)
	}
}

func (h *hub) spreadAgent(k key) {
	h.addAll(hubapi.KindAgentClassification, k.space)
	h.addAll(hubapi.KindBareMetalHost, k.space)
	agent := h.store.get(hubapi.KindAgent, k.space, k.id)
	if agent == nil {
		return
	}
	if owner := boundTo(agent); owner.id != "" {
		h.queue.add(owner)
	}
}

func (h *hub) addAll(k objects.Kind, space string) {
	for at := range h.store.newest(k, space) {
		h.queue.add(at)
	}
}

// poll reads what happened in the service since the last time, and has what it concerns looked at.
func (h *hub) poll(ctx context.Context) {
	if h.config.Trouble.ServiceDown {
		return
	}
	now := h.clock.Now()
	all := now.Sub(h.lastRead) >= max(h.atLeast(refreshEvery, refreshSoon), h.pause)
	if all {
		h.lastRead = now
		defer func() { h.pause = refreshShare * h.clock.Now().Sub(now) }()
	}
	named, err := h.readLog(ctx)
	if err != nil {
		if ctx.Err() == nil {
			h.logf("read the events of the service: %v", err)
		}
		return
	}
	for k, m := range h.infraEnvs {
		if m.id == "" || !all && !named[m.id] {
			continue
		}
		if err := h.readHosts(ctx, k, m); err != nil && ctx.Err() == nil {
			h.logf("%s: %v", k, err)
		}
	}
	for k, m := range h.clusters {
		if m.id == "" || !all && !named[m.id] {
			continue
		}
		h.pollCluster(ctx, k, m)
	}
}

func (h *hub) pollCluster(ctx context.Context, k key, m *clusterMemory) {
	before := m.raw
	err := h.readCluster(ctx, m)
	if assisted.IsGone(err) {
		*m = clusterMemory{}
	} else if err != nil {
		if ctx.Err() == nil {
			h.logf("%s: %v", k, err)
		}
		return
	}
	if m.raw != before {
		h.queue.add(k)
	}
}

func (h *hub) readLog(ctx context.Context) (map[string]bool, error) {
	const most = 500
	named := map[string]bool{}
	for {
		var events []struct {
			ClusterID  string `json:"cluster_id"`
			InfraEnvID string `json:"infra_env_id"`
		}
		if err := h.backend.Do(ctx, "GET", fmt.Sprintf("/v2/events?offset=%d&limit=%d", h.eventsRead, most), nil, &events); err != nil {
			return nil, err
		}
		for _, e := range events {
			named[e.ClusterID], named[e.InfraEnvID] = true, true
		}
		h.eventsRead += len(events)
		if len(events) < most {
			return named, nil
		}
	}
}
