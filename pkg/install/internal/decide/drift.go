package decide

import (
	"fmt"
	"maps"
	"net/netip"
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
	for _, d := range p.clusterDifferences(want) {
		if d.Known {
			reported[d.Setting] = true
			p.drift(model.ScopeCluster, d, late)
		}
	}
	p.manifestDrift()
	if !p.desired.Options.AddNodes { // hosts boot an image of their own then
		p.imageDrift(reported)
	}
	p.hostDrift()
	if p.desired.Options.ResendSecrets {
		p.warn(model.Warning{
			Key: "drift/secrets", Scope: model.ScopeCluster, Reason: "Drift", Message: "the secrets are not sent again: they " + late,
		})
	}
}

// clusterDifferences compares the cluster with the file. What its service keeps
// with the images only is compared there. Workers are counted when the install
// starts: those that are not required may not have come.
func (p *planner) clusterDifferences(want model.Settings) []setting.Difference {
	for _, setting := range p.cluster.ImageOnly {
		delete(want, setting)
	}
	if slices.Contains(p.cluster.Changeable, model.SettingArbiters) && !p.spec.OnlyAdds() {
		want[model.SettingArbiters] = model.ValueOf(p.spec.ArbiterCount())
	}
	return slices.DeleteFunc(setting.Differences(want, p.cluster.Settings), func(d setting.Difference) bool {
		if slices.Contains(p.cluster.ImageOnly, d.Setting) { // what excludes one that is wanted
			return true
		}
		if d.Setting != model.SettingHyperthreading || !d.Known || p.spec.ArbiterCount() > 0 {
			return false
		}
		var want, have spec.RoleSet
		if d.Want.Decode(&want) != nil || d.Have.Decode(&have) != nil {
			return false
		}
		w, h := setting.Roles(want), setting.Roles(have)
		delete(w, string(spec.Arbiter)) // the topology has no arbiters
		delete(h, string(spec.Arbiter))
		return maps.Equal(w, h)
	})
}

// keeping says what the service does with a setting of the cluster before the
// install. To be a single node is frozen, wherever the number of machines may
// change: the service has another kind of cluster for it (REST field
// high_availability_mode).
func (p *planner) keeping(d setting.Difference) model.Keeping {
	if now, said := p.cluster.Keeping[d.Setting]; said {
		return now
	}
	one := model.ValueOf(1)
	if slices.Contains(p.cluster.Changeable, d.Setting) && (d.Setting != model.SettingControlPlane || (d.Want == one) == (d.Have == one)) {
		return model.KeptAsWritten
	}
	return setting.RuleOf(d.Setting).Cluster
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
	first := *p
	first.spec = p.spec.AtInstall()
	intended, err := first.infraEnvPlans()
	if err != nil || p.spec.Spec.InfraEnv.Ref != "" {
		return
	}
	for _, image := range intended {
		env := p.infraEnv(image.Name)
		if env == nil {
			continue
		}
		if p.spec.Spec.InfraEnv.Bind != spec.BindLate {
			delete(image.Settings, model.SettingOSVersion) // of hosts that are added
		}
		for _, d := range imageDifferences(image.Settings, env) {
			field, own := p.imageField(image, d.Setting)
			if d.Known && (own || !reported[d.Setting]) && !p.networksAdded(d, env) {
				p.driftOf(model.ScopeInfraEnv.Of(env.Name), field, d, late)
			}
		}
	}
}

// networksAdded reports whether a difference is only that the networks of hosts that were added have come into an image
// that the cluster was installed with.
func (p *planner) networksAdded(d setting.Difference, env *model.InfraEnv) bool {
	whole, err := p.infraEnvPlans()
	return err == nil && d.Setting == model.SettingStaticNetworks && slices.ContainsFunc(whole, func(image model.InfraEnvPlan) bool {
		return image.Name == env.Name && setting.Same(d.Setting, image.Settings[d.Setting], d.Have)
	})
}

func (p *planner) hostDrift() {
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.matches.ByName[want.Name]
		if have == nil || !have.Inventory.Known || membershipOf(have) == joining {
			continue
		}
		id := ""
		if disk, err := resolveDisk(want.Disk.Hints, have.Inventory.Disks, p.diskChooser(want, have)); err == nil && disk != nil {
			id = disk.ID // a disk that has been installed on may fit no more
		}
		keep, err := resolveKeep(want.Disk.Keep, have.Inventory.Disks)
		settings := p.ofHost(want, have, id, keep)
		if err != nil {
			delete(settings, model.SettingKeepDisks)
		}
		for _, d := range setting.Differences(settings, have.Settings) {
			if d.Known {
				p.driftOf(model.ScopeHost.Of(want.Name), p.hostField(want.Name)+string(d.Setting), d, late)
			}
		}
	}
}

// toWrite reports whether a difference of the cluster is to be written now. It reports those that cannot be.
func (p *planner) toWrite(d setting.Difference) bool {
	switch p.keeping(d) {
	case model.KeptFrozen:
		if d.Known {
			p.drift(model.ScopeCluster, d, "cannot be changed after the cluster was registered")
		}
		return false
	case model.KeptCleared:
		return false
	case model.KeptDerived:
		p.derived(d)
		return false
	case model.KeptNotYet:
		return p.reachesHosts(d)
	}
	return true
}

// derived reports machine networks that the service derived from the virtual addresses and the hosts, and that differ
// from the file. Before a host has reported its networks, the machine networks belong to no host, and other virtual
// addresses change them.
func (p *planner) derived(d setting.Difference) {
	if len(p.hostNetworks()) == 0 || p.movesVIPs() {
		return
	}
	if file := setting.Texts(d.Want); !slices.ContainsFunc(setting.Texts(d.Have), func(cidr string) bool { return !containsPrefix(file, cidr) }) {
		p.drift(model.ScopeCluster, d, "is worked out of the virtual addresses and the hosts' networks by the service")
		return
	}
	have := setting.Show(d.Setting, d.Have)
	p.block(model.Blocker{
		Key: "cluster/" + string(d.Setting), Scope: model.ScopeCluster, Reason: "MachineNetworkDiffers", Cure: model.CureFile, Field: string(d.Setting),
		Message: fmt.Sprintf("the virtual addresses and the hosts lie in %s, and the file says %s; the service works the machine network out of them, and takes it from nobody", have, setting.Show(d.Setting, d.Want)),
		Remedy:  model.Advicef("write %s to %s, or give the hosts and spec.network.vips addresses in the network that the file says", have, d.Setting),
	})
}

// movesVIPs reports whether the file has other virtual addresses than the service.
func (p *planner) movesVIPs() bool {
	want := setting.OfCluster(p.spec)
	return slices.ContainsFunc([]model.Setting{model.SettingAPIVIPs, model.SettingIngressVIPs}, func(s model.Setting) bool {
		value, said := want[s]
		return said && !setting.Same(s, value, p.cluster.Settings[s])
	})
}

func containsPrefix(list []string, cidr string) bool {
	return slices.ContainsFunc(list, func(text string) bool { return setting.Prefix(text) == setting.Prefix(cidr) })
}

// reachesHosts reports whether a host has the network of the virtual addresses of the file: the service takes other
// ones only then. Until the hosts are there that is waited for.
func (p *planner) reachesHosts(d setting.Difference) bool {
	vips := slices.Concat(p.spec.Spec.Network.VIPs.API, p.spec.Spec.Network.VIPs.Ingress)
	if len(vips) == 0 {
		return true // they are taken away
	}
	networks := p.hostNetworks()
	first, err := netip.ParseAddr(vips[0])
	if err != nil || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(first) }) {
		return true
	}
	key := "cluster/" + string(d.Setting)
	unseen := slices.ContainsFunc(p.matches.Part, func(h *model.Host) bool { return !h.Inventory.Known })
	if _, enough := p.enoughHosts(); !enough || unseen {
		p.wait(model.Wait{
			Key: key, Scope: model.ScopeCluster, Who: model.WhoMachine,
			For: fmt.Sprintf("a host with an address in the network of %s: before, the service takes no change of %s", vips[0], d.Setting),
		})
		return false
	}
	return false // networks says why
}

// hostNetworks are the networks that the hosts have shown, sorted.
func (p *planner) hostNetworks() []netip.Prefix {
	var out []netip.Prefix
	for i := range p.observed.Hosts {
		for _, nic := range p.observed.Hosts[i].Inventory.Interfaces {
			for _, text := range nic.Addresses {
				prefix, err := netip.ParsePrefix(text)
				if err == nil && !prefix.Addr().IsLinkLocalUnicast() {
					out = append(out, prefix.Masked())
				}
			}
		}
	}
	slices.SortFunc(out, netip.Prefix.Compare)
	return slices.Compact(out)
}
