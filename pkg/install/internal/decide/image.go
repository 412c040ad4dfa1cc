package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// renewAhead is how long before its end a discovery image's URL is renewed.
const renewAhead = 10 * time.Minute

// images makes the InfraEnvs that the file asks for and keeps their discovery
// images usable.
func (p *planner) images() {
	if ref := p.spec.Spec.InfraEnv.Ref; ref != "" {
		p.poolOf(ref)
		return
	}
	p.withdrawInfraEnvs()
	intended, err := p.infraEnvPlans()
	if err != nil {
		p.block(model.Blocker{
			Key: "infraenv/input", Scope: model.ScopeCluster, Reason: "BadInfraEnv", Cure: model.CureNow,
			Message: err.Error(), Remedy: "{validate -f FILE}",
		})
		return
	}
	// Some of the cluster can't be changed once a host has registered: that goes
	// before there is an image to register from.
	configured := p.idle()
	for _, image := range intended {
		switch env := p.infraEnv(image.Name); {
		case env != nil:
			p.updateImage(image, env)
		case configured:
			p.act(model.Action{
				Key: "infraenv/" + image.Name + "/register", Scope: model.ScopeInfraEnv.Of(image.Name), Kind: model.RegisterInfraEnv, Name: image.Name,
				Target: p.bindTo(), Reason: "there is no discovery image yet", Settings: image.Settings, Changes: p.imageChanges(image),
			})
		}
	}
}

// withdrawInfraEnvs deletes what can be of no use: InfraEnvs that were left when their
// cluster was deleted, and this run's own where another run's of the name is older.
func (p *planner) withdrawInfraEnvs() {
	for _, orphan := range p.observed.Orphans {
		p.withdrawInfraEnv(orphan, "its cluster was deleted")
	}
	for _, env := range p.observed.InfraEnvs {
		first := p.infraEnv(env.Name)
		empty := !slices.ContainsFunc(p.observed.Hosts, func(h model.Host) bool { return h.InfraEnvID == env.ID })
		if env.ThisRun && env.ID != first.ID && env.ClusterID == first.ClusterID && empty {
			p.withdrawInfraEnv(env, "another run registered the same InfraEnv earlier; no host came from this run's")
		}
	}
}

func (p *planner) withdrawInfraEnv(env model.InfraEnv, reason string) {
	p.act(model.Action{
		Key: "infraenv/" + env.Name + "/withdraw/" + env.ID, Scope: model.ScopeInfraEnv.Of(env.Name), Kind: model.WithdrawInfraEnv, Target: env.ID, Name: env.Name,
		Reason: reason, Destructive: true,
	})
}

// bindTo is the cluster that a new InfraEnv's hosts belong to from the start,
// "" with late binding.
func (p *planner) bindTo() string {
	if p.spec.Spec.InfraEnv.Bind == spec.BindLate {
		return ""
	}
	return p.cluster.ID
}

// poolOf looks for an InfraEnv that is not ours to change.
func (p *planner) poolOf(ref string) {
	if i := slices.IndexFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool { return e.Name == ref || e.ID == ref }); i >= 0 {
		p.poolDrift(&p.observed.InfraEnvs[i])
		return
	}
	p.block(model.Blocker{
		Key: "infraenv/ref", Scope: model.ScopeInfraEnv.Of(ref), Reason: "InfraEnvNotFound", Cure: model.CureOwner, Field: "spec.infraEnv.ref",
		Message: fmt.Sprintf("there is no InfraEnv %s", ref), Remedy: "{get infraenvs}",
	})
}

// poolDrift reports what the file says of the cluster and the service keeps with
// the images only, where the machines boot one that is not ours to change.
func (p *planner) poolDrift(env *model.InfraEnv) {
	want, all := model.Settings{}, setting.OfCluster(p.spec)
	for _, setting := range p.cluster.ImageOnly {
		if value, said := all[setting]; said {
			want[setting] = value
		}
	}
	for _, d := range setting.Differences(want, env.Settings) {
		p.drift(model.ScopeInfraEnv.Of(env.Name), d, "is a matter of the InfraEnv, which the file only refers to")
	}
}

// updateImage brings an InfraEnv to what the file says. A change makes a new
// image, which machines that booted the old one would have to boot again.
func (p *planner) updateImage(image model.InfraEnvPlan, env *model.InfraEnv) {
	scope := model.ScopeInfraEnv.Of(env.Name)
	update := model.Action{
		Key: "infraenv/" + env.Name + "/update", Scope: scope, Kind: model.UpdateInfraEnv, Target: env.ID, Name: env.Name,
		Reason: "the discovery image differs from " + p.desired.Source(), Settings: model.Settings{},
	}
	all := imageDifferences(image.Settings, env)
	if i := slices.IndexFunc(all, func(d setting.Difference) bool { return p.barred(d, env) }); i >= 0 {
		p.rivalKept(all[i], env)
		return
	}
	for _, d := range all {
		if setting.RuleOf(d.Setting).InfraEnv == model.KeptFrozen {
			if d.Known {
				p.drift(scope, d, "cannot be changed after the InfraEnv was registered")
			}
			continue
		}
		p.lasts(scope, d)
		update.Settings[d.Setting] = d.Want
		change := changeOf(d, "")
		change.Field, _ = p.imageField(image, d.Setting)
		update.Changes = append(update.Changes, change)
	}
	switch {
	case len(update.Settings) == 0:
	case p.newImageNeeded(update):
		p.newImage(update)
		return
	default:
		p.act(update)
		return
	}
	if p.missingFrom(image) || p.anyOldImage(env) {
		p.usableImage(env)
	}
}

// lasts reports a change that removes a setting which the service keeps nevertheless: with a proxy only in the image,
// and not in the cluster.
func (p *planner) lasts(scope model.Scope, d setting.Difference) {
	if p.cluster == nil || !slices.Contains(p.cluster.Lasting, d.Setting) || !d.TakesAway() {
		return
	}
	who := "the service"
	if d.Setting == model.SettingProxy {
		who = "the discovery image"
	}
	p.warn(model.Warning{
		Key: "lasts/" + string(scope) + "/" + string(d.Setting), Scope: scope, Reason: "Drift",
		Message: fmt.Sprintf("%s is %s in the file, and %s goes on with %s, of which the service takes nothing away", d.Setting, orNothing(setting.Show(d.Setting, d.Want)), who, setting.Show(d.Setting, d.Have)),
		Next:    p.anew(),
	})
}

// anew is the advice for a service that goes on with a setting: to make the cluster anew,
// or to undo the change where the cluster is installed.
func (p *planner) anew() model.Advice {
	if p.cluster.State.Installed() {
		return "undo the change: the service gives up what it has with the cluster only"
	}
	return model.Command("delete cluster", p.name()) + ", and then the same command again, which makes it anew"
}

// barred reports whether a setting is excluded by what the service goes on with: from such a change on it refuses every
// one of the InfraEnv. One that it refuses already may be on its way back.
func (p *planner) barred(d setting.Difference, env *model.InfraEnv) bool {
	rival := setting.RivalOf(d.Setting)
	return p.cluster != nil && slices.Contains(p.cluster.Lasting, rival) && !setting.Empty(d.Want) && !setting.Empty(env.Settings[rival]) && env.Image.State != model.ImageFailed
}

// barredByImage says so of a setting of the cluster that its InfraEnvs have as well.
func (p *planner) barredByImage(d setting.Difference) bool {
	return p.spec.Spec.InfraEnv.Ref == "" && slices.ContainsFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool { return e.Owned && p.barred(d, &e) })
}

// rivalKept blocks a change that the service cannot take.
func (p *planner) rivalKept(d setting.Difference, env *model.InfraEnv) {
	rival, remedy := setting.RivalOf(d.Setting), p.anew()
	if !p.cluster.State.Installed() {
		remedy = "undo the change, or " + remedy
	}
	p.block(model.Blocker{
		Key: "infraenv/" + env.Name + "/rival", Scope: model.ScopeInfraEnv.Of(env.Name), Reason: "RivalKept", Cure: model.CureNow, Field: string(d.Setting),
		Message: fmt.Sprintf("%s cannot take the place of %s: the service goes on with %s, and has no InfraEnv with both", d.Setting, rival, setting.Show(rival, env.Settings[rival])),
		Remedy:  remedy,
	})
}

// newImageNeeded reports whether something of an update is in the image.
func (p *planner) newImageNeeded(update model.Action) bool {
	for one := range update.Settings {
		if one != model.SettingNodeLabels {
			return true
		}
	}
	return false
}

// runsOldImage reports whether a machine still runs a discovery image from before its InfraEnv was changed: it
// registers whenever it boots, and that was before the image of today was made. An agent that is restarted registers
// without a boot and looks like one that came with the new image.
func (p *planner) runsOldImage(h *model.Host) bool {
	switch h.State {
	case model.HostDiscovering, model.HostBlocked, model.HostReady, model.HostUnbound, model.HostDisconnected:
	default:
		return false // it has to register again anyhow, or does not take part
	}
	i := slices.IndexFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool { return e.ID == h.InfraEnvID })
	if i < 0 || h.Registered.IsZero() {
		return false
	}
	env := &p.observed.InfraEnvs[i]
	return env.Owned && h.Registered.Before(env.Image.Created)
}

// anyOldImage reports whether a machine has still to be booted from what the image has become.
func (p *planner) anyOldImage(env *model.InfraEnv) bool {
	return slices.ContainsFunc(p.matches.Part, func(h *model.Host) bool { return h.InfraEnvID == env.ID && p.runsOldImage(h) })
}

// bootNewImage waits for a machine that runs an old image. Until it comes back
// nothing is written to it: it may come back as another one.
func (p *planner) bootNewImage(h *model.Host) {
	i := slices.IndexFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool { return e.ID == h.InfraEnvID })
	id, name := p.hostID(h), p.hostName(h)
	p.wait(model.Wait{
		Key: "host/" + id + "/new-image", Scope: model.ScopeHost.Of(id), Who: model.WhoUser, Since: p.observed.InfraEnvs[i].Image.Created,
		For:  name + ", which still runs the old discovery image, to be rebooted into the new one",
		Next: model.Advicef("reboot %s into the new image: ", name) + p.isoCommand(name),
	})
}

// newImage sends a change that makes a new image. Hosts that booted the old one hold the old settings until they boot
// again, and only a person can boot them: that needs --reimage.
func (p *planner) newImage(update model.Action) {
	booted := p.bootedFrom(update.Target)
	fields := make([]string, 0, len(update.Changes))
	for _, c := range update.Changes {
		fields = append(fields, c.Field)
	}
	what := fmt.Sprintf("%s changed since these hosts booted the discovery image: %s", strings.Join(fields, ", "), names.Few(booted))
	switch {
	case len(booted) == 0:
		p.act(update)
	case p.desired.Options.Reimage:
		p.act(update)
		p.warn(model.Warning{Key: "infraenv/" + update.Name + "/reboot", Scope: update.Scope, Reason: "BootNewImage", Message: what, Next: "boot them from the new image: " + model.Command("download iso", p.name())})
	default:
		p.block(model.Blocker{
			Key: "infraenv/" + update.Name + "/reimage", Scope: update.Scope, Reason: "NewImageNeeded", Cure: model.CureNow, Field: fields[0], Hosts: booted,
			Message: what, Remedy: "add --reimage and boot those hosts from the new image, or undo the change",
		})
	}
}

// mayResend reports whether an InfraEnv's pull secret may be sent again. It is in the image: what booted from the old
// one would have to boot again.
func (p *planner) mayResend(env *model.InfraEnv) bool {
	booted := p.bootedFrom(env.ID)
	if len(booted) == 0 || p.desired.Options.Reimage || p.memory.Resent[string(model.ScopeInfraEnv.Of(env.Name))+model.ResendSuffix] {
		return true
	}
	p.warn(model.Warning{
		Key: "infraenv/" + env.Name + "/resend", Scope: model.ScopeInfraEnv.Of(env.Name), Reason: "NewImageNeeded",
		Message: fmt.Sprintf("the pull secret was not sent again to the InfraEnv %s: it makes a new image, and these hosts booted the old one: %s", env.Name, names.Few(booted)),
		Next:    "add --reimage to have it sent and the hosts rebooted",
	})
	return false
}

// usableImage makes an image usable that hosts have still to boot.
func (p *planner) usableImage(env *model.InfraEnv) {
	scope := model.ScopeInfraEnv.Of(env.Name)
	switch {
	case env.Image.State == model.ImageFailed:
		p.block(model.Blocker{
			Key: "infraenv/" + env.Name + "/image", Scope: scope, Reason: "ImageFailed", Cure: model.CureFile, // faults of the service's own pass
			Message: fmt.Sprintf("the service could not make the discovery image %s: %s", env.Name, env.Image.Info),
			Remedy:  "correct what it names, mostly a host's network or the pull secret, and run the same command again",
		})
	case env.Image.State == model.ImagePending:
		what := "the discovery image " + env.Name
		if env.Image.Info != "" {
			what += " (" + env.Image.Info + ")"
		}
		p.wait(model.Wait{Key: "infraenv/" + env.Name + "/image", Scope: scope, For: what, Since: env.Created, Who: model.WhoService})
	case !env.Image.Expires.IsZero() && env.Image.Expires.Before(p.now.Add(renewAhead)):
		p.act(model.Action{
			Key: "infraenv/" + env.Name + "/renew", Scope: scope, Kind: model.RenewImage, Target: env.ID, Name: env.Name,
			Reason: "the discovery image's URL ends at " + env.Image.Expires.UTC().Format(time.RFC3339) + " and hosts have still to boot it",
		})
	}
}

// bootedFrom names the hosts that have registered from an InfraEnv's image and
// still run it: the hosts of an installed cluster run from their disks.
func (p *planner) bootedFrom(id string) []string {
	var names []string
	for _, h := range p.matches.Part {
		if h.InfraEnvID == id && (!p.cluster.State.Installed() || membershipOf(h) == joining) {
			names = append(names, p.hostName(h))
		}
	}
	slices.Sort(names)
	return names
}

// missingFrom reports whether a host of the file has still to boot the image.
func (p *planner) missingFrom(image model.InfraEnvPlan) bool {
	if image.Alone == "" && p.unnamedMissing() > 0 {
		return true
	}
	return slices.ContainsFunc(image.Hosts, func(name string) bool { return p.matches.ByName[name] == nil })
}

// imageReady reports whether a host of the file can be booted, or for nil one that it does not name: there is an image
// for it.
func (p *planner) imageReady(want *spec.Host) bool {
	var alone *spec.Host // that has its image to itself
	if want != nil && want.Match.InfraEnv != "" {
		alone = want
	}
	return slices.ContainsFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool {
		return e.Image.State == model.ImageReady && p.spec.HostAloneIn(e.Name) == alone
	})
}

// isoCommand downloads the image that a host of the file boots.
func (p *planner) isoCommand(host string) model.Advice {
	if want := p.spec.Host(host); want != nil && want.Match.InfraEnv != "" {
		return model.Command("download iso --infra-env", want.Match.InfraEnv)
	}
	return model.Command("download iso", p.name())
}

// imageSince is when the first image could have been booted for this cluster.
func (p *planner) imageSince() time.Time {
	var since time.Time
	for _, env := range p.observed.InfraEnvs {
		if since.IsZero() || env.Created.Before(since) {
			since = env.Created
		}
	}
	if since.Before(p.cluster.Created) {
		return p.cluster.Created // a pool that is older than the cluster
	}
	return since
}
