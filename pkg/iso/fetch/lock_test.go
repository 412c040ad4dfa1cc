package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// mustLock locks a file until the test ends.
func mustLock(t *testing.T, path string, exclusive bool) *os.File {
	t.Helper()
	f, err := lock(path, exclusive)
	if err != nil || f == nil {
		t.Fatalf("%v, %v", f, err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func mustOpen(t *testing.T, path string) *os.File {
	t.Helper()
	f := must.Get(os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestLock(t *testing.T) {
	for name, test := range map[string]struct {
		first, second bool // exclusive
		want          bool // the second has it, too
	}{
		"two share it":            {false, false, true},
		"one has it":              {true, false, false},
		"one wants it for itself": {false, true, false},
		"two want it":             {true, true, false},
	} {
		path := filepath.Join(t.TempDir(), "x.lock")
		mustLock(t, path, test.first)
		if got, err := claim(mustOpen(t, path), path, test.second); got != test.want || err != nil {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}

// TestLockOfARemovedFileIsNone opens a file before its holder removes it: a lock on it then keeps no other process out.
func TestLockOfARemovedFileIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	holder := mustLock(t, path, true)
	late := mustOpen(t, path)
	must.Do(t, remove(path))
	holder.Close()
	if got, err := claim(late, path, true); got || !errors.Is(err, errRemoved) {
		t.Errorf("while there is no file: %t, %v", got, err)
	}
	mustLock(t, path, true)
	if got, err := claim(late, path, true); got || !errors.Is(err, errRemoved) {
		t.Errorf("while there is another file: %t, %v", got, err)
	}
}
