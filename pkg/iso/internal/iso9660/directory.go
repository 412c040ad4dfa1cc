package iso9660

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// maxDirectory bounds the bytes of one directory: room for more than 30 000 files.
const maxDirectory = 4 << 20

type tree struct {
	root  record
	names func(*Volume, record) (string, error)
}

type entry struct {
	name    string
	plain   string // what the record itself calls it, in lower case
	dir     bool
	offset  int64
	size    int64
	records []record // one, or one for each extent of a file of 4 GiB or more
}

// list reads the entries of a directory, without the two that stand for itself and its parent.
func (v *Volume) list(t tree, dir record, path string) ([]entry, error) {
	if dir.size > maxDirectory {
		return nil, fmt.Errorf("directory /%s at sector %d has %d bytes, more than the %d that are read", path, dir.sector, dir.size,
			maxDirectory)
	}
	b, err := v.read(dir.offset(), dir.size, "directory /"+path)
	if err != nil {
		return nil, err
	}
	var entries []entry
	open := false // the last entry has an extent yet to come
	err = records(b, dir.offset(), func(r record) error {
		if len(r.id) == 1 && r.id[0] <= 1 {
			return nil
		}
		further := open
		open = r.flags&flagMultiExtent != 0
		if further {
			return v.extend(&entries[len(entries)-1], r)
		}
		e, err := v.entryOf(t, r)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("directory /%s at sector %d: %w", path, dir.sector, err)
	}
	if open {
		return nil, fmt.Errorf("directory /%s at sector %d: the last extent of %s is missing", path, dir.sector, entries[len(entries)-1].name)
	}
	return entries, nil
}

func (v *Volume) entryOf(t tree, r record) (entry, error) {
	name, err := t.names(v, r)
	if err != nil {
		return entry{}, err
	}
	if err := checkName(name); err != nil {
		return entry{}, err
	}
	plain, _ := plainName(v, r)
	e := entry{name: name, plain: plain, dir: r.flags&flagDirectory != 0, offset: r.offset(), size: r.size, records: []record{r}}
	if e.size == 0 {
		return e, nil // an empty file lies nowhere
	}
	return e, v.holds(e.offset, e.size, name)
}

// extend adds a further extent to a file, which has to follow those before.
func (v *Volume) extend(e *entry, r record) error {
	if string(r.id) != string(e.records[0].id) {
		return fmt.Errorf("it follows an extent of %s, which is not the last, and has another name", e.name)
	}
	if r.offset() != e.offset+e.size {
		return fmt.Errorf("the extents of %s do not follow each other: one starts at sector %d, want %d", e.name, r.sector,
			(e.offset+e.size)/SectorSize)
	}
	e.size += r.size
	e.records = append(e.records, r)
	return v.holds(e.offset, e.size, e.name)
}

const (
	flagDirectory   = 0x02
	flagMultiExtent = 0x80

	recordHeader   = 33 // bytes before the identifier
	recordPosition = 2  // where a record says sector and size, 16 bytes
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
	if r.sector, err = both32(b[recordPosition:], "its sector"); err != nil {
		return r, err
	}
	if r.size, err = both32(b[recordPosition+8:], "its size"); err != nil {
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

// position is what a record says of where its file lies: sector and size in both byte orders, at recordPosition of it.
func position(offset, size int64) []byte {
	b := make([]byte, 16)
	putBoth32(b, uint32(offset/SectorSize))
	putBoth32(b[8:], uint32(size))
	return b
}

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

// little32 reads the little-endian form of a number that is there in both byte orders.
func little32(b []byte) int64 { return int64(binary.LittleEndian.Uint32(b)) }

// A tree names its entries in its own way.

// plainName is the name that a primary record has by itself, shown as a mount does: in lower case, without version.
func plainName(_ *Volume, r record) (string, error) {
	return strings.ToLower(withoutVersion(string(r.id))), nil
}

// withoutVersion drops ";1" and the dot of a name without extension.
func withoutVersion(s string) string {
	if i := strings.LastIndexByte(s, ';'); i > 0 {
		s = s[:i]
	}
	if len(s) > 1 {
		s = strings.TrimSuffix(s, ".")
	}
	return s
}

// rockRidgeName returns a namer for images whose entries start skip bytes into the system use field.
func rockRidgeName(skip int) func(*Volume, record) (string, error) {
	return func(v *Volume, r record) (string, error) {
		if skip > len(r.system) {
			return plainName(v, r)
		}
		name := ""
		err := v.systemUse(r.system[skip:], func(kind string, data []byte) error {
			if kind == "NM" && len(data) > 0 {
				name += string(data[1:]) // the first byte says whether another part follows, which is seen anyway
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		if name == "" {
			return plainName(v, r)
		}
		return name, nil
	}
}

// checkName refuses names that would mean something else as part of a path.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("it is called %q, which no file can be", name)
	}
	return nil
}

// sameAsPlain reports whether a plain name, in lower case, is what a builder makes of the real one: itself, or 8.3
// characters of it with all but letters and digits replaced.
func sameAsPlain(plain, name string) bool {
	name = strings.ToLower(name)
	if plain == name {
		return true
	}
	base, ext, dotted := strings.Cut(name, ".")
	short := cut(base, 8)
	if dotted {
		short += "." + cut(ext, 3)
	}
	return plain == short
}

func cut(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, s)
	return s[:min(most, len(s))]
}

// maxContinuations bounds how often the entries of one record may go on elsewhere. Real ones do once.
const maxContinuations = 8

// readRockRidge looks into the root directory's own record: its SP entry says that the system use fields hold entries
// (SUSP 5.3), and how many bytes precede them. It is Rock Ridge if they name things.
func (v *Volume) readRockRidge() error {
	self, err := v.firstRecord(v.primary.root)
	if err != nil {
		return fmt.Errorf("root directory at sector %d: %w", v.primary.root.sector, err)
	}
	if v.Joliet {
		if _, err := v.firstRecord(v.joliet.root); err != nil {
			return fmt.Errorf("root directory of Joliet at sector %d: %w", v.joliet.root.sector, err)
		}
	}
	s := self.system
	if len(s) >= 7 && string(s[:6]) == "SP\x07\x01\xbe\xef" {
		v.RockRidge = true
		v.primary.names = rockRidgeName(int(s[6]))
	}
	return nil
}

// firstRecord reads the record of a directory that describes the directory itself.
func (v *Volume) firstRecord(dir record) (record, error) {
	b, err := v.read(dir.offset(), SectorSize, "a directory's first sector")
	if err != nil {
		return record{}, err
	}
	n := int(b[0])
	if n <= recordHeader {
		return record{}, fmt.Errorf("its first record has an impossible length of %d bytes", n)
	}
	r, err := parseRecord(b[:n], dir.offset())
	if err != nil {
		return record{}, fmt.Errorf("its first record: %w", err)
	}
	if r.sector != dir.sector {
		return record{}, fmt.Errorf("its first record says that it lies at sector %d", r.sector)
	}
	return r, nil
}

// systemUse calls fn for every entry of a system use field and of the areas where it goes on (CE).
func (v *Volume) systemUse(field []byte, fn func(kind string, data []byte) error) error {
	for range maxContinuations {
		var next []byte
		for len(field) >= 4 {
			n := int(field[2])
			if n < 4 || n > len(field) {
				break // not an entry: padding, or something that is not Rock Ridge
			}
			kind, data := string(field[:2]), field[4:n]
			field = field[n:]
			switch kind {
			case "ST":
				field = nil
			case "CE":
				if len(data) < 24 {
					return fmt.Errorf("its CE entry has %d bytes, want 24", len(data))
				}
				var err error
				if next, err = v.continuation(data); err != nil {
					return err
				}
			default:
				if err := fn(kind, data); err != nil {
					return err
				}
			}
		}
		if next == nil {
			return nil
		}
		field = next
	}
	return fmt.Errorf("its Rock Ridge entries go on in more than %d places", maxContinuations)
}

func (v *Volume) continuation(ce []byte) ([]byte, error) {
	sector, start, n := little32(ce), little32(ce[8:]), little32(ce[16:])
	if start+n > SectorSize {
		return nil, fmt.Errorf("its Rock Ridge entries go on at byte %d of a sector for %d bytes, beyond its end", start, n)
	}
	return v.read(sector*SectorSize+start, n, "a Rock Ridge continuation")
}
