//go:build e2e

package hub

import (
	"context"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// trace is what an install was like.
type trace = fixture.Trace

// journal listens to a run.
type journal struct {
	events []model.Event
	trace  trace
}

func (j *journal) take(e model.Event) {
	j.events = append(j.events, e)
	j.trace.Take(e)
}

// actions are the keys of what was done.
func (j *journal) actions() []string { return fixture.Actions(j.events) }

// kinds are the kinds of the actions that were done, except particular ones.
func (j *journal) kinds(cluster *spec.Cluster) []string { return fixture.Kinds(j.events, cluster) }

// story is what a run reported, for a test that failed.
func (j *journal) story() string { return fixture.Story(j.events) }

// attempt is one run of oaictl.
type attempt struct {
	journal
	result install.Result
	err    error
}

// says is everything that a person reads about the end.
func (a *attempt) says() string {
	if a.err == nil {
		return ""
	}
	return a.err.Error() + "\n" + model.FaultOf(a.err).Next.String()
}

// run installs as `oaictl create cluster` does, with a plane of its own, and
// leaves results in dir.
func (x *site) run(t testing.TB, dir string, options ...install.Config) *attempt {
	t.Helper()
	return x.runDesired(t, &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}}, dir, options...)
}

func (x *site) runDesired(t testing.TB, desired *model.Desired, dir string, options ...install.Config) *attempt {
	t.Helper()
	return x.runWith(t, x.plane(t), desired, dir, options...)
}

// runWith installs with a plane that is there already.
func (x *site) runWith(t testing.TB, plane install.Backend, desired *model.Desired, dir string, options ...install.Config) *attempt {
	t.Helper()
	return x.runIn(t.Context(), t, plane, desired, dir, options...)
}

// runIn installs until ctx ends, at the latest.
func (x *site) runIn(ctx context.Context, t testing.TB, plane install.Backend, desired *model.Desired, dir string, options ...install.Config) *attempt {
	t.Helper()
	a := &attempt{}
	options = append(append([]install.Config{
		{Clock: x.time, Files: install.Directory(dir), Events: a.take, Timeout: 6 * time.Hour, UserTimeout: -1},
	}, x.machines(t, plane)...), options...)
	a.result, a.err = install.New(plane, options...).Run(ctx, desired)
	a.trace.Verdict, a.trace.Code, a.trace.Files, a.trace.Kinds = a.result.Verdict, a.result.ExitCode, saved(t, dir), a.kinds(x.cluster)
	return a
}

// detaches does what needs no waiting.
func (x *site) detaches(t testing.TB, plane install.Backend) *attempt {
	t.Helper()
	a := &attempt{}
	desired := &model.Desired{Spec: x.cluster, Options: model.Options{Run: "run-1"}}
	a.result, a.err = install.New(plane, install.Config{Clock: x.time, Events: a.take}).Detach(t.Context(), desired)
	return a
}

// saved are the results in a folder. No other user may read them.
func saved(t testing.TB, dir string) []string {
	t.Helper()
	names, err := fixture.Saved(dir)
	if err != nil {
		t.Error(err)
	}
	return names
}

// same runs something on backends at once, and compares what it was like.
func same(t *testing.T, all []backend, run func(*testing.T, backend) trace) {
	t.Helper()
	names := make([]string, 0, len(all))
	for _, b := range all {
		names = append(names, b.name)
	}
	fixture.Same(t, names, func(t *testing.T, i int) trace { return run(t, all[i]) })
}
