package validate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/openshift/assisted-service/models"
)

// What the validations of the operators need.
const (
	storageHosts     = 3  // that OpenShift Data Foundation runs on
	storageDiskGB    = 25 // the least that a disk for it has
	minAIWorkers     = 2
	storageRolesOpen = "Auto-assigning roles for hosts with ODF is allowed only for clusters with exactly three hosts. For other scenarios, please manually assign the host role as either a control plane node or a worker."
)

// operators judges what each operator needs of the cluster. A need that is met says nothing.
func (e *clusterCheck) operators() {
	for _, o := range Operators() {
		if !e.c.HasOperator(o.Name) {
			e.add(catOperators, o.ID, model.Passed, o.Name+" is disabled")
			continue
		}
		status, message := e.operator(o.Name)
		e.add(catOperators, o.ID, status, message)
		if o.Name == "openshift-ai" {
			e.add(catOperators, "openshift-ai-gpu-requirements-satisfied", model.Passed, vendorOfGPUs(e.c))
		}
	}
}

func (e *clusterCheck) operator(name string) (string, string) {
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

// storageMode tells where OpenShift Data Foundation runs: masters, workers, or not decided.
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
