//go:build linux

// Package disk finds, cleans and writes the disks of the machine for an installation.
//
// A disk is written in an order that lets no half-written disk boot: its old partition table is removed first, then
// everything is written and read by the disk, then the boot file system gets the Ignition config, and the new partition table
// comes last. Where only coreos-installer can do what the arguments say, it writes the disk instead.
package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/disk/bootfs"
	"github.com/oaictl/oaictl/internal/host/disk/clean"
	"github.com/oaictl/oaictl/internal/host/disk/coreos"
	"github.com/oaictl/oaictl/internal/host/disk/image"
	"github.com/oaictl/oaictl/internal/host/disk/mount"
	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Programs runs programs. A machine.Runner does.
type Programs interface {
	Run(ctx context.Context, c machine.Command) (machine.Result, error)
	Has(name string) bool
}

// Disks are the disks of the machine.
type Disks struct {
	Devices  blockdevice.Disks
	Programs Programs
	Files    hostfile.Files
	// Client downloads images.
	Client image.Doer
	Clock  clock.Clock
	Log    *slog.Logger
	// Arch is the architecture as Go names it, such as amd64.
	Arch string
	// Release is the version of OpenShift that is installed, "" if it is not known.
	Release string
	// Verify makes Write read back all that it wrote.
	Verify bool
}

// Image says what is written to a disk.
type Image struct {
	Disk blockdevice.Identity
	// Ignition is the path of the config of the first boot.
	Ignition string
	// Args are the service's arguments for coreos-installer.
	Args []string
	// Progress gets how much is written, in percent. It begins at 0 again when writing does. It returns at once. May be nil.
	Progress func(percent int)
}

const (
	tries      = 3
	pause      = time.Second
	writeLimit = 2 * time.Hour
	// clearLimit is less than the time that a container engine gives a program to end.
	clearLimit  = 4 * time.Second
	settleLimit = time.Minute
	// answerLimit is how long the disk, and the medium with the image, may take to answer after the installation was ended.
	answerLimit = 20 * time.Second
	bootVolume  = "boot"
)

// Inspect follows the links of a path, and reads which disk that is.
func (d Disks) Inspect(path string) (blockdevice.Identity, error) { return d.Devices.Inspect(path) }

// Check returns an error if the disk may not be written to, such as one that is mounted or has the live system.
func (d Disks) Check(id blockdevice.Identity) error { return d.Devices.Check(id) }

// Clean releases a disk from LVM, RAID, the device mapper and multipath, and removes their marks. What other disks lose is
// logged.
func (d Disks) Clean(ctx context.Context, id blockdevice.Identity) error {
	notes, err := d.cleaner().Clean(ctx, id)
	for _, note := range notes {
		d.Log.Warn("cleaning the disk concerns other disks", "disk", id.Path, "what", note)
	}
	return err
}

// Format zeroes the first 512 bytes of a disk.
func (d Disks) Format(ctx context.Context, id blockdevice.Identity) error {
	return d.cleaner().Format(ctx, id)
}

func (d Disks) cleaner() clean.Cleaner {
	return clean.Cleaner{Disks: d.Devices, Programs: d.Programs, Log: d.Log}
}

func (d Disks) mounter() mount.Mounter {
	return mount.Mounter{Programs: d.Programs, Files: d.Files, Clock: d.Clock, Log: d.Log}
}

// Clear zeroes the first and the last MiB of a disk, so that it does not boot, also if ctx ended. It takes four seconds at most.
// Partitions that arguments say to keep are lost, too: KeepsPartitions tells them.
func (d Disks) Clear(ctx context.Context, id blockdevice.Identity) error {
	return inTime(ctx, func(ctx context.Context) error {
		if err := d.mounter().Release(ctx, bootVolume); err != nil {
			return err
		}
		device, err := d.Devices.Open(id)
		if err != nil {
			return err
		}
		err = device.Clear()
		if err == nil {
			err = device.ReadPartitions()
		}
		return errors.Join(err, device.Close())
	})
}

// KeepsPartitions reports whether arguments for coreos-installer say to keep partitions of the disk. Then a failed Write has
// left a partition table with only these, which boots nothing, and Clear is not called.
func KeepsPartitions(args []string) bool {
	options, err := coreos.Parse(args)
	return err == nil && options.Keep
}

// inTime waits for a function, but not longer than clearLimit: a broken disk may not answer.
func inTime(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearLimit)
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- do(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	default:
		return fmt.Errorf("clear the disk: it did not answer in %s; it may still boot what it has", clearLimit)
	}
}

// Write writes the operating system to a disk, and prepares its first boot. It tries three times. A disk whose writing failed
// does not boot; partitions that arguments say to keep are kept.
func (d Disks) Write(ctx context.Context, target Image) error {
	ctx, cancel := context.WithTimeoutCause(ctx, writeLimit, fmt.Errorf("it took longer than %s", writeLimit))
	defer cancel()
	options, err := coreos.Parse(target.Args)
	if err != nil {
		return err
	}
	ignition, err := d.Files.Read(target.Ignition)
	if err != nil {
		return fmt.Errorf("read the Ignition config of the first boot: %w", err)
	}
	if !json.Valid(ignition) {
		return fmt.Errorf("the Ignition config of the first boot, %s, is not JSON", target.Ignition)
	}
	sector, err := d.Devices.SectorSize(target.Disk)
	if err != nil {
		return err
	}
	source, err := d.choose(options, sector)
	if err != nil {
		return fmt.Errorf("choose the image for %s: %w", target.Disk.Path, err)
	}
	d.warnOfOtherRelease()
	progress := &progress{to: target.Progress}
	target.Progress = progress.percent
	write := func(ctx context.Context) error { return d.run(ctx, target, options) }
	if source != nil {
		d.Log.Info("the image is written by oaictl-host", "image", source.Source.String(), "disk", target.Disk.Path)
		config := bootfs.Config{Ignition: ignition, Options: options}
		write = func(ctx context.Context) error { return d.write(ctx, target, *source, config) }
	}
	done := make(chan error, 1)
	go func() { done <- d.retry(ctx, target.Disk, write) }()
	return d.await(ctx, target.Disk, done, progress)
}

// await waits until a disk is written, and does not wait long after ctx ended: the kernel does not end a read or a write. What
// was begun then ends by itself if the disk answers after all, and clears the disk. Until then the disk is in use.
func (d Disks) await(ctx context.Context, id blockdevice.Identity, done <-chan error, progress *progress) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerLimit)
	defer cancel()
	select {
	case err := <-done:
		return err
	case <-limit.Done():
		progress.end()
		return fmt.Errorf("write to the disk %s: it was ended, and the disk or the medium with the image did not answer for %s; "+
			"look at the kernel's log for errors of both: %w", id.Path, answerLimit, context.Cause(ctx))
	}
}

// progress passes percentages on until it ends. Two outputs of a program may tell them at the same time.
type progress struct {
	mu sync.Mutex
	to func(percent int) // nil if there is none, and after the end
}

func (p *progress) percent(percent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to != nil {
		p.to(percent)
	}
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = nil
}

// retry tries to write a disk several times.
func (d Disks) retry(ctx context.Context, id blockdevice.Identity, write func(ctx context.Context) error) error {
	for try := 1; ; try++ {
		err := write(ctx)
		if err == nil {
			return nil
		}
		if try == tries || permanent(ctx, err) {
			return fmt.Errorf("write to the disk %s, try %d: %w", id.Path, try, err)
		}
		d.Log.Warn("writing to the disk failed, and is tried again", "disk", id.Path, "try", try, "error", err)
		if err := d.Clock.Sleep(ctx, pause); err != nil {
			return fmt.Errorf("write to the disk %s: %w", id.Path, err)
		}
	}
}

// write writes an image once.
func (d Disks) write(ctx context.Context, target Image, source image.Image, config bootfs.Config) error {
	if err := d.mounter().Release(ctx, bootVolume); err != nil {
		return err
	}
	d.hidePartitions(ctx, target.Disk)
	device, err := d.Devices.Open(target.Disk)
	if err != nil {
		return err
	}
	err = d.writeTo(ctx, device, target, source, config)
	if err != nil {
		err = errors.Join(err, inTime(ctx, func(context.Context) error { return device.Clear() }))
	}
	if err := errors.Join(err, device.Close()); err != nil {
		return err
	}
	return d.showPartitions(ctx, target.Disk)
}

func (d Disks) writeTo(ctx context.Context, device *blockdevice.Device, target Image, source image.Image, config bootfs.Config) error {
	if err := device.Clear(); err != nil {
		return err
	}
	d.readPartitions(device) // nothing is found in the old ones while they are overwritten
	writer := image.Writer{Progress: target.Progress, Verify: d.Verify, Log: d.Log}
	written, err := writer.Write(ctx, device, source)
	if err != nil {
		return err
	}
	part, system, err := written.Table.Labelled(written, bootfs.Label)
	if err != nil {
		return fmt.Errorf("find the boot file system of the image: %w", err)
	}
	volume := mount.Volume{Device: target.Disk.Path, Offset: part.Offset, Bytes: part.Bytes, Type: system.Type, Name: bootVolume}
	err = d.mounter().With(ctx, volume, func(root string) error { return bootfs.Apply(root, config) })
	if err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := written.Commit(); err != nil {
		return err
	}
	d.readPartitions(device)
	return nil
}

// readPartitions is no error if it fails: udev tries again when the disk is closed.
func (d Disks) readPartitions(device *blockdevice.Device) {
	if err := device.ReadPartitions(); err != nil {
		d.Log.Warn("the kernel does not know yet that the partitions changed", "error", err)
	}
}

// hidePartitions removes the devices of the partitions of a mapped disk, which keep it in use.
func (d Disks) hidePartitions(ctx context.Context, id blockdevice.Identity) {
	if !id.Mapped() {
		return
	}
	_, err := d.Programs.Run(ctx, machine.Command{Name: "kpartx", Args: []string{"-d", "-n", id.Path}, Timeout: settleLimit})
	if err != nil {
		d.Log.Warn("the devices of old partitions cannot be removed", "error", err) // Open fails if they matter
	}
}

// showPartitions makes the devices of the new partitions, which later steps mount, and waits for udev.
func (d Disks) showPartitions(ctx context.Context, id blockdevice.Identity) error {
	if id.Mapped() {
		_, err := d.Programs.Run(ctx, machine.Command{Name: "kpartx", Args: []string{"-u", "-n", id.Path}, Timeout: settleLimit})
		if err != nil {
			return fmt.Errorf("make devices of the partitions of %s: %w", id.Path, err)
		}
	}
	if d.Programs.Has("udevadm") {
		_, err := d.Programs.Run(ctx, machine.Command{Name: "udevadm", Args: []string{"settle", "--timeout=30"}, Timeout: settleLimit})
		if err != nil {
			d.Log.Warn("udev has not yet taken note of the new partitions", "error", err)
		}
	}
	return nil
}

// run makes coreos-installer write the disk once.
func (d Disks) run(ctx context.Context, target Image, options coreos.Options) error {
	if err := d.mounter().Release(ctx, bootVolume); err != nil {
		return err
	}
	if err := d.Devices.Check(target.Disk); err != nil {
		return err
	}
	d.Log.Info("the image is written by "+installer, "disk", target.Disk.Path)
	args := append([]string{"install", "--insecure", "-i", d.Files.Path(target.Ignition)}, target.Args...)
	target.Progress(0)
	log := func(line string) { d.Log.Info(installer, "output", escape.Word(line)) }
	_, err := d.Programs.Run(ctx, machine.Command{
		Name: installer, Args: append(args, target.Disk.Path), Timeout: writeLimit,
		Output: &coreos.Progress{Percent: target.Progress, Line: log}, Errors: &coreos.Progress{Percent: target.Progress, Line: log},
	})
	if err == nil {
		return nil
	}
	if options.Keep {
		return err // it has written a partition table with only the partitions to keep
	}
	return errors.Join(err, d.Clear(ctx, target.Disk))
}
