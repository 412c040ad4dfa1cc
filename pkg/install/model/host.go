package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Unbound says whether a machine belongs to no cluster, or is on its way out
// of one.
func (h *Host) Unbound() bool { return h.State == HostUnbound || h.State == HostReleasing }

// Label is what a person recognises a machine by.
func (h *Host) Label() string {
	var parts []string
	for _, i := range h.Inventory.Interfaces {
		if i.MAC != "" {
			parts = append(parts, "MAC "+i.MAC)
			break
		}
	}
	if h.Inventory.Serial != "" {
		parts = append(parts, "serial "+h.Inventory.Serial)
	}
	if bmc := h.Inventory.BMC; bmc != "" && bmc != "0.0.0.0" && bmc != "::/0" {
		parts = append(parts, "BMC "+bmc)
	}
	name := h.Hostname
	if name == "" {
		name = h.ID
	}
	if len(parts) == 0 {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, strings.Join(parts, ", "))
}

// Host is the service's record of a machine.
type Host struct {
	ID         string
	InfraEnvID string
	ClusterID  string
	Day2       bool   // joins a cluster that is already installed
	Hostname   string // as requested, else as the machine reports it
	State      HostState
	Deleting   bool   // the service has been told to forget it, and is still at it
	Reserved   string // as the query names a host of a pool that is reserved (Query.Agents), "" for others
	Status     string // the service's own word
	StatusInfo string
	Since      time.Time // when the status was reached
	Role       spec.Role // as set; RoleAuto while undecided
	Suggested  spec.Role // what the service would choose
	Bootstrap  bool
	CheckedIn  time.Time // last contact
	Registered time.Time
	Inventory  Inventory
	Settings   Settings
	// Inherited are the labels of its node that it has from its InfraEnv. They come
	// and go with that, and Settings leave them out.
	Inherited map[string]string
	// Validations are empty before the first evaluation.
	Validations []Validation
	Progress    HostProgress
	// Formatted lists the ids of the disks, beside the installation disk, that
	// the installer will wipe.
	Formatted []string
	Disk      string // id of the chosen installation disk
	// DiskByService reports that the service chooses its disk by the hints of its BareMetalHost. oaictl chooses otherwise.
	DiskByService bool
	// Rebooted is when the host was booted from the disk that it was installed on, zero where
	// it was not, or where the service does not say when any more.
	Rebooted time.Time
	// Returns is how its machine comes to boot the discovery image once an installed host goes
	// back to its pool.
	Returns HostReturn
}

// HostReturn is who boots a machine into the discovery image once it was given back to its pool.
type HostReturn string

// Who does. Over REST it is always a person.
const (
	ReturnByPerson  HostReturn = ""
	ReturnByService HostReturn = "service" // with an agent on the node, which has to run for that
	ReturnByHub     HostReturn = "hub"     // through its BareMetalHost
)

// HasRebooted reports whether a host has reached the stage at which it boots from its disk, or
// a later one.
func (h *Host) HasRebooted() bool {
	const boot = "Rebooting"
	at, reboot := slices.Index(h.Progress.Stages, h.Progress.Stage), slices.Index(h.Progress.Stages, boot)
	if at >= 0 && reboot >= 0 {
		return at >= reboot
	}
	switch h.Progress.Stage {
	case boot, "Waiting for ignition", "Configuring", "Joined", "Done":
		return true
	}
	return false
}

// DisplayName is what a person knows the host by: the name that it reports, or its id.
func (h *Host) DisplayName() string { return cmp.Or(h.Hostname, h.ID) }

// HostElsewhere is a machine that is bound to another cluster.
type HostElsewhere struct {
	Host
	ClusterName string // "" where it is not known
}

// HostProgress is how far the install of one host is.
type HostProgress struct {
	Stage    string // as the service names it, "" before the install
	Info     string // "45%" while the image is written
	Percent  int
	Since    time.Time // when the stage began
	Updated  time.Time
	TimedOut bool
	Stages   []string // the stages of the host's role, in order
}

// Inventory is what a machine says of itself. Zero before its first report.
type Inventory struct {
	Known        bool
	Hostname     string
	Serial       string
	UUID         string
	Manufacturer string
	Product      string
	BMC          string // IPv4 or IPv6 address, "" if none
	CPUs         int
	MemoryBytes  int64
	Arch         string
	TPM          string // none, 1.2 or 2.0; "" where the service does not say
	Interfaces   []Interface
	Disks        []Disk
}

// Interface is a network interface of a machine.
type Interface struct {
	Name      string
	MAC       string
	Addresses []string // CIDR notation
	Up        bool
}

// Validation is one check of the service on a cluster or on a host.
type Validation struct {
	ID       string
	Category string
	Status   string // success, success-suppress-output, failure, error, pending, disabled
	Message  string
}

// Passes says whether the check is out of the way.
func (v *Validation) Passes() bool {
	return v.Status == "success" || v.Status == "success-suppress-output" || v.Status == "disabled"
}

// Nameless says whether a host has just booted, or is being bound, and has not reported
// its hardware yet: only its id is known. It reports within moments. A host that falls
// silent before that is shown by its id.
func (h *Host) Nameless() bool {
	return (h.State == HostDiscovering || h.State == HostBinding) && !h.Inventory.Known && h.Hostname == ""
}

// NamedHost is a machine under the name that cluster.yaml has for it.
type NamedHost struct {
	// Name is the host's name in cluster.yaml, "" for a machine that is none of
	// its hosts.
	Name string
	// Role is what cluster.yaml wants the host to be, "" where it does not say.
	Role spec.Role
	// Host is the observed machine, nil while it has not come.
	Host *Host
}
