package install_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// deletedPlane is a service whose cluster somebody else deletes, or that does not
// show it for some looks.
type deletedPlane struct {
	*plane
	at     func(*model.Observed) bool // when the cluster begins to be missing
	looks  int                        // how often it is not shown, -1: it is deleted
	gone   bool
	wrote  int           // as it was deleted
	absent time.Time     // since then
	bore   time.Duration // until the last look
}

func (p *deletedPlane) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
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
	return &model.Observed{At: o.At}, nil
}

func TestClusterThatSomebodyDeletes(t *testing.T) {
	always := func(*model.Observed) bool { return true }
	inState := func(state model.ClusterState) func(*model.Observed) bool {
		return func(o *model.Observed) bool { return o.Cluster.State == state }
	}
	imaged := func(o *model.Observed) bool { return len(o.InfraEnvs) > 0 }
	for name, test := range map[string]struct {
		at    func(*model.Observed) bool
		looks int
		code  model.Code // 0: installed
	}{
		"as soon as it is registered":           {always, -1, model.CodeNotFound},
		"while its hosts come":                  {imaged, -1, model.CodeNotFound},
		"while it installs":                     {inState(model.ClusterInstalling), -1, model.CodeNotFound},
		"a list that is old right after it":     {always, 1, 0},
		"a list that is old for some looks":     {always, 5, 0},
		"a cluster that is missing for a look":  {imaged, 1, 0},
		"a cluster that is missing for 2 looks": {inState(model.ClusterInstalling), 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &deletedPlane{plane: &plane{world: newWorld(&model.Desired{Spec: sample(3, 0), Options: model.Options{Run: "run1"}})}, at: test.at, looks: test.looks}
				var events []model.Event
				result, err := install.New(p, install.WithEvents(func(e model.Event) { events = append(events, e) })).Run(t.Context(), p.desired)
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
				if model.CodeOf(err) != test.code || result.ExitCode != int(test.code) || !strings.Contains(err.Error(), "deleted") || model.NextOf(err) == "" {
					t.Errorf("Run: %v (code %d), Next %q", err, model.CodeOf(err), model.NextOf(err))
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
