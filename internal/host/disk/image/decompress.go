//go:build linux

package image

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// Format is how an image is compressed.
type Format string

// Formats of images.
const (
	Raw  Format = "raw"
	Gzip Format = "gz"
	XZ   Format = "xz"
	Zstd Format = "zst"
)

// mostWindow is how much of what is unpacked a decompressor may keep in memory. The strongest preset of xz takes 64 MiB, and
// zstd with --long 128 MiB.
const mostWindow = 256 << 20

// formatOf tells the format by the first bytes. Names and content types are often wrong.
func formatOf(head []byte) Format {
	for format, magic := range map[Format]string{Gzip: "\x1f\x8b", XZ: "\xfd7zXZ\x00", Zstd: "\x28\xb5\x2f\xfd"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return format
		}
	}
	return Raw
}

// decompress unpacks a stream. The caller calls the second result at the end.
func decompress(r io.Reader) (io.Reader, func(), Format, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	head, err := buffered.Peek(64)
	if len(head) == 0 {
		return nil, nil, "", fmt.Errorf("read the beginning of the image: %w", err)
	}
	format := formatOf(head)
	unpacked, end, err := unpack(format, head, buffered)
	if err != nil {
		return nil, nil, "", fmt.Errorf("unpack the image, which is in the format %s: %w", format, err)
	}
	return unpacked, end, format, nil
}

func unpack(format Format, head []byte, r io.Reader) (io.Reader, func(), error) {
	nothing := func() {}
	switch format {
	case Gzip:
		unpacked, err := gzip.NewReader(r)
		return unpacked, nothing, err
	case XZ:
		if err := checkDictionary(head); err != nil {
			return nil, nil, err
		}
		unpacked, err := xz.NewReader(r)
		return unpacked, nothing, err
	case Zstd:
		unpacked, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(mostWindow))
		if err != nil {
			return nil, nil, err
		}
		return unpacked, unpacked.Close, nil
	case Raw:
	}
	return r, nothing, nil
}

// checkDictionary reads the size of the dictionary from the header of the first block. The decoder allocates as much.
func checkDictionary(head []byte) error {
	const streamHeader, flags = 12, 2
	if len(head) < streamHeader+flags || head[streamHeader] == 0 {
		return nil // no block: the decoder says what is wrong
	}
	header := head[streamHeader:]
	r := bytes.NewReader(header[flags:min(len(header), (int(header[0])+1)*4)])
	for _, present := range []byte{0x40, 0x80} { // the packed and the unpacked size are optional
		if header[1]&present != 0 {
			if _, err := binary.ReadUvarint(r); err != nil {
				return nil //nolint:nilerr // the decoder says what is wrong
			}
		}
	}
	var filter [3]byte // its number, the size of its properties, the dictionary
	if _, err := io.ReadFull(r, filter[:]); err != nil || filter[0] != 0x21 {
		return nil //nolint:nilerr // the decoder says what is wrong
	}
	size, err := lzma.DecodeDictCap(filter[2])
	if err != nil {
		return fmt.Errorf("the size of its dictionary: %w", err)
	}
	if size > mostWindow {
		return fmt.Errorf("it needs a dictionary of %d bytes, and %d are allowed", size, mostWindow)
	}
	return nil
}
