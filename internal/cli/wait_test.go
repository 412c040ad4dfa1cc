package cli

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/progress"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/pkg/install"
)

// TestWaitKeepsToItsTime also where looks are further apart than that.
func TestWaitKeepsToItsTime(t *testing.T) {
	for _, every := range []time.Duration{time.Second, 5 * time.Second, time.Hour} {
		a := newApp(identify([]string{"oaictl", "wait"}), streams.Streams{}, nil)
		a.clock = &frozen{now: noon()}
		until, err := parseCondition(forInstalled)
		if err != nil {
			t.Fatal(err)
		}
		service := lab()
		look := &install.Observed{At: noon(), Cluster: &service.clusters[0]}
		service.looks = []*install.Observed{look}
		w := &waiting{waitOptions: &waitOptions{app: a, Timeout: 3 * time.Second, Every: every, until: until}, sink: progress.None(), started: noon()}
		code, failed := w.watch(t.Context(), service, &sight{ref: look.Cluster.ClusterRef, observed: look})
		if took := a.clock.Now().Sub(noon()); code != install.CodeTimeout || took != 3*time.Second {
			t.Errorf("every %s: took %s (code %d, %v)", every, took, code, failed)
		}
	}
}
