package decide

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
)

// adopt marks a cluster as oaictl's that the user named to take over, and whose
// installation has begun or is over. Before that, the mark goes with the settings.
func (p *planner) adopt() {
	if p.cluster.Owned || p.cluster.Unmarked || p.cluster.ID != p.desired.Options.Adopt {
		return
	}
	if !p.cluster.MarkedAnytime && p.cluster.State != model.ClusterAddingHosts {
		p.warn(model.Warning{
			Key: "cluster/adopt", Scope: model.ScopeCluster, Reason: "NotAdopted",
			Message: fmt.Sprintf("the service takes no mark of oaictl's for a cluster that is %s: it is not taken over, and needs --adopt %s each time", strings.ToLower(string(p.cluster.State)), p.cluster.ID),
		})
		return
	}
	tags, change := p.ownMark()
	p.act(model.Action{
		Key: "cluster/adopt", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: p.cluster.ID, Name: p.name(),
		Reason: "--adopt takes it over", Settings: model.Settings{setting.Tags: tags}, Changes: []model.Change{change},
	})
}

// ownMark is what marks a cluster as oaictl's: it goes with the tags, which stay.
func (p *planner) ownMark() (setting.Value, model.Change) {
	tags := p.cluster.Settings[setting.Tags]
	if tags == "" {
		tags = setting.ValueOf([]string{})
	}
	return tags, model.Change{Field: string(setting.Tags), From: tags.Show(setting.Tags), To: "oaictl"}
}

// foreign refuses to touch what oaictl did not make and nobody let it adopt.
func (p *planner) foreign(clusters []model.ClusterRef) {
	labels := make([]string, 0, len(clusters))
	for _, c := range clusters {
		labels = append(labels, c.Label())
	}
	file, _, _ := p.spec.Position("metadata.name")
	id, verb := "ID", "create cluster"
	if len(clusters) == 1 {
		id = clusters[0].ID
	}
	if p.desired.Options.AddNodes {
		verb = "add-node"
	}
	p.block(model.Blocker{
		Key: "cluster/foreign", Scope: model.ScopeCluster, Reason: "ForeignCluster", Cure: model.CureOwner,
		Message: fmt.Sprintf("the service has a cluster %s that oaictl did not make: %s", p.full(), strings.Join(labels, ", ")),
		Remedy:  fmt.Sprintf("oaictl %s -f %s --adopt %s, or another metadata.name", verb, cmp.Or(file, "FILE"), id),
	})
}
