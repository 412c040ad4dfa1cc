package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// waitFor waits for three seconds for a cluster to be installed that is seen as it is in
// looks, one after the other, and says how long that took.
func waitFor(t *testing.T, every string, looks ...model.Cluster) (took time.Duration, code int, errors string) {
	t.Helper()
	service := lab()
	for i := range looks {
		service.looks = append(service.looks, &model.Observed{At: noon(), Cluster: &looks[i]})
	}
	var problems strings.Builder
	words := []string{"oaictl", "wait", "c1", "--for", "installed", "--timeout", "3s", "--poll-interval", every}
	a := app.New(app.Identify(words), streams.Streams{Out: io.Discard, Err: &problems}, streams.Env{"OAICTL_SERVICE_URL": "http://fake", "TERM": "dumb"})
	a.Clock = &frozen{now: noon()}
	a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) { return service, nil }
	code = execute(t.Context(), a)
	return a.Clock.Now().Sub(noon()), code, problems.String()
}

// TestWaitKeepsToItsTime also where looks are further apart than that.
func TestWaitKeepsToItsTime(t *testing.T) {
	for _, every := range []string{"1s", "5s", "1h"} {
		took, code, errors := waitFor(t, every, lab().clusters[0])
		if code != int(model.CodeTimeout) || took != 3*time.Second {
			t.Errorf("every %s: took %s (%d: %s)", every, took, code, errors)
		}
	}
}

// TestWaitEndsWithACancelledPreparation, which leaves the cluster as it was before, but
// not with one that was cancelled earlier.
func TestWaitEndsWithACancelledPreparation(t *testing.T) {
	at := func(cancelled time.Time) model.Cluster {
		c := lab().clusters[0]
		c.State, c.Preparation.Cancelled = model.ClusterReady, cancelled
		return c
	}
	for name, test := range map[string]struct {
		first, then time.Time
		code        model.Code
	}{
		"now":     {noon(), noon().Add(time.Minute), model.CodeFailed},
		"earlier": {noon(), noon(), model.CodeTimeout},
		"never":   {code: model.CodeTimeout},
	} {
		_, code, errors := waitFor(t, "1s", at(test.first), at(test.then))
		if code != int(test.code) || !strings.Contains(errors, "Next: ") {
			t.Errorf("%s: %d: %s", name, code, errors)
		}
	}
}
