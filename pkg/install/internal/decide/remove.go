package decide

import (
	"slices"

	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// removeNodes takes nodes out of the installed cluster, and does nothing else to it.
func (p *planner) removeNodes() {
	switch {
	case p.observed.Stale != "":
		p.wait(model.Wait{Key: "service/answer", Scope: model.ScopeCluster, For: "the service to answer: " + p.observed.Stale, Who: model.WhoService})
		return
	case p.cluster == nil || !p.cluster.State.Installed():
		p.registration.notInstalled()
		return
	case p.observed.Spoke == nil:
		p.block(model.Blocker{
			Key: "spoke/reached", Scope: model.ScopeCluster, Reason: "ClusterUnseen", Cure: model.CureNow,
			Message: "nobody looks at the installed cluster itself", Remedy: "give its own kubeconfig, --cluster-kubeconfig FILE",
		})
		return
	}
	p.take(nodes.Reached(p.question.About()))
	if len(p.plan.Waits)+len(p.plan.Blockers) > 0 {
		return
	}
	answer := nodes.Remove(p.question.About(p.roster.everybody(p.observed)...))
	p.take(answer)
	p.plan.Removals = answer.Removals
	left := slices.ContainsFunc(answer.Removals, func(r model.NodeRemoval) bool { return len(r.Left) > 0 })
	if !left && p.unhindered() {
		message, next := nodes.Removed(answer.Removals)
		p.end(model.VerdictInstalled, message, next)
	}
}

// NodesToRemove are the names of the nodes that are to be removed.
func NodesToRemove(desired *model.Desired, observed *model.Observed) []string {
	p := newPlanner(desired, observed, model.Memory{}, observed.At)
	return nodes.ToRemove(p.question.About(p.roster.everybody(p.observed)...))
}
