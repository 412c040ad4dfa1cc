package decide

import (
	"fmt"
	"maps"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// clusterSettings brings the cluster to what the file says of it.
type clusterSettings struct {
	*collector
	options      *model.Options
	spec         *spec.Cluster
	name         string
	have         []model.InfraEnv
	resent       map[string]bool
	cluster      *model.Cluster
	roster       *roster
	infraEnvs    *infraEnvs
	networks     *networks
	registration *registration
}

// configure brings the cluster's own settings to what the file says:
// before any host registers, since some can't be changed after.
func (s *clusterSettings) configure() {
	s.registration.remark()
	want := clustersettings.OfCluster(s.spec)
	delete(want, model.SettingTags) // the service takes them at registration only
	update := model.Action{
		Key: "cluster/update", Scope: model.ScopeCluster, Kind: model.UpdateCluster, Target: s.cluster.ID, Name: s.name,
		Reason: "the cluster differs from the file", Settings: model.Settings{},
	}
	for _, d := range s.differences(want) {
		if s.toWrite(d) && !s.infraEnvs.barredByImage(d) {
			update.Settings[d.Setting] = d.Want
			update.Changes = append(update.Changes, changeOf(d, ""))
		}
	}
	if bundles := want[model.SettingBundles]; bundles != "" && update.Settings[model.SettingOperators] != "" {
		update.Settings[model.SettingBundles] = bundles // both together are what there shall be
	}
	if !s.cluster.Owned {
		tags, change := s.registration.ownMark()
		update.Settings[model.SettingTags] = tags
		update.Changes = append(update.Changes, change)
	}
	if len(update.Settings) > 0 {
		s.act(update)
	}
	s.overrides()
	s.manifests()
	s.ignored()
}

// overrides sends what has no field of its own as install-config overrides.
func (s *clusterSettings) overrides() {
	want, err := s.spec.InstallConfigOverrides()
	if err != nil {
		s.block(model.Blocker{
			Key: "cluster/overrides", Scope: model.ScopeCluster, Reason: "BadOverrides", Cure: model.CureNow,
			Field:   string(model.SettingInstallConfigOverrides),
			Message: fmt.Sprintf("make the install-config overrides: %v", err), Remedy: "{validate -f FILE}",
		})
		return
	}
	settings := model.Settings{model.SettingInstallConfigOverrides: model.ValueOf(want)}
	if want == "" {
		return // an absent field is left alone
	}
	for _, d := range clustersettings.Differences(settings, s.cluster.Settings) {
		s.act(model.Action{
			Key: "cluster/overrides", Scope: model.ScopeCluster, Kind: model.SetOverrides, Target: s.cluster.ID, Name: s.name,
			Reason: "the install-config overrides differ from the file", Settings: settings, Changes: []model.Change{changeOf(d, "")},
		})
	}
}

// resend sends again the secrets that the service does not give back to be
// compared. It can't be seen whether that was done: memory has it.
func (s *clusterSettings) resend() {
	if !s.options.ResendSecrets || !s.idle() {
		return
	}
	send := func(scope model.Scope, kind model.Kind, target, infraEnv, name string, secrets model.Settings) {
		key := string(scope) + model.ResendSuffix
		if s.resent[key] {
			return
		}
		s.act(model.Action{
			Key: key, Scope: scope, Kind: kind, Target: target, InfraEnv: infraEnv, Name: name, Reason: "--resend-secrets",
			Settings: secrets, Changes: redactedChanges(secrets),
		})
	}
	pullSecret := model.Settings{model.SettingPullSecret: model.ValueOf(resent)}
	send(model.ScopeCluster, model.UpdateCluster, s.cluster.ID, "", s.name, pullSecret)
	for _, env := range s.have {
		if env.Owned && s.infraEnvs.mayResend(&env) {
			send(model.ScopeInfraEnv.Of(env.Name), model.UpdateInfraEnv, env.ID, "", env.Name, pullSecret)
		}
	}
	for i := range s.spec.Spec.Hosts {
		want := &s.spec.Spec.Hosts[i]
		secrets := clustersettings.Secrets(clustersettings.OfHost(want, "", nil))
		if have := s.roster.ByName[want.Name]; have != nil && len(secrets) > 0 {
			send(model.ScopeHost.Of(want.Name), model.UpdateHost, have.ID, have.InfraEnvID, want.Name, secrets)
		}
	}
}

// manifests uploads the extra manifests that the service has not, or not so.
func (s *clusterSettings) manifests() {
	for _, m := range s.spec.ManifestFiles() {
		name := string(m.Folder) + "/" + m.Name
		have, there := s.cluster.Manifests[name]
		sum := model.Digest([]byte(m.Content))
		if there && (have == "" || have == sum) {
			continue
		}
		s.act(model.Action{
			Key: "cluster/manifest/" + name, Scope: model.ScopeCluster, Kind: model.UploadManifest, Target: s.cluster.ID, Name: name,
			Reason:  "the service does not have this manifest",
			Changes: []model.Change{{Field: "spec.manifests", To: name}},
		})
	}
	s.surplusManifests()
}

// surplusManifests removes, from a cluster that oaictl has made, the manifests that users uploaded where the file says
// that there are none. Where the file names some, others are only reported, since the service does not say who uploaded
// them. Where the file does not mention manifests, all are left alone.
func (s *clusterSettings) surplusManifests() {
	if s.spec.Spec.Manifests == nil || !s.cluster.Owned {
		return
	}
	named := map[string]bool{}
	for _, m := range s.spec.ManifestFiles() {
		named[string(m.Folder)+"/"+m.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.cluster.Manifests)) {
		switch {
		case named[name]:
		case len(s.spec.Spec.Manifests) > 0:
			s.warn(model.Warning{
				Key: "manifest/" + name, Scope: model.ScopeCluster, Reason: "Drift",
				Message: fmt.Sprintf("the service has the manifest %s, which the file does not name; the cluster will get it", name),
			})
		default:
			s.act(model.Action{
				Key: "cluster/manifest/" + name + "/remove", Scope: model.ScopeCluster, Kind: model.RemoveManifest, Target: s.cluster.ID, Name: name,
				Reason: "the file says that there are no manifests", Changes: []model.Change{{Field: "spec.manifests", From: name}},
			})
		}
	}
}

// ignored sets which validations may fail.
func (s *clusterSettings) ignored() {
	settings := clustersettings.IgnoredOf(s.spec)
	for _, d := range clustersettings.Differences(settings, s.cluster.Settings) {
		s.act(model.Action{
			Key: "cluster/ignore", Scope: model.ScopeCluster, Kind: model.IgnoreValidations, Target: s.cluster.ID, Name: s.name,
			Reason: "the ignored validations differ from the file", Settings: settings, Changes: []model.Change{changeOf(d, "")},
		})
	}
}

// differences compares the cluster with the file. What its service keeps
// with the images only is compared there. Workers are counted when the install
// starts: those that are not required may not have come.
func (s *clusterSettings) differences(want model.Settings) []clustersettings.Difference {
	for _, setting := range s.cluster.ImageOnly {
		delete(want, setting)
	}
	if slices.Contains(s.cluster.Changeable, model.SettingArbiters) && !s.spec.OnlyAdds() {
		want[model.SettingArbiters] = model.ValueOf(s.spec.ArbiterCount())
	}
	return slices.DeleteFunc(clustersettings.Differences(want, s.cluster.Settings), func(d clustersettings.Difference) bool {
		if slices.Contains(s.cluster.ImageOnly, d.Setting) { // what excludes one that is wanted
			return true
		}
		if d.Setting != model.SettingHyperthreading || !d.Known || s.spec.ArbiterCount() > 0 {
			return false
		}
		var want, have spec.RoleSet
		if d.Want.Decode(&want) != nil || d.Have.Decode(&have) != nil {
			return false
		}
		w, h := clustersettings.Roles(want), clustersettings.Roles(have)
		delete(w, string(spec.Arbiter)) // the topology has no arbiters
		delete(h, string(spec.Arbiter))
		return maps.Equal(w, h)
	})
}

// keeping says what the service does with a setting of the cluster before the
// install. To be a single node is frozen, wherever the number of machines may
// change: the service has another kind of cluster for it (REST field
// high_availability_mode).
func (s *clusterSettings) keeping(d clustersettings.Difference) model.Keeping {
	if now, said := s.cluster.Keeping[d.Setting]; said {
		return now
	}
	one := model.ValueOf(1)
	if slices.Contains(s.cluster.Changeable, d.Setting) && (d.Setting != model.SettingControlPlane || (d.Want == one) == (d.Have == one)) {
		return model.KeptAsWritten
	}
	return clustersettings.RuleOf(d.Setting).Cluster
}

// toWrite reports whether a difference of the cluster is to be written now. It reports those that cannot be.
func (s *clusterSettings) toWrite(d clustersettings.Difference) bool {
	switch s.keeping(d) {
	case model.KeptFrozen:
		if d.Known {
			s.reportDrift(model.ScopeCluster, d, "cannot be changed after the cluster was registered")
		}
		return false
	case model.KeptCleared:
		return false
	case model.KeptDerived:
		s.networks.derived(d)
		return false
	case model.KeptNotYet:
		return s.networks.reachesHosts(d)
	}
	return true
}
