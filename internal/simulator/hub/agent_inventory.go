package hub

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"github.com/openshift/assisted-service/models"
	"k8s.io/apimachinery/pkg/runtime"
)

func readInventory(text string) (*models.Inventory, error) {
	if text == "" {
		return nil, nil
	}
	inv := &models.Inventory{Boot: &models.Boot{}, CPU: &models.CPU{}, Memory: &models.Memory{}, SystemVendor: &models.SystemVendor{}}
	return inv, json.Unmarshal([]byte(text), inv)
}

func printedInventory(inv *models.Inventory) agentinstall.HostInventory {
	out := agentinstall.HostInventory{Hostname: inv.Hostname, BMCAddress: inv.BmcAddress, BMCV6Address: inv.BmcV6address}
	out.CPU = agentinstall.HostCPU{
		Count: inv.CPU.Count, ClockMegahertz: int64(inv.CPU.Frequency), Flags: inv.CPU.Flags, ModelName: inv.CPU.ModelName, Architecture: inv.CPU.Architecture,
	}
	out.Memory = agentinstall.HostMemory{PhysicalBytes: inv.Memory.PhysicalBytes, UsableBytes: inv.Memory.UsableBytes}
	out.Boot = agentinstall.HostBoot{CurrentBootMode: inv.Boot.CurrentBootMode, PXEInterface: inv.Boot.PxeInterface, DeviceType: inv.Boot.DeviceType}
	out.SystemVendor = agentinstall.HostSystemVendor(*inv.SystemVendor)
	for _, nic := range inv.Interfaces {
		out.Interfaces = append(out.Interfaces, agentinstall.HostInterface{
			Name: nic.Name, MACAddress: nic.MacAddress, HasCarrier: nic.HasCarrier, MTU: nic.Mtu, SpeedMbps: nic.SpeedMbps, Vendor: nic.Vendor,
			Product: nic.Product, BIOSDevName: nic.Biosdevname, ClientID: nic.ClientID,
			IPV4Addresses: some(nic.IPV4Addresses), IPV6Addresses: some(nic.IPV6Addresses), Flags: some(nic.Flags),
		})
	}
	for _, d := range inv.Disks {
		disk := agentinstall.HostDisk{
			ID: d.ID, Name: d.Name, Path: d.Path, ByPath: d.ByPath, ByID: d.ByID, DriveType: string(d.DriveType), Vendor: d.Vendor, Model: d.Model,
			Serial: d.Serial, WWN: d.Wwn, HCTL: d.Hctl, SizeBytes: d.SizeBytes, Bootable: d.Bootable, SMART: d.Smart,
			InstallationEligibility: &agentinstall.DiskEligibility{Eligible: d.InstallationEligibility.Eligible, NotEligibleReasons: some(d.InstallationEligibility.NotEligibleReasons)},
			IOPerf:                  &agentinstall.DiskPerformance{},
		}
		if d.IoPerf != nil {
			disk.IOPerf.SyncDurationMilliseconds = d.IoPerf.SyncDuration
		}
		out.Disks = append(out.Disks, disk)
	}
	for _, gpu := range inv.Gpus {
		out.GPUs = append(out.GPUs, agentinstall.HostGPU(*gpu))
	}
	return out
}

// some is a list that prints as an empty one rather than not at all.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func setInventory(status map[string]any, text string) error {
	inv, err := readInventory(text)
	if err != nil || inv == nil {
		delete(status, "inventory")
		return err
	}
	out := printedInventory(inv)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&out)
	if err != nil {
		return err
	}
	status["inventory"] = fields
	return nil
}

// labelAgent puts what is known of the machine into labels, by which Agents can be chosen.
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
	want := inventoryLabels(inv)
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
	return h.store.update(ctx, agent)
}

func inventoryLabels(inv *models.Inventory) map[string]string {
	solid := slices.ContainsFunc(inv.Disks, func(d *models.Disk) bool { return d.DriveType == models.DriveTypeSSD })
	virt := slices.Contains(inv.CPU.Flags, "vmx") || slices.Contains(inv.CPU.Flags, "svm")
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

// labelText makes a text one that a label may have: blanks go, and what is still none is left out.
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
