//go:build linux

package bootorder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/disk/disktest"
	"github.com/oaictl/oaictl/internal/host/disk/layout"
	"github.com/oaictl/oaictl/internal/host/disk/mount"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// variables are EFI variables in memory.
type variables struct {
	content map[string]string
	full    bool // there is no room for a new one
	fixed   bool // the firmware forgets a new order
	hidden  bool // they are not mounted
	written []string
}

func (v *variables) List() ([]string, error) {
	if v.hidden {
		return nil, machine.ErrNoEFI
	}
	return append(slices.Collect(maps.Keys(v.content)), "SecureBoot"), nil
}

func (v *variables) Read(name string) ([]byte, error) {
	content, found := v.content[name]
	if !found {
		return nil, fmt.Errorf("read %s: %w", name, fs.ErrNotExist)
	}
	return []byte(content), nil
}

func (v *variables) Write(name string, content []byte) error {
	if _, known := v.content[name]; v.full && !known {
		return fmt.Errorf("write %s: %w", name, unix.ENOSPC)
	}
	v.written = append(v.written, name)
	if !v.fixed || name != orderVariable {
		v.content[name] = string(content)
	}
	return nil
}

// partition is the content of an EFI system partition, in place of a mount.
type partition struct {
	t      *testing.T
	files  []string
	volume mount.Volume
}

func (p *partition) With(_ context.Context, v mount.Volume, use func(root string) error) error {
	p.volume = v
	root := p.t.TempDir()
	for _, file := range p.files {
		must.Do(p.t, os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755))
		must.Do(p.t, os.WriteFile(filepath.Join(root, file), nil, 0o600))
	}
	return use(root)
}

// loaderOfDisk is the location of shim on the disk of disktest.RHCOS.
func loaderOfDisk(file string) location {
	return location{partition: layout.GUID{0x22}, number: 2, start: 4096, sectors: 2048, file: file}
}

func entryOf(l location, attributes uint32, label string) string {
	return string(option{attributes: attributes, label: label, path: l.devicePath(), data: []byte("data")}.bytes())
}

func order(list ...uint16) string { return string(orderBytes(list)) }

const shim = `\EFI\redhat\shimx64.efi`

func TestBootFrom(t *testing.T) {
	other := loaderOfDisk(shim)
	other.partition = layout.GUID{0x99}
	fallback := loaderOfDisk(`\EFI\BOOT\BOOTX64.EFI`)
	const network = "\x01\x00\x00\x00\x04\x00P\x00\x00\x00\x7f\xff\x04\x00"
	for name, test := range map[string]struct {
		files []string
		vars  variables
		want  map[string]string // what changes
		err   string
	}{
		"no entries": {
			want: map[string]string{"Boot0000": strings.TrimSuffix(entryOf(loaderOfDisk(shim), 1, "Red Hat Enterprise Linux"), "data"), "BootOrder": order(0)},
		},
		"first free number, entries of others stay": {
			vars: variables{content: map[string]string{
				"Boot0000": network, "Boot0001": entryOf(other, 1, "Red Hat Enterprise Linux"), "Boot0003": "damaged", "BootOrder": order(3, 1, 0),
			}},
			want: map[string]string{
				"Boot0002":  strings.TrimSuffix(entryOf(loaderOfDisk(shim), 1, "Red Hat Enterprise Linux"), "data"),
				"BootOrder": order(2, 3, 1, 0),
			},
		},
		"entry is there": {
			vars: variables{content: map[string]string{
				"Boot0000": network, "Boot0007": entryOf(loaderOfDisk(`\efi\RedHat\SHIMX64.EFI`), 1, "mine"), "BootOrder": order(0, 7),
			}},
			want: map[string]string{"BootOrder": order(7, 0)},
		},
		"entry is first": {
			vars: variables{content: map[string]string{
				"Boot0000": network, "Boot0007": entryOf(loaderOfDisk(shim), 1, "mine"), "BootOrder": order(7, 0),
			}},
		},
		"entry is not active": {
			vars: variables{content: map[string]string{"Boot0007": entryOf(loaderOfDisk(shim), 8, "mine"), "BootOrder": order(7)}},
			want: map[string]string{"Boot0007": entryOf(loaderOfDisk(shim), 9, "mine")},
		},
		"order names absent and double entries": {
			vars: variables{content: map[string]string{
				"Boot0000": network, "Boot0007": entryOf(loaderOfDisk(shim), 1, "mine"), "BootOrder": order(5, 0, 9, 0, 7) + "x",
			}},
			want: map[string]string{"BootOrder": order(7, 0)},
		},
		"no room, another entry of the disk": {
			vars: variables{full: true, content: map[string]string{
				"Boot0000": network, "Boot0004": entryOf(fallback, 1, "UEFI OS"), "BootOrder": order(0, 4),
			}},
			want: map[string]string{"BootOrder": order(4, 0)},
		},
		"no room": {
			vars: variables{full: true, content: map[string]string{"Boot0000": network, "Boot0001": entryOf(other, 1, "a"), "BootOrder": order(0, 1)}},
			err:  "delete entries in its setup",
		},
		"order is not taken": {
			vars: variables{fixed: true, content: map[string]string{
				"Boot0000": network, "Boot0007": entryOf(loaderOfDisk(shim), 1, "mine"), "BootOrder": order(0, 7),
			}},
			err: "choose the entry Boot0007",
		},
		"fedora": {
			files: []string{"efi/boot/bootx64.efi", "efi/fedora/shimx64.efi", "efi/fedora/shim.efi"},
			want:  map[string]string{"Boot0000": strings.TrimSuffix(entryOf(loaderOfDisk(`\efi\fedora\shimx64.efi`), 1, "Fedora"), "data"), "BootOrder": order(0)},
		},
		"another vendor": {
			files: []string{"EFI/BOOT/BOOTX64.EFI", "EFI/example/shimx64.efi"},
			want:  map[string]string{"Boot0000": strings.TrimSuffix(entryOf(loaderOfDisk(`\EFI\example\shimx64.efi`), 1, "Linux"), "data"), "BootOrder": order(0)},
		},
		"no shim": {
			files: []string{"EFI/BOOT/BOOTX64.EFI", "EFI/redhat/grubx64.efi"},
			want:  map[string]string{"Boot0000": strings.TrimSuffix(entryOf(fallback, 1, "Linux"), "data"), "BootOrder": order(0)},
		},
		"no loader": {files: []string{"EFI/redhat/grubx64.efi"}, err: `there are ["redhat"]`},
		"no folder": {files: []string{"readme"}, err: "no folder EFI"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.files == nil {
				test.files = []string{"EFI/BOOT/BOOTX64.EFI", "EFI/centos/shimx64.efi", "EFI/redhat/shimx64.efi"}
			}
			vars := &test.vars
			if vars.content == nil {
				vars.content = map[string]string{}
			}
			want := maps.Clone(vars.content)
			maps.Copy(want, test.want)
			o, esp, runner, id := setup(t, vars, test.files)
			err := o.BootFrom(t.Context(), id)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), id.Path) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !maps.Equal(vars.content, want) {
				t.Errorf("the variables are %q, want %q", vars.content, want)
			}
			if len(vars.written) != len(test.want) {
				t.Errorf("%q were written", vars.written)
			}
			if v := (mount.Volume{Device: id.Path, Offset: 2 << 20, Bytes: 1 << 20, Type: "vfat", ReadOnly: true, Name: "esp"}); esp.volume != v {
				t.Errorf("%+v was mounted", esp.volume)
			}
			if got := runner.Commands(); len(got) > 0 {
				t.Errorf("programs ran: %q", got)
			}
			// Once more changes nothing.
			vars.written = nil
			if err := o.BootFrom(t.Context(), id); err != nil || len(vars.written) > 0 {
				t.Errorf("the second time, %q were written: %v", vars.written, err)
			}
		})
	}
}

func setup(t *testing.T, vars *variables, files []string) (Order, *partition, *machine.Recorder, blockdevice.Identity) {
	t.Helper()
	disk := filepath.Join(t.TempDir(), "disk")
	must.Do(t, os.WriteFile(disk, disktest.RHCOS(), 0o600))
	root := hostfile.Files{Root: t.TempDir()}
	must.Do(t, root.MakeFolder(firmwareFolder, 0o755))
	esp := &partition{t: t, files: files}
	runner := &machine.Recorder{Absent: []string{"bootlist"}}
	return Order{
		Variables: vars, Programs: runner, Mounter: esp, Files: root, Arch: "amd64", Log: slog.New(slog.DiscardHandler),
	}, esp, runner, blockdevice.Identity{Path: disk}
}

func TestHiddenVariables(t *testing.T) {
	vars := &variables{content: map[string]string{}, hidden: true}
	o, _, runner, id := setup(t, vars, []string{"EFI/redhat/shimx64.efi"})
	runner.Reply = func(machine.Command) (machine.Result, error) { vars.hidden = false; return machine.Result{}, nil }
	must.Do(t, o.BootFrom(t.Context(), id))
	if got := runner.Commands(); !slices.Equal(got, []string{"mount -t efivarfs efivarfs /sys/firmware/efi/efivars"}) {
		t.Errorf("the commands are %q", got)
	}
	vars.hidden = true
	runner.Reply = func(machine.Command) (machine.Result, error) { return machine.Result{Code: 32}, nil }
	if err := o.BootFrom(t.Context(), id); err == nil || !strings.Contains(err.Error(), "variables cannot be seen") {
		t.Errorf("got %v", err)
	}
}

func TestArm(t *testing.T) {
	vars := &variables{content: map[string]string{}}
	o, _, _, id := setup(t, vars, []string{"EFI/redhat/shimx64.efi", "EFI/redhat/shimaa64.efi"})
	o.Arch = "arm64"
	must.Do(t, o.BootFrom(t.Context(), id))
	entry := must.Get(parseOption([]byte(vars.content["Boot0000"])))(t)
	if at, is := entry.location(); !is || at.file != `\EFI\redhat\shimaa64.efi` {
		t.Errorf("the loader is %+v", at)
	}
	o.Arch = "riscv64"
	if err := o.BootFrom(t.Context(), id); err == nil {
		t.Error("the loader of an unknown architecture is known")
	}
}

func TestOtherFirmware(t *testing.T) {
	o, esp, runner, id := setup(t, &variables{}, nil)
	runner.Absent = nil
	must.Do(t, o.BootFrom(t.Context(), id))
	if got := runner.Commands(); !slices.Equal(got, []string{"bootlist -m normal -o " + id.Path}) {
		t.Errorf("the commands are %q", got)
	}
	runner.Reply = func(machine.Command) (machine.Result, error) { return machine.Result{Code: 1}, nil }
	if err := o.BootFrom(t.Context(), id); err == nil {
		t.Error("bootlist failed, and nobody knows")
	}
	runner.Absent = []string{"bootlist"}
	var log strings.Builder
	o.Files, o.Log = hostfile.Files{Root: t.TempDir()}, slog.New(slog.NewTextHandler(&log, nil))
	must.Do(t, o.BootFrom(t.Context(), id))
	if !strings.Contains(log.String(), "the firmware is a BIOS") || esp.volume.Device != "" {
		t.Errorf("the log is %s", log.String())
	}
}

func TestNoTable(t *testing.T) {
	o, _, _, id := setup(t, &variables{}, nil)
	must.Do(t, os.WriteFile(id.Path, make([]byte, 8192), 0o600))
	if err := o.BootFrom(t.Context(), id); !errors.Is(err, layout.ErrNoTable) {
		t.Errorf("got %v", err)
	}
	must.Do(t, os.WriteFile(id.Path, disktest.Image(512, 1<<20), 0o600))
	if err := o.BootFrom(t.Context(), id); err == nil || !strings.Contains(err.Error(), "no EFI system partition") {
		t.Errorf("got %v", err)
	}
}
