//go:build e2e

package real

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/test/fixture"
)

// attempt is one run of oaictl.
type attempt struct {
	events []model.Event
	trace  fixture.Trace
	result install.Result
	err    error
}

// says is everything that a person reads about the end, and what happened before.
func (a *attempt) says() string {
	if a.err == nil {
		return string(a.result.Verdict) + "\n" + fixture.Story(a.events)
	}
	return a.err.Error() + "\nnext: " + model.FaultOf(a.err).Next.String() + "\n" + fixture.Story(a.events)
}

// runs is how a cluster is brought to where it is wanted, by a process after the other.
type runs struct {
	*site
	dir   string
	hear  []func(model.Event)
	nodes bool // add-node
	more  []install.Config
}

// once runs oaictl until it ends.
func (r *runs) once(ctx context.Context, t testing.TB) *attempt {
	t.Helper()
	return r.with(ctx, t, r.plane(t))
}

// with runs oaictl with a plane that is there already.
func (r *runs) with(ctx context.Context, t testing.TB, plane remote) *attempt {
	t.Helper()
	a := &attempt{}
	options := append([]install.Config{
		{Clock: r.time, Files: install.Directory(r.dir)}, r.patience(),
		{Events: func(e model.Event) {
			a.events = append(a.events, e)
			a.trace.Take(e)
			for _, hear := range r.hear {
				hear(e)
			}
		}},
	}, r.more...)
	desired := &model.Desired{Spec: r.cluster, Options: model.Options{Run: r.cluster.Metadata.Name, AddNodes: r.nodes}}
	a.result, a.err = install.New(plane, options...).Run(ctx, desired)
	files, err := fixture.Saved(r.dir)
	if err != nil {
		t.Error(err)
	}
	a.trace.Verdict, a.trace.Code, a.trace.Files, a.trace.Kinds = a.result.Verdict, a.result.ExitCode, files, fixture.Kinds(a.events, r.cluster)
	return a
}

// start boots the machines, at once or late, and gives the runs that install them.
func (x *site) start(t testing.TB, late bool) *runs {
	t.Helper()
	r := &runs{site: x, dir: t.TempDir()}
	after := now()
	if late {
		var hear func(model.Event)
		after, hear = x.late(t)
		r.hear = append(r.hear, hear)
	}
	bmcs, options := x.controllers(t, x.plane(t))
	r.more = options
	x.boot(t, "day1", after, bmcs)
	return r
}

// installs runs to the end, which has to be an installed cluster, and holds what was
// sent to its bounds. A second run writes nothing.
func (r *runs) installs(t testing.TB) *attempt {
	t.Helper()
	r.Forget()
	began := r.time.Now()
	first := r.once(t.Context(), t)
	if first.err != nil || first.result.Verdict != model.VerdictInstalled {
		t.Fatalf("verdict %q: %s", first.result.Verdict, first.says())
	}
	r.sent(t, r.time.Now().Sub(began).Minutes())
	r.writesNothing(t)
	return first
}

// writesNothing runs once more.
func (r *runs) writesNothing(t testing.TB) {
	t.Helper()
	r.Forget()
	if again := r.once(t.Context(), t); again.err != nil || len(r.Written()) > 0 || len(fixture.Actions(again.events)) > 0 {
		t.Errorf("the second run: %v; writes %v; does %v", again.err, r.Written(), fixture.Actions(again.events))
	}
}

// What an install may cost, in requests: per minute, for any number of hosts, and for the whole of it besides. On a hub
// the watches report changes, and hardly any request is made.
const (
	perMinute       = 12
	perInstall      = 150
	perInstallOnHub = 80
)

// sent counts the requests of an install of some minutes, and what must be sent once.
func (r *runs) sent(t testing.TB, minutes float64) {
	t.Helper()
	calls, writes := r.Noted(), r.Written()
	allowed := perInstall + int(perMinute*minutes)
	if r.hub {
		allowed = perInstallOnHub
	}
	t.Logf("%d requests, %d of them writes, in %.1f minutes; %d are allowed", len(calls), len(writes), minutes, allowed)
	if len(calls) > allowed {
		t.Errorf("%d requests, where %d are allowed", len(calls), allowed)
	}
	installs := 0
	for _, c := range writes {
		if strings.HasSuffix(c.Path, "/actions/install") && c.Status == http.StatusAccepted && strings.Contains(c.Path, "/v2/clusters/") {
			installs++
		}
	}
	if !r.hub && installs != 1 {
		t.Errorf("%d install calls were accepted: %v", installs, writes)
	}
	clusters, err := r.named(t.Context(), "/v2/clusters")
	if err != nil || len(clusters) != 1 {
		t.Errorf("%d clusters (%v)", len(clusters), err)
	}
}

// same runs something on backends at once, and compares what it was like.
func same(t *testing.T, all []backend, run func(*testing.T, backend) fixture.Trace) {
	t.Helper()
	names := make([]string, 0, len(all))
	for _, b := range all {
		names = append(names, b.name)
		suite.offer(t, b.name)
	}
	suite.runs(-1) // it does nothing but by its parts
	fixture.Same(t, names, func(t *testing.T, i int) fixture.Trace {
		suite.runs(1)
		return run(t, all[i])
	})
}
