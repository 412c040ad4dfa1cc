package extent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// Tag is a strong entity tag (RFC 9110, 8.8.3), quotes included, for the
// image's content. It is made of the name that base gives to the content of
// the image's first source, where the extents lie in it, and the bytes in
// memory; the source is not read. Two images of one base have the same tag
// exactly if they were patched alike. Further files are told apart by name, size
// and time of change; further sources of other kinds are read.
func (m *Image) Tag(base string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "extent 1\n%d %s\n", len(base), base)
	for _, p := range m.pieces {
		fmt.Fprintf(sum, "%s %d %d\n", p.kind, p.n, p.srcOff)
		switch {
		case p.kind == Memory:
			sum.Write(p.mem)
		case p.kind == Base && p.src != m.base:
			m.tagFurther(sum, p)
		}
	}
	return `"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`
}

// tagFurther adds what identifies the bytes of a source that base does not name.
func (m *Image) tagFurther(sum hash.Hash, p piece) {
	if id, ok := p.src.identity(); ok {
		fmt.Fprintf(sum, "file %s\n", id)
		return
	}
	if _, err := m.WriteRange(sum, p.off, p.n); err != nil {
		fmt.Fprintf(sum, "unreadable: %v\n", err)
	}
}
