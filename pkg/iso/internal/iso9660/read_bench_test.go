package iso9660

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/iso/internal/isotest"
)

// BenchmarkRead is what opening a base costs: all structures, and the files that say how to customise it.
func BenchmarkRead(b *testing.B) {
	v, f := open(b, isotest.Make(b, layout(b, "x86_64-2023-07")))
	b.ReportAllocs()
	for b.Loop() {
		again := must.Get(Read(f, v.Size))(b)
		for _, path := range []string{"coreos/igninfo.json", "coreos/kargs.json", "coreos/features.json", ignition} {
			must.Get(again.Find(path))(b)
		}
	}
}
