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
