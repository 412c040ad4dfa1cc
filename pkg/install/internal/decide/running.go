package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/catalogue"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// running follows an install that is under way: nothing is written, results are fetched, and the plan names who has to
// act.
func (p *planner) running() {
	p.plan.Missing = p.missingHosts()
	p.driftAfterStart()
	p.saveNoIngress()
	switch p.cluster.State {
	case model.ClusterPreparing:
		if p.cluster.Released {
			p.preparationFailed() // a hub tries again by itself, for ever
		}
		p.wait(model.Wait{Key: "cluster/prepare", Scope: model.ScopeCluster, For: "the service to prepare the installation", Since: p.cluster.StatusSince, Who: model.WhoService})
	case model.ClusterFinalizing:
		p.finalizing()
	}
	for _, h := range p.matches.Part {
		if !h.Day2 && !h.Unbound() {
			p.runningHost(h)
		}
	}
	if p.cluster.State == model.ClusterNeedsUser && p.unhindered() { // and no host says what for
		p.block(model.Blocker{
			Key: "cluster/needs-user", Scope: model.ScopeCluster, Reason: "ClusterNeedsUser", Cure: model.CurePerson, Since: p.cluster.StatusSince,
			Message: cmp.Or(p.cluster.StatusInfo, "somebody has to act at a machine"), Remedy: "look at the machines' consoles; the installation then goes on by itself",
		})
	}
	// A host that takes too long may well wait for another host that is blocked: that blocker goes first.
	slices.SortStableFunc(p.plan.Blockers, func(a, b model.Blocker) int { return cmp.Compare(bit(slow(a)), bit(slow(b))) })
	p.otherwise("the service to go on with the installation")
}

func (p *planner) finalizing() {
	stage, progress := p.cluster.Progress.FinalizingStage, p.cluster.Progress
	what := "the cluster to finish"
	if stage != "" {
		what = "the cluster to finish: " + stage
	}
	operators := p.unavailable()
	what += operators
	since := progress.FinalizingSince
	if since.IsZero() {
		since = p.cluster.StatusSince
	}
	p.wait(model.Wait{Key: "cluster/finalize", Scope: model.ScopeCluster, For: what, Since: since, Who: model.WhoService})
	if progress.FinalizingTimedOut {
		p.block(model.Blocker{
			Key: "cluster/finalize/slow", Scope: model.ScopeCluster, Reason: "FinalizingTimedOut", Cure: model.CurePerson, Since: since,
			Message: fmt.Sprintf("%s%s has taken longer than the service allows for it", stage, operators),
			Remedy:  "look at the cluster with auth/kubeconfig-noingress: kubectl get clusteroperators",
		})
	}
}

// unavailable names, in brackets, the operators that are not available yet.
func (p *planner) unavailable() string {
	var operators []string
	for _, o := range p.cluster.Operators {
		if o.Status != "available" {
			operators = append(operators, o.Name)
		}
	}
	if len(operators) == 0 {
		return ""
	}
	return " (" + strings.Join(operators, ", ") + ")"
}

// runningHost says what a host of a running install waits for.
func (p *planner) runningHost(h *model.Host) {
	name := p.hostName(h)
	switch h.State {
	case model.HostNeedsUser:
		p.bootOrder(h)
	case model.HostDisconnected:
		p.disconnected(h)
	case model.HostFailed:
		p.warn(model.Warning{
			Key: "host/" + p.hostID(h) + "/failed", Scope: model.ScopeHost.Of(p.hostID(h)), Reason: reasonHostFailed,
			Message: fmt.Sprintf("%s failed: %s", name, cmp.Or(h.StatusInfo, h.Status)), Next: model.Command("logs host", name),
		})
	case model.HostInstalled, model.HostAdded, model.HostCancelled:
	default:
		p.runningStage(h)
	}
}

func (p *planner) runningStage(h *model.Host) {
	name, stage := p.hostName(h), h.Progress.Stage
	if stage == "" {
		p.waitHost(h, "to start installing", model.WhoMachine)
		return
	}
	scope := model.ScopeHost.Of(p.hostID(h))
	p.wait(model.Wait{Key: string(scope) + "/stage", Scope: scope, For: fmt.Sprintf("%s: %s", name, stage), Since: h.Progress.Since, Who: model.WhoMachine})
	if since, stuck := p.stuck(h); stuck {
		p.block(model.Blocker{
			Key: string(scope) + "/stuck", Scope: scope, Reason: "StageTimedOut", Cure: model.CurePerson, Since: since, Hosts: []string{name},
			Message: fmt.Sprintf("%s has been at %q since %s, longer than it should take", name, stage, h.Progress.Since.UTC().Format(time.TimeOnly)),
			Remedy:  p.stageRemedy(stage, name),
		})
	}
}

// stuck reports whether a host has been in its stage for too long: the service's own word for it, or else the stage's
// budget.
func (p *planner) stuck(h *model.Host) (since time.Time, stuck bool) {
	began := h.Progress.Updated
	if began.IsZero() {
		began = h.Progress.Since
	}
	stage, known := catalogue.Stage(h.Progress.Stage)
	budget := stage.Budget
	if p.spec.SingleNode() && stage.SingleNodeBudget > 0 {
		budget = stage.SingleNodeBudget
	}
	end := began.Add(budget)
	if h.Progress.TimedOut {
		return end, true
	}
	if !known || budget == 0 || began.IsZero() {
		return time.Time{}, false
	}
	return end, p.now.After(end)
}

func (p *planner) stageRemedy(stage, name string) model.Advice {
	if entry, ok := catalogue.Stage(stage); ok && entry.Remedy != "" {
		return catalogue.Fill(entry.Remedy, catalogue.Names{Cluster: p.name(), Hosts: []string{name}, Stage: stage})
	}
	return model.Advicef("look at the console of %s", name)
}

func (p *planner) saveNoIngress() {
	if p.cluster.NoIngress && !p.observed.Results.NoIngress {
		p.save(model.SaveNoIngress, "kubeconfig-noingress", "the cluster's API can be reached with it from now on")
	}
}

func (p *planner) save(kind model.Kind, name, reason string) {
	p.act(model.Action{
		Key: "cluster/save/" + name, Scope: model.ScopeCluster, Kind: kind, Target: p.cluster.ID, Name: name, Reason: reason,
		Changes: []model.Change{{Field: "auth/" + name, To: "[redacted]"}},
	})
}

// reasonHostFailed is the reason of the reports about a host that failed.
const reasonHostFailed = "HostFailed"
