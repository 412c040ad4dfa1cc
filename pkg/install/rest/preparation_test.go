package rest

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// Failed preparations are counted from the events, each once.
func TestPreparationFailures(t *testing.T) {
	w := newWorld(t, 1)
	w.change(preparationFailed, -1, func() {})
	first := w.clock.Now()
	p := w.plane(t)
	observe(t, p, lab())
	_ = w.clock.Sleep(t.Context(), 10*time.Second)
	w.change(preparationFailed, -1, func() {
		w.cluster["last-installation-preparation"] = map[string]any{"status": "failed", "reason": "image pull"}
	})
	second := w.clock.Now()
	w.change("cluster_status_updated", -1, func() {})
	for range 3 {
		_ = w.clock.Sleep(t.Context(), 10*time.Second)
		got := observe(t, p, lab()).Cluster.Preparation
		if got.Status != "failed" || got.Reason != "image pull" || !slices.EqualFunc(got.FailedAt, []time.Time{first, second}, time.Time.Equal) {
			t.Errorf("got %+v", got)
		}
	}
}

// Those of earlier runs are found however much was logged since, with one
// request, and only where the last preparation failed.
func TestPreparationFailuresOfLongAgo(t *testing.T) {
	for _, status := range []string{"failed", "success"} {
		w := newWorld(t, 1)
		w.change(preparationFailed, -1, func() { w.cluster["last-installation-preparation"] = map[string]any{"status": status} })
		first, asked := w.clock.Now(), 0
		w.on("GET /v2/events", func(out http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("message") != preparationText {
				w.listEvents(out, r)
				return
			}
			asked++
			out.Header().Set(eventCount, "1")
			w.send(out, w.events[:1])
		})
		for range 2 * seedEvents {
			w.change("host_status_updated", 0, func() {})
		}
		p := w.plane(t)
		for range 3 {
			got := observe(t, p, lab()).Cluster.Preparation.FailedAt
			if found := slices.EqualFunc(got, []time.Time{first}, time.Time.Equal); found != (status == "failed") {
				t.Errorf("%s: got %v", status, got)
			}
			_ = w.clock.Sleep(t.Context(), 20*time.Second)
		}
		if want := map[string]int{"failed": 1}[status]; asked != want {
			t.Errorf("%s: asked %d times", status, asked)
		}
	}
}
