//go:build e2e

package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// stage is a folder like the one in which the pages begin, that of the examples, and what is played there.
type stage struct {
	t     *testing.T
	r     *recording
	ids   *ids
	dir   string
	audit string
	env   []string
}

// newStage prepares a folder. What is asked of API servers is recorded at the end.
func newStage(t *testing.T, r *recording, speed string) *stage {
	t.Helper()
	s := &stage{t: t, r: r, ids: &ids{}, dir: filepath.Join(t.TempDir(), "examples"), audit: t.TempDir()}
	must.Do(t, os.CopyFS(s.dir, os.DirFS(filepath.Join("..", "..", "examples"))))
	home := t.TempDir()
	s.env = []string{
		"PATH=" + assets + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"OAICTL_ASSETS=" + assets, "OAICTL_SPEED=" + speed, "NO_PROXY=*", auditFolder + "=" + s.audit,
	}
	return s
}

// conclude records what was asked of API servers, and of a service.
func (s *stage) conclude(x *traffic) {
	s.t.Helper()
	if x == nil {
		x = &traffic{ids: s.ids}
	}
	must.Do(s.t, x.auditedBy(context.WithoutCancel(s.t.Context()), s.audit))
	x.note(s.r)
}

// command is a program of the assets.
func (s *stage) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(assets, name), args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

// played is a program that goes on until the test ends.
type played struct {
	t     *testing.T
	mu    sync.Mutex
	said  bytes.Buffer
	more  chan struct{} // closed when it has said more
	ended bool
}

// Write implements [io.Writer].
func (p *played) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.more)
	p.more = make(chan struct{})
	return p.said.Write(text)
}

// until waits for words, and returns the line that has them.
func (p *played) until(words string) string {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), patience)
	defer stop()
	for {
		p.mu.Lock()
		said, more, ended := p.said.String(), p.more, p.ended
		p.mu.Unlock()
		for line := range strings.Lines(said) {
			if strings.Contains(line, words) && strings.HasSuffix(line, "\n") {
				return strings.TrimSpace(line)
			}
		}
		if ended {
			p.t.Fatalf("it ended without %q:\n%s", words, said)
		}
		select {
		case <-more:
		case <-ctx.Done():
			p.t.Fatalf("it does not say %q:\n%s", words, said)
		}
	}
}

// play starts a program that goes on until the test ends.
func (s *stage) play(name string, args ...string) *played {
	s.t.Helper()
	p := &played{t: s.t, more: make(chan struct{})}
	cmd := s.command(context.WithoutCancel(s.t.Context()), name, args...)
	cmd.Stdout, cmd.Stderr = p, p
	must.Do(s.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		p.mu.Lock()
		p.ended = true
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
		close(ended)
	}()
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		if s.t.Failed() {
			s.t.Logf("%s %q said\n%s", name, args, p.said.Bytes()[max(0, p.said.Len()-4000):])
		}
	})
	return p
}

// lab plays a service or a hub, and sets the variables by which it is reached.
func (s *stage) lab(args ...string) {
	s.t.Helper()
	file := s.play(player, append([]string{"simulator", "lab"}, args...)...).until("lab/environment")
	text := must.Get(os.ReadFile(filepath.Join(s.dir, file)))(s.t)
	for line := range strings.Lines(string(text)) {
		if line, is := strings.CutPrefix(strings.TrimSpace(line), "export "); is {
			name, value, _ := strings.Cut(line, "=")
			s.env = append(s.env, name+"="+strings.Trim(value, "'"))
		}
	}
}

// variable is what a variable was set to last.
func (s *stage) variable(name string) string {
	for at := len(s.env) - 1; at >= 0; at-- {
		if value, is := strings.CutPrefix(s.env[at], name+"="); is {
			return value
		}
	}
	return ""
}

// patience is how long a command may take.
const patience = 6 * time.Minute

// told is an event that a run prints. The last one says how the run ended.
type told struct{ Type, Key, State, Severity, Reason string }

// runs runs a command that prints events, and records them with its exit code.
func (s *stage) runs(args ...string) {
	s.t.Helper()
	out, code := s.output(append(args, "--progress", "json")...)
	name := strings.Join(args, " ")
	s.r.add("exit %s: %d", name, code)
	for line := range bytes.Lines(out) {
		var e told
		if json.Unmarshal(line, &e) != nil {
			s.r.add("says %s: %s", name, s.ids.short(string(line), true))
			continue
		}
		if e.Type == "progress" {
			continue // how often it is printed depends on the moment
		}
		s.r.add("event %s: %s", name, s.ids.tidy(strings.Join([]string{e.Type, e.Severity, e.Key, e.State, e.Reason}, " ")))
	}
}

// result records a document: its fields, each in a line.
func (s *stage) result(name string, document []byte) {
	var content any
	if err := json.Unmarshal(document, &content); err != nil {
		s.t.Errorf("%s: %v", name, err)
		return
	}
	s.fields(name, "", content)
}

func (s *stage) fields(name, path string, content any) {
	object, is := content.(map[string]any)
	if !is {
		s.r.add("result %s: %s = %s", name, path, inLine(s.ids.plain(content, true)))
		return
	}
	for key, value := range object {
		s.fields(name, path+"."+s.ids.tidy(key), value)
	}
}

// prints runs a command that prints a document, and records that.
func (s *stage) prints(args ...string) {
	s.t.Helper()
	out, code := s.output(append(args, "-o", "json")...)
	name := strings.Join(args, " ")
	s.r.add("exit %s: %d", name, code)
	if len(out) > 0 {
		s.result(name, out)
	}
}

// output is what a command writes to its standard output, and its exit code.
func (s *stage) output(args ...string) (out []byte, code int) {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), patience)
	defer stop()
	cmd := s.command(ctx, "oaictl", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ended, is := errors.AsType[*exec.ExitError](err); is {
		code = ended.ExitCode()
	} else if err != nil {
		s.t.Fatalf("oaictl %q: %v\n%s", args, err, stderr.String())
	}
	if ctx.Err() != nil {
		s.t.Fatalf("oaictl %q takes too long\n%s%s", args, stdout.String(), stderr.String())
	}
	if code != 0 {
		s.t.Logf("oaictl %q: %d\n%s", args, code, stderr.Bytes()[max(0, stderr.Len()-1500):])
	}
	return stdout.Bytes(), code
}
