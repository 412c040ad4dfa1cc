package serve_test

import (
	"path"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	live "github.com/oaictl/oaictl/pkg/iso"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
	"github.com/oaictl/oaictl/pkg/iso/overlay"
	"github.com/oaictl/oaictl/pkg/iso/serve"
)

// TestWhatInsNamesIsServed boots as an LPAR does: generic.ins names the other
// files, which lie beside it.
func TestWhatInsNamesIsServed(t *testing.T) {
	layout, _ := isotest.ByName("s390x-2023-07")
	base := must.Get(live.Open(isotest.Make(t, layout)))(t)
	defer base.Close()
	n := must.Get(base.Netboot(live.Customization{}))(t)
	s := newServer(t, serve.Config{})
	set(t, s, "m-0",
		serve.File{Kind: serve.Kernel, Image: n.Kernel},
		serve.File{Kind: serve.Initrd, Image: n.Initrd},
		serve.File{Kind: serve.Prm, Image: overlay.Bytes([]byte(n.Kargs))},
		serve.File{Kind: serve.AddrSize, Image: overlay.Bytes(n.AddrSize)},
		serve.File{Kind: serve.Ins, Image: overlay.Bytes([]byte(n.Ins))})
	ins := s.URL("m-0", serve.Ins)
	named := 0
	for line := range strings.Lines(ask(s, "GET", ins).Body.String()) {
		file, _, isFile := strings.Cut(line, " 0x")
		if !isFile {
			continue
		}
		named++
		if got := ask(s, "HEAD", path.Join(path.Dir(ins), file)); got.Code != 200 {
			t.Errorf("%s: %d", file, got.Code)
		}
	}
	if named != 4 {
		t.Errorf("%d files in %s", named, n.Ins)
	}
}
