//go:build linux

package inventory

import (
	"path"
	"slices"
	"strings"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/mountinfo"
)

// drive is a block device as sysfs and udev describe it. Texts are "" if they are not known.
type drive struct {
	name       string // such as sda
	folder     string // the device's real folder in sysfs
	number     string // the device number "major:minor"
	path       string // such as /dev/sda
	busPath    string // udev's ID_PATH, such as pci-0000:00:1f.2-ata-1
	model      string
	serial     string
	wwn        string
	vendor     string
	mapped     string // the UUID of a device-mapper device, such as LVM-... or mpath-...
	mappedName string
	size       int64 // in bytes
	rotates    bool
	removable  bool
	mountPoint string // where the whole device is mounted
	partitions []partition
}

// partition is a part of a drive.
type partition struct{ name, label, mountPoint string }

const sectorSize = 512 // of sizes in sysfs, for disks of any sector size

// drive reads a block device.
func (c Collector) drive(name string, mounts []mountinfo.Mount) drive {
	files := c.files()
	folder := "sys/block/" + name
	number := files.word(folder + "/dev")
	properties := c.udev(number)
	d := drive{
		name:    name,
		number:  number,
		busPath: cleanName(properties["ID_PATH"]),
		model:   properties["ID_MODEL"],
		serial:  firstOf(properties, "SCSI_IDENT_SERIAL", "ID_SCSI_SERIAL", "ID_SERIAL_SHORT", "ID_SERIAL"),
		// lsblk prefers the WWN of the logical unit, too.
		wwn:        firstOf(properties, "ID_WWN_WITH_EXTENSION", "ID_WWN", "DM_WWN"),
		vendor:     files.word(folder + "/device/vendor"),
		mapped:     files.word(folder + "/dm/uuid"),
		mappedName: files.word(folder + "/dm/name"),
		size:       diskSize(files.word(folder + "/size")),
		rotates:    files.word(folder+"/queue/rotational") == "1",
		removable:  files.word(folder+"/removable") == "1",
		mountPoint: mountPoint(mounts, name, number),
	}
	var err error
	if d.folder, err = files.resolve(folder); err != nil {
		c.warn("find the device of the disk "+name, err)
	}
	d.path = c.devicePath(d)
	for _, entry := range files.names(folder) {
		if !files.exists(folder + "/" + entry + "/partition") {
			continue
		}
		number := files.word(folder + "/" + entry + "/dev")
		d.partitions = append(d.partitions, partition{
			name:       entry,
			label:      c.udev(number)["ID_PART_ENTRY_NAME"],
			mountPoint: mountPoint(mounts, entry, number),
		})
	}
	return d
}

func diskSize(sectors string) int64 {
	const most = 1 << 53 // 4 EiB
	count := number(sectors)
	if count > most {
		return 0
	}
	return count * sectorSize
}

// cleanName is a name in a folder, "" if it leads out of the folder.
func cleanName(name string) string {
	if name != path.Base(name) || name == ".." || name == "." || name == "/" {
		return ""
	}
	return name
}

// devicePath is the path of a drive's device, "" if there is none.
func (c Collector) devicePath(d drive) string {
	// sysfs writes "!" for the "/" of names such as cciss/c0d0.
	device := path.Join("/dev", strings.ReplaceAll(d.name, "!", "/"))
	if c.files().exists(device) {
		return device
	}
	if d.busPath == "" {
		return ""
	}
	device, err := c.files().resolve("dev/disk/by-path/" + d.busPath)
	if err != nil {
		c.warn("find the device of the disk "+d.name, err)
		return ""
	}
	return device
}

func (d drive) isMapped() bool    { return strings.HasPrefix(d.name, "dm-") }
func (d drive) isMultipath() bool { return d.isMapped() && strings.HasPrefix(d.mapped, "mpath-") }
func (d drive) isLVM() bool       { return d.isMapped() && strings.HasPrefix(d.mapped, "LVM-") }
func (d drive) isRAID() bool      { return strings.HasPrefix(d.name, "md") }
func (d drive) isDASD() bool      { return strings.HasPrefix(d.name, "dasd") }
func (d drive) isISCSI() bool     { return strings.Contains(d.busPath, "-iscsi-") }

func (d drive) isFibreChannel() bool {
	return strings.Contains(d.busPath, "-fc-") || strings.HasPrefix(d.busPath, "fc-")
}

// appliance starts the names of devices and partitions of OpenShift's appliance image.
const appliance = "agent"

func (d drive) isAppliance() bool { return d.isMapped() && strings.HasPrefix(d.mappedName, appliance) }

func (d drive) hasAppliance() bool {
	return slices.ContainsFunc(d.partitions, func(p partition) bool { return strings.HasPrefix(p.label, appliance) })
}

// controllers say by the start of a device's name which kind of drive it is, and whether the storage controller is known.
var controllers = []struct {
	prefix string
	kind   models.DriveType
	known  bool
}{
	{"fd", models.DriveTypeFDD, false},
	{"hd", models.DriveTypeHDD, true},
	{"mmc", models.DriveTypeSSD, true},
	{"nvme", models.DriveTypeSSD, true},
	{"sd", models.DriveTypeHDD, true},
	{"sr", models.DriveTypeODD, true},
	{"vd", models.DriveTypeHDD, true},
	{"xvd", models.DriveTypeHDD, true},
}

// controller says which kind of drive a device is by its name, and whether its storage controller is known.
func (d drive) controller() (kind models.DriveType, known bool) {
	for _, c := range controllers {
		if !strings.HasPrefix(d.name, c.prefix) {
			continue
		}
		if c.kind == models.DriveTypeHDD && !d.rotates {
			return models.DriveTypeSSD, c.known
		}
		return c.kind, c.known
	}
	return models.DriveTypeUnknown, false
}

// driveType is the kind of drive that the service is told.
func (c Collector) driveType(d drive) models.DriveType {
	switch {
	case d.isDASD():
		return c.dasdType(d)
	case d.isISCSI():
		return models.DriveTypeISCSI
	case d.isFibreChannel():
		return models.DriveTypeFC
	case d.isMultipath():
		return models.DriveTypeMultipath
	case d.isLVM():
		return models.DriveTypeLVM
	case d.isRAID():
		return models.DriveTypeRAID
	}
	kind, _ := d.controller()
	return kind
}

// dasdType is the kind of a disk of IBM Z. The folder of its channel device is two above that of the disk.
func (c Collector) dasdType(d drive) models.DriveType {
	channel := path.Dir(path.Dir(d.folder))
	switch c.files().word(path.Join(channel, "discipline")) {
	case "ECKD":
		if c.files().word(path.Join(channel, "ese")) == "1" {
			return models.DriveTypeECKDESE
		}
		return models.DriveTypeECKD
	case "FBA":
		return models.DriveTypeFBA
	}
	return models.DriveTypeUnknown
}
