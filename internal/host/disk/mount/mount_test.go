//go:build linux

package mount

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

type noWait struct{}

func (noWait) Now() time.Time                                   { return time.Time{} }
func (noWait) Sleep(ctx context.Context, d time.Duration) error { return context.Cause(ctx) }

func setup(t *testing.T) (Mounter, *machine.Recorder, string) {
	t.Helper()
	files := hostfile.Files{Root: t.TempDir()}
	must.Do(t, files.Write("/proc/self/mountinfo", []byte("1 0 0:1 / / rw - rootfs rootfs rw\n"), 0o600))
	runner := &machine.Recorder{}
	m := Mounter{Programs: runner, Files: files, Clock: clock.Of(noWait{}), Log: slog.New(slog.DiscardHandler)}
	return m, runner, files.Path(Folder + "/boot")
}

func volume() Volume {
	return Volume{Device: "/dev/sda", Offset: 4096, Bytes: 8192, Type: "ext4", Name: "boot"}
}

func TestWith(t *testing.T) {
	m, runner, root := setup(t)
	v := volume()
	v.ReadOnly = true
	failed := errors.New("no room")
	err := m.With(t.Context(), v, func(got string) error {
		if got != root {
			t.Errorf("the root is %s", got)
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	want := []string{"mount -t ext4 -o loop,offset=4096,sizelimit=8192,nodev,nosuid,noexec,ro /dev/sda " + root, "umount " + root}
	if got := runner.Commands(); !slices.Equal(got, want) {
		t.Errorf("the commands are %q", got)
	}
}

func TestMountFails(t *testing.T) {
	m, runner, _ := setup(t)
	runner.Reply = func(machine.Command) (machine.Result, error) { return machine.Result{Code: 32}, nil }
	err := m.With(t.Context(), volume(), func(string) error { t.Error("it is used"); return nil })
	if err == nil || !strings.Contains(err.Error(), "mount the file system boot of /dev/sda") || len(runner.Commands()) != 1 {
		t.Errorf("%v, %q", err, runner.Commands())
	}
}

func TestUnmountGoesOnAfterTheContextEnded(t *testing.T) {
	m, runner, root := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	if err := m.With(ctx, volume(), func(string) error { cancel(); return nil }); err != nil {
		t.Error(err)
	}
	if got := runner.Commands(); got[len(got)-1] != "umount "+root {
		t.Errorf("the commands are %q", got)
	}
}

func TestUnmountTriesAgain(t *testing.T) {
	m, runner, root := setup(t)
	busy := 2
	runner.Reply = func(c machine.Command) (machine.Result, error) {
		if c.Name == "umount" && busy > 0 {
			busy--
			return machine.Result{Code: 32, Stderr: []byte("target is busy")}, nil
		}
		return machine.Result{}, nil
	}
	must.Do(t, m.With(t.Context(), volume(), func(string) error { return nil }))
	busy = unmountTries
	err := m.With(t.Context(), volume(), func(string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "findmnt "+root) || !strings.Contains(err.Error(), "target is busy") {
		t.Errorf("got %v", err)
	}
}

func TestRelease(t *testing.T) {
	m, runner, root := setup(t)
	must.Do(t, m.Release(t.Context(), "boot"))
	line := "9 1 7:0 / " + root + " rw - ext4 /dev/loop0 rw\n"
	must.Do(t, m.Files.Write("/proc/self/mountinfo", []byte(line+line), 0o600))
	must.Do(t, m.Release(t.Context(), "boot"))
	must.Do(t, m.Release(t.Context(), "bo"))
	if got := runner.Commands(); !slices.Equal(got, []string{"umount " + root, "umount " + root}) {
		t.Errorf("the commands are %q", got)
	}
	must.Do(t, m.Files.Remove("/proc/self/mountinfo"))
	if err := m.With(t.Context(), volume(), func(string) error { return nil }); err == nil {
		t.Error("it does not know what is mounted, and goes on")
	}
}
