package embedarea

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/oaictl/oaictl/pkg/iso/internal/cpio"
)

// maxWindow bounds the window of a zstd frame and the dictionary of an xz block, in
// bytes: the kernel's own limit for zstd, and twice what xz -9 uses.
const maxWindow = 128 << 20

// maxSegments bounds how often compression may begin anew: a decoder costs much
// more than the few bytes that ask for one. Initrds have a handful.
const maxSegments = 256

// magics are the first bytes by which the kernel recognises compressions (lib/decompress.c), and the archives that need
// none; read is nil where they are not read here.
var magics = []struct {
	bytes, name string
	read        func(w *walk, at int64) (end int64, err error)
}{
	{"0707", None, (*walk).plain},
	{"\x1f\x8b", Gzip, (*walk).gzip},
	{"\x1f\x9e", Gzip, (*walk).gzip},
	{"\xfd7zXZ\x00", XZ, (*walk).xz},
	{"\x28\xb5\x2f\xfd", Zstd, (*walk).zstd},
	{"BZh", "bzip2", nil},
	{"\x5d\x00\x00", "lzma", nil},
	{"\x89LZO", "lzo", nil},
	{"\x02\x21\x4c\x18", "lz4", nil},
}

// ErrTooMuch says that more would be unpacked than was asked for.
var ErrTooMuch = errors.New("it unpacks to more than is taken")

// Visit is called for every member; the member's content can be read until it returns.
type Visit func(h cpio.Header, content io.Reader) error

// Walk reads all archives within the first size bytes of r, each with a
// compression of its own, and no more than most unpacked bytes of all together.
// It returns the compressions that it met, in order, each once. Memory does not
// grow with the content. Errors of visit are returned as they are.
func Walk(r io.ReaderAt, size, most int64, visit Visit) (compressions []string, err error) {
	w := walk{r: r, size: size, left: most, visit: visit}
	for at, begun := int64(0), 0; ; begun++ {
		at, err = w.skipZeros(at)
		if err != nil || at == size {
			return w.seen, err
		}
		if begun == maxSegments {
			return w.seen, fmt.Errorf("%w: more than %d streams, the next at byte %d", ErrTooMuch, maxSegments, at)
		}
		if at, err = w.segment(at); err != nil {
			return w.seen, err
		}
	}
}

type walk struct {
	r        io.ReaderAt
	size     int64
	left     int64 // unpacked bytes that may still come
	visit    Visit
	seen     []string
	archives int
	failed   error // of visit
}

func (w *walk) segment(at int64) (end int64, err error) {
	var head [6]byte
	n, err := w.r.ReadAt(head[:min(int64(len(head)), w.size-at)], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read at byte %d: %w", at, err)
	}
	for _, m := range magics {
		if !strings.HasPrefix(string(head[:n]), m.bytes) {
			continue
		}
		if m.read == nil {
			return 0, fmt.Errorf("at byte %d: archives compressed with %s are not read", at, m.name)
		}
		end, err := m.read(w, at)
		if w.failed != nil {
			return 0, w.failed
		}
		if err != nil {
			return 0, fmt.Errorf("the %s archive at byte %d: %w", m.name, at, err)
		}
		if !slices.Contains(w.seen, m.name) {
			w.seen = append(w.seen, m.name)
		}
		return end, nil
	}
	return 0, fmt.Errorf("at byte %d is no archive, and nothing that holds one", at)
}

// plain reads archives that are not compressed; the kernel wants them aligned.
func (w *walk) plain(at int64) (end int64, err error) {
	if at%4 != 0 {
		return 0, fmt.Errorf("%w: an archive that is not compressed must begin at a multiple of 4", cpio.ErrFormat)
	}
	r, err := w.members(bufio.NewReader(io.NewSectionReader(w.r, at, w.size-at)))
	if err != nil {
		return 0, err
	}
	if rest, found := r.Rest(); found {
		return at + rest, nil
	}
	return w.size, nil
}

func (w *walk) gzip(at int64) (end int64, err error) {
	section := io.NewSectionReader(w.r, at, w.size-at)
	buffered := bufio.NewReader(section)
	z, err := gzip.NewReader(buffered)
	if err != nil {
		return 0, err
	}
	z.Multistream(false)
	if err := w.whole(z); err != nil {
		return 0, err
	}
	taken, err := section.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	return at + taken - int64(buffered.Buffered()), nil
}

func (w *walk) xz(at int64) (end int64, err error) {
	if end, err = xzEnd(w.r, at, w.size); err != nil {
		return 0, err
	}
	z, err := xz.NewReader(bufio.NewReader(io.NewSectionReader(w.r, at, end-at)))
	if err != nil {
		return 0, err
	}
	return end, w.whole(z)
}

func (w *walk) zstd(at int64) (end int64, err error) {
	if end, err = zstdEnd(w.r, at, w.size); err != nil {
		return 0, err
	}
	z, err := zstd.NewReader(io.NewSectionReader(w.r, at, end-at),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return 0, err
	}
	defer z.Close()
	return end, w.whole(z)
}

// whole reads a stream that holds only archives to its end, which checks its checksum.
func (w *walk) whole(stream io.Reader) error {
	r, err := w.members(bufio.NewReader(stream))
	if err != nil {
		return err
	}
	if at, found := r.Rest(); found {
		return fmt.Errorf("%w: something else at its unpacked byte %d", cpio.ErrFormat, at)
	}
	return nil
}

func (w *walk) members(stream io.Reader) (*cpio.Reader, error) {
	r := cpio.NewReader(&meter{in: stream, left: &w.left})
	before := w.archives
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) && !errors.Is(err, cpio.ErrFormat) {
			w.archives = before + r.Archives()
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		h.Archive += before
		if w.failed = w.visit(h, r); w.failed != nil {
			return nil, w.failed
		}
	}
}

func (w *walk) skipZeros(at int64) (int64, error) {
	var block [32 << 10]byte
	for at < w.size {
		b := block[:min(int64(len(block)), w.size-at)]
		n, err := w.r.ReadAt(b, at)
		for i, c := range b[:n] {
			if c != 0 {
				return at + int64(i), nil
			}
		}
		at += int64(n)
		if err != nil && n < len(b) {
			return 0, fmt.Errorf("read at byte %d: %w", at, err)
		}
	}
	return w.size, nil
}

// meter is an error where more is read than is left.
type meter struct {
	in   io.Reader
	left *int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.in.Read(p)
	*m.left -= int64(n)
	if *m.left < 0 {
		return 0, ErrTooMuch
	}
	return n, err
}

// Decoders of xz and zstd do not say where a stream ended when other things follow
// it. These functions find the end by the sizes that stand in front of every piece,
// and decode nothing.

// pieces reads fields of a stream one by one, and remembers the first failure.
type pieces struct {
	r    io.ReaderAt
	at   int64
	size int64
	err  error
}

// take reads the next n bytes, at most 32; on failure they are zeros.
func (p *pieces) take(n int64) []byte {
	var b [32]byte
	from := p.at
	if p.skip(n); p.err != nil {
		return b[:n]
	}
	if _, err := p.r.ReadAt(b[:n], from); err != nil && !errors.Is(err, io.EOF) {
		p.err = err
	}
	return b[:n]
}

func (p *pieces) skip(n int64) {
	if p.err == nil && n > p.size-p.at {
		p.err = fmt.Errorf("it breaks off: %w", io.ErrUnexpectedEOF)
	}
	if p.err == nil {
		p.at += n
	}
}

func (p *pieces) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("byte %d: "+format, append([]any{p.at}, args...)...)
	}
}

// variable reads a number of the xz format: seven bits a byte, least first.
func (p *pieces) variable() uint64 {
	var n uint64
	for shift := 0; shift < 63; shift += 7 {
		b := p.take(1)[0]
		n |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return n
		}
	}
	p.fail("a number of more than nine bytes")
	return 0
}

// xzEnd finds the end of an xz stream (the .xz file format, version 1.2.1: stream
// header, blocks, index, footer).
func xzEnd(r io.ReaderAt, start, size int64) (int64, error) {
	p := &pieces{r: r, at: start, size: size}
	header := p.take(12)
	checkSizes := []int64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
	check := checkSizes[header[7]&0x0f]
	for p.err == nil {
		units := p.take(1)[0]
		if units == 0 {
			return xzTail(p, start)
		}
		xzBlock(p, (int64(units)+1)*4, check)
	}
	return 0, p.err
}

// xzBlock skips one block, after the first byte of its header was read.
func xzBlock(p *pieces, headerLength, check int64) {
	end := p.at - 1 + headerLength
	flags := p.take(1)[0]
	for _, present := range []byte{0x40, 0x80} { // compressed and uncompressed size
		if flags&present != 0 {
			p.variable()
		}
	}
	if flags&0x03 != 0 || p.variable() != 0x21 || p.variable() != 1 {
		p.fail("a filter that is not LZMA2 alone")
		return
	}
	if d := p.take(1)[0]; d > 40 || (2|uint64(d)&1)<<(d/2+11) > maxWindow {
		p.fail("a dictionary larger than %d bytes", maxWindow)
		return
	}
	if p.at > end {
		p.fail("a block header that is too short")
		return
	}
	p.skip(end - p.at)
	lzmaChunks(p)
	p.skip((4-(p.at-end)%4)%4 + check)
}

func lzmaChunks(p *pieces) {
	for p.err == nil {
		control := p.take(1)[0]
		switch {
		case control == 0:
			return
		case control >= 0x80:
			sizes := p.take(4)
			properties := int64(0)
			if control >= 0xc0 {
				properties = 1
			}
			p.skip(int64(binary.BigEndian.Uint16(sizes[2:])) + 1 + properties)
		case control <= 2:
			p.skip(int64(binary.BigEndian.Uint16(p.take(2))) + 1)
		default:
			p.fail("no LZMA2 chunk")
		}
	}
}

// xzTail skips the index, after its first byte was read, and the footer.
func xzTail(p *pieces, start int64) (int64, error) {
	for left := p.variable(); left > 0 && p.err == nil; left-- {
		p.variable()
		p.variable()
	}
	p.skip((4 - (p.at-start)%4) % 4)
	p.skip(4 + 12) // the index's CRC32, the footer
	return p.at, p.err
}

// zstdEnd finds the end of the zstd frame that begins at start (RFC 8878, 3.1.1).
func zstdEnd(r io.ReaderAt, start, size int64) (int64, error) {
	p := &pieces{r: r, at: start, size: size}
	var frame zstd.Header
	if err := frame.Decode(p.take(min(zstd.HeaderMaxSize, size-start))); err != nil {
		return 0, fmt.Errorf("it breaks off in its header: %w", err)
	}
	p.at = start + int64(frame.HeaderSize)
	for last := false; !last && p.err == nil; {
		b := p.take(3)
		header := int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16
		last = header&1 != 0
		if length := header >> 3; header>>1&3 == 1 {
			p.skip(1) // one byte that is repeated
		} else {
			p.skip(length)
		}
	}
	if frame.HasCheckSum {
		p.skip(4)
	}
	return p.at, p.err
}
