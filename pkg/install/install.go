package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Installer drives the loop over one service. It is safe to use for several
// clusters, one after the other or at once; events of clusters that run at once
// come from several goroutines.
type Installer struct {
	service     Service
	files       Files
	machines    Machines
	clock       Clock
	emit        func(Event)
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

// Option changes how an Installer works.
type Option func(*Installer)

// WithFiles says where results are written. Without it none are.
func WithFiles(files Files) Option { return func(i *Installer) { i.files = files } }

// WithClock replaces the machine's clock.
func WithClock(c Clock) Option { return func(i *Installer) { i.clock = c } }

// WithEvents receives every event, one at a time and in order. The run waits
// for receive to return.
func WithEvents(receive func(Event)) Option { return func(i *Installer) { i.emit = receive } }

// WithPollInterval fixes the time between observations. Zero lets it adapt,
// between one second after a change and ten where nothing happens.
func WithPollInterval(d time.Duration) Option { return func(i *Installer) { i.poll = d } }

// WithTimeouts limits a run: total for all of it (exit code 8), user for
// waiting for a person (exit code 9). Zero: no limit. Without it they are four
// hours and one. Both are measured on the Installer's own clock.
func WithTimeouts(total, user time.Duration) Option {
	return func(i *Installer) { i.timeout, i.userTimeout = total, user }
}

// New returns an Installer for a service plane.
func New(service Service, options ...Option) *Installer {
	i := &Installer{service: service, clock: clock.Real(), emit: func(Event) {}, timeout: 4 * time.Hour, userTimeout: time.Hour}
	for _, option := range options {
		option(i)
	}
	return i
}

// Digest is the SHA-256 of data in hex, as Cluster.Manifests has it.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Query is how a service is asked for the cluster that is desired.
func (d *Desired) Query() Query {
	query := Query{
		Name: d.Spec.Metadata.Name, BaseDomain: d.Spec.Spec.BaseDomain, Adopt: d.Options.Adopt, Run: d.Options.Run,
		InfraEnv: d.Spec.Spec.InfraEnv.Ref, Ignored: setting.IgnoredOf(d.Spec) != nil,
		Overridden: slices.Sorted(maps.Keys(d.Spec.Spec.Overrides.InfraEnv)),
	}
	if from := d.Spec.Spec.Import; from != nil {
		query.Imported = from.ClusterID
	}
	return query
}

// Observe looks once at service, results and machines, as a loop of one's own does. prior
// is the last observation, nil at first: with it, only what may have changed is read.
func (i *Installer) Observe(ctx context.Context, desired *Desired, prior *Observed) (*Observed, error) {
	began := i.clock.Now()
	query := desired.Query()
	query.Detail, query.Poll = prior == nil || began.Sub(prior.detailed) >= detailInterval, i.poll
	if prior != nil && prior.Cluster != nil {
		query.ID = prior.Cluster.ID
	}
	observed, err := i.service.Observe(ctx, query, prior)
	if err != nil {
		return nil, err
	}
	observed.detailed, observed.known = began, newCredentials()
	if prior != nil && prior.known != nil {
		observed.known = prior.known
	}
	if !query.Detail {
		observed.detailed = prior.detailed
	}
	if err := i.observeFiles(ctx, desired, observed); err != nil {
		return nil, err
	}
	if err := i.observeMachines(ctx, desired, prior, observed); err != nil {
		return nil, err
	}
	return observed, nil
}

// Act carries out one action of a plan that was decided on an observation, and does not
// wait for what it starts.
func (i *Installer) Act(ctx context.Context, desired *Desired, observed *Observed, action Action) error {
	return i.act(ctx, desired, observed, action, func(e Event) {
		e.V, e.Cluster, e.Time, e.Severity = 1, desired.Spec.Metadata.Name, observed.At, SeverityInfo
		i.emit(e)
	})
}

func (i *Installer) act(ctx context.Context, desired *Desired, observed *Observed, a Action, tell func(Event)) error {
	present := desired.At(observed)
	switch a.Kind {
	case SaveNoIngress, SaveKubeconfig, SavePassword:
		return i.saveResult(ctx, desired, observed, a, tell)
	case RegisterCluster:
		if err := i.claim(ctx, desired, "", tell); err != nil {
			return err
		}
	}
	if kinds[a.Kind].byBMC {
		return i.machines.Act(ctx, present, observed, a)
	}
	return i.service.Act(ctx, present, a)
}

// Plan observes once and decides, and writes nothing. What it returns beside
// the plan is what it decided on.
func (i *Installer) Plan(ctx context.Context, desired *Desired) (Plan, *Observed, error) {
	observed, err := i.Observe(ctx, desired, nil)
	if err != nil {
		return Plan{}, nil, err
	}
	return Decide(i.limited(desired), observed, Memory{Started: observed.At}, observed.At), observed, nil
}

// Explain decides on an observation without anything remembered, to say what stands in
// the way now, of one host alone where host is its id: machines are looked at where
// desired names their BMCs, whose the cluster is does not matter, nor which results are
// on disk. What it returns beside the plan is what it decided on.
func (i *Installer) Explain(ctx context.Context, desired *Desired, observed *Observed, host string) (Plan, *Observed, error) {
	now, own := observed.taken(), *desired
	if cluster := now.Cluster; cluster != nil {
		own.Options.AddNodes = own.Options.AddNodes || cluster.State == ClusterAddingHosts && slices.ContainsFunc(now.Hosts, func(h Host) bool {
			return h.Day2 && membershipOf(&h) != member
		})
	}
	if err := i.observeMachines(ctx, &own, nil, now); err != nil {
		return Plan{}, nil, err
	}
	p := newPlanner(&own, now, Memory{}, now.At)
	p.explains = true
	if have := now.host(host); have != nil {
		p.only = p.hostName(have)
	}
	if now.Cluster == nil {
		p.unbound()
	} else {
		p.decide()
	}
	p.finish()
	if p.only != "" {
		p.narrow(host)
	}
	return p.plan, now, nil
}

// unbound says what stands in the way of machines that belong to no cluster.
func (p *planner) unbound() {
	hosts := make([]*Host, 0, len(p.observed.Hosts))
	for i := range p.observed.Hosts {
		hosts = append(hosts, &p.observed.Hosts[i])
		p.usable(hosts[i])
	}
	p.causes(p.explain(hosts))
}

// narrow leaves of a plan what concerns one host: what is said of it, and what stands in
// the way of the cluster itself.
func (p *planner) narrow(host string) {
	concerns := func(scope Scope) bool { return scope == HostScope(p.only) || scope == HostScope(host) }
	plan := &p.plan
	plan.Blockers = slices.DeleteFunc(plan.Blockers, func(b Blocker) bool {
		ofCluster := b.Scope == ScopeCluster && len(b.Hosts) == 0 && b.Reason != reasonValidation
		return !ofCluster && !concerns(b.Scope) && !slices.Contains(b.Hosts, p.only)
	})
	plan.Waits = slices.DeleteFunc(plan.Waits, func(w Wait) bool { return !concerns(w.Scope) })
	plan.Checks = slices.DeleteFunc(plan.Checks, func(w Warning) bool { return !concerns(w.Scope) })
	plan.Warnings = slices.DeleteFunc(plan.Warnings, func(w Warning) bool { return !concerns(w.Scope) })
}

// taken is the observation without the question whose the cluster is, and what of its
// results is on disk.
func (o *Observed) taken() *Observed {
	now := *o
	now.Others, now.Results = nil, Results{NoIngress: true, Kubeconfig: true, Password: true}
	if now.Cluster != nil {
		cluster := *now.Cluster
		cluster.Owned, now.Cluster = true, &cluster
	}
	return &now
}

// AsObserved is what is desired of a cluster where no file says it: that it becomes, with
// the hosts that it has and those of its control plane that it lacks, what the service was
// told.
func AsObserved(observed *Observed) *Desired {
	c := observed.Cluster
	out := &spec.Cluster{Metadata: spec.Metadata{Name: c.Name}, Spec: spec.ClusterSpec{BaseDomain: c.BaseDomain, AcceptUnknownHosts: true}}
	var hosts, arbiters, controlPlane int
	for i := range observed.Hosts {
		switch h := &observed.Hosts[i]; {
		case h.Day2 || h.unbound():
			continue
		case h.Role == RoleArbiter:
			arbiters++
		}
		hosts++
	}
	if value, said := c.Settings[setting.ControlPlane]; said && value.Decode(&controlPlane) == nil {
		out.Spec.Topology.ControlPlane = &controlPlane
	}
	workers, none := max(0, hosts-controlPlane-arbiters), 0
	out.Spec.Topology.Workers, out.Spec.Topology.Arbiters, out.Spec.Topology.Required.Workers = &workers, &arbiters, &none
	return &Desired{Spec: out, Options: Options{Adopt: c.ID, ReadOnly: true}}
}
