package decide

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// late is why a difference is reported and not removed once the install runs.
const late = "cannot be changed after the installation was started"

// driftAfterStart reports what the file says differently once it is too late,
// of the cluster, its images and its hosts.
func (p *planner) driftAfterStart() {
	want := setting.OfCluster(p.spec)
	delete(want, model.SettingTags)
	if overrides, err := p.spec.InstallConfigOverrides(); err == nil && overrides != "" && !p.spec.OnlyAdds() {
		want[model.SettingInstallConfigOverrides] = model.ValueOf(overrides)
	}
	maps.Copy(want, setting.IgnoredOf(p.spec))
	reported := map[model.Setting]bool{}
	for _, d := range p.clusterSettings.differences(want) {
		if d.Known {
			reported[d.Setting] = true
			p.reportDrift(model.ScopeCluster, d, late)
		}
	}
	p.manifestDrift()
	if !p.options.AddNodes { // hosts boot an image of their own then
		p.imageDrift(reported)
	}
	p.hostDrift()
	if p.options.ResendSecrets {
		p.warn(model.Warning{
			Key: "drift/secrets", Scope: model.ScopeCluster, Reason: "Drift", Message: "the secrets are not sent again: they " + late,
		})
	}
}

func (p *planner) manifestDrift() {
	if p.cluster.Manifests == nil {
		return // not read
	}
	for _, m := range p.spec.ManifestFiles() {
		name := string(m.Folder) + "/" + m.Name
		have, there := p.cluster.Manifests[name]
		switch {
		case !there:
			p.warn(model.Warning{Key: "drift/manifest/" + name, Scope: model.ScopeCluster, Reason: "Drift", Message: fmt.Sprintf("the service does not have the manifest %s; it %s", name, late)})
		case have != "" && have != model.Digest([]byte(m.Content)):
			p.warn(model.Warning{Key: "drift/manifest/" + name, Scope: model.ScopeCluster, Reason: "Drift", Message: fmt.Sprintf("the manifest %s is another one in the service; it %s", name, late)})
		}
	}
}

// imageDrift reports of the InfraEnvs what was not reported of the cluster.
func (p *planner) imageDrift(reported map[model.Setting]bool) {
	intended, err := p.images.plans(p.spec.AtInstall())
	if err != nil || p.spec.Spec.InfraEnv.Ref != "" {
		return
	}
	for _, image := range intended {
		env := p.images.infraEnv(image.Name)
		if env == nil {
			continue
		}
		if p.spec.Spec.InfraEnv.Bind != spec.BindLate {
			delete(image.Settings, model.SettingOSVersion) // of hosts that are added
		}
		for _, d := range imageDifferences(image.Settings, env) {
			field, own := p.images.field(image, d.Setting)
			if d.Known && (own || !reported[d.Setting]) && !p.networksAdded(d, env) {
				p.reportDriftOf(model.InfraEnvScope(env.Name), field, d, late)
			}
		}
	}
}

// networksAdded reports whether a difference is only that the networks of hosts that were added have come into an image
// that the cluster was installed with.
func (p *planner) networksAdded(d setting.Difference, env *model.InfraEnv) bool {
	whole, err := p.images.plans(p.spec)
	return err == nil && d.Setting == model.SettingStaticNetworks && slices.ContainsFunc(whole, func(image model.InfraEnvPlan) bool {
		return image.Name == env.Name && setting.Same(d.Setting, image.Settings[d.Setting], d.Have)
	})
}

func (p *planner) hostDrift() {
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.roster.ByName[want.Name]
		if have == nil || !have.Inventory.Known || membershipOf(have) == joining {
			continue
		}
		id := ""
		if disk, err := resolveDisk(want.Disk.Hints, have.Inventory.Disks, p.hostSettings.diskChooser(want, have)); err == nil && disk != nil {
			id = disk.ID // a disk that has been installed on may fit no more
		}
		keep, err := resolveKeep(want.Disk.Keep, have.Inventory.Disks)
		settings := p.hostSettings.ofHost(want, have, id, keep)
		if err != nil {
			delete(settings, model.SettingKeepDisks)
		}
		for _, d := range setting.Differences(settings, have.Settings) {
			if d.Known {
				p.reportDriftOf(model.HostScope(want.Name), hostField(want.Name)+string(d.Setting), d, late)
			}
		}
	}
}
