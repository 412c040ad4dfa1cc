package hub

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// trace is what an install was like, without times, ids, and what only one
// backend asks for.
type trace struct {
	Verdict install.Verdict
	Code    int
	Cluster []string // neutral states in their order
	Hosts   map[string]hostTrace
	Files   []string // results that were saved
	Kinds   []string // kinds of actions that were done, without particular ones
	Later   []string // those of add-node
}

// hostTrace is what became of a host, by its name in the file.
type hostTrace struct {
	Stages []string // in their order
	Last   string   // neutral state
}

// journal listens to a run.
type journal struct {
	events []install.Event
	trace  trace
}

func (j *journal) take(e install.Event) {
	j.events = append(j.events, e)
	if j.trace.Hosts == nil {
		j.trace.Hosts = map[string]hostTrace{}
	}
	host := j.trace.Hosts[e.Host]
	switch {
	case e.Key == "cluster/state":
		state := e.State
		if state == string(install.ClusterAddingHosts) {
			// A hub's operator goes on to it by itself. It is an installed cluster
			// (docs/architecture.md).
			state = string(install.ClusterInstalled)
		}
		if n := len(j.trace.Cluster); n == 0 || j.trace.Cluster[n-1] != state {
			j.trace.Cluster = append(j.trace.Cluster, state)
		}
	case e.Type == install.EventStage:
		if !slices.Contains(host.Stages, e.Stage) {
			host.Stages = append(host.Stages, e.Stage)
		}
		host.Last = e.State
		j.trace.Hosts[e.Host] = host
	case e.Type == install.EventHost && strings.HasSuffix(e.Key, "/state"):
		host.Last = e.State
		j.trace.Hosts[e.Host] = host
	}
}

// actions are the keys of what was done.
func (j *journal) actions() []string {
	var out []string
	for _, e := range j.events {
		if e.Type == install.EventAction {
			out = append(out, e.Key)
		}
	}
	return out
}

// kinds are the kinds of the actions that were done, but for particular ones.
func (j *journal) kinds(cluster *spec.Cluster) []string {
	var out []string
	for _, e := range j.events {
		if e.Type == install.EventAction && e.State == "done" && !slices.Contains(particular(cluster), install.Kind(e.Reason)) {
			out = append(out, e.Reason)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// particular are the kinds of actions that not every backend asks for
// (docs/architecture.md).
func particular(cluster *spec.Cluster) []install.Kind {
	kinds := []install.Kind{
		install.WithdrawCluster, install.SetOverrides, install.UploadManifest, install.AllowAddHosts, // REST
		install.NudgeCluster, install.RecordInstalled, install.RegisterHost, // hub
	}
	if roles(cluster)[spec.ControlPlane] == 1 {
		kinds = append(kinds, install.UpdateHost) // hub: there is nothing to say of its hosts but that they are approved
	}
	return kinds
}

// roles counts the hosts of a file.
func roles(cluster *spec.Cluster) map[spec.Role]int {
	out := map[spec.Role]int{}
	for i := range cluster.Spec.Hosts {
		out[cluster.Spec.Hosts[i].Role]++
	}
	return out
}

// story is what a run told, for a test that failed.
func (j *journal) story() string {
	var lines []string
	for _, e := range j.events {
		if e.Type != install.EventProgress && e.Type != install.EventStage {
			lines = append(lines, fmt.Sprintf("%s %s %s %s %s: %s", e.Time.Format(time.TimeOnly), e.Type, e.Severity, e.Key, e.State, e.Message))
		}
	}
	return strings.Join(lines, "\n")
}

// attempt is one run of oaictl.
type attempt struct {
	journal
	result install.Result
	err    error
}

// says is everything that a person is told of the end.
func (a *attempt) says() string {
	if a.err == nil {
		return ""
	}
	return a.err.Error() + "\n" + install.NextOf(a.err)
}

// run installs as `oaictl create cluster` does, with a plane of its own, and
// leaves results in dir.
func (x *site) run(t testing.TB, dir string, options ...install.Option) *attempt {
	t.Helper()
	return x.runDesired(t, &install.Desired{Spec: x.cluster, Options: install.Options{Run: "run-1"}}, dir, options...)
}

func (x *site) runDesired(t testing.TB, desired *install.Desired, dir string, options ...install.Option) *attempt {
	t.Helper()
	return x.runWith(t, x.plane(t), desired, dir, options...)
}

// runWith installs with a plane that is there already.
func (x *site) runWith(t testing.TB, plane remote, desired *install.Desired, dir string, options ...install.Option) *attempt {
	t.Helper()
	return x.runIn(t.Context(), t, plane, desired, dir, options...)
}

// runIn installs until ctx ends, at the latest.
func (x *site) runIn(ctx context.Context, t testing.TB, plane remote, desired *install.Desired, dir string, options ...install.Option) *attempt {
	t.Helper()
	a := &attempt{}
	options = append(append([]install.Option{
		install.WithClock(x.time), install.WithFiles(install.NewFiles(dir)), install.WithEvents(a.take), install.WithTimeouts(6*time.Hour, 0),
	}, x.machines(t, plane)...), options...)
	a.result, a.err = install.New(plane, options...).Run(ctx, desired)
	a.trace.Verdict, a.trace.Code, a.trace.Files, a.trace.Kinds = a.result.Verdict, a.result.ExitCode, saved(t, dir), a.kinds(x.cluster)
	return a
}

// detaches does what needs no waiting.
func (x *site) detaches(t testing.TB, plane remote) *attempt {
	t.Helper()
	a := &attempt{}
	desired := &install.Desired{Spec: x.cluster, Options: install.Options{Run: "run-1"}}
	a.result, a.err = install.New(plane, install.WithClock(x.time), install.WithEvents(a.take)).Detach(t.Context(), desired)
	return a
}

// saved are the results in a folder. Nobody else may read them.
func saved(t testing.TB, dir string) []string {
	t.Helper()
	var names []string
	matches, err := filepath.Glob(filepath.Join(dir, "*", "auth", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range matches {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		names = append(names, filepath.Base(name))
	}
	return names
}

// comparable takes out of two traces what is up to the service, or to the moment of a
// look, and not to the way it is reached (docs/architecture.md): which of the control
// plane hosts is the bootstrap, the state before the first evaluation where one of the
// runs missed it, and, when an installation fails, how far the hosts had come that it
// took with it.
func comparable(a, b trace) (trace, trace) {
	if a.Verdict == install.VerdictFailed && b.Verdict == install.VerdictFailed {
		a.Hosts, b.Hosts = stopped(a.Hosts, b.Hosts), stopped(b.Hosts, a.Hosts)
	}
	a.Cluster, b.Cluster = seenInBoth(a.Cluster, b.Cluster), seenInBoth(b.Cluster, a.Cluster)
	was, is := a.bootstrap(), b.bootstrap()
	if was == "" || is == "" || was == is {
		return a, b
	}
	hosts := maps.Clone(b.Hosts)
	hosts[was], hosts[is] = b.Hosts[is], b.Hosts[was]
	b.Hosts = hosts
	return a, b
}

// stopped leaves out the hosts that were still installing when one of two
// installations failed, and the stages of the others.
func stopped(hosts, others map[string]hostTrace) map[string]hostTrace {
	out := map[string]hostTrace{}
	for name, host := range hosts {
		if installing := string(install.HostInstalling); host.Last != installing && others[name].Last != installing {
			out[name] = hostTrace{Last: host.Last}
		}
	}
	return out
}

// seenInBoth leaves out Draft where another list of states has it not, and Blocked
// that comes back for a moment to a cluster that was ready.
func seenInBoth(states, others []string) []string {
	const draft, blocked, ready = string(install.ClusterDraft), string(install.ClusterBlocked), string(install.ClusterReady)
	var out []string
	for i, s := range states {
		again := s == blocked && slices.Contains(states[:i], ready) && i < len(states)-1
		if again || s == draft && !slices.Contains(others, s) {
			continue
		}
		out = append(out, s)
	}
	return slices.Compact(out)
}

// bootstrap is the host that waits for the others of the control plane, "" if
// none does.
func (t trace) bootstrap() string {
	for name, host := range t.Hosts {
		if slices.Contains(host.Stages, "Waiting for controller") {
			return name
		}
	}
	return ""
}
