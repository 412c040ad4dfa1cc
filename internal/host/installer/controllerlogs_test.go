//go:build linux

package installer

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/host/kube"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestControllerLogs: while the bootstrap waits for the controller, its log goes to the service every five minutes, and once
// more when it is ready.
func TestControllerLogs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		began := time.Now()
		w.pods = []kube.Pod{{Meta: kube.Meta{Name: "controller-x"}}}
		w.events = func() []kube.Event {
			if time.Since(began) < 13*time.Minute {
				return nil
			}
			return []kube.Event{eventOf(readyEvent, "1", "")}
		}
		must.Do(t, w.installer(parse(t, flags("bootstrap", 3)...)).Run(t.Context()))
		const upload = `upload controller: assisted-installer-controller.logs has "the log of controller-x"`
		check.Slice(t, w.calls, []string{
			"GET bootstrap.ign", "GET ignition", upload, upload, "cluster logs requested", upload, "host logs requested",
		})
	})
}

// TestControllerLogsFail: the installation goes on without them.
func TestControllerLogsFail(t *testing.T) {
	for says, change := range map[string]func(w *world){
		"read the log of the pod": func(w *world) { w.pods = []kube.Pod{{}} },
		"the service is full": func(w *world) {
			w.pods, w.uploadErr = []kube.Pod{{Meta: kube.Meta{Name: "controller-x"}}}, errors.New("the service is full")
		},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			change(w)
			must.Do(t, w.installer(parse(t, flags("bootstrap", 3)...)).Run(t.Context()))
			check.Contains(t, w.logged(), says)
			check.Equal(t, slices.Contains(w.calls, "host logs requested"), true)
		})
	}
}
