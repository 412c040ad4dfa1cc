package live

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// mostUnpacked bounds what an archive may unpack to.
const mostUnpacked = 64 << 20

// unpack reads initrd archives one behind another, as the kernel does: the last file of a name counts.
func unpack(area []byte) (map[string][]byte, error) {
	files := map[string][]byte{}
	for {
		area = bytes.TrimLeft(area, "\x00")
		if len(area) == 0 {
			return files, nil
		}
		archive, rest, err := decompress(area)
		if err != nil {
			return nil, err
		}
		if archive == nil { // it stands there uncompressed
			if rest, err = members(area, files); err != nil {
				return nil, err
			}
		} else if err := all(archive, files); err != nil {
			return nil, err
		}
		area = rest
	}
}

// decompress is the first archive of an area (nil if not compressed) and what stands behind it.
func decompress(area []byte) (archive, rest []byte, err error) {
	switch {
	case bytes.HasPrefix(area, []byte("0707")):
		return nil, nil, nil
	case bytes.HasPrefix(area, []byte{0x1f, 0x8b}):
		return ungzip(area)
	case bytes.HasPrefix(area, []byte("\xfd7zXZ\x00")):
		return unxz(area)
	case bytes.HasPrefix(area, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return unzstd(area)
	}
	return nil, nil, fmt.Errorf("bytes that begin with % x are no archive", area[:min(len(area), 6)])
}

func ungzip(area []byte) (archive, rest []byte, err error) {
	source := bytes.NewReader(area)
	zip, err := gzip.NewReader(source)
	if err != nil {
		return nil, nil, fmt.Errorf("open the gzip archive: %w", err)
	}
	zip.Multistream(false)
	archive, err = bounded(zip)
	return archive, area[len(area)-source.Len():], err
}

func unxz(area []byte) (archive, rest []byte, err error) {
	end := streamEnd(area)
	if size := dictionary(area[:end]); size > mostUnpacked {
		return nil, nil, fmt.Errorf("the xz archive asks for a dictionary of %d bytes", size)
	}
	// It takes what follows for damage, so it gets no more than is its own.
	plain, err := (xz.ReaderConfig{SingleStream: true}).NewReader(bytes.NewReader(area[:end]))
	if err != nil {
		return nil, nil, fmt.Errorf("open the xz archive: %w", err)
	}
	archive, err = bounded(plain)
	return archive, area[end:], err
}

// dictionary is how much memory the first block of an xz stream asks for (xz file
// format, 3.1 and 5.3.1): a header of 12 bytes, then the block's with two numbers
// that may be left out, and the filter LZMA2 with one byte. Zero if it says nothing.
func dictionary(stream []byte) int64 {
	const filterLZMA2, oneByte = 0x21, 1
	header := stream[min(len(stream), 12):]
	if len(header) < 2 || header[0] == 0 {
		return 0
	}
	header = header[:min(len(header), 4*(int(header[0])+1))]
	_, filters, found := bytes.Cut(header[2:], []byte{filterLZMA2, oneByte})
	if !found || len(filters) == 0 || filters[0] > 40 {
		return 0
	}
	bits := filters[0]
	return int64(2|bits&1) << (bits/2 + 11)
}

// unzstd takes what follows the archive for padding: the decoder does not say where it has stopped.
func unzstd(area []byte) (archive, rest []byte, err error) {
	plain, err := zstd.NewReader(bytes.NewReader(area), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostUnpacked))
	if err != nil {
		return nil, nil, fmt.Errorf("open the zstd archive: %w", err)
	}
	defer plain.Close()
	archive, err = bounded(plain)
	if errors.Is(err, zstd.ErrMagicMismatch) && len(archive) > 0 {
		err = nil
	}
	return archive, nil, err
}

func bounded(plain io.Reader) ([]byte, error) {
	archive, err := io.ReadAll(io.LimitReader(plain, mostUnpacked+1))
	if err != nil {
		return archive, fmt.Errorf("unpack the archive: %w", err)
	}
	if len(archive) > mostUnpacked {
		return nil, fmt.Errorf("the archive unpacks to more than %d bytes", mostUnpacked)
	}
	return archive, nil
}

// streamEnd is behind the first footer of an xz stream (xz file format, 2.1.2), else all of it.
func streamEnd(area []byte) int {
	for end := 12; end <= len(area); end += 4 {
		footer := area[end-12 : end]
		if string(footer[10:]) == "YZ" && binary.LittleEndian.Uint32(footer) == crc32.ChecksumIEEE(footer[4:10]) {
			return end
		}
	}
	return len(area)
}

func all(archive []byte, files map[string][]byte) (err error) {
	for archive = bytes.TrimLeft(archive, "\x00"); len(archive) > 0; archive = bytes.TrimLeft(archive, "\x00") {
		if archive, err = members(archive, files); err != nil {
			return err
		}
	}
	return nil
}

const (
	headerSize = 110
	trailer    = "TRAILER!!!"
)

var errCut = errors.New("the archive is cut short")

// members reads one newc archive up to its trailer and returns what follows.
func members(archive []byte, files map[string][]byte) ([]byte, error) {
	whole := archive
	for {
		if len(archive) < headerSize {
			return nil, errCut
		}
		if magic := string(archive[:6]); magic != "070701" && magic != "070702" {
			return nil, fmt.Errorf("the member at %d begins with %q", len(whole)-len(archive), magic)
		}
		size, err := field(archive, 6)
		if err != nil {
			return nil, err
		}
		nameSize, err := field(archive, 11)
		if err != nil {
			return nil, err
		}
		data := aligned(headerSize + nameSize)
		if nameSize == 0 || data+size > len(archive) {
			return nil, errCut
		}
		name := strings.TrimRight(string(archive[headerSize:headerSize+nameSize]), "\x00")
		content := archive[data : data+size]
		archive = archive[min(len(archive), aligned(data+size)):]
		if name == trailer {
			return archive, nil
		}
		files[strings.TrimPrefix(strings.TrimPrefix(name, "."), "/")] = content
	}
}

// field is the n-th of a header's numbers, each of eight hexadecimal digits.
func field(header []byte, n int) (int, error) {
	text := string(header[6+8*n : 14+8*n])
	value, err := strconv.ParseUint(text, 16, 31)
	if err != nil {
		return 0, fmt.Errorf("read the number %q of a member: %w", text, err)
	}
	return int(value), nil
}

func aligned(n int) int { return (n + 3) &^ 3 }
