package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// infraEnv is the observed InfraEnv of that name, the oldest of several, or nil.
func (p *planner) infraEnv(name string) *model.InfraEnv {
	i := slices.IndexFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &p.observed.InfraEnvs[i]
}

// infraEnvPlans are the InfraEnvs that the cluster is installed with. Those that were made to add hosts later, which
// hold the networks of others too, are not considered here.
func (p *planner) infraEnvPlans(file *spec.Cluster) ([]model.InfraEnvPlan, error) {
	have := p.observed.InfraEnvs
	if p.cluster != nil && p.cluster.State.Installed() && !p.cluster.InstallCompleted.IsZero() {
		have = slices.DeleteFunc(slices.Clone(have), func(e model.InfraEnv) bool { return e.ClusterID != "" && p.madeLate(&e) })
	}
	plans, err := infraenv.Plans(file, have)
	for _, plan := range plans {
		p.liveSystem(plan.Settings)
	}
	return plans, err
}

// envOf is the InfraEnv whose discovery image a host of the file boots next.
func (p *planner) envOf(host string) (model.InfraEnv, bool) {
	if p.cluster.State.Installed() {
		if env := p.lateEnvOf(host); env != nil {
			return *env, true
		}
		return model.InfraEnv{}, false
	}
	if ref := p.spec.Spec.InfraEnv.Ref; ref != "" {
		return envNamed(p.observed, func(e model.InfraEnv) bool { return e.Name == ref || e.ID == ref })
	}
	if p.bootsFrom == nil {
		p.bootsFrom = p.imagesByHost()
	}
	name, planned := p.bootsFrom[host]
	return envNamed(p.observed, func(e model.InfraEnv) bool { return planned && e.Name == name })
}

// imagesByHost are the names of the InfraEnvs that the hosts of the file boot.
func (p *planner) imagesByHost() map[string]string {
	names := map[string]string{}
	intended, err := p.infraEnvPlans(p.spec)
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

func envNamed(observed *model.Observed, fits func(model.InfraEnv) bool) (model.InfraEnv, bool) {
	i := slices.IndexFunc(observed.InfraEnvs, fits)
	if i < 0 {
		return model.InfraEnv{}, false
	}
	return observed.InfraEnvs[i], true
}

// lateEnvOf is the InfraEnv whose image a host of the file boots to be added,
// of any host that the file does not name for "".
func (p *planner) lateEnvOf(name string) *model.InfraEnv {
	if ref := p.spec.Spec.InfraEnv.Ref; ref != "" {
		i := slices.IndexFunc(p.observed.InfraEnvs, func(e model.InfraEnv) bool { return e.Name == ref || e.ID == ref })
		if i < 0 {
			return nil
		}
		return &p.observed.InfraEnvs[i]
	}
	intended := p.latePlans()
	for _, image := range intended {
		if name == "" && image.Alone == "" || slices.Contains(image.Hosts, name) {
			return p.lateEnv(image, intended)
		}
	}
	return nil
}

// latePlans are infraEnvPlans for callers that ask host by host; none where they cannot be made, which is reported with
// the images.
func (p *planner) latePlans() []model.InfraEnvPlan {
	if p.intended == nil {
		p.intended, _ = p.infraEnvPlans(p.spec)
	}
	return p.intended
}

// madeLate reports whether an InfraEnv is not one that the cluster was installed with, or is a pool, which belongs to
// no cluster.
func (p *planner) madeLate(env *model.InfraEnv) bool {
	done := p.cluster.InstallCompleted
	return env.ClusterID == "" || done.IsZero() || !env.Created.Before(done)
}

// lateEnv is the InfraEnv whose image hosts boot to be added, nil for none: one that
// was made for that, else the one that the cluster was installed with.
func (p *planner) lateEnv(image model.InfraEnvPlan, intended []model.InfraEnvPlan) *model.InfraEnv {
	if image.Alone != "" {
		if env := p.infraEnv(image.Name); env != nil && p.unfit(image, env) == "" {
			return env
		}
		return nil
	}
	for i := range p.observed.InfraEnvs {
		env := &p.observed.InfraEnvs[i]
		if infraenv.MayShare(p.spec, env.Name) && p.madeLate(env) && infraenv.Serves(&image, env) && infraenv.HeldBy(&image, env, intended) {
			return env
		}
	}
	if env := p.infraEnv(image.Name); env == nil || p.unfit(image, env) == "" {
		return env
	}
	_, env := p.lateName(image, intended)
	return env
}

// imageField is the field of the file that says a setting of an image, and whether that is the
// host's own, which has the image to itself.
func (p *planner) imageField(image model.InfraEnvPlan, name model.Setting) (field string, own bool) {
	word := "discovery." + string(name[strings.LastIndexByte(string(name), '.')+1:])
	if host := p.spec.Host(image.Alone); host != nil && p.spec.Present(p.spec.HostField(host, word)) {
		return hostField(host.Name) + word, true
	}
	return string(name), false
}

// imageChanges lists the settings of a new image as changes from nothing.
func (p *planner) imageChanges(image model.InfraEnvPlan) []model.Change {
	changes := make([]model.Change, 0, len(image.Settings))
	for name, value := range image.Settings {
		change := changeOf(setting.Difference{Setting: name, Want: value}, "")
		change.Field, _ = p.imageField(image, name)
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(a, b model.Change) int { return cmp.Compare(a.Field, b.Field) })
	return changes
}

// liveSystem keeps one version for an image: that of the cluster for the hosts
// that it is installed with, else that of the live system where the file says it.
func (p *planner) liveSystem(settings model.Settings) {
	if settings[model.SettingOSVersion] == "" && p.updatedTo() != "" {
		settings[model.SettingOSVersion] = model.ValueOf(p.updatedTo())
	}
	switch {
	case settings[model.SettingOSVersion] == "":
	case p.spec.Spec.InfraEnv.Bind == spec.BindLate, p.cluster != nil && p.cluster.State.Installed():
		delete(settings, model.SettingVersion)
	default:
		delete(settings, model.SettingOSVersion)
	}
}

// updatedTo is the minor release that the cluster has been updated to, "" where it still runs the one that it was
// installed with, or where the release is not known. The service does not compare the two.
func (p *planner) updatedTo() string {
	if !p.options.AddNodes || !p.question.Answers() || p.observed.Spoke.Version == "" {
		return ""
	}
	minor := func(version string) string {
		parts := strings.SplitN(version, ".", 3)
		return strings.Join(parts[:min(2, len(parts))], ".")
	}
	now, then := minor(p.observed.Spoke.Version), minor(p.cluster.Version)
	if now == then || then == "" && p.spec.Spec.OpenShift.Version != "" && minor(p.spec.Spec.OpenShift.Version) == now {
		return ""
	}
	return now
}

// lateName is the name of the further InfraEnv that hosts of an image boot to be
// added, and that InfraEnv once it is there: after the names of those that the
// cluster is installed with. That the name is always the same keeps a service whose
// clock is not to be trusted from being given one after the other.
func (p *planner) lateName(image model.InfraEnvPlan, intended []model.InfraEnvPlan) (string, *model.InfraEnv) {
	intended = slices.DeleteFunc(slices.Clone(intended), func(i model.InfraEnvPlan) bool { return i.Alone != "" })
	place := slices.IndexFunc(intended, func(i model.InfraEnvPlan) bool { return i.Name == image.Name })
	first := len(intended) + 1
	if p.spec.Imported() {
		first = 1 // the cluster was installed without any
	}
	for number := first + place; ; number += len(intended) {
		name := infraenv.NameOf(p.name, number)
		if env := p.infraEnv(name); p.spec.HostAloneIn(name) == nil && (env == nil || infraenv.Serves(&image, env)) {
			return name, env
		}
	}
}

// unfit says why hosts cannot be added with the InfraEnv that the cluster was
// installed with, "" where they can.
func (p *planner) unfit(image model.InfraEnvPlan, env *model.InfraEnv) string {
	if !infraenv.Serves(&image, env) {
		return "it is of another architecture"
	}
	want, have := image.Settings[model.SettingOSVersion], cmp.Or(env.Settings[model.SettingOSVersion], env.Settings[model.SettingVersion])
	if image.Alone == "" && want != "" && have != "" && !setting.SameVersion(want, have) {
		return fmt.Sprintf("its live system is of version %s, not %s", have.Text(), want.Text())
	}
	for _, d := range imageDifferences(image.Settings, env) {
		if d.Known && setting.RuleOf(d.Setting).InfraEnv == model.KeptFrozen {
			return fmt.Sprintf("its %s is %s", d.Setting, changeOf(d, "").From)
		}
	}
	for _, name := range image.Hosts {
		h := p.roster.ByName[name]
		if h != nil && h.InfraEnvID == env.ID && membershipOf(h) == outside && p.members.toAdd(p.spec.Host(name)) {
			return name + ", which was lost in the install, stays what it is there"
		}
	}
	return ""
}
