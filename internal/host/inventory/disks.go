//go:build linux

package inventory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

const (
	byIDFolder   = "/dev/disk/by-id"
	byPathFolder = "/dev/disk/by-path"
	wwnPrefix    = "wwn-"
)

// disks describes the disks. Devices that are no disks, such as loop devices, are left out.
func (c Collector) disks(ctx context.Context) []*models.Disk {
	drives := c.drives()
	ids := c.deviceIDs()
	for _, d := range drives {
		if d.isAppliance() {
			return []*models.Disk{c.applianceDisk(ctx, d, drives, ids)}
		}
	}
	shared := map[string]int{}
	for _, d := range drives {
		shared[d.busPath]++
	}
	disks := make([]*models.Disk, 0, len(drives))
	for _, d := range drives {
		if !c.isListed(d) {
			continue
		}
		disk := c.disk(ctx, d, ids[d.path])
		// Two IDE disks of some virtual machines have the same path: it names neither.
		if shared[d.busPath] > 1 {
			disk.ByPath = ""
		}
		disk.ID = firstText(disk.ByID, disk.ByPath, disk.Path)
		disks = append(disks, disk)
	}
	return disks
}

// drives are all block devices but unused loop devices, sorted by name.
func (c Collector) drives() []drive {
	const folder = "sys/block"
	if !c.files().exists(folder) {
		c.warn("list the disks", errors.New("/sys/block does not exist"))
	}
	mounts := c.mounts()
	var drives []drive
	for _, name := range c.files().names(folder) {
		d := c.drive(name, mounts)
		if !strings.HasPrefix(name, "loop") || d.size > 0 {
			drives = append(drives, d)
		}
	}
	return drives
}

// isListed reports whether the service gets to know a device.
func (c Collector) isListed(d drive) bool {
	switch {
	case strings.HasPrefix(d.name, "loop"), strings.HasPrefix(d.name, "zram"):
		return false
	case d.isMapped() && !d.isMultipath() && !d.isLVM():
		return false
	}
	return c.files().word("sys/block/"+d.name+"/hidden") != "1"
}

// disk describes a disk. byID is the path in /dev/disk/by-id that never changes, "" if there is none.
func (c Collector) disk(ctx context.Context, d drive, byID string) *models.Disk {
	kind, _ := d.controller()
	reasons, isMedia := c.reasons(d)
	if len(reasons) > 0 {
		c.logger().Info("inventory: a disk cannot be installed to", "disk", d.name, "model", escape.Word(d.model),
			"reasons", escape.Word(strings.Join(reasons, ", ")))
	}
	disk := &models.Disk{
		Bootable:            c.isBootable(ctx, d.path),
		ByID:                byID,
		ByPath:              c.byPath(d),
		DriveType:           c.driveType(d),
		HasUUID:             c.hasUUID(ctx, d),
		Hctl:                firstText(c.files().names("sys/block/" + d.name + "/device/scsi_device")...),
		Holders:             strings.Join(c.files().names("sys/block/"+d.name+"/holders"), ","),
		IsInstallationMedia: isMedia || kind == models.DriveTypeODD,
		Model:               d.model,
		Name:                d.name,
		Path:                d.path,
		Removable:           d.removable,
		Serial:              d.serial,
		SizeBytes:           d.size,
		Vendor:              d.vendor,
		Wwn:                 d.wwn,
		InstallationEligibility: models.DiskInstallationEligibility{
			Eligible: len(reasons) == 0, NotEligibleReasons: reasons,
		},
	}
	if disk.Wwn == "" {
		disk.Wwn = strings.TrimPrefix(byID, byIDFolder+"/"+wwnPrefix)
	}
	if disk.DriveType == models.DriveTypeISCSI {
		disk.Iscsi = c.iscsi(d)
	}
	return disk
}

// applianceDisk describes the disk of OpenShift's appliance. Its image is a device of the device mapper, which is the only
// disk that the service gets to know, with a size that passes the validation.
func (c Collector) applianceDisk(ctx context.Context, d drive, all []drive, ids map[string]string) *models.Disk {
	const size = 100 << 30
	disk := &models.Disk{
		ByID: ids[d.path], ByPath: c.byPath(d), DriveType: models.DriveTypeSSD, Name: d.name, Path: d.path, SizeBytes: size,
		InstallationEligibility: models.DiskInstallationEligibility{Eligible: true},
	}
	for _, other := range all {
		disk.HasUUID = disk.HasUUID || c.hasUUID(ctx, other)
	}
	return disk
}

// deviceIDs has the names in /dev/disk/by-id that never change, such as wwn-0x5000c500a1b2c3d4, by the paths of devices.
func (c Collector) deviceIDs() map[string]string {
	ids := map[string]string{}
	for _, name := range c.files().names(byIDFolder) {
		if !strings.HasPrefix(name, wwnPrefix) && !strings.HasPrefix(name, "nvme-eui") {
			continue
		}
		id := path.Join(byIDFolder, name)
		device, err := c.files().resolve(id)
		if err != nil {
			c.warn("find the device of "+escape.Word(id), err)
			continue
		}
		if device != id {
			ids[device] = id
		}
	}
	return ids
}

func (c Collector) byPath(d drive) string {
	if d.busPath == "" {
		return ""
	}
	if link := path.Join(byPathFolder, d.busPath); c.files().exists(link) {
		return link
	}
	return ""
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// isBootable reports whether a disk starts with a boot sector.
func (c Collector) isBootable(ctx context.Context, device string) bool {
	if device == "" {
		return false
	}
	sector, err := readStart(ctx, c.files().at(device), sectorSize)
	if err != nil {
		c.logger().Info("inventory: cannot read the boot sector", "disk", device, "error", escape.Word(err.Error()))
		return false
	}
	return sector[sectorSize-2] == 0x55 && sector[sectorSize-1] == 0xaa
}

// readStart reads the start of a device. A device that does not answer is left alone after programLimit: the kernel does
// not end a read.
func readStart(ctx context.Context, device string, size int) ([]byte, error) {
	type outcome struct {
		content []byte
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		file, err := os.Open(device)
		if err != nil {
			done <- outcome{err: err}
			return
		}
		content := make([]byte, size)
		_, err = io.ReadFull(file, content)
		done <- outcome{content, errors.Join(err, file.Close())}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, programLimit, fmt.Errorf("the device did not answer for %s", programLimit.Round(time.Second)))
	defer cancel()
	select {
	case o := <-done:
		return o.content, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// hasUUID reports whether a disk has an identity of its own on SCSI page 0x83. Platforms such as vSphere need it.
func (c Collector) hasUUID(ctx context.Context, d drive) bool {
	if d.path == "" {
		return false
	}
	if c.files().exists("sys/block/" + d.name + "/device/vpd_pg83") {
		return true
	}
	_, err := c.run(ctx, "sg_inq", "-p", "0x83", d.path)
	return err == nil
}
