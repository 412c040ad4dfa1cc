package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// running follows an install that is under way: nothing is written, results are fetched, and the plan names who has to
// act.
func (p *planner) running() {
	p.plan.Missing = p.attendance.missingHosts()
	p.drift.report()
	p.saveNoIngress()
	switch p.cluster.State {
	case model.ClusterPreparing:
		if p.cluster.Released {
			p.preparation.failed() // a hub tries again by itself, for ever
		}
		p.wait(model.Wait{Key: "cluster/prepare", Scope: model.ScopeCluster, For: "the service to prepare the installation", Since: p.cluster.StatusSince, Who: model.WhoService})
	case model.ClusterFinalizing:
		p.finalizing()
	}
	for _, h := range p.roster.Part {
		if !h.Day2 && !h.Unbound() {
			p.hostStates.running(h)
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
	p.otherwise("the service to go on with the installation", p.cluster.StatusSince)
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
