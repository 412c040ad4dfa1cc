package install_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestNothingNew is told now and then while nothing happens, and of no run in which
// something does.
func TestNothingNew(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*plane)
		times  int // in the 16 minutes that the run has
		text   string
	}{
		"an install that stands still": {func(p *plane) { p.still, p.observed.Cluster.State = true, model.ClusterPreparing }, 3, "nothing new for 5m: waiting for the service to prepare the installation"},
		"something in the way": {func(p *plane) {
			p.still = true
			p.observed.Hosts[0].State = model.HostDisconnected
		}, 3, "nothing new for 5m: in the way: cp-0 (MAC 52:54:00:00:00:00"},
		"a service that does not answer": {func(p *plane) {
			p.still, p.observed.Cluster.State = true, model.ClusterPreparing
			p.observe = func(n int) error {
				if n > 2 {
					return &model.Fault{Err: errors.New("connection refused")}
				}
				return nil
			}
		}, 3, "does not answer: connection refused"},
		"hosts that get on": {func(p *plane) {
			p.still, p.observed.Cluster.State = true, model.ClusterInstalling
			p.observe = func(n int) error {
				h := &p.observed.Hosts[0]
				h.State, h.Progress.Stage, h.Progress.Info = model.HostInstalling, "Writing image to disk", time.Now().Format("1504")+"%"
				return nil
			}
		}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := readyWorld(t, sample(3, 0))
				p := &plane{world: w}
				test.change(p)
				var told []string
				var at []time.Duration
				began := time.Now()
				_, err := install.New(p, install.WithTimeouts(16*time.Minute, time.Hour), install.WithEvents(func(e model.Event) {
					if e.Reason == "NothingNew" {
						told, at = append(told, e.Message), append(at, time.Since(began))
					}
				})).Run(t.Context(), p.desired)
				if model.CodeOf(err) != model.CodeTimeout {
					t.Fatal(err)
				}
				if len(told) != test.times || test.times > 0 && !strings.Contains(told[0], test.text) {
					t.Errorf("told %q at %v; want %d times %q", told, at, test.times, test.text)
				}
			})
		})
	}
}
