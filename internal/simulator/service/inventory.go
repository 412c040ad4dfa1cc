package service

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// inventory is what an agent posts about its machine. Keys are in the order in
// which the service prints them; unknown ones are dropped.
type inventory struct {
	BmcAddress   string       `json:"bmc_address,omitempty"`
	BmcV6address string       `json:"bmc_v6address,omitempty"`
	Boot         *bootInfo    `json:"boot,omitempty"`
	CPU          *cpuInfo     `json:"cpu,omitempty"`
	Disks        []disk       `json:"disks"`
	GPUs         []any        `json:"gpus"`
	Hostname     string       `json:"hostname,omitempty"`
	Interfaces   []nic        `json:"interfaces"`
	Memory       *memoryInfo  `json:"memory,omitempty"`
	Routes       []route      `json:"routes"`
	SystemVendor *vendorInfo  `json:"system_vendor,omitempty"`
	Timestamp    int64        `json:"timestamp,omitempty"`
	TpmVersion   string       `json:"tpm_version,omitempty"`
	addresses    []netAddress // of all interfaces, parsed once
	virtual      []string     // types of the interfaces that were dropped
}

type bootInfo struct {
	CommandLine     string `json:"command_line,omitempty"`
	CurrentBootMode string `json:"current_boot_mode,omitempty"`
	DeviceType      string `json:"device_type,omitempty"`
	PxeInterface    string `json:"pxe_interface,omitempty"`
	SecureBootState string `json:"secure_boot_state,omitempty"`
}

type cpuInfo struct {
	Architecture string   `json:"architecture,omitempty"`
	Count        int64    `json:"count,omitempty"`
	Flags        []string `json:"flags"`
	Frequency    float64  `json:"frequency,omitempty"`
	ModelName    string   `json:"model_name,omitempty"`
}

type memoryInfo struct {
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

type disk struct {
	Bootable                bool            `json:"bootable,omitempty"`
	ByID                    string          `json:"by_id,omitempty"`
	ByPath                  string          `json:"by_path,omitempty"`
	DriveType               string          `json:"drive_type,omitempty"`
	HasUUID                 bool            `json:"has_uuid,omitempty"`
	HCTL                    string          `json:"hctl,omitempty"`
	Holders                 string          `json:"holders,omitempty"`
	ID                      string          `json:"id,omitempty"`
	InstallationEligibility eligibility     `json:"installation_eligibility"`
	IoPerf                  *ioPerf         `json:"io_perf,omitempty"`
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

type ioPerf struct {
	SyncDuration int64 `json:"sync_duration,omitempty"`
}

type eligibility struct {
	Eligible           bool     `json:"eligible,omitempty"`
	NotEligibleReasons []string `json:"not_eligible_reasons"`
}

type nic struct {
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

type route struct {
	Destination string `json:"destination,omitempty"`
	Family      int    `json:"family,omitempty"`
	Gateway     string `json:"gateway,omitempty"`
	Interface   string `json:"interface,omitempty"`
	Metric      int    `json:"metric,omitempty"`
}

// netAddress is an address of a machine and the interface that has it.
type netAddress struct {
	prefix netip.Prefix // address and length as posted, not masked
	nic    int
}

// parseInventory reads what an agent posted, and drops the interfaces that are no
// machine's own.
func parseInventory(text string) (*inventory, error) {
	inv := &inventory{}
	if err := json.Unmarshal([]byte(text), inv); err != nil {
		return nil, fmt.Errorf("reading the inventory: %w", err)
	}
	inv.Interfaces = slices.DeleteFunc(inv.Interfaces, func(n nic) bool {
		virtual := !oneOf(n.Type, "", "physical", "vlan", "bond")
		if virtual {
			inv.virtual = append(inv.virtual, n.Type)
		}
		return virtual
	})
	for i, n := range inv.Interfaces {
		for _, text := range slices.Concat(n.IPV4Addresses, n.IPV6Addresses) {
			if p, err := netip.ParsePrefix(text); err == nil {
				inv.addresses = append(inv.addresses, netAddress{p, i})
			}
		}
	}
	return inv, nil
}

// in is the machine's address within the network.
func (inv *inventory) in(network netip.Prefix) (netAddress, bool) {
	for _, a := range inv.addresses {
		if network.Contains(a.prefix.Addr()) {
			return a, true
		}
	}
	return netAddress{}, false
}

// serviceReasons are the starts of the reasons that the service itself gives: they
// are judged anew each time.
func serviceReasons() []string {
	return []string{"Disk is too small (disk only has", "Drive type is ", "Multipath device has path of unsupported type"}
}

// validDriveTypes are what a disk may be to be installed on.
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

// judgeDisks decides which disks can be installed on. An agent's own reasons
// stand; a disk that the agent did not judge is left to the service.
func (inv *inventory) judgeDisks(minGB int64) {
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
			d.ID = d.identifier()
		}
	}
}

// identifier is how the disk is named: the most lasting of its names.
func (d *disk) identifier() string {
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

// binaryBytes prints a size in binary units.
func binaryBytes(n int64) string {
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

// eligibleDisks lists the disks that can be installed on, the best one first:
// bootable before others, slow and small before fast and large, so that the fast
// and large ones stay free for workloads.
func (inv *inventory) eligibleDisks() []*disk {
	var list []*disk
	for i := range inv.Disks {
		if inv.Disks[i].InstallationEligibility.Eligible {
			list = append(list, &inv.Disks[i])
		}
	}
	slices.SortStableFunc(list, func(a, b *disk) int {
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

func (d *disk) isNVMe() bool { return strings.HasPrefix(d.Name, "nvme") }

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

// findDisk finds a disk by any of its names.
func (inv *inventory) findDisk(name string) *disk {
	for i := range inv.Disks {
		if d := &inv.Disks[i]; name != "" && (d.identifier() == name || d.Path == name || d.ByID == name || d.ByPath == name) {
			return d
		}
	}
	return nil
}

// ofVMware tells a virtual machine of vSphere, in whatever cluster it is.
func (inv *inventory) ofVMware() bool {
	return inv.SystemVendor != nil && inv.SystemVendor.Manufacturer == "VMware, Inc."
}
