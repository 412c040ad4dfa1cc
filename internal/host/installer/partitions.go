//go:build linux

package installer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/oaictl/oaictl/internal/host/machine"
)

// Partition labels of a CoreOS disk.
const (
	labelBoot = "boot"
	labelRoot = "root"
)

// partition is a partition of the written disk, as lsblk has it.
type partition struct {
	Path  string `json:"path"` // such as /dev/sda4, or /dev/mapper/mpatha4
	Label string `json:"partlabel"`
	Size  int64  `json:"size"`
}

// layout is the written disk with its partitions.
type layout struct {
	Size       int64       `json:"size"`
	Partitions []partition `json:"children"`
}

// readLayout reads the partitions of the written disk.
func (r *run) readLayout(ctx context.Context) (layout, error) {
	output, err := r.program(ctx, "lsblk", "--bytes", "--json", "--output", "PATH,SIZE,PARTLABEL", r.disk.Path)
	if err != nil {
		return layout{}, fmt.Errorf("list the partitions of %s: %w", r.disk.Path, err)
	}
	return parseLayout([]byte(output))
}

// rootPartition is the written disk with the partition of its root file system.
func (r *run) rootPartition(ctx context.Context) (layout, partition, error) {
	disk, err := r.readLayout(ctx)
	if err != nil {
		return layout{}, partition{}, err
	}
	root, err := disk.find(labelRoot)
	return disk, root, err
}

func parseLayout(output []byte) (layout, error) {
	var parsed struct {
		Disks []layout `json:"blockdevices"`
	}
	if err := json.Unmarshal(output, &parsed); err != nil {
		return layout{}, fmt.Errorf("read what lsblk prints: %w", err)
	}
	if len(parsed.Disks) != 1 {
		return layout{}, fmt.Errorf("lsblk shows %d disks, not the one that was asked for", len(parsed.Disks))
	}
	return parsed.Disks[0], nil
}

// find finds the partition of a label. A disk on which partitions were saved has others before it.
func (l layout) find(label string) (partition, error) {
	for _, p := range l.Partitions {
		if p.Label == label && deviceName(p.Path) {
			return p, nil
		}
	}
	return partition{}, fmt.Errorf("the disk has no partition with the label %q", label)
}

// number is the partition's number, which ends its name.
func (p partition) number() string {
	name := path.Base(p.Path)
	at := len(name)
	for at > 0 && name[at-1] >= '0' && name[at-1] <= '9' {
		at--
	}
	return name[at:]
}

// freePercent is how much of the disk stays free when more bytes are added to its partitions; 0 if they do not fit.
func (l layout) freePercent(more int64) int64 {
	free := l.Size - more
	for _, p := range l.Partitions {
		if p.Size < 0 || free <= 0 {
			return 0
		}
		free -= p.Size
	}
	if l.Size <= 0 || free <= 0 {
		return 0
	}
	return int64(float64(free) / float64(l.Size) * wholePercent)
}

// growpart makes a partition larger, so that so much of the disk stays free. It is no error if it has that size.
func (r *run) growpart(ctx context.Context, p partition, free int64) error {
	args := []string{r.disk.Path, p.number()}
	if free > 0 {
		args = append([]string{fmt.Sprintf("--free-percent=%d", free)}, args...)
	}
	_, err := r.program(ctx, "growpart", args...)
	// growpart ends with 1 and says NOCHANGE: a try before this one has done it.
	if failed, is := errors.AsType[*machine.Failed](err); is && failed.Err == nil && failed.Result.Code == 1 &&
		isUnchanged(failed.Result.Stdout) {
		return nil
	}
	return err
}

func isUnchanged(output []byte) bool { return len(output) > 8 && string(output[:8]) == "NOCHANGE" }

// unmountLimit is how long unmounting may take when the installer ends.
const unmountLimit = 500 * time.Millisecond

// mounted mounts a partition, does something, and unmounts it in any case.
func (r *run) mounted(ctx context.Context, device, at string, do func(context.Context) error) error {
	if err := r.Files.MakeFolder(at, folderMode); err != nil {
		return err
	}
	if _, err := r.program(ctx, "mount", device, at); err != nil {
		return fmt.Errorf("mount %s: %w", device, err)
	}
	err := do(ctx)
	ending := ctx
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ending, cancel = context.WithTimeout(context.WithoutCancel(ctx), unmountLimit)
		defer cancel()
	}
	if _, unmount := r.program(ending, "umount", at); unmount != nil {
		err = errors.Join(err, fmt.Errorf("unmount %s: %w", device, unmount))
	}
	return err
}
