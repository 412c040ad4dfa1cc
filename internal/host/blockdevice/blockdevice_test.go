//go:build linux

package blockdevice

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/guard"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestDisksOfThisMachine shows that no disk of the machine that runs the tests can be opened.
func TestDisksOfThisMachine(t *testing.T) {
	entries, err := os.ReadDir("/sys/class/block")
	if err != nil {
		t.Skip(err)
	}
	for _, entry := range entries {
		path := filepath.Join("/dev", entry.Name())
		id, err := Disks{}.Inspect(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // a container does not show it
		}
		if err == nil {
			_, err = Disks{}.Open(id)
		}
		refused, is := errors.AsType[*Refused](err)
		if !is {
			t.Errorf("%s: got %v", path, err)
			continue
		}
		t.Log(refused)
	}
}

// TestRootDisk shows that the disk with the root file system of this machine is refused even outside tests, on a live
// system: it is mounted.
func TestRootDisk(t *testing.T) {
	var stat unix.Stat_t
	must.Do(t, unix.Stat("/", &stat))
	number := number(stat.Dev)
	tree, err := Disks{}.tree(number)
	if err != nil {
		t.Skipf("the root file system is on no disk that can be seen: %v", err)
	}
	if tree.has("partition") {
		tree.folder = filepath.Dir(tree.folder)
		number = must.Get(tree.number())(t)
	}
	users := must.Get(Disks{}.Users(Identity{Number: number}))(t)
	if !slices.ContainsFunc(users, func(use string) bool { return strings.HasSuffix(use, "mounted on /") }) {
		t.Errorf("the users of %s are %q", tree.folder, users)
	}
	path := filepath.Join("/dev", filepath.Base(tree.folder))
	id, err := Disks{}.block(path, number)
	must.Do(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	err = Disks{}.unchanged(id)
	if refused, is := errors.AsType[*Refused](err); !is || !strings.Contains(refused.Reason, "in use") {
		t.Errorf("got %v", err)
	}
}

func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	must.Do(t, os.WriteFile(path, make([]byte, 4096), 0o600))
	link := filepath.Join(t.TempDir(), "by-id")
	must.Do(t, os.Symlink(path, link))
	id := must.Get(Disks{}.Inspect(link))(t)
	device := must.Get(Disks{}.Open(id))(t)
	_ = must.Get(device.WriteAt([]byte("content"), 512))(t)
	must.Do(t, device.ReadPartitions())
	must.Do(t, device.Close())
	if content := must.Get(os.ReadFile(path))(t); string(content[512:519]) != "content" {
		t.Errorf("the file has %q", content[512:519])
	}
}

func TestRefused(t *testing.T) {
	file := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "disk")
		must.Do(t, os.WriteFile(path, make([]byte, 512), 0o600))
		return path
	}
	for name, test := range map[string]struct {
		change func(t *testing.T, path string) Identity
		says   string
	}{
		"it grew": {func(t *testing.T, path string) Identity {
			id := must.Get(Disks{}.Inspect(path))(t)
			must.Do(t, os.Truncate(path, 1024))
			return id
		}, `its size was "512", and is "1024"`},
		"another file has its name": {func(t *testing.T, path string) Identity {
			id := must.Get(Disks{}.Inspect(path))(t)
			must.Do(t, os.Rename(path, path+".old"))
			must.Do(t, os.WriteFile(path, make([]byte, 512), 0o600))
			return id
		}, "its device number was"},
		"a link has its name": {func(t *testing.T, path string) Identity {
			id := must.Get(Disks{}.Inspect(path))(t)
			must.Do(t, os.Rename(path, path+".old"))
			must.Do(t, os.Symlink(path+".old", path))
			return id
		}, "its path was"},
		"another serial number": {func(t *testing.T, path string) Identity {
			id := must.Get(Disks{}.Inspect(path))(t)
			id.Serial = "S1"
			return id
		}, `its serial number was "S1", and is ""`},
		"a file that is no test's": {func(t *testing.T, _ string) Identity {
			return must.Get(Disks{}.Inspect("/etc/passwd"))(t)
		}, guard.ErrTest.Error()},
		"a file beside the folders of tests": {func(t *testing.T, _ string) Identity {
			f := must.Get(os.CreateTemp(os.TempDir(), "Test"))(t)
			t.Cleanup(func() { os.Remove(f.Name()) })
			return must.Get(Disks{}.Inspect(f.Name()))(t)
		}, guard.ErrTest.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			id := test.change(t, file(t))
			_, err := Disks{}.Open(id)
			if refused, is := errors.AsType[*Refused](err); !is || !strings.Contains(refused.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	for path, says := range map[string]string{"/dev/null": "not a disk", "/": "not a disk", "/dev/none": "no such file"} {
		if _, err := (Disks{}).Inspect(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

// world is a machine of files: block devices in sysfs, and processes.
type world struct {
	t    *testing.T
	root string
}

func newWorld(t *testing.T) world { return world{t, t.TempDir()} }

func (w world) write(path, content string) {
	w.t.Helper()
	path = filepath.Join(w.root, path)
	must.Do(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(w.t, os.WriteFile(path, []byte(content), 0o644))
}

func (w world) link(path, to string) {
	w.t.Helper()
	path = filepath.Join(w.root, path)
	must.Do(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(w.t, os.Symlink(to, path))
}

// device makes a block device; one of name sda/sda1 is a partition.
func (w world) device(number, name string) {
	w.t.Helper()
	folder := "sys/devices/block/" + name
	w.write(folder+"/dev", number+"\n")
	w.write(folder+"/size", "2048\n")
	if strings.Contains(name, "/") {
		w.write(folder+"/partition", "1\n")
	}
	w.link("sys/dev/block/"+number, filepath.Join(w.root, folder))
}

// hold makes a device a holder of another.
func (w world) hold(holder, held string) {
	w.t.Helper()
	devices := filepath.Join(w.root, "sys/devices/block")
	w.link("sys/devices/block/"+held+"/holders/"+filepath.Base(holder), filepath.Join(devices, holder))
	w.link("sys/devices/block/"+holder+"/slaves/"+filepath.Base(held), filepath.Join(devices, held))
}

func (w world) process(pid int, namespace string, mounts ...string) {
	w.t.Helper()
	folder := fmt.Sprintf("proc/%d", pid)
	w.link(folder+"/ns/mnt", "mnt:["+namespace+"]")
	w.write(folder+"/mountinfo", strings.Join(append(mounts, ""), "\n"))
}

func mount(number, on string) string {
	return "36 35 " + number + " / " + on + " rw,noatime shared:1 - ext4 /dev/none rw"
}

// machine has two disks. sda has two partitions: the first in the array md0 with a partition of sdb, and a volume of LVM on
// the array; the second alone. sdc and sdd are the paths of the multipath device dm-1, with a partition dm-2.
func machine(t *testing.T) world {
	w := newWorld(t)
	for number, name := range map[string]string{
		"8:0": "sda", "8:1": "sda/sda1", "8:2": "sda/sda2", "8:16": "sdb", "8:17": "sdb/sdb1", "9:0": "md0", "253:0": "dm-0",
		"8:32": "sdc", "8:33": "sdc/sdc1", "8:48": "sdd", "253:1": "dm-1", "253:2": "dm-2",
	} {
		w.device(number, name)
	}
	w.hold("md0", "sda/sda1")
	w.hold("md0", "sdb/sdb1")
	w.hold("dm-0", "md0")
	w.hold("dm-1", "sdc")
	w.hold("dm-1", "sdd")
	w.hold("dm-2", "dm-1")
	w.write("proc/self/mountinfo", mount("8:0", "/not-a-process"))
	w.write("proc/swaps", "Filename\t\t\tType\t\tSize\tUsed\tPriority\n/swapfile file 1 0 -2\n")
	return w
}

func TestUsers(t *testing.T) {
	for name, test := range map[string]struct {
		mounts  []string
		numbers map[string][]string // device number → users
	}{
		"nothing is mounted": {nil, map[string][]string{"8:0": nil, "8:32": nil}},
		"a whole disk":       {[]string{mount("8:0", "/mnt")}, map[string][]string{"8:0": {"sda is mounted on /mnt"}, "8:16": nil}},
		"a partition":        {[]string{mount("8:2", "/")}, map[string][]string{"8:0": {"sda2 is mounted on /"}, "8:16": nil}},
		"a volume on an array on partitions of two disks": {
			[]string{mount("253:0", "/var")},
			map[string][]string{"8:0": {"dm-0 is mounted on /var"}, "8:16": {"dm-0 is mounted on /var"}, "8:32": nil},
		},
		"a partition of a multipath device": {
			[]string{mount("253:2", "/boot")},
			map[string][]string{"8:32": {"dm-2 is mounted on /boot"}, "8:48": {"dm-2 is mounted on /boot"}, "253:1": {"dm-2 is mounted on /boot"}},
		},
		"a partition of a path of a multipath device": {
			[]string{mount("8:33", "/a")}, map[string][]string{"253:1": {"sdc1 is mounted on /a"}},
		},
		"two mounts, one twice": {
			[]string{mount("8:2", "/b"), mount("8:2", "/b"), mount("8:2", `/with\040space`)},
			map[string][]string{"8:0": {"sda2 is mounted on /b", "sda2 is mounted on /with space"}},
		},
		"a line that is cut off": {[]string{"36 35 8:2"}, map[string][]string{"8:0": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			w := machine(t)
			w.process(1, "1", mount("0:5", "/proc"))
			w.process(20, "1", mount("8:0", "/of-the-first-namespace-again"))
			w.process(300, "2", test.mounts...)
			for number, want := range test.numbers {
				got, err := Disks{Root: w.root}.Users(Identity{Number: number})
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("the users of %s are %q, %v; want %q", number, got, err, want)
				}
			}
		})
	}
}

func TestUsersErrors(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w world)
		says   string
	}{
		"no process":                 {func(world) {}, "no process shows its mounts"},
		"mounts that are no file":    {func(w world) { w.write("proc/2/mountinfo/x", ""); w.link("proc/2/ns/mnt", "mnt:[1]") }, "is a directory"},
		"a namespace without a name": {func(w world) { w.write("proc/2/mountinfo", mount("0:5", "/proc")); w.write("proc/2/ns/mnt/x", "") }, ""},
		"a holder without a number":  {func(w world) { w.process(1, "1", mount("0:5", "/proc")); w.write("sys/devices/block/md0/dev", "") }, "no device number"},
		"a holder that is gone": {func(w world) {
			w.process(1, "1", mount("0:5", "/proc"))
			must.Do(w.t, os.RemoveAll(filepath.Join(w.root, "sys/devices/block/dm-0")))
		}, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			w := machine(t)
			test.change(w)
			_, err := Disks{Root: w.root}.Users(Identity{Number: "8:0"})
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestSourcesOfMounts: only a path in /dev is looked at. The source of a mount may be any text, also a file of a server that
// does not answer any more, and nothing ends that look.
func TestSourcesOfMounts(t *testing.T) {
	entries, err := os.ReadDir("/sys/class/block")
	if err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	for _, entry := range entries {
		device, link := filepath.Join("/dev", entry.Name()), filepath.Join(folder, entry.Name())
		if deviceNumber(device) == "" {
			continue
		}
		must.Do(t, os.Symlink(device, link))
		if (Disks{}).fileNumber(device) == "" {
			t.Errorf("%s is not looked at", device)
		}
		for _, path := range []string{link, "/dev/.." + link} {
			if got := (Disks{}).fileNumber(path); got != "" {
				t.Errorf("%s is looked at: it is %s", path, got)
			}
		}
		return
	}
	t.Skip("this machine shows no block device")
}

func TestInspectBlock(t *testing.T) {
	w := machine(t)
	w.write("sys/devices/block/sda/device/serial", "S1\n")
	w.write("sys/devices/block/sda/wwid", "\n")
	w.write("sys/devices/block/sda/device/wwid", "naa.5000\n")
	got, err := Disks{Root: w.root}.block("/dev/sda", "8:0")
	want := Identity{Path: "/dev/sda", Number: "8:0", Size: 2048 * 512, Serial: "S1", WWN: "naa.5000"}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	// Another disk of the same size in the same slot gets the same name and number.
	w.write("sys/devices/block/sda/diskseq", "7\n")
	before := must.Get(Disks{Root: w.root}.block("/dev/sda", "8:0"))(t)
	w.write("sys/devices/block/sda/diskseq", "9\n")
	after := must.Get(Disks{Root: w.root}.block("/dev/sda", "8:0"))(t)
	if before == after || difference(before, after) != `its sequence number was "7", and is "9"` {
		t.Errorf("a disk that was replaced: %q", difference(before, after))
	}
	if _, err := (Disks{Root: w.root}).block("/dev/sda2", "8:2"); err == nil || !strings.Contains(err.Error(), "name the disk sda") {
		t.Errorf("a partition: %v", err)
	}
	if _, err := (Disks{Root: w.root}).block("/dev/sdz", "8:250"); err == nil {
		t.Error("a device that the kernel does not describe was inspected")
	}
}
