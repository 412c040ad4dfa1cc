package service

import (
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// minimum is what any machine must have, whatever becomes of it.
func minimum() versions.Hardware {
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

// requirementsFor is what a host needs for its role in its cluster, with what
// the cluster's operators add.
func requirementsFor(c *model.Cluster, role string) versions.Hardware {
	if c == nil {
		return versions.RoleHardware("", versions.Worker)
	}
	operators := c.OperatorNames()
	if hardwareRole(c, role) == versions.Master && workersAsked(c) >= 2 { // whose volumes are on the workers
		operators = slices.DeleteFunc(operators, func(name string) bool { return name == "lvm" })
	}
	return versions.HostHardware(c.OpenshiftVersion, hardwareRole(c, role), operators)
}
