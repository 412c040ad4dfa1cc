package decide

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// others looks at clusters of the same name: duplicates of our own, and those that may belong to another user.
func (p *planner) others() {
	var foreign []model.ClusterRef
	for _, other := range p.observed.Others {
		switch {
		case !other.Owned:
			foreign = append(foreign, other)
		case other.IsKept():
			p.warn(model.Warning{
				Key: "cluster/kept/" + other.ID, Scope: model.ScopeCluster, Reason: "KeptElsewhere",
				Message: fmt.Sprintf("the service has another cluster %s, %s (%s), which controllers of Cluster API keep: the two need the same DNS names", p.full, other.ID, other.Status),
				Next:    "give one of the two another name",
			})
		case p.options.Run != "" && other.Run == p.options.Run && other.Empty:
			p.act(model.Action{
				Key: "cluster/withdraw/" + other.ID, Scope: model.ScopeCluster, Kind: model.WithdrawCluster, Target: other.ID, Name: p.name,
				Reason: "another run registered the same cluster earlier; this run's is still empty", Destructive: true,
			})
		default:
			p.warn(model.Warning{
				Key: "cluster/duplicate/" + other.ID, Scope: model.ScopeCluster, Reason: "DuplicateCluster",
				Message: fmt.Sprintf("there is a second cluster %s made by oaictl: %s (%s)", p.full, other.ID, other.Status),
				Next:    model.Command("delete cluster", other.ID),
			})
		}
	}
	switch {
	case p.cluster != nil && !p.cluster.Owned && p.cluster.ID != p.options.Adopt && !p.cluster.Unmarked:
		foreign = append(foreign, p.cluster.ClusterRef)
		p.foreign(foreign)
	case p.observed.Unproven:
		p.block(model.Blocker{
			Key: "cluster/unproven", Scope: model.ScopeCluster, Reason: model.ReasonUnproven, Cure: model.CureOwner,
			Message: fmt.Sprintf("the service's cluster %s does not carry the mark of this owner, and is left alone", p.options.Adopt),
			Remedy:  "{get clusters}",
		})
	case p.cluster == nil && p.options.Adopt != "":
		p.block(model.Blocker{
			Key: "cluster/adopt", Scope: model.ScopeCluster, Reason: "AdoptNotFound", Cure: model.CureOwner,
			Message: fmt.Sprintf("there is no cluster %s with the id %s to adopt", p.full, p.options.Adopt),
			Remedy:  "{get clusters}",
		})
	case p.cluster == nil && len(foreign) > 0:
		p.foreign(foreign)
	}
}

// register makes the cluster.
func (p *planner) register() {
	settings := setting.OfCluster(p.spec)
	p.act(model.Action{
		Key: "cluster/register", Scope: model.ScopeCluster, Kind: model.RegisterCluster, Name: p.name,
		Reason: "there is no cluster " + p.full, Settings: settings, Changes: allChanges(settings),
	})
}

// remark gives a record that carries a former mark of its owner the one that it has now, once the service takes that.
func (p *planner) remark() {
	options := p.options
	takes := p.cluster.MarkedAnytime || p.cluster.State.BeforeInstall() || p.cluster.State == model.ClusterAddingHosts
	if !options.Exact || options.Run == "" || p.cluster.Run != options.FormerRun || options.FormerRun == options.Run || !takes {
		return
	}
	tags, change := p.ownMark()
	change.From, change.To = model.RunTagPrefix+options.FormerRun, model.RunTagPrefix+options.Run
	p.act(model.Action{
		Key: "cluster/mark", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: p.cluster.ID, Name: p.name,
		Reason: "it carries the mark that an earlier release gave it", Settings: model.Settings{model.SettingTags: tags}, Changes: []model.Change{change},
	})
}

// adopt marks a cluster as oaictl's if the user named it to take over, and its installation has begun or is over.
// Before that, the mark is written together with the settings.
func (p *planner) adopt() {
	p.remark()
	if p.cluster.Owned || p.cluster.Unmarked || p.cluster.ID != p.options.Adopt {
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
		Key: "cluster/adopt", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: p.cluster.ID, Name: p.name,
		Reason: "--adopt takes it over", Settings: model.Settings{model.SettingTags: tags}, Changes: []model.Change{change},
	})
}

// ownMark is what marks a cluster as oaictl's: it is sent together with the tags, which stay.
func (p *planner) ownMark() (model.Value, model.Change) {
	tags := p.cluster.Settings[model.SettingTags]
	if tags == "" {
		tags = model.ValueOf([]string{})
	}
	return tags, model.Change{Field: string(model.SettingTags), From: setting.Show(model.SettingTags, tags), To: "oaictl"}
}

// foreign refuses to touch a cluster that oaictl did not make and that the user did not tell it to adopt.
func (p *planner) foreign(clusters []model.ClusterRef) {
	labels := make([]string, 0, len(clusters))
	for _, c := range clusters {
		labels = append(labels, c.Label())
	}
	id, verb := "ID", "create cluster"
	if len(clusters) == 1 {
		id = clusters[0].ID
	}
	if p.options.AddNodes {
		verb = "add-node"
	}
	remedy := model.Command(verb, "-f", cmp.Or(p.spec.File(), "FILE"), "--adopt", id)
	if p.spec.Existing() == "" {
		remedy += ", or another metadata.name"
	}
	p.block(model.Blocker{
		Key: "cluster/foreign", Scope: model.ScopeCluster, Reason: "ForeignCluster", Cure: model.CureOwner,
		Message: fmt.Sprintf("the service has a cluster %s that oaictl did not make: %s", p.full, strings.Join(labels, ", ")),
		Remedy:  remedy,
	})
}

// importCluster makes the service import a cluster that another tool installed, so that hosts can be added to it. There
// is nothing about it to install.
func (p *planner) importCluster() {
	switch {
	case !p.options.AddNodes:
		p.block(model.Blocker{
			Key: "cluster/import", Scope: model.ScopeCluster, Reason: "InstalledElsewhere", Cure: model.CureNow, Field: "spec.import",
			Message: "the file says that " + p.full + " is installed already, so there is nothing to install", Remedy: "{add-node -f FILE}",
		})
	case p.cluster == nil:
		settings := setting.OfCluster(p.spec)
		p.act(model.Action{
			Key: "cluster/import", Scope: model.ScopeCluster, Kind: model.ImportCluster, Name: p.name,
			Reason: "the service does not know the installed cluster " + p.full, Settings: settings, Changes: allChanges(settings),
		})
	case p.cluster.Unmarked:
		p.markImported()
	default:
		p.checks.ofCluster()
		p.otherwise("the service to take in the installed cluster", p.cluster.StatusSince)
	}
}

// markImported completes the record of an imported cluster: if the service takes neither marks nor other settings with
// the import, they are sent afterwards.
func (p *planner) markImported() {
	settings := setting.OfCluster(p.spec)
	if settings[model.SettingTags] == "" {
		settings[model.SettingTags] = model.ValueOf([]string{})
	}
	if !p.spec.PullSecret().IsZero() {
		settings[model.SettingPullSecret] = model.ValueOf(resent)
	}
	p.act(model.Action{
		Key: "cluster/mark", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: p.cluster.ID, Name: p.name,
		Reason: "the imported cluster is not marked as made by oaictl yet", Settings: settings, Changes: []model.Change{{Field: string(model.SettingTags), To: "oaictl"}},
	})
}

// resent is the value of a secret's setting: the secret itself is read from
// the desired cluster.
const resent = "resend"
