//go:build e2e

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/simulator/spoke"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// interrupted runs a command line, and interrupts it after some real time.
func (s *shrinking) interrupted(t *testing.T, after time.Duration, line string) outcome {
	t.Helper()
	var out, problems strings.Builder
	a := app.New(app.Identify(append([]string{"oaictl"}, strings.Fields(line)...)), streams.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}, streams.Env{"OAICTL_SERVICE_URL": "http://fake", "HOME": t.TempDir()})
	a.Clock = s.clock
	a.Connect = func(context.Context, app.ClientConfig) (install.Backend, error) { return s, nil }
	ctx, cancel := context.WithCancelCause(t.Context())
	defer time.AfterFunc(after, func() { cancel(&install.Interrupt{Code: model.CodeInterrupted}) }).Stop()
	return outcome{execute(ctx, a), out.String(), problems.String()}
}

// TestUpgradeOfAHostileCluster: what a ClusterVersion says steers no terminal and shows no secret, an interrupted command goes on
// when it is given again, and of two commands at once one has its version and the other is told so.
func TestUpgradeOfAHostileCluster(t *testing.T) {
	s := newShrinking(t, func(c *spoke.Cluster) {
		c.Version = "4.20.4"
		for _, version := range []string{"4.20.4", "4.20.5", "4.20.6"} {
			c.Updates = append(c.Updates, spoke.Update{Version: version})
		}
	})
	to := " --poll-interval 1s --cluster-kubeconfig " + s.kubeconfig
	s.patched(t, "config.openshift.io", "clusterversions", "version", fmt.Sprintf(`{"status": {"conditionalUpdates": [
		{"release": {"version": "4.20.7\u001b[2J", "image": "x@sha256:%064d"}, "conditions": [{"type": "Recommended", "status": "False", "message": "\u202eodd https://a:hunter22@b"}]},
		{"release": {"version": "4.20.8", "image": "x@sha256:%064d"}, "risks": [{"name": "A\u001b[1m", "message": "x\ny", "url": "https://a:hunter22@b"}]},
		{"release": {"version": "4.20.9", "image": "x@sha256:%064d"}}, {"release": {}}, {}, 7]}}`, 7, 8, 9), "status")
	for line, test := range map[string]struct {
		code int
		says string
	}{
		"lab":                                 {0, "  4.20.9  it does not say why\n  4.20.8  A\\u001b[1m: x y"},
		"lab -o json":                         {0, `"version": "4.20.9"`},
		"lab -o yaml --to 4.20.8":             {3, "verdict: blocked"},
		"lab --to 4.20.8":                     {3, "the update to 4.20.8 is not recommended for this cluster: A\\u001b[1m: x y"},
		"lab --to 4.20.9":                     {3, "is not recommended for this cluster: it does not say why. To accept the risk"},
		"lab --to=":                           {2, "--to needs a VERSION"},
		"lab --to vv4.20.5 --progress json":   {2, `"exitCode":2`},
		"lab --to 4.20.4 --progress json":     {0, `"exitCode":0`},
		"lab --to 4.20.3 -o name --quiet":     {3, "OpenShift cannot be downgraded"},
		"lab --to 4.20.4 -o jsonpath={.nope}": {2, "template"},
	} {
		got := s.run(t, "", "upgrade cluster "+line+to)
		all := got.out + got.errors
		if got.code != test.code || !strings.Contains(all, test.says) || strings.Contains(all, "\n    it does not say") {
			t.Errorf("%s ends with %d:\n%s", line, got.code, all)
		}
		for _, bad := range []string{"\x1b", "\u202e", "hunter22"} {
			if strings.Contains(all, bad) {
				t.Errorf("%s prints %q", line, bad)
			}
		}
		if strings.Contains(line, "-o json ") && json.Unmarshal([]byte(got.out), new(output.Upgrade)) != nil {
			t.Errorf("%s prints %s", line, got.out)
		}
	}
	got := s.interrupted(t, time.Second, "upgrade cluster lab --to 4.20.5 --progress json"+to)
	if got.code != int(model.CodeInterrupted) || !strings.Contains(got.out, `"exitCode":130`) || !strings.Contains(got.errors, "Next: oaictl upgrade cluster lab --to 4.20.5") {
		t.Errorf("interrupted it ends with %d: %s%s", got.code, got.out, got.errors)
	}
	var both sync.WaitGroup
	ends := make([]outcome, 2)
	for i, version := range []string{"4.20.5", "4.20.6"} {
		both.Go(func() { ends[i] = s.run(t, "", "upgrade cluster lab --to "+version+to) })
	}
	both.Wait()
	if ends[0].code != 0 || !strings.Contains(ends[0].out, "The cluster runs 4.20.5") || strings.Contains(ends[0].errors, "requests the update") {
		t.Errorf("the same command again ends with %d: %s%s", ends[0].code, ends[0].out, ends[0].errors)
	}
	if ends[1].code != 1 || !strings.Contains(ends[1].errors, "4.20.5") || strings.Contains(ends[1].errors, "requests the update") {
		t.Errorf("another command at once ends with %d: %s%s", ends[1].code, ends[1].out, ends[1].errors)
	}
	s.patched(t, "config.openshift.io", "clusterversions", "version", `{"status": {"history": null}}`, "status")
	if got := s.run(t, "", "upgrade cluster lab"+to); got.code != 0 || !strings.Contains(got.out, "The cluster is not installed") || strings.Contains(got.errors, "Next:") {
		t.Errorf("without a history it shows %s%s", got.out, got.errors)
	}
	if got := s.run(t, "", "upgrade cluster lab --to 4.20.6"+to); got.code != 1 || !strings.Contains(got.errors, "is not installed") {
		t.Errorf("without a history it ends with %d: %s%s", got.code, got.out, got.errors)
	}
}
