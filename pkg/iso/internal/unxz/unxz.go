// Package unxz decompresses one xz stream in memory, and never takes more of it than the stream
// says that it holds.
//
// An xz block names the dictionary that its encoder used: 64 MiB for "xz -9", up to 4 GiB in a malicious file. A
// decoder that believes it allocates as much for a few bytes of content. The index at the stream's end says how large
// every block really is, and no block can reach back further than its own start: so the dictionary is cut to that.
//
// The format is that of https://tukaani.org/xz/xz-file-format.txt. Checksums of the content are not compared: the
// caller compares a digest of the result or parses it.
package unxz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

const (
	headerSize = 12 // stream header: magic, two bytes of flags, CRC32
	footerSize = 12 // stream footer: CRC32, backward size, flags, magic
	lzma2      = 0x21
)

var (
	headerMagic = [6]byte{0xfd, '7', 'z', 'X', 'Z', 0}
	footerMagic = [2]byte{'Y', 'Z'}
)

// block is one entry of the index: where a block stands and how much it unpacks to.
type block struct {
	start, unpadded, unpacked int64
}

// Bytes returns what the single xz stream in data holds. A stream that unpacks to more than most
// bytes is an error, found before anything is unpacked.
func Bytes(data []byte, most int64) ([]byte, error) {
	blocks, err := index(data)
	if err != nil {
		return nil, err
	}
	var total int64
	for _, b := range blocks {
		if b.unpacked > most-total {
			return nil, fmt.Errorf("xz stream unpacks to more than %d bytes", most)
		}
		total += b.unpacked
	}
	// The index may lie as well: what is kept grows with what is really unpacked.
	var out bytes.Buffer
	for i, b := range blocks {
		if err := unpack(&out, data[b.start:b.start+b.unpadded], b.unpacked); err != nil {
			return nil, fmt.Errorf("xz block %d at byte %d: %w", i+1, b.start, err)
		}
	}
	return out.Bytes(), nil
}

// index reads the list of blocks from the end of the stream, and compares it with the length of data.
func index(data []byte) ([]block, error) {
	if !bytes.HasPrefix(data, headerMagic[:]) {
		return nil, errors.New("not an xz stream")
	}
	if len(data) < headerSize+footerSize {
		return nil, errors.New("xz stream is cut off in its header")
	}
	footer := data[len(data)-footerSize:]
	if [2]byte(footer[10:]) != footerMagic || crc32.ChecksumIEEE(footer[4:10]) != binary.LittleEndian.Uint32(footer) {
		return nil, errors.New("xz stream has no valid footer: it is cut off or damaged")
	}
	size := (int64(binary.LittleEndian.Uint32(footer[4:])) + 1) * 4
	end := int64(len(data)) - footerSize
	if size > end-headerSize {
		return nil, fmt.Errorf("xz index of %d bytes is larger than the stream", size)
	}
	list := data[end-size : end]
	sum := len(list) - 4
	if list[0] != 0 || crc32.ChecksumIEEE(list[:sum]) != binary.LittleEndian.Uint32(list[sum:]) {
		return nil, errors.New("xz index is damaged")
	}
	return records(list[1:sum], end-size)
}

// records reads the index's entries; the blocks must fill the stream up to end.
func records(list []byte, end int64) ([]block, error) {
	r := bytes.NewReader(list)
	count, err := binary.ReadUvarint(r)
	if err != nil || count > uint64(len(list)) {
		return nil, errors.New("xz index names an impossible number of blocks")
	}
	blocks := make([]block, 0, count)
	at := int64(headerSize)
	for range count {
		unpadded, err1 := binary.ReadUvarint(r)
		unpacked, err2 := binary.ReadUvarint(r)
		if err := errors.Join(err1, err2); err != nil {
			return nil, errors.New("xz index is cut off")
		}
		if unpadded > uint64(end-at) || unpacked > 1<<62 {
			return nil, fmt.Errorf("xz index: block at byte %d reaches beyond the stream", at)
		}
		blocks = append(blocks, block{start: at, unpadded: int64(unpadded), unpacked: int64(unpacked)})
		at += (int64(unpadded) + 3) &^ 3
	}
	if at != end {
		return nil, fmt.Errorf("xz index: blocks end at byte %d, not at %d", at, end)
	}
	return blocks, nil
}

// unpack appends the content of one block to out: exactly size bytes.
func unpack(out *bytes.Buffer, data []byte, size int64) error {
	dictionary, content, err := blockHeader(data)
	if err != nil {
		return err
	}
	config := lzma.Reader2Config{DictCap: int(max(min(dictionary, size), lzma.MinDictCap))}
	r, err := config.NewReader2(bytes.NewReader(content))
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(r, size+1))
	switch {
	case err != nil:
		return fmt.Errorf("unpacking: %w", err)
	case n != size:
		return fmt.Errorf("it does not unpack to the %d bytes that the index says", size)
	}
	return nil
}

// blockHeader returns the dictionary's size and what follows the header.
func blockHeader(data []byte) (dictionary int64, content []byte, err error) {
	if len(data) < 8 || data[0] == 0 {
		return 0, nil, errors.New("no block header")
	}
	size := (int(data[0]) + 1) * 4
	if size > len(data) || crc32.ChecksumIEEE(data[:size-4]) != binary.LittleEndian.Uint32(data[size-4:]) {
		return 0, nil, errors.New("block header is damaged")
	}
	flags := data[1]
	if flags&0x3f != 0 {
		return 0, nil, errors.New("more filters than LZMA2 are not understood")
	}
	r := bytes.NewReader(data[2 : size-4])
	for _, present := range []byte{0x40, 0x80} { // packed and unpacked size, both optional
		if flags&present != 0 {
			if _, err := binary.ReadUvarint(r); err != nil {
				return 0, nil, errors.New("block header is cut off")
			}
		}
	}
	var filter [3]byte
	if _, err := io.ReadFull(r, filter[:]); err != nil || filter[0] != lzma2 || filter[1] != 1 {
		return 0, nil, errors.New("filter is not LZMA2")
	}
	dictionary, err = lzma.DecodeDictCap(filter[2])
	if err != nil {
		return 0, nil, fmt.Errorf("dictionary size: %w", err)
	}
	return dictionary, data[size:], nil
}
