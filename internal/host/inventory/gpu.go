//go:build linux

package inventory

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// gpus describes displays and accelerators on the PCI bus.
func (c Collector) gpus() []*models.Gpu {
	const folder = "sys/bus/pci/devices/"
	gpus := []*models.Gpu{}
	address := regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	for _, name := range c.files().names(folder) {
		class := strings.TrimPrefix(c.files().word(folder+name+"/class"), "0x")
		if !address.MatchString(name) || !isGPU(class) {
			continue
		}
		gpus = append(gpus, &models.Gpu{
			Address:  name,
			VendorID: strings.TrimPrefix(c.files().word(folder+name+"/vendor"), "0x"),
			DeviceID: strings.TrimPrefix(c.files().word(folder+name+"/device"), "0x"),
			Vendor:   unknown,
			Name:     unknown,
		})
	}
	if len(gpus) > 0 {
		c.nameGPUs(gpus)
	}
	return gpus
}

// isGPU reports whether a PCI class, such as 030000, is one of these: VGA, 3D, other display, processing accelerator.
func isGPU(class string) bool {
	return slices.ContainsFunc([]string{"0300", "0302", "0380", "1200"}, func(prefix string) bool { return strings.HasPrefix(class, prefix) })
}

// nameGPUs looks up the names of devices in pci.ids, where the system has it.
func (c Collector) nameGPUs(gpus []*models.Gpu) {
	for _, path := range []string{
		"usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids.gz", "usr/share/misc/pci.ids.gz",
	} {
		file, err := os.Open(c.files().at(path))
		if err != nil {
			continue
		}
		defer file.Close()
		var content io.Reader = file
		if strings.HasSuffix(path, ".gz") {
			if content, err = gzip.NewReader(file); err != nil {
				c.warn("read the names of PCI devices in "+path, err)
				continue
			}
		}
		if err := nameDevices(gpus, content); err != nil {
			c.warn("read the names of PCI devices in "+path, err)
		}
		return
	}
	c.logger().Info("inventory: there is no pci.ids, so GPUs have no names")
}

// nameDevices sets the names of devices from pci.ids: a line "10de  NVIDIA Corporation" for a vendor, then lines
// "<tab>1eb8  TU104GL [Tesla T4]" for its devices.
func nameDevices(gpus []*models.Gpu, content io.Reader) error {
	vendor := ""
	lines := bufio.NewScanner(io.LimitReader(content, fileLimit))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "C ") {
			break // classes follow
		}
		id, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		if !found || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "\t\t") {
			continue
		}
		isVendor := !strings.HasPrefix(line, "\t")
		if isVendor {
			vendor = id
		}
		for _, gpu := range gpus {
			switch {
			case gpu.VendorID != vendor:
			case isVendor:
				gpu.Vendor = name
			case gpu.DeviceID == id:
				gpu.Name = name
			}
		}
	}
	return lines.Err()
}
