package iso9660

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

// headOnly is an image with only its start; the rest reads as zeros.
type headOnly struct {
	head []byte
	size int64
}

func (h headOnly) ReadAt(p []byte, off int64) (int, error) {
	if off >= h.size {
		return 0, io.EOF
	}
	clear(p)
	if off < int64(len(h.head)) {
		copy(p, h.head[off:])
	}
	if left := h.size - off; int64(len(p)) > left {
		return int(left), io.EOF
	}
	return len(p), nil
}

// FuzzRead edits sound images and checks what holds for every image, with any bytes: no panic, nothing outside of the
// image, patches within the new one. An edit is four bytes: a place, 24 bits of it, and what to store there.
func FuzzRead(f *testing.F) {
	const head = 56 * SectorSize // descriptors and directories lie before
	var images []headOnly
	for _, name := range []string{"x86_64-2023-07", "x86_64-joliet-only", "aarch64-2023-07", "s390x-2023-07", "x86_64-sparse"} {
		path := isotest.Make(f, layout(f, name))
		_, file := open(f, path)
		st := must.Get(os.Stat(path))(f)
		b := make([]byte, head)
		must.Get(file.ReadAt(b, 0))(f)
		f.Add(byte(len(images)), []byte{}, st.Size())
		images = append(images, headOnly{b, st.Size()})
	}
	f.Add(byte(0), []byte{0, 0x80, 80, 0xff, 0, 0x80, 156, 0}, int64(1<<20))
	f.Add(byte(3), []byte{}, int64(0))
	f.Fuzz(func(t *testing.T, which byte, edits []byte, size int64) {
		if size < 0 || size > 1<<43 {
			return
		}
		b := bytes.Clone(images[int(which)%len(images)].head)
		for ; len(edits) >= 4; edits = edits[4:] {
			b[(binary.BigEndian.Uint32(edits)>>8)%head] = edits[3]
		}
		checkAnyImage(t, headOnly{b, size}, size)
	})
}

// checkAnyImage uses an image in every way.
func checkAnyImage(t *testing.T, r io.ReaderAt, size int64) {
	v, err := Read(r, size)
	if err != nil {
		return
	}
	_ = v.Walk(func(found File) error {
		if found.Size > 0 && (found.Offset < 0 || found.Offset+found.Size > size) {
			t.Errorf("%s lies at %d with %d bytes in an image of %d", found.Path, found.Offset, found.Size, size)
		}
		return nil
	})
	found, err := v.Find(ignition)
	if err != nil {
		return
	}
	_, _ = v.ReadFile(ignition, 1<<20)
	offset, volume := v.RoomFor(100)
	patches, err := v.Relocate(found, offset, 100, volume)
	if err != nil {
		return
	}
	for _, p := range patches {
		if p.Offset < 0 || p.Offset+int64(len(p.Data)) > volume {
			t.Errorf("a patch of %d bytes at %d in an image of %d", len(p.Data), p.Offset, volume)
		}
	}
}
