package validate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// hostnamePattern is what the service takes as a host name.
const hostnamePattern = "^[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*$"

// ForbiddenHostnames are names that no host may have.
func ForbiddenHostnames() []string {
	return []string{"localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6"}
}

type hostCheck struct {
	report
	h     *model.Host
	c     *model.Cluster // nil for a host of the pool
	need  versions.Hardware
	names map[string]int // how many hosts of the cluster have a name
	now   time.Time
	// live says that the agent still runs: the machine has not been rebooted.
	live bool
	// early says that the installation has not begun.
	early bool
}

// Host judges a host. names counts the host names of its cluster.
func Host(h *model.Host, names map[string]int, now time.Time) []model.Check {
	e := &hostCheck{h: h, c: h.Cluster, need: Requirements(h.Cluster, h.EffectiveRole()), names: names, now: now}
	e.live = !model.OneOf(h.Stage(), model.StageRebooting, model.StageIgnition, model.StageConfiguring, model.StageJoined, model.StageDone)
	e.early = !model.OneOf(h.State, model.HostInProgress, model.HostInstalled, model.HostAdded, model.HostPendingUser, model.HostError, model.HostCancelled)
	e.list = make([]model.Check, 0, 72)
	e.hardware()
	e.network()
	if e.c != nil {
		for _, o := range Operators() {
			status, message := e.operator(o)
			e.add(catOperators, o.ID, status, message)
		}
	}
	return e.list
}

func (e *hostCheck) hardware() {
	add := e.in(catHardware)
	inv := e.h.Inv
	if inv == nil {
		add("has-inventory")(model.Failed, "Inventory has not been received for the host")
	} else {
		add("has-inventory")(model.Passed, "Valid inventory exists for the host")
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
		add("compatible-agent")(model.Passed, "Host agent is compatible with the service")
	}
	e.skippedDisks(add)
}

func ifInventory(inv *model.Inventory, message string) (string, string) {
	if inv == nil {
		return model.Pending, "Missing inventory"
	}
	return model.Passed, message
}

func (e *hostCheck) minimumHardware(add adder) {
	inv, least := e.h.Inv, minimumHardware()
	if inv == nil || inv.CPU == nil || inv.Memory == nil {
		add("has-min-cpu-cores")(model.Pending, "Missing inventory")
		add("has-min-memory")(model.Pending, "Missing inventory")
		add("has-min-valid-disks")(model.Pending, "Missing inventory")
		return
	}
	if inv.CPU.Count >= least.CPUCores {
		add("has-min-cpu-cores")(model.Passed, "Sufficient CPU cores")
	} else {
		add("has-min-cpu-cores")(model.Failed, fmt.Sprintf("The host is not eligible to participate in Openshift Cluster because the minimum required CPU cores for any role is %d, found only %d",
			least.CPUCores, inv.CPU.Count))
	}
	if inv.Memory.PhysicalBytes >= (least.RAMMiB-memoryTolerance)<<20 {
		add("has-min-memory")(model.Passed, "Sufficient minimum RAM")
	} else {
		add("has-min-memory")(model.Failed, fmt.Sprintf("The host is not eligible to participate in Openshift Cluster because the minimum required RAM for any role is %s, found only %s",
			model.BinaryBytes(least.RAMMiB<<20), model.BinaryBytes(inv.Memory.PhysicalBytes)))
	}
	if len(inv.EligibleDisks()) > 0 {
		add("has-min-valid-disks")(model.Passed, "Sufficient disk capacity")
	} else {
		add("has-min-valid-disks")(model.Failed, "No eligible disks were found, please check specific disks to see why they are not eligible")
	}
}

func (e *hostCheck) cpuForRole() (string, string) {
	switch {
	case e.c == nil:
		return model.Hidden, ""
	case e.h.Inv == nil || e.h.Inv.CPU == nil:
		return model.Pending, "Missing inventory or role"
	case e.h.Inv.CPU.Count < e.need.CPUCores:
		return model.Failed, fmt.Sprintf("Require at least %d CPU cores for %s role, found only %d", e.need.CPUCores, e.h.EffectiveRole(), e.h.Inv.CPU.Count)
	}
	return model.Passed, "Sufficient CPU cores for role " + e.h.EffectiveRole()
}

// memoryTolerance is how much less memory than asked for will do, in MiB.
const memoryTolerance = 100

func (e *hostCheck) memoryForRole() (string, string) {
	switch {
	case e.c == nil:
		return model.Hidden, ""
	case e.h.Inv == nil || e.h.Inv.Memory == nil:
		return model.Pending, "Missing inventory or role"
	case e.h.Inv.Memory.PhysicalBytes < (e.need.RAMMiB-memoryTolerance)<<20:
		return model.Failed, fmt.Sprintf("Require at least %s RAM for role %s, found only %s",
			model.BinaryBytes(e.need.RAMMiB<<20), e.h.EffectiveRole(), model.BinaryBytes(e.h.Inv.Memory.PhysicalBytes))
	}
	return model.Passed, "Sufficient RAM for role " + e.h.EffectiveRole()
}

func (e *hostCheck) hostnameUnique() (string, string) {
	switch {
	case e.c == nil:
		return model.Hidden, ""
	case e.h.Inv == nil:
		return model.Pending, "Missing inventory"
	case e.names[e.h.Name()] > 1:
		return model.Failed, fmt.Sprintf("Hostname %s is not unique in cluster", e.h.Name())
	}
	return model.Passed, fmt.Sprintf("Hostname %s is unique in cluster", e.h.Name())
}

func (e *hostCheck) hostnameValid() (string, string) {
	if e.h.Inv == nil {
		return model.Failed, "Missing inventory"
	}
	if err := CheckHostname(e.h.Name()); err != nil {
		if slices.Contains(ForbiddenHostnames(), e.h.Name()) {
			return model.Failed, err.Error()
		}
		return model.Failed, fmt.Sprintf("Hostname %s is forbidden, hostname should match pattern %s", e.h.Name(), hostnamePattern)
	}
	return model.Passed, fmt.Sprintf("Hostname %s is allowed", e.h.Name())
}

// hostnameShape is compiled once: it is asked for every host on every tick.
var hostnameShape = regexp.MustCompile(hostnamePattern)

// CheckHostname refuses a name in the words of PATCH host.
func CheckHostname(name string) error {
	if slices.Contains(ForbiddenHostnames(), name) {
		return wire.BadRequest("The host name %s is forbidden", name)
	}
	if !hostnameShape.MatchString(name) {
		return wire.BadRequest("Hostname does not pass required regex validation: %s. Hostname: %s", hostnamePattern, name)
	}
	return nil
}

func (e *hostCheck) diskSpeed() (string, string) {
	switch {
	case e.c == nil:
		return model.Hidden, ""
	case !e.h.DiskTested:
		return model.Passed, "Speed of installation disk has not yet been measured"
	case e.h.DiskFailed:
		return model.Failed, "While preparing the previous installation the installation disk speed measurement failed or was found to be insufficient"
	}
	return model.Passed, "Speed of installation disk is sufficient"
}

func (e *hostCheck) platform() (string, string) {
	if e.c == nil {
		return model.Hidden, ""
	}
	kind := e.c.PlatformType()
	if e.h.Inv == nil || kind == "" {
		return model.Pending, "Missing inventory or platform isn't set"
	}
	vendor := e.h.Inv.SystemVendor
	fits := true
	switch kind {
	case "vsphere":
		fits = e.h.Inv.OfVMware()
	case "nutanix":
		fits = vendor != nil && vendor.Manufacturer == "Nutanix"
	}
	if !fits {
		return model.Failed, fmt.Sprintf("Host is not compatible with cluster platform %s; either disable this host or discover a new compatible host.", kind)
	}
	return model.Passed, "Host is compatible with cluster platform " + kind
}

func (e *hostCheck) vsphereDisks() (string, string) {
	if e.c == nil || e.h.Inv == nil || !e.h.Inv.OfVMware() {
		return model.Hidden, ""
	}
	for _, d := range e.h.Inv.EligibleDisks() {
		if !d.HasUUID {
			return model.Failed, "VSphere disk.EnableUUID isn't enabled for this virtual machine, it's necessary for disks to be mounted properly"
		}
	}
	return model.Passed, "VSphere disk.EnableUUID is enabled for this virtual machine"
}

// EncryptsRole tells whether disk encryption is on for a role.
func EncryptsRole(enableOn, role string) bool {
	if enableOn == "" || enableOn == "none" || role == model.RoleAuto {
		return false
	}
	return enableOn == "all" || strings.Contains(","+enableOn+",", ","+role+"s,")
}

// NeedsTPM tells whether machines of a role keep the key of their disk in a TPM.
func NeedsTPM(c *model.Cluster, role string) bool {
	e := c.DiskEncryption
	return e != nil && e.Mode == "tpmv2" && EncryptsRole(e.EnableOn, role)
}

func (e *hostCheck) encryption() (string, string) {
	if e.c == nil || e.c.DiskEncryption == nil || model.OneOf(e.c.DiskEncryption.EnableOn, "", "none") {
		return model.Hidden, ""
	}
	if e.h.Inv == nil {
		return model.Pending, "Missing host inventory"
	}
	if e.h.EffectiveRole() == model.RoleAuto {
		return model.Pending, "Missing role assignment"
	}
	if !EncryptsRole(e.c.DiskEncryption.EnableOn, e.h.EffectiveRole()) {
		return model.Hidden, ""
	}
	if e.c.DiskEncryption.Mode == "tang" {
		switch {
		case e.h.Tang == nil:
			return model.Pending, "Disk encryption check was not performed yet"
		case !e.h.Tang.IsSuccess:
			return model.Failed, fmt.Sprintf("Could not validate that all Tang servers are reachable and working: %s", e.h.TangConnectivity)
		}
		return model.Passed, "Installation disk can be encrypted using tang"
	}
	switch e.h.Inv.TpmVersion {
	case "2.0":
		return model.Passed, "Installation disk can be encrypted using tpmv2"
	case "none":
		return model.Failed, "TPM version could not be found, make sure TPM is enabled in host's BIOS"
	}
	return model.Failed, fmt.Sprintf("The host's TPM version is not supported, expected-version: 2.0, actual-version: %s", e.h.Inv.TpmVersion)
}

func (e *hostCheck) skippedDisks(add adder) {
	if slices.Contains(e.h.SkipDisks, e.h.InstallationDiskID) && e.h.InstallationDiskID != "" {
		add("no-skip-installation-disk")(model.Failed, "Requesting to skip the formatting of the installation disk is not allowed. The installation disk must be formatted. Please either change this host's installation disk or do not skip the formatting of the installation disk")
	} else {
		add("no-skip-installation-disk")(model.Passed, "No request to skip formatting of the installation disk")
	}
	if e.h.Inv == nil {
		add("no-skip-missing-disk")(model.Pending, "Host inventory not available yet")
		return
	}
	for _, id := range e.h.SkipDisks {
		if e.h.Inv.FindDisk(id) == nil {
			add("no-skip-missing-disk")(model.Failed, "One or more of the disks that you have requested to skip the formatting of are no longer present on this host. To ensure they haven't just changed their identity, please remove your request to skip their formatting and then if needed add them back using the new ID")
			return
		}
	}
	add("no-skip-missing-disk")(model.Passed, "All disks that have skipped formatting are present in the host inventory")
}

// How far a host's clock may be from the service's.
const (
	mostBehind = 20 * time.Minute
	mostAhead  = 60 * time.Minute
)

func (e *hostCheck) timeSynced() (string, string) {
	if e.h.Timestamp == 0 {
		return model.Pending, "Missing host time, can't determine synchronization between host and service"
	}
	const advice = "please configure an NTP server via DHCP. Service time: %s"
	now := e.now
	behind := now.Sub(time.Unix(e.h.Timestamp, 0))
	switch {
	case behind > mostBehind:
		return model.Failed, fmt.Sprintf("Host clock is not synchronized, service time is ahead of host's at least for %.1f minutes, "+advice, mostBehind.Minutes(), now)
	case -behind > mostAhead:
		return model.Failed, fmt.Sprintf("Host clock is not synchronized, host time is ahead of service at least for %.1f minutes, "+advice, mostAhead.Minutes(), now)
	}
	return model.Passed, "Host clock is synchronized with service"
}
