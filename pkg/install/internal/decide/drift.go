package decide

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// drift reports what the file says differently once it is too late to write that.
type drift struct {
	*collector
	options         *model.Options
	spec            *spec.Cluster
	cluster         *model.Cluster
	roster          *roster
	images          *images
	hostSettings    *hostSettings
	clusterSettings *clusterSettings
}

// late is why a difference is reported and not removed once the install runs.
const late = "cannot be changed after the installation was started"

// report reports what the file says differently once it is too late,
// of the cluster, its images and its hosts.
func (dr *drift) report() {
	want := clustersettings.OfCluster(dr.spec)
	delete(want, model.SettingTags)
	if overrides, err := dr.spec.InstallConfigOverrides(); err == nil && overrides != "" && !dr.spec.OnlyAdds() {
		want[model.SettingInstallConfigOverrides] = model.ValueOf(overrides)
	}
	maps.Copy(want, clustersettings.IgnoredOf(dr.spec))
	reported := map[model.Setting]bool{}
	for _, d := range dr.clusterSettings.differences(want) {
		if d.Known {
			reported[d.Setting] = true
			dr.reportDrift(model.ScopeCluster, d, late)
		}
	}
	dr.ofManifests()
	if !dr.options.AddNodes { // hosts boot an image of their own then
		dr.ofImages(reported)
	}
	dr.ofHosts()
	if dr.options.ResendSecrets {
		dr.warn(model.Warning{
			Key: "drift/secrets", Scope: model.ScopeCluster, Reason: "Drift", Message: "the secrets are not sent again: they " + late,
		})
	}
}

func (dr *drift) ofManifests() {
	if dr.cluster.Manifests == nil {
		return // not read
	}
	for _, m := range dr.spec.ManifestFiles() {
		name := string(m.Folder) + "/" + m.Name
		have, there := dr.cluster.Manifests[name]
		switch {
		case !there:
			dr.warn(model.Warning{Key: "drift/manifest/" + name, Scope: model.ScopeCluster, Reason: "Drift",
				Message: fmt.Sprintf("the service does not have the manifest %s; it %s", name, late)})
		case have != "" && have != model.Digest([]byte(m.Content)):
			dr.warn(model.Warning{Key: "drift/manifest/" + name, Scope: model.ScopeCluster, Reason: "Drift",
				Message: fmt.Sprintf("the manifest %s in the service differs from the file; it %s", name, late)})
		}
	}
}

// ofImages reports of the InfraEnvs what was not reported of the cluster.
func (dr *drift) ofImages(reported map[model.Setting]bool) {
	intended, err := dr.images.plans(dr.spec.AtInstall())
	if err != nil || dr.spec.Spec.InfraEnv.Ref != "" {
		return
	}
	for _, image := range intended {
		env := dr.images.infraEnv(image.Name)
		if env == nil {
			continue
		}
		if dr.spec.Spec.InfraEnv.Bind != spec.BindLate {
			delete(image.Settings, model.SettingOSVersion) // of hosts that are added
		}
		for _, d := range imageDifferences(image.Settings, env) {
			field, own := dr.images.field(image, d.Setting)
			if d.Known && (own || !reported[d.Setting]) && !dr.networksAdded(d, env) {
				dr.reportDriftOf(model.ScopeInfraEnv.Of(env.Name), field, d, late)
			}
		}
	}
}

// networksAdded reports whether a difference is only that the networks of hosts that were added have come into an image
// that the cluster was installed with.
func (dr *drift) networksAdded(d clustersettings.Difference, env *model.InfraEnv) bool {
	whole, err := dr.images.plans(dr.spec)
	return err == nil && d.Setting == model.SettingStaticNetworks && slices.ContainsFunc(whole, func(image model.InfraEnvPlan) bool {
		return image.Name == env.Name && clustersettings.Same(d.Setting, image.Settings[d.Setting], d.Have)
	})
}

func (dr *drift) ofHosts() {
	for i := range dr.spec.Spec.Hosts {
		want := &dr.spec.Spec.Hosts[i]
		have := dr.roster.ByName[want.Name]
		if have == nil || !have.Inventory.Known || membershipOf(have) == joining {
			continue
		}
		id := ""
		if disk, err := resolveDisk(want.Disk.Hints, have.Inventory.Disks, dr.hostSettings.diskChooser(want, have)); err == nil && disk != nil {
			id = disk.ID // a disk that has been installed on may fit no more
		}
		keep, err := resolveKeep(want.Disk.Keep, have.Inventory.Disks)
		settings := dr.hostSettings.ofHost(want, have, id, keep)
		if err != nil {
			delete(settings, model.SettingKeepDisks)
		}
		for _, d := range clustersettings.Differences(settings, have.Settings) {
			if d.Known {
				dr.reportDriftOf(model.ScopeHost.Of(want.Name), hostField(want.Name)+string(d.Setting), d, late)
			}
		}
	}
}
