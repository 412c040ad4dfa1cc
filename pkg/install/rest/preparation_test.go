package rest

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

func (w *world) becomes(status string) {
	w.say(eventClusterStatus, textClusterStatus+status, -1, func() { w.cluster["status"] = status })
}

// asked is an install call that the service has taken.
func (w *world) asked() {
	w.say(eventClusterStatus, textClusterStatus+statusPreparing, -1, func() {
		w.cluster["status"], w.cluster["install_started_at"] = statusPreparing, w.clock.Now().Format("2006-01-02T15:04:05.000Z")
	})
}

func (w *world) pass(t *testing.T, span time.Duration) {
	t.Helper()
	must.Do(t, w.clock.Sleep(t.Context(), span))
}

// A cluster that is back from a preparation has failed to prepare, unless it was cancelled; the hosts that could not
// prepare are known with the messages about them.
func TestPreparationFailures(t *testing.T) {
	const why = "Failed to fetch container images needed for installation from quay.io/x"
	for name, test := range map[string]struct {
		happens   func(w *world)
		failed    int
		cancelled bool
		hosts     int
	}{
		"nothing was asked for": {happens: func(w *world) { w.becomes("ready"); w.becomes("insufficient") }},
		"it is being prepared":  {happens: func(w *world) { w.asked() }},
		"a host fails": {failed: 1, hosts: 1, happens: func(w *world) {
			w.asked()
			w.say(eventHostStatus, "Host host-0: updated status from preparing-for-installation to preparing-failed ("+why+")", 0, func() {})
			w.becomes("ready")
			w.becomes("insufficient")
			w.becomes("ready")
		}},
		"the files cannot be made": {failed: 1, happens: func(w *world) {
			w.asked()
			w.say(eventPreparationFailed, "Failed to prepare the installation", -1, func() {})
			w.becomes("ready")
		}},
		"a host falls silent, twice": {failed: 2, happens: func(w *world) {
			for range 2 {
				w.asked()
				w.becomes("insufficient")
				w.becomes("ready")
			}
		}},
		"cancelled": {cancelled: true, happens: func(w *world) {
			w.asked()
			w.becomes("ready")
			w.say(eventCancelled, "Canceled cluster installation", -1, func() {})
			w.say("cluster_prepare_installation_started", "Cluster starting to prepare for installation", -1, func() {})
		}},
		"failed, then cancelled": {failed: 1, cancelled: true, happens: func(w *world) {
			w.asked()
			w.becomes("ready")
			w.asked()
			w.becomes("ready")
			w.say(eventCancelled, "Canceled cluster installation", -1, func() {})
		}},
		"cancelled, then begun anew": {happens: func(w *world) {
			w.asked()
			w.becomes("ready")
			w.say(eventCancelled, "Canceled cluster installation", -1, func() {})
			w.asked()
		}},
		"failed, then installing": {happens: func(w *world) {
			w.asked()
			w.becomes("ready")
			w.asked()
			w.becomes("installing")
		}},
		"reset": {happens: func(w *world) {
			w.asked()
			w.becomes("insufficient")
			w.say(eventReset, "Reset cluster installation", -1, func() {})
		}},
		"an event of severity error": {happens: func(w *world) {
			w.asked()
			w.say("cancel_installation_failed", "Failed to cancel installation: no condition found to run transition", -1, func() {})
			w.events[len(w.events)-1]["severity"] = "error"
		}},
	} {
		// Seen as it happens, by a later run, and by a run that starts when hosts have filled the log.
		for when, early := range map[string]bool{"watched": true, "afterwards": false, "long afterwards": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.plane(t)
				if early {
					observe(t, p, lab())
					w.pass(t, 20*time.Second)
				}
				test.happens(w)
				if when == "long afterwards" {
					for n := range 2 * seedEvents {
						w.say(eventHostStatus, fmt.Sprintf("Host host-0: something %d", n), 0, func() {})
					}
				}
				for range 3 {
					w.pass(t, 30*time.Second)
					got := observe(t, p, lab()).Cluster.Preparation
					if len(got.FailedAt) != test.failed || got.Cancelled.IsZero() == test.cancelled || len(got.Hosts) != test.hosts {
						t.Errorf("got %+v", got)
					}
					if test.hosts > 0 && got.Hosts[hostID(0)] != why {
						t.Errorf("hosts %q", got.Hosts)
					}
				}
			})
		}
	}
}

// The past events are read once, and only where an install was asked for.
func TestPreparationsAreRecalledOnce(t *testing.T) {
	for _, begun := range []bool{true, false} {
		w := newWorld(t, 1)
		if begun {
			w.asked()
			w.becomes("ready")
		}
		for n := range 2 * seedEvents {
			w.say(eventHostStatus, fmt.Sprintf("Host host-0: something %d", n), 0, func() {})
		}
		var recalled []string
		w.on("GET /v2/events", func(out http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("cluster_level") != "" || q.Get("message") != "" {
				recalled = append(recalled, r.URL.RawQuery)
			}
			w.listEvents(out, r)
		})
		p := w.plane(t)
		for range 3 {
			observe(t, p, lab())
			w.pass(t, 20*time.Second)
		}
		if want := map[bool]int{true: 2}[begun]; len(recalled) != want {
			t.Errorf("begun %v: asked for %v", begun, recalled)
		}
	}
}

// What a cluster that is back from a preparation may do depends on its hosts as
// they are now, and on why it is back: all three are of the same look, at once.
func TestBackFromAPreparation(t *testing.T) {
	for name, seen := range map[string]bool{"seen": true, "over before the next look": false} {
		w := newWorld(t, 1)
		w.becomes("ready")
		p := w.plane(t)
		observe(t, p, lab())
		w.pass(t, time.Second)
		w.asked()
		if seen {
			w.pass(t, time.Second)
			p.stale(lab(), clusterID, clusterRecord)
			observe(t, p, lab())
		}
		w.hosts[0]["status"] = "preparing-failed"
		w.becomes("ready")
		w.say(eventCancelled, "Canceled cluster installation", -1, func() {})
		p.stale(lab(), clusterID, clusterRecord)
		got := observe(t, p, lab())
		if got.Cluster.State != model.ClusterReady || got.Cluster.Preparation.Cancelled.IsZero() ||
			slices.ContainsFunc(got.Hosts, func(h model.Host) bool { return h.State == model.HostReady }) {
			t.Errorf("%s: cluster %s, %+v, hosts %+v", name, got.Cluster.State, got.Cluster.Preparation, got.Hosts)
		}
	}
}
