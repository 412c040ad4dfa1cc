package boot

import (
	"cmp"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostsByArch are those hosts of a file that pick names, by the architecture of what
// they boot.
func hostsByArch(c *spec.Cluster, pick func(*spec.Cluster) []*spec.Host) map[spec.Arch][]spec.Host {
	groups := map[spec.Arch][]spec.Host{}
	for _, host := range pick(c) {
		arch := archOf(c, host)
		groups[arch] = append(groups[arch], *host)
	}
	return groups
}

// archOf is the architecture of what a host boots.
func archOf(c *spec.Cluster, host *spec.Host) spec.Arch {
	if arch := c.Spec.OpenShift.Arch; arch != spec.Multi {
		return cmp.Or(arch, spec.X86)
	}
	return cmp.Or(host.Arch, spec.X86)
}

// liveArch is an architecture as live images call it.
func liveArch(arch spec.Arch) string {
	if arch == spec.ARM {
		return "aarch64"
	}
	return string(arch)
}
