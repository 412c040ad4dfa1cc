package iso9660

import (
	"fmt"
	"strings"
)

// A tree names its entries in its own way.

// plainName is the name that a primary record has by itself: upper case in most images; shown in lower case, as a
// mount does, without version.
func plainName(_ *Volume, r record) (string, error) {
	return strings.ToLower(withoutVersion(string(r.id))), nil
}

func jolietName(_ *Volume, r record) (string, error) {
	return withoutVersion(ucs2(r.id)), nil
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

// sameAsPlain tells whether a plain name, in lower case, is what a builder makes of the real one: itself, or 8.3
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

// firstRecord reads the record of a directory that stands for itself.
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
