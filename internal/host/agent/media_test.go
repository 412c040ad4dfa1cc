//go:build linux

package agent

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// shortWall is a clock on which real time passes a thousand times slower.
type shortWall struct{ clock.Clock }

func (shortWall) Wall(d time.Duration) time.Duration { return d / 1000 }

// TestMediaThatHangs is a medium for which all steps wait together, and not for ever. A pipe that nothing writes to hangs
// as a disconnected medium does.
func TestMediaThatHangs(t *testing.T) {
	files := hostfile.Files{Root: t.TempDir()}
	must.Do(t, files.MakeFolder(mediaFolder, 0o755))
	must.Do(t, files.MakeFolder("/dev", 0o755))
	must.Do(t, files.Write(mountsFile, []byte("36 25 11:0 / /run/media/iso ro - iso9660 /dev/sr0 ro\n"), 0o644))
	must.Do(t, syscall.Mkfifo(files.Path("/dev/sr0"), 0o600))
	m := &media{files: files, clock: shortWall{clock.Real()}, log: quiet()}
	for range 2 {
		check.Says(t, m.lost(t.Context()), "a read takes longer than 20s")
	}
	hanging := m.start("/dev/sr0")
	check.Equal(t, m.start("/dev/sr0"), hanging)
	pipe := must.Get(os.OpenFile(files.Path("/dev/sr0"), os.O_WRONLY, 0))(t)
	must.Get(pipe.WriteString("CD001"))(t)
	<-hanging.done
	check.Do(t, hanging.err)
	must.Do(t, pipe.Close())
	check.Do(t, (*media)(nil).lost(t.Context()))
}
