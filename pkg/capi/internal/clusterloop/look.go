package clusterloop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// freshFor is how long a view counts as current where nothing is known to have changed, in real time: a plan also
// depends on the time.
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
		return nil, fmt.Errorf("wait for the check of Cluster %s: %w", i.key, err)
	}
	defer i.looking.Unlock()
	if view, err := i.known(ctx); view != nil || err != nil { // another caller has observed meanwhile
		return view, err
	}
	return i.observe(ctx, false)
}

// isFresh reports whether the view counts as current, if the objects are the same. i.mu is held.
func (i *installation) isFresh() bool {
	return i.view != nil && i.changed == i.seen && (clock.Real().Now().Sub(i.looked) < freshFor || i.isAway())
}

// isAway reports whether the installed cluster did not answer lately. i.mu is held.
func (i *installation) isAway() bool {
	if i.view == nil || i.set.config.Clock.Now().Sub(i.waited) >= waitsAgain {
		return false
	}
	spoke := i.view.Observed.Spoke
	return spoke != nil && spoke.Trouble != "" && spoke.TroubleKind == model.TroubleUnreachable
}

// known is the view, if it counts as current by the mark of the objects; else nil.
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

// observe looks and decides; patient says that it waits for an installed cluster that did not answer lately, and uses
// no known view instead. i.looking is held.
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
	desired, err := i.set.config.Desire(ctx, i.key, prior)
	if desired == nil {
		return nil, err
	}
	if fresh && err == nil && view.NoPlan == nil && reflect.DeepEqual(desired, view.Desired) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.mark = mark
		return view, nil
	}
	observe := i.loop.Observe
	if away {
		observe = i.loop.ObserveService
	}
	observed, failed := observe(ctx, desired)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	if prior == nil || err != nil || differs(prior, observed) { // what is desired depends on how far it is
		if desired, err = i.set.config.Desire(ctx, i.key, observed); desired == nil {
			return nil, err
		}
	}
	view = &View{Look: i.decide(desired, observed, err), NoPlan: err}
	i.mu.Lock()
	defer i.mu.Unlock()
	view.leftOut = i.stillOut(observed)
	i.view, i.seen, i.mark, i.looked = view, changed, mark, clock.Real().Now()
	if !away {
		i.waited = i.set.config.Clock.Now()
	}
	return view, err
}

// decide makes the plan that follows from an observation, and none where it is not known what is desired.
func (i *installation) decide(desired *model.Desired, observed *model.Observed, unknown error) install.Look {
	if unknown != nil {
		return i.loop.Remember(desired, observed)
	}
	look := i.loop.Decide(desired, observed)
	if desired.Spec.Imported() && isDeleted(&look) {
		// Its record was deleted, and not the cluster: it is taken in, as by providers that have just started.
		i.loop.Forget()
		look = i.loop.Decide(desired, observed)
	}
	return look
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

// differs reports whether what is desired may have changed: the cluster is in another state, or has another id.
func differs(before, now *model.Observed) bool {
	if before.Cluster == nil || now.Cluster == nil {
		return before.Cluster != now.Cluster
	}
	return before.Cluster.State != now.Cluster.State || before.Cluster.OpenShiftID != now.Cluster.OpenShiftID
}
