package overlay

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// How a file is staged: as the filesystem likes it best, or by a private name.
func stagings() map[string]func(target string) (*staged, error) {
	return map[string]func(target string) (*staged, error){
		"best": func(target string) (*staged, error) { return stage(target, 0o600) },
		"named": func(target string) (*staged, error) {
			if err := removeAbandoned(privateName(target)); err != nil {
				return nil, err
			}
			return stageNamed(target, privateName(target), 0o600)
		},
	}
}

func TestPublish(t *testing.T) {
	for how, stage := range stagings() {
		for _, test := range []struct {
			name              string
			exists, overwrite bool
			want              string
			err               error
		}{
			{"a new file", false, false, "new", nil},
			{"a new file that may replace", false, true, "new", nil},
			{"the name is taken", true, false, "old", fs.ErrExist},
			{"replacing", true, true, "new", nil},
		} {
			t.Run(how+"/"+test.name, func(t *testing.T) {
				dir := t.TempDir()
				target := filepath.Join(dir, "out")
				s := must.Get(stage(target))(t)
				if test.exists { // since a moment ago
					must.Do(t, os.WriteFile(target, []byte("old"), 0o600))
				}
				must.Get(s.WriteString("new"))(t)
				if err := s.publish(test.overwrite); !errors.Is(err, test.err) {
					t.Errorf("got %v, want %v", err, test.err)
				}
				s.discard()
				check.Equal(t, string(must.Get(os.ReadFile(target))(t)), test.want, "the file holds")
				entries, err := os.ReadDir(dir)
				if err != nil || len(entries) != 1 {
					t.Errorf("%v, %v", entries, err)
				}
			})
		}
	}
}

func TestDiscard(t *testing.T) {
	for how, stage := range stagings() {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			s := must.Get(stage(filepath.Join(dir, "out")))(t)
			s.discard()
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}

// TestTwoWriters writes one name twice at once, where that shows.
func TestTwoWriters(t *testing.T) {
	named := stagings()["named"]
	target := filepath.Join(t.TempDir(), "out")
	first := must.Get(named(target))(t)
	for how, stage := range stagings() {
		if _, err := stage(target); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v", how, err)
		}
	}
	if _, err := os.Lstat(first.private); err != nil {
		t.Error("the second took away the first one's file:", err)
	}
	first.discard()
	second := must.Get(named(target))(t)
	second.discard()
}

// TestKilled kills a process that is writing, and writes again.
func TestKilled(t *testing.T) {
	if target := os.Getenv("EXTENT_TEST_TARGET"); target != "" {
		writeUntilKilled(t, target)
	}
	for how := range stagings() {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			target := filepath.Join(dir, "out")
			child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
			child.Env = append(os.Environ(), "EXTENT_TEST_TARGET="+target, "EXTENT_TEST_HOW="+how)
			in := must.Get(child.StdinPipe())(t)
			defer in.Close()
			out := must.Get(child.StdoutPipe())(t)
			must.Do(t, child.Start())
			if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "writing\n" {
				t.Fatalf("%q, %v", line, err)
			}
			must.Do(t, child.Process.Kill())
			if err := child.Wait(); err == nil {
				t.Error("the process ended by itself")
			}

			if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is half a file: %v", err)
			}
			content := []byte("whole")
			must.Get(Bytes(content).WriteFile(t.Context(), target, WriteOptions{}))(t)
			if got, err := os.ReadFile(target); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%q, %v", got, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}

// writeUntilKilled is the process that TestKilled kills.
func writeUntilKilled(t *testing.T, target string) {
	s := must.Get(stagings()[os.Getenv("EXTENT_TEST_HOW")](target))(t)
	must.Get(s.WriteString("half"))(t)
	os.Stdout.WriteString("writing\n")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // until the other process has ended
		t.Fatal(err)
	}
	os.Exit(0)
}

func TestPrivateNameIsShort(t *testing.T) {
	long := string(bytes.Repeat([]byte("x"), 255))
	if got := filepath.Base(privateName(long)); len(got) > 40 {
		t.Errorf("%s has %d bytes", got, len(got))
	}
	if privateName("a/one") == privateName("a/two") {
		t.Error("two files share a private name")
	}
	check.Equal(t, filepath.Dir(privateName("a/one")), "a", "it is in")
}
