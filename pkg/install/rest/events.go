package rest

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/planeshared"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

const eventCount = "Event-Count"

// Events reads one page of the service's event log, from the offset on.
func (p *Plane) Events(ctx context.Context, filter install.EventFilter, offset int) (install.EventPage, error) {
	return p.eventPage(ctx, filter, offset, url.Values{})
}

func (p *Plane) eventPage(ctx context.Context, filter install.EventFilter, offset int, query url.Values) (install.EventPage, error) {
	planeshared.SetEventQuery(query, filter, offset)
	for name, id := range map[string]string{"cluster_id": filter.ClusterID, "host_id": filter.HostID, "infra_env_id": filter.InfraEnvID} {
		if id != "" && (name != "infra_env_id" || filter.HostID == "") {
			query.Set(name, id)
		}
	}
	page := install.EventPage{Total: -1}
	events, err := transport.ListOf(ctx, p.conn, transport.Request{
		Op: "read events of", On: cmp.Or(filter.ClusterID, filter.HostID, filter.InfraEnvID, "the service"),
		Method: http.MethodGet, Path: "/v2/events", Query: query,
		Header: func(get func(string) string) {
			if total, err := strconv.Atoi(get(eventCount)); err == nil {
				page.Total = total
			}
		},
	}, func(e *models.Event) (install.ServiceEvent, bool) { return objects.EventOf(e), true })
	if err != nil {
		return install.EventPage{}, err
	}
	page.Events = events
	return page, nil
}

type eventLog struct {
	begun         bool
	silent        bool // the service does not say how many events there are
	received      int
	pools         map[string]int         // events seen of InfraEnvs that are bound to no cluster
	preparations  []install.ServiceEvent // the events that show how preparations went, oldest first
	recalled      bool                   // those from before are among them, however old
	probed        time.Time
	due           bool      // the cluster's state can't be understood without the events before it
	clusterProbed time.Time // when the cluster's own part was asked for last
}

// seedEvents is how many of the latest events are read first, for those of preparations.
const seedEvents = 50

// newEvents is how many events a probe reads at once, and probePages how many
// such pages it follows.
const (
	newEvents  = 100
	probePages = 5
)

// probe asks the event log whether anything happened, and marks what it concerns.
func (p *Plane) probe(ctx context.Context, w *watch) error {
	w.log.probed = w.now()
	if !w.log.begun {
		return p.beginEvents(ctx, w)
	}
	if w.log.silent {
		w.log.due = false
		w.request(wanted, clusterRecord, hostList)
		return nil
	}
	if w.clusterProbeDue() {
		before := w.log.clusterProbed
		w.log.clusterProbed = w.now()
		if err := p.probeCluster(ctx, w, before); err != nil {
			return err
		}
		w.log.due = false
	}
	return p.probePools(ctx, w, func(*model.InfraEnv) bool { return true })
}

// probePools asks for what happens to hosts that belong to no cluster yet: it is
// logged with their InfraEnv only. How many events there are says enough.
func (p *Plane) probePools(ctx context.Context, w *watch, asked func(*model.InfraEnv) bool) error {
	for _, env := range w.pools() {
		if w.log.silent || !asked(&env) {
			continue
		}
		page, err := p.Events(ctx, install.EventFilter{InfraEnvID: env.ID, Newest: true, Limit: 1}, 0)
		if transport.Gone(err) {
			w.reserved.found = false
			w.request(wanted, infraEnvList)
			continue
		} else if err != nil {
			return p.withoutEvents(w, err)
		}
		seen, known := w.log.pools[env.ID]
		if w.log.pools == nil {
			w.log.pools = map[string]int{}
		}
		w.log.pools[env.ID] = page.Total
		if known && seen != page.Total {
			w.changed = w.now()
			w.request(wanted, hostList)
		}
	}
	return nil
}

// probeCluster reads the events that were written since the last time, when before was.
func (p *Plane) probeCluster(ctx context.Context, w *watch, before time.Time) error {
	for range probePages {
		page, err := p.Events(ctx, install.EventFilter{ClusterID: w.id, Limit: newEvents}, w.log.received)
		if err != nil {
			return p.withoutEvents(w, err)
		}
		switch {
		case page.Total < 0:
			w.log.silent = true
			return nil
		case page.Total < w.log.received: // the log was cut: begin anew
			w.log.received = page.Total
			w.happened(install.ServiceEvent{})
			return nil
		}
		w.log.received = min(page.Total, w.log.received+len(page.Events))
		for _, e := range page.Events {
			w.happened(e)
		}
		if w.log.received >= page.Total || len(page.Events) == 0 {
			w.log.received = page.Total
			w.eventsSeen(page.Events, before)
			return nil
		}
	}
	return nil
}

func (p *Plane) beginEvents(ctx context.Context, w *watch) error {
	page, err := p.Events(ctx, install.EventFilter{ClusterID: w.id, Newest: true, Limit: seedEvents}, 0)
	if err != nil {
		return p.withoutEvents(w, err)
	}
	w.eventsSeen(inOrder(page.Events), time.Time{})
	w.log.begun, w.log.received, w.log.silent = true, page.Total, page.Total < 0
	w.log.remember(page.Events...)
	w.log.recalled = len(page.Events) == page.Total
	return nil
}

// withoutEvents goes on without an event log that may not be read.
func (p *Plane) withoutEvents(w *watch, err error) error {
	if model.FaultOf(err).Code == model.CodeAuth || !transport.Permanent(err) {
		return err
	}
	w.log.begun, w.log.silent = true, true
	return nil
}

// happened says what an event concerns.
func (w *watch) happened(e install.ServiceEvent) {
	w.log.remember(e)
	if e.Name != "host_install_progress_updated" || !strings.Contains(e.Message, "%") {
		w.changed = w.now()
	}
	switch {
	case strings.Contains(e.Name, "image") || strings.Contains(e.Name, "infra_env"):
		w.request(wanted, infraEnvList)
	case e.HostID != "":
		w.request(wanted, hostList)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.changes == nil {
			w.changes = map[string]bool{}
		}
		w.changes[e.HostID] = true
	case strings.Contains(e.Name, "reset") || strings.Contains(e.Name, "cancel") || e.Name == "":
		w.request(wanted, clusterRecord, hostList)
	default:
		w.request(wanted, clusterRecord)
	}
}

// uuid is an id for a parameter of the generated client.
func uuid(id string) strfmt.UUID { return strfmt.UUID(id) }

// The events that show how preparations of an install went, and the beginnings of the texts of those that have a state
// in them.
const (
	eventClusterStatus     = "cluster_status_updated"
	eventHostStatus        = "host_status_updated"
	eventPreparationFailed = "prepare_installation_failed"
	eventCancelled         = "cluster_installation_canceled"
	eventReset             = "cluster_installation_reset"

	textClusterStatus   = "Updated status of the cluster to "
	textHostUnprepared  = " to preparing-failed "
	statusPreparing     = "preparing-for-installation"
	mostPreparationNews = 200
)

// concernsPreparation reports whether an event belongs to the story of the preparations.
func concernsPreparation(e *install.ServiceEvent) bool {
	switch e.Name {
	case eventPreparationFailed, eventCancelled, eventReset:
		return true
	case eventClusterStatus:
		return strings.HasPrefix(e.Message, textClusterStatus)
	case eventHostStatus:
		return strings.Contains(e.Message, textHostUnprepared)
	}
	return false
}

// remember keeps the events about preparations, each once, in their order.
func (l *eventLog) remember(events ...install.ServiceEvent) {
	for _, e := range events {
		same := func(old install.ServiceEvent) bool { return old.Time.Equal(e.Time) && old.Message == e.Message }
		if concernsPreparation(&e) && !slices.ContainsFunc(l.preparations, same) {
			l.preparations = append(l.preparations, e)
		}
	}
	slices.SortStableFunc(l.preparations, func(a, b install.ServiceEvent) int { return a.Time.Compare(b.Time) })
	l.preparations = l.preparations[max(0, len(l.preparations)-mostPreparationNews):]
}

// attempts is the story of the preparations, as far as it has been read.
type attempts struct {
	failed    []time.Time
	cancelled time.Time
	hosts     map[string]string
	preparing bool
	counted   bool // the latest one is among the failed
}

// preparationsOf reads the attempts to prepare out of events in their order. A preparation has failed when the cluster
// is back from it and no user has cancelled it: for most failures there is no other event.
func preparationsOf(events []install.ServiceEvent) attempts {
	var a attempts
	for _, e := range events {
		switch status := strings.TrimPrefix(e.Message, textClusterStatus); e.Name {
		case eventPreparationFailed:
			a.fail(e.Time)
		case eventCancelled:
			a.notFailed()
			a.cancelled = e.Time
		case eventReset:
			a = attempts{}
		case eventHostStatus:
			a.unprepared(e)
		default:
			a.moved(status, e.Time)
		}
	}
	return a
}

func (a *attempts) moved(status string, at time.Time) {
	switch {
	case status == statusPreparing:
		*a = attempts{failed: a.failed, preparing: true}
	case statuses.Cluster(status) == model.ClusterInstalling:
		*a = attempts{}
	case a.preparing:
		a.fail(at)
	}
}

func (a *attempts) fail(at time.Time) {
	a.failed, a.preparing, a.counted = append(a.failed, at), false, true
}

// notFailed takes back that the latest one failed.
func (a *attempts) notFailed() {
	if a.counted {
		a.failed = a.failed[:len(a.failed)-1]
	}
	a.preparing, a.counted = false, false
}

func (a *attempts) unprepared(e install.ServiceEvent) {
	_, why, _ := strings.Cut(e.Message, textHostUnprepared)
	if a.hosts == nil {
		a.hosts = map[string]string{}
	}
	a.hosts[e.HostID] = strings.TrimSuffix(strings.TrimPrefix(why, "("), ")")
}

func (w *watch) recordPreparations(c *model.Cluster) {
	a := preparationsOf(w.log.preparations)
	c.Preparation.FailedAt, c.Preparation.Hosts = a.failed, a.hosts
	if !c.InstallStarted.After(a.cancelled) {
		c.Preparation.Cancelled = a.cancelled
	}
}

// recall reads, once, the events about preparations of earlier runs: hosts may have filled the log since. The hosts'
// part of it is asked for only where one has failed.
func (p *Plane) recall(ctx context.Context, w *watch) error {
	const latest = 100
	if w.log.recalled || w.log.silent || w.cluster == nil || !attempted(w.cluster) {
		return nil
	}
	page, err := p.eventPage(ctx, install.EventFilter{ClusterID: w.id, Newest: true, Limit: latest}, 0, url.Values{"cluster_level": {"true"}})
	if err == nil {
		w.log.remember(inOrder(page.Events)...)
		if len(preparationsOf(w.log.preparations).failed) > 0 {
			page, err = p.Events(ctx, install.EventFilter{ClusterID: w.id, Message: textHostUnprepared, Newest: true, Limit: latest}, 0)
			w.log.remember(inOrder(page.Events)...)
		}
	}
	if err != nil && (model.FaultOf(err).Code == model.CodeAuth || !transport.Permanent(err)) {
		return err
	}
	w.log.recalled = true
	return nil
}

// attempted reports whether a cluster that can be installed was, or is being, prepared.
func attempted(c *model.Cluster) bool {
	switch c.State {
	case model.ClusterDraft, model.ClusterDiscovering, model.ClusterBlocked, model.ClusterReady, model.ClusterPreparing:
		return !c.InstallStarted.IsZero()
	}
	return false
}

// inOrder are events that were read newest first.
func inOrder(events []install.ServiceEvent) []install.ServiceEvent {
	slices.Reverse(events)
	return events
}
