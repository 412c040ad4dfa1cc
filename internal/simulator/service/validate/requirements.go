package validate

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// minimumHardware is what any machine must have, whatever becomes of it.
func minimumHardware() versions.Hardware {
	return versions.Hardware{CPUCores: 2, DiskGB: 50, RAMMiB: 8192}
}

// hardwareRole is the role as the requirements know it.
func hardwareRole(c *model.Cluster, role string) string {
	if c != nil && c.IsSingle() && !c.IsDay2() {
		return versions.SingleNode
	}
	switch role {
	case model.RoleMaster, model.RoleBootstrap:
		return versions.Master
	case model.RoleArbiter:
		return versions.Arbiter
	}
	return versions.Worker
}

// Requirements is what a host needs for its role in its cluster, with what the cluster's operators add.
func Requirements(c *model.Cluster, role string) versions.Hardware {
	if c == nil {
		return versions.RoleHardware("", versions.Worker)
	}
	operators := c.OperatorNames()
	if hardwareRole(c, role) == versions.Master && WorkersAsked(c) >= 2 { // whose volumes are on the workers
		operators = slices.DeleteFunc(operators, func(name string) bool { return name == "lvm" })
	}
	return versions.HostHardware(c.OpenshiftVersion, hardwareRole(c, role), operators)
}

// OperatorHardware is what one operator needs on top of the role's own needs.
func OperatorHardware(version, role, operator string) versions.Hardware {
	with, without := versions.HostHardware(version, role, []string{operator}), versions.RoleHardware(version, role)
	return versions.Hardware{CPUCores: with.CPUCores - without.CPUCores, RAMMiB: with.RAMMiB - without.RAMMiB, DiskGB: with.DiskGB - without.DiskGB}
}

// StrongEnough tells whether a host has what the role needs.
func StrongEnough(c *model.Cluster, h *model.Host, role string) bool {
	need := Requirements(c, role)
	return h.Inv != nil && h.Inv.CPU != nil && h.Inv.Memory != nil && h.Inv.CPU.Count >= need.CPUCores &&
		h.Inv.Memory.PhysicalBytes >= (need.RAMMiB-memoryTolerance)<<20
}

// WorkersAsked counts the workers, chosen or suggested.
func WorkersAsked(c *model.Cluster) int {
	_, _, workers, _ := CountRoles(c)
	return workers
}

// LightestFirst orders hosts by how much they have of everything, those with graphics cards last.
func LightestFirst(hosts []*model.Host) []*model.Host {
	sorted := slices.Clone(hosts)
	slices.SortStableFunc(sorted, func(a, b *model.Host) int {
		return cmp.Or(cmp.Compare(min(1, len(a.Inv.Gpus)), min(1, len(b.Inv.Gpus))), cmp.Compare(a.Inv.Weight(), b.Inv.Weight()))
	})
	return sorted
}
