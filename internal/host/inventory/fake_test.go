//go:build linux

package inventory

import (
	"encoding/hex"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// fake is a machine: a folder with its proc, sys, run and dev, what its programs print, and its network.
type fake struct {
	t        testing.TB
	root     string
	programs map[string]string // what a command prints; a command that is missing fails
	absent   []string          // programs that the machine does not have
	links    []Link
	routes   []Route
	netErr   error
}

func newFake(t testing.TB) *fake {
	t.Helper()
	f := &fake{t: t, root: t.TempDir(), programs: map[string]string{}}
	f.write("sys/block/.keep", "")
	must.Do(t, os.Remove(f.at("sys/block/.keep")))
	return f
}

func (f *fake) Links() ([]Link, error)   { return f.links, f.netErr }
func (f *fake) Routes() ([]Route, error) { return f.routes, f.netErr }

func (f *fake) at(name string) string { return filepath.Join(f.root, name) }

// write writes a file, with the line end that files of the kernel have.
func (f *fake) write(name, content string) {
	f.t.Helper()
	must.Do(f.t, os.MkdirAll(filepath.Dir(f.at(name)), 0o755))
	must.Do(f.t, os.WriteFile(f.at(name), []byte(content), 0o600))
}

func (f *fake) writeAll(folder string, files map[string]string) {
	f.t.Helper()
	for name, content := range files {
		f.write(path.Join(folder, name), content+"\n")
	}
}

// link makes a link to another path of the machine. It is relative, as those of sysfs and udev are.
func (f *fake) link(name, target string) {
	f.t.Helper()
	must.Do(f.t, os.MkdirAll(filepath.Dir(f.at(name)), 0o755))
	to := must.Get(filepath.Rel(path.Dir(path.Join("/", name)), path.Join("/", target)))(f.t)
	must.Do(f.t, os.Symlink(to, f.at(name)))
}

// block is a block device.
type block struct {
	name    string
	number  string // "8:0"
	on      string // the folder of the controller in sys/devices; "" is a virtual device
	size    string // in sectors; "2097152" if empty
	rotates bool
	files   map[string]string // more files of its folder in sysfs
	udev    map[string]string
	links   []string // in /dev/disk
	start   string   // its first bytes in hexadecimal digits
	parts   []part
}

// part is a partition of a block device.
type part struct{ name, number, label string }

func (f *fake) block(b block) {
	f.t.Helper()
	folder := path.Join("sys/devices", b.on, "block", b.name)
	if b.on == "" {
		folder = "sys/devices/virtual/block/" + b.name
	}
	rotational := "0"
	if b.rotates {
		rotational = "1"
	}
	if b.size == "" {
		b.size = "2097152"
	}
	f.writeAll(folder, map[string]string{"dev": b.number, "size": b.size, "removable": "0", "queue/rotational": rotational, "hidden": "0"})
	f.writeAll(folder, b.files)
	must.Do(f.t, os.MkdirAll(f.at(folder+"/holders"), 0o755))
	f.link("sys/block/"+b.name, folder)
	start := must.Get(hex.DecodeString(b.start))(f.t)
	f.write("dev/"+b.name, string(append(start, make([]byte, sectorSize)...)))
	for _, name := range b.links {
		f.link("dev/disk/"+name, "dev/"+b.name)
	}
	f.udev(b.number, b.udev)
	for i, p := range b.parts {
		f.writeAll(folder+"/"+p.name, map[string]string{"partition": string(rune('1' + i)), "dev": p.number, "size": "2048"})
		f.write("dev/"+p.name, "")
		if p.label != "" {
			f.udev(p.number, map[string]string{"ID_PART_ENTRY_NAME": p.label})
		}
	}
}

func (f *fake) udev(number string, properties map[string]string) {
	f.t.Helper()
	if properties == nil {
		return
	}
	lines := []string{"S:disk/by-path/x", "I:1234"}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		lines = append(lines, "E:"+name+"="+properties[name])
	}
	f.write("run/udev/data/b"+number, strings.Join(append(lines, "G:systemd", ""), "\n"))
}

// mounts writes both files in which the kernel shows what is mounted. A mount is "8:1 /dev/sda1 /mnt".
func (f *fake) mounts(mounts ...string) {
	f.t.Helper()
	var info, table strings.Builder
	for _, m := range mounts {
		fields := strings.Fields(m)
		number, source, point := fields[0], fields[1], fields[2]
		info.WriteString("36 35 " + number + " / " + point + " rw,relatime shared:1 - ext4 " + source + " rw\n")
		table.WriteString(source + " " + point + " ext4 rw,relatime 0 0\n")
	}
	f.write("proc/1/mountinfo", info.String())
	f.write("proc/self/mounts", table.String())
}

// bootSector is the start of a disk with a boot sector.
func bootSector() string { return strings.Repeat("00", sectorSize-2) + "55aa" }

// net describes an interface in sysfs.
func (f *fake) net(name, device string, files map[string]string) {
	f.t.Helper()
	folder := path.Join("sys/devices", device, "net", name)
	f.writeAll(folder, files)
	f.link("sys/class/net/"+name, folder)
}

// collector reads the machine, and logs to the test.
func (f *fake) collector() Collector {
	runner := &machine.Recorder{
		Absent: f.absent,
		Reply: func(c machine.Command) (machine.Result, error) {
			output, known := f.programs[c.String()]
			if !known {
				return machine.Result{Code: 1}, nil
			}
			return machine.Result{Stdout: []byte(output)}, nil
		},
	}
	return Collector{Root: f.root, Runner: runner, Network: f}
}
