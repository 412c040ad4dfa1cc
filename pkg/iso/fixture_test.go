package iso_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
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
	return openFile(tb, isotest.Make(tb, l))
}

func openFile(tb testing.TB, path string) *iso.Base {
	tb.Helper()
	base := must.Get(iso.Open(path))(tb)
	tb.Cleanup(func() {
		check.Do(tb, base.Close())
	})
	return base
}

// reopen reads an image as a base of its own, as its recipient would.
func reopen(tb testing.TB, image *overlay.Image) *iso.Base {
	tb.Helper()
	return must.Get(iso.OpenReader("customised", image, image.Size()))(tb)
}

func customize(tb testing.TB, base *iso.Base, c iso.Customization) (*overlay.Image, iso.Result) {
	tb.Helper()
	image, result, err := base.Customize(c)
	if err != nil {
		tb.Fatal(err)
	}
	return image, result
}

func content(tb testing.TB, image *overlay.Image) []byte {
	tb.Helper()
	return must.Get(io.ReadAll(image.Reader()))(tb)
}

// noise is a config that no compression makes smaller than n bytes.
func noise(n int) []byte {
	return fmt.Appendf(nil, `{"ignition":{"version":"3.2.0"},"storage":{"files":[`+
		`{"path":"/etc/small","mode":420,"contents":{"source":"data:,x"}},`+
		`{"path":"/opt/large","mode":420,"contents":{"source":"data:;base64,%s"}}]}}`, base64.StdEncoding.EncodeToString(random(n)))
}

func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(data) // documented never to fail
	return data
}

func takesKeyfiles(l isotest.Layout) bool { return l.Features }

func takesKargs(l isotest.Layout) bool { return !l.NoKargs && (l.Arch != "s390x" || l.KargsJSON) }

// realistic is a config of about the size that the service makes for discovery: 26 KB of units,
// scripts and certificates.
func realistic() []byte {
	letters := rand.New(rand.NewPCG(5, 6))
	files := make([]string, 20)
	for i := range files {
		data := make([]byte, 900)
		for j := range data {
			data[j] = "abcdefghijklmnopqrstuvwxyz  /="[letters.IntN(30)]
		}
		source := base64.StdEncoding.EncodeToString(data)
		files[i] = fmt.Sprintf(`{"path":"/usr/local/share/file-%d","mode":420,"contents":{"source":"data:;base64,%s"}}`, i, source)
	}
	return fmt.Appendf(nil, `{"ignition":{"version":"3.2.0"},"storage":{"files":[%s]}}`, strings.Join(files, ","))
}
