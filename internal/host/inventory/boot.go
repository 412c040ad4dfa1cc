//go:build linux

package inventory

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/mountinfo"
)

// boot says how the machine has booted.
func (c Collector) boot() *models.Boot {
	commandLine, err := c.files().text("proc/cmdline")
	if err != nil {
		c.warn("read the kernel's command line", err)
	}
	boot := &models.Boot{
		CommandLine:     commandLine,
		CurrentBootMode: "bios",
		DeviceType:      bootDeviceType(c.mounts()),
		SecureBootState: c.secureBoot(),
	}
	if c.files().exists("sys/firmware/efi") {
		boot.CurrentBootMode = "uefi"
	}
	for argument := range strings.FieldsSeq(commandLine) {
		if address, found := strings.CutPrefix(argument, "BOOTIF="); found {
			boot.PxeInterface = address
			break
		}
	}
	return boot
}

// bootDeviceType says whether the root file system is a live one, or one that is installed. It is "" if the system has no
// /sysroot, as CoreOS has.
func bootDeviceType(mounts []mountinfo.Mount) string {
	for _, m := range mounts {
		switch {
		case m.Point != "/sysroot":
		case strings.HasPrefix(m.Source, "/dev/loop"):
			return models.BootDeviceTypeEphemeral
		default:
			return models.BootDeviceTypePersistent
		}
	}
	return ""
}

// secureBoot reads the EFI variable SecureBoot: one byte, which is 1 if the firmware checks signatures.
func (c Collector) secureBoot() models.SecureBootState {
	value, err := machine.EFI{Folder: c.files().at(machine.EFIFolder)}.Read("SecureBoot")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return models.SecureBootStateNotSupported
	case err == nil && len(value) == 1 && value[0] == 0:
		return models.SecureBootStateDisabled
	case err == nil && len(value) == 1 && value[0] == 1:
		return models.SecureBootStateEnabled
	case err == nil:
		err = fmt.Errorf("its value is %x; 00 and 01 are known", value)
	}
	c.warn("read whether secure boot is on", err)
	return models.SecureBootStateUnknown
}
