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

// sharedFile is one entry of the table; the places are sectors.
type sharedFile struct {
	minimal, full uint32
	length        int64
}

// buildMinimal makes the minimal ISO of a layout: no root filesystem, no miniso.dat, no payload.
func buildMinimal(l Layout) (*image, error) { return build(l, minimalContents(l)) }

func minimalContents(l Layout) []file {
	return slices.DeleteFunc(contents(l), func(f file) bool {
		return f.path == rootfsPath || f.path == minisoPath || f.data == nil
	})
}

// fillMiniISO writes miniso.dat into the slot that it has.
func (im *image) fillMiniISO() error {
	minimal, err := buildMinimal(im.layout)
	if err != nil {
		return err
	}
	mini := minimal.Bytes()
	shared := sharedFiles(im, minimal)
	packed, err := xzipped(withoutShared(mini, shared))
	if err != nil {
		return err
	}
	b := append([]byte("MINISO\x00\x00"), 1)
	const version = "0.24.0"
	b = append(appendVarint(b, len(version)), version...)
	b = appendVarint(b, len(shared))
	for _, s := range shared {
		b = appendVarint(b, int(s.minimal))
		b = appendVarint(b, int(s.full))
		b = appendVarint(b, int(s.length))
	}
	digest := sha256.Sum256(mini)
	b = append(b, digest[:]...)
	b = append(appendVarint(b, len(packed)), packed...)

	if len(b) > miniSlotSize {
		return fmt.Errorf("the %d bytes of miniso.dat do not fit into its %d", len(b), miniSlotSize)
	}
	im.Put(im.Place(minisoPath), b)
	return nil
}

// sharedFiles lists the files whose content both images have, by their place in the minimal one. Boot files that hold
// places of their image differ between the two.
func sharedFiles(full, minimal *image) []sharedFile {
	var shared []sharedFile
	for _, f := range minimalContents(full.layout) {
		if len(f.data) > 0 && bytes.Equal(full.content(f), minimal.content(f)) {
			shared = append(shared, sharedFile{minimal.sector(f.path), full.sector(f.path), int64(len(f.data))})
		}
	}
	slices.SortFunc(shared, func(a, b sharedFile) int { return cmp.Compare(a.minimal, b.minimal) })
	return shared
}

func withoutShared(image []byte, shared []sharedFile) []byte {
	var rest []byte
	at := int64(0)
	for _, s := range shared {
		start := int64(s.minimal) * sectorSize
		rest = append(rest, image[at:start]...)
		at = start + s.length
	}
	return append(rest, image[at:]...)
}

// appendVarint appends an integer as bincode's variable encoding has it.
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
