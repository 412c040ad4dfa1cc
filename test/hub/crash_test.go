package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
)

var errKilled = errors.New("killed")

// TestKilledAtEveryWrite installs with oaictl that is killed again and again: in
// turns before and after the first write that it makes, so that each write of an
// install is one that was never sent, and one whose answer was never heard. What
// comes of it is one cluster, one InfraEnv and one installation.
func TestKilledAtEveryWrite(t *testing.T) {
	for _, name := range []string{"sno", "static-network"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := onHub().open(t, setup{cluster: example(t, name)})
			untouched := x.strangers(t)
			dir, deaths := t.TempDir(), 0
			for run := 0; ; run++ {
				if run > 200 {
					t.Fatal("it does not come to an end")
				}
				killed, a := x.runKilled(t, dir, run)
				if !killed {
					if a.err != nil || a.result.Verdict != install.VerdictInstalled {
						t.Fatalf("run %d: verdict %q: %v\n%s", run, a.result.Verdict, a.err, a.story())
					}
					break
				}
				deaths++
			}
			if deaths < 2*5 { // pull secret, ClusterDeployment, AgentClusterInstall, InfraEnv, Agent
				t.Errorf("killed %d times only", deaths)
			}
			t.Logf("killed %d times", deaths)
			x.once(t)
			untouched()
			if files := saved(t, dir); len(files) != 3 {
				t.Errorf("results: %v", files)
			}
		})
	}
}

// runKilled runs oaictl until its first write, or to the end if it makes none.
// Even runs die before it, odd ones after it.
func (x *site) runKilled(t *testing.T, dir string, run int) (killed bool, a *attempt) {
	t.Helper()
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	w := &wire{strike: func(request *http.Request, pass func() (*http.Response, error)) (*http.Response, error, bool) {
		switch {
		case context.Cause(ctx) != nil:
			return nil, errKilled, true
		case !writes(request):
			return nil, nil, false
		case run%2 == 1:
			if response, err := pass(); err == nil {
				_ = response.Body.Close()
			}
		}
		kill(errKilled)
		return nil, errKilled, true
	}}
	plane := x.through(t, w)
	defer plane.Close()
	desired := &install.Desired{Spec: x.cluster, Options: install.Options{Run: fmt.Sprintf("run-%d", run)}}
	a = x.runIn(ctx, t, plane, desired, dir)
	return errors.Is(context.Cause(ctx), errKilled), a
}
