//go:build linux

// Package image writes images of disks. The partition table is written last: a disk that is only partly written cannot boot.
package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"

	"github.com/oaictl/oaictl/internal/host/blockdevice"
	"github.com/oaictl/oaictl/internal/host/disk/layout"
)

// Target is a disk that an image is written to. A blockdevice.Device is one, and its documentation says what the methods do.
type Target interface {
	io.ReaderAt
	io.WriterAt
	Size() int64
	SectorSize() int64
	SetDirect(on bool) error
	Zero(offset, size int64) error
	Clear() error
	Sync() error
}

// Writer writes images.
type Writer struct {
	// Progress is called when the percentage changed, in order, and never twice at the same time. May be nil.
	Progress func(percent int)
	// Verify reads all back from the disk, and compares it.
	Verify bool
	Log    *slog.Logger
}

const (
	blockSize   = 4 << 20
	blocksAhead = 3
	inputSize   = 1 << 20
	inputsAhead = 4
	// headSize is what is written at the end: the partition table and the boot loader of BIOS.
	headSize = 1 << 20
	// syncEvery is how much may wait in the kernel's cache. A cancelled installation waits for it.
	syncEvery = 64 << 20
	// mostZeros is how much is zeroed with one call, for the same reason.
	mostZeros = 64 << 20
)

// Written is an image that is on the disk but for its partition table. Either Commit or Abort is called.
type Written struct {
	Table  layout.Table
	Format Format
	Bytes  int64 // the size of the unpacked image

	target     Target
	head, tail []byte
	tailAt     int64
}

// Write writes all of an image but its partition table, and waits until the disk has it. If it fails, the disk has no
// partition table. The image's digests are compared if they are known.
func (w Writer) Write(ctx context.Context, target Target, img Image) (*Written, error) {
	written, err := w.write(ctx, target, img)
	if err != nil {
		return nil, fmt.Errorf("write the image %s: %w", img.Source, errors.Join(err, target.SetDirect(false)))
	}
	return written, nil
}

func (w Writer) write(ctx context.Context, target Target, img Image) (*Written, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// What was on the disk before must not boot with half of it overwritten.
	if err := target.Clear(); err != nil {
		return nil, err
	}
	stream, size, err := img.Source.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	packed := &counted{Reader: stream, size: size, progress: w.Progress}
	if img.SHA256 != "" {
		packed.digest = sha256.New()
	}
	packed.report(0)
	input := readAhead(packed, buffers(inputsAhead, inputSize)...)
	defer input.close()
	unpacked, end, format, err := decompress(input)
	if err != nil {
		return nil, err
	}
	defer end()
	content := &digested{Reader: unpacked}
	if img.ContentSHA256 != "" || w.Verify {
		content.digest = sha256.New()
	}
	blocks := readAhead(content, buffers(blocksAhead, blockSize)...)
	defer blocks.close()
	defer cancel() // before the others: a download may be what they wait for
	written := &Written{Format: format, target: target}
	if err := written.body(ctx, w.Log, blocks); err != nil {
		return nil, err
	}
	// The digest is of all that is stored, also of what a decompressor does not read.
	if _, err := io.Copy(io.Discard, input); err != nil {
		return nil, err
	}
	err = errors.Join(compare("image", packed.digest, img.SHA256), compare("unpacked image", content.digest, img.ContentSHA256))
	if err != nil {
		return nil, err
	}
	if w.Verify {
		if err := written.verify(ctx, content.digest.Sum(nil)); err != nil {
			return nil, err
		}
	}
	packed.finish()
	return written, nil
}

func buffers(count, size int) [][]byte {
	list := make([][]byte, count)
	for i := range list {
		list[i] = blockdevice.AlignedBuffer(size)
	}
	return list
}

// compare returns an error if a digest differs from the one that is known.
func compare(what string, digest hash.Hash, want string) error {
	if want == "" {
		return nil
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != want {
		return fmt.Errorf("the SHA-256 digest of the %s is %s instead of %s: it is damaged, or another image", what, got, want)
	}
	return nil
}

// counted counts what is read of a stream.
type counted struct {
	io.Reader
	size     int64
	digest   hash.Hash // nil if it is not wanted
	progress func(int)
	read     int64
	reported int // the percentage that was reported, plus one
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.digest != nil {
		c.digest.Write(p[:n])
	}
	c.read += int64(n)
	if c.size > 0 {
		const whole = 100
		c.report(min(int(whole*c.read/c.size), whole-1)) // all is read before all is written
	}
	return n, err
}

func (c *counted) report(percent int) {
	if c.progress != nil && c.reported != percent+1 {
		c.reported = percent + 1
		c.progress(percent)
	}
}

func (c *counted) finish() { c.report(100) }

// digested makes a digest of a stream, if it is wanted.
type digested struct {
	io.Reader
	digest hash.Hash
}

func (d *digested) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if d.digest != nil {
		d.digest.Write(p[:n])
	}
	return n, err
}

// body writes all blocks but the first MiB and what follows the last partition.
func (w *Written) body(ctx context.Context, log *slog.Logger, blocks *ahead) error {
	first, err := blocks.next(ctx)
	if err != nil {
		return ended(err, 0)
	}
	if err := w.begin(first); err != nil {
		return err
	}
	out := &output{Written: w, direct: true}
	if err := w.target.SetDirect(true); err != nil {
		log.Info("the disk is written through the kernel's cache", "reason", err)
		out.direct = false
	}
	for block := first; ; {
		if err := out.block(block); err != nil {
			return err
		}
		blocks.done(block)
		if block, err = blocks.next(ctx); errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return ended(err, out.at)
		}
	}
	w.Bytes = out.at
	if w.Bytes < w.Table.Size {
		return fmt.Errorf("the image has %d bytes, but its partition table needs %d: it was cut off", w.Bytes, w.Table.Size)
	}
	if err := out.flush(); err != nil {
		return err
	}
	return errors.Join(w.target.SetDirect(false), w.target.Sync())
}

// ended says where the image could not be read further.
func ended(err error, at int64) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the image ends after %d bytes", at)
	}
	return fmt.Errorf("read the image after %d unpacked bytes: %w", at, err)
}

// TooSmall is the error of a disk that has not enough room for an image.
type TooSmall struct{ Disk, Image int64 }

func (t *TooSmall) Error() string {
	return fmt.Sprintf("the disk has %d bytes, and the image needs %d: choose a larger disk", t.Disk, t.Image)
}

// begin keeps the first MiB, and checks with its partition table that the image fits the disk.
func (w *Written) begin(first []byte) error {
	if len(first) < headSize {
		return fmt.Errorf("the image has only %d bytes: it is not an image of a disk", len(first))
	}
	w.head = bytes.Clone(first[:headSize])
	table, err := layout.Read(bytes.NewReader(w.head), 0)
	if err != nil {
		return fmt.Errorf("the image is not one of a disk: %w", err)
	}
	if table.Size > w.target.Size() {
		return &TooSmall{Disk: w.target.Size(), Image: table.Size}
	}
	if table.Sector != w.target.SectorSize() {
		return fmt.Errorf("the image is for disks with sectors of %d bytes, and this disk has sectors of %d: choose the other image",
			table.Sector, w.target.SectorSize())
	}
	w.Table = table
	// If disk and image have the same size, the second partition table is where firmware looks for it.
	w.tailAt = max(w.target.Size()-headSize, headSize)
	for _, part := range table.Partitions {
		if part.Offset+part.Bytes > table.Size {
			return fmt.Errorf("the image is damaged: its partition %d is beyond the end of its disk", part.Number)
		}
		w.tailAt = max(w.tailAt, part.Offset+part.Bytes)
	}
	return nil
}

// output writes blocks in order, and joins blocks of zeros.
type output struct {
	*Written
	direct bool
	at     int64 // how much of the image came
	zeros  int64 // how many bytes before at are zeros that are not yet on the disk
	dirty  int64 // how much may wait in the kernel's cache
}

// block takes the next block of the image.
func (o *output) block(block []byte) error {
	start, end := o.at, o.at+int64(len(block))
	if end > o.target.Size() {
		return &TooSmall{Disk: o.target.Size(), Image: end}
	}
	o.at = end
	if start < headSize {
		block, start = block[headSize-start:], headSize
	}
	if end > o.tailAt {
		keep := max(o.tailAt-start, 0)
		o.tail = append(o.tail, block[keep:]...)
		block, end = block[:keep], start+keep
	}
	if len(block) == 0 {
		return nil
	}
	if isZero(block) && int64(len(block))%o.target.SectorSize() == 0 {
		if o.zeros += int64(len(block)); o.zeros >= mostZeros {
			return o.flushBefore(end)
		}
		return nil
	}
	if err := o.flushBefore(start); err != nil {
		return err
	}
	return o.write(block, start)
}

// isZero compares each byte with the one before it.
func isZero(block []byte) bool { return block[0] == 0 && bytes.Equal(block[1:], block[:len(block)-1]) }

// flushBefore writes the zeros that end at an offset.
func (o *output) flushBefore(end int64) error {
	if o.zeros == 0 {
		return nil
	}
	err := o.target.Zero(end-o.zeros, o.zeros)
	o.zeros = 0
	return err
}

// flush writes the zeros at the end of the image.
func (o *output) flush() error { return o.flushBefore(min(o.at, o.tailAt)) }

func (o *output) write(block []byte, at int64) error {
	if o.direct && (int64(len(block))%o.target.SectorSize() != 0 || at%o.target.SectorSize() != 0) {
		o.direct = false // only the end of an image has no whole sectors
		if err := o.target.SetDirect(false); err != nil {
			return err
		}
	}
	if _, err := o.target.WriteAt(block, at); err != nil {
		return fmt.Errorf("write %d bytes at %d: %w", len(block), at, err)
	}
	if o.direct {
		return nil
	}
	if o.dirty += int64(len(block)); o.dirty >= syncEvery {
		o.dirty = 0
		return o.target.Sync()
	}
	return nil
}

// ReadAt implements io.ReaderAt: it reads the image from the disk, as it will be after Commit.
func (w *Written) ReadAt(p []byte, offset int64) (int, error) {
	n, err := w.target.ReadAt(p, offset)
	overlay(p[:n], offset, w.head, 0)
	overlay(p[:n], offset, w.tail, w.tailAt)
	return n, err
}

// overlay copies what of kept, which belongs at keptAt, lies in p, which was read at an offset.
func overlay(p []byte, offset int64, kept []byte, keptAt int64) {
	if from := keptAt - offset; from >= 0 {
		if from < int64(len(p)) {
			copy(p[from:], kept)
		}
	} else if -from < int64(len(kept)) {
		copy(p, kept[-from:])
	}
}

// verify reads the image back from the disk, and not from the kernel's cache where the disk can do so.
func (w *Written) verify(ctx context.Context, want []byte) error {
	direct := w.target.SetDirect(true)
	digest := sha256.New()
	buffer := blockdevice.AlignedBuffer(blockSize)
	for at := int64(0); at < w.Bytes; at += blockSize {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		part := buffer[:min(blockSize, w.Bytes-at)]
		if int64(len(part))%w.target.SectorSize() != 0 && direct == nil {
			direct = w.target.SetDirect(false)
		}
		if _, err := w.ReadAt(part, at); err != nil {
			return fmt.Errorf("read back %d bytes at %d: %w", len(part), at, err)
		}
		digest.Write(part)
	}
	if err := w.target.SetDirect(false); err != nil {
		return err
	}
	if got := digest.Sum(nil); !bytes.Equal(got, want) {
		return fmt.Errorf("what was read back from the disk differs from the image, SHA-256 %x instead of %x: the disk may be damaged", got, want)
	}
	return nil
}

// Commit writes the partition table, which makes the disk bootable. All else must be on the disk.
func (w *Written) Commit() error {
	start := 2 * w.Table.Sector // the sectors that say where all partitions are
	steps := []func() error{
		w.target.Sync,
		func() error { return w.writeAt(w.head[start:], start) },
		func() error { return w.writeAt(w.tail, w.tailAt) },
		w.target.Sync,
		func() error { return w.writeAt(w.head[:start], 0) },
		w.target.Sync,
		w.check,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("write the partition table: %w", err)
		}
	}
	return nil
}

func (w *Written) writeAt(content []byte, at int64) error {
	if len(content) == 0 {
		return nil
	}
	_, err := w.target.WriteAt(content, at)
	return err
}

// check reads the first MiB back.
func (w *Written) check() error {
	got := make([]byte, len(w.head))
	if _, err := w.target.ReadAt(got, 0); err != nil {
		return fmt.Errorf("read it back: %w", err)
	}
	if !bytes.Equal(got, w.head) {
		return errors.New("what was read back differs: the disk may be damaged")
	}
	return nil
}

// Abort leaves a disk without a partition table.
func (w *Written) Abort() error { return w.target.Clear() }
