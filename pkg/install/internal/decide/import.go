package decide

import (
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
)

// importCluster has the service take in a cluster that something else installed,
// so that hosts can be added to it. There is nothing about it to install.
func (p *planner) importCluster() {
	switch {
	case !p.desired.Options.AddNodes:
		p.block(model.Blocker{
			Key: "cluster/import", Scope: model.ScopeCluster, Reason: "InstalledElsewhere", Cure: model.CureNow, Field: "spec.import",
			Message: "the file says that " + p.full() + " is installed already, so there is nothing to install", Remedy: "oaictl add-node -f FILE",
		})
	case p.cluster == nil:
		settings := setting.OfCluster(p.spec)
		p.act(model.Action{
			Key: "cluster/import", Scope: model.ScopeCluster, Kind: model.ImportCluster, Name: p.name(),
			Reason: "the service does not know the installed cluster " + p.full(), Settings: settings, Changes: allChanges("", settings),
		})
	case p.cluster.Unmarked:
		p.markImported()
	default:
		p.clusterChecks()
		p.otherwise("the service to take in the installed cluster")
	}
}

// markImported completes the record of an imported cluster: a service that takes
// neither marks nor anything else with the import is told afterwards.
func (p *planner) markImported() {
	settings := setting.OfCluster(p.spec)
	if settings[setting.Tags] == "" {
		settings[setting.Tags] = setting.ValueOf([]string{})
	}
	if !p.spec.PullSecret().IsZero() {
		settings[setting.PullSecret] = setting.ValueOf(resent)
	}
	p.act(model.Action{
		Key: "cluster/mark", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: p.cluster.ID, Name: p.name(),
		Reason: "the imported cluster is not marked as made by oaictl yet", Settings: settings, Changes: []model.Change{{Field: string(setting.Tags), To: "oaictl"}},
	})
}
