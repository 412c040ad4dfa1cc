package isotest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ulikunitz/xz"
)

// miniso.dat is how coreos-installer derives the minimal ISO from the full one: a table of the files that both have, and
// every other byte of the minimal one, packed. Its encoding is bincode's with variable integers.

// SharedFile is one entry of the table: where a file begins in both images, in sectors, and its length in bytes.
type SharedFile struct {
	Minimal, Full uint32
	Length        int64
}

func buildMinimal(l Layout) (*image, error) { return build(l, minimalContents(l)) }

func minimalContents(l Layout) []file {
	return slices.DeleteFunc(contents(l), func(f file) bool {
		return f.path == rootfsPath || f.path == minisoPath || f.data == nil
	})
}

func (im *image) fillMiniISO() error {
	minimal, err := buildMinimal(im.layout)
	if err != nil {
		return err
	}
	b, err := PackMiniISO(minimal.Bytes(), "0.24.0", sharedFiles(im, minimal))
	if err != nil {
		return err
	}
	if len(b) > miniSlotSize {
		return fmt.Errorf("the %d bytes of miniso.dat do not fit into its %d", len(b), miniSlotSize)
	}
	im.Put(im.Place(minisoPath), b)
	return nil
}

// PackMiniISO is the content of a miniso.dat that leads to a minimal image, as this version of coreos-installer packs
// it. The files are those that the full image has too, in the order of the minimal one.
func PackMiniISO(minimal []byte, version string, shared []SharedFile) ([]byte, error) {
	packed, err := xzipped(withoutShared(minimal, shared))
	if err != nil {
		return nil, err
	}
	b := append([]byte("MINISO\x00\x00"), 1)
	b = append(appendVarint(b, len(version)), version...)
	b = appendVarint(b, len(shared))
	for _, s := range shared {
		b = appendVarint(b, int(s.Minimal))
		b = appendVarint(b, int(s.Full))
		b = appendVarint(b, int(s.Length))
	}
	digest := sha256.Sum256(minimal)
	b = append(b, digest[:]...)
	return append(appendVarint(b, len(packed)), packed...), nil
}

// sharedFiles lists the files whose content both images have, by their place in the minimal one. Boot files that hold
// places of their image differ between the two.
func sharedFiles(full, minimal *image) []SharedFile {
	var shared []SharedFile
	for _, f := range minimalContents(full.layout) {
		if len(f.data) > 0 && bytes.Equal(full.content(f), minimal.content(f)) {
			shared = append(shared, SharedFile{minimal.sector(f.path), full.sector(f.path), int64(len(f.data))})
		}
	}
	slices.SortFunc(shared, func(a, b SharedFile) int { return cmp.Compare(a.Minimal, b.Minimal) })
	return shared
}

func withoutShared(image []byte, shared []SharedFile) []byte {
	var rest []byte
	at := int64(0)
	for _, s := range shared {
		start := int64(s.Minimal) * sectorSize
		rest = append(rest, image[at:start]...)
		at = start + s.Length
	}
	return append(rest, image[at:]...)
}

func appendVarint(b []byte, n int) []byte {
	switch {
	case n < 251:
		return append(b, byte(n))
	case n < 1<<16:
		return binary.LittleEndian.AppendUint16(append(b, 0xfb), uint16(n))
	}
	return binary.LittleEndian.AppendUint32(append(b, 0xfc), uint32(n))
}

func xzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 1 << 20}.NewWriter(&b)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
