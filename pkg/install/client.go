package install

import (
	"cmp"
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

// Config is what a Client works with. A field that is not set leaves what is there: the default, or what a Config
// before it set.
type Config struct {
	Files    Files    // where results are written; default: nowhere
	Machines Machines // boots machines; default: a run waits until a person or another tool boots the hosts
	Nodes    Nodes    // follows hosts until their nodes take work; default: add-node ends once the hosts have rebooted
	Clock    Clock    // default: the clock of the machine
	// Events receives every event, one at a time and in order. The run waits for it to return.
	Events func(model.Event)
	// Ask asks a person whether a request for a certificate is approved; default: the run ends where a person has to
	// say so. It is called beside the loop, one at a time, and has to return once its context has ended: when the run
	// has ended, or when the question has become idle. An error leaves the request as it is.
	Ask func(context.Context, model.RequestVerdict) (approve bool, err error)
	// PollInterval is the time between observations; default: between one second after a change and ten where
	// nothing happens.
	PollInterval time.Duration
	// Timeout limits a run (exit code 8), UserTimeout the waiting for a person (exit code 9). Defaults: four hours
	// and one; negative: no limit. Both are measured on Clock.
	Timeout, UserTimeout time.Duration
}

// New returns a Client for a service. With a service that is no [Backend], only the loop works: every other verb is
// refused.
func New(service Service, config ...Config) *Client {
	backend, whole := service.(Backend)
	if !whole {
		backend = loopOnly{service}
	}
	notifier, _ := service.(Notifier)
	client := &Client{Backend: backend, notifier: notifier, clock: clock.Real(), emit: func(model.Event) {}, timeout: 4 * time.Hour,
		userTimeout: time.Hour}
	return client.With(config...)
}

// With returns a copy of the Client that works with what config sets.
func (client *Client) With(config ...Config) *Client {
	own := *client
	for _, c := range config {
		own.set(c)
	}
	return &own
}

// set takes over the fields of a Config that are set.
func (client *Client) set(c Config) {
	if c.Files != nil {
		client.files = c.Files
	}
	if c.Machines != nil {
		client.machines = c.Machines
	}
	if c.Nodes != nil {
		client.nodes = c.Nodes
	}
	if c.Clock != nil {
		client.clock = c.Clock
	}
	if c.Events != nil {
		client.emit = c.Events
	}
	if c.Ask != nil {
		client.ask = c.Ask
	}
	client.poll = cmp.Or(c.PollInterval, client.poll)
	if c.Timeout != 0 {
		client.timeout = max(c.Timeout, 0)
	}
	if c.UserTimeout != 0 {
		client.userTimeout = max(c.UserTimeout, 0)
	}
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
	observed.Detailed = began
	observed.KeepKnown(prior)
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

func (client *Client) act(ctx context.Context, desired *model.Desired, observed *model.Observed, a model.Action,
	report func(model.Event)) error {
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
func (client *Client) Explain(ctx context.Context, desired *model.Desired, observed *model.Observed,
	host string) (model.Plan, *model.Observed, error) {
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
	if err != nil && (ctx.Err() != nil || model.FaultOf(err).ForGood()) {
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
