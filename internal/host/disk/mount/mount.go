//go:build linux

// Package mount mounts partitions in a private folder, and unmounts them in any case.
package mount

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/host/mountinfo"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Programs runs programs. A machine.Runner does.
type Programs interface {
	Run(ctx context.Context, c machine.Command) (machine.Result, error)
}

// Mounter mounts partitions.
type Mounter struct {
	Programs Programs
	Files    hostfile.Files
	Clock    clock.Clock
	Log      *slog.Logger
}

// Volume is a file system on a disk. It is found by its place on the disk, through a loop device: the kernel need not know
// the partition, and the disk may be open exclusively.
type Volume struct {
	Device        string // the path of the disk, such as /dev/sda
	Offset, Bytes int64
	Type          string // as mount(8) names it
	ReadOnly      bool
	// Name is the name of the folder below Folder.
	Name string
}

const (
	// Folder is where everything is mounted.
	Folder = "/run/oaictl-host/mount"

	mountLimit   = 60 * time.Second
	unmountLimit = 60 * time.Second
	unmountTries = 5
	unmountPause = time.Second
)

// With mounts a volume, calls use with the path of its root folder, and unmounts it. It also unmounts it if ctx ends.
func (m Mounter) With(ctx context.Context, v Volume, use func(root string) error) (err error) {
	folder := Folder + "/" + v.Name
	if err := m.Release(ctx, v.Name); err != nil {
		return err
	}
	if err := m.Files.MakeFolder(folder, 0o700); err != nil {
		return err
	}
	options := fmt.Sprintf("loop,offset=%d,sizelimit=%d,nodev,nosuid,noexec", v.Offset, v.Bytes)
	if v.ReadOnly {
		options += ",ro"
	}
	root := m.Files.Path(folder)
	_, err = m.Programs.Run(ctx, machine.Command{
		Name: "mount", Args: []string{"-t", v.Type, "-o", options, v.Device, root}, Timeout: mountLimit,
	})
	if err != nil {
		// The program may have mounted it before it was ended.
		return errors.Join(fmt.Errorf("mount the file system %s of %s: %w", v.Name, v.Device, err), m.Release(ctx, v.Name))
	}
	defer func() { err = errors.Join(err, m.unmount(ctx, root)) }()
	return use(root)
}

// Release unmounts what an earlier run left mounted, for example because it was killed.
func (m Mounter) Release(ctx context.Context, name string) error {
	root := m.Files.Path(Folder + "/" + name)
	content, err := m.Files.Read("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("find out what is mounted on %s: %w", root, err)
	}
	for _, mount := range mountinfo.Parse(string(content)) {
		if mount.Point == root {
			if err := m.unmount(ctx, root); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmount goes on although ctx ended: what stays mounted keeps the disk in use.
func (m Mounter) unmount(ctx context.Context, root string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unmountLimit)
	defer cancel()
	for try := 1; ; try++ {
		_, err := m.Programs.Run(ctx, machine.Command{Name: "umount", Args: []string{root}})
		if err == nil {
			return nil
		}
		if try == unmountTries {
			return fmt.Errorf("unmount %s in %d tries: %w; look at `findmnt %s` and stop what uses it", root, try, err, root)
		}
		m.Log.Warn("cannot unmount a file system, and try again", "folder", root, "error", err)
		if err := m.Clock.Sleep(ctx, unmountPause); err != nil {
			return fmt.Errorf("unmount %s: %w", root, err)
		}
	}
}
