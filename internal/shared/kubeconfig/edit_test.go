//go:build unix

package kubeconfig_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// ticking is a clock that only sleeping moves; each sleep calls then.
type ticking struct {
	now  time.Time
	then func()
}

func (c *ticking) Now() time.Time { return c.now }

func (c *ticking) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	if c.then != nil {
		c.then()
	}
	return ctx.Err()
}

func (c *ticking) Wall(d time.Duration) time.Duration { return d }

// standing is a clock that stands: a lock is waited for as long as it takes.
type standing struct{}

func (standing) Now() time.Time                     { return noon() }
func (standing) Wall(d time.Duration) time.Duration { return d }

func (standing) Sleep(ctx context.Context, _ time.Duration) error {
	runtime.Gosched()
	return ctx.Err()
}

// using makes a context the current one.
func using(name string) func(*kubeconfig.Config) ([]byte, error) {
	return func(have *kubeconfig.Config) ([]byte, error) { return have.Use(name) }
}

func mustWrite(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), mode))
	must.Do(t, os.Chmod(path, mode))
}

// holds says what a file has and who may read it, and that nothing else lies beside it.
func holds(t *testing.T, path, want string, beside ...string) {
	t.Helper()
	check.Contains(t, string(must.Get(os.ReadFile(path))(t)), want, path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1+len(beside) {
		t.Errorf("beside it there are %v, %v", entries, err)
	}
}

func TestEdit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", ".kube", "config")
	edit := func(path, name string) error {
		return kubeconfig.Edit(t.Context(), &ticking{now: noon()}, path, using(name))
	}
	must.Do(t, edit(path, "a"))
	holds(t, path, "current-context: a\n")
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has the mode %v, %v", info.Mode(), err)
	}
	mustWrite(t, path, "kind: Config\nnovelty: kept\n", 0o644)
	must.Do(t, edit(path, "b"))
	holds(t, path, "kind: Config\nnovelty: kept\ncurrent-context: b\n")

	for link, target := range map[string]string{"second": "config", "first": filepath.Join(dir, "new", ".kube", "second")} {
		must.Do(t, os.Symlink(target, filepath.Join(filepath.Dir(path), link)))
	}
	must.Do(t, edit(filepath.Join(filepath.Dir(path), "first"), "c"))
	holds(t, path, "novelty: kept\ncurrent-context: c\n", "first", "second")
	check.Equal(t, filepath.Base(must.Get(os.Readlink(filepath.Join(filepath.Dir(path), "first")))(t)), "second", "the link leads to")
}

// TestEditLeavesAlone what is not to be changed, or cannot be: no byte, no date, no lock.
func TestEditLeavesAlone(t *testing.T) {
	none := func(*kubeconfig.Config) ([]byte, error) { return nil, nil }
	failing := errors.New("no")
	for name, tt := range map[string]struct {
		text   string
		change func(*kubeconfig.Config) ([]byte, error)
		want   string
	}{
		"nothing to change": {"kind: Config\n", none, ""},
		"refused":           {"kind: Config\n", func(*kubeconfig.Config) ([]byte, error) { return nil, failing }, "no"},
		"broken":            {"kind: [", using("a"), "it is not valid YAML"},
		"something else":    {"kind: ConfigMap\napiVersion: v1\n", using("a"), "it is no kubeconfig: it is a ConfigMap of v1"},
	} {
		path := filepath.Join(t.TempDir(), "config")
		mustWrite(t, path, tt.text, 0o640)
		err := kubeconfig.Edit(t.Context(), &ticking{now: noon()}, path, tt.change)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%s: %v", name, err)
		}
		text, _ := os.ReadFile(path)
		info, _ := os.Stat(path)
		if string(text) != tt.text || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: it is %v now: %s", name, info.Mode(), text)
		}
	}
	missing := filepath.Join(t.TempDir(), "no", "config")
	check.Do(t, kubeconfig.Edit(t.Context(), &ticking{now: noon()}, missing, none))
	if _, err := os.Stat(filepath.Dir(missing)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made for nothing: %v", err)
	}
}

// TestEditOfWhatIsNoFile refuses folders, and links to nothing.
func TestEditOfWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	must.Do(t, os.Symlink("round", filepath.Join(dir, "round")))
	for path, want := range map[string]string{".": "it is no regular file", "dangling": "it is a link to a file that is not there", "round": "EvalSymlinks: too many links"} {
		err := kubeconfig.Edit(t.Context(), &ticking{now: noon()}, filepath.Join(dir, path), using("a"))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestEditRespectsLocks as kubectl makes them: it waits a while, and goes on with what the
// file has by then.
func TestEditRespectsLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	mustWrite(t, path, "kind: Config\n", 0o600)
	mustWrite(t, path+".lock", "", 0o600)
	err := kubeconfig.Edit(t.Context(), &ticking{now: noon()}, path, using("a"))
	locked, is := errors.AsType[*kubeconfig.Locked](err)
	if !is || locked.Lock != path+".lock" {
		t.Fatalf("got %v", err)
	}
	holds(t, path, "kind: Config\n", "the lock")
	waiting := &ticking{now: noon(), then: func() {
		mustWrite(t, path, "kind: Config\nnovelty: written meanwhile\n", 0o600)
		check.Do(t, os.Remove(path+".lock"))
	}}
	must.Do(t, kubeconfig.Edit(t.Context(), waiting, path, using("a")))
	holds(t, path, "novelty: written meanwhile\ncurrent-context: a\n")

	mustWrite(t, path+".lock", "", 0o600)
	ctx, stop := context.WithCancel(t.Context())
	err = kubeconfig.Edit(ctx, &ticking{now: noon(), then: stop}, path, using("b"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestEditLocksBehindLinks takes both locks, and gives back what it got.
func TestEditLocksBehindLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	link := filepath.Join(t.TempDir(), "link")
	mustWrite(t, path, "kind: Config\n", 0o600)
	must.Do(t, os.Symlink(path, link))
	for _, held := range []string{path, link} {
		mustWrite(t, held+".lock", "", 0o600)
		err := kubeconfig.Edit(t.Context(), &ticking{now: noon()}, link, using("a"))
		if locked, is := errors.AsType[*kubeconfig.Locked](err); !is || locked.Lock != held+".lock" {
			t.Errorf("got %v", err)
		}
		check.Do(t, os.Remove(held+".lock"))
		for _, own := range []string{path, link} {
			if _, err := os.Lstat(own + ".lock"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a lock of its own stays: %v", err)
			}
		}
	}
}

// TestEditSideBySide loses nothing of what several write at once.
func TestEditSideBySide(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	const most = 12
	var group sync.WaitGroup
	for i := range most {
		name := fmt.Sprint("lab-", i)
		access := newWay(t, name+".example.com").access(t, "")
		group.Go(func() {
			check.Do(t, kubeconfig.Edit(t.Context(), standing{}, path, func(have *kubeconfig.Config) ([]byte, error) {
				merged, err := have.Merge(nil, access, kubeconfig.Wish{Names: []string{name}})
				return merged.Text, err
			}))
		})
	}
	group.Wait()
	text := must.Get(os.ReadFile(path))(t)
	entries := generic(t, string(text))
	for i := range most {
		if entries[fmt.Sprint("contexts/lab-", i)] == nil {
			t.Errorf("lab-%d is lost", i)
		}
	}
	holds(t, path, "lab-0")
}

// TestEditKeepsTheOwner where root changes a user's file; a user cannot change that of
// another, nor one that is not to be written.
func TestEditKeepsTheOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	mustWrite(t, path, "kind: Config\n", 0o400)
	edit := func() error { return kubeconfig.Edit(t.Context(), &ticking{now: noon()}, path, using("a")) }
	if os.Geteuid() != 0 {
		if err := edit(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v", err)
		}
		return
	}
	must.Do(t, os.Chown(path, 12345, 54321))
	must.Do(t, edit())
	holds(t, path, "current-context: a\n")
	info := must.Get(os.Stat(path))(t)
	if is := info.Sys().(*syscall.Stat_t); is.Uid != 12345 || is.Gid != 54321 {
		t.Errorf("it belongs to %d:%d now", is.Uid, is.Gid)
	}
}

// TestEditOfAPipe does not wait for anybody to write into it.
func TestEditOfAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	if err := kubeconfig.Edit(t.Context(), &ticking{now: noon()}, path, using("a")); err == nil || err.Error() != "it is no regular file" {
		t.Errorf("got %v", err)
	}
}
