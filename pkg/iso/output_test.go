package iso_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
)

// embedded is the archive that was put into the image.
func embedded(tb testing.TB, image *overlay.Image, result iso.Result) []byte {
	tb.Helper()
	for _, e := range image.Extents() {
		if e.Kind == overlay.Memory && e.Length == result.IgnitionBytes {
			piece := make([]byte, e.Length)
			must.Get(image.ReadAt(piece, e.Offset))(tb)
			return piece
		}
	}
	tb.Fatalf("no extent of %d bytes in %v", result.IgnitionBytes, image.Extents())
	return nil
}

func TestManyMachinesAtOnce(t *testing.T) {
	base := open(t, layout(t, "x86_64-2023-07"))
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			want := fmt.Sprintf(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/n%d","mode":420}]}}`, n)
			image, _, err := base.Customize(iso.Customization{Ignition: []byte(want)})
			if err != nil {
				t.Error(err)
				return
			}
			again, err := iso.OpenReader("copy", image, image.Size())
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := again.Ignition(); err != nil || string(got) != want {
				t.Errorf("machine %d: %s, error %v", n, got, err)
			}
			check.Do(t, check.Err(base.Minimal(t.Context(), rootfsURL)))
		})
	}
	group.Wait()
}

// The same wish gives the same image, and another wish another tag.
func TestDeterministic(t *testing.T) {
	l := layout(t, "x86_64-2023-07")
	base, other := open(t, l), open(t, l)
	c := wish(l)
	a, _ := customize(t, base, c)
	b, _ := customize(t, other, c)
	if !bytes.Equal(content(t, a), content(t, b)) {
		t.Error("two bases alike give different images")
	}
	again, _ := customize(t, base, c)
	c.Ignition = bytes.Replace(c.Ignition, []byte("hello"), []byte("howdy"), 1)
	changed, _ := customize(t, base, c)
	if a.Tag(base.Identity()) != again.Tag(base.Identity()) || a.Tag(base.Identity()) == changed.Tag(base.Identity()) {
		t.Error("tags do not follow the content")
	}
}
