//go:build linux

// Package bootorder makes the firmware start a disk first.
//
// On UEFI it writes the variables itself: the entry of a boot loader on the EFI system partition of the disk, and the order
// of entries. Entries of other disks stay. On ppc64le the program bootlist does it. A BIOS has no interface for it: its own
// order decides, and it must have the disk before the installation medium.
package bootorder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/disk/layout"
	"github.com/oaictl/oaictl/internal/host/disk/mount"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Variables are the EFI variables. A machine.EFI has them.
type Variables interface {
	List() ([]string, error)
	// Read returns an error that wraps fs.ErrNotExist if there is no such variable.
	Read(name string) ([]byte, error)
	// Write returns an error that wraps unix.ENOSPC if the firmware has no room.
	Write(name string, content []byte) error
}

// Programs runs programs. A machine.Runner does.
type Programs interface {
	Run(ctx context.Context, c machine.Command) (machine.Result, error)
	Has(name string) bool
}

// Mounter mounts partitions. A mount.Mounter does.
type Mounter interface {
	With(ctx context.Context, v mount.Volume, use func(root string) error) error
}

// Order changes the order in which the firmware tries disks.
type Order struct {
	Variables Variables
	Programs  Programs
	Mounter   Mounter
	Files     hostfile.Files
	// Arch is the architecture as Go names it, such as amd64.
	Arch string
	Log  *slog.Logger
}

const (
	firmwareFolder = "/sys/firmware/efi"
	programLimit   = time.Minute
	orderVariable  = "BootOrder"
)

var entryName = regexp.MustCompile(`^Boot([0-9A-F]{4})$`)

// BootFrom makes the firmware start a disk first, which has a partition table and a boot loader. On a BIOS it only logs what
// decides.
func (o Order) BootFrom(ctx context.Context, id blockdevice.Identity) error {
	if o.Programs.Has("bootlist") {
		return o.bootlist(ctx, id)
	}
	if !o.Files.Exists(firmwareFolder) {
		o.Log.Info("the firmware is a BIOS: its own order of disks decides what boots. The disk must come before the medium", "disk", id.Path)
		return nil
	}
	if err := o.efi(ctx, id); err != nil {
		return fmt.Errorf("make the firmware boot from %s first: %w", id.Path, err)
	}
	return nil
}

func (o Order) bootlist(ctx context.Context, id blockdevice.Identity) error {
	_, err := o.Programs.Run(ctx, machine.Command{Name: "bootlist", Args: []string{"-m", "normal", "-o", id.Path}, Timeout: programLimit})
	if err != nil {
		return fmt.Errorf("make the firmware boot from %s first: %w", id.Path, err)
	}
	return nil
}

func (o Order) efi(ctx context.Context, id blockdevice.Identity) error {
	loader, label, err := o.loader(ctx, id)
	if err != nil {
		return err
	}
	if err := o.showVariables(ctx); err != nil {
		return err
	}
	entries, used, err := o.entries()
	if err != nil {
		return err
	}
	number, err := o.entry(entries, used, loader, label)
	if err != nil {
		return err
	}
	return o.first(number, used)
}

// showVariables mounts the file system with the variables: a container has only its empty folder.
func (o Order) showVariables(ctx context.Context) error {
	names, err := o.Variables.List()
	if err == nil && len(names) > 0 {
		return nil
	}
	if err != nil && !errors.Is(err, machine.ErrNoEFI) {
		return fmt.Errorf("list the EFI variables: %w", err)
	}
	_, err = o.Programs.Run(ctx, machine.Command{
		Name: "mount", Args: []string{"-t", "efivarfs", "efivarfs", machine.EFIFolder}, Timeout: programLimit,
	})
	if err != nil {
		return fmt.Errorf("the firmware is UEFI, but its variables cannot be seen: %w", err)
	}
	return nil
}

// loader finds the boot loader on the EFI system partition of a disk, and what to call it.
func (o Order) loader(ctx context.Context, id blockdevice.Identity) (found location, label string, err error) {
	file, err := os.Open(id.Path)
	if err != nil {
		return location{}, "", fmt.Errorf("read its partition table: %w", err)
	}
	defer file.Close()
	table, err := layout.Read(file, 0)
	if err != nil {
		return location{}, "", fmt.Errorf("read its partition table: %w", err)
	}
	esp, has := table.OfType(layout.TypeESP)
	if !has {
		return location{}, "", errors.New("it has no EFI system partition: its image is not for UEFI")
	}
	volume := mount.Volume{Device: id.Path, Offset: esp.Offset, Bytes: esp.Bytes, Type: "vfat", ReadOnly: true, Name: "esp"}
	err = o.Mounter.With(ctx, volume, func(root string) error {
		path, vendor, err := findLoader(root, o.Arch)
		found = location{
			partition: esp.GUID, number: uint32(esp.Number),
			start: uint64(esp.Offset / esp.Sector), sectors: uint64(esp.Bytes / esp.Sector), file: path,
		}
		label = labelOf(vendor)
		return err
	})
	return found, label, err
}

// labelOf is what the firmware shows.
func labelOf(vendor string) string {
	switch vendor {
	case "redhat", "centos":
		return "Red Hat Enterprise Linux" // as the assisted installer calls both
	case "fedora":
		return "Fedora"
	}
	return "Linux"
}

// findLoader finds shim in the folder of a vendor, or else the loader that each disk has for firmware without entries.
func findLoader(root, arch string) (path, vendor string, err error) {
	suffix, known := map[string]string{"amd64": "x64", "arm64": "aa64"}[arch]
	if !known {
		return "", "", fmt.Errorf("boot loaders of UEFI on %s are not known", arch)
	}
	efi := ignoreCase(root, "EFI")
	if efi == "" {
		return "", "", errors.New("the EFI system partition has no folder EFI: no boot loader is installed")
	}
	vendors, err := os.ReadDir(filepath.Join(root, efi))
	if err != nil {
		return "", "", fmt.Errorf("read the EFI system partition: %w", err)
	}
	var names []string
	for _, vendor := range vendors {
		names = append(names, vendor.Name())
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range names {
		wanted := "shim" + suffix + ".efi"
		if strings.EqualFold(name, "BOOT") {
			wanted = "BOOT" + suffix + ".EFI"
		}
		if file := ignoreCase(filepath.Join(root, efi, name), wanted); file != "" {
			return `\` + strings.Join([]string{efi, name, file}, `\`), strings.ToLower(name), nil
		}
	}
	return "", "", fmt.Errorf("no folder of the EFI system partition has shim%s.efi or BOOT%s.EFI; there are %q", suffix, suffix, names)
}

// rank orders the folders of vendors. BOOT is last: its loader may make entries for others.
func rank(name string) int {
	const others, last = 100, 101
	if strings.EqualFold(name, "BOOT") {
		return last
	}
	if i := slices.Index([]string{"redhat", "centos", "fedora"}, strings.ToLower(name)); i >= 0 {
		return i
	}
	return others
}

// ignoreCase is the name of a file as the folder has it, "" if there is none.
func ignoreCase(folder, name string) string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	for _, entry := range entries {
		if strings.EqualFold(entry.Name(), name) {
			return entry.Name()
		}
	}
	return ""
}

// entries has the options that name a file on a GPT partition, and the numbers of all.
func (o Order) entries() (map[uint16]option, []uint16, error) {
	names, err := o.Variables.List()
	if err != nil {
		return nil, nil, fmt.Errorf("list the EFI variables: %w", err)
	}
	entries := map[uint16]option{}
	var used []uint16
	for _, name := range names {
		match := entryName.FindStringSubmatch(name)
		if match == nil {
			continue
		}
		number, err := strconv.ParseUint(match[1], 16, 16)
		if err != nil {
			return nil, nil, err
		}
		used = append(used, uint16(number))
		content, err := o.Variables.Read(name)
		if err != nil {
			o.Log.Warn("a boot entry cannot be read", "error", err)
			continue
		}
		entry, err := parseOption(content)
		if err != nil {
			o.Log.Warn("a boot entry is damaged", "entry", name, "error", err)
			continue
		}
		entries[uint16(number)] = entry
	}
	slices.Sort(used)
	return entries, used, nil
}

// entry is the number of the entry of a loader. It is made if there is none.
func (o Order) entry(entries map[uint16]option, used []uint16, loader location, label string) (uint16, error) {
	for _, number := range used {
		entry, readable := entries[number]
		if at, is := entry.location(); !readable || !is || !at.same(loader) {
			continue
		}
		o.Log.Info("the firmware has an entry of the disk", "entry", name(number), "label", escape.Word(entry.label))
		if entry.attributes&active != 0 {
			return number, nil
		}
		entry.attributes |= active
		if err := o.Variables.Write(name(number), entry.bytes()); err != nil {
			return 0, fmt.Errorf("activate the boot entry %s: %w", name(number), err)
		}
		return number, nil
	}
	number := uint16(0)
	for slices.Contains(used, number) {
		number++
	}
	made := option{attributes: active, label: label, path: loader.devicePath()}
	err := o.Variables.Write(name(number), made.bytes())
	if err == nil {
		o.Log.Info("the firmware has a new entry of the disk", "entry", name(number), "label", label, "loader", escape.Word(loader.file))
		return number, nil
	}
	if !errors.Is(err, unix.ENOSPC) {
		return 0, err
	}
	// Any other entry of the partition starts the same disk.
	for _, number := range used {
		entry := entries[number]
		if at, is := entry.location(); is && at.partition == loader.partition && at.start == loader.start && entry.attributes&active != 0 {
			o.Log.Warn("the firmware has no room for another boot entry: another entry of the disk is used", "entry", name(number))
			return number, nil
		}
	}
	return 0, fmt.Errorf("the firmware has no room for another boot entry; delete entries in its setup that are not needed: %w", err)
}

func name(number uint16) string { return fmt.Sprintf("Boot%04X", number) }

// first puts an entry before all others. Numbers without an entry, and those that are there twice, are left out.
func (o Order) first(number uint16, used []uint16) error {
	content, err := o.Variables.Read(orderVariable)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	order := []uint16{number}
	for _, other := range numbers(content) {
		if slices.Contains(used, other) && !slices.Contains(order, other) {
			order = append(order, other)
		}
	}
	wanted := orderBytes(order)
	if slices.Equal(wanted, content) {
		return nil
	}
	err = o.Variables.Write(orderVariable, wanted)
	if errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("the firmware has no room for a new boot order; choose the entry %s in its setup: %w", name(number), err)
	}
	if err != nil {
		return err
	}
	if content, err = o.Variables.Read(orderVariable); err != nil {
		return err
	}
	if !slices.Equal(content, wanted) {
		return fmt.Errorf("the firmware did not take the new boot order; choose the entry %s in its setup", name(number))
	}
	return nil
}
