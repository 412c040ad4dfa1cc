package validate

import (
	"cmp"
	"slices"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// What the validations of the operators need.
const (
	storageHosts  = 3  // that OpenShift Data Foundation runs on
	storageDiskGB = 25 // the least that a disk for it has
	minAIWorkers  = 2
)

// operators judges what each operator needs. A need that is met says nothing.
func (s subject[E]) operators(e E, c *model.Cluster, needs map[string]need) (checks []model.Check) {
	for _, o := range Operators() {
		check := model.Check{Category: "operators", ID: o.ID, Status: model.Passed, Message: o.Name + " is disabled"}
		n, needy := needs[o.Name]
		switch {
		case !c.HasOperator(o.Name):
			n.Besides = nil
		case needy:
			check.Status, check.Message = s.outcome(e, rule{Verdicts: n.Verdicts})
		default:
			check.Message = ""
		}
		checks = append(append(checks, check), s.judge(e, n.Besides)...)
	}
	return checks
}

func storageMode(c *model.Cluster) string {
	masters, arbiters, workers, _ := CountRoles(c)
	plane := masters >= 3 || masters >= 2 && arbiters > 0
	switch {
	case plane && workers == 0, len(c.Hosts) == storageHosts:
		return "Compact"
	case plane && workers >= storageHosts:
		return "Standard"
	}
	return ""
}

func storesData(mode, role string) bool {
	if mode == "Standard" {
		return role == model.RoleWorker
	}
	return mode == "Compact" && role != model.RoleWorker
}

// storing are the hosts that the cluster's data would be on.
func storing(c *model.Cluster) []*model.Host {
	mode := storageMode(c)
	return slices.DeleteFunc(slices.Clone(c.Hosts), func(h *model.Host) bool { return !storesData(mode, h.EffectiveRole()) })
}

func spareDisks(h *model.Host, minimumGB int64) int {
	n := 0
	for _, d := range h.Inv.Disks {
		if (d.DriveType == models.DriveTypeHDD || d.DriveType == models.DriveTypeSSD) && model.DiskID(d) != h.InstallationDiskID &&
			d.SizeBytes > 0 && d.SizeBytes >= minimumGB*1_000_000_000 {
			n++
		}
	}
	return n
}

// minimumHardware is what a machine of any role must have.
func minimumHardware() versions.Hardware {
	return versions.Hardware{CPUCores: 2, DiskGB: 50, RAMMiB: 8192}
}

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
	if hardwareRole(c, role) == versions.Master && WorkersAsked(c) >= 2 { // the volumes are on the workers
		operators = slices.DeleteFunc(operators, func(name string) bool { return name == "lvm" })
	}
	return versions.HostHardware(c.OpenshiftVersion, hardwareRole(c, role), operators)
}

// OperatorHardware is what one operator needs on top of the role's own needs.
func OperatorHardware(version, role, operator string) versions.Hardware {
	with, without := versions.HostHardware(version, role, []string{operator}), versions.RoleHardware(version, role)
	return versions.Hardware{
		CPUCores: with.CPUCores - without.CPUCores, RAMMiB: with.RAMMiB - without.RAMMiB, DiskGB: with.DiskGB - without.DiskGB,
	}
}

// StrongEnough reports whether a host has what the role needs.
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
