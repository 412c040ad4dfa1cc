package install

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

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
func (client *Client) Observe(ctx context.Context, desired *Desired, prior *Observed) (*Observed, error) {
	began := client.clock.Now()
	query := desired.Query()
	query.Detail, query.Poll = prior == nil || began.Sub(prior.detailed) >= detailInterval, client.poll
	if prior != nil && prior.Cluster != nil {
		query.ID = prior.Cluster.ID
	}
	observed, err := client.Backend.Observe(ctx, query, prior)
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
	if err := client.observeFiles(ctx, desired, observed); err != nil {
		return nil, err
	}
	if err := client.observeMachines(ctx, desired, prior, observed); err != nil {
		return nil, err
	}
	return observed, nil
}

// Act carries out one action of a plan that was decided on an observation, and does not
// wait for what it starts.
func (client *Client) Act(ctx context.Context, desired *Desired, observed *Observed, action Action) error {
	return client.act(ctx, desired, observed, action, func(e Event) {
		e.V, e.Cluster, e.Time, e.Severity = 1, desired.Spec.Metadata.Name, observed.At, model.SeverityInfo
		client.emit(e)
	})
}

func (client *Client) act(ctx context.Context, desired *Desired, observed *Observed, a Action, tell func(Event)) error {
	present := desired.At(observed)
	switch a.Kind {
	case model.SaveNoIngress, model.SaveKubeconfig, model.SavePassword:
		return client.saveResult(ctx, desired, observed, a, tell)
	case model.RegisterCluster:
		if err := client.claim(ctx, desired, "", tell); err != nil {
			return err
		}
	}
	if kinds[a.Kind].byBMC {
		return client.machines.Act(ctx, present, observed, a)
	}
	return client.Backend.Act(ctx, present, a)
}

// Plan observes once and decides, and writes nothing. Where a cluster would be registered, it
// asks for what that would end with, too. What it returns beside the plan is what it decided on.
func (client *Client) Plan(ctx context.Context, desired *Desired) (Plan, *Observed, error) {
	observed, err := client.Observe(ctx, desired, nil)
	if err != nil {
		return Plan{}, nil, err
	}
	plan := Decide(client.limited(desired), observed, Memory{Started: observed.At}, observed.At)
	if slices.ContainsFunc(plan.Actions, func(a Action) bool { return a.Kind == model.RegisterCluster }) {
		err = client.unreleased(ctx, desired.Spec, &plan)
	}
	return plan, observed, err
}

// unreleased adds to a plan that there is no release to register the cluster with.
func (client *Client) unreleased(ctx context.Context, c *spec.Cluster, plan *Plan) error {
	err := client.CheckRelease(ctx, c)
	fault, is := errors.AsType[*Fault](err)
	if !is || fault.Code != CodeInput {
		return err
	}
	field := "spec.openshift.version"
	if c.Spec.OpenShift.ImageSet != "" {
		field = "spec.openshift.imageSet"
	}
	plan.Blockers = append(plan.Blockers, Blocker{
		Key: "cluster/release", Scope: model.ScopeCluster, Reason: "NoClusterImageSet", Cure: model.CureNow,
		Message: fault.Err.Error(), Field: field, Remedy: fault.Next,
	})
	return nil
}

// Explain decides on an observation without anything remembered, to say what stands in
// the way now, of one host alone where host is its id: machines are looked at where
// desired names their BMCs, whose the cluster is does not matter, nor which results are
// on disk. What it returns beside the plan is what it decided on.
func (client *Client) Explain(ctx context.Context, desired *Desired, observed *Observed, host string) (Plan, *Observed, error) {
	now, own := observed.taken(), *desired
	if cluster := now.Cluster; cluster != nil {
		own.Options.AddNodes = own.Options.AddNodes || cluster.State == model.ClusterAddingHosts && slices.ContainsFunc(now.Hosts, func(h Host) bool {
			return h.Day2 && membershipOf(&h) != member
		})
	}
	if err := client.observeMachines(ctx, &own, nil, now); err != nil {
		return Plan{}, nil, err
	}
	if client.files != nil && now.Cluster != nil {
		kept, err := client.files.Observe(ctx, resultsOf(desired, now.Cluster.ID))
		if err != nil {
			return Plan{}, nil, err
		}
		now.Results.KubeconfigPath = kubeconfigPath(kept)
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
	concerns := func(scope Scope) bool { return scope == model.HostScope(p.only) || scope == model.HostScope(host) }
	plan := &p.plan
	plan.Blockers = slices.DeleteFunc(plan.Blockers, func(b Blocker) bool {
		ofCluster := b.Scope == model.ScopeCluster && len(b.Hosts) == 0 && b.Reason != reasonValidation
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

// asObserved is what is desired of a cluster where no file says it: that it becomes, with
// the hosts that it has and those of its control plane that it lacks, what the service was
// told.
func asObserved(observed *Observed) *Desired {
	c := observed.Cluster
	out := &spec.Cluster{Metadata: spec.Metadata{Name: c.Name}, Spec: spec.ClusterSpec{BaseDomain: c.BaseDomain, AcceptUnknownHosts: true}}
	var hosts, arbiters, controlPlane int
	for i := range observed.Hosts {
		switch h := &observed.Hosts[i]; {
		case h.Day2 || h.unbound():
			continue
		case h.Role == model.RoleArbiter:
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
