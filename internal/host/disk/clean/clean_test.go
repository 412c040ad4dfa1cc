//go:build linux

package clean

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

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/must"
)

const (
	one = "abcdef-0001-aaaa-bbbb-cccc-dddd-000001"
	two = "abcdef-0002-aaaa-bbbb-cccc-dddd-000002"
)

// disks has one disk, which is a file, and what stands on it until a program removes it.
type disks struct {
	t       *testing.T
	file    blockdevice.Identity
	stack   blockdevice.Stack
	refused error
}

func (d *disks) Check(blockdevice.Identity) error { return d.refused }

func (d *disks) Stack(blockdevice.Identity) (blockdevice.Stack, error) {
	return blockdevice.Stack{Partitions: d.stack.Partitions, Holders: slices.Clone(d.stack.Holders)}, nil
}

func (d *disks) Open(blockdevice.Identity) (*blockdevice.Device, error) {
	if len(d.stack.Holders) > 0 {
		d.t.Errorf("the disk is opened while %+v stand on it", d.stack.Holders)
	}
	return blockdevice.Disks{}.Open(d.file)
}

// remove is what a program does to holders.
func (d *disks) remove(name string) {
	d.stack.Holders = slices.DeleteFunc(d.stack.Holders, func(h blockdevice.Holder) bool {
		return h.Name == name || "/dev/"+h.Kernel == name
	})
}

const size = 64 << 20

func setup(t *testing.T, stack blockdevice.Stack, pvs string) (Cleaner, *disks, *machine.Recorder, blockdevice.Identity) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	must.Do(t, os.WriteFile(file, bytes.Repeat([]byte{7}, size), 0o600))
	d := &disks{t: t, file: must.Get(blockdevice.Disks{}.Inspect(file))(t), stack: stack}
	runner := &machine.Recorder{Reply: func(c machine.Command) (machine.Result, error) {
		switch c.Name {
		case "pvs":
			return machine.Result{Stdout: []byte(pvs)}, nil
		case "dmsetup", "mdadm", "multipath":
			d.remove(c.Args[len(c.Args)-1])
		}
		return machine.Result{}, nil
	}}
	id := blockdevice.Identity{Path: "/dev/sda", Number: "8:0", Size: size}
	return Cleaner{Disks: d, Programs: runner, Log: slog.New(slog.DiscardHandler)}, d, runner, id
}

func partitions() []blockdevice.Extent {
	return []blockdevice.Extent{
		{Kernel: "sda1", Number: 1, Offset: 1 << 20, Bytes: 512}, {Kernel: "sda2", Number: 2, Offset: 8 << 20, Bytes: 40 << 20},
	}
}

func pvs(list ...[3]string) string {
	var items []string
	for _, pv := range list {
		items = append(items, `{"pv_name":"`+pv[0]+`","vg_name":"`+pv[1]+`","vg_uuid":"`+pv[2]+`"}`)
	}
	return `{"report":[{"pv":[` + strings.Join(items, ",") + `]}]}`
}

const list = "pvs --reportformat json -o pv_name,vg_name,vg_uuid"

func TestClean(t *testing.T) {
	lv := func(kernel, name string, others ...string) blockdevice.Holder {
		return blockdevice.Holder{Kernel: kernel, Kind: blockdevice.LVM, Name: name, UUID: "LVM-x", Others: others}
	}
	md := func(kernel, level string, others ...string) blockdevice.Holder {
		return blockdevice.Holder{Kernel: kernel, Kind: blockdevice.RAID, Level: level, Others: others}
	}
	for name, test := range map[string]struct {
		holders  []blockdevice.Holder
		pvs      string
		commands []string
		notes    []string
	}{
		"empty": {pvs: pvs(), commands: []string{list}},
		"other disks": {
			pvs:      pvs([3]string{"/dev/sdb1", "data", one}, [3]string{"/dev/sdaa", "more", two}, [3]string{"/dev/sda11", "more", two}),
			commands: []string{list},
		},
		"a volume group": {
			pvs: pvs([3]string{"/dev/sda2", "data", one}, [3]string{"/dev/sdb1", "data", two}),
			commands: []string{
				list, "vgchange --activate n --yes --select vg_uuid=" + one, "vgremove --yes --force --select vg_uuid=" + one,
				"pvremove --yes --force --force /dev/sda2",
			},
		},
		"a physical volume without a group": {pvs: pvs([3]string{"/dev/sda2", "", ""}), commands: []string{list}},
		"a volume group with another disk": {
			holders: []blockdevice.Holder{lv("dm-1", "data-a", "sdb1")},
			pvs:     pvs([3]string{"/dev/sda2", "data", one}, [3]string{"/dev/sdb1", "data", one}),
			commands: []string{
				list, "vgchange --activate n --yes --select vg_uuid=" + one, "dmsetup remove --retry data-a",
			},
			notes: []string{"the volume group data has /dev/sdb1 besides /dev/sda2: it was deactivated, and its data on /dev/sda are lost"},
		},
		"a volume group with a lost disk": {
			pvs:      pvs([3]string{"/dev/sda", "data", one}, [3]string{"[unknown]", "data", one}),
			commands: []string{list, "vgchange --activate n --yes --select vg_uuid=" + one},
			notes:    []string{"the volume group data has [unknown] besides /dev/sda: it was deactivated, and its data on /dev/sda are lost"},
		},
		"a thin pool that LVM does not know": {
			holders: []blockdevice.Holder{lv("dm-3", "vg-thin"), lv("dm-2", "vg-pool"), lv("dm-0", "vg-pool_tmeta"), lv("dm-1", "vg-pool_tdata")},
			pvs:     "no JSON",
			commands: []string{
				list, "dmsetup remove --retry vg-thin", "dmsetup remove --retry vg-pool",
				"dmsetup remove --retry vg-pool_tmeta", "dmsetup remove --retry vg-pool_tdata",
			},
		},
		"LVM on an array": {
			holders: []blockdevice.Holder{md("md127", "raid1")},
			pvs:     pvs([3]string{"/dev/md127", "data", one}),
			commands: []string{
				list, "vgchange --activate n --yes --select vg_uuid=" + one, "vgremove --yes --force --select vg_uuid=" + one,
				"pvremove --yes --force --force /dev/md127", "mdadm --stop /dev/md127",
			},
		},
		"arrays with another disk": {
			holders: []blockdevice.Holder{md("md126", "raid1", "sdb"), md("md0", "raid0", "sdb1", "sdc1"), md("md127", "container", "sdb")},
			pvs:     pvs(), commands: []string{list, "mdadm --stop /dev/md126", "mdadm --stop /dev/md0", "mdadm --stop /dev/md127"},
			notes: []string{
				"the array md126 (raid1) has sdb besides /dev/sda: it has less redundancy now, and can be started again from them",
				"the array md0 (raid0) has sdb1, sdc1 besides /dev/sda: its data are lost, as it has no redundancy",
			},
		},
		"a multipath device with one path, and LUKS": {
			holders: []blockdevice.Holder{
				{Kernel: "dm-1", Kind: blockdevice.Mapped, Name: "luks"}, {Kernel: "dm-0", Kind: blockdevice.Multipath, Name: "mpatha"},
			},
			pvs: pvs([3]string{"/dev/mapper/luks", "data", one}, [3]string{"/dev/mapper/other", "more", two}),
			commands: []string{
				list, "vgchange --activate n --yes --select vg_uuid=" + one, "vgremove --yes --force --select vg_uuid=" + one,
				"pvremove --yes --force --force /dev/mapper/luks", "dmsetup remove --retry luks", "multipath -f mpatha",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, d, runner, id := setup(t, blockdevice.Stack{Partitions: partitions(), Holders: test.holders}, test.pvs)
			notes, err := c.Clean(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(notes, test.notes) {
				t.Errorf("the notes are %q", notes)
			}
			if got, want := runner.Commands(), append(test.commands, "udevadm settle --timeout=30"); !slices.Equal(got, want) {
				t.Errorf("the commands are %q", got)
			}
			want := bytes.Repeat([]byte{7}, size)
			for _, zero := range [][2]int{
				{0, 1 << 20}, {size - 1<<20, size}, {1 << 20, 1<<20 + 4096}, {2 << 20, 2<<20 + 4096}, {4 << 20, 4<<20 + 4096}, // the disk
				{8 << 20, 9 << 20}, {47 << 20, 48 << 20}, {9 << 20, 9<<20 + 4096}, {10 << 20, 10<<20 + 4096}, {12 << 20, 12<<20 + 4096}, // sda2
			} {
				clear(want[zero[0]:zero[1]])
			}
			if got := must.Get(os.ReadFile(d.file.Path))(t); !bytes.Equal(got, want) {
				t.Error("other bytes were wiped")
			}
		})
	}
}

func TestCleanRefuses(t *testing.T) {
	multipath := blockdevice.Holder{Kernel: "dm-0", Kind: blockdevice.Multipath, Name: "mpatha", Others: []string{"sdb"}}
	mounted := &blockdevice.Refused{Path: "/dev/sda", Reason: "it is in use: sda1 is mounted on /data"}
	for name, test := range map[string]struct {
		stack   blockdevice.Stack
		refused error
		want    string
	}{
		"mounted":       {refused: mounted, want: "mounted on /data"},
		"several paths": {stack: blockdevice.Stack{Holders: []blockdevice.Holder{multipath}}, want: "name the disk /dev/dm-0"},
	} {
		t.Run(name, func(t *testing.T) {
			c, d, runner, id := setup(t, test.stack, pvs())
			d.refused = test.refused
			_, err := c.Clean(t.Context(), id)
			if refused, is := errors.AsType[*blockdevice.Refused](err); !is || !strings.Contains(refused.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if len(runner.Commands()) > 0 {
				t.Errorf("programs ran: %q", runner.Commands())
			}
		})
	}
}

func TestCleanCannotRemove(t *testing.T) {
	stack := blockdevice.Stack{Holders: []blockdevice.Holder{{Kernel: "bcache0", Kind: blockdevice.Other}, {Kernel: "dm-0", Kind: blockdevice.Mapped, Name: "luks"}}}
	c, _, runner, id := setup(t, stack, pvs())
	runner.Reply = func(c machine.Command) (machine.Result, error) {
		if c.Name == "dmsetup" {
			return machine.Result{Code: 1, Stderr: []byte("Device or resource busy")}, nil
		}
		return machine.Result{Stdout: []byte(pvs())}, nil
	}
	_, err := c.Clean(t.Context(), id)
	for _, want := range []string{"block device bcache0", "luks", "busy", "cannot remove the block device bcache0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if got := strings.Count(strings.Join(runner.Commands(), "\n"), "dmsetup"); got != rounds {
		t.Errorf("%d tries", got)
	}
}

func TestCleanIsCancelled(t *testing.T) {
	c, d, _, id := setup(t, blockdevice.Stack{Holders: []blockdevice.Holder{{Kernel: "md0", Kind: blockdevice.RAID}}}, pvs())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Clean(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := must.Get(os.ReadFile(d.file.Path))(t); got[0] != 7 {
		t.Error("the disk was wiped")
	}
}

// TestCleanAgain shows that an array which udev starts again is stopped again.
func TestCleanAgain(t *testing.T) {
	array := blockdevice.Holder{Kernel: "md127", Kind: blockdevice.RAID}
	c, d, runner, id := setup(t, blockdevice.Stack{Holders: []blockdevice.Holder{array}}, pvs())
	stops := 0
	runner.Reply = func(c machine.Command) (machine.Result, error) {
		if c.Name == "mdadm" {
			if stops++; stops == 2 {
				d.stack.Holders = nil
			}
		}
		return machine.Result{Stdout: []byte(pvs())}, nil
	}
	if _, err := c.Clean(t.Context(), id); err != nil || stops != 2 {
		t.Errorf("%d stops, %v", stops, err)
	}
}

func TestFormat(t *testing.T) {
	c, d, runner, id := setup(t, blockdevice.Stack{}, "")
	must.Do(t, c.Format(t.Context(), id))
	want := bytes.Repeat([]byte{7}, size)
	clear(want[:512])
	if got := must.Get(os.ReadFile(d.file.Path))(t); !bytes.Equal(got, want) || len(runner.Commands()) > 0 {
		t.Error("not only the first 512 bytes are zero")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Format(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzParseGroups(f *testing.F) {
	f.Add([]byte(pvs([3]string{"/dev/sda2", "data", one}, [3]string{"/dev/sdb", "", ""})))
	f.Fuzz(func(t *testing.T, output []byte) {
		groups, err := parseGroups(output)
		if err != nil {
			return
		}
		for _, g := range groups {
			if g.uuid != "" && !volumeID.MatchString(g.uuid) || len(g.volumes) == 0 {
				t.Errorf("%+v", g)
			}
		}
	})
}
