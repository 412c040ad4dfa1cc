//go:build e2e

package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	hubplane "github.com/oaictl/oaictl/pkg/install/hub"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

var errKilled = errors.New("killed")

// TestKilledAtEveryWrite installs with oaictl that is killed again and again: in turns before and after the first write
// that it makes, so that each write of an install is one that was never sent, and one whose answer was never heard. The
// result is one cluster, one InfraEnv and one installation, and no report of a second.
func TestKilledAtEveryWrite(t *testing.T) {
	for name, test := range map[string]struct {
		backend
		objects int // that oaictl writes, at least
	}{
		"sno":            {onHub(), 5}, // pull secret, ClusterDeployment, AgentClusterInstall, InfraEnv, Agent
		"static-network": {onHub(), 9}, // three Agents, and their networks
		"disconnected":   {bare(), 9},  // three Agents, ConfigMaps of mirrors and manifests
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := test.open(t, setup{cluster: fixture.Example(t, name)})
			untouched := x.strangers(t)
			dir := t.TempDir()
			var last *attempt
			deaths := untilDone(t, func(run int) (killed bool) {
				killed, last = x.runKilled(t, dir, run)
				return killed
			})
			if last.err != nil || last.result.Verdict != model.VerdictInstalled {
				t.Fatalf("verdict %q: %v\n%s", last.result.Verdict, last.err, last.story())
			}
			if deaths < 2*test.objects {
				t.Errorf("killed %d times only", deaths)
			}
			t.Logf("killed %d times", deaths)
			x.once(t)
			untouched()
			deployment := x.ours(t, hubapi.Resource(hubapi.KindClusterDeployment))[0]
			if installed, _, _ := unstructured.NestedBool(deployment.Object, "spec", "installed"); !installed && !test.hive {
				t.Error("nobody has recorded that it is installed")
			}
			if files := saved(t, dir); !slices.Equal(files, []string{".cluster", "kubeadmin-password", "kubeconfig", "kubeconfig-noingress"}) {
				t.Errorf("results: %v", files)
			}
		})
	}
}

// TestKilledAtEveryDeletion does so with a deletion, on a hub without controllers for the cluster: nothing of it is
// left.
func TestKilledAtEveryDeletion(t *testing.T) {
	t.Parallel()
	x := onHub().open(t, setup{cluster: fixture.Example(t, "static-network"), absent: true})
	untouched := x.strangers(t)
	a := x.detaches(t, x.plane(t))
	if a.err != nil {
		t.Fatalf("%s\n%s", a.says(), a.story())
	}
	id := a.result.Observed.Cluster.ID
	var err error
	deaths := untilDone(t, func(run int) bool {
		return x.killed(t, run, func(ctx context.Context, plane *hubplane.Plane) {
			err = plane.DeleteCluster(ctx, id, install.DeleteOptions{})
		})
	})
	if err != nil {
		t.Fatalf("%v (next: %s)", err, model.FaultOf(err).Next)
	}
	if deaths < 2*7 { // pull secret, ClusterDeployment, AgentClusterInstall, InfraEnv, three NMStateConfigs
		t.Errorf("killed %d times only", deaths)
	}
	x.nothingLeft(t)
	untouched()
}

// untilDone does something until it is not killed any more, and says how often it was.
func untilDone(t *testing.T, once func(run int) (killed bool)) (deaths int) {
	t.Helper()
	for once(deaths) {
		if deaths++; deaths > 200 {
			t.Fatal("it does not come to an end")
		}
	}
	return deaths
}

// runKilled runs oaictl until its first write, or to the end if it makes none. What
// the killed ones have half made is no second cluster.
func (x *site) runKilled(t *testing.T, dir string, run int) (killed bool, a *attempt) {
	t.Helper()
	killed = x.killed(t, run, func(ctx context.Context, plane *hubplane.Plane) {
		a = x.runIn(ctx, t, plane, &model.Desired{Spec: x.cluster, Options: model.Options{Run: fmt.Sprintf("run-%d", run)}}, dir)
	})
	for _, e := range a.events {
		if strings.HasPrefix(e.Key, "cluster/duplicate/") {
			t.Errorf("run %d: %s: %s", run, e.Key, e.Message)
		}
	}
	return killed, a
}

// killed does something with a plane until its first write, or to the end if it makes
// none. Even runs die before it, odd ones after it.
func (x *site) killed(t *testing.T, run int, do func(context.Context, *hubplane.Plane)) bool {
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
	do(ctx, plane)
	return errors.Is(context.Cause(ctx), errKilled)
}
