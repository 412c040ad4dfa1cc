package validate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// What the validations of the operators need.
const (
	storageHosts     = 3  // that OpenShift Data Foundation runs on
	storageDiskGB    = 25 // the least that a disk for it has
	minAIWorkers     = 2
	storageRolesOpen = "Auto-assigning roles for hosts with ODF is allowed only for clusters with exactly three hosts. For other scenarios, please manually assign the host role as either a control plane node or a worker."
)

// catOperators is the category of the operators' validations.
const catOperators = "operators"

// operators judges what each operator needs of the cluster. A need that is met says nothing.
func (e *clusterCheck) operators() (list []model.Check) {
	for _, o := range Operators() {
		status, message := e.operator(o.Name)
		list = append(list, model.Check{Category: catOperators, ID: o.ID, Status: status, Message: message})
		if o.Name == "openshift-ai" && e.c.HasOperator(o.Name) {
			list = append(list, model.Check{Category: catOperators, ID: "openshift-ai-gpu-requirements-satisfied", Status: model.Passed, Message: vendorOfGPUs(e.c)})
		}
	}
	return list
}

func (e *clusterCheck) operator(name string) (status, message string) {
	if !e.c.HasOperator(name) {
		return model.Passed, name + " is disabled"
	}
	switch name {
	case "odf":
		return storageVerdict(e.c)
	case "openshift-ai":
		_, _, workers, _ := CountRoles(e.c)
		if !e.c.IsSingle() && workers < minAIWorkers {
			return model.Failed, fmt.Sprintf("OpenShift AI requires at least %d worker nodes, but the cluster has %d.", minAIWorkers, workers)
		}
	case "amd-gpu", "nvidia-gpu":
		vendor, _, _ := strings.Cut(strings.ToUpper(name), "-")
		if !slices.ContainsFunc(e.c.Hosts, func(h *model.Host) bool { return h.Inv != nil && len(h.Inv.Gpus) > 0 }) {
			return model.Failed, fmt.Sprintf("The %s GPU operator requires at least one supported %s GPU, but there is none in the discovered hosts.", vendor, vendor)
		}
	}
	return model.Passed, ""
}

func vendorOfGPUs(c *model.Cluster) string {
	if c.HasOperator("nvidia-gpu") || c.HasOperator("amd-gpu") {
		return ""
	}
	return "No GPU vendor selected - OpenShift AI will be installed without GPU support"
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

func storageVerdict(c *model.Cluster) (string, string) {
	mode := storageMode(c)
	if mode == "" {
		return model.Failed, "The cluster must either have no dedicated worker nodes or at least three. Add or remove hosts, or change their roles configurations to meet the requirement."
	}
	with := 0
	for _, h := range c.Hosts {
		if !storesData(mode, h.EffectiveRole()) {
			continue
		}
		if h.Inv == nil {
			return model.Pending, "Missing Inventory in some of the hosts"
		}
		if spareDisks(h, storageDiskGB) > 0 {
			with++
		}
	}
	if with < storageHosts {
		return model.Failed, fmt.Sprintf("Insufficient resources to deploy ODF in %s mode. ODF requires a minimum of %d hosts. Each host must have at least 1 additional disk of %d GB minimum and an installation disk.",
			strings.ToLower(mode), storageHosts, storageDiskGB)
	}
	return model.Passed, fmt.Sprintf("ODF Requirements for %s Deployment are satisfied.", mode)
}

func spareDisks(h *model.Host, minimumGB int64) int {
	n := 0
	for _, d := range h.Inv.Disks {
		if (d.DriveType == models.DriveTypeHDD || d.DriveType == models.DriveTypeSSD) && model.DiskID(d) != h.InstallationDiskID && d.SizeBytes > 0 && d.SizeBytes >= minimumGB*1_000_000_000 {
			n++
		}
	}
	return n
}

func (e *hostCheck) operator(o OperatorCheck) (string, string) {
	if !e.c.HasOperator(o.Name) {
		return model.Passed, o.Name + " is disabled"
	}
	inv := e.h.Inv
	switch o.Name {
	case "lvm":
		_, _, workers, _ := CountRoles(e.c)
		schedulable := e.c.IsSingle() || workers == 0
		switch {
		case inv == nil:
			return model.Pending, "Missing Inventory in the host"
		case (e.h.EffectiveRole() == model.RoleWorker || schedulable && e.h.EffectiveRole() != model.RoleArbiter) && spareDisks(e.h, 0) == 0:
			return model.Failed, "Logical Volume Manager requires at least one non-installation HDD/SSD disk on the host"
		case e.h.EffectiveRole() == model.RoleAuto && !schedulable:
			return model.Failed, "For Logical Volume Manager Standard Mode, host role must be assigned to master or worker."
		}
	case "cnv":
		switch {
		case inv == nil:
			return model.Pending, "Missing Inventory in some of the hosts"
		case inv.CPU == nil || !slices.Contains(inv.CPU.Flags, "vmx") && !slices.Contains(inv.CPU.Flags, "svm"):
			return model.Failed, "CPU does not have virtualization support"
		case e.h.EffectiveRole() == model.RoleAuto:
			return model.Failed, "All host roles must be assigned to enable OpenShift Virtualization"
		}
		return e.virtualization()
	case "odf":
		return e.storage()
	}
	return model.Passed, ""
}

// virtualization compares the host with what OpenShift Virtualization alone needs.
func (e *hostCheck) virtualization() (string, string) {
	need := OperatorHardware(e.c.OpenshiftVersion, hardwareRole(e.c, e.h.EffectiveRole()), "cnv")
	switch inv := e.h.Inv; {
	case inv.CPU.Count < need.CPUCores:
		return model.Failed, fmt.Sprintf("Insufficient CPU to deploy OpenShift Virtualization. Required CPU count is %d but found %d ", need.CPUCores, inv.CPU.Count)
	case inv.Memory != nil && inv.Memory.UsableBytes < need.RAMMiB<<20:
		return model.Failed, fmt.Sprintf("Insufficient memory to deploy OpenShift Virtualization. Required memory is %d MiB but found %d MiB", need.RAMMiB, inv.Memory.UsableBytes>>20)
	}
	return model.Passed, ""
}

func (e *hostCheck) storage() (string, string) {
	if e.h.Role == model.RoleAuto && len(e.c.Hosts) != storageHosts {
		return model.Pending, storageRolesOpen
	}
	mode := storageMode(e.c)
	switch {
	case !storesData(mode, e.h.Role):
		return model.Passed, ""
	case e.h.Inv == nil:
		return model.Pending, "Missing Inventory in the host."
	case spareDisks(e.h, storageDiskGB) == 0:
		return model.Failed, fmt.Sprintf("Insufficient disks, ODF requires at least one non-installation SSD or HDD disk on each host in %s mode.", strings.ToLower(mode))
	}
	return model.Passed, ""
}

// minimumHardware is what any machine must have, whatever becomes of it.
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
