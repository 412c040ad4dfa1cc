package iso9660

import (
	"encoding/binary"
	"fmt"
)

const (
	flagDirectory   = 0x02
	flagMultiExtent = 0x80

	recordHeader = 33 // bytes before the identifier
	recordPlace  = 2  // where a record says sector and size, 16 bytes
)

// record is one directory record (ECMA-119 9.1).
type record struct {
	at     int64 // of the record itself in the image
	sector int64
	size   int64
	flags  byte
	id     []byte
	system []byte // the system use field: Rock Ridge
}

func (r record) offset() int64 { return r.sector * SectorSize }

// bare is the record without the bytes of its directory, which it would keep in memory.
func (r record) bare() record {
	r.id, r.system = nil, nil
	return r
}

// parseRecord reads the record that fills b, which lies at an offset of the image.
func parseRecord(b []byte, at int64) (record, error) {
	r := record{at: at}
	idLen := int(b[32])
	if recordHeader+idLen > len(b) {
		return r, fmt.Errorf("its name of %d bytes does not fit into its %d", idLen, len(b))
	}
	if b[1] != 0 {
		return r, fmt.Errorf("it has an extended attribute record, which is not supported")
	}
	if b[26] != 0 || b[27] != 0 {
		return r, fmt.Errorf("its file is interleaved, which is not supported")
	}
	var err error
	if r.sector, err = both32(b[recordPlace:], "its sector"); err != nil {
		return r, err
	}
	if r.size, err = both32(b[recordPlace+8:], "its size"); err != nil {
		return r, err
	}
	r.flags = b[25]
	r.id = b[recordHeader : recordHeader+idLen]
	system := recordHeader + idLen
	system += system % 2 // names are padded to whole words
	if system < len(b) {
		r.system = b[system:]
	}
	return r, nil
}

// place is what a record says of where its file lies: sector and size in both byte orders, at recordPlace of it.
func place(offset, size int64) []byte {
	b := make([]byte, 16)
	putBoth32(b, uint32(offset/SectorSize))
	putBoth32(b[8:], uint32(size))
	return b
}

// records calls fn for every record of a directory's bytes, which lie at an offset of the image.
func records(dir []byte, at int64, fn func(record) error) error {
	for pos := 0; pos < len(dir); {
		n := int(dir[pos])
		if n == 0 { // no record crosses a sector: the rest of this one is unused
			pos = (pos/SectorSize + 1) * SectorSize
			continue
		}
		here := at + int64(pos)
		if n <= recordHeader || pos+n > len(dir) || pos/SectorSize != (pos+n-1)/SectorSize {
			return fmt.Errorf("the record at %d has an impossible length of %d bytes", here, n)
		}
		r, err := parseRecord(dir[pos:pos+n], here)
		if err != nil {
			return fmt.Errorf("the record at %d: %w", here, err)
		}
		if err := fn(r); err != nil {
			return fmt.Errorf("the record at %d: %w", here, err)
		}
		pos += n
	}
	return nil
}

// little32 reads a number of which only the little-endian spelling is looked at.
func little32(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) }
