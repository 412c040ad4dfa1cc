// Package trace is what an install was like, without times and ids, so that installs
// over different ways to a service can be compared.
package trace

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Trace is what an install was like, without times, ids, and what only one
// backend asks for.
type Trace struct {
	Verdict install.Verdict
	Code    int
	Cluster []string // neutral states in their order
	Hosts   map[string]Host
	Files   []string // results that were saved
	Kinds   []string // kinds of actions that were done, without particular ones
	Later   []string // those of add-node
}

// Host is what became of a host, by its name in the file.
type Host struct {
	Stages []string // in their order
	Last   string   // neutral state
}

// Take notes what an event says of states and stages.
func (t *Trace) Take(e install.Event) {
	if t.Hosts == nil {
		t.Hosts = map[string]Host{}
	}
	host := t.Hosts[e.Host]
	switch {
	case e.Key == "cluster/state":
		state := e.State
		if state == string(model.ClusterAddingHosts) {
			// A hub's operator goes on to it by itself; it is an installed cluster (docs/architecture.md).
			state = string(model.ClusterInstalled)
		}
		if n := len(t.Cluster); n == 0 || t.Cluster[n-1] != state {
			t.Cluster = append(t.Cluster, state)
		}
	case e.Type == model.EventStage:
		if !slices.Contains(host.Stages, e.Stage) {
			host.Stages = append(host.Stages, e.Stage)
		}
		host.Last = e.State
		t.Hosts[e.Host] = host
	case e.Type == model.EventHost && strings.HasSuffix(e.Key, "/state"):
		host.Last = e.State
		t.Hosts[e.Host] = host
	}
}

// Actions are the keys of what was done.
func Actions(events []install.Event) []string {
	var out []string
	for _, e := range events {
		if e.Type == model.EventAction {
			out = append(out, e.Key)
		}
	}
	return out
}

// Kinds are the kinds of the actions that were done, but for particular ones.
func Kinds(events []install.Event, cluster *spec.Cluster) []string {
	var out []string
	for _, e := range events {
		if e.Type == model.EventAction && e.State == "done" && !slices.Contains(particular(cluster), install.Kind(e.Reason)) {
			out = append(out, e.Reason)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// particular are the kinds of actions that not every backend asks for (docs/architecture.md).
func particular(cluster *spec.Cluster) []install.Kind {
	kinds := []install.Kind{
		model.WithdrawCluster, model.WithdrawInfraEnv, model.SetOverrides, model.UploadManifest, model.RemoveManifest, model.AllowAddHosts, // REST
		model.NudgeCluster, model.RecordInstalled, model.RegisterHost, // hub
	}
	if cluster.ControlPlaneCount() == 1 {
		kinds = append(kinds, model.UpdateHost) // hub: there is nothing to say of its hosts but that they are approved
	}
	return kinds
}

// Story is what a run told, for a test that failed.
func Story(events []install.Event) string {
	var lines []string
	for _, e := range events {
		if e.Type != model.EventProgress && e.Type != model.EventStage {
			lines = append(lines, fmt.Sprintf("%s %s %s %s %s: %s", e.Time.Format(time.TimeOnly), e.Type, e.Severity, e.Key, e.State, e.Message))
		}
	}
	return strings.Join(lines, "\n")
}

// Saved names the credentials that runs have left in a folder. An empty one, or one that others may read, is an error.
func Saved(dir string) ([]string, error) {
	matches, err := filepath.Glob(filepath.Join(dir, "*", "auth", "*"))
	if err != nil {
		return nil, err
	}
	var names []string
	var wrong []error
	for _, path := range matches {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			wrong = append(wrong, err)
		case info.Mode().Perm() != 0o600 || info.Size() == 0:
			wrong = append(wrong, fmt.Errorf("%s: %s, %d bytes", path, info.Mode(), info.Size()))
		}
		names = append(names, filepath.Base(path))
	}
	return names, errors.Join(wrong...)
}

// Comparable takes out of two traces what is up to the service, or to the moment of a
// look, and not to the way it is reached (docs/architecture.md): which of the control
// plane hosts is the bootstrap, the state before the first evaluation where one of the
// runs missed it, and, when an installation fails, how far the hosts had come that it
// took with it.
func Comparable(a, b Trace) (Trace, Trace) {
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
func stopped(hosts, others map[string]Host) map[string]Host {
	out := map[string]Host{}
	for name, host := range hosts {
		if installing := string(model.HostInstalling); host.Last != installing && others[name].Last != installing {
			out[name] = Host{Last: host.Last}
		}
	}
	return out
}

// seenInBoth leaves out Draft, and Blocked before Ready, where another list of states lacks
// them: they last for one pass of the service's monitor. It leaves out Blocked that comes back
// after Ready, and Discovering that comes back before it, while machines register one by one.
func seenInBoth(states, others []string) []string {
	const draft, blocked, ready = string(model.ClusterDraft), string(model.ClusterBlocked), string(model.ClusterReady)
	const discovering = string(model.ClusterDiscovering)
	var out []string
	for i, s := range states {
		after := blocked
		if s == blocked {
			after = ready
		}
		again := (s == blocked || s == discovering) && slices.Contains(states[:i], after) && i < len(states)-1
		passing := s == draft || s == blocked && i+1 < len(states) && states[i+1] == ready
		if again || passing && !slices.Contains(others, s) {
			continue
		}
		out = append(out, s)
	}
	return slices.Compact(out)
}

// bootstrap is the host that waits for the others of the control plane, "" if none does.
func (t Trace) bootstrap() string {
	for name, host := range t.Hosts {
		if slices.Contains(host.Stages, "Waiting for controller") {
			return name
		}
	}
	return ""
}

// Same runs something in several ways at once, and compares each with the first.
func Same(t *testing.T, ways []string, run func(t *testing.T, way int) Trace) {
	t.Helper()
	made := make([]*Trace, len(ways))
	t.Run("on", func(t *testing.T) {
		for i, way := range ways {
			t.Run(way, func(t *testing.T) {
				t.Parallel()
				got := run(t, i)
				made[i] = &got
			})
		}
	})
	for i := range ways[1:] {
		if made[0] == nil || made[i+1] == nil {
			continue // it has failed, or was skipped, and said why
		}
		want, got := Comparable(*made[0], *made[i+1])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-%s +%s\n%s", ways[0], ways[i+1], diff)
		}
	}
}
