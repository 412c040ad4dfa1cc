package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// images says which discovery image each host boots, and which hosts run one.
type images struct {
	options    *model.Options
	spec       *spec.Cluster
	name       string
	infraEnvs  []model.InfraEnv
	cluster    *model.Cluster
	spoke      *model.Spoke
	roster     *roster
	attendance *attendance
	members    *members

	bootsFrom map[string]string    // byHost, once it was asked for
	intended  []model.InfraEnvPlan // latePlans, once it was asked for
}

// find is the first observed InfraEnv that fits, or nil.
func (im *images) find(fits func(*model.InfraEnv) bool) *model.InfraEnv {
	for i := range im.infraEnvs {
		if env := &im.infraEnvs[i]; fits(env) {
			return env
		}
	}
	return nil
}

// infraEnv is the observed InfraEnv of that name, the oldest of several, or nil.
func (im *images) infraEnv(name string) *model.InfraEnv {
	return im.find(func(e *model.InfraEnv) bool { return e.Name == name })
}

// pool is the InfraEnv that a file refers to, or nil.
func (im *images) pool(ref string) *model.InfraEnv {
	return im.find(func(e *model.InfraEnv) bool { return e.Name == ref || e.ID == ref })
}

// bootedBy is the InfraEnv whose image a host runs, or nil.
func (im *images) bootedBy(h *model.Host) *model.InfraEnv {
	return im.find(func(e *model.InfraEnv) bool { return e.ID == h.InfraEnvID })
}

// plans are the InfraEnvs that the cluster is installed with. Those that were made to add hosts later, which
// hold the networks of others too, are not considered here.
func (im *images) plans(file *spec.Cluster) ([]model.InfraEnvPlan, error) {
	have := im.infraEnvs
	if im.cluster != nil && im.cluster.State.Installed() && !im.cluster.InstallCompleted.IsZero() {
		have = slices.DeleteFunc(slices.Clone(have), func(e model.InfraEnv) bool { return e.ClusterID != "" && im.madeLate(&e) })
	}
	plans, err := infraenv.Plans(file, have)
	for _, plan := range plans {
		im.liveSystem(plan.Settings)
	}
	return plans, err
}

// envOf is the InfraEnv whose discovery image a host of the file boots next, nil while there is none.
func (im *images) envOf(host string) *model.InfraEnv {
	if im.cluster.State.Installed() {
		return im.lateEnvOf(host)
	}
	if ref := im.spec.Spec.InfraEnv.Ref; ref != "" {
		return im.pool(ref)
	}
	if im.bootsFrom == nil {
		im.bootsFrom = im.byHost()
	}
	name, planned := im.bootsFrom[host]
	return im.find(func(e *model.InfraEnv) bool { return planned && e.Name == name })
}

// byHost are the names of the InfraEnvs that the hosts of the file boot.
func (im *images) byHost() map[string]string {
	names := map[string]string{}
	intended, err := im.plans(im.spec)
	if err != nil {
		return names // Decide reports it
	}
	for _, image := range intended {
		for _, host := range image.Hosts {
			names[host] = image.Name
		}
	}
	return names
}

// lateEnvOf is the InfraEnv whose image a host of the file boots to be added,
// of any host that the file does not name for "".
func (im *images) lateEnvOf(name string) *model.InfraEnv {
	if ref := im.spec.Spec.InfraEnv.Ref; ref != "" {
		return im.pool(ref)
	}
	intended := im.latePlans()
	for _, image := range intended {
		if name == "" && image.Alone == "" || slices.Contains(image.Hosts, name) {
			return im.lateEnv(image, intended)
		}
	}
	return nil
}

// latePlans are plans for callers that ask host by host; none where they cannot be made, which is reported with
// the images.
func (im *images) latePlans() []model.InfraEnvPlan {
	if im.intended == nil {
		im.intended, _ = im.plans(im.spec)
	}
	return im.intended
}

// madeLate reports whether an InfraEnv is not one that the cluster was installed with, or is a pool, which belongs to
// no cluster.
func (im *images) madeLate(env *model.InfraEnv) bool {
	done := im.cluster.InstallCompleted
	return env.ClusterID == "" || done.IsZero() || !env.Created.Before(done)
}

// lateEnv is the InfraEnv whose image hosts boot to be added, nil for none: one that
// was made for that, else the one that the cluster was installed with.
func (im *images) lateEnv(image model.InfraEnvPlan, intended []model.InfraEnvPlan) *model.InfraEnv {
	if image.Alone != "" {
		if env := im.infraEnv(image.Name); env != nil && im.unfit(image, env) == "" {
			return env
		}
		return nil
	}
	for i := range im.infraEnvs {
		env := &im.infraEnvs[i]
		if infraenv.MayShare(im.spec, env.Name) && im.madeLate(env) && infraenv.Serves(&image, env) && infraenv.HeldBy(&image, env, intended) {
			return env
		}
	}
	if env := im.infraEnv(image.Name); env == nil || im.unfit(image, env) == "" {
		return env
	}
	_, env := im.lateName(image, intended)
	return env
}

// field is the field of the file that says a setting of an image, and whether that is the
// host's own, which has the image to itself.
func (im *images) field(image model.InfraEnvPlan, name model.Setting) (field string, own bool) {
	word := "discovery." + string(name[strings.LastIndexByte(string(name), '.')+1:])
	if host := im.spec.Host(image.Alone); host != nil && im.spec.Present(im.spec.HostField(host, word)) {
		return hostField(host.Name) + word, true
	}
	return string(name), false
}

// changes lists the settings of a new image as changes from nothing.
func (im *images) changes(image model.InfraEnvPlan) []model.Change {
	changes := make([]model.Change, 0, len(image.Settings))
	for name, value := range image.Settings {
		change := changeOf(clustersettings.Difference{Setting: name, Want: value}, "")
		change.Field, _ = im.field(image, name)
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(a, b model.Change) int { return cmp.Compare(a.Field, b.Field) })
	return changes
}

// liveSystem keeps one version for an image: that of the cluster for the hosts
// that it is installed with, else that of the live system where the file says it.
func (im *images) liveSystem(settings model.Settings) {
	if settings[model.SettingOSVersion] == "" && im.updatedTo() != "" {
		settings[model.SettingOSVersion] = model.ValueOf(im.updatedTo())
	}
	switch {
	case settings[model.SettingOSVersion] == "":
	case im.spec.Spec.InfraEnv.Bind == spec.BindLate, im.cluster != nil && im.cluster.State.Installed():
		delete(settings, model.SettingVersion)
	default:
		delete(settings, model.SettingOSVersion)
	}
}

// updatedTo is the minor release that the cluster has been updated to, "" where it still runs the one that it was
// installed with, or where the release is not known. The service does not compare the two.
func (im *images) updatedTo() string {
	if !im.options.AddNodes || im.spoke == nil || im.spoke.Trouble != "" || im.spoke.Version == "" {
		return ""
	}
	minor := func(version string) string {
		parts := strings.SplitN(version, ".", 3)
		return strings.Join(parts[:min(2, len(parts))], ".")
	}
	now, then := minor(im.spoke.Version), minor(im.cluster.Version)
	if now == then || then == "" && im.spec.Spec.OpenShift.Version != "" && minor(im.spec.Spec.OpenShift.Version) == now {
		return ""
	}
	return now
}

// lateName is the name of the further InfraEnv that hosts of an image boot to be
// added, and that InfraEnv once it is there: after the names of those that the
// cluster is installed with. That the name is always the same keeps a service whose
// clock is not to be trusted from being given one after the other.
func (im *images) lateName(image model.InfraEnvPlan, intended []model.InfraEnvPlan) (string, *model.InfraEnv) {
	intended = slices.DeleteFunc(slices.Clone(intended), func(i model.InfraEnvPlan) bool { return i.Alone != "" })
	place := slices.IndexFunc(intended, func(i model.InfraEnvPlan) bool { return i.Name == image.Name })
	first := len(intended) + 1
	if im.spec.Imported() {
		first = 1 // the cluster was installed without any
	}
	for number := first + place; ; number += len(intended) {
		name := infraenv.NameOf(im.name, number)
		if env := im.infraEnv(name); im.spec.HostAloneIn(name) == nil && (env == nil || infraenv.Serves(&image, env)) {
			return name, env
		}
	}
}

// unfit says why hosts cannot be added with the InfraEnv that the cluster was
// installed with, "" where they can.
func (im *images) unfit(image model.InfraEnvPlan, env *model.InfraEnv) string {
	if !infraenv.Serves(&image, env) {
		return "it is of another architecture"
	}
	want, have := image.Settings[model.SettingOSVersion], cmp.Or(env.Settings[model.SettingOSVersion], env.Settings[model.SettingVersion])
	if image.Alone == "" && want != "" && have != "" && !clustersettings.SameVersion(want, have) {
		return fmt.Sprintf("its live system has the version %s, not %s", have.Text(), want.Text())
	}
	for _, d := range imageDifferences(image.Settings, env) {
		if d.Known && clustersettings.RuleOf(d.Setting).InfraEnv == model.KeptFrozen {
			return fmt.Sprintf("its %s is %s", d.Setting, changeOf(d, "").From)
		}
	}
	for _, name := range image.Hosts {
		h := im.roster.ByName[name]
		if h != nil && h.InfraEnvID == env.ID && membershipOf(h) == outside && im.members.toAdd(im.spec.Host(name)) {
			return name + " was lost during the installation, and still has its old host there"
		}
	}
	return ""
}

// runsOldImage reports whether a machine still runs a discovery image from before its InfraEnv was changed: it
// registers whenever it boots, and that was before the image of today was made. An agent that is restarted registers
// without a boot and looks like one that came with the new image.
func (im *images) runsOldImage(h *model.Host) bool {
	switch h.State {
	case model.HostDiscovering, model.HostBlocked, model.HostReady, model.HostUnbound, model.HostDisconnected:
	default:
		return false // it has to register again anyhow, or does not take part
	}
	env := im.bootedBy(h)
	return env != nil && !h.Registered.IsZero() && env.Owned && h.Registered.Before(env.Image.Created)
}

// anyOldImage reports whether a machine has still to be booted from what the image has become.
func (im *images) anyOldImage(env *model.InfraEnv) bool {
	return slices.ContainsFunc(im.roster.Part, func(h *model.Host) bool { return h.InfraEnvID == env.ID && im.runsOldImage(h) })
}

// bootedFrom names the hosts that have registered from an InfraEnv's image and
// still run it: the hosts of an installed cluster run from their disks.
func (im *images) bootedFrom(id string) []string {
	var names []string
	for _, h := range im.roster.Part {
		if h.InfraEnvID == id && (!im.cluster.State.Installed() || membershipOf(h) == joining) {
			names = append(names, im.roster.Call(h))
		}
	}
	slices.Sort(names)
	return names
}

// missingFrom reports whether a host of the file has still to boot the image.
func (im *images) missingFrom(image model.InfraEnvPlan) bool {
	if image.Alone == "" && im.attendance.unnamedMissing() > 0 {
		return true
	}
	return slices.ContainsFunc(image.Hosts, func(name string) bool { return im.roster.ByName[name] == nil })
}

// ready reports whether a host of the file can be booted, or for nil one that it does not name: there is an image
// for it.
func (im *images) ready(want *spec.Host) bool {
	var alone *spec.Host // that has its image to itself
	if want != nil && want.Match.InfraEnv != "" {
		alone = want
	}
	return slices.ContainsFunc(im.infraEnvs, func(e model.InfraEnv) bool {
		return e.Image.State == model.ImageReady && im.spec.HostAloneIn(e.Name) == alone
	})
}

// isoCommand downloads the image that a host of the file boots.
func (im *images) isoCommand(host string) model.Advice {
	if want := im.spec.Host(host); want != nil && want.Match.InfraEnv != "" {
		return model.Command("download iso --infra-env", want.Match.InfraEnv)
	}
	return model.Command("download iso", im.name)
}

// imageDifferences compares what the file says of an InfraEnv with it, except what the file overrides in the service's
// own words. Of a version a service may keep only the minor release, from which it takes the live system.
func imageDifferences(want model.Settings, env *model.InfraEnv) []clustersettings.Difference {
	return slices.DeleteFunc(clustersettings.Differences(want, env.Settings), func(d clustersettings.Difference) bool {
		return slices.Contains(env.Overridden, d.Setting) || d.Setting == model.SettingVersion && clustersettings.SameVersion(d.Have, d.Want)
	})
}
