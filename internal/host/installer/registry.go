//go:build linux

package installer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/oaictl/oaictl/internal/host/machine"
)

const (
	// registryOnMedium is there if the medium is an appliance's, and registryData is its content, mounted.
	registryOnMedium = "/run/media/iso/registry"
	registryData     = "/mnt/agentdata"
	registryRoot     = "/mnt/root"
	// registryTarget is where the node's registry reads, below the new root file system.
	registryTarget = "ostree/deploy/rhcos/var/lib/iri-registry"
)

// copyRegistry copies the registry of the medium to the written disk.
func (r *run) copyRegistry(ctx context.Context) error {
	size, err := sizeOf(r.Files.Path(registryData))
	if err != nil {
		return fmt.Errorf("find out how large the registry is: %w", err)
	}
	disk, root, err := r.rootPartition(ctx)
	if err != nil {
		return err
	}
	// Images are also unpacked there: the partition gets room for two and a half times the registry.
	room := size * 5 / 2
	free := disk.freePercent(max(0, room-root.Size))
	if free < 1 {
		return fmt.Errorf("the disk %s has not %d bytes for the registry, which has %d; install to a larger disk", r.disk.Path, room, size)
	}
	if root.Size < room {
		if err := r.growpart(ctx, root, free); err != nil {
			return fmt.Errorf("make room for the registry on %s: %w", root.Path, err)
		}
	}
	return r.mounted(ctx, root.Path, registryRoot, r.copyInto)
}

func (r *run) copyInto(ctx context.Context) error {
	target := path.Join(registryRoot, registryTarget)
	if err := r.programs(ctx, command{"xfs_growfs", registryRoot}); err != nil {
		return err
	}
	if err := r.Files.MakeFolder(target, folderMode); err != nil {
		return err
	}
	progress := r.newReporter(ctx)
	defer progress.end()
	_, err := r.Runner.Run(ctx, machine.Command{
		Name: "rsync", Args: []string{"-ah", "--info=progress2", registryData + "/", target + "/"},
		Output: &rsyncProgress{reporter: progress},
	})
	if err != nil {
		return fmt.Errorf("copy the registry to the disk: %w", err)
	}
	return nil
}

// sizeOf is the number of bytes in the files of a folder.
func sizeOf(folder string) (int64, error) {
	var size int64
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
