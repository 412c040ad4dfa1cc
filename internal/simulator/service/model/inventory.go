package model

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// Inventory is what an agent posts about its machine. Keys are in the order in
// which the service prints them; unknown ones are dropped.
type Inventory struct {
	BmcAddress   string      `json:"bmc_address,omitempty"`
	BmcV6address string      `json:"bmc_v6address,omitempty"`
	Boot         *bootInfo   `json:"boot,omitempty"`
	CPU          *CPUInfo    `json:"cpu,omitempty"`
	Disks        []Disk      `json:"disks"`
	GPUs         []any       `json:"gpus"`
	Hostname     string      `json:"hostname,omitempty"`
	Interfaces   []NIC       `json:"interfaces"`
	Memory       *MemoryInfo `json:"memory,omitempty"`
	Routes       []Route     `json:"routes"`
	SystemVendor *vendorInfo `json:"system_vendor,omitempty"`
	Timestamp    int64       `json:"timestamp,omitempty"`
	TpmVersion   string      `json:"tpm_version,omitempty"`
	Addresses    []Address   `json:"-"` // of all interfaces, parsed once
	Virtual      []string    `json:"-"` // types of the interfaces that were dropped
}

type bootInfo struct {
	CommandLine     string `json:"command_line,omitempty"`
	CurrentBootMode string `json:"current_boot_mode,omitempty"`
	DeviceType      string `json:"device_type,omitempty"`
	PxeInterface    string `json:"pxe_interface,omitempty"`
	SecureBootState string `json:"secure_boot_state,omitempty"`
}

// CPUInfo is what a machine computes with.
type CPUInfo struct {
	Architecture string   `json:"architecture,omitempty"`
	Count        int64    `json:"count,omitempty"`
	Flags        []string `json:"flags"`
	Frequency    float64  `json:"frequency,omitempty"`
	ModelName    string   `json:"model_name,omitempty"`
}

// MemoryInfo is how much memory a machine has.
type MemoryInfo struct {
	PhysicalBytes       int64  `json:"physical_bytes,omitempty"`
	PhysicalBytesMethod string `json:"physical_bytes_method,omitempty"`
	UsableBytes         int64  `json:"usable_bytes,omitempty"`
}

type vendorInfo struct {
	Manufacturer string `json:"manufacturer,omitempty"`
	ProductName  string `json:"product_name,omitempty"`
	SerialNumber string `json:"serial_number,omitempty"`
	Virtual      bool   `json:"virtual,omitempty"`
}

// Disk is a disk with the verdict on it.
type Disk struct {
	Bootable                bool            `json:"bootable,omitempty"`
	ByID                    string          `json:"by_id,omitempty"`
	ByPath                  string          `json:"by_path,omitempty"`
	DriveType               string          `json:"drive_type,omitempty"`
	HasUUID                 bool            `json:"has_uuid,omitempty"`
	HCTL                    string          `json:"hctl,omitempty"`
	Holders                 string          `json:"holders,omitempty"`
	ID                      string          `json:"id,omitempty"`
	InstallationEligibility eligibility     `json:"installation_eligibility"`
	IoPerf                  *IOPerf         `json:"io_perf,omitempty"`
	IsInstallationMedia     bool            `json:"is_installation_media,omitempty"`
	Iscsi                   json.RawMessage `json:"iscsi,omitempty"`
	Model                   string          `json:"model,omitempty"`
	Name                    string          `json:"name,omitempty"`
	Path                    string          `json:"path,omitempty"`
	Removable               bool            `json:"removable,omitempty"`
	Serial                  string          `json:"serial,omitempty"`
	SizeBytes               int64           `json:"size_bytes,omitempty"`
	Smart                   string          `json:"smart,omitempty"`
	Vendor                  string          `json:"vendor,omitempty"`
	Wwn                     string          `json:"wwn,omitempty"`
}

// IOPerf is how fast a disk writes.
type IOPerf struct {
	SyncDuration int64 `json:"sync_duration,omitempty"`
}

type eligibility struct {
	Eligible           bool     `json:"eligible,omitempty"`
	NotEligibleReasons []string `json:"not_eligible_reasons"`
}

// NIC is a network card.
type NIC struct {
	Biosdevname   string   `json:"biosdevname,omitempty"`
	ClientID      string   `json:"client_id,omitempty"`
	Flags         []string `json:"flags"`
	HasCarrier    bool     `json:"has_carrier,omitempty"`
	IPV4Addresses []string `json:"ipv4_addresses"`
	IPV6Addresses []string `json:"ipv6_addresses"`
	MacAddress    string   `json:"mac_address,omitempty"`
	MTU           int64    `json:"mtu,omitempty"`
	Name          string   `json:"name,omitempty"`
	Product       string   `json:"product,omitempty"`
	SpeedMbps     int64    `json:"speed_mbps,omitempty"`
	Type          string   `json:"type,omitempty"`
	Vendor        string   `json:"vendor,omitempty"`
}

// Route is an entry of the table of routes.
type Route struct {
	Destination string `json:"destination,omitempty"`
	Family      int    `json:"family,omitempty"`
	Gateway     string `json:"gateway,omitempty"`
	Interface   string `json:"interface,omitempty"`
	Metric      int    `json:"metric,omitempty"`
}

// Address is an address of a machine and the interface that has it.
type Address struct {
	Prefix netip.Prefix // address and length as posted, not masked
	NIC    int
}

// ParseInventory reads what an agent posted, and drops the interfaces that are no
// machine's own.
func ParseInventory(text string) (*Inventory, error) {
	inv := &Inventory{}
	if err := json.Unmarshal([]byte(text), inv); err != nil {
		return nil, fmt.Errorf("reading the inventory: %w", err)
	}
	inv.Interfaces = slices.DeleteFunc(inv.Interfaces, func(n NIC) bool {
		virtual := !OneOf(n.Type, "", "physical", "vlan", "bond")
		if virtual {
			inv.Virtual = append(inv.Virtual, n.Type)
		}
		return virtual
	})
	for i, n := range inv.Interfaces {
		for _, text := range slices.Concat(n.IPV4Addresses, n.IPV6Addresses) {
			if p, err := netip.ParsePrefix(text); err == nil {
				inv.Addresses = append(inv.Addresses, Address{p, i})
			}
		}
	}
	return inv, nil
}

// In is the machine's address within the network.
func (inv *Inventory) In(network netip.Prefix) (Address, bool) {
	for _, a := range inv.Addresses {
		if network.Contains(a.Prefix.Addr()) {
			return a, true
		}
	}
	return Address{}, false
}

// serviceReasons are the starts of the reasons that the service itself gives: they
// are judged anew each time.
func serviceReasons() []string {
	return []string{"Disk is too small (disk only has", "Drive type is ", "Multipath device has path of unsupported type"}
}

func validDriveTypes(arch string) []string {
	types := []string{"HDD", "SSD", "Multipath", "iSCSI", "RAID"}
	if arch == "x86_64" {
		types = append(types, "FC")
	}
	if arch == "s390x" {
		types = append(types, "FC", "ECKD", "ECKD (ESE)", "FBA")
	}
	return types
}

// JudgeDisks decides which disks can be installed on. An agent's own reasons
// stand; a disk that the agent did not judge is left to the service.
func (inv *Inventory) JudgeDisks(minGB int64) {
	arch := ""
	if inv.CPU != nil {
		arch = inv.CPU.Architecture
	}
	for i := range inv.Disks {
		d := &inv.Disks[i]
		var reasons []string
		for _, r := range d.InstallationEligibility.NotEligibleReasons {
			if !slices.ContainsFunc(serviceReasons(), func(own string) bool { return strings.HasPrefix(r, own) }) {
				reasons = append(reasons, r)
			}
		}
		if least := minGB * 1_000_000_000; d.SizeBytes < least {
			reasons = append(reasons, fmt.Sprintf("Disk is too small (disk only has %s, but %s are required)",
				humanBytes(d.SizeBytes), humanBytes(least)))
		}
		if types := validDriveTypes(arch); !slices.Contains(types, d.DriveType) {
			reasons = append(reasons, fmt.Sprintf("Drive type is %s, it must be one of %s.", d.DriveType, strings.Join(types, ", ")))
		}
		d.InstallationEligibility = eligibility{Eligible: len(reasons) == 0, NotEligibleReasons: reasons}
		if d.ID == "" {
			d.ID = d.Identifier()
		}
	}
}

// Identifier is how the disk is named: the most lasting of its names.
func (d *Disk) Identifier() string {
	switch {
	case d.ID != "":
		return d.ID
	case d.ByID != "":
		return d.ByID
	}
	return d.Path
}

// humanBytes prints a size in decimal units with up to one decimal, as the
// service does.
func humanBytes(n int64) string {
	if n < 10 {
		return fmt.Sprintf("%d B", n)
	}
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	v, unit := float64(n), 0
	for v >= 1000 && unit < len(units)-1 {
		v /= 1000
		unit++
	}
	if v < 10 {
		return fmt.Sprintf("%.1f %s", v, units[unit])
	}
	return fmt.Sprintf("%.0f %s", v, units[unit])
}

// BinaryBytes prints a size in binary units.
func BinaryBytes(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	v, unit := float64(n), 0
	for v >= 1024 && unit < len(units)-1 {
		v /= 1024
		unit++
	}
	if unit < 3 {
		return fmt.Sprintf("%.0f %s", math.Floor(v), units[unit])
	}
	return fmt.Sprintf("%.2f %s", v, units[unit])
}

// EligibleDisks lists the disks that can be installed on, the best one first:
// bootable before others, slow and small before fast and large, so that the fast
// and large ones stay free for workloads.
func (inv *Inventory) EligibleDisks() []*Disk {
	var list []*Disk
	for i := range inv.Disks {
		if inv.Disks[i].InstallationEligibility.Eligible {
			list = append(list, &inv.Disks[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *Disk) int {
		for _, c := range []int{
			falseLast(a.Bootable, b.Bootable),
			-falseLast(a.isNVMe(), b.isNVMe()),
			strings.Compare(a.DriveType, b.DriveType),
			compareInt(a.SizeBytes, b.SizeBytes),
		} {
			if c != 0 {
				return c
			}
		}
		return strings.Compare(a.HCTL, b.HCTL)
	})
	return list
}

func (d *Disk) isNVMe() bool { return strings.HasPrefix(d.Name, "nvme") }

func falseLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func compareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// FindDisk finds a disk by any of its names.
func (inv *Inventory) FindDisk(name string) *Disk {
	for i := range inv.Disks {
		if d := &inv.Disks[i]; name != "" && (d.Identifier() == name || d.Path == name || d.ByID == name || d.ByPath == name) {
			return d
		}
	}
	return nil
}

// OfVMware tells a virtual machine of vSphere, in whatever cluster it is.
func (inv *Inventory) OfVMware() bool {
	return inv.SystemVendor != nil && inv.SystemVendor.Manufacturer == "VMware, Inc."
}

// Weight counts a core, ten GiB of memory and 250 GiB of disks the same.
func (inv *Inventory) Weight() float64 {
	weight := 0.0
	if inv.CPU != nil {
		weight += float64(inv.CPU.Count)
	}
	if inv.Memory != nil {
		weight += 0.1 * float64(inv.Memory.UsableBytes>>30)
	}
	for _, d := range inv.EligibleDisks() {
		weight += 0.004 * float64(d.SizeBytes>>30)
	}
	return weight
}

// DefaultRoute is the first route to everywhere; nil where there is none.
func (inv *Inventory) DefaultRoute() *Route {
	for i := range inv.Routes {
		r := &inv.Routes[i]
		to, err := netip.ParseAddr(r.Destination)
		if err != nil || !to.IsUnspecified() || r.Interface == "" {
			continue
		}
		if gw, err := netip.ParseAddr(r.Gateway); err == nil && !gw.IsUnspecified() {
			return r
		}
	}
	return nil
}
