package iso9660

import (
	"io"
	"os"
	"testing"

	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

// headOnly is an image of which only the start is kept; the rest reads as zeros. It keeps the fuzzer on structures.
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

// FuzzRead holds what every image must keep to, whatever its bytes: no panic, nothing outside of the image, patches
// within the new one.
func FuzzRead(f *testing.F) {
	const head = 56 * SectorSize // descriptors and directories lie before
	for _, name := range []string{"x86_64-2023-07", "x86_64-joliet-only", "aarch64-2023-07", "s390x-2023-07", "x86_64-sparse"} {
		path := isotest.Make(f, layout(f, name))
		_, file := open(f, path)
		st, err := os.Stat(path)
		if err != nil {
			f.Fatal(err)
		}
		b := make([]byte, head)
		if _, err := file.ReadAt(b, 0); err != nil {
			f.Fatal(err)
		}
		f.Add(b, st.Size())
	}
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, head []byte, size int64) {
		if size < 0 || size > 1<<43 {
			return
		}
		v, err := Read(headOnly{head, size}, size)
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
	})
}
