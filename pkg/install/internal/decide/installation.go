package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// installation follows an install that is under way, until it has failed or was cancelled.
type installation struct {
	*collector
	name        string
	cluster     *model.Cluster
	roster      *roster
	attendance  *attendance
	hostStates  *hostStates
	drift       *drift
	preparation *preparation
	results     *results
}

// follow follows an install that is under way: nothing is written, results are fetched, and the plan names who has to
// act.
func (i *installation) follow() {
	i.plan.Missing = i.attendance.missingHosts()
	i.drift.report()
	i.results.saveNoIngress()
	switch i.cluster.State {
	case model.ClusterPreparing:
		if i.cluster.Released {
			i.preparation.failed() // a hub tries again by itself, for ever
		}
		i.wait(model.Wait{Key: "cluster/prepare", Scope: model.ScopeCluster, For: "the service to prepare the installation",
			Since: i.cluster.StatusSince, Who: model.WhoService})
	case model.ClusterFinalizing:
		i.finalizing()
	}
	for _, h := range i.roster.Part {
		if !h.Day2 && !h.Unbound() {
			i.hostStates.running(h)
		}
	}
	if i.cluster.State == model.ClusterNeedsUser && i.unhindered() { // and no host says what for
		i.block(model.Blocker{
			Key: "cluster/needs-user", Scope: model.ScopeCluster, Reason: "ClusterNeedsUser", Cure: model.CurePerson, Since: i.cluster.StatusSince,
			Message: cmp.Or(i.cluster.StatusInfo, "a person must act at a machine"),
			Remedy:  "look at the consoles of the machines, and do what they ask for; then the installation continues",
		})
	}
	// A host that takes too long may well wait for another host that is blocked: that blocker goes first.
	slices.SortStableFunc(i.plan.Blockers, func(a, b model.Blocker) int { return cmp.Compare(bit(slow(a)), bit(slow(b))) })
	i.otherwise("the service to continue the installation", i.cluster.StatusSince)
}

func (i *installation) finalizing() {
	stage, progress := i.cluster.Progress.FinalizingStage, i.cluster.Progress
	what := "the cluster to finish"
	if stage != "" {
		what = "the cluster to finish: " + stage
	}
	operators := i.unavailable()
	what += operators
	since := progress.FinalizingSince
	if since.IsZero() {
		since = i.cluster.StatusSince
	}
	i.wait(model.Wait{Key: "cluster/finalize", Scope: model.ScopeCluster, For: what, Since: since, Who: model.WhoService})
	if progress.FinalizingTimedOut {
		i.block(model.Blocker{
			Key: "cluster/finalize/slow", Scope: model.ScopeCluster, Reason: "FinalizingTimedOut", Cure: model.CurePerson, Since: since,
			Message: fmt.Sprintf("%s%s takes longer than the limit of the service", stage, operators),
			Remedy:  "look at the cluster with auth/kubeconfig-noingress: kubectl get clusteroperators",
		})
	}
}

// unavailable names, in brackets, the operators that are not available yet.
func (i *installation) unavailable() string {
	var operators []string
	for _, o := range i.cluster.Operators {
		if o.Status != "available" {
			operators = append(operators, o.Name)
		}
	}
	if len(operators) == 0 {
		return ""
	}
	return " (" + strings.Join(operators, ", ") + ")"
}

// failed ends the run with the reason, and with what can still be had. The causes are the
// hosts that failed by themselves; without any, what the service says of the cluster.
func (i *installation) failed() {
	i.results.saveNoIngress()
	var causes []model.Blocker
	again := "remove the cause, then " + i.cluster.StartOver()
	reasons := []string{cmp.Or(i.cluster.StatusInfo, i.cluster.Status)}
	if i.finalized() { // what it waited for to the end
		reasons[0] += i.unavailable()
	}
	for _, h := range i.roster.Part {
		if h.State != model.HostFailed || h.StatusInfo == failedWithCluster {
			continue
		}
		name := i.roster.Call(h)
		reason := fmt.Sprintf("%s: %s", name, cmp.Or(h.StatusInfo, h.Status))
		reasons = append(reasons, reason)
		causes = append(causes, model.Blocker{
			Key: "host/" + i.roster.id(h) + "/failed", Scope: model.ScopeHost.Of(i.roster.id(h)), Reason: reasonHostFailed, Cure: model.CureNone,
			Since: h.Since, Hosts: []string{name},
			Message: reason, Remedy: model.Command("logs host", name) + ", " + again,
		})
	}
	slices.Sort(reasons[1:])
	slices.SortFunc(causes, func(a, b model.Blocker) int { return cmp.Compare(a.Message, b.Message) })
	if len(causes) == 0 {
		causes = append(causes, model.Blocker{
			Key: "cluster/failed", Scope: model.ScopeCluster, Reason: "ClusterFailed", Cure: model.CureNone, Since: i.cluster.StatusSince,
			Message: cmp.Or(reasons[0], "the installation failed"), Remedy: model.Command("logs", i.name) + ", " + again,
		})
	}
	i.plan.Blockers = append(i.plan.Blockers, causes...)
	i.end(model.VerdictFailed, "the installation failed: "+strings.Join(reasons, "; "),
		model.Command("logs", i.name)+", then "+i.cluster.StartOver())
}

// finalized reports whether an install that failed had come to where only operators are
// waited for. Services older than the stages of finalizing do not say so: there all the
// nodes are done.
func (i *installation) finalized() bool {
	return !i.cluster.Progress.FinalizingSince.IsZero() || len(i.roster.Part) > 0 &&
		!slices.ContainsFunc(i.roster.Part, func(h *model.Host) bool { return !h.Day2 && h.Progress.Stage != "Done" })
}

// failedWithCluster is what the service says of a host that did nothing wrong.
const failedWithCluster = "Host is part of a cluster that failed to install"

// cancelled ends the run: a user cancelled the installation.
func (i *installation) cancelled() {
	i.block(model.Blocker{
		Key: "cluster/cancelled", Scope: model.ScopeCluster, Reason: "ClusterCancelled", Cure: model.CureNone, Since: i.cluster.StatusSince,
		Message: cmp.Or(i.cluster.StatusInfo, "the installation was cancelled"), Remedy: i.cluster.StartOver(),
	})
	i.end(model.VerdictCancelled, "the installation was cancelled", i.cluster.StartOver())
}
