//go:build unix

package isotest

import (
	"syscall"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestSparseFixtureTakesLittleDisk(t *testing.T) {
	l, _ := ByName("x86_64-sparse")
	var st syscall.Stat_t
	must.Do(t, syscall.Stat(Make(t, l), &st))
	if st.Size <= 4<<30 {
		t.Errorf("the sparse fixture has %d bytes, want more than 4 GiB", st.Size)
	}
	if used := st.Blocks * 512; used > 8<<20 {
		t.Errorf("the sparse fixture takes %d bytes of disk", used)
	}
}
