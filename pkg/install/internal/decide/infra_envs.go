package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// infraEnvs makes the InfraEnvs of the file, and keeps them as described in the file.
type infraEnvs struct {
	*collector
	desired *model.Desired
	options *model.Options
	spec    *spec.Cluster
	name    string
	hosts   []model.Host
	have    []model.InfraEnv
	orphans []model.InfraEnv
	resent  map[string]bool
	now     time.Time
	cluster *model.Cluster
	members *members
	images  *images
}

// forInstall makes the InfraEnvs that the file asks for and keeps their discovery
// images usable.
func (es *infraEnvs) forInstall() {
	if ref := es.spec.Spec.InfraEnv.Ref; ref != "" {
		es.poolOf(ref)
		return
	}
	es.withdrawUnused()
	intended := es.intended()
	// Some of the cluster can't be changed once a host has registered: that goes
	// before there is an image to register from.
	configured := es.idle()
	for _, image := range intended {
		switch env := es.images.infraEnv(image.Name); {
		case env != nil:
			es.update(image, env)
		case configured:
			es.act(model.Action{
				Key: "infraenv/" + image.Name + "/register", Scope: model.ScopeInfraEnv.Of(image.Name), Kind: model.RegisterInfraEnv, Name: image.Name,
				Target: es.bindTo(), Reason: "there is no discovery image yet", Settings: image.Settings, Changes: es.images.changes(image),
			})
		}
	}
}

// intended are the InfraEnvs that the file asks for, none where they cannot be made, which it reports.
func (es *infraEnvs) intended() []model.InfraEnvPlan {
	plans, err := es.images.plans(es.spec)
	if err != nil {
		es.block(model.Blocker{
			Key: "infraenv/input", Scope: model.ScopeCluster, Reason: "BadInfraEnv", Cure: model.CureNow, Message: err.Error(),
			Remedy: "{validate -f FILE}",
		})
		return nil
	}
	return plans
}

// withdrawUnused deletes what can be of no use: InfraEnvs that were left when their
// cluster was deleted, and this run's own where another run's of the name is older.
func (es *infraEnvs) withdrawUnused() {
	for _, orphan := range es.orphans {
		es.withdraw(orphan, "its cluster was deleted")
	}
	for _, env := range es.have {
		first := es.images.infraEnv(env.Name)
		empty := !slices.ContainsFunc(es.hosts, func(h model.Host) bool { return h.InfraEnvID == env.ID })
		if env.ThisRun && env.ID != first.ID && env.ClusterID == first.ClusterID && empty {
			es.withdraw(env, "another run registered the same InfraEnv earlier; no host has registered with the InfraEnv of this run")
		}
	}
}

func (es *infraEnvs) withdraw(env model.InfraEnv, reason string) {
	es.act(model.Action{
		Key: "infraenv/" + env.Name + "/withdraw/" + env.ID, Scope: model.ScopeInfraEnv.Of(env.Name), Kind: model.WithdrawInfraEnv,
		Target: env.ID, Name: env.Name,
		Reason: reason, Destructive: true,
	})
}

// bindTo is the cluster that a new InfraEnv's hosts belong to from the start,
// "" with late binding.
func (es *infraEnvs) bindTo() string {
	if es.spec.Spec.InfraEnv.Bind == spec.BindLate {
		return ""
	}
	return es.cluster.ID
}

// poolOf looks for an InfraEnv that is not ours to change.
func (es *infraEnvs) poolOf(ref string) {
	if env := es.images.pool(ref); env != nil {
		es.poolDrift(env)
		return
	}
	es.block(model.Blocker{
		Key: "infraenv/ref", Scope: model.ScopeInfraEnv.Of(ref), Reason: "InfraEnvNotFound", Cure: model.CureOwner, Field: "spec.infraEnv.ref",
		Message: fmt.Sprintf("there is no InfraEnv %s", ref), Remedy: "{get infraenvs}",
	})
}

// poolDrift reports what the file says of the cluster and the service keeps with
// the images only, where the machines boot one that is not ours to change.
func (es *infraEnvs) poolDrift(env *model.InfraEnv) {
	want, all := model.Settings{}, clustersettings.OfCluster(es.spec)
	for _, setting := range es.cluster.ImageOnly {
		if value, said := all[setting]; said {
			want[setting] = value
		}
	}
	for _, d := range clustersettings.Differences(want, env.Settings) {
		es.reportDrift(model.ScopeInfraEnv.Of(env.Name), d, "belongs to the InfraEnv, and the file only refers to this InfraEnv")
	}
}

// update brings an InfraEnv to what the file says. A change makes a new
// image, which machines that booted the old one would have to boot again.
func (es *infraEnvs) update(image model.InfraEnvPlan, env *model.InfraEnv) {
	scope := model.ScopeInfraEnv.Of(env.Name)
	update := model.Action{
		Key: "infraenv/" + env.Name + "/update", Scope: scope, Kind: model.UpdateInfraEnv, Target: env.ID, Name: env.Name,
		Reason: "the discovery image differs from " + es.desired.Source(), Settings: model.Settings{},
	}
	all := imageDifferences(image.Settings, env)
	if i := slices.IndexFunc(all, func(d clustersettings.Difference) bool { return es.barred(d, env) }); i >= 0 {
		es.rivalKept(all[i], env)
		return
	}
	for _, d := range all {
		if clustersettings.RuleOf(d.Setting).InfraEnv == model.KeptFrozen {
			if d.Known {
				es.reportDrift(scope, d, "cannot be changed after the InfraEnv was registered")
			}
			continue
		}
		es.lasts(scope, d)
		update.Settings[d.Setting] = d.Want
		change := changeOf(d, "")
		change.Field, _ = es.images.field(image, d.Setting)
		update.Changes = append(update.Changes, change)
	}
	switch {
	case len(update.Settings) == 0:
	case newImageNeeded(update):
		es.newImage(update)
		return
	default:
		es.act(update)
		return
	}
	if es.images.missingFrom(image) || es.images.anyOldImage(env) {
		es.usableImage(env)
	}
}

// lasts reports a change that removes a setting which the service keeps nevertheless: with a proxy only in the image,
// and not in the cluster.
func (es *infraEnvs) lasts(scope model.Scope, d clustersettings.Difference) {
	if es.cluster == nil || !slices.Contains(es.cluster.Lasting, d.Setting) || !d.TakesAway() {
		return
	}
	who := "the service"
	if d.Setting == model.SettingProxy {
		who = "the discovery image"
	}
	es.warn(model.Warning{
		Key: "lasts/" + string(scope) + "/" + string(d.Setting), Scope: scope, Reason: "Drift",
		Message: fmt.Sprintf("%s is %s in the file, but %s still uses %s, because the service cannot remove this value", d.Setting,
			orNothing(clustersettings.Show(d.Setting, d.Want)), who, clustersettings.Show(d.Setting, d.Have)),
		Next: es.anew(),
	})
}

// anew is the advice for a service that goes on with a setting: to make the cluster anew,
// or to undo the change where the cluster is installed.
func (es *infraEnvs) anew() model.Advice {
	if es.cluster.State.Installed() {
		return "undo the change: the service removes this value only together with the cluster"
	}
	return model.Command("delete cluster", es.name) + ", and then run the same command again, which creates it again"
}

// barred reports whether a setting is excluded by what the service goes on with: from such a change on it refuses every
// one of the InfraEnv. One that it refuses already may be on its way back.
func (es *infraEnvs) barred(d clustersettings.Difference, env *model.InfraEnv) bool {
	rival := clustersettings.RivalOf(d.Setting)
	return es.cluster != nil && slices.Contains(es.cluster.Lasting, rival) && !clustersettings.Empty(d.Want) &&
		!clustersettings.Empty(env.Settings[rival]) &&
		env.Image.State != model.ImageFailed
}

// barredByImage says so of a setting of the cluster that its InfraEnvs have as well.
func (es *infraEnvs) barredByImage(d clustersettings.Difference) bool {
	return es.spec.Spec.InfraEnv.Ref == "" && slices.ContainsFunc(es.have,
		func(env model.InfraEnv) bool { return env.Owned && es.barred(d, &env) })
}

// rivalKept blocks a change that the service cannot take.
func (es *infraEnvs) rivalKept(d clustersettings.Difference, env *model.InfraEnv) {
	rival, remedy := clustersettings.RivalOf(d.Setting), es.anew()
	if !es.cluster.State.Installed() {
		remedy = "undo the change, or " + remedy
	}
	es.block(model.Blocker{
		Key: "infraenv/" + env.Name + "/rival", Scope: model.ScopeInfraEnv.Of(env.Name), Reason: "RivalKept", Cure: model.CureNow,
		Field: string(d.Setting),
		Message: fmt.Sprintf("%s cannot replace %s: the service still uses %s, and an InfraEnv cannot have both", d.Setting, rival,
			clustersettings.Show(rival, env.Settings[rival])),
		Remedy: remedy,
	})
}

// newImageNeeded reports whether something of an update is in the image.
func newImageNeeded(update model.Action) bool {
	for one := range update.Settings {
		if one != model.SettingNodeLabels {
			return true
		}
	}
	return false
}

// newImage sends a change that makes a new image. Hosts that booted the old one hold the old settings until they boot
// again, and only a person can boot them: that needs --reimage.
func (es *infraEnvs) newImage(update model.Action) {
	booted := es.images.bootedFrom(update.Target)
	fields := make([]string, 0, len(update.Changes))
	for _, c := range update.Changes {
		fields = append(fields, c.Field)
	}
	what := fmt.Sprintf("%s changed since these hosts booted the discovery image: %s", strings.Join(fields, ", "), listtext.ListText(booted))
	switch {
	case len(booted) == 0:
		es.act(update)
	case es.options.Reimage:
		es.act(update)
		es.warn(model.Warning{Key: "infraenv/" + update.Name + "/reboot", Scope: update.Scope, Reason: "BootNewImage", Message: what,
			Next: "boot them from the new image: " + model.Command("download iso", es.name)})
	default:
		es.block(model.Blocker{
			Key: "infraenv/" + update.Name + "/reimage", Scope: update.Scope, Reason: "NewImageNeeded", Cure: model.CureNow, Field: fields[0],
			Hosts:   booted,
			Message: what, Remedy: "add --reimage and boot those hosts from the new image, or undo the change",
		})
	}
}

// mayResend reports whether an InfraEnv's pull secret may be sent again. It is in the image: what booted from the old
// one would have to boot again.
func (es *infraEnvs) mayResend(env *model.InfraEnv) bool {
	booted := es.images.bootedFrom(env.ID)
	if len(booted) == 0 || es.options.Reimage || es.resent[string(model.ScopeInfraEnv.Of(env.Name))+model.ResendSuffix] {
		return true
	}
	es.warn(model.Warning{
		Key: "infraenv/" + env.Name + "/resend", Scope: model.ScopeInfraEnv.Of(env.Name), Reason: "NewImageNeeded",
		Message: fmt.Sprintf("the pull secret was not sent again to the InfraEnv %s, because this makes a new image. These hosts booted "+
			"the old image: %s", env.Name, listtext.ListText(booted)),
		Next: "add --reimage to send it and to reboot the hosts",
	})
	return false
}

// renewAhead is how long before its end a discovery image's URL is renewed.
const renewAhead = 10 * time.Minute

// usableImage makes an image usable that hosts have still to boot.
func (es *infraEnvs) usableImage(env *model.InfraEnv) {
	scope := model.ScopeInfraEnv.Of(env.Name)
	switch {
	case env.Image.State == model.ImageFailed:
		es.block(model.Blocker{
			Key: "infraenv/" + env.Name + "/image", Scope: scope, Reason: "ImageFailed", Cure: model.CureFile, // faults of the service's own pass
			Message: fmt.Sprintf("the service could not make the discovery image %s: %s", env.Name, env.Image.Info),
			Remedy:  "correct what the message names, usually a host's network or the pull secret, and run the same command again",
		})
	case env.Image.State == model.ImagePending:
		what := "the discovery image " + env.Name
		if env.Image.Info != "" {
			what += " (" + env.Image.Info + ")"
		}
		es.wait(model.Wait{Key: "infraenv/" + env.Name + "/image", Scope: scope, For: what, Since: env.Created, Who: model.WhoService})
	case !env.Image.Expires.IsZero() && env.Image.Expires.Before(es.now.Add(renewAhead)):
		es.act(model.Action{
			Key: "infraenv/" + env.Name + "/renew", Scope: scope, Kind: model.RenewImage, Target: env.ID, Name: env.Name,
			Reason: "the URL of the discovery image expires at " + env.Image.Expires.UTC().Format(time.RFC3339) + ", and hosts still have " +
				"to boot the image",
		})
	}
}

// forAdded makes and keeps the discovery images that hosts boot to be added:
// those that the cluster was installed with, where they can serve, else further
// ones. A pool belongs to no cluster, and goes on serving.
func (es *infraEnvs) forAdded(unnamed bool) {
	if ref := es.spec.Spec.InfraEnv.Ref; ref != "" {
		es.poolOf(ref)
		return
	}
	intended := es.intended()
	for _, image := range intended {
		wanted := slices.ContainsFunc(es.spec.Spec.Hosts, func(h spec.Host) bool {
			return slices.Contains(image.Hosts, h.Name) &&
				es.members.toAdd(&h)
		})
		if !wanted && (!unnamed || image.Alone != "") {
			continue
		}
		env := es.images.lateEnv(image, intended)
		if env == nil {
			es.registerLate(image, intended)
			continue
		}
		version := env.Settings[model.SettingVersion]
		if env.Settings[model.SettingOSVersion] == "" && !es.images.madeLate(env) &&
			(version == "" || clustersettings.SameVersion(image.Settings[model.SettingOSVersion], version)) {
			delete(image.Settings, model.SettingOSVersion) // it has the same by its version
		}
		if others := infraenv.Others(es.spec, env); len(others) > 0 {
			var own []model.StaticNetwork
			_ = image.Settings[model.SettingStaticNetworks].Decode(&own) // none if nothing is set
			image.Settings[model.SettingStaticNetworks] = model.ValueOf(append(own, others...))
		}
		actions, blockers := len(es.plan.Actions), len(es.plan.Blockers)
		es.update(image, env)
		if len(es.plan.Actions) == actions && len(es.plan.Blockers) == blockers && !es.images.missingFrom(image) {
			es.usableImage(env)
		}
	}
}

// registerLate registers an InfraEnv under the name that is kept for it.
func (es *infraEnvs) registerLate(image model.InfraEnvPlan, intended []model.InfraEnvPlan) {
	name, reason := image.Name, "there is no discovery image for the hosts to add"
	switch env := es.images.infraEnv(name); {
	case env == nil:
	case image.Alone != "":
		es.block(model.Blocker{
			Key: "infraenv/" + name + "/unfit", Scope: model.ScopeInfraEnv.Of(name), Reason: "InfraEnvUnfit", Cure: model.CureFile,
			Hosts:   image.Hosts,
			Field:   hostField(image.Alone) + "match.infraEnv",
			Message: fmt.Sprintf("%s cannot be added with the InfraEnv %s: %s", image.Alone, name, es.images.unfit(image, env)),
			Remedy:  model.Advice("give match.infraEnv of " + image.Alone + " another name, so that oaictl creates a new InfraEnv"),
		})
		return
	default:
		name, _ = es.images.lateName(image, intended)
		reason = fmt.Sprintf("hosts that are added cannot boot the discovery image %s: %s", image.Name,
			es.images.unfit(image, es.images.infraEnv(image.Name)))
	}
	es.act(model.Action{
		Key: "infraenv/" + name + "/register", Scope: model.ScopeInfraEnv.Of(name), Kind: model.RegisterInfraEnv, Name: name, Target: es.bindTo(),
		Reason: reason, Settings: image.Settings, Changes: es.images.changes(image),
	})
}
