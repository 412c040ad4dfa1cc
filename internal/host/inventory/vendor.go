//go:build linux

package inventory

import (
	"context"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// unknown is what the service gets for a text that the firmware does not have.
const unknown = "unknown"

// dmi is a text of the firmware, "unknown" if there is none.
func (c Collector) dmi(name string) string {
	content, err := c.files().text("sys/class/dmi/id/" + name)
	if err != nil {
		return unknown
	}
	return strings.TrimSpace(content)
}

// systemVendor says who made the machine, and whether it is virtual.
func (c Collector) systemVendor(ctx context.Context) *models.SystemVendor {
	vendor := &models.SystemVendor{
		Manufacturer: c.dmi("sys_vendor"),
		ProductName:  c.dmi("product_name"),
		SerialNumber: c.dmi("product_serial"),
		Virtual:      c.isVirtual(ctx),
	}
	// These two platforms show themselves only here.
	if family := c.dmi("product_family"); family == "oVirt" || family == "RHV" {
		vendor.ProductName = "oVirt"
	}
	const oracle = "OracleCloud.com"
	if c.dmi("chassis_asset_tag") == oracle {
		vendor.Manufacturer = oracle
	}
	if vendor.Manufacturer == unknown {
		c.mainframe(vendor)
	}
	return vendor
}

// mainframe fills in a machine of IBM Z, which has no DMI. LPAR and z/VM are not virtual for the service.
func (c Collector) mainframe(vendor *models.SystemVendor) {
	const ibm, kvm = "IBM/S390", "KVM/Linux"
	content, err := c.files().text("proc/cpuinfo")
	if err != nil || valueOf(content, "vendor_id") != ibm {
		return
	}
	vendor.Manufacturer, vendor.ProductName = ibm, "LPAR"
	if content, err = c.files().text("proc/sysinfo"); err != nil {
		c.warn("read what the machine runs on", err)
		return
	}
	for line := range strings.Lines(content) {
		name, value, _ := strings.Cut(line, ":")
		if strings.HasPrefix(name, "VM") && strings.Contains(name, "Control Program") {
			vendor.ProductName = strings.TrimSpace(value)
		}
	}
	vendor.Virtual = vendor.Virtual || vendor.ProductName == kvm
}

// valueOf is the value of the first line "name : value".
func valueOf(content, name string) string {
	for line := range strings.Lines(content) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// isVirtual reports whether the machine is a virtual one.
func (c Collector) isVirtual(ctx context.Context) bool {
	const program = "systemd-detect-virt"
	if c.Runner.Has(program) {
		output, err := c.run(ctx, program, "--vm")
		return err == nil && strings.TrimSpace(output) != "none"
	}
	return c.files().word("sys/hypervisor/type") != "" || c.hasHypervisorFlag() || isVirtualProduct(c.dmi("sys_vendor"), c.dmi("product_name"))
}

// isVirtualProduct reports whether the firmware has the names of a virtual machine.
func isVirtualProduct(vendor, product string) bool {
	for _, name := range []string{"QEMU", "VMware", "innotek GmbH", "Xen", "Amazon EC2", "Nutanix", "Parallels"} {
		if strings.HasPrefix(vendor, name) {
			return true
		}
	}
	for _, name := range []string{"KVM", "VirtualBox", "VMware", "Virtual Machine", "Google Compute Engine"} {
		if strings.HasPrefix(product, name) {
			return true
		}
	}
	return false
}
