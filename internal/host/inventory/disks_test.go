//go:build linux

package inventory

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openshift/assisted-service/models"
	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/mountinfo"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestEligibility has each reason, and disks that have none although they look odd.
func TestEligibility(t *testing.T) {
	iscsi := func(target string) block {
		return block{
			name: "sda", number: "8:0", on: "platform/host2/session1/target2:0:0/2:0:0:1", files: map[string]string{"device/state": "running"},
			udev: map[string]string{"ID_PATH": "ip-192.0.2.200:3260-iscsi-" + target + "-lun-1"},
		}
	}
	// The firmware boots from the target iqn.boot.
	firmware := map[string]string{
		"sys/firmware/ibft/target0/target-name": "iqn.boot", "sys/firmware/ibft/ethernet0/mac": "x", "sys/class/iscsi_session/session1/targetname": "iqn.boot",
	}
	without := func(name string) map[string]string {
		files := map[string]string{}
		for path, content := range firmware {
			if !strings.HasPrefix(path, name) {
				files[path] = content
			}
		}
		return files
	}
	sda := func(parts ...part) block {
		return block{name: "sda", number: "8:0", on: "pci0/host0/target0:0:0/0:0:0:0", parts: parts}
	}
	for name, test := range map[string]struct {
		disk    block
		files   map[string]string
		mounts  []string
		reasons []string
		media   bool
	}{
		"a disk":             {disk: sda()},
		"partitions":         {disk: sda(part{"sda1", "8:1", "root"})},
		"unknown controller": {disk: block{name: "xyz", number: "240:0"}, reasons: []string{reasonController}},
		"a floppy":           {disk: block{name: "fd0", number: "2:0"}, reasons: []string{reasonController}},
		"a mainframe's disk": {disk: block{name: "dasda", number: "94:0"}},
		"a RAID":             {disk: block{name: "md0", number: "9:0"}},
		"LVM": {
			disk: block{name: "dm-0", number: "253:0", files: map[string]string{"dm/uuid": "LVM-x"}}, reasons: []string{reasonLVM},
		},
		"multipath": {disk: block{name: "dm-0", number: "253:0", files: map[string]string{"dm/uuid": "mpath-x"}}},
		"mounted": {
			disk: sda(part{"sda1", "8:1", ""}, part{"sda2", "8:2", ""}), mounts: []string{"8:2 /dev/sda2 /var"},
			reasons: []string{"Disk has partition 'sda2' mounted on '/var'"},
		},
		"mounted by another name of its device": {
			disk: sda(part{"sda1", "8:1", ""}), mounts: []string{"8:1 /dev/root /"}, reasons: []string{"Disk has partition 'sda1' mounted on '/'"},
		},
		"mounted with a number that is not the device's, as Btrfs has": {
			disk: sda(part{"sda1", "8:1", ""}), mounts: []string{"0:44 /dev/sda1 /data"}, reasons: []string{"Disk has partition 'sda1' mounted on '/data'"},
		},
		"mounted twice": {
			disk: sda(part{"sda1", "8:1", ""}), mounts: []string{"8:1 /dev/sda1 /a", "8:1 /dev/sda1 /b"},
			reasons: []string{"Disk has partition 'sda1' mounted on '/a'"},
		},
		"medium": {
			disk: sda(part{"sda1", "8:1", ""}), mounts: []string{"8:1 /dev/sda1 /run/media/iso"}, reasons: []string{reasonMedia}, media: true,
		},
		"medium, mounted as a whole": {
			disk: sda(part{"sda1", "8:1", ""}), mounts: []string{"8:0 /dev/sda /run/media/iso"}, reasons: []string{reasonMedia}, media: true,
		},
		"another mount before that of the medium": {
			disk: sda(part{"sda1", "8:1", ""}, part{"sda2", "8:2", ""}), mounts: []string{"8:1 /dev/sda1 /efi", "8:2 /dev/sda2 /run/media/iso"},
			reasons: []string{"Disk has partition 'sda1' mounted on '/efi'", reasonMedia}, media: true,
		},
		"a CD drive": {
			disk: block{name: "sr0", number: "11:0"}, mounts: []string{"11:0 /dev/sr0 /run/media/iso"}, media: true,
		},
		"an appliance's own disk":                        {disk: sda(part{"sda1", "8:1", "agentdata"}), mounts: []string{"8:1 /dev/sda1 /run/media/iso"}},
		"iSCSI, the target that the firmware boots from": {disk: iscsi("iqn.boot"), files: firmware},
		"iSCSI, another target": {
			disk: iscsi("iqn.data"), files: map[string]string{
				"sys/firmware/ibft/target0/target-name": "iqn.boot", "sys/class/iscsi_session/session1/targetname": "iqn.data",
			},
			reasons: []string{reasonISCSINotInBFT},
		},
		"iSCSI, no boot table": {disk: iscsi("iqn.boot"), files: without("sys/firmware"), reasons: []string{reasonNoIBFT}},
		"iSCSI, no name of the target": {
			disk: iscsi("iqn.boot"), files: without("sys/class"), reasons: []string{reasonISCSITarget},
		},
		"iSCSI, no session": {
			disk:    block{name: "sda", number: "8:0", on: "platform", files: map[string]string{"device/state": "running"}, udev: map[string]string{"ID_PATH": "a-iscsi-b"}},
			reasons: []string{reasonISCSISession},
		},
		"iSCSI, stopped": {
			disk: func() block { b := iscsi("iqn.boot"); b.files = map[string]string{"device/state": "blocked"}; return b }(), files: firmware,
			reasons: []string{reasonISCSIStopped},
		},
		"iSCSI, no state": {
			disk: func() block { b := iscsi("iqn.boot"); b.files = nil; return b }(), files: firmware, reasons: []string{reasonISCSIState},
		},
		"iSCSI over an adapter of the PCI bus": {
			disk: func() block {
				b := iscsi("iqn.boot")
				b.on = "pci0000:00/0000:00:03.0/host7/session1/target7:0:0/7:0:0:0"
				return b
			}(), files: firmware,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.block(test.disk)
			f.mounts(test.mounts...)
			for path, content := range test.files {
				f.write(path, content+"\n")
			}
			disks := f.collector().disks(t.Context())
			if len(disks) != 1 {
				t.Fatalf("found %d disks", len(disks))
			}
			got := disks[0].InstallationEligibility
			if !slices.Equal(got.NotEligibleReasons, test.reasons) || got.Eligible != (len(test.reasons) == 0) {
				t.Errorf("eligible %t, reasons %q, want %q", got.Eligible, got.NotEligibleReasons, test.reasons)
			}
			if disks[0].IsInstallationMedia != test.media {
				t.Errorf("a medium: %t, want %t", disks[0].IsInstallationMedia, test.media)
			}
		})
	}
}

func TestDriveTypes(t *testing.T) {
	channel := "css0/0.0.0011/0.0.0101"
	for name, test := range map[string]struct {
		disk  block
		files map[string]string
		want  models.DriveType
	}{
		"rotates":         {disk: block{name: "sda", rotates: true}, want: models.DriveTypeHDD},
		"does not rotate": {disk: block{name: "vda"}, want: models.DriveTypeSSD},
		"Xen":             {disk: block{name: "xvda", rotates: true}, want: models.DriveTypeHDD},
		"NVMe":            {disk: block{name: "nvme0n1", rotates: true}, want: models.DriveTypeSSD},
		"CD drive":        {disk: block{name: "sr0"}, want: models.DriveTypeODD},
		"floppy":          {disk: block{name: "fd0", rotates: true}, want: models.DriveTypeFDD},
		"RAID":            {disk: block{name: "md0"}, want: models.DriveTypeRAID},
		"Fibre Channel":   {disk: block{name: "sda", udev: map[string]string{"ID_PATH": "fc-0x1-lun-0"}}, want: models.DriveTypeFC},
		"iSCSI before Fibre Channel": {
			disk: block{name: "sda", udev: map[string]string{"ID_PATH": "x-iscsi-y-fc-z"}}, want: models.DriveTypeISCSI,
		},
		"unknown":             {disk: block{name: "xyz"}, want: models.DriveTypeUnknown},
		"ECKD":                {disk: block{name: "dasda", on: channel}, files: map[string]string{"discipline": "ECKD", "ese": "0"}, want: models.DriveTypeECKD},
		"thin ECKD":           {disk: block{name: "dasda", on: channel}, files: map[string]string{"discipline": "ECKD", "ese": "1"}, want: models.DriveTypeECKDESE},
		"FBA":                 {disk: block{name: "dasda", on: channel}, files: map[string]string{"discipline": "FBA"}, want: models.DriveTypeFBA},
		"a mainframe's, else": {disk: block{name: "dasda", on: channel}, want: models.DriveTypeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			test.disk.number = "1:0"
			f.block(test.disk)
			f.writeAll("sys/devices/"+channel, test.files)
			if got := f.collector().disks(t.Context())[0].DriveType; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestAppliance: the device of the appliance's image is the only disk.
func TestAppliance(t *testing.T) {
	f := newFake(t)
	f.block(block{name: "sda", number: "8:0", files: map[string]string{"device/vpd_pg83": "x"}})
	f.block(block{name: "dm-0", number: "253:0", files: map[string]string{"dm/name": "agentdisk"}})
	disks := f.collector().disks(t.Context())
	if len(disks) != 1 {
		t.Fatalf("found %d disks", len(disks))
	}
	d := disks[0]
	if d.Path != "/dev/dm-0" || !d.InstallationEligibility.Eligible || d.SizeBytes != 100<<30 || d.DriveType != models.DriveTypeSSD || !d.HasUUID {
		t.Errorf("got %+v", d)
	}
}

// TestPaths: a name in sysfs with "!", a device that only udev's link names, and one without any.
func TestPaths(t *testing.T) {
	f := newFake(t)
	f.block(block{name: "cciss!c0d0", number: "104:0"})
	f.write("dev/cciss/c0d0", "")
	f.block(block{name: "odd0", number: "240:0", udev: map[string]string{"ID_PATH": "platform-odd"}})
	must.Do(t, os.Remove(f.at("dev/odd0")))
	f.write("dev/other", "")
	f.link("dev/disk/by-path/platform-odd", "dev/other")
	f.block(block{name: "odd1", number: "240:1", udev: map[string]string{"ID_PATH": "../../../etc/passwd"}})
	must.Do(t, os.Remove(f.at("dev/odd1")))
	var paths []string
	for _, d := range f.collector().disks(t.Context()) {
		paths = append(paths, d.Path+" "+d.ByPath+" "+d.ID)
	}
	want := []string{"/dev/cciss/c0d0  /dev/cciss/c0d0", "/dev/other /dev/disk/by-path/platform-odd /dev/disk/by-path/platform-odd", "  "}
	if !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
}

// TestWordsOfADiskAreEscapedInTheLog: the model comes from the disk.
func TestWordsOfADiskAreEscapedInTheLog(t *testing.T) {
	f := newFake(t)
	f.block(block{name: "xyz", number: "240:0", udev: map[string]string{"ID_MODEL": "evil\x1b[2J"}})
	var log bytes.Buffer
	c := f.collector()
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	c.disks(t.Context())
	if strings.ContainsRune(log.String(), 0x1b) || !strings.Contains(log.String(), "evil") {
		t.Errorf("logged %q", log.String())
	}
}

// TestDeviceThatDoesNotAnswer: nothing is ever written to this pipe.
func TestDeviceThatDoesNotAnswer(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, unix.Mkfifo(pipe, 0o600))
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := readStart(ctx, pipe, sectorSize); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	must.Do(t, must.Get(os.OpenFile(pipe, os.O_WRONLY, 0))(t).Close())
}

func TestUUIDs(t *testing.T) {
	f := newFake(t)
	f.block(block{name: "sda", number: "8:0", files: map[string]string{"device/vpd_pg83": "x"}})
	f.block(block{name: "sdb", number: "8:16"})
	f.block(block{name: "sdc", number: "8:32"})
	f.programs["sg_inq -p 0x83 /dev/sdb"] = "VPD INQUIRY"
	var got []bool
	for _, d := range f.collector().disks(t.Context()) {
		got = append(got, d.HasUUID)
	}
	if !slices.Equal(got, []bool{true, true, false}) {
		t.Errorf("got %v", got)
	}
}

func FuzzParseUdev(f *testing.F) {
	f.Add("S:disk/by-id/x\nE:ID_MODEL=a=b\nE:broken\nE:ID_PATH=pci-0000:00:1f.2-ata-1\n")
	f.Add("E:ID_PATH=../../etc")
	f.Fuzz(func(t *testing.T, content string) {
		for name, value := range parseUdev(content) {
			if strings.ContainsAny(name, "=\n") || strings.Contains(value, "\n") {
				t.Errorf("%q is %q", name, value)
			}
			if clean := cleanName(value); strings.Contains(clean, "/") || clean == ".." {
				t.Errorf("%q leads out of a folder", clean)
			}
		}
	})
}

// TestMounts: a line that does not say what is mounted is no mount.
func TestMounts(t *testing.T) {
	f := newFake(t)
	f.write("proc/1/mountinfo", `36 35 8:1 / /with\040space\134x rw,noatime master:1 shared:2 - ext3 /dev/sda1 rw`+"\n"+
		"37 35 0:5 / /dev rw - devtmpfs devtmpfs rw\nbroken\n38 35 0:6 / /x rw\n38 35 0:6 / /x rw -\n")
	want := []mountinfo.Mount{{Number: "8:1", Point: `/with space\x`, Source: "/dev/sda1"}, {Number: "0:5", Point: "/dev", Source: "devtmpfs"}}
	if got := f.collector().mounts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
