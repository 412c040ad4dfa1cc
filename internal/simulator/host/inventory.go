package host

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/openshift/assisted-service/models"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

const (
	familyIPv4 = 2
	familyIPv6 = 10
)

// inventory is the service's, with what agents say even where it is false.
type inventory struct {
	models.Inventory

	Disks        []disk `json:"disks"`
	SystemVendor vendor `json:"system_vendor"`
	Timestamp    int64  `json:"timestamp"`
}

type disk struct {
	models.Disk

	Bootable bool `json:"bootable"`
}

type vendor struct {
	models.SystemVendor

	Virtual bool `json:"virtual"`
}

func (m Machine) inventory(at time.Time) inventory {
	inv := inventory{Disks: []disk{}, Timestamp: at.Unix(), SystemVendor: vendor{
		SystemVendor: models.SystemVendor{Manufacturer: m.Manufacturer, ProductName: m.Product, SerialNumber: m.Serial}, Virtual: m.Virtual,
	}}
	inv.Inventory = models.Inventory{
		Hostname:     m.Hostname,
		BmcAddress:   "0.0.0.0",
		BmcV6address: "::/0",
		Boot: &models.Boot{
			CurrentBootMode: m.BootMode, DeviceType: "ephemeral", SecureBootState: models.SecureBootStateNotSupported,
			CommandLine: "BOOT_IMAGE=/images/pxeboot/vmlinuz coreos.liveiso=rhcos ignition.firstboot ignition.platform.id=metal",
		},
		CPU: &models.CPU{
			Architecture: m.CPUArch, Count: int64(m.CPUs), Frequency: 2400, Flags: []string{"vmx", "aes", "sse4_2"},
			ModelName: "Intel(R) Xeon(R) Gold 6338N CPU @ 2.20GHz",
		},
		Memory: &models.Memory{
			PhysicalBytes: m.MemoryBytes, UsableBytes: m.MemoryBytes - m.MemoryBytes/32, PhysicalBytesMethod: models.MemoryMethodDmidecode,
		},
		Gpus: []*models.Gpu{}, Interfaces: []*models.Interface{}, Routes: m.routes(), TpmVersion: m.TPM,
	}
	switch {
	case m.BMC.Is4():
		inv.BmcAddress = m.BMC.String()
	case m.BMC.Is6():
		inv.BmcV6address = m.BMC.String()
	}
	for _, d := range m.Disks {
		inv.Disks = append(inv.Disks, disk{Disk: d.info()})
	}
	for i, n := range m.NICs {
		inv.Interfaces = append(inv.Interfaces, n.info(i))
	}
	return inv
}

func (d Disk) info() models.Disk {
	info := models.Disk{
		Path: "/dev/" + d.Name, Name: d.Name, Wwn: d.WWN, Serial: d.Serial, Hctl: d.HCTL,
		Model: d.Model, Vendor: d.Vendor, DriveType: models.DriveType(d.DriveType), SizeBytes: d.SizeBytes,
		Removable: d.Removable, HasUUID: d.HasUUID, Smart: "{}",
		// The service decides on eligibility itself, from the size and type.
		InstallationEligibility: models.DiskInstallationEligibility{Eligible: true, NotEligibleReasons: []string{}},
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

func (n NIC) info(index int) *models.Interface {
	info := &models.Interface{
		Name: n.Name, MacAddress: n.MAC, HasCarrier: n.Carrier, Mtu: int64(n.MTU), SpeedMbps: int64(n.SpeedMbps),
		IPV4Addresses: []string{}, IPV6Addresses: []string{}, Type: "physical",
		Flags: []string{"up", "broadcast", "multicast"}, Vendor: "0x8086", Product: "0x1592",
		Biosdevname: fmt.Sprintf("em%d", index+1),
	}
	for _, a := range n.Addresses {
		if a.Addr().Is4() {
			info.IPV4Addresses = append(info.IPV4Addresses, a.String())
		} else {
			info.IPV6Addresses = append(info.IPV6Addresses, a.String())
		}
	}
	return info
}

func (m Machine) routes() []*models.Route {
	routes := []*models.Route{}
	add := func(nic string, destination netip.Prefix, gateway string) {
		r := &models.Route{Interface: nic, Destination: destination.String(), Gateway: gateway, Family: familyIPv4, Metric: 100}
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

// encode is the inventory as the agent sends it, with a patch merged in (RFC 7396).
func (inv inventory) encode(patch map[string]any) (string, error) {
	raw, err := json.Marshal(inv)
	if err != nil || patch == nil {
		return string(raw), err
	}
	changes, err := json.Marshal(patch)
	if err != nil {
		return "", err
	}
	raw, err = jsonpatch.MergePatch(raw, changes)
	return string(raw), err
}
