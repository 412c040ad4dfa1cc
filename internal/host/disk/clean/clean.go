//go:build linux

// Package clean releases a disk from LVM, md, the device mapper and multipath, and removes their marks from it.
//
// It follows what the kernel says stands on the disk, and changes nothing on other disks. A volume group or an array that
// also has parts on other disks is stopped, and loses what it had on this disk: the other disks keep their metadata and data.
// An array with redundancy can be started from them again. It is not told to drop this disk, since that would write to them.
//
// NVMe needs nothing more: a namespace with several paths is one disk of the kernel.
package clean

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/machine"
)

// Disks finds and opens disks. A blockdevice.Disks does.
type Disks interface {
	Check(id blockdevice.Identity) error
	Stack(id blockdevice.Identity) (blockdevice.Stack, error)
	Open(id blockdevice.Identity) (*blockdevice.Device, error)
}

// Programs runs programs. A machine.Runner does.
type Programs interface {
	Run(ctx context.Context, c machine.Command) (machine.Result, error)
	Has(name string) bool
}

// Cleaner cleans disks.
type Cleaner struct {
	Disks    Disks
	Programs Programs
	Log      *slog.Logger
}

const (
	programLimit = 2 * time.Minute
	// rounds is how often holders are removed: udev may start arrays and volumes again.
	rounds = 3
)

// Clean releases a disk, and zeroes the beginning and the end of it and of its partitions. Notes say what other disks lost.
// The error is a *blockdevice.Refused if the disk is in use: then nothing was changed.
func (c Cleaner) Clean(ctx context.Context, id blockdevice.Identity) (notes []string, err error) {
	if err := c.Disks.Check(id); err != nil {
		return nil, err
	}
	stack, err := c.Disks.Stack(id)
	if err != nil {
		return nil, err
	}
	if err := refuse(id, stack); err != nil {
		return nil, err
	}
	notes = lost(id, stack)
	more, err := c.volumeGroups(ctx, id, stack)
	if err != nil {
		return nil, err
	}
	notes = append(notes, more...)
	for round := 1; ; round++ {
		err := c.release(ctx, id, stack.Partitions)
		if err == nil {
			break
		}
		if ctx.Err() != nil || round == rounds {
			return notes, fmt.Errorf("clean the disk %q: %w", id.Path, err)
		}
		c.Log.Warn("the disk is not free yet", "disk", id.Path, "error", err)
	}
	c.settle(ctx)
	return notes, nil
}

// refuse returns an error if the disk is one of several paths to a disk: the others would be used after this one was released.
func refuse(id blockdevice.Identity, stack blockdevice.Stack) error {
	for _, h := range stack.Holders {
		if h.Kind == blockdevice.Multipath && len(h.Others) > 0 {
			return &blockdevice.Refused{
				Path: id.Path, Next: "name the disk /dev/" + h.Kernel,
				Reason: fmt.Sprintf("it is one of several paths to the multipath device %q, beside %s", h.Name, strings.Join(h.Others, ", ")),
			}
		}
	}
	return nil
}

// lost says what arrays lose that also have other disks.
func lost(id blockdevice.Identity, stack blockdevice.Stack) []string {
	var notes []string
	for _, h := range stack.Holders {
		if h.Kind != blockdevice.RAID || len(h.Others) == 0 || h.Level == blockdevice.Container {
			continue
		}
		what := "it has less redundancy now, and can be started again from them"
		if h.Level == "raid0" || h.Level == "linear" {
			what = "its data are lost, as it has no redundancy"
		}
		notes = append(notes, fmt.Sprintf("the array %s (%s) has %s besides %s: %s",
			h.Kernel, h.Level, strings.Join(h.Others, ", "), id.Path, what))
	}
	return notes
}

// release removes all holders, and wipes the disk as soon as it can be opened alone.
func (c Cleaner) release(ctx context.Context, id blockdevice.Identity, partitions []blockdevice.Extent) error {
	stack, err := c.Disks.Stack(id)
	if err != nil {
		return err
	}
	var failed []error
	for _, h := range stack.Holders {
		if err := c.remove(ctx, h); err != nil {
			failed = append(failed, err)
		}
	}
	if stack, err = c.Disks.Stack(id); err != nil {
		return err
	}
	if len(stack.Holders) > 0 {
		names := make([]string, 0, len(stack.Holders))
		for _, h := range stack.Holders {
			names = append(names, strings.TrimSpace(fmt.Sprintf("%s %s %s", h.Kind, h.Kernel, h.Name)))
		}
		return fmt.Errorf("these still stand on it: %s: %w", strings.Join(names, ", "), errors.Join(failed...))
	}
	return c.wipe(ctx, id, partitions)
}

// remove removes a holder. All that stands on it was removed before.
func (c Cleaner) remove(ctx context.Context, h blockdevice.Holder) error {
	switch h.Kind {
	case blockdevice.RAID:
		return c.run(ctx, "mdadm", "--stop", "/dev/"+h.Kernel)
	case blockdevice.Multipath:
		// multipathd would make the device again if only the device mapper removed it.
		if err := c.run(ctx, "multipath", "-f", h.Name); err == nil {
			return nil
		}
		return c.run(ctx, "dmsetup", "remove", "--retry", h.Name)
	case blockdevice.LVM, blockdevice.Mapped:
		return c.run(ctx, "dmsetup", "remove", "--retry", h.Name)
	case blockdevice.Other:
	}
	return fmt.Errorf("oaictl-host cannot remove the %s %s", h.Kind, h.Kernel)
}

func (c Cleaner) run(ctx context.Context, name string, args ...string) error {
	_, err := c.Programs.Run(ctx, machine.Command{Name: name, Args: args, Timeout: programLimit})
	if err != nil {
		c.Log.Warn("a step of cleaning the disk failed", "error", err)
	}
	return err
}

// settle waits until udev has taken note of what changed. It is no error if it does not: the disk is clean.
func (c Cleaner) settle(ctx context.Context) {
	if c.Programs.Has("udevadm") {
		_ = c.run(ctx, "udevadm", "settle", "--timeout=30")
	}
}

// edge is how much of a beginning or an end is zeroed. It holds the marks of LVM (0 to 1 MiB, and the end), md (0, 4 KiB, and
// the last 128 KiB), IMSM and DDF (the end), ZFS (512 KiB at both ends), LUKS, file systems and the partition tables.
const edge = 1 << 20

// wipe zeroes the beginning and the end of the disk and of its partitions.
func (c Cleaner) wipe(ctx context.Context, id blockdevice.Identity, partitions []blockdevice.Extent) (err error) {
	device, err := c.Disks.Open(id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	for _, p := range partitions {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if p.Offset < 0 || p.Offset+p.Bytes > id.Size {
			continue // a table of partitions that is wrong
		}
		if err := wipeEnds(device, p.Offset, p.Bytes); err != nil {
			return err
		}
	}
	if err := wipeEnds(device, 0, id.Size); err != nil {
		return err
	}
	if err := device.Sync(); err != nil {
		return fmt.Errorf("wipe the disk %q: %w", id.Path, err)
	}
	return device.ReadPartitions()
}

func wipeEnds(device *blockdevice.Device, offset, size int64) error {
	length := min(edge, size)
	if err := device.Zero(offset, length); err != nil {
		return err
	}
	// LUKS 2 has copies of its header here.
	const copies, header = edge, 4096
	for at := int64(copies); at <= 4*copies && at+header <= size; at *= 2 {
		if err := device.Zero(offset+at, header); err != nil {
			return err
		}
	}
	return device.Zero(offset+size-length, length)
}

// Format zeroes the first 512 bytes of a disk, so that nothing boots from it, and reads them back.
func (c Cleaner) Format(ctx context.Context, id blockdevice.Identity) (err error) {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	device, err := c.Disks.Open(id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	const size = 512
	got := make([]byte, size)
	if _, err := device.WriteAt(got, 0); err != nil {
		return fmt.Errorf("format the disk %q: %w", id.Path, err)
	}
	if err := device.Sync(); err != nil {
		return fmt.Errorf("format the disk %q: %w", id.Path, err)
	}
	if _, err := device.ReadAt(got, 0); err != nil {
		return fmt.Errorf("read the formatted disk %q: %w", id.Path, err)
	}
	if slices.ContainsFunc(got, func(b byte) bool { return b != 0 }) {
		return fmt.Errorf("format the disk %q: it still has its first bytes: it may be damaged, or write-protected", id.Path)
	}
	return nil
}

// onDisk has the kernel's names of a disk, its partitions and its holders.
type onDisk struct {
	kernel map[string]bool
	mapped map[string]bool // names of the device mapper
}

func namesOn(id blockdevice.Identity, stack blockdevice.Stack) onDisk {
	names := onDisk{map[string]bool{filepath.Base(id.Path): true}, map[string]bool{}}
	for _, p := range stack.Partitions {
		names.kernel[p.Kernel] = true
	}
	for _, h := range stack.Holders {
		names.kernel[h.Kernel] = true
		if h.Name != "" {
			names.mapped[h.Name] = true
		}
	}
	return names
}

// has reports whether a path such as /dev/sda1 or /dev/mapper/name is on the disk.
func (o onDisk) has(path string) bool {
	if name, mapped := strings.CutPrefix(path, "/dev/mapper/"); mapped {
		return o.mapped[name]
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Dir(path) == "/dev" && o.kernel[filepath.Base(path)]
}
