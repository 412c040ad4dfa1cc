package iso_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/extent"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

const config = `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/motd","mode":420,"contents":{"source":"data:,hello"}}]}}`

const keyfile = `[connection]
id=eth0
uuid=6c0ad5b1-9c68-5f30-9d6f-4b4b0fa0b1cf
type=ethernet

[ethernet]
mac-address=52:54:00:00:00:01

[ipv4]
method=auto
`

func layout(tb testing.TB, name string) isotest.Layout {
	tb.Helper()
	l, ok := isotest.ByName(name)
	if !ok {
		tb.Fatalf("no layout %q", name)
	}
	return l
}

func open(tb testing.TB, l isotest.Layout) *iso.Base {
	tb.Helper()
	base, err := iso.Open(isotest.Make(tb, l))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := base.Close(); err != nil {
			tb.Error(err)
		}
	})
	return base
}

// reopen reads an image as a base of its own, as whoever gets it would.
func reopen(tb testing.TB, image *extent.Image) *iso.Base {
	tb.Helper()
	base, err := iso.OpenReader("customised", image, image.Size())
	if err != nil {
		tb.Fatal(err)
	}
	return base
}

func customize(tb testing.TB, base *iso.Base, c iso.Customization) (*extent.Image, iso.Result) {
	tb.Helper()
	image, result, err := base.Customize(c)
	if err != nil {
		tb.Fatal(err)
	}
	return image, result
}

func content(tb testing.TB, image *extent.Image) []byte {
	tb.Helper()
	data, err := io.ReadAll(image.Reader())
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// noise is a config that no compression makes smaller than about n bytes.
func noise(n int) []byte {
	random := rand.NewChaCha8([32]byte{7})
	data := make([]byte, n/2)
	_, _ = random.Read(data)
	var source bytes.Buffer
	for _, b := range data {
		fmt.Fprintf(&source, "%%%02x", b)
	}
	return fmt.Appendf(nil, `{"ignition":{"version":"3.2.0"},"storage":{"files":[`+
		`{"path":"/etc/small","mode":420,"contents":{"source":"data:,x"}},`+
		`{"path":"/opt/large","mode":420,"contents":{"source":"data:,%s"}}]}}`, source.Bytes())
}

func takesKeyfiles(l isotest.Layout) bool { return l.Features }

func takesKargs(l isotest.Layout) bool { return !l.NoKargs && (l.Arch != "s390x" || l.KargsJSON) }
