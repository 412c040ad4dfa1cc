package service

import (
	"fmt"
	"slices"
	"strings"
)

// What the validations of the operators need.
const (
	storageHosts     = 3  // that OpenShift Data Foundation runs on
	storageDiskGB    = 25 // the least that a disk for it has
	minAIWorkers     = 2
	storageRolesOpen = "Auto-assigning roles for hosts with ODF is allowed only for clusters with exactly three hosts. For other scenarios, please manually assign the host role as either a control plane node or a worker."
)

// operators judges what each operator needs of the cluster. A need that is met
// says nothing.
func (e *clusterCheck) operators() {
	for _, o := range operatorChecks() {
		if !e.c.hasOperator(o.name) {
			e.add(catOperators, o.id, passed, o.name+" is disabled")
			continue
		}
		status, message := e.operator(o.name)
		e.add(catOperators, o.id, status, message)
		if o.name == "openshift-ai" {
			e.add(catOperators, "openshift-ai-gpu-requirements-satisfied", passed, e.c.vendorOfGPUs())
		}
	}
}

func (e *clusterCheck) operator(name string) (string, string) {
	switch name {
	case "odf":
		return e.c.storage()
	case "openshift-ai":
		_, _, workers, _ := e.c.countRoles()
		if !e.c.isSingle() && workers < minAIWorkers {
			return failed, fmt.Sprintf("OpenShift AI requires at least %d worker nodes, but the cluster has %d.", minAIWorkers, workers)
		}
	case "amd-gpu", "nvidia-gpu":
		vendor, _, _ := strings.Cut(strings.ToUpper(name), "-")
		if !slices.ContainsFunc(e.c.hosts, func(h *host) bool { return h.inv != nil && len(h.inv.GPUs) > 0 }) {
			return failed, fmt.Sprintf("The %s GPU operator requires at least one supported %s GPU, but there is none in the discovered hosts.", vendor, vendor)
		}
	}
	return passed, ""
}

func (c *cluster) vendorOfGPUs() string {
	if c.hasOperator("nvidia-gpu") || c.hasOperator("amd-gpu") {
		return ""
	}
	return "No GPU vendor selected - OpenShift AI will be installed without GPU support"
}

// storageMode tells on which hosts OpenShift Data Foundation runs: on the control
// plane in compact mode, on the workers in standard mode; none while that is open.
func (c *cluster) storageMode() string {
	masters, arbiters, workers, _ := c.countRoles()
	plane := masters >= 3 || masters >= 2 && arbiters > 0
	switch {
	case plane && workers == 0, len(c.hosts) == storageHosts:
		return "Compact"
	case plane && workers >= storageHosts:
		return "Standard"
	}
	return ""
}

// storesData tells whether a host of the role keeps data in the mode.
func storesData(mode, role string) bool {
	if mode == "Standard" {
		return role == roleWorker
	}
	return mode == "Compact" && role != roleWorker
}

func (c *cluster) storage() (string, string) {
	mode := c.storageMode()
	if mode == "" {
		return failed, "The cluster must either have no dedicated worker nodes or at least three. Add or remove hosts, or change their roles configurations to meet the requirement."
	}
	with := 0
	for _, h := range c.hosts {
		if !storesData(mode, h.role()) {
			continue
		}
		if h.inv == nil {
			return pending, "Missing Inventory in some of the hosts"
		}
		if h.spareDisks(storageDiskGB) > 0 {
			with++
		}
	}
	if with < storageHosts {
		return failed, fmt.Sprintf("Insufficient resources to deploy ODF in %s mode. ODF requires a minimum of %d hosts. Each host must have at least 1 additional disk of %d GB minimum and an installation disk.",
			strings.ToLower(mode), storageHosts, storageDiskGB)
	}
	return passed, fmt.Sprintf("ODF Requirements for %s Deployment are satisfied.", mode)
}

// spareDisks counts the disks that nothing is installed on.
func (h *host) spareDisks(minimumGB int64) int {
	n := 0
	for _, d := range h.inv.Disks {
		if oneOf(d.DriveType, "HDD", "SSD") && d.identifier() != h.InstallationDiskID && d.SizeBytes > 0 && d.SizeBytes >= minimumGB*1_000_000_000 {
			n++
		}
	}
	return n
}

// operator judges what one operator needs of the host.
func (e *hostCheck) operator(o operatorCheck) (string, string) {
	if !e.c.hasOperator(o.name) {
		return passed, o.name + " is disabled"
	}
	inv := e.h.inv
	switch o.name {
	case "lvm":
		_, _, workers, _ := e.c.countRoles()
		schedulable := e.c.isSingle() || workers == 0
		switch {
		case inv == nil:
			return pending, "Missing Inventory in the host"
		case (e.h.role() == roleWorker || schedulable && e.h.role() != roleArbiter) && e.h.spareDisks(0) == 0:
			return failed, "Logical Volume Manager requires at least one non-installation HDD/SSD disk on the host"
		case e.h.role() == roleAuto && !schedulable:
			return failed, "For Logical Volume Manager Standard Mode, host role must be assigned to master or worker."
		}
	case "cnv":
		switch {
		case inv == nil:
			return pending, "Missing Inventory in some of the hosts"
		case inv.CPU == nil || !slices.Contains(inv.CPU.Flags, "vmx") && !slices.Contains(inv.CPU.Flags, "svm"):
			return failed, "CPU does not have virtualization support"
		case e.h.role() == roleAuto:
			return failed, "All host roles must be assigned to enable OpenShift Virtualization"
		}
		return e.virtualization()
	case "odf":
		return e.storage()
	}
	return passed, ""
}

// virtualization compares the host with what OpenShift Virtualization alone needs.
func (e *hostCheck) virtualization() (string, string) {
	need := added(e.c.OpenshiftVersion, hardwareRole(e.c, e.h.role()), "cnv")
	switch inv := e.h.inv; {
	case inv.CPU.Count < need.CPUCores:
		return failed, fmt.Sprintf("Insufficient CPU to deploy OpenShift Virtualization. Required CPU count is %d but found %d ", need.CPUCores, inv.CPU.Count)
	case inv.Memory != nil && inv.Memory.UsableBytes < need.RAMMiB<<20:
		return failed, fmt.Sprintf("Insufficient memory to deploy OpenShift Virtualization. Required memory is %d MiB but found %d MiB", need.RAMMiB, inv.Memory.UsableBytes>>20)
	}
	return passed, ""
}

func (e *hostCheck) storage() (string, string) {
	if e.h.Role == roleAuto && len(e.c.hosts) != storageHosts {
		return pending, storageRolesOpen
	}
	mode := e.c.storageMode()
	switch {
	case !storesData(mode, e.h.Role):
		return passed, ""
	case e.h.inv == nil:
		return pending, "Missing Inventory in the host."
	case e.h.spareDisks(storageDiskGB) == 0:
		return failed, fmt.Sprintf("Insufficient disks, ODF requires at least one non-installation SSD or HDD disk on each host in %s mode.", strings.ToLower(mode))
	}
	return passed, ""
}
