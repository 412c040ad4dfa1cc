package trace

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/vocab"
	"github.com/oaictl/oaictl/pkg/install"
)

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
		if installing := string(vocab.HostInstalling); host.Last != installing && others[name].Last != installing {
			out[name] = Host{Last: host.Last}
		}
	}
	return out
}

// seenInBoth leaves out Draft, and Blocked before Ready, where another list of states has
// them not: they last for a pass of the service's monitor, and a look may miss them. It
// leaves out Blocked that comes back for a moment to a cluster that was ready, and
// Discovering that comes back to one that was not yet, while its machines register one
// after the other.
func seenInBoth(states, others []string) []string {
	const draft, blocked, ready = string(vocab.ClusterDraft), string(vocab.ClusterBlocked), string(vocab.ClusterReady)
	const discovering = string(vocab.ClusterDiscovering)
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

// bootstrap is the host that waits for the others of the control plane, "" if
// none does.
func (t Trace) bootstrap() string {
	for name, host := range t.Hosts {
		if slices.Contains(host.Stages, "Waiting for controller") {
			return name
		}
	}
	return ""
}

// Same runs something in several ways at once, and compares what it was like with what
// it is in the first.
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
