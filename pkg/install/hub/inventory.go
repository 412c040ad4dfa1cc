package hub

import (
	"strings"

	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
)

// inventoryOf is what an Agent's machine says of itself. An Agent is named by
// the machine's UUID. Zero before the first report.
func inventoryOf(wire *agentinstall.HostInventory, uuid string) install.Inventory {
	if wire.Hostname == "" && len(wire.Interfaces) == 0 && len(wire.Disks) == 0 {
		return install.Inventory{}
	}
	out := install.Inventory{
		Known: true, Hostname: wire.Hostname, UUID: uuid,
		Serial: wire.SystemVendor.SerialNumber, Manufacturer: wire.SystemVendor.Manufacturer, Product: wire.SystemVendor.ProductName,
		BMC: plane.BMCAddress(wire.BMCAddress, wire.BMCV6Address), CPUs: int(wire.CPU.Count), Arch: plane.Architecture(wire.CPU.Architecture), MemoryBytes: wire.Memory.PhysicalBytes,
		Interfaces: make([]install.Interface, 0, len(wire.Interfaces)),
		Disks:      make([]install.Disk, 0, len(wire.Disks)),
	}
	for _, nic := range wire.Interfaces {
		out.Interfaces = append(out.Interfaces, install.Interface{
			Name: nic.Name, MAC: strings.ToLower(nic.MACAddress), Up: nic.HasCarrier,
			Addresses: append(append([]string{}, nic.IPV4Addresses...), nic.IPV6Addresses...),
		})
	}
	for _, d := range wire.Disks {
		disk := install.Disk{
			ID: d.ID, Path: d.Path, ByID: d.ByID, ByPath: d.ByPath, HCTL: d.HCTL, Name: d.Name, Model: d.Model, Vendor: d.Vendor,
			Serial: d.Serial, WWN: d.WWN, Type: d.DriveType, SizeBytes: d.SizeBytes,
		}
		if e := d.InstallationEligibility; e != nil {
			disk.Eligible, disk.Reasons = e.Eligible, e.NotEligibleReasons
		}
		out.Disks = append(out.Disks, disk)
	}
	return out
}
