package install

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// InfraEnvPlan is an InfraEnv that the file asks for.
type InfraEnvPlan struct {
	// Name is the cluster's for the first, and the cluster's with a number, from
	// 2, for further ones.
	Name string
	// Arch is the CPU architecture of its machines, "" for the service's own.
	Arch spec.Arch
	// Hosts are the names of the hosts that boot its image.
	Hosts []string
	// Settings are what the InfraEnv shall hold, the static networks of those
	// hosts among them.
	Settings Settings
}

// InfraEnvPlans are the InfraEnvs of a cluster: one, or one for each CPU
// architecture where the cluster's is multi. have are those that the service
// has already.
func InfraEnvPlans(c *spec.Cluster, have []InfraEnv) ([]InfraEnvPlan, error) {
	byArch := map[spec.Arch][]*spec.Host{}
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		arch := imageArch(c, host.Arch)
		byArch[arch] = append(byArch[arch], host)
	}
	if len(byArch) == 0 {
		byArch[imageArch(c, "")] = nil
	}
	arches := make([]spec.Arch, 0, len(byArch))
	for arch := range byArch {
		arches = append(arches, arch)
	}
	slices.SortFunc(arches, func(a, b spec.Arch) int { // x86_64 first, whatever else there is
		return cmp.Or(cmp.Compare(bit(b == spec.X86), bit(a == spec.X86)), cmp.Compare(a, b))
	})

	plans := make([]InfraEnvPlan, 0, len(arches))
	for i, arch := range arches {
		plan := InfraEnvPlan{Name: c.Metadata.Name, Arch: arch}
		if i > 0 {
			plan.Name = fmt.Sprintf("%s-%d", c.Metadata.Name, i+1)
		}
		var networks []StaticNetwork
		for _, host := range byArch[arch] {
			plan.Hosts = append(plan.Hosts, host.Name)
			if yaml, macs, ok := c.StaticNetwork(host); ok {
				network := StaticNetwork{YAML: yaml}
				for _, mac := range macs {
					network.MACs = append(network.MACs, MACInterface{MAC: normaliseMAC(mac.MAC), Name: mac.LogicalName})
				}
				networks = append(networks, network)
			}
		}
		slices.SortFunc(networks, func(a, b StaticNetwork) int { return cmp.Compare(firstMAC(a), firstMAC(b)) })
		var err error
		if plan.Settings, err = infraEnvSettings(c, arch, networks); err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
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

func firstMAC(n StaticNetwork) string {
	if len(n.MACs) == 0 {
		return n.YAML
	}
	return n.MACs[0].MAC
}
