package decide

import (
	"slices"

	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// removal takes nodes out of the installed cluster.
type removal struct {
	*collector
	observed     *model.Observed
	cluster      *model.Cluster
	question     *nodeplan.Question
	roster       *roster
	registration *registration
}

// remove takes nodes out of the installed cluster, and does nothing else to it.
func (rm *removal) remove() {
	switch {
	case rm.observed.Stale != "":
		rm.wait(model.Wait{Key: "service/answer", Scope: model.ScopeCluster, For: "the service to answer: " + rm.observed.Stale,
			Who: model.WhoService})
		return
	case rm.cluster == nil || !rm.cluster.State.Installed():
		rm.registration.notInstalled()
		return
	case rm.observed.Spoke == nil:
		rm.block(model.Blocker{
			Key: "spoke/reached", Scope: model.ScopeCluster, Reason: "ClusterUnseen", Cure: model.CureNow,
			Message: "oaictl does not read the installed cluster itself", Remedy: "give its own kubeconfig, --cluster-kubeconfig FILE",
		})
		return
	}
	rm.take(nodeplan.Reached(rm.question.About()))
	if len(rm.plan.Waits)+len(rm.plan.Blockers) > 0 {
		return
	}
	answer := nodeplan.Remove(rm.question.About(rm.roster.everybody(rm.observed)...))
	rm.take(answer)
	rm.plan.Removals = answer.Removals
	left := slices.ContainsFunc(answer.Removals, func(r model.NodeRemoval) bool { return len(r.Left) > 0 })
	if !left && rm.unhindered() {
		message, next := nodeplan.Removed(answer.Removals)
		rm.end(model.VerdictInstalled, message, next)
	}
}
