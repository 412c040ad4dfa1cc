// Package infraenv says which InfraEnvs a cluster.yaml asks for, and which of them each host
// boots: by the architectures of the hosts, and by how many static networks one image holds.
package infraenv

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Plan is an InfraEnv that the file asks for.
type Plan struct {
	// Name is the cluster's for the first, and the cluster's with a number, from
	// 2, for further ones.
	Name string
	// Arch is the CPU architecture of its machines, "" for the service's own.
	Arch spec.Arch
	// Hosts are the names of the hosts that boot its image.
	Hosts []string
	// Settings are what the InfraEnv shall hold, the static networks of those
	// hosts among them.
	Settings model.Settings
}

// Plans are the InfraEnvs of a cluster: one, or one for each CPU
// architecture where the cluster's is multi, and further ones where the static
// networks of the hosts do not fit into the discovery Ignition of one. have are
// those that the service has already: a host whose network is in one of them
// stays there. The same file and the same InfraEnvs always give the same plans,
// and a plan that is carried out in part is gone on with.
func Plans(c *spec.Cluster, have []model.InfraEnv) ([]Plan, error) {
	arches, byArch := archesOf(c)
	own, taken := newOwnEnvs(c.Metadata.Name, have), map[int]bool{}
	var plans []Plan
	for place, arch := range arches {
		settings, err := setting.OfInfraEnv(c, arch)
		if err != nil {
			return nil, err
		}
		s := &split{own: own, taken: taken, seats: map[int][]seat{}, room: sync.OnceValue(func() int { return networkRoom(settings) })}
		s.fits = func(number int) bool {
			if len(arches) == 1 {
				return true
			}
			if reported := own[number].Settings[setting.Arch].Text(); reported != "" {
				return reported == string(arch)
			}
			return number == place+1
		}
		s.distribute(byArch[arch])
		for _, number := range slices.Sorted(maps.Keys(s.seats)) {
			taken[number] = true
			plan := Plan{Name: NameOf(c.Metadata.Name, number), Arch: arch, Settings: maps.Clone(settings)}
			for _, h := range s.seats[number] {
				plan.Hosts = append(plan.Hosts, h.name)
			}
			if networks := networksOf(s.seats[number]); len(networks) > 0 {
				plan.Settings[setting.StaticNetworks] = setting.ValueOf(networks)
			}
			plans = append(plans, plan)
		}
	}
	return plans, nil
}

// archesOf are the architectures of the machines, x86_64 first whatever else
// there is, and their hosts in the order of the file.
func archesOf(c *spec.Cluster) (arches []spec.Arch, byArch map[spec.Arch][]seat) {
	byArch = map[spec.Arch][]seat{}
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		arch := imageArch(c, host.Arch)
		byArch[arch] = append(byArch[arch], seat{place: i, name: host.Name, network: staticNetworkOf(c, host)})
	}
	if len(byArch) == 0 {
		byArch[imageArch(c, "")] = nil
	}
	arches = slices.SortedFunc(maps.Keys(byArch), func(a, b spec.Arch) int {
		switch { // the most common one first
		case a == b:
			return 0
		case a == spec.X86:
			return -1
		case b == spec.X86:
			return 1
		}
		return cmp.Compare(a, b)
	})
	return arches, byArch
}

// staticNetworkOf is the network of a host, nil where its network says itself
// what it is.
func staticNetworkOf(c *spec.Cluster, host *spec.Host) *setting.StaticNetwork {
	yaml, macs, ok := c.StaticNetwork(host)
	if !ok {
		return nil
	}
	network := &setting.StaticNetwork{YAML: yaml}
	for _, mac := range macs {
		network.MACs = append(network.MACs, spec.NIC{MAC: setting.MAC(mac.MAC), Name: mac.Name})
	}
	return network
}

// imageArch is the architecture of the image that a host boots: its own in a
// cluster of several, otherwise the cluster's.
func imageArch(c *spec.Cluster, host spec.Arch) spec.Arch {
	arch := c.Spec.OpenShift.Arch
	if arch == spec.Multi {
		return cmp.Or(host, spec.X86)
	}
	return arch
}

// Serves says whether an InfraEnv's image runs on the machines of an intended one.
func (i *Plan) Serves(env *model.InfraEnv) bool {
	arch := env.Settings[setting.Arch].Text()
	return i.Arch == "" || arch == "" || arch == string(i.Arch)
}

// HeldBy says whether an InfraEnv is for the hosts of a plan, where several are
// for machines of one architecture: it holds their networks.
func (i *Plan) HeldBy(env *model.InfraEnv, intended []Plan) bool {
	alike := 0
	for _, other := range intended {
		if other.Arch == i.Arch {
			alike++
		}
	}
	if alike == 1 {
		return true
	}
	var have, want []setting.StaticNetwork
	_ = env.Settings[setting.StaticNetworks].Decode(&have) // none where the service says none
	_ = i.Settings[setting.StaticNetworks].Decode(&want)
	held := map[string]bool{}
	for _, n := range have {
		held[setting.MAC(setting.FirstMAC(n))] = true
	}
	return len(want) == 0 && len(have) == 0 || slices.ContainsFunc(want, func(n setting.StaticNetwork) bool { return held[setting.MAC(setting.FirstMAC(n))] })
}
