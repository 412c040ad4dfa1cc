//go:build e2e

package pages

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// reader is a person who follows a page.
type reader struct {
	t    *testing.T
	page string
	dir  string
	env  []string
	// setup are the commands that change the shell, for the commands after them.
	setup []string
	// running are the commands that go on until they are stopped.
	running []*running
	// breaks counts the interrupted commands.
	breaks int
}

// running is a command that goes on until it is stopped.
type running struct {
	command *exec.Cmd
	ended   chan error
}

// open prepares a folder like the one in which the page begins: that of the examples.
func open(t *testing.T, page string) *reader {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "examples")
	must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples"))))
	home := t.TempDir()
	r := &reader{t: t, page: page, dir: dir, env: []string{
		"PATH=" + assets + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"OAICTL_ASSETS=" + assets, "OAICTL_SPEED=" + speed, "NO_PROXY=*",
	}}
	t.Cleanup(r.stop)
	return r
}

// stop stops what still runs, the last first.
func (r *reader) stop() {
	for i := len(r.running) - 1; i >= 0; i-- {
		command := r.running[i].command
		if err := command.Process.Signal(os.Interrupt); err != nil {
			r.t.Errorf("stop %q: %v", command.Args, err)
		}
		if err := <-r.running[i].ended; command.ProcessState.ExitCode() != interrupted {
			r.t.Errorf("%q: stopped, it ends with %v, and not with %d", command.Args, err, interrupted)
		}
	}
	r.running = nil
}

// shell is a command as a person types it.
func (r *reader) shell(ctx context.Context, command string) *exec.Cmd {
	if isOfOaictl(command) || strings.HasPrefix(command, "kubectl ") {
		command = "exec " + command // a signal is the program's
	}
	cmd := exec.CommandContext(ctx, "bash", "-e", "-c", strings.Join(append(r.setup, command), "\n"))
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	return cmd
}

func isOfOaictl(command string) bool { return strings.HasPrefix(command, "oaictl ") }

// follow does a step.
func (r *reader) follow(s step) {
	r.t.Helper()
	began := time.Now()
	first, _, _ := strings.Cut(s.command, " ")
	switch {
	case first == "." || first == "export":
		r.setup = append(r.setup, s.command)
		return
	case strings.HasPrefix(s.command, "oaictl simulator ") || strings.HasPrefix(s.command, "oaictl iso serve "):
		r.start(s)
	case isOfOaictl(s.command):
		if ended := r.breakOff(s); !ended || !isOnce(s.command) {
			r.whole(s)
		}
	default:
		r.whole(s)
	}
	r.t.Logf("%s:%d: %s: %s", r.page, s.line, s.command, time.Since(began).Round(100*time.Millisecond))
}

// isOnce reports whether a command that is through is an error when it is given again: what it names is gone.
func isOnce(command string) bool {
	return strings.HasPrefix(command, "oaictl delete ") || strings.Contains(command, " --simulate")
}

// start starts a command that goes on, and waits until it prints something.
func (r *reader) start(s step) {
	cmd := r.shell(context.WithoutCancel(r.t.Context()), s.command) // it is stopped once the page is through
	out := must.Get(cmd.StdoutPipe())(r.t)
	var said strings.Builder
	cmd.Stderr = &said
	must.Do(r.t, cmd.Start())
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		_ = cmd.Wait()
		r.t.Fatalf("%s:%d: %s: %v\n%s", r.page, s.line, s.command, err, said.String())
	}
	started := &running{command: cmd, ended: make(chan error, 1)}
	r.running = append(r.running, started)
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		started.ended <- cmd.Wait()
	}()
}

// interrupted is how a command ends that is stopped by Ctrl-C.
const interrupted = 130

// breakOff begins a command, and ends it once it has said some lines, by turns with Ctrl-C and without a word. It reports
// whether the command was through before.
func (r *reader) breakOff(s step) bool {
	ctx, stop := context.WithTimeout(r.t.Context(), patience)
	defer stop()
	cmd := r.shell(ctx, s.command)
	from, to, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	cmd.Stdout, cmd.Stderr = to, to
	err = cmd.Start()
	_ = to.Close() // which is the command's
	if err != nil {
		r.t.Fatal(err)
	}
	r.breaks++
	signal := os.Interrupt
	if r.breaks%2 == 0 {
		signal = syscall.SIGKILL
	}
	reading := bufio.NewScanner(from)
	var said strings.Builder
	for range 1 + r.breaks%5 {
		if !reading.Scan() {
			break // it is through already
		}
		said.WriteString(reading.Text() + "\n")
	}
	_ = cmd.Process.Signal(signal) // it may have ended
	for reading.Scan() {
		said.WriteString(reading.Text() + "\n")
	}
	err = cmd.Wait()
	ended, is := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return true
	case !is:
		r.t.Fatal(err)
	case ended.ExitCode() != interrupted && ended.ExitCode() != -1:
		r.t.Errorf("%s:%d: %s: broken off, it ends with %d\n%s", r.page, s.line, s.command, ended.ExitCode(), said.String())
	}
	return false
}

// patience is how long a command may take.
const patience = 4 * time.Minute

// whole runs a command to its end.
func (r *reader) whole(s step) {
	r.t.Helper()
	ctx, stop := context.WithTimeout(r.t.Context(), patience)
	defer stop()
	said, err := r.shell(ctx, s.command).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s:%d: %s: %v\n%s", r.page, s.line, s.command, err, said)
	}
}
