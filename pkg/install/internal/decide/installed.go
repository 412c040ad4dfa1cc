package decide

import (
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// installed fetches the results and says how complete the cluster is.
func (p *planner) installed() {
	p.plan.Missing = p.attendance.missingHosts()
	p.drift.report()
	if !p.spec.OnlyAdds() { // the user who installed it has its credentials
		p.results.saveAll()
	}
	if p.options.AddNodes {
		p.added.all()
	}
	switch {
	case !p.atRest() || p.plan.Verdict != "":
		return
	case p.options.AddNodes:
		p.allAdded()
		return
	}
	p.endInstalled()
}

// endInstalled ends the run with what the cluster has become.
func (p *planner) endInstalled() {
	next := model.Command("download kubeconfig", p.name)
	if p.observed.Results.Kubeconfig {
		next = model.Advicef("kubectl %s get nodes", p.kubeconfigFlag())
	}
	trouble := p.degradations()
	if len(trouble) > 0 {
		texts := make([]string, 0, len(trouble))
		for _, b := range trouble {
			texts = append(texts, b.Message)
			p.block(b)
		}
		p.end(model.VerdictDegraded, "installed, but "+strings.Join(texts, "; "), p.whyDegraded())
		return
	}
	message := "installed"
	if len(p.plan.Missing) > 0 {
		message = "installed, without workers that are not required: " + strings.Join(p.plan.Missing, ", ") + "; oaictl add-node adds them"
		next = "{add-node -f FILE}"
	}
	p.end(model.VerdictInstalled, message, next)
}

// recorded goes first of all that is done to an installed cluster: adding hosts
// stands on it. Whether the cluster is installed does not depend on it.
func (p *planner) recorded() {
	if !p.cluster.Unrecorded || p.options.ReadOnly {
		return
	}
	p.plan.Actions = slices.Insert(p.plan.Actions, 0, model.Action{
		Key: "cluster/record", Scope: model.ScopeCluster, Kind: model.RecordInstalled, Target: p.cluster.ID, Name: p.name,
		Reason: "the cluster is installed, and nobody else writes that down",
	})
}
