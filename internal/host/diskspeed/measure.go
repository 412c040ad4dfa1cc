//go:build linux

package diskspeed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// written is how many bytes each writer writes, from the start of the disk on.
	written = 22 << 20
	// block is the size of a write: that of an entry in the log of etcd.
	block = 2300
	// writers write the same bytes at the same time.
	writers = 2
	// enough is how many writes a writer needs for a result if the time is over before all are done.
	enough = 100
)

// disk is a disk that is open for reading and writing.
type disk interface {
	io.ReaderAt
	io.WriterAt
	Fd() uintptr
}

// measure writes to a disk that is empty, and empties it again, also if ctx ends. The result is the duration within which
// 99 of 100 writes of the slower writer were durable.
func (c Checker) measure(ctx context.Context, d disk) (duration time.Duration, err error) {
	size := c.size
	if size == 0 {
		size = written
	}
	defer func() {
		if clearing := empty(d, size); clearing != nil {
			err = errors.Join(err, fmt.Errorf("write zeros over what was written to the first %d bytes; write them before the disk is used: %w",
				size, clearing))
		}
	}()
	content := pattern()
	results := make([][]time.Duration, writers)
	errs := make([]error, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() { results[i], errs[i] = c.write(ctx, d, content, size) })
	}
	group.Wait()
	return slowest(results, errs)
}

// slowest is the duration of the slower writer. A writer that failed is left out if the other one did not: the failure may
// pass.
func slowest(results [][]time.Duration, errs []error) (time.Duration, error) {
	var worst time.Duration
	measured := false
	for i, durations := range results {
		if errs[i] != nil {
			continue
		}
		measured = true
		worst = max(worst, percentile(durations))
	}
	if !measured {
		return 0, errors.Join(errs...)
	}
	return worst, nil
}

// write writes one block after the other. The result is how long each took to be durable.
func (c Checker) write(ctx context.Context, d disk, content []byte, size int64) ([]time.Duration, error) {
	durations := make([]time.Duration, 0, size/block)
	for at := int64(0); at+block <= size; at += block {
		if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) && len(durations) >= enough {
			return durations, nil
		} else if err != nil {
			return nil, fmt.Errorf("%d of %d writes were done in time: %w", len(durations), size/block, err)
		}
		if _, err := d.WriteAt(content, at); err != nil {
			return nil, fmt.Errorf("write at byte %d: %w", at, err)
		}
		start := c.Clock.Now()
		if err := unix.Fdatasync(int(d.Fd())); err != nil {
			return nil, fmt.Errorf("make the write at byte %d durable: %w", at, err)
		}
		durations = append(durations, c.Clock.Now().Sub(start))
	}
	return durations, nil
}

// percentile is the duration that 99 of 100 durations do not exceed.
func percentile(durations []time.Duration) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	const percent, whole = 99, 100
	rank := (len(sorted)*percent + whole - 1) / whole
	return sorted[rank-1]
}

// pattern is a block that does not compress and looks like no file system. It is always the same.
func pattern() []byte {
	content := make([]byte, block)
	source := rand.NewChaCha8([32]byte{})
	for i := range content {
		content[i] = byte(source.Uint64())
	}
	return content
}

// empty writes zeros to the start of a disk.
func empty(d disk, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := d.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return unix.Fdatasync(int(d.Fd()))
}
