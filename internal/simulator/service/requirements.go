package service

import (
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// minimum is what any machine must have, whatever becomes of it.
func minimum() versions.Hardware {
	return versions.Hardware{CPUCores: 2, DiskGB: 50, RAMMiB: 8192}
}

// hardwareRole is the role as the requirements know it.
func hardwareRole(c *cluster, role string) string {
	if c != nil && c.isSingle() && !c.isDay2() {
		return versions.SingleNode
	}
	switch role {
	case roleMaster, roleBootstrap:
		return versions.Master
	case roleArbiter:
		return versions.Arbiter
	}
	return versions.Worker
}

// requirementsFor is what a host needs for its role in its cluster, with what
// the cluster's operators add.
func requirementsFor(c *cluster, role string) versions.Hardware {
	if c == nil {
		return versions.RoleHardware("", versions.Worker)
	}
	operators := c.operatorNames()
	if hardwareRole(c, role) == versions.Master && c.workersAsked() >= 2 { // whose volumes are on the workers
		operators = slices.DeleteFunc(operators, func(name string) bool { return name == "lvm" })
	}
	return versions.HostHardware(c.OpenshiftVersion, hardwareRole(c, role), operators)
}

// operatorNames lists the OLM operators that the cluster will have.
func (c *cluster) operatorNames() []string {
	var names []string
	for _, o := range c.MonitoredOperators {
		if o.OperatorType == "olm" {
			names = append(names, o.Name)
		}
	}
	return names
}
