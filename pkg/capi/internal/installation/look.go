package installation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// freshFor is how long a view is taken for the present where nothing is known to have changed, in real
// time: a plan also depends on the time.
const freshFor = time.Second

// waitsAgain is how long reconciles take an installed cluster that does not answer for away without waiting for it: that
// is left to the loop, which looks more often than that.
const waitsAgain = idly + time.Minute

// look observes and decides, unless nothing has changed since it last did. It does not wait for an installed cluster that
// did not answer lately.
func (i *installation) look(ctx context.Context) (*View, error) {
	if view, err := i.known(ctx); view != nil || err != nil {
		return view, err
	}
	if err := i.looking.Lock(ctx); err != nil {
		return nil, fmt.Errorf("wait for what is looked at of Cluster %s: %w", i.key, err)
	}
	defer i.looking.Unlock()
	if view, err := i.known(ctx); view != nil || err != nil { // somebody else has looked meanwhile
		return view, err
	}
	return i.observe(ctx, false)
}

// isFresh reports whether the view is taken for the present, as far as the objects are the same. i.mu is held.
func (i *installation) isFresh() bool {
	return i.view != nil && i.changed == i.seen && (clock.Real().Now().Sub(i.looked) < freshFor || i.isAway())
}

// isAway reports whether the installed cluster did not answer lately. i.mu is held.
func (i *installation) isAway() bool {
	if i.view == nil || i.set.config.Clock.Now().Sub(i.waited) >= waitsAgain {
		return false
	}
	spoke := i.view.Observed.Spoke
	return spoke != nil && spoke.Trouble != "" && spoke.TroubleKind == model.SpokeUnreachable
}

// known is the view, where it is taken for the present by the mark of the objects; else nil.
func (i *installation) known(ctx context.Context) (*View, error) {
	i.mu.Lock()
	view, fresh, of := i.view, i.isFresh(), i.mark
	i.mu.Unlock()
	if !fresh || i.set.config.Mark == nil {
		return nil, nil
	}
	mark, err := i.set.config.Mark(ctx, i.key)
	if err != nil || mark != of {
		return nil, err
	}
	return view, view.NoPlan
}

// observe looks and decides; patient says that it waits for an installed cluster that did not answer lately, and takes
// nothing that is known for the present. i.looking is held.
func (i *installation) observe(ctx context.Context, patient bool) (*View, error) {
	i.mu.Lock()
	view, changed, fresh, away := i.view, i.changed, i.isFresh() && !patient, i.isAway() && !patient
	i.mu.Unlock()
	var prior *model.Observed
	if view != nil {
		prior = view.Observed
	}
	var mark uint64
	if i.set.config.Mark != nil {
		var err error
		if mark, err = i.set.config.Mark(ctx, i.key); err != nil {
			return nil, err
		}
	}
	desired, left, err := i.desire(ctx, prior)
	if desired == nil {
		return nil, err
	}
	now := i.set.config.Clock.Now()
	if fresh && err == nil && view.NoPlan == nil && reflect.DeepEqual(desired, view.Desired) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.mark = mark
		return view, nil
	}
	client := i.client
	if away {
		client = i.brief
	}
	observed, failed := client.Observe(ctx, desired, prior)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	if away {
		observed.Spoke = prior.Spoke
	}
	if prior == nil || err != nil || differs(prior, observed) { // what is desired depends on how far it is
		if desired, left, err = i.desire(ctx, observed); desired == nil {
			return nil, err
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.memory.Seen(observed, now)
	view = &View{Desired: desired, Observed: observed, NoPlan: err, leftOut: i.stillOut(observed)}
	if err == nil {
		view.Plan = install.Decide(desired, observed, i.memory, observed.At)
		if desired.Spec.Imported() && view.Deleted() {
			// Its record was deleted, and not the cluster: it is taken in, as by providers that have just started.
			i.memory = model.Memory{}
			i.memory.Seen(observed, now)
			view.Plan = install.Decide(desired, observed, i.memory, observed.At)
		}
		left.leaveAlone(view)
		i.memory.Decided(view.Plan)
		refused := i.memory.RefusalOf(view.Plan)
		view.tried, view.retries = i.triedOf(view.Plan), refused != nil && !refused.Permanent // which is not tried soon
	}
	i.view, i.seen, i.mark, i.looked = view, changed, mark, clock.Real().Now()
	if !away {
		i.waited = i.set.config.Clock.Now()
	}
	return view, err
}

// desire is what a Cluster shall become, and which hosts are left alone. Beside an error it is enough to observe by,
// or nil.
func (i *installation) desire(ctx context.Context, observed *model.Observed) (*model.Desired, *Partial, error) {
	desired, err := i.set.config.Desire(ctx, i.key, observed)
	if left, is := errors.AsType[*Partial](err); is && desired != nil {
		return desired, left, nil
	}
	return desired, nil, err
}

// leaveAlone takes out of a plan what it would do to the hosts that could not be made out, and says why.
func (p *Partial) leaveAlone(v *View) {
	if p == nil {
		return
	}
	alone := map[model.Scope]bool{}
	for name := range p.Hosts {
		alone[model.HostScope(name)] = true
		if want := v.Desired.Spec.Host(name); want != nil && want.Match.InfraEnv != "" {
			alone[model.InfraEnvScope(want.Match.InfraEnv)] = true
		}
	}
	v.Plan.Actions = slices.DeleteFunc(v.Plan.Actions, func(a model.Action) bool { return alone[a.Scope] })
	v.Plan.Blockers = slices.DeleteFunc(v.Plan.Blockers, func(b model.Blocker) bool { return alone[b.Scope] })
	for _, name := range slices.Sorted(maps.Keys(p.Hosts)) {
		if host := v.Host(name); host != nil && (host.State == model.HostInstalled || host.State == model.HostAdded) {
			continue // it runs, and needs nothing of that any more
		}
		v.Plan.Blockers = append(v.Plan.Blockers, model.Blocker{
			Key: "host/" + name + "/objects", Scope: model.HostScope(name), Reason: "InvalidConfiguration", Cure: model.CurePerson,
			Message: p.Hosts[name].Error(), Hosts: []string{name},
		})
	}
}

// triedOf is what is remembered of the actions of a plan.
func (i *installation) triedOf(plan model.Plan) map[string]tried {
	of := map[string]tried{}
	for _, a := range plan.Actions {
		refused, failed := i.memory.Refused[a.Key]
		done, succeeded := i.memory.Done[a.Key]
		if failed || succeeded {
			of[a.Key] = tried{Refused: refused, Done: done}
		}
	}
	return of
}

// stillOut are the hosts that were taken out of the cluster and are not back. i.mu is held.
func (i *installation) stillOut(observed *model.Observed) map[string]leftOut {
	for name, out := range i.leftOut {
		host := observed.HostByID(out.id)
		if out.isBack(host) {
			delete(i.leftOut, name)
			continue
		}
		out.unbound = out.unbound || host != nil && host.ClusterID == ""
		i.leftOut[name] = out
	}
	return maps.Clone(i.leftOut)
}

// differs reports whether what is desired may be other than before: the cluster is at another state, or says that it is
// another one.
func differs(before, now *model.Observed) bool {
	if before.Cluster == nil || now.Cluster == nil {
		return before.Cluster != now.Cluster
	}
	return before.Cluster.State != now.Cluster.State || before.Cluster.OpenShiftID != now.Cluster.OpenShiftID
}
