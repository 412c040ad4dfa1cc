package install

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Client is all of oaictl but the terminal, over one service: the loop, and every verb. It
// is safe to use for several clusters, one after the other or at once; events of clusters
// that run at once come from several goroutines.
type Client struct {
	Backend
	notifier    Notifier // nil: the service reports no changes
	files       Files
	machines    Machines
	nodes       Nodes
	ask         func(context.Context, model.RequestVerdict) (bool, error)
	clock       Clock
	emit        func(model.Event)
	poll        time.Duration
	timeout     time.Duration
	userTimeout time.Duration
}

// Clock tells the time and waits for it to pass.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the context's cause once ctx is done.
	Sleep(ctx context.Context, d time.Duration) error
}

// Option changes how a Client works.
type Option func(*Client)

// WithFiles says where results are written. Without it none are.
func WithFiles(files Files) Option { return func(client *Client) { client.files = files } }

// WithClock replaces the machine's clock.
func WithClock(c Clock) Option { return func(client *Client) { client.clock = c } }

// WithEvents receives every event, one at a time and in order. The run waits
// for receive to return.
func WithEvents(receive func(model.Event)) Option {
	return func(client *Client) { client.emit = receive }
}

// WithPollInterval fixes the time between observations. Zero lets it adapt,
// between one second after a change and ten where nothing happens.
func WithPollInterval(d time.Duration) Option { return func(client *Client) { client.poll = d } }

// WithTimeouts limits a run: total for all of it (exit code 8), user for
// waiting for a person (exit code 9). Zero: no limit. Without it they are four
// hours and one. Both are measured on the Client's own clock.
func WithTimeouts(total, user time.Duration) Option {
	return func(client *Client) { client.timeout, client.userTimeout = total, user }
}

// New returns a Client for a service. With a service that is no [Backend], only the loop works: every other verb is
// refused.
func New(service Service, options ...Option) *Client {
	backend, whole := service.(Backend)
	if !whole {
		backend = loopOnly{service}
	}
	notifier, _ := service.(Notifier)
	client := &Client{Backend: backend, notifier: notifier, clock: clock.Real(), emit: func(model.Event) {}, timeout: 4 * time.Hour, userTimeout: time.Hour}
	for _, option := range options {
		option(client)
	}
	return client
}

// With is the Client with other options beside its own.
func (client *Client) With(options ...Option) *Client {
	own := *client
	for _, option := range options {
		option(&own)
	}
	return &own
}

// Observe looks once at service, results and machines, as a loop of one's own does. prior
// is the last observation, nil at first: with it, only what may have changed is read.
func (client *Client) Observe(ctx context.Context, desired *model.Desired, prior *model.Observed) (*model.Observed, error) {
	return client.observe(ctx, desired, prior, false)
}

// observe looks, more closely where something is about to change.
func (client *Client) observe(ctx context.Context, desired *model.Desired, prior *model.Observed, soon bool) (*model.Observed, error) {
	began := client.clock.Now()
	query := desired.Query()
	query.Detail, query.Poll, query.Soon = prior == nil || began.Sub(prior.Detailed) >= detailInterval, client.poll, soon
	if prior != nil && prior.Cluster != nil {
		query.ID = prior.Cluster.ID
	}
	observed, err := client.Backend.Observe(ctx, query, prior)
	if err != nil {
		return nil, err
	}
	observed.Detailed, observed.Known = began, &model.KnownResults{}
	if prior != nil && prior.Known != nil {
		observed.Known = prior.Known
	}
	if !query.Detail {
		observed.Detailed = prior.Detailed
	}
	if err := client.observeFiles(ctx, desired, observed); err != nil {
		return nil, err
	}
	if err := client.observeMachines(ctx, desired, prior, observed); err != nil {
		return nil, err
	}
	if err := client.observeNodes(ctx, desired, observed); err != nil {
		return nil, err
	}
	return observed, nil
}

// Changed is closed once the service has something of the cluster that the last Observe did not show, so that the
// caller can decide again. If the service reports no changes, it is nil, which never closes: such a service has to be
// observed from time to time.
func (client *Client) Changed(desired *model.Desired, observed *model.Observed) <-chan struct{} {
	if client.notifier == nil {
		return nil
	}
	query := desired.Query()
	if observed != nil && observed.Cluster != nil {
		query.ID = observed.Cluster.ID
	}
	return client.notifier.Changed(query)
}

// Act carries out one action of a plan that was decided on an observation, and does not
// wait for what it starts.
func (client *Client) Act(ctx context.Context, desired *model.Desired, observed *model.Observed, action model.Action) error {
	return client.act(ctx, desired, observed, action, func(e model.Event) {
		e.V, e.Cluster, e.Time, e.Severity = 1, desired.Spec.Metadata.Name, observed.At, model.SeverityInfo
		client.emit(e)
	})
}

func (client *Client) act(ctx context.Context, desired *model.Desired, observed *model.Observed, a model.Action, report func(model.Event)) error {
	present := desired.At(observed)
	switch a.Kind {
	case model.SaveNoIngress, model.SaveKubeconfig, model.SavePassword:
		return client.saveResult(ctx, desired, observed, a, report)
	case model.RegisterCluster:
		if err := client.claim(ctx, desired, "", report); err != nil {
			return err
		}
	}
	if a.Kind.ByBMC() {
		return client.machines.Act(ctx, present, observed, a)
	}
	if a.Kind.InCluster() {
		return client.nodes.Act(ctx, present, observed, a)
	}
	return client.Backend.Act(ctx, present, a)
}

// Plan observes once and decides, and writes nothing. If a cluster would be registered, it also checks that there is a
// release for it. What it returns beside the plan is the observation that it decided on.
func (client *Client) Plan(ctx context.Context, desired *model.Desired) (model.Plan, *model.Observed, error) {
	observed, err := client.Observe(ctx, desired, nil)
	if err != nil {
		return model.Plan{}, nil, err
	}
	plan := decide.Decide(client.limited(desired), observed, observed.MemoryBefore(), observed.At)
	if slices.ContainsFunc(plan.Actions, func(a model.Action) bool { return a.Kind == model.RegisterCluster }) {
		err = client.unreleased(ctx, desired.Spec, &plan)
	}
	return plan, observed, err
}

// unreleased adds to a plan that there is no release to register the cluster with.
func (client *Client) unreleased(ctx context.Context, c *spec.Cluster, plan *model.Plan) error {
	err := client.CheckRelease(ctx, c)
	fault, is := errors.AsType[*model.Fault](err)
	if !is || fault.Code != model.CodeInput {
		return err
	}
	field := "spec.openshift.version"
	if c.Spec.OpenShift.ImageSet != "" {
		field = "spec.openshift.imageSet"
	}
	plan.Blockers = append(plan.Blockers, model.Blocker{
		Key: "cluster/release", Scope: model.ScopeCluster, Reason: "NoClusterImageSet", Cure: model.CureNow,
		Message: fault.Err.Error(), Field: field, Remedy: fault.Next,
	})
	return nil
}

// Explain decides on one observation without a memory, to say what blocks the install now. If host is the id of a host,
// the answer is about that host alone. Machines are observed where desired names their BMCs. The owner of the cluster
// does not matter, nor which results are on disk. What it returns beside the plan is the observation that it decided
// on.
func (client *Client) Explain(ctx context.Context, desired *model.Desired, observed *model.Observed, host string) (model.Plan, *model.Observed, error) {
	now, own := taken(observed), *desired
	own.Options.AddNodes = own.Options.AddNodes || decide.AddingHosts(now)
	unseen, err := client.explainNodes(ctx, &own, now)
	if err != nil {
		return model.Plan{}, nil, err
	}
	if err := client.observeMachines(ctx, &own, nil, now); err != nil {
		return model.Plan{}, nil, err
	}
	if client.files != nil && now.Cluster != nil {
		kept, err := client.files.Observe(ctx, resultsOf(desired, now.Cluster.ID))
		if err != nil {
			return model.Plan{}, nil, err
		}
		now.Results.KubeconfigPath = kubeconfigPath(kept)
	}
	plan := decide.Explain(&own, now, host)
	plan.Warnings = append(plan.Warnings, unseen...)
	return plan, now, nil
}

// taken is a copy of the observation that counts the cluster as owned, and its results as saved.
func taken(o *model.Observed) *model.Observed {
	now := *o
	now.Others, now.Results = nil, model.Results{NoIngress: true, Kubeconfig: true, Password: true}
	if now.Cluster != nil {
		cluster := *now.Cluster
		cluster.Owned, now.Cluster = true, &cluster
	}
	return &now
}

// asObserved is the desired state of a cluster if there is no file: what the service was given for it, with the hosts
// that it has, and those of its control plane that it lacks.
func asObserved(observed *model.Observed) *model.Desired {
	c := observed.Cluster
	out := &spec.Cluster{Metadata: spec.Metadata{Name: c.Name}, Spec: spec.ClusterSpec{BaseDomain: c.BaseDomain, AcceptUnknownHosts: true}}
	var hosts, arbiters, controlPlane int
	for i := range observed.Hosts {
		switch h := &observed.Hosts[i]; {
		case h.Day2 || h.Unbound():
			continue
		case h.Role == spec.Arbiter:
			arbiters++
		}
		hosts++
	}
	if value, said := c.Settings[model.SettingControlPlane]; said && value.Decode(&controlPlane) == nil {
		out.Spec.Topology.ControlPlane = &controlPlane
	}
	workers, none := max(0, hosts-controlPlane-arbiters), 0
	out.Spec.Topology.Workers, out.Spec.Topology.Arbiters, out.Spec.Topology.Required.Workers = &workers, &arbiters, &none
	return &model.Desired{Spec: out, Options: model.Options{Adopt: c.ID, ReadOnly: true}}
}

// Machines is the plane of management controllers (BMCs) and the discovery
// media that machines boot through them. It is asked only for the hosts of the
// file that the next decision needs. Its methods are safe for concurrent use.
type Machines interface {
	// Observe reads the named hosts only. What cannot be read of one is reported in its MachineState.Trouble; an error
	// is one of the plane as a whole, such as a context that ended; one that is a permanent *Fault ends the run.
	Observe(ctx context.Context, desired *model.Desired, observed *model.Observed, ask []string) (map[string]model.MachineState, error)
	// Act starts an action of one of the machines' kinds, and does not wait for its end. Action.Name is the host's name
	// in the file.
	Act(ctx context.Context, desired *model.Desired, observed *model.Observed, action model.Action) error
}

// WithMachines gives the Client a plane that boots machines by itself. Without it, a run waits until a person or
// another tool boots the hosts.
func WithMachines(machines Machines) Option {
	return func(client *Client) { client.machines = machines }
}

// observeMachines adds to an observation what the next decision needs of the
// machines, and brings forward what was known of the others.
func (client *Client) observeMachines(ctx context.Context, desired *model.Desired, prior, observed *model.Observed) error {
	if client.machines == nil || observed.Stale != "" {
		return nil
	}
	observed.Machines = map[string]model.MachineState{}
	var before map[string]model.MachineState
	if prior != nil {
		before = prior.Machines
	}
	maps.Copy(observed.Machines, before)
	ask, phases := decide.MachinesToAsk(desired, observed)
	if len(ask) == 0 {
		return nil
	}
	states, err := client.machines.Observe(ctx, desired, observed, ask)
	if err != nil && (ctx.Err() != nil || model.ForGood(err)) {
		return err
	}
	for _, name := range ask {
		state, known := states[name]
		switch {
		case err != nil:
			state = model.MachineState{Trouble: err.Error(), TroubleKind: model.TroubleOther}
		case !known:
			state = model.MachineState{Trouble: "nothing is known of its BMC", TroubleKind: model.TroubleOther}
		}
		if state.Trouble != "" && state.Fetch == (model.Fetched{}) { // what was known does not end with it
			state.Fetch = before[name].Fetch
		}
		if fetch := &state.Fetch; known && !fetch.Last.IsZero() { // seen on this side, and compared with what the service dates
			fetch.Last = fetch.Last.Add(observed.At.Sub(client.clock.Now()))
		}
		state.Phase = phases[name]
		observed.Machines[name] = state
	}
	return nil
}
