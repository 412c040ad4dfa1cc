package decide

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/setting"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// configureCluster brings the cluster's own settings to what the file says:
// before any host registers, since some can't be changed after.
func (p *planner) configureCluster() {
	p.remark()
	want := setting.OfCluster(p.spec)
	delete(want, model.SettingTags) // the service takes them at registration only
	update := model.Action{
		Key: "cluster/update", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: p.cluster.ID, Name: p.name(),
		Reason: "the cluster differs from the file", Settings: model.Settings{},
	}
	for _, d := range p.clusterDifferences(want) {
		if p.toWrite(d) && !p.barredByImage(d) {
			update.Settings[d.Setting] = d.Want
			update.Changes = append(update.Changes, changeOf(d, ""))
		}
	}
	if bundles := want[model.SettingBundles]; bundles != "" && update.Settings[model.SettingOperators] != "" {
		update.Settings[model.SettingBundles] = bundles // both together are what there shall be
	}
	if !p.cluster.Owned {
		tags, change := p.ownMark()
		update.Settings[model.SettingTags] = tags
		update.Changes = append(update.Changes, change)
	}
	if len(update.Settings) > 0 {
		p.act(update)
	}
	p.overrides()
	p.manifests()
	p.ignored()
}

// overrides sends what has no field of its own as install-config overrides.
func (p *planner) overrides() {
	want, err := p.spec.InstallConfigOverrides()
	if err != nil {
		p.block(model.Blocker{
			Key: "cluster/overrides", Scope: model.ScopeCluster, Reason: "BadOverrides", Cure: model.CureNow, Field: string(model.SettingInstallConfigOverrides),
			Message: fmt.Sprintf("make the install-config overrides: %v", err), Remedy: "{validate -f FILE}",
		})
		return
	}
	settings := model.Settings{model.SettingInstallConfigOverrides: model.ValueOf(want)}
	if want == "" {
		return // an absent field is left alone
	}
	for _, d := range setting.Differences(settings, p.cluster.Settings) {
		p.act(model.Action{
			Key: "cluster/overrides", Scope: model.ScopeCluster, Kind: model.SetOverrides, Target: p.cluster.ID, Name: p.name(),
			Reason: "the install-config overrides differ from the file", Settings: settings, Changes: []model.Change{changeOf(d, "")},
		})
	}
}

// resend sends again the secrets that the service does not give back to be
// compared. It can't be seen whether that was done: memory has it.
func (p *planner) resend() {
	if !p.desired.Options.ResendSecrets || !p.idle() {
		return
	}
	send := func(scope model.Scope, kind model.Kind, target, infraEnv, name string, secrets model.Settings) {
		key := string(scope) + model.ResendSuffix
		if p.memory.Resent[key] {
			return
		}
		p.act(model.Action{
			Key: key, Scope: scope, Kind: kind, Target: target, InfraEnv: infraEnv, Name: name, Reason: "--resend-secrets",
			Settings: secrets, Changes: redactedChanges(secrets),
		})
	}
	pullSecret := model.Settings{model.SettingPullSecret: model.ValueOf(resent)}
	send(model.ScopeCluster, model.UpdateCluster, p.cluster.ID, "", p.name(), pullSecret)
	for _, env := range p.observed.InfraEnvs {
		if env.Owned && p.mayResend(&env) {
			send(model.ScopeInfraEnv.Of(env.Name), model.UpdateInfraEnv, env.ID, "", env.Name, pullSecret)
		}
	}
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		secrets := setting.Secrets(setting.OfHost(want, "", nil))
		if have := p.matches.ByName[want.Name]; have != nil && len(secrets) > 0 {
			send(model.ScopeHost.Of(want.Name), model.UpdateHost, have.ID, have.InfraEnvID, want.Name, secrets)
		}
	}
}

// manifests uploads the extra manifests that the service has not, or not so.
func (p *planner) manifests() {
	for _, m := range p.spec.ManifestFiles() {
		name := string(m.Folder) + "/" + m.Name
		have, there := p.cluster.Manifests[name]
		sum := model.Digest([]byte(m.Content))
		if there && (have == "" || have == sum) {
			continue
		}
		p.act(model.Action{
			Key: "cluster/manifest/" + name, Scope: model.ScopeCluster, Kind: model.UploadManifest, Target: p.cluster.ID, Name: name,
			Reason:  "the service does not have this manifest",
			Changes: []model.Change{{Field: "spec.manifests", To: name}},
		})
	}
	p.surplusManifests()
}

// surplusManifests removes, from a cluster that oaictl has made, the manifests that users uploaded where the file says
// that there are none. Where the file names some, others are only reported, since the service does not say who uploaded
// them. Where the file does not mention manifests, all are left alone.
func (p *planner) surplusManifests() {
	if p.spec.Spec.Manifests == nil || !p.cluster.Owned {
		return
	}
	named := map[string]bool{}
	for _, m := range p.spec.ManifestFiles() {
		named[string(m.Folder)+"/"+m.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(p.cluster.Manifests)) {
		switch {
		case named[name]:
		case len(p.spec.Spec.Manifests) > 0:
			p.warn(model.Warning{
				Key: "manifest/" + name, Scope: model.ScopeCluster, Reason: "Drift",
				Message: fmt.Sprintf("the service has the manifest %s, which the file does not name; it goes into the cluster", name),
			})
		default:
			p.act(model.Action{
				Key: "cluster/manifest/" + name + "/remove", Scope: model.ScopeCluster, Kind: model.RemoveManifest, Target: p.cluster.ID, Name: name,
				Reason: "the file says that there are no manifests", Changes: []model.Change{{Field: "spec.manifests", From: name}},
			})
		}
	}
}

// ignored sets which validations may fail.
func (p *planner) ignored() {
	settings := setting.IgnoredOf(p.spec)
	for _, d := range setting.Differences(settings, p.cluster.Settings) {
		p.act(model.Action{
			Key: "cluster/ignore", Scope: model.ScopeCluster, Kind: model.IgnoreValidations, Target: p.cluster.ID, Name: p.name(),
			Reason: "the ignored validations differ from the file", Settings: settings, Changes: []model.Change{changeOf(d, "")},
		})
	}
}
