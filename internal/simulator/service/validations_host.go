package service

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// hostnamePattern is what the service takes as a host name.
const hostnamePattern = "^[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*$"

func forbiddenHostnames() []string {
	return []string{"localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6"}
}

// hostCheck is the evaluation of one host.
type hostCheck struct {
	report
	s     *Service
	h     *host
	c     *cluster // nil for a host of the pool
	need  versions.Hardware
	names map[string]int // how many hosts of the cluster have a name
	now   time.Time
	// live says that the agent still runs: the machine has not been rebooted.
	live bool
	// early says that the installation has not begun.
	early bool
}

// evaluateHost judges a host. names counts the host names of its cluster.
func (s *Service) evaluateHost(h *host, names map[string]int) []check {
	e := &hostCheck{s: s, h: h, c: h.cluster, need: requirementsFor(h.cluster, h.role()), names: names, now: s.now()}
	e.live = !oneOf(h.stage(), stageRebooting, stageIgnition, stageConfiguring, stageJoined, stageDone)
	e.early = !oneOf(h.state, hostInProgress, hostInstalled, hostAdded, hostPendingUser, hostError, hostCancelled)
	e.list = make([]check, 0, 72)
	e.hardware()
	e.network()
	if e.c != nil {
		for _, o := range operatorChecks() {
			status, message := e.operator(o)
			e.add(catOperators, o.id, status, message)
		}
	}
	return e.list
}

func (e *hostCheck) hardware() {
	add := e.in(catHardware)
	inv := e.h.inv
	if inv == nil {
		add("has-inventory")(failed, "Inventory has not been received for the host")
	} else {
		add("has-inventory")(passed, "Valid inventory exists for the host")
	}
	add("inventory-not-partially-truncated")(ifInventory(inv, "Inventory is not truncated"))
	add("inventory-not-fully-truncated")(ifInventory(inv, "Inventory is not truncated"))
	e.minimumHardware(add)
	add("has-cpu-cores-for-role")(e.cpuForRole())
	add("has-memory-for-role")(e.memoryForRole())
	add("hostname-unique")(e.hostnameUnique())
	add("hostname-valid")(e.hostnameValid())
	add("sufficient-installation-disk-speed")(e.diskSpeed())
	add("compatible-with-cluster-platform")(e.platform())
	add("vsphere-disk-uuid-enabled")(e.vsphereDisks())
	add("disk-encryption-requirements-satisfied")(e.encryption())
	if e.early {
		add("compatible-agent")(passed, "Host agent is compatible with the service")
	}
	e.skippedDisks(add)
}

// ifInventory is a success once there is an inventory.
func ifInventory(inv *inventory, message string) (string, string) {
	if inv == nil {
		return pending, "Missing inventory"
	}
	return passed, message
}

func (e *hostCheck) minimumHardware(add adder) {
	inv, least := e.h.inv, minimum()
	if inv == nil || inv.CPU == nil || inv.Memory == nil {
		add("has-min-cpu-cores")(pending, "Missing inventory")
		add("has-min-memory")(pending, "Missing inventory")
		add("has-min-valid-disks")(pending, "Missing inventory")
		return
	}
	if inv.CPU.Count >= least.CPUCores {
		add("has-min-cpu-cores")(passed, "Sufficient CPU cores")
	} else {
		add("has-min-cpu-cores")(failed, fmt.Sprintf("The host is not eligible to participate in Openshift Cluster because the minimum required CPU cores for any role is %d, found only %d",
			least.CPUCores, inv.CPU.Count))
	}
	if inv.Memory.PhysicalBytes >= (least.RAMMiB-memoryTolerance)<<20 {
		add("has-min-memory")(passed, "Sufficient minimum RAM")
	} else {
		add("has-min-memory")(failed, fmt.Sprintf("The host is not eligible to participate in Openshift Cluster because the minimum required RAM for any role is %s, found only %s",
			binaryBytes(least.RAMMiB<<20), binaryBytes(inv.Memory.PhysicalBytes)))
	}
	if len(inv.eligibleDisks()) > 0 {
		add("has-min-valid-disks")(passed, "Sufficient disk capacity")
	} else {
		add("has-min-valid-disks")(failed, "No eligible disks were found, please check specific disks to see why they are not eligible")
	}
}

func (e *hostCheck) cpuForRole() (string, string) {
	switch {
	case e.c == nil:
		return hidden, ""
	case e.h.inv == nil || e.h.inv.CPU == nil:
		return pending, "Missing inventory or role"
	case e.h.inv.CPU.Count < e.need.CPUCores:
		return failed, fmt.Sprintf("Require at least %d CPU cores for %s role, found only %d", e.need.CPUCores, e.h.role(), e.h.inv.CPU.Count)
	}
	return passed, "Sufficient CPU cores for role " + e.h.role()
}

// memoryTolerance is how much less memory than asked for will do, in MiB.
const memoryTolerance = 100

func (e *hostCheck) memoryForRole() (string, string) {
	switch {
	case e.c == nil:
		return hidden, ""
	case e.h.inv == nil || e.h.inv.Memory == nil:
		return pending, "Missing inventory or role"
	case e.h.inv.Memory.PhysicalBytes < (e.need.RAMMiB-memoryTolerance)<<20:
		return failed, fmt.Sprintf("Require at least %s RAM for role %s, found only %s",
			binaryBytes(e.need.RAMMiB<<20), e.h.role(), binaryBytes(e.h.inv.Memory.PhysicalBytes))
	}
	return passed, "Sufficient RAM for role " + e.h.role()
}

func (e *hostCheck) hostnameUnique() (string, string) {
	switch {
	case e.c == nil:
		return hidden, ""
	case e.h.inv == nil:
		return pending, "Missing inventory"
	case e.names[e.h.name()] > 1:
		return failed, fmt.Sprintf("Hostname %s is not unique in cluster", e.h.name())
	}
	return passed, fmt.Sprintf("Hostname %s is unique in cluster", e.h.name())
}

func (e *hostCheck) hostnameValid() (string, string) {
	if e.h.inv == nil {
		return failed, "Missing inventory"
	}
	if err := checkHostname(e.h.name()); err != nil {
		if slices.Contains(forbiddenHostnames(), e.h.name()) {
			return failed, err.Error()
		}
		return failed, fmt.Sprintf("Hostname %s is forbidden, hostname should match pattern %s", e.h.name(), hostnamePattern)
	}
	return passed, fmt.Sprintf("Hostname %s is allowed", e.h.name())
}

// hostnameShape is compiled once: it is asked for every host on every tick.
var hostnameShape = regexp.MustCompile(hostnamePattern)

// checkHostname refuses a name in the words of PATCH host.
func checkHostname(name string) error {
	if slices.Contains(forbiddenHostnames(), name) {
		return badRequest("The host name %s is forbidden", name)
	}
	if !hostnameShape.MatchString(name) {
		return badRequest("Hostname does not pass required regex validation: %s. Hostname: %s", hostnamePattern, name)
	}
	return nil
}

func (e *hostCheck) diskSpeed() (string, string) {
	switch {
	case e.c == nil:
		return hidden, ""
	case !e.h.diskTested:
		return passed, "Speed of installation disk has not yet been measured"
	case e.h.diskFailed:
		return failed, "While preparing the previous installation the installation disk speed measurement failed or was found to be insufficient"
	}
	return passed, "Speed of installation disk is sufficient"
}

func (e *hostCheck) platform() (string, string) {
	if e.c == nil {
		return hidden, ""
	}
	kind := e.c.platformType()
	if e.h.inv == nil || kind == "" {
		return pending, "Missing inventory or platform isn't set"
	}
	vendor := e.h.inv.SystemVendor
	fits := true
	switch kind {
	case "vsphere":
		fits = e.h.inv.ofVMware()
	case "nutanix":
		fits = vendor != nil && vendor.Manufacturer == "Nutanix"
	}
	if !fits {
		return failed, fmt.Sprintf("Host is not compatible with cluster platform %s; either disable this host or discover a new compatible host.", kind)
	}
	return passed, "Host is compatible with cluster platform " + kind
}

func (e *hostCheck) vsphereDisks() (string, string) {
	if e.c == nil || e.h.inv == nil || !e.h.inv.ofVMware() {
		return hidden, ""
	}
	for _, d := range e.h.inv.eligibleDisks() {
		if !d.HasUUID {
			return failed, "VSphere disk.EnableUUID isn't enabled for this virtual machine, it's necessary for disks to be mounted properly"
		}
	}
	return passed, "VSphere disk.EnableUUID is enabled for this virtual machine"
}

// encryptsRole tells whether disk encryption is on for a role.
func encryptsRole(enableOn, role string) bool {
	if enableOn == "" || enableOn == "none" || role == roleAuto {
		return false
	}
	return enableOn == "all" || strings.Contains(","+enableOn+",", ","+role+"s,")
}

// needsTPM tells whether machines of a role keep the key of their disk in a TPM.
func (c *cluster) needsTPM(role string) bool {
	e := c.DiskEncryption
	return e != nil && e.Mode == "tpmv2" && encryptsRole(e.EnableOn, role)
}

func (e *hostCheck) encryption() (string, string) {
	if e.c == nil || e.c.DiskEncryption == nil || oneOf(e.c.DiskEncryption.EnableOn, "", "none") {
		return hidden, ""
	}
	if e.h.inv == nil {
		return pending, "Missing host inventory"
	}
	if e.h.role() == roleAuto {
		return pending, "Missing role assignment"
	}
	if !encryptsRole(e.c.DiskEncryption.EnableOn, e.h.role()) {
		return hidden, ""
	}
	if e.c.DiskEncryption.Mode == "tang" {
		switch {
		case e.h.tang == nil:
			return pending, "Disk encryption check was not performed yet"
		case !e.h.tang.IsSuccess:
			return failed, fmt.Sprintf("Could not validate that all Tang servers are reachable and working: %s", e.h.TangConnectivity)
		}
		return passed, "Installation disk can be encrypted using tang"
	}
	switch e.h.inv.TpmVersion {
	case "2.0":
		return passed, "Installation disk can be encrypted using tpmv2"
	case "none":
		return failed, "TPM version could not be found, make sure TPM is enabled in host's BIOS"
	}
	return failed, fmt.Sprintf("The host's TPM version is not supported, expected-version: 2.0, actual-version: %s", e.h.inv.TpmVersion)
}

func (e *hostCheck) skippedDisks(add adder) {
	if slices.Contains(e.h.skipDisks, e.h.InstallationDiskID) && e.h.InstallationDiskID != "" {
		add("no-skip-installation-disk")(failed, "Requesting to skip the formatting of the installation disk is not allowed. The installation disk must be formatted. Please either change this host's installation disk or do not skip the formatting of the installation disk")
	} else {
		add("no-skip-installation-disk")(passed, "No request to skip formatting of the installation disk")
	}
	if e.h.inv == nil {
		add("no-skip-missing-disk")(pending, "Host inventory not available yet")
		return
	}
	for _, id := range e.h.skipDisks {
		if e.h.inv.findDisk(id) == nil {
			add("no-skip-missing-disk")(failed, "One or more of the disks that you have requested to skip the formatting of are no longer present on this host. To ensure they haven't just changed their identity, please remove your request to skip their formatting and then if needed add them back using the new ID")
			return
		}
	}
	add("no-skip-missing-disk")(passed, "All disks that have skipped formatting are present in the host inventory")
}

func (c *cluster) hasOperator(name string) bool {
	return slices.ContainsFunc(c.MonitoredOperators, func(o operator) bool { return o.Name == name })
}

// How far a host's clock may be from the service's.
const (
	mostBehind = 20 * time.Minute
	mostAhead  = 60 * time.Minute
)

func (e *hostCheck) timeSynced() (string, string) {
	if e.h.Timestamp == 0 {
		return pending, "Missing host time, can't determine synchronization between host and service"
	}
	const advice = "please configure an NTP server via DHCP. Service time: %s"
	now := e.s.now()
	behind := now.Sub(time.Unix(e.h.Timestamp, 0))
	switch {
	case behind > mostBehind:
		return failed, fmt.Sprintf("Host clock is not synchronized, service time is ahead of host's at least for %.1f minutes, "+advice, mostBehind.Minutes(), now)
	case -behind > mostAhead:
		return failed, fmt.Sprintf("Host clock is not synchronized, host time is ahead of service at least for %.1f minutes, "+advice, mostAhead.Minutes(), now)
	}
	return passed, "Host clock is synchronized with service"
}
