package rest_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/planetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest"
	"github.com/oaictl/oaictl/test/sample"
)

// canceller cancels the install, once, when the service is asked for it or when it
// is first seen that the service prepares it.
type canceller struct {
	seen     bool          // wait until it is seen
	by       time.Duration // that answers are dated ahead of the records
	mu       sync.Mutex
	done     bool
	installs int
}

func (c *canceller) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	dated(answer, c.by)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	id, asked := strings.CutSuffix(r.URL.Path, "/actions/install")
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked {
		c.installs++
	}
	if asked && c.seen {
		return answer, nil
	}
	if prepares := bytes.Contains(body, []byte(`"status":"preparing-for-installation"`)) && !strings.HasSuffix(r.URL.Path, "/hosts"); c.done || !prepares {
		return answer, nil
	}
	cancel, err := http.NewRequestWithContext(r.Context(), http.MethodPost, "http://"+r.URL.Host+id+"/actions/cancel", nil)
	if err != nil {
		return nil, err
	}
	cancelled, err := http.DefaultTransport.RoundTrip(cancel)
	if err != nil {
		return nil, err
	}
	c.done = cancelled.StatusCode == http.StatusAccepted
	return answer, cancelled.Body.Close()
}

// TestCancelledPreparation cancels an install that is being prepared: the run that
// sees it ends, and only the next one asks for the install again.
func TestCancelledPreparation(t *testing.T) {
	for name, test := range map[string]struct {
		seen bool
		by   time.Duration
	}{
		"at once": {}, "when it was seen to prepare": {seen: true}, "by a clock ahead": {seen: true, by: time.Hour}, "by a clock behind": {seen: true, by: -time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := sample.Example(t, "sno")
			s, fast := simulate(t, cluster)
			wire, files := &canceller{seen: test.seen, by: test.by}, &planetest.Files{}
			run := func() (install.Result, error) {
				plane := must.Get(rest.New(rest.Config{URL: s.URL(), Clock: fast, HTTPClient: &http.Client{Transport: wire}}))(t)
				return install.New(plane, install.Config{Clock: fast, Files: files}).Run(t.Context(), &model.Desired{Spec: cluster, Options: model.Options{Run: "r"}})
			}
			result, err := run()
			if model.FaultOf(err).Code != model.CodeFailed || result.Verdict != model.VerdictCancelled || wire.installs != 1 {
				t.Fatalf("code %d, verdict %s, %d install calls: %v", model.FaultOf(err).Code, result.Verdict, wire.installs, err)
			}
			if next := model.FaultOf(err).Next; !strings.Contains(next.String(), "run the same command again") || !strings.Contains(err.Error(), "cancelled during its preparation") {
				t.Errorf("the end says %v; next %s", err, next)
			}
			check.Equal(t, result.Observed.Cluster.State, model.ClusterReady, "the cluster is")
			result, err = run()
			if err != nil || result.Verdict != model.VerdictInstalled || wire.installs != 2 {
				t.Fatalf("the next run: verdict %s, %d install calls in all: %v", result.Verdict, wire.installs, err)
			}
		})
	}
}
