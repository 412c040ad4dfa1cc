package install_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// deletedPlane is a service whose cluster somebody else deletes, or that does not
// show it for some looks.
type deletedPlane struct {
	*plane
	at     func(*install.Observed) bool // when the cluster begins to be missing
	looks  int                          // how often it is not shown, -1: it is deleted
	gone   bool
	wrote  int           // as it was deleted
	absent time.Time     // since then
	bore   time.Duration // until the last look
}

func (p *deletedPlane) Observe(ctx context.Context, query install.Query, prior *install.Observed) (*install.Observed, error) {
	o, err := p.plane.Observe(ctx, query, prior)
	if err != nil || o.Cluster == nil {
		return o, err
	}
	if !p.gone && p.at(o) {
		p.gone, p.absent, p.wrote = true, time.Now(), len(p.writes)
	}
	if !p.gone || p.looks == 0 {
		return o, nil
	}
	p.looks--
	p.bore = time.Since(p.absent)
	return &install.Observed{At: o.At}, nil
}

func TestClusterThatSomebodyDeletes(t *testing.T) {
	always := func(*install.Observed) bool { return true }
	inState := func(state install.ClusterState) func(*install.Observed) bool {
		return func(o *install.Observed) bool { return o.Cluster.State == state }
	}
	imaged := func(o *install.Observed) bool { return len(o.InfraEnvs) > 0 }
	for name, test := range map[string]struct {
		at    func(*install.Observed) bool
		looks int
		code  install.Code // 0: installed
	}{
		"as soon as it is registered":           {always, -1, install.CodeNotFound},
		"while its hosts come":                  {imaged, -1, install.CodeNotFound},
		"while it installs":                     {inState(model.ClusterInstalling), -1, install.CodeNotFound},
		"a list that is old right after it":     {always, 1, 0},
		"a list that is old for some looks":     {always, 5, 0},
		"a cluster that is missing for a look":  {imaged, 1, 0},
		"a cluster that is missing for 2 looks": {inState(model.ClusterInstalling), 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &deletedPlane{plane: &plane{world: newWorld(&install.Desired{Spec: sample(3, 0), Options: install.Options{Run: "run1"}})}, at: test.at, looks: test.looks}
				var events []install.Event
				result, err := install.New(p, install.WithEvents(func(e install.Event) { events = append(events, e) })).Run(t.Context(), p.desired)
				if n := count(p.world, model.RegisterCluster); n != 1 {
					t.Errorf("registered %d times", n)
				}
				if !p.gone {
					t.Fatal("the cluster was never missing")
				}
				if test.code == 0 {
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				if install.CodeOf(err) != test.code || result.ExitCode != int(test.code) || !strings.Contains(err.Error(), "deleted") || install.NextOf(err) == "" {
					t.Errorf("Run: %v (code %d), Next %q", err, install.CodeOf(err), install.NextOf(err))
				}
				if len(p.writes) != p.wrote {
					t.Errorf("written after the cluster was deleted: %v", p.writes[p.wrote:])
				}
				if result.Observed == nil || result.Observed.Cluster != nil {
					t.Error("the result still has the cluster")
				}
				if p.bore > time.Minute {
					t.Errorf("found out only after %s", p.bore)
				}
				for _, e := range events[1:] {
					if e.Key == "cluster/state" && e.State == "Absent" {
						t.Errorf("told that there is none yet: %+v", e)
					}
				}
			})
		})
	}
}
