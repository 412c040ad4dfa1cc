//go:build linux

package disk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
)

// Match returns a *blockdevice.Refused if a disk is not the one of the inventory: its size, serial number or WWN differ. What
// the inventory or the machine does not know is not compared.
func (d Disks) Match(id blockdevice.Identity, disk *models.Disk) error {
	names, err := d.Devices.Names(id)
	if err != nil {
		return err
	}
	return match(id, names, disk)
}

func match(id blockdevice.Identity, names blockdevice.Names, disk *models.Disk) error {
	difference := ""
	switch {
	case disk.SizeBytes != 0 && disk.SizeBytes != id.Size:
		difference = fmt.Sprintf("its size is %d bytes instead of %d", id.Size, disk.SizeBytes)
	case known(names.Serials, disk.Serial) && !slices.ContainsFunc(names.Serials, func(n string) bool { return isSerial(n, disk.Serial) }):
		difference = fmt.Sprintf("its serial number is %q instead of %q", names.Serials[0], disk.Serial)
	case known(names.WWNs, disk.Wwn) && !isWWN(names.WWNs, disk.Wwn):
		difference = fmt.Sprintf("its WWN is %q instead of %q", names.WWNs[0], disk.Wwn)
	default:
		return nil
	}
	return &blockdevice.Refused{
		Path: id.Path, Reason: "it is not the disk that was chosen: " + difference,
		Next: "discover the host again, and choose its installation disk anew",
	}
}

// known reports whether both the machine and the inventory have a name.
func known(names []string, wanted string) bool {
	return len(names) > 0 && plain(wanted) != "" && wanted != "unknown"
}

// plain is a name without what udev changes: it writes an underscore for white space.
func plain(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' || r == '\t' }), "_")
}

// isSerial reports whether a serial number is the wanted one, which may begin with vendor and model.
func isSerial(name, wanted string) bool {
	name, wanted = plain(name), plain(wanted)
	return name != "" && (name == wanted || strings.HasSuffix(wanted, "_"+name))
}

// isWWN compares digits. The kernel and udev write naa.5000c500, eui.0025 and 0x5000c500, and may leave out the extension, by
// which disks of one array differ: so names of the same length decide, if there are any.
func isWWN(names []string, wanted string) bool {
	wanted = digits(wanted)
	begins, sameLength := false, false
	const withoutExtension = 16
	for _, name := range names {
		name = digits(name)
		if name == wanted {
			return true
		}
		sameLength = sameLength || len(name) == len(wanted)
		if min(len(name), len(wanted)) >= withoutExtension {
			begins = begins || strings.HasPrefix(name, wanted) || strings.HasPrefix(wanted, name)
		}
	}
	return begins && !sameLength
}

func digits(wwn string) string {
	wwn = strings.ToLower(plain(wwn))
	for _, prefix := range []string{"0x", "naa.", "eui.", "uuid.", "nvme-eui.", "wwn-0x"} {
		wwn = strings.TrimPrefix(wwn, prefix)
	}
	return wwn
}
