package hub

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// inventory is what an agent reports of its machine, as the service keeps it.
type inventory struct {
	Hostname     string `json:"hostname"`
	BMCAddress   string `json:"bmc_address"`
	BMCV6Address string `json:"bmc_v6address"`
	CPU          struct {
		Architecture string   `json:"architecture"`
		Count        int64    `json:"count"`
		Flags        []string `json:"flags"`
		Frequency    float64  `json:"frequency"`
		ModelName    string   `json:"model_name"`
	} `json:"cpu"`
	Memory struct {
		PhysicalBytes int64 `json:"physical_bytes"`
		UsableBytes   int64 `json:"usable_bytes"`
	} `json:"memory"`
	Boot struct {
		Mode         string `json:"current_boot_mode"`
		PXEInterface string `json:"pxe_interface"`
		DeviceType   string `json:"device_type"`
	} `json:"boot"`
	SystemVendor struct {
		Manufacturer string `json:"manufacturer"`
		ProductName  string `json:"product_name"`
		SerialNumber string `json:"serial_number"`
		Virtual      bool   `json:"virtual"`
	} `json:"system_vendor"`
	Interfaces []inventoryNIC  `json:"interfaces"`
	Disks      []inventoryDisk `json:"disks"`
	GPUs       []struct {
		Address  string `json:"address"`
		DeviceID string `json:"device_id"`
		Name     string `json:"name"`
		Vendor   string `json:"vendor"`
		VendorID string `json:"vendor_id"`
	} `json:"gpus"`
}

type inventoryNIC struct {
	Name        string   `json:"name"`
	MAC         string   `json:"mac_address"`
	HasCarrier  bool     `json:"has_carrier"`
	MTU         int64    `json:"mtu"`
	SpeedMbps   int64    `json:"speed_mbps"`
	Vendor      string   `json:"vendor"`
	Product     string   `json:"product"`
	BIOSDevName string   `json:"biosdevname"`
	ClientID    string   `json:"client_id"`
	IPv4        []string `json:"ipv4_addresses"`
	IPv6        []string `json:"ipv6_addresses"`
	Flags       []string `json:"flags"`
}

type inventoryDisk struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Path        string `json:"path"`
	ByPath      string `json:"by_path"`
	ByID        string `json:"by_id"`
	DriveType   string `json:"drive_type"`
	Vendor      string `json:"vendor"`
	Model       string `json:"model"`
	Serial      string `json:"serial"`
	WWN         string `json:"wwn"`
	HCTL        string `json:"hctl"`
	SizeBytes   int64  `json:"size_bytes"`
	Bootable    bool   `json:"bootable"`
	SMART       string `json:"smart"`
	Eligibility struct {
		Eligible bool     `json:"eligible"`
		Reasons  []string `json:"not_eligible_reasons"`
	} `json:"installation_eligibility"`
	IOPerf *struct {
		Sync int64 `json:"sync_duration"`
	} `json:"io_perf"`
}

// readInventory reads what an agent reported; nil where it has not.
func readInventory(text string) (*inventory, error) {
	if text == "" {
		return nil, nil
	}
	var inv inventory
	if err := json.Unmarshal([]byte(text), &inv); err != nil {
		return nil, err
	}
	return &inv, nil
}

// printed is the inventory in the words of an Agent's status.
func (inv *inventory) printed() agentinstall.HostInventory {
	out := agentinstall.HostInventory{Hostname: inv.Hostname, BMCAddress: inv.BMCAddress, BMCV6Address: inv.BMCV6Address}
	out.CPU = agentinstall.HostCPU{
		Count: inv.CPU.Count, ClockMegahertz: int64(inv.CPU.Frequency), Flags: inv.CPU.Flags, ModelName: inv.CPU.ModelName, Architecture: inv.CPU.Architecture,
	}
	out.Memory = agentinstall.HostMemory{PhysicalBytes: inv.Memory.PhysicalBytes, UsableBytes: inv.Memory.UsableBytes}
	out.Boot = agentinstall.HostBoot{CurrentBootMode: inv.Boot.Mode, PXEInterface: inv.Boot.PXEInterface, DeviceType: inv.Boot.DeviceType}
	out.SystemVendor = agentinstall.HostSystemVendor(inv.SystemVendor)
	for _, nic := range inv.Interfaces {
		out.Interfaces = append(out.Interfaces, agentinstall.HostInterface{
			Name: nic.Name, MACAddress: nic.MAC, HasCarrier: nic.HasCarrier, MTU: nic.MTU, SpeedMbps: nic.SpeedMbps, Vendor: nic.Vendor,
			Product: nic.Product, BIOSDevName: nic.BIOSDevName, ClientID: nic.ClientID,
			IPV4Addresses: some(nic.IPv4), IPV6Addresses: some(nic.IPv6), Flags: some(nic.Flags),
		})
	}
	for i := range inv.Disks {
		out.Disks = append(out.Disks, inv.Disks[i].printed())
	}
	for _, gpu := range inv.GPUs {
		out.GPUs = append(out.GPUs, agentinstall.HostGPU{Address: gpu.Address, DeviceID: gpu.DeviceID, Name: gpu.Name, Vendor: gpu.Vendor, VendorID: gpu.VendorID})
	}
	return out
}

func (d *inventoryDisk) printed() agentinstall.HostDisk {
	disk := agentinstall.HostDisk{
		ID: d.ID, Name: d.Name, Path: d.Path, ByPath: d.ByPath, ByID: d.ByID, DriveType: d.DriveType, Vendor: d.Vendor, Model: d.Model,
		Serial: d.Serial, WWN: d.WWN, HCTL: d.HCTL, SizeBytes: d.SizeBytes, Bootable: d.Bootable, SMART: d.SMART,
		InstallationEligibility: &agentinstall.DiskEligibility{Eligible: d.Eligibility.Eligible, NotEligibleReasons: some(d.Eligibility.Reasons)},
		IOPerf:                  &agentinstall.DiskPerformance{},
	}
	if d.IOPerf != nil {
		disk.IOPerf.SyncDurationMilliseconds = d.IOPerf.Sync
	}
	return disk
}

// some is a list that prints as an empty one rather than not at all.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// setInventory writes the inventory into an Agent's status.
func setInventory(status map[string]any, text string) error {
	inv, err := readInventory(text)
	if err != nil || inv == nil {
		delete(status, "inventory")
		return err
	}
	out := inv.printed()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&out)
	if err != nil {
		return err
	}
	status["inventory"] = fields
	return nil
}

// labelAgent puts what is known of the machine into labels, by which Agents can
// be chosen.
func (h *hub) labelAgent(ctx context.Context, k key, host *assisted.Host, spec *objects.AgentSpec) error {
	inv, err := readInventory(host.Inventory)
	if err != nil || inv == nil {
		return err
	}
	agent := h.store.get(objects.KindAgent, k.space, k.id)
	if agent == nil {
		return nil
	}
	notes, changed := objects.SetMark(agent.GetAnnotations(), hubapi.AnnotationInventoryVersion, "0.1")
	labels := agent.GetLabels()
	want := inv.labels()
	if ref := spec.ClusterDeploymentName; ref != nil {
		want[hubapi.LabelAgentClusterNamespace] = ref.Namespace
	}
	for name, text := range want {
		var moved bool
		labels, moved = objects.SetMark(labels, name, text)
		changed = changed || moved
	}
	if !changed {
		return nil
	}
	agent.SetAnnotations(notes)
	agent.SetLabels(labels)
	_, err = h.store.update(ctx, objects.KindAgent, agent)
	return err
}

// labels are the labels of a machine.
func (inv *inventory) labels() map[string]string {
	solid := false
	for _, d := range inv.Disks {
		solid = solid || d.DriveType == "SSD"
	}
	virt := false
	for _, flag := range inv.CPU.Flags {
		virt = virt || flag == "vmx" || flag == "svm"
	}
	all := map[string]string{
		hubapi.InventoryHasNonRotationalDisk: strconv.FormatBool(solid),
		hubapi.InventoryCPUArchitecture:      inv.CPU.Architecture,
		hubapi.InventoryCPUVirtEnabled:       strconv.FormatBool(virt),
		hubapi.InventoryHostProductName:      labelText(inv.SystemVendor.ProductName),
		hubapi.InventoryHostIsVirtual:        strconv.FormatBool(inv.SystemVendor.Virtual),
	}
	if maker := labelText(inv.SystemVendor.Manufacturer); maker != "" {
		all[hubapi.InventoryHostManufacturer] = maker
	}
	return all
}

// labelText makes a text one that a label may have: blanks go, and what is still
// none is left out.
func labelText(text string) string {
	text = strings.ReplaceAll(text, " ", "")
	if len(text) > 63 || !regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`).MatchString(text) {
		return ""
	}
	return text
}

func rfc3339(at time.Time) string {
	if at.Unix() <= 0 {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
