package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/oaictl/oaictl/internal/cli/output"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Removing is how nodes are taken out of an installed cluster, as flags say.
type Removing struct {
	*App
	ToCluster   ToCluster
	Drain       model.DrainOptions
	KeepRunning bool
	AcceptLoss  bool
	ToPool      bool
	Timeout     time.Duration
	UserTimeout time.Duration
	BMCProxy    string

	told map[string]bool // warnings that were shown before
}

// Declare declares the flags of what is done to nodes and their machines.
func (r *Removing) Declare(flags *pflag.FlagSet) {
	declareDrain(flags, &r.Drain)
	flags.BoolVar(&r.KeepRunning, "keep-running", false,
		"do not switch machines off; one that still runs comes back as a node when its kubelet starts next")
	flags.BoolVar(&r.ToPool, "return-to-pool", false,
		"give hosts back to the InfraEnv that they came from, for other clusters, and do not have the service forget them")
	flags.BoolVar(&r.AcceptLoss, "accept-data-loss", false, "permit to delete nodes with which LVM Storage deletes the volumes on them")
}

// Check checks them.
func (r *Removing) Check() error {
	if err := CheckTimes(r.Timeout, r.UserTimeout, r.Drain.Timeout, time.Duration(r.Drain.SkipWaitForDelete)); err != nil {
		return err
	}
	if _, err := labels.Parse(r.Drain.PodSelector); err != nil {
		return Usagef("--pod-selector %q: %v", r.Drain.PodSelector, err)
	}
	_, err := ProxyURL(r.BMCProxy)
	return err
}

// Of are the options of a run that removes these nodes of a cluster.
func (r *Removing) Of(ctx context.Context, cluster model.ClusterRef, nodes ...string) (model.Options, error) {
	begun, err := r.begun(ctx, cluster)
	return model.Options{Adopt: cluster.ID, Remove: &model.Removal{
		Nodes: nodes, Begun: begun, Drain: r.Drain, KeepRunning: r.KeepRunning, AcceptDataLoss: r.AcceptLoss, ReturnToPool: r.ToPool,
	}}, err
}

// removedFile is the name of the file with the nodes that oaictl has begun to remove. Once a node is gone, neither the
// cluster nor the service knows its name, and a run that goes on after that reads here that it was one.
const removedFile = "removed-nodes.jsonl"

// removedLine is one line of it.
type removedLine struct {
	Time      time.Time `json:"time"`
	ClusterID string    `json:"clusterID"`
	Node      string    `json:"node"` // by the name that was given
}

// begun are the names of the nodes that runs before have begun to remove from a cluster.
func (r *Removing) begun(ctx context.Context, cluster model.ClusterRef) ([]string, error) {
	data, err := install.Directory(r.ToCluster.Dir).Record(ctx, cluster, removedFile)
	if err != nil {
		return nil, err
	}
	var names []string
	for text := range bytes.Lines(data) {
		var line removedLine
		if json.Unmarshal(text, &line) == nil && line.ClusterID == cluster.ID {
			names = append(names, line.Node)
		}
	}
	return names, nil
}

// noteBegun writes down which nodes a run begins to remove.
func (r *Removing) noteBegun(ctx context.Context, desired *model.Desired) error {
	cluster := model.ClusterRef{ID: desired.Options.Adopt, Name: desired.Spec.Metadata.Name}
	for _, name := range desired.Options.Remove.Nodes {
		if slices.Contains(desired.Options.Remove.Begun, name) {
			continue
		}
		line, err := json.Marshal(removedLine{Time: r.Clock.Now().UTC(), ClusterID: cluster.ID, Node: name})
		if err == nil {
			err = install.Directory(r.ToCluster.Dir).Append(ctx, cluster, removedFile, append(line, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// declareDrain declares the flags of kubectl drain, with its meanings and defaults.
func declareDrain(flags *pflag.FlagSet, o *model.DrainOptions) {
	flags.BoolVar(&o.Force, "force", false, "continue even if there are pods that do not declare a controller")
	flags.BoolVar(&o.IgnoreDaemonSets, "ignore-daemonsets", false, "ignore DaemonSet-managed pods")
	flags.BoolVar(&o.DeleteEmptyDirData, "delete-emptydir-data", false,
		"continue even if there are pods using emptyDir (local data that is deleted when the node is drained)")
	flags.IntVar(&o.GracePeriod, "grace-period", -1,
		"`SECONDS` given to each pod to terminate gracefully; if negative, what the pod says is used")
	flags.DurationVar(&o.Timeout, "drain-timeout", 0, "give up draining a node after this `TIME`, zero means never")
	flags.StringVar(&o.PodSelector, "pod-selector", "", "label `SELECTOR` to filter pods on the node")
	flags.BoolVar(&o.DisableEviction, "disable-eviction", false,
		"delete pods instead of evicting them; this bypasses PodDisruptionBudgets, use with caution")
	flags.IntVar(&o.SkipWaitForDelete, "skip-wait-for-delete-timeout", 0,
		"skip waiting for a pod that is being deleted for more than these `SECONDS`; they must be greater than 0 to skip")
}

// CheckTimes refuses times of flags that are negative.
func CheckTimes(times ...time.Duration) error {
	if slices.Min(times) < 0 {
		return Usagef("a time is never negative")
	}
	return nil
}

// Limit is a limit of time for [install.Config]. A person says 0 for no limit.
func Limit(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// Client looks at the installed cluster, and at the BMCs that the file names.
func (r *Removing) Client(service *install.Client, found *install.Found) (*install.Client, error) {
	options := []install.Config{
		{Nodes: r.Nodes(service, r.ToCluster, found.Spec, r.Tracer(nil)), Clock: r.Clock, Timeout: Limit(r.Timeout),
			UserTimeout: Limit(r.UserTimeout)},
	}
	if found.Spec != nil && !r.KeepRunning {
		machines, err := r.WatchMachines(filepath.Join(r.ToCluster.Dir, found.Ref.Name), r.BMCProxy)
		if err != nil {
			return nil, err
		}
		options = append(options, install.Config{Machines: machines})
	}
	return service.With(options...), nil
}

// Agree makes the run remove what a person was shown, and nothing that is created again meanwhile.
func (r *Removing) Agree(desired *model.Desired, plan model.Plan) {
	desired.Options.Remove.UIDs = map[string]string{}
	for _, removed := range plan.Removals {
		desired.Options.Remove.UIDs[removed.Node] = removed.UID
	}
	r.told = map[string]bool{}
	for _, w := range plan.Warnings {
		r.told[w.Key] = true
	}
}

// RemovalText is what will be done to each node, and what a person should know before.
func RemovalText(desired *model.Desired, plan model.Plan) string {
	var text strings.Builder
	for _, r := range plan.Removals {
		if len(r.Left) == 0 {
			escape.Fprintf(&text, "%s is already removed from %s.\n", r.Node, desired.FullName())
			continue
		}
		escape.Fprintf(&text, "DESTRUCTIVE: %s leaves %s:\n", r.Node, desired.FullName())
		for _, s := range r.Left {
			sign := "-"
			if s.Kind == "" {
				sign = "…"
			}
			escape.Fprintf(&text, "  %s %s\n", sign, s.Message)
		}
	}
	Section(&text, "To know", plan.Warnings, func(w model.Warning) string {
		line := escape.Sprintf("  ! %s\n", w.Message)
		if w.Next != "" {
			line += escape.Sprintf("    Next: %s\n", w.Next)
		}
		return line
	})
	Section(&text, "In the way", plan.Blockers, func(b model.Blocker) string {
		return escape.Sprintf("  ! %s\n    Next: %s\n", b.Message, b.Remedy)
	})
	return text.String()
}

// Run removes the nodes, and prints which.
func (r *Removing) Run(ctx context.Context, client *install.Client, desired *model.Desired) error {
	if err := r.noteBegun(ctx, desired); err != nil {
		return err
	}
	shown := r.Progress(ctx, r.Clock)
	result, failed := client.With(install.Config{Events: func(e model.Event) {
		if e.Type != model.EventWarning || !r.told[e.Key] || r.Globals.Progress == ProgressJSON {
			shown.Event(e)
		}
	}}).Run(ctx, desired)
	shown.Close()
	var done []output.Changed
	for _, removed := range result.Plan.Removals {
		if len(removed.Left) == 0 && removed.Found {
			done = append(done, output.Changed{Kind: "node", Name: removed.Node, ID: removed.Node, Done: "removed"})
		}
	}
	if r.Globals.Progress != ProgressJSON && (failed == nil || len(done) > 0) {
		if err := r.Changed(done...); err != nil {
			return errors.Join(failed, err)
		}
	}
	if failed == nil && result.Plan.Next != "" {
		r.Say("Next: %s", r.Hint(result.Plan.Next))
	}
	return failed
}
