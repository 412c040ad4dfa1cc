// Package trace is what an install was like, without times and ids, so that installs
// over different ways to a service can be compared.
package trace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/vocab"
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
		if state == string(vocab.ClusterAddingHosts) {
			// A hub's operator goes on to it by itself. It is an installed cluster
			// (docs/architecture.md).
			state = string(vocab.ClusterInstalled)
		}
		if n := len(t.Cluster); n == 0 || t.Cluster[n-1] != state {
			t.Cluster = append(t.Cluster, state)
		}
	case e.Type == vocab.EventStage:
		if !slices.Contains(host.Stages, e.Stage) {
			host.Stages = append(host.Stages, e.Stage)
		}
		host.Last = e.State
		t.Hosts[e.Host] = host
	case e.Type == vocab.EventHost && strings.HasSuffix(e.Key, "/state"):
		host.Last = e.State
		t.Hosts[e.Host] = host
	}
}

// Actions are the keys of what was done.
func Actions(events []install.Event) []string {
	var out []string
	for _, e := range events {
		if e.Type == vocab.EventAction {
			out = append(out, e.Key)
		}
	}
	return out
}

// Kinds are the kinds of the actions that were done, but for particular ones.
func Kinds(events []install.Event, cluster *spec.Cluster) []string {
	var out []string
	for _, e := range events {
		if e.Type == vocab.EventAction && e.State == "done" && !slices.Contains(particular(cluster), install.Kind(e.Reason)) {
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
		vocab.WithdrawCluster, vocab.WithdrawInfraEnv, vocab.SetOverrides, vocab.UploadManifest, vocab.RemoveManifest, vocab.AllowAddHosts, // REST
		vocab.NudgeCluster, vocab.RecordInstalled, vocab.RegisterHost, // hub
	}
	if singleNode(cluster) {
		kinds = append(kinds, vocab.UpdateHost) // hub: there is nothing to say of its hosts but that they are approved
	}
	return kinds
}

func singleNode(cluster *spec.Cluster) bool {
	count := 0
	for i := range cluster.Spec.Hosts {
		if cluster.Spec.Hosts[i].Role == spec.ControlPlane {
			count++
		}
	}
	return count == 1
}

// Story is what a run told, for a test that failed.
func Story(events []install.Event) string {
	var lines []string
	for _, e := range events {
		if e.Type != vocab.EventProgress && e.Type != vocab.EventStage {
			lines = append(lines, fmt.Sprintf("%s %s %s %s %s: %s", e.Time.Format(time.TimeOnly), e.Type, e.Severity, e.Key, e.State, e.Message))
		}
	}
	return strings.Join(lines, "\n")
}

// Saved are the names of the credentials that runs have left in a folder. One that is
// empty, or that others may read, is an error.
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
