package decide

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// registration makes the cluster, imports one or takes one over, and touches none of another owner.
type registration struct {
	*collector
	desired  *model.Desired
	options  *model.Options
	spec     *spec.Cluster
	name     string
	full     string
	observed *model.Observed
	memory   model.Memory
	cluster  *model.Cluster
	checks   *checks
}

// others looks at clusters of the same name: duplicates of our own, and those that may belong to another user.
func (r *registration) others() {
	var foreign []model.ClusterRef
	for _, other := range r.observed.Others {
		switch {
		case !other.Owned:
			foreign = append(foreign, other)
		case other.IsKept():
			r.warn(model.Warning{
				Key: "cluster/kept/" + other.ID, Scope: model.ScopeCluster, Reason: "KeptElsewhere",
				Message: fmt.Sprintf("the service has another cluster %s, %s (%s), which Cluster API controllers manage: both clusters need "+
					"the same DNS names", r.full, other.ID, other.Status),
				Next: "give another name to one of them",
			})
		case r.options.Run != "" && other.Run == r.options.Run && other.Empty:
			r.act(model.Action{
				Key: "cluster/withdraw/" + other.ID, Scope: model.ScopeCluster, Kind: model.WithdrawCluster, Target: other.ID, Name: r.name,
				Reason: "another run registered the same cluster earlier, and the cluster of this run is still empty", Destructive: true,
			})
		default:
			r.warn(model.Warning{
				Key: "cluster/duplicate/" + other.ID, Scope: model.ScopeCluster, Reason: "DuplicateCluster",
				Message: fmt.Sprintf("there is a second cluster %s made by oaictl: %s (%s)", r.full, other.ID, other.Status),
				Next:    model.Command("delete cluster", other.ID),
			})
		}
	}
	switch {
	case r.cluster != nil && !r.cluster.Owned && r.cluster.ID != r.options.Adopt && !r.cluster.Unmarked:
		foreign = append(foreign, r.cluster.ClusterRef)
		r.foreign(foreign)
	case r.observed.Unproven:
		r.block(model.Blocker{
			Key: "cluster/unproven", Scope: model.ScopeCluster, Reason: model.ReasonUnproven, Cure: model.CureOwner,
			Message: fmt.Sprintf("the service's cluster %s does not have the mark of this owner, so oaictl does not change it", r.options.Adopt),
			Remedy:  "{get clusters}",
		})
	case r.cluster == nil && r.options.Adopt != "":
		r.block(model.Blocker{
			Key: "cluster/adopt", Scope: model.ScopeCluster, Reason: "AdoptNotFound", Cure: model.CureOwner,
			Message: fmt.Sprintf("there is no cluster %s with the id %s to adopt", r.full, r.options.Adopt),
			Remedy:  "{get clusters}",
		})
	case r.cluster == nil && len(foreign) > 0:
		r.foreign(foreign)
	}
}

// register makes the cluster.
func (r *registration) register() {
	settings := clustersettings.OfCluster(r.spec)
	r.act(model.Action{
		Key: "cluster/register", Scope: model.ScopeCluster, Kind: model.RegisterCluster, Name: r.name,
		Reason: "there is no cluster " + r.full, Settings: settings, Changes: allChanges(settings),
	})
}

// remark gives a record that carries a former mark of its owner the one that it has now, once the service takes that.
func (r *registration) remark() {
	options := r.options
	takes := r.cluster.MarkedAnytime || r.cluster.State.BeforeInstall() || r.cluster.State == model.ClusterAddingHosts
	if !options.Exact || options.Run == "" || r.cluster.Run != options.FormerRun || options.FormerRun == options.Run || !takes {
		return
	}
	tags, change := r.ownMark()
	change.From, change.To = model.RunTagPrefix+options.FormerRun, model.RunTagPrefix+options.Run
	r.act(model.Action{
		Key: "cluster/mark", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: r.cluster.ID, Name: r.name,
		Reason: "it has the mark of an earlier release of oaictl", Settings: model.Settings{model.SettingTags: tags},
		Changes: []model.Change{change},
	})
}

// adopt marks a cluster as oaictl's if the user named it to take over, and its installation has begun or is over.
// Before that, the mark is written together with the settings.
func (r *registration) adopt() {
	r.remark()
	if r.cluster.Owned || r.cluster.Unmarked || r.cluster.ID != r.options.Adopt {
		return
	}
	if !r.cluster.MarkedAnytime && r.cluster.State != model.ClusterAddingHosts {
		r.warn(model.Warning{
			Key: "cluster/adopt", Scope: model.ScopeCluster, Reason: "NotAdopted",
			Message: fmt.Sprintf("the service does not accept a mark on a cluster in the state %s: oaictl cannot take it over, and needs "+
				"--adopt %s in each run", strings.ToLower(string(r.cluster.State)), r.cluster.ID),
		})
		return
	}
	tags, change := r.ownMark()
	r.act(model.Action{
		Key: "cluster/adopt", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: r.cluster.ID, Name: r.name,
		Reason: "--adopt takes it over", Settings: model.Settings{model.SettingTags: tags}, Changes: []model.Change{change},
	})
}

// ownMark is what marks a cluster as oaictl's: it is sent together with the tags, which stay.
func (r *registration) ownMark() (model.Value, model.Change) {
	tags := r.cluster.Settings[model.SettingTags]
	if tags == "" {
		tags = model.ValueOf([]string{})
	}
	return tags, model.Change{Field: string(model.SettingTags), From: clustersettings.Show(model.SettingTags, tags), To: "oaictl"}
}

// foreign refuses to touch a cluster that oaictl did not make and that the user did not tell it to adopt.
func (r *registration) foreign(clusters []model.ClusterRef) {
	labels := make([]string, 0, len(clusters))
	for _, c := range clusters {
		labels = append(labels, c.Label())
	}
	id, verb := "ID", "create cluster"
	if len(clusters) == 1 {
		id = clusters[0].ID
	}
	if r.options.AddNodes {
		verb = "add-node"
	}
	remedy := model.Command(verb, "-f", cmp.Or(r.spec.File(), "FILE"), "--adopt", id)
	if r.spec.Existing() == "" {
		remedy += ", or another metadata.name"
	}
	r.block(model.Blocker{
		Key: "cluster/foreign", Scope: model.ScopeCluster, Reason: "ForeignCluster", Cure: model.CureOwner,
		Message: fmt.Sprintf("the service has a cluster %s that oaictl did not make: %s", r.full, strings.Join(labels, ", ")),
		Remedy:  remedy,
	})
}

// importCluster makes the service import a cluster that another tool installed, so that hosts can be added to it. There
// is nothing about it to install.
func (r *registration) importCluster() {
	switch {
	case !r.options.AddNodes:
		r.block(model.Blocker{
			Key: "cluster/import", Scope: model.ScopeCluster, Reason: "InstalledElsewhere", Cure: model.CureNow, Field: "spec.import",
			Message: "the file says that " + r.full + " is already installed, so there is nothing to install", Remedy: "{add-node -f FILE}",
		})
	case r.cluster == nil:
		settings := clustersettings.OfCluster(r.spec)
		r.act(model.Action{
			Key: "cluster/import", Scope: model.ScopeCluster, Kind: model.ImportCluster, Name: r.name,
			Reason: "the service does not know the installed cluster " + r.full, Settings: settings, Changes: allChanges(settings),
		})
	case r.cluster.Unmarked:
		r.markImported()
	default:
		r.checks.ofCluster()
		r.otherwise("the service to import the installed cluster", r.cluster.StatusSince)
	}
}

// markImported completes the record of an imported cluster: if the service takes neither marks nor other settings with
// the import, they are sent afterwards.
func (r *registration) markImported() {
	settings := clustersettings.OfCluster(r.spec)
	if settings[model.SettingTags] == "" {
		settings[model.SettingTags] = model.ValueOf([]string{})
	}
	if !r.spec.PullSecret().IsZero() {
		settings[model.SettingPullSecret] = model.ValueOf(resent)
	}
	r.act(model.Action{
		Key: "cluster/mark", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: r.cluster.ID, Name: r.name,
		Reason: "the imported cluster does not have the mark of oaictl yet", Settings: settings,
		Changes: []model.Change{{Field: string(model.SettingTags), To: "oaictl"}},
	})
}

// resent is the value of a secret's setting: the secret itself is read from
// the desired cluster.
const resent = "resend"

// notInstalled refuses to add nodes to, or to remove them from, what is no cluster yet: to
// install one is another command.
func (r *registration) notInstalled() {
	change := "added to"
	if r.options.Remove != nil {
		change = "removed from"
	}
	b := model.Blocker{
		Key: "cluster/add-nodes", Scope: model.ScopeCluster, Reason: "ClusterNotInstalled", Cure: model.CureNone,
		Message: "nodes can only be " + change + " an installed cluster", Remedy: "{create cluster -f FILE}",
	}
	if r.cluster == nil {
		b.Cure, b.Message = model.CureOwner, fmt.Sprintf("there is no cluster %s to %s", r.full, Op(r.desired))
	} else {
		b.Message += fmt.Sprintf("; %s is %s", r.full, strings.ToLower(string(r.cluster.State)))
	}
	if r.spec.Existing() != "" { // which no cluster can be made of
		b.Field, b.Remedy = "spec.cluster", "{get clusters}"
	}
	r.block(b)
}

// deleted decides on a cluster that was there and that the service does not show: a list may be a moment old, above all
// right after the registration. A deleted cluster is not created again: its user does not want it.
func (r *registration) deleted() {
	m := &r.memory
	within := shownWithin
	if m.ClusterID != "" {
		within = goneWithin
	}
	if m.Misses < goneObservations || m.LastObserved.Sub(m.Missing) < within {
		r.wait(model.Wait{Key: "cluster/shown", Scope: model.ScopeCluster, Who: model.WhoService,
			For: "the service to show the cluster " + r.full + " again"})
		return
	}
	b := model.Blocker{
		Key: "cluster/deleted", Scope: model.ScopeCluster, Reason: model.ReasonClusterDeleted, Cure: model.CureOwner,
		Message: "the cluster was deleted while oaictl worked on it; oaictl has written nothing since then",
		Remedy:  "run the same command again to create it again; its machines then have to boot the new discovery image",
	}
	if r.options.AddNodes && !r.spec.Imported() || r.options.Adopt != "" {
		b.Remedy = "{get clusters}"
	}
	r.block(b)
}

// How long, and for how many looks, a cluster may be missing from what the service
// answers before it counts as deleted.
const (
	goneWithin       = 5 * time.Second
	shownWithin      = 30 * time.Second // one that was just made
	goneObservations = 3
)
