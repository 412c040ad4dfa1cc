//go:build linux

package diskspeed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
)

const (
	// looked is how many bytes at the start of a disk have to be zero. It is more than is written.
	looked = 24 << 20
	// ends is how many bytes at the end of a disk have to be zero, and how many at the start are searched for signatures.
	ends = 1 << 20
)

// lookBefore returns a *notMeasured if a disk holds something. It opens the disk for reading.
func (c Checker) lookBefore(ctx context.Context, id blockdevice.Identity) error {
	file, err := os.Open(id.Path)
	if err != nil {
		return fmt.Errorf("look at the disk: %w", err)
	}
	defer file.Close()
	return c.lookAt(ctx, id, file)
}

// lookAt returns a *notMeasured if a disk holds something.
func (c Checker) lookAt(ctx context.Context, id blockdevice.Identity, content io.ReaderAt) error {
	if id.Size < looked+ends {
		return &notMeasured{fmt.Sprintf("it has %d bytes, and %d are needed", id.Size, looked+ends)}
	}
	if !id.File {
		if err := c.lookAtKernel(id.Number); err != nil {
			return err
		}
	}
	return lookAtContent(ctx, content, id.Size)
}

// lookAtKernel returns a *notMeasured if the kernel has partitions or holders (LVM, md, multipath) of a disk.
func (c Checker) lookAtKernel(number string) error {
	folder := filepath.Join("/", c.Disks.Root, "sys/dev/block", number)
	holders, err := os.ReadDir(filepath.Join(folder, "holders"))
	if err != nil {
		return fmt.Errorf("find out who uses the disk: %w", err)
	}
	if len(holders) > 0 {
		return &notMeasured{"it is part of the device " + holders[0].Name()}
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return fmt.Errorf("find the partitions of the disk: %w", err)
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return fmt.Errorf("find the partitions of the disk: %w", err)
	}
	for _, entry := range entries {
		if _, err := os.Stat(filepath.Join(real, entry.Name(), "partition")); err == nil {
			return &notMeasured{"it has the partition " + entry.Name()}
		}
	}
	return nil
}

// lookAtContent returns a *notMeasured if a byte at the start or the end of a disk is not zero.
func lookAtContent(ctx context.Context, content io.ReaderAt, size int64) error {
	var first, last []byte
	zeros := make([]byte, ends)
	used := int64(-1)
	starts := []int64{size - ends}
	for at := int64(0); at < looked; at += ends {
		starts = append(starts, at)
	}
	for _, at := range starts {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("look at the disk: %w", err)
		}
		chunk := make([]byte, ends)
		if _, err := content.ReadAt(chunk, at); err != nil {
			return fmt.Errorf("look at the disk: read %d bytes at byte %d: %w", ends, at, err)
		}
		switch at {
		case 0:
			first = chunk
		case size - ends:
			last = chunk
		}
		if used < 0 && !bytes.Equal(chunk, zeros) {
			used = at + int64(bytes.IndexFunc(chunk, func(r rune) bool { return r != 0 }))
		}
	}
	if used < 0 {
		return nil
	}
	if found := signatures(first, last, size); len(found) > 0 {
		return &notMeasured{"it holds " + strings.Join(found, ", ")}
	}
	return &notMeasured{fmt.Sprintf("its byte %d is not zero, so it holds data", used)}
}
