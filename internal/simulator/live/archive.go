package live

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// mostUnpacked bounds what an archive may unpack to.
const mostUnpacked = 256 << 20

// unpack reads initrd archives that stand one behind another, with zeros between
// them, as the kernel does: of files of one name the last one counts.
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

// decompress is the first archive of an area and what stands behind it; nil for
// one that is not compressed.
func decompress(area []byte) (archive, rest []byte, err error) {
	source := bytes.NewReader(area)
	var plain io.Reader
	switch {
	case bytes.HasPrefix(area, []byte("0707")):
		return nil, nil, nil
	case bytes.HasPrefix(area, []byte{0x1f, 0x8b}):
		zip, err := gzip.NewReader(source)
		if err != nil {
			return nil, nil, fmt.Errorf("open the gzip archive: %w", err)
		}
		zip.Multistream(false)
		plain = zip
	case bytes.HasPrefix(area, []byte("\xfd7zXZ\x00")):
		if plain, err = (xz.ReaderConfig{SingleStream: true}).NewReader(source); err != nil {
			return nil, nil, fmt.Errorf("open the xz archive: %w", err)
		}
	case bytes.HasPrefix(area, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// The decoder reads frames to the end, so the padding has to go first.
		source = bytes.NewReader(bytes.TrimRight(area, "\x00"))
		z, err := zstd.NewReader(source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostUnpacked))
		if err != nil {
			return nil, nil, fmt.Errorf("open the zstd archive: %w", err)
		}
		defer z.Close()
		plain = z
	default:
		return nil, nil, fmt.Errorf("bytes that begin with % x are no archive", area[:min(len(area), 6)])
	}
	archive, err = io.ReadAll(io.LimitReader(plain, mostUnpacked+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("unpack the archive: %w", err)
	case len(archive) > mostUnpacked:
		return nil, nil, fmt.Errorf("the archive unpacks to more than %d bytes", mostUnpacked)
	}
	return archive, area[len(area)-source.Len():], nil
}

// all reads every archive that a compressed one holds.
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
