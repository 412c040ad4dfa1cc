//go:build linux

package blockdevice

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// fakeSys is a folder with proc and sys, as the kernel shows them.
type fakeSys struct {
	t    *testing.T
	root string
}

func newFakeSys(t *testing.T) fakeSys {
	t.Helper()
	f := fakeSys{t, t.TempDir()}
	f.write("proc/1/mountinfo", "1 0 0:1 / / rw - rootfs rootfs rw\n")
	f.link("proc/1/ns/mnt", "mnt:[1]")
	return f
}

func (f fakeSys) disks() Disks { return Disks{Root: f.root} }

func (f fakeSys) write(path, content string) {
	f.t.Helper()
	path = filepath.Join(f.root, path)
	must.Do(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(f.t, os.WriteFile(path, []byte(content), 0o600))
}

func (f fakeSys) link(path, target string) {
	f.t.Helper()
	path = filepath.Join(f.root, path)
	must.Do(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(f.t, os.Symlink(target, path))
}

// device adds a block device; its place is such as sda or sda/sda1.
func (f fakeSys) device(place, number string, files map[string]string) {
	f.t.Helper()
	folder := "sys/devices/block/" + place
	f.write(folder+"/dev", number+"\n")
	f.write(folder+"/size", "204800\n")
	f.write(folder+"/queue/logical_block_size", "512\n")
	for name, content := range files {
		f.write(folder+"/"+name, content)
	}
	f.link("sys/dev/block/"+number, filepath.Join(f.root, folder))
	if !strings.Contains(place, "/") {
		f.link("sys/block/"+place, filepath.Join(f.root, folder))
	}
}

// on says that a device stands on others.
func (f fakeSys) on(upper string, lower ...string) {
	f.t.Helper()
	at := filepath.Join(f.root, "sys/devices/block")
	for _, place := range lower {
		f.link("sys/devices/block/"+place+"/holders/"+filepath.Base(upper), filepath.Join(at, upper))
		f.link("sys/devices/block/"+upper+"/slaves/"+filepath.Base(place), filepath.Join(at, place))
	}
}

func (f fakeSys) mount(number, folder, device string) {
	f.t.Helper()
	f.write("proc/1/mountinfo", "36 1 "+number+" / "+folder+" rw - ext4 "+device+" rw\n")
}

func names(holders []Holder) string {
	var list []string
	for _, h := range holders {
		list = append(list, h.Kernel)
	}
	return strings.Join(list, " ")
}

func TestStackOrder(t *testing.T) {
	f := newFakeSys(t)
	f.device("sda", "8:0", nil)
	f.device("sda/sda1", "8:1", map[string]string{"partition": "1\n", "start": "2048\n"})
	f.device("sda/sda2", "8:2", map[string]string{"partition": "2\n", "start": "4096\n"})
	f.device("sdb", "8:16", nil)
	f.device("md126", "9:126", map[string]string{"md/level": "raid1\n", "md/metadata_version": "external:/md127/0\n"})
	f.device("md127", "9:127", map[string]string{"md/level": "", "md/metadata_version": "external:imsm\n"})
	lv := func(name string) map[string]string {
		return map[string]string{"dm/name": name + "\n", "dm/uuid": "LVM-" + name + "\n"}
	}
	f.device("dm-0", "253:0", lv("vg-pool_tmeta"))
	f.device("dm-1", "253:1", lv("vg-pool_tdata"))
	f.device("dm-2", "253:2", lv("vg-pool-tpool"))
	f.device("dm-3", "253:3", lv("vg-thin"))
	f.device("dm-4", "253:4", map[string]string{"dm/name": "luks-a\n", "dm/uuid": "CRYPT-LUKS2-a\n"})
	f.on("md127", "sda", "sdb")
	f.on("md126", "sda", "sdb")
	f.on("dm-0", "sda/sda2")
	f.on("dm-1", "sda/sda2", "sdb")
	f.on("dm-2", "dm-0", "dm-1")
	f.on("dm-3", "dm-2")
	f.on("dm-4", "dm-3")
	stack, err := f.disks().Stack(Identity{Path: "/dev/sda", Number: "8:0"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(stack.Holders), "md126 dm-4 dm-3 dm-2 dm-0 dm-1 md127"; got != want {
		t.Errorf("the order is %s, want %s", got, want)
	}
	byName := map[string]Holder{}
	for _, h := range stack.Holders {
		byName[h.Kernel] = h
	}
	if h := byName["md126"]; h.Kind != RAID || h.Level != "raid1" || h.Within != "md127" || !slices.Equal(h.Others, []string{"sdb"}) {
		t.Errorf("md126 is %+v", h)
	}
	if h := byName["dm-1"]; h.Kind != LVM || h.Name != "vg-pool_tdata" || !slices.Equal(h.Others, []string{"sdb"}) {
		t.Errorf("dm-1 is %+v", h)
	}
	if h := byName["dm-2"]; h.Kind != LVM || h.Others != nil {
		t.Errorf("dm-2 is %+v", h)
	}
	if h := byName["dm-4"]; h.Kind != Mapped {
		t.Errorf("dm-4 is %+v", h)
	}
	want := []Extent{{"sda1", 1, 2048 * 512, 204800 * 512}, {"sda2", 2, 4096 * 512, 204800 * 512}}
	if !slices.Equal(stack.Partitions, want) {
		t.Errorf("the partitions are %+v", stack.Partitions)
	}
	other, err := f.disks().Stack(Identity{Path: "/dev/sdb", Number: "8:16"})
	if got := names(other.Holders); err != nil || strings.Contains(got, "dm-0") {
		t.Errorf("sdb has %s, %v: dm-0 is not on it", got, err)
	}
}

func TestUsersSeesLoopDevices(t *testing.T) {
	f := newFakeSys(t)
	f.device("sda", "8:0", nil)
	f.device("sda/sda1", "8:1", map[string]string{"partition": "1\n", "start": "2048\n"})
	f.device("loop0", "7:0", map[string]string{"loop/backing_file": "/dev/sda1\n"})
	f.device("sdb", "8:16", nil)
	f.mount("7:0", "/mnt", "/dev/loop0")
	if users, err := f.disks().Users(Identity{Number: "8:0"}); err != nil || !slices.Equal(users, []string{"loop0 is mounted on /mnt"}) {
		t.Errorf("users of sda are %q, %v", users, err)
	}
	if users, err := f.disks().Users(Identity{Number: "8:16"}); err != nil || len(users) > 0 {
		t.Errorf("users of sdb are %q, %v", users, err)
	}
}

func TestUsersOfVolumes(t *testing.T) {
	f := newFakeSys(t)
	f.device("sda", "8:0", nil)
	f.device("sdb", "8:16", nil)
	f.device("dm-0", "253:0", map[string]string{"dm/uuid": "LVM-a"})
	f.on("dm-0", "sda", "sdb")
	f.write("proc/1/mountinfo", "36 1 0:40 / /data\\040x rw - btrfs /dev/dm-0 rw\n")
	f.write("proc/swaps", "Filename Type Size Used Priority\n/dev/sdb partition 1 0 -2\n/swapfile file 1 0 -3\n")
	users, err := f.disks().Users(Identity{Number: "8:0"})
	if err != nil || !slices.Equal(users, []string{"dm-0 is mounted on /data x"}) {
		t.Errorf("users of sda are %q, %v", users, err)
	}
	users, err = f.disks().Users(Identity{Number: "8:16"})
	if err != nil || !slices.Equal(users, []string{"dm-0 is mounted on /data x", "sdb is swap"}) {
		t.Errorf("users of sdb are %q, %v", users, err)
	}
}

func TestLiveMedium(t *testing.T) {
	f := newFakeSys(t)
	f.write("proc/cmdline", "coreos.liveiso=rhcos-419 ignition.firstboot\n")
	medium := make([]byte, 64<<10)
	copy(medium[volumeAt:], "\x01CD001\x01")
	copy(medium[volumeAt+labelAt:], "rhcos-419                       ")
	file := filepath.Join(t.TempDir(), "medium")
	must.Do(t, os.WriteFile(file, medium, 0o600))
	d := f.disks()
	id := must.Get(d.Inspect(file))(t)
	err := d.Check(id)
	if err == nil || !strings.Contains(err.Error(), "the medium that the live system runs from") {
		t.Errorf("the medium is not refused: %v", err)
	}
	must.Do(t, os.WriteFile(file, bytes.Replace(medium, []byte("419"), []byte("418"), 1), 0o600))
	if err := d.Check(id); err != nil {
		t.Errorf("a volume with another label is refused: %v", err)
	}
	mounted := []string{"sdb1 is mounted on /run/media/iso"}
	if err := d.notMedium(Identity{Path: "/dev/sdb"}, mounted); err == nil {
		t.Error("a mounted medium is not refused")
	}
}

func TestWritable(t *testing.T) {
	f := newFakeSys(t)
	f.device("sda", "8:0", map[string]string{"ro": "1\n"})
	f.device("sdb", "8:16", map[string]string{"ro": "0\n"})
	for _, test := range []struct {
		number string
		size   int64
		want   string
	}{{"8:0", 1 << 20, "read-only"}, {"8:16", 0, "no medium"}, {"8:16", 1 << 20, ""}} {
		err := f.disks().writable(Identity{Path: "/dev/sdx", Number: test.number, Size: test.size})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestLogicalSector(t *testing.T) {
	f := newFakeSys(t)
	for content, want := range map[string]int64{"512\n": 512, "4096\n": 4096, "520\n": 0, "": 0, "65536": 0} {
		f.write("x/queue/logical_block_size", content)
		got, err := tree{filepath.Join(f.root, "x")}.logicalSector()
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v", content, got, err)
		}
	}
}

func TestNames(t *testing.T) {
	f := newFakeSys(t)
	f.device("sda", "8:0", map[string]string{"device/vpd_pg80": "\x00\x80\x00\x08  S3R1AL"})
	f.write("run/udev/data/b8:0", "S:disk/by-id/x\nE:ID_SERIAL_SHORT=S3R1AL\nE:ID_WWN=0x5000c500\nE:ID_WWN_WITH_EXTENSION=0x5000c500aa\n")
	got, err := f.disks().Names(Identity{Path: "/dev/sda", Number: "8:0", WWN: "naa.5000c500"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Serials, []string{"S3R1AL", "S3R1AL"}) || !slices.Equal(got.WWNs, []string{"naa.5000c500", "0x5000c500", "0x5000c500aa"}) {
		t.Errorf("the names are %+v", got)
	}
	f.device("dm-0", "253:0", map[string]string{"dm/uuid": "mpath-36000c29\n"})
	if got, err = f.disks().Names(Identity{Number: "253:0"}); err != nil || !slices.Equal(got.WWNs, []string{"6000c29"}) {
		t.Errorf("the names of a multipath device are %+v, %v", got, err)
	}
}

// openFile opens a file of t.TempDir() as a disk.
func openFile(t *testing.T, content []byte) *Device {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	must.Do(t, os.WriteFile(file, content, 0o600))
	d := Disks{Root: newFakeSys(t).root}
	device := must.Get(d.Open(must.Get(d.Inspect(file))(t)))(t)
	t.Cleanup(func() { _ = device.Close() })
	return device
}

func TestZeroAndClear(t *testing.T) {
	full := bytes.Repeat([]byte{7}, 4<<20)
	device := openFile(t, full)
	must.Do(t, device.Zero(1<<20+4096, 8192))
	got := make([]byte, len(full))
	must.Get(device.ReadAt(got, 0))(t)
	want := bytes.Clone(full)
	clear(want[1<<20+4096 : 1<<20+4096+8192])
	if !bytes.Equal(got, want) {
		t.Error("Zero changed other bytes, or too few")
	}
	must.Do(t, device.writeZeros(2<<20+1, 3))
	clear(want[2<<20+1 : 2<<20+4])
	must.Do(t, device.Clear())
	clear(want[:1<<20])
	clear(want[3<<20:])
	must.Get(device.ReadAt(got, 0))(t)
	if !bytes.Equal(got, want) {
		t.Error("Clear changed other bytes, or too few")
	}
	for _, outside := range [][2]int64{{-1, 2}, {4 << 20, 1}, {0, 5 << 20}, {math.MaxInt64 - 511, 512}, {512, math.MaxInt64}} {
		if err := device.Zero(outside[0], outside[1]); err == nil || !strings.Contains(err.Error(), "it has 4194304 bytes") {
			t.Errorf("Zero reaches outside of the disk: %v", outside)
		}
	}
}

func TestClearOfASmallDisk(t *testing.T) {
	device := openFile(t, bytes.Repeat([]byte{7}, 1000))
	must.Do(t, device.Clear())
	got := make([]byte, 1000)
	must.Get(device.ReadAt(got, 0))(t)
	if !bytes.Equal(got, make([]byte, 1000)) {
		t.Error("it is not zero")
	}
}

func TestFilesAreRefusedOutsideOfTests(t *testing.T) {
	for _, buffer := range []int{512, 4096, 4 << 20} {
		if b := AlignedBuffer(buffer); len(b) != buffer || cap(b) != buffer {
			t.Errorf("a buffer of %d has %d of %d bytes", buffer, len(b), cap(b))
		}
	}
	if err := (Disks{}).Check(Identity{Path: "/etc/passwd", Number: "1:1", File: true}); err == nil {
		t.Error("a file outside of t.TempDir() may be written to")
	}
}
