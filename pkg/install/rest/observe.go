package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// How often is looked, in the service's time. Probes, and the reads that need
// no event, together stay under 12 requests a minute while nothing happens.
const (
	idleProbe = 8500 * time.Millisecond // while nothing happens
	poolProbe = 10 * time.Second        // the same, where pools are asked for too
	soonProbe = 3 * time.Second         // a while after something happened
	hotProbe  = time.Second             // just after
	soonest   = 400 * time.Millisecond  // while something is about to change
	hotTime   = 15 * time.Second
	soonTime  = 30 * time.Second

	runningRefresh = 30 * time.Second // progress may move without an event
	restingRefresh = time.Minute
	poolRefresh    = 3 * time.Minute  // where pools are asked for: their events say it
	besidePools    = 15 * time.Second // the cluster's events, while nothing happens

	// reserve is how much of the budget is kept for what must not come late: while an install runs, only what was not
	// read for a while is read from the rest.
	reserve    = 30
	staleAfter = 10 * time.Second
	// perHost spaces the reading of all hosts by their number: 500 hosts are
	// read every ten seconds at most.
	perHost = 20 * time.Millisecond
)

// Observe says what the service holds of a cluster. It reads what was never
// read, what this plane wrote, what the service's events name and, now and
// then, everything; the rest comes from memory. When the service does not
// answer, the last observation comes back with Stale set.
//
// Observed shares maps and inner slices with later observations: they are not
// to be changed.
func (p *Plane) Observe(ctx context.Context, query model.Query, _ *model.Observed) (*model.Observed, error) {
	w := p.watchOf(query)
	if err := w.hold(ctx); err != nil {
		return nil, err
	}
	defer w.release()
	w.run, w.exact, w.ref, w.alone, w.polled, w.soon = query.Run, query.Exact, query.InfraEnv, query.Alone, query.Poll > 0, query.Soon
	w.askIgnored(query.Ignored)
	w.reserve(query.Agents)
	w.overridden = p.tables.InfraEnv.SetBy(query.Overridden)
	p = p.over(p.conn.Polling(w.budget.Spend, w.time.Answered))
	err := p.refresh(ctx, w, query)
	if transport.Gone(err) && w.id != "" {
		w.forget()
		query.ID = "" // there is no such cluster any more; by name there may be another
		err = p.refresh(ctx, w, query)
	}
	w.publishForActions()
	switch {
	case err == nil:
		return w.observation(), nil
	case context.Cause(ctx) != nil:
		return nil, context.Cause(ctx)
	case w.cluster == nil || transport.Permanent(err):
		return nil, err
	}
	observed := w.observation()
	observed.Stale = err.Error()
	_ = errors.As(err, &observed.StaleFault)
	return observed, nil
}

// refresh brings the watch up to date: first which cluster is meant, then what is due of it.
func (p *Plane) refresh(ctx context.Context, w *watch, query model.Query) error {
	if query.Detail {
		w.request(overdue, clusterList, clusterRecord, hostList, infraEnvList, manifestList)
		w.inventory = map[string]bool{}
		for id := range w.hosts {
			w.inventory[id] = true
		}
	}
	if err := p.find(ctx, w, query); err != nil || w.id == "" {
		return err
	}
	if !w.log.begun {
		if err := p.probe(ctx, w); err != nil {
			return err
		}
	}
	if err := p.readDue(ctx, w, overdue, query.Detail); err != nil {
		return err
	}
	// What is known to be stale goes before asking whether more is.
	if err := p.readDue(ctx, w, wanted, false); err != nil {
		return err
	}
	if w.log.due || w.probeDue() {
		if err := p.probe(ctx, w); err != nil {
			return err
		}
	}
	w.refreshDue()
	if err := p.readDue(ctx, w, wanted, false); err != nil {
		return err
	}
	if err := p.dateImages(ctx, w); err != nil {
		return err
	}
	return p.recall(ctx, w)
}

// readDue reads the parts that are at least so urgent; those that are not
// overdue only within the budget.
func (p *Plane) readDue(ctx context.Context, w *watch, least urgency, content bool) error {
	for _, r := range []struct {
		part  observationPart
		last  time.Time
		space time.Duration // at least between two reads for events
		read  func(context.Context, *watch) error
	}{
		{clusterRecord, w.lastRead.cluster, 0, p.readCluster},
		{infraEnvList, time.Time{}, 0, p.readInfraEnvs},
		{hostList, w.lastRead.hosts, time.Duration(len(w.hosts)) * perHost, p.readHosts},
		{manifestList, time.Time{}, 0, func(ctx context.Context, w *watch) error { return p.readManifests(ctx, w, content) }},
		{ignoredChecks, time.Time{}, 0, p.readIgnored},
	} {
		is := w.urgencyOf(r.part)
		if is < least || is == fresh || is == wanted && !w.affordable(r.last, r.space) {
			continue
		}
		is = w.takeUrgency(r.part)
		if err := r.read(ctx, w); err != nil {
			w.request(is, r.part)
			return err
		}
	}
	return nil
}

// affordable reports whether something that was last read at that time, and is to be read so far apart, may be read for
// an event.
func (w *watch) affordable(last time.Time, space time.Duration) bool {
	now := w.now()
	if now.Sub(last) < space {
		return false
	}
	if w.running() && now.Sub(last) < staleAfter {
		return w.may(reserve, now)
	}
	return w.may(1, now)
}

// may reports whether n requests may be sent now. If the caller sets the interval of looks, there is no limit.
func (w *watch) may(n int, now time.Time) bool { return w.polled || w.budget.Has(n, now) }

func (w *watch) running() bool {
	if w.cluster == nil {
		return false
	}
	switch w.cluster.State {
	case model.ClusterPreparing, model.ClusterInstalling, model.ClusterNeedsUser, model.ClusterFinalizing:
		return true
	}
	return false
}

func (w *watch) probeDue() bool {
	now := w.now()
	since := now.Sub(w.log.probed)
	every := idleProbe
	if w.hasPool() {
		every = poolProbe
	}
	switch quiet := now.Sub(w.changed); {
	case w.polled:
		every = 0
	case w.soon && w.budget.Has(reserve, now):
		every = soonest
	case w.running() && !w.budget.Has(reserve, now):
	case quiet < hotTime:
		every = hotProbe
	case quiet < soonTime:
		every = soonProbe
	}
	return since >= every && w.may(1, now)
}

// clusterProbeDue reports whether the cluster's events are due beside those of pools.
func (w *watch) clusterProbeDue() bool {
	now := w.now()
	return !w.hasPool() || w.polled || w.log.due || now.Sub(w.changed) < soonTime || now.Sub(w.log.clusterProbed) >= besidePools
}

// refreshDue has cluster and hosts read from time to time: not all comes with an event.
func (w *watch) refreshDue() {
	now := w.now()
	every := restingRefresh
	switch {
	case w.hasPool():
		every = poolRefresh
	case w.running():
		every = runningRefresh
	}
	if now.Sub(w.lastRead.cluster) >= every {
		w.request(wanted, clusterRecord)
	}
	if now.Sub(w.lastRead.hosts) >= every {
		w.request(wanted, hostList)
	}
	if slices.ContainsFunc(w.infraEnvs, func(e model.InfraEnv) bool { return e.Image.State == model.ImagePending }) {
		w.request(wanted, infraEnvList)
	}
}

// hasPool reports whether hosts may come from an InfraEnv that is bound to no cluster.
func (w *watch) hasPool() bool { return len(w.pools()) > 0 }

const ignoredPath = "/v2/clusters/{cluster_id}/ignored-validations"

// askIgnored reports whether the look that begins wants to know which may fail.
func (w *watch) askIgnored(asks bool) {
	if asks && !w.asksIgnored {
		w.request(overdue, ignoredChecks)
	}
	w.asksIgnored = asks
}

// readIgnored reads which validations may fail, where the query asks for it: the cluster does not show it. A user who
// may not read it may not set it either.
func (p *Plane) readIgnored(ctx context.Context, w *watch) error {
	if !w.asksIgnored {
		return nil
	}
	var wire objects.Ignored
	if err := p.conn.Do(ctx, transport.Request{
		Op: "read ignored validations of", On: w.id, Method: http.MethodGet, Path: ignoredPath, In: map[string]string{"cluster_id": w.id},
	}, &wire); err != nil {
		return err
	}
	w.ignored = model.ValueOf(wire.Validations())
	return nil
}

func (p *Plane) ignoreValidations(ctx context.Context, _ *model.Desired, action model.Action) error {
	var ignored spec.IgnoreValidations
	if err := action.Settings[model.SettingIgnoredValidations].Decode(&ignored); err != nil {
		return planeshared.Refusal(action, err)
	}
	return p.conn.Do(ctx, transport.Request{
		Op: "set ignored validations of", On: action.Name, Method: http.MethodPut, Path: ignoredPath,
		In: map[string]string{"cluster_id": action.Target}, Body: objects.IgnoredOf(ignored),
	}, nil)
}
