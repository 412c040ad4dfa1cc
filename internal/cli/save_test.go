//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/oaictl/oaictl/internal/cli/app"
	"github.com/oaictl/oaictl/internal/cli/streams"
	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestToLeavesSpecialFilesAsTheyAre writes into what is no regular file, and
// never puts a file in its place.
func TestToLeavesSpecialFilesAsTheyAre(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, syscall.Mkfifo("pipe", 0o600))
	arrived := make(chan string, 1)
	go func() {
		content, _ := os.ReadFile("pipe")
		arrived <- string(content)
	}()
	if got := run(t, lab(), "", "logs", "lab", "--to", "pipe"); got.code != 0 || got.out != "pipe\n" {
		t.Errorf("got %+v", got)
	}
	check.Equal(t, <-arrived, "logs of c1 ", "the pipe carried")
	if info, err := os.Lstat("pipe"); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the pipe has become %v, %v", info.Mode(), err)
	}
	if got := run(t, lab(), "", "logs", "lab", "--to", "/dev/null"); got.code != 0 {
		t.Errorf("got %+v", got)
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatalf("/dev/null has become %v, %v", info, err)
	}
}

func TestToFollowsLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.Mkdir("there", 0o700))
	for link, target := range map[string]string{"there/second": "file", "first": "there/second", "round": "round"} {
		must.Do(t, os.Symlink(target, link))
	}
	for _, when := range []string{"the target is missing", "the target is there"} {
		if got := run(t, lab(), "", "logs", "lab", "--to", "first"); got.code != 0 {
			t.Fatalf("%s: %+v", when, got)
		}
		for _, link := range []string{"first", "there/second"} {
			if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
				t.Errorf("%s: %s has become %v, %v", when, link, info, err)
			}
		}
		if info, err := os.Lstat(filepath.Join("there", "file")); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: the target is %v, %v", when, info, err)
		}
	}
	if got := run(t, lab(), "", "logs", "lab", "--to", "round"); got.code != 1 {
		t.Errorf("links that lead nowhere: %+v", got)
	}
}

// TestFullDiskEndsAtOnce holds a download onto a full disk to one error that
// names the disk, and to one try.
func TestFullDiskEndsAtOnce(t *testing.T) {
	if info, err := os.Stat("/dev/full"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Skip("there is no /dev/full to write to")
	}
	t.Chdir(t.TempDir())
	for _, line := range []string{"download iso lab --to /dev/full", "logs lab --to /dev/full", "download kubeconfig lab --to /dev/full"} {
		service := lab()
		got := run(t, service, "", strings.Fields(line)...)
		if got.code != 1 || !strings.Contains(got.errors, "could not write /dev/full: no space left on device\nNext: free some space") {
			t.Errorf("%s: %+v", line, got)
		}
		if strings.Count(got.errors, "\n") != 2 || strings.Count(strings.Join(service.calls, " "), "open image") > 1 {
			t.Errorf("%s is told or tried more than once: %v\n%s", line, service.calls, got.errors)
		}
	}
}

func TestNowhereToWriteSaysWhatToDo(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("file", nil, 0o600))
	for line, next := range map[string]string{
		"logs lab --to /nonexistent/x":       "create its folder, or give another path",
		"logs lab --to .":                    "name a file in that folder",
		"download iso lab --dir file":        "give a path that exists",
		"download kubeconfig lab --dir file": "give a path that exists",
	} {
		got := run(t, lab(), "", strings.Fields(line)...)
		if got.code != 1 || !strings.Contains(got.errors, "could not write") || !strings.Contains(got.errors, "Next: "+next) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// TestLogThatCannotBeWritten installs nevertheless, and says so once.
func TestLogThatCannotBeWritten(t *testing.T) {
	for name, spoil := range map[string]func() error{
		"not opened": func() error { return os.MkdirAll("lab/oaictl.log", 0o700) },
		"not filled": func() error {
			if err := os.Mkdir("lab", 0o700); err != nil {
				return err
			}
			return os.Symlink("/dev/full", "lab/oaictl.log")
		},
	} {
		t.Run(name, func(t *testing.T) {
			if info, err := os.Stat("/dev/full"); name == "not filled" && (err != nil || info.Mode()&os.ModeCharDevice == 0) {
				t.Skip("there is no /dev/full to log to")
			}
			here(t)
			must.Do(t, spoil())
			service := lab()
			service.looks = looksOf(model.ClusterInstalling, model.ClusterInstalled)
			got := run(t, service, "", "create", "cluster", "-f", "cluster.yaml", "-o", "name")
			if got.code != 0 || got.out != "cluster/lab\n" || strings.Count(got.errors, "warning: the log of this run cannot be written: ") != 1 {
				t.Errorf("got %+v", got)
			}
			if info, err := os.Stat("/dev/full"); err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode().Perm() == 0o600 {
				t.Error("the device has been closed to others")
			}
		})
	}
}

func TestResultsFolderThatCannotBe(t *testing.T) {
	here(t)
	must.Do(t, os.WriteFile("file", nil, 0o600))
	service := lab()
	got := run(t, service, "", "create", "cluster", "-f", "cluster.yaml", "--dir", "file")
	if got.code != 1 || !strings.Contains(got.errors, "could not write file/lab: not a directory\nNext: ") || len(service.calls) != 0 {
		t.Errorf("got %+v, %v", got, service.calls)
	}
}

// TestHelpThatCannotBeWritten is a failure like any other output.
func TestHelpThatCannotBeWritten(t *testing.T) {
	for _, line := range []string{"help environment", "create cluster --help", "version"} {
		var problems strings.Builder
		io := streams.Streams{In: strings.NewReader(""), Out: fullDisk{}, Err: &problems}
		code := execute(t.Context(), app.New(app.Identify(append([]string{"oaictl"}, strings.Fields(line)...)), io, streams.Env{}))
		if code != 1 || !strings.Contains(problems.String(), "no space left on device") {
			t.Errorf("%s: %d, %s", line, code, problems.String())
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
