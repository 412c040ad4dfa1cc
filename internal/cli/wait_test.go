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

// TestWaitEndsWithACancelledPreparation, which leaves the cluster as it was before, but
// not with one that was cancelled earlier.
func TestWaitEndsWithACancelledPreparation(t *testing.T) {
	for name, test := range map[string]struct {
		cancelled, earlier time.Time
		code               install.Code
	}{
		"now":     {noon().Add(time.Minute), noon(), install.CodeFailed},
		"earlier": {noon(), noon(), install.CodeTimeout},
		"never":   {code: install.CodeTimeout},
	} {
		a := newApp(identify([]string{"oaictl", "wait"}), streams.Streams{}, nil)
		a.clock = &frozen{now: noon()}
		until, err := parseCondition(forInstalled)
		if err != nil {
			t.Fatal(err)
		}
		service := lab()
		cluster := service.clusters[0]
		cluster.State, cluster.Preparation.Cancelled = install.ClusterReady, test.cancelled
		look := &install.Observed{At: noon(), Cluster: &cluster}
		service.looks = []*install.Observed{look}
		w := &waiting{waitOptions: &waitOptions{app: a, Timeout: 3 * time.Second, Every: time.Second, until: until}, sink: progress.None(), started: noon(), earlier: test.earlier}
		if code, failed := w.watch(t.Context(), service, &sight{ref: look.Cluster.ClusterRef, observed: look}); code != test.code || install.NextOf(failed) == "" {
			t.Errorf("%s: code %d, %v", name, code, failed)
		}
	}
}
