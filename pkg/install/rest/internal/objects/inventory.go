package objects

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/plane"
)

// inventoryWire is what of a machine's inventory is looked at. The agent's
// inventory has far more, and more with every version.
type inventoryWire struct {
	Hostname string `json:"hostname"`
	BMC      string `json:"bmc_address"`
	BMC6     string `json:"bmc_v6address"`
	CPU      struct {
		Count int    `json:"count"`
		Arch  string `json:"architecture"`
	} `json:"cpu"`
	Memory struct {
		Physical int64 `json:"physical_bytes"`
	} `json:"memory"`
	Disks      []diskWire      `json:"disks"`
	Interfaces []interfaceWire `json:"interfaces"`
	Vendor     struct {
		Manufacturer string `json:"manufacturer"`
		Product      string `json:"product_name"`
		Serial       string `json:"serial_number"`
	} `json:"system_vendor"`
}

type diskWire struct {
	ID          string `json:"id"`
	ByID        string `json:"by_id"`
	ByPath      string `json:"by_path"`
	Path        string `json:"path"`
	Name        string `json:"name"`
	WWN         string `json:"wwn"`
	Serial      string `json:"serial"`
	HCTL        string `json:"hctl"`
	Model       string `json:"model"`
	Vendor      string `json:"vendor"`
	Type        string `json:"drive_type"`
	Size        int64  `json:"size_bytes"`
	Removable   bool   `json:"removable"`
	Media       bool   `json:"is_installation_media"`
	Eligibility struct {
		Eligible bool     `json:"eligible"`
		Reasons  []string `json:"not_eligible_reasons"`
	} `json:"installation_eligibility"`
}

type interfaceWire struct {
	Name    string   `json:"name"`
	MAC     string   `json:"mac_address"`
	IPv4    []string `json:"ipv4_addresses"`
	IPv6    []string `json:"ipv6_addresses"`
	Carrier bool     `json:"has_carrier"`
}

// readInventory reads the inventory that a host carries in a text. hostID is
// the machine's UUID: the agent takes it as the host's id. A field of another
// type than expected is left out; a text that is no JSON object is no inventory.
func readInventory(text, hostID string) install.Inventory {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return install.Inventory{}
	}
	var wire inventoryWire
	err := json.Unmarshal([]byte(text), &wire)
	var shape *json.UnmarshalTypeError
	if err != nil && (!errors.As(err, &shape) || shape.Field == "") {
		return install.Inventory{}
	}
	out := install.Inventory{
		Known: true, Hostname: wire.Hostname, UUID: hostID,
		Serial: wire.Vendor.Serial, Manufacturer: wire.Vendor.Manufacturer, Product: wire.Vendor.Product,
		BMC: plane.BMCAddress(wire.BMC, wire.BMC6), CPUs: wire.CPU.Count, Arch: plane.Architecture(wire.CPU.Arch), MemoryBytes: wire.Memory.Physical,
		Interfaces: make([]install.Interface, 0, len(wire.Interfaces)),
		Disks:      make([]install.Disk, 0, len(wire.Disks)),
	}
	for _, nic := range wire.Interfaces {
		out.Interfaces = append(out.Interfaces, install.Interface{
			Name: nic.Name, MAC: strings.ToLower(nic.MAC), Up: nic.Carrier,
			Addresses: append(append([]string{}, nic.IPv4...), nic.IPv6...),
		})
	}
	for _, d := range wire.Disks {
		out.Disks = append(out.Disks, install.Disk{
			ID: d.ID, Path: d.Path, ByID: d.ByID, ByPath: d.ByPath, HCTL: d.HCTL, Name: d.Name, Model: d.Model, Vendor: d.Vendor,
			Serial: d.Serial, WWN: d.WWN, Type: d.Type, SizeBytes: d.Size, Removable: d.Removable, Media: d.Media,
			Eligible: d.Eligibility.Eligible, Reasons: d.Eligibility.Reasons,
		})
	}
	return out
}
