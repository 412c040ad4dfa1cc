package rest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

// The events that tell how preparations of an install went, and the beginnings of
// the texts of those that have a state in them.
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

// tellsOfPreparation says whether an event belongs to the story of the preparations.
func tellsOfPreparation(e *install.ServiceEvent) bool {
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

// remember keeps the events that tell of preparations, each once, in their order.
func (l *eventLog) remember(events ...install.ServiceEvent) {
	for _, e := range events {
		same := func(old install.ServiceEvent) bool { return old.Time.Equal(e.Time) && old.Message == e.Message }
		if tellsOfPreparation(&e) && !slices.ContainsFunc(l.preparations, same) {
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

// preparationsOf reads the story out of events in their order. A preparation has
// failed when the cluster is back from it and nobody has cancelled it: of most
// failures the service says no more than that.
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

// moved follows the cluster into a state.
func (a *attempts) moved(status string, at time.Time) {
	switch {
	case status == statusPreparing:
		*a = attempts{failed: a.failed, preparing: true}
	case vocab.ClusterStateOf(status) == vocab.ClusterInstalling:
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

// unprepared keeps what the service says of a host that could not prepare.
func (a *attempts) unprepared(e install.ServiceEvent) {
	_, why, _ := strings.Cut(e.Message, textHostUnprepared)
	if a.hosts == nil {
		a.hosts = map[string]string{}
	}
	a.hosts[e.HostID] = strings.TrimSuffix(strings.TrimPrefix(why, "("), ")")
}

// tellPreparations adds to a cluster what the events say of its preparations.
func (w *watch) tellPreparations(c *install.Cluster) {
	a := preparationsOf(w.log.preparations)
	c.Preparation.FailedAt, c.Preparation.Hosts = a.failed, a.hosts
	if !c.InstallStarted.After(a.cancelled) {
		c.Preparation.Cancelled = a.cancelled
	}
}

// recall looks, once, for the preparations of earlier runs: hosts may have filled
// the log since. The hosts' part of it is asked for only where one has failed.
func (p *Plane) recall(ctx context.Context, w *watch) error {
	const latest = 100
	if w.log.recalled || w.log.silent || w.cluster == nil || !attempted(w.cluster) {
		return nil
	}
	page, err := p.eventPage(ctx, install.EventFilter{ClusterID: w.id, Newest: true, Limit: latest}, 0, map[string][]string{"cluster_level": {"true"}})
	if err == nil {
		w.log.remember(inOrder(page.Events)...)
		if len(preparationsOf(w.log.preparations).failed) > 0 {
			page, err = p.Events(ctx, install.EventFilter{ClusterID: w.id, Message: textHostUnprepared, Newest: true, Limit: latest}, 0)
			w.log.remember(inOrder(page.Events)...)
		}
	}
	if err != nil && (install.CodeOf(err) == install.CodeAuth || !transport.Permanent(err)) {
		return err
	}
	w.log.recalled = true
	return nil
}

// attempted says whether a cluster that could be installed now may have been
// prepared before, or is just being.
func attempted(c *install.Cluster) bool {
	switch c.State {
	case vocab.ClusterDraft, vocab.ClusterDiscovering, vocab.ClusterBlocked, vocab.ClusterReady, vocab.ClusterPreparing:
		return !c.InstallStarted.IsZero()
	}
	return false
}

// inOrder are events that were read newest first.
func inOrder(events []install.ServiceEvent) []install.ServiceEvent {
	slices.Reverse(events)
	return events
}
