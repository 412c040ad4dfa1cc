package embed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Decoders of xz and zstd do not say where a stream ended when other things follow
// it. These functions find the end by the sizes that stand in front of every piece,
// and decode nothing.

// pieces reads single fields of a stream at a moving offset, and remembers the
// first failure.
type pieces struct {
	r    io.ReaderAt
	at   int64
	size int64
	err  error
}

// take reads the next n bytes, at most 32; on failure they are zeros.
func (p *pieces) take(n int64) []byte {
	var b [32]byte
	if p.err == nil && n > p.size-p.at {
		p.err = fmt.Errorf("it breaks off: %w", io.ErrUnexpectedEOF)
	}
	if p.err != nil {
		return b[:n]
	}
	if _, err := p.r.ReadAt(b[:n], p.at); err != nil && !errors.Is(err, io.EOF) {
		p.err = err
	}
	p.at += n
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

// xzEnd finds the end of the xz stream that begins at start (the .xz file format,
// version 1.2.1: stream header, blocks, index, footer).
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

// xzBlock goes over one block, of whose header one byte is read.
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

// xzTail goes over the index, of which the first byte is read, and the footer.
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
	p.skip(4)
	descriptor := p.take(1)[0]
	single := descriptor&0x20 != 0
	if !single {
		p.skip(1) // window descriptor
	}
	p.skip([]int64{0, 1, 2, 4}[descriptor&0x03]) // dictionary id
	contentSize := []int64{0, 2, 4, 8}[descriptor>>6]
	if contentSize == 0 && single {
		contentSize = 1
	}
	p.skip(contentSize)
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
	if descriptor&0x04 != 0 {
		p.skip(4) // checksum of the content
	}
	return p.at, p.err
}
