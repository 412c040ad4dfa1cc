package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// The inventory that an agent reports (models.Inventory).
type inventory struct {
	Hostname     string       `json:"hostname"`
	BMCAddress   string       `json:"bmc_address"`
	BMCv6Address string       `json:"bmc_v6address"`
	Boot         bootInfo     `json:"boot"`
	CPU          cpuInfo      `json:"cpu"`
	Memory       memoryInfo   `json:"memory"`
	Disks        []diskInfo   `json:"disks"`
	GPUs         []struct{}   `json:"gpus"`
	Interfaces   []nicInfo    `json:"interfaces"`
	Routes       []routeInfo  `json:"routes"`
	SystemVendor systemVendor `json:"system_vendor"`
	Timestamp    int64        `json:"timestamp"`
	TPMVersion   string       `json:"tpm_version"`
}

type bootInfo struct {
	CurrentBootMode string `json:"current_boot_mode"`
	DeviceType      string `json:"device_type"`
	CommandLine     string `json:"command_line"`
	SecureBootState string `json:"secure_boot_state"`
}

type cpuInfo struct {
	Architecture string   `json:"architecture"`
	Count        int      `json:"count"`
	Frequency    float64  `json:"frequency"`
	Flags        []string `json:"flags"`
	ModelName    string   `json:"model_name"`
}

type memoryInfo struct {
	PhysicalBytes       int64  `json:"physical_bytes"`
	UsableBytes         int64  `json:"usable_bytes"`
	PhysicalBytesMethod string `json:"physical_bytes_method"`
}

type diskInfo struct {
	ID          string      `json:"id"`
	ByID        string      `json:"by_id"`
	ByPath      string      `json:"by_path"`
	Path        string      `json:"path"`
	Name        string      `json:"name"`
	WWN         string      `json:"wwn"`
	Serial      string      `json:"serial"`
	HCTL        string      `json:"hctl"`
	Model       string      `json:"model"`
	Vendor      string      `json:"vendor"`
	DriveType   string      `json:"drive_type"`
	SizeBytes   int64       `json:"size_bytes"`
	Bootable    bool        `json:"bootable"`
	Removable   bool        `json:"removable"`
	Eligibility eligibility `json:"installation_eligibility"`
	HasUUID     bool        `json:"has_uuid,omitempty"`
	Smart       string      `json:"smart"`
}

type eligibility struct {
	Eligible bool     `json:"eligible"`
	Reasons  []string `json:"not_eligible_reasons"`
}

type nicInfo struct {
	Name          string   `json:"name"`
	MAC           string   `json:"mac_address"`
	IPv4Addresses []string `json:"ipv4_addresses"`
	IPv6Addresses []string `json:"ipv6_addresses"`
	HasCarrier    bool     `json:"has_carrier"`
	MTU           int      `json:"mtu"`
	SpeedMbps     int      `json:"speed_mbps"`
	Type          string   `json:"type"`
	Flags         []string `json:"flags"`
	Vendor        string   `json:"vendor"`
	Product       string   `json:"product"`
	BIOSDevName   string   `json:"biosdevname"`
}

type routeInfo struct {
	Interface   string `json:"interface"`
	Destination string `json:"destination"`
	Gateway     string `json:"gateway,omitempty"`
	// Family is 2 for IPv4 and 10 for IPv6, as in the kernel's headers.
	Family int `json:"family"`
	Metric int `json:"metric"`
}

type systemVendor struct {
	Manufacturer string `json:"manufacturer"`
	ProductName  string `json:"product_name"`
	SerialNumber string `json:"serial_number"`
	Virtual      bool   `json:"virtual"`
}

// The address families of routes.
const (
	familyIPv4 = 2
	familyIPv6 = 10
)

// inventory is what the machine's agent would find, at the time at.
func (m Machine) inventory(at time.Time) inventory {
	inv := inventory{
		Hostname:     m.Hostname,
		BMCAddress:   "0.0.0.0",
		BMCv6Address: "::/0",
		Boot: bootInfo{
			CurrentBootMode: m.BootMode, DeviceType: "ephemeral", SecureBootState: "NotSupported",
			CommandLine: "BOOT_IMAGE=/images/pxeboot/vmlinuz coreos.liveiso=rhcos ignition.firstboot ignition.platform.id=metal",
		},
		CPU: cpuInfo{
			Architecture: m.CPUArch, Count: m.CPUs, Frequency: 2400, Flags: []string{"vmx", "aes", "sse4_2"},
			ModelName: "Intel(R) Xeon(R) Gold 6338N CPU @ 2.20GHz",
		},
		Memory: memoryInfo{
			PhysicalBytes: m.MemoryBytes, UsableBytes: m.MemoryBytes - m.MemoryBytes/32, PhysicalBytesMethod: "dmidecode",
		},
		Disks:      make([]diskInfo, 0, len(m.Disks)),
		GPUs:       []struct{}{},
		Interfaces: make([]nicInfo, 0, len(m.NICs)),
		SystemVendor: systemVendor{
			Manufacturer: m.Manufacturer, ProductName: m.Product, SerialNumber: m.Serial, Virtual: m.Virtual,
		},
		Timestamp:  at.Unix(),
		TPMVersion: m.TPM,
	}
	switch {
	case m.BMC.Is4():
		inv.BMCAddress = m.BMC.String()
	case m.BMC.Is6():
		inv.BMCv6Address = m.BMC.String()
	}
	for _, d := range m.Disks {
		inv.Disks = append(inv.Disks, d.info())
	}
	for i, n := range m.NICs {
		inv.Interfaces = append(inv.Interfaces, n.info(i))
	}
	inv.Routes = m.routes()
	return inv
}

func (d Disk) info() diskInfo {
	info := diskInfo{
		Path: "/dev/" + d.Name, Name: d.Name, WWN: d.WWN, Serial: d.Serial, HCTL: d.HCTL,
		Model: d.Model, Vendor: d.Vendor, DriveType: d.DriveType, SizeBytes: d.SizeBytes,
		Removable: d.Removable, HasUUID: d.HasUUID, Smart: "{}",
		// The service decides on eligibility itself, from the size and type.
		Eligibility: eligibility{Eligible: true, Reasons: []string{}},
	}
	info.ID = info.Path
	if d.ByPath != "" {
		info.ByPath = "/dev/disk/by-path/" + d.ByPath
		info.ID = info.ByPath
	}
	if d.WWN != "" {
		info.ByID = "/dev/disk/by-id/wwn-" + d.WWN
		info.ID = info.ByID
	}
	return info
}

func (n NIC) info(index int) nicInfo {
	info := nicInfo{
		Name: n.Name, MAC: n.MAC, HasCarrier: n.Carrier, MTU: n.MTU, SpeedMbps: n.SpeedMbps,
		IPv4Addresses: []string{}, IPv6Addresses: []string{}, Type: "physical",
		Flags: []string{"up", "broadcast", "multicast"}, Vendor: "0x8086", Product: "0x1592",
		BIOSDevName: fmt.Sprintf("em%d", index+1),
	}
	for _, a := range n.Addresses {
		if a.Addr().Is4() {
			info.IPv4Addresses = append(info.IPv4Addresses, a.String())
		} else {
			info.IPv6Addresses = append(info.IPv6Addresses, a.String())
		}
	}
	return info
}

func (m Machine) routes() []routeInfo {
	routes := []routeInfo{}
	add := func(nic string, destination netip.Prefix, gateway string) {
		r := routeInfo{Interface: nic, Destination: destination.String(), Gateway: gateway, Family: familyIPv4, Metric: 100}
		if destination.Addr().Is6() {
			r.Family = familyIPv6
		}
		if destination.Bits() == 0 {
			// The agent prints the default route's destination without a length.
			r.Destination = destination.Addr().String()
		}
		routes = append(routes, r)
	}
	for _, g := range m.Gateways {
		for _, n := range m.NICs {
			if slices.ContainsFunc(n.Addresses, func(a netip.Prefix) bool { return a.Masked().Contains(g) }) {
				everywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
				if g.Is6() {
					everywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
				}
				add(n.Name, everywhere, g.String())
			}
		}
	}
	for _, n := range m.NICs {
		for _, a := range n.Addresses {
			add(n.Name, a.Masked(), "")
		}
	}
	return routes
}

// encode is the inventory as the agent sends it, with the patch merged in.
func (inv inventory) encode(patch map[string]any) (string, error) {
	raw, err := json.Marshal(inv)
	if err != nil || patch == nil {
		return string(raw), err
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return "", err
	}
	raw, err = json.Marshal(mergePatch(fields, patch))
	return string(raw), err
}

// mergePatch is RFC 7396: objects merge, null removes, all else replaces.
func mergePatch(target, patch map[string]any) map[string]any {
	merged := maps.Clone(target)
	for key, value := range patch {
		object, isObject := value.(map[string]any)
		inner, _ := merged[key].(map[string]any)
		switch {
		case value == nil:
			delete(merged, key)
		case isObject && inner != nil:
			merged[key] = mergePatch(inner, object)
		default:
			merged[key] = value
		}
	}
	return merged
}
