//go:build linux

package installer

import (
	"errors"
	"os"
	"testing"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/filelock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// TestJournalBeginsAnew: an installation is not taken for one that was begun with other settings, or before.
func TestJournalBeginsAnew(t *testing.T) {
	for _, row := range []struct {
		name   string
		flags  []string
		change func(w *world)
		writes int
	}{
		{"the same installation", flags("master", 3), func(*world) {}, 1},
		{"another token", flags("master", 3), func(*world) {}, 1},
		{"another config", flags("master", 3, "--openshift-version", "4.20.2"), func(*world) {}, 2},
		{"the service has reset the host", flags("master", 3), func(w *world) { w.host.Progress.CurrentStage = "" }, 2},
		{"the installation failed", flags("master", 3), func(w *world) { w.host.Progress.CurrentStage = models.HostStageFailed }, 2},
		{"the cluster's installation began again", flags("master", 3), func(w *world) {
			w.cluster.InstallStartedAt = must.Get(strfmt.ParseDateTime("2026-01-01T00:00:00Z"))(w.t)
		}, 2},
		{"the machine booted again", flags("master", 3), func(w *world) { w.put(bootIDPath, "another\n") }, 2},
		{"the journal is damaged", flags("master", 3), func(w *world) { w.put(journalPath, `{"attempt":`) }, 2},
		{"the journal is of another form", flags("master", 3), func(w *world) { w.put(journalPath, `{"done":"write-image"}`) }, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				must.Do(t, w.installer(parse(t, flags("master", 3)...)).Run(t.Context()))
				row.change(w)
				c := parse(t, row.flags...)
				if row.name == "another token" {
					c.Token = "renewed-token"
				}
				must.Do(t, w.installer(c).Run(t.Context()))
				check.Equal(t, count(w.disksDone, wrote), row.writes)
			})
		})
	}
}

func TestJournalThatCannotBeWritten(t *testing.T) {
	files := hostfile.Files{Root: t.TempDir()}
	must.Do(t, files.MakeFolder(journalPath, 0o755))
	j, fresh := openJournal(files, "x")
	check.Contains(t, fresh, "cannot be read")
	check.Says(t, j.mark(StepWrite), "note in the journal that the step write-image is done")
}

// TestGoesOnWithoutJournal: a journal that cannot be written does not end an installation.
func TestGoesOnWithoutJournal(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i := w.installer(parse(t, flags("master", 3)...))
		i.before = func(s Step) {
			if s.Name == StepWrite {
				must.Do(t, w.files.Remove(journalPath))
				must.Do(t, w.files.MakeFolder(journalPath, 0o755))
			}
		}
		must.Do(t, i.Run(t.Context()))
		check.Contains(t, w.logged(), "would repeat the step")
	})
}

// TestNoFolder: an installer that cannot write files says so to the service.
func TestNoFolder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		must.Do(t, os.RemoveAll(w.files.Path("/opt")))
		w.put("/opt", "")
		check.Says(t, w.installer(parse(t, flags("master", 3)...)).Run(t.Context()), "not a directory")
		check.Contains(t, w.told()[0], "Failed ")
	})
}

// TestOneInstaller: a second installer does nothing.
func TestOneInstaller(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		must.Do(t, w.files.MakeFolder(installDir, 0o755))
		other := must.Get(w.files.Append(lockPath, 0o600))(t)
		check.Equal(t, must.Get(filelock.Try(other, true))(t), true)
		err := w.installer(parse(t, flags("master", 3)...)).Run(t.Context())
		if !errors.Is(err, ErrRunning) || ExitCode(err) != 125 {
			t.Errorf("got %v", err)
		}
		check.Equal(t, len(w.posts), 0)
		must.Do(t, other.Close())
		must.Do(t, w.installer(parse(t, flags("master", 3)...)).Run(t.Context()))
	})
}
