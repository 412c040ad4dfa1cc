//go:build linux

package inventory

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/openshift/assisted-service/models"
)

// The words of the reasons why a disk cannot be installed to. Users and programs know these texts.
const (
	reasonController    = "Disk has unknown storage controller"
	reasonLVM           = "Disk is an LVM logical volume"
	reasonMedia         = "Disk appears to be an ISO installation media (has partition with mountpoint suffix iso)"
	reasonMounted       = "Disk has partition '%s' mounted on '%s'"
	reasonISCSIState    = "Failed to read state of iSCSI disk"
	reasonISCSIStopped  = "iSCSI disk is not in running state"
	reasonISCSISession  = "Cannot find iSCSI session"
	reasonISCSITarget   = "Cannot find iSCSI target name"
	reasonNoIBFT        = "iBFT firmware is missing"
	reasonISCSINotInBFT = "iSCSI disk is missing from iBFT"
)

// mediaSuffix ends the mount point of a live system's medium: /run/media/iso.
const mediaSuffix = "iso"

// reasons says why a disk cannot be installed to, and whether it is the medium that the machine runs from.
func (c Collector) reasons(d drive) (reasons []string, isMedia bool) {
	kind, known := d.controller()
	if !known && !d.isMultipath() && !d.isLVM() && !d.isDASD() && !d.isRAID() {
		reasons = append(reasons, reasonController)
	}
	if d.isLVM() {
		reasons = append(reasons, reasonLVM)
	}
	if d.isISCSI() {
		reasons = append(reasons, c.iscsiReasons(d)...)
	}
	if d.hasAppliance() {
		return reasons, false
	}
	// A stick with the image of a CD may be mounted as a whole. The service itself leaves out CD drives.
	if strings.HasSuffix(d.mountPoint, mediaSuffix) && kind != models.DriveTypeODD {
		reasons = append(reasons, reasonMedia)
		isMedia = true
	}
	for _, p := range d.partitions {
		switch {
		case strings.HasSuffix(p.mountPoint, mediaSuffix):
			reasons = append(reasons, reasonMedia)
			isMedia = true
		case isMedia:
		case p.mountPoint != "":
			reasons = append(reasons, fmt.Sprintf(reasonMounted, p.name, p.mountPoint))
		}
	}
	return reasons, isMedia
}

// iscsiReasons says why a disk of an iSCSI target cannot be installed to. It can if the session runs, and if the firmware
// has the target in its boot table (iBFT): the machine could not boot from another one.
func (c Collector) iscsiReasons(d drive) []string {
	var reasons []string
	switch c.files().word("sys/block/" + d.name + "/device/state") {
	case "running":
	case "":
		reasons = append(reasons, reasonISCSIState)
	default:
		reasons = append(reasons, reasonISCSIStopped)
	}
	if reason := c.bootTableReason(d); reason != "" {
		reasons = append(reasons, reason)
	}
	return reasons
}

// bootTableReason says why the firmware does not boot from the target of a disk, "" if it does.
func (c Collector) bootTableReason(d drive) string {
	session := iscsiPart(d, regexp.MustCompile(`^session\d+$`))
	if session == "" {
		return reasonISCSISession
	}
	target := c.files().word("sys/class/iscsi_session/" + session + "/targetname")
	if target == "" {
		return reasonISCSITarget
	}
	const firmware = "sys/firmware/ibft"
	if !c.files().exists(firmware) {
		return reasonNoIBFT
	}
	for _, name := range c.files().names(firmware) {
		if strings.Contains(name, "target") && c.files().word(path.Join(firmware, name, "target-name")) == target {
			return ""
		}
	}
	return reasonISCSINotInBFT
}

// iscsiPart is the part of a disk's folder in sysfs that has such a name:
// /sys/devices/platform/host2/session1/target2:0:0/2:0:0:1/block/sda.
func iscsiPart(d drive, pattern *regexp.Regexp) string {
	for part := range strings.SplitSeq(d.folder, "/") {
		if pattern.MatchString(part) {
			return part
		}
	}
	return ""
}

// iscsi says over which address the machine reaches the target of a disk.
func (c Collector) iscsi(d drive) *models.Iscsi {
	host := iscsiPart(d, regexp.MustCompile(`^host\d+$`))
	if host == "" {
		return &models.Iscsi{}
	}
	return &models.Iscsi{HostIPAddress: c.files().word("sys/class/iscsi_host/" + host + "/ipaddress")}
}
