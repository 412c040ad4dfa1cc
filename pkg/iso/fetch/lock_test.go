package fetch

import (
	"os"
	"path/filepath"
	"testing"
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
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestLock(t *testing.T) {
	for name, test := range map[string]struct {
		first, second bool // exclusive
		want          outcome
	}{
		"two share it":            {false, false, locked},
		"one has it":              {true, false, held},
		"one wants it for itself": {false, true, held},
		"two want it":             {true, true, held},
	} {
		path := filepath.Join(t.TempDir(), "x.lock")
		mustLock(t, path, test.first)
		if got, err := claim(mustOpen(t, path), path, test.second); got != test.want || err != nil {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

// TestLockOfARemovedFileIsNone opens a file before its holder removes it: who
// locks it then has nothing that keeps others out.
func TestLockOfARemovedFileIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	holder := mustLock(t, path, true)
	late := mustOpen(t, path)
	if err := remove(path); err != nil {
		t.Fatal(err)
	}
	holder.Close()
	if got, err := claim(late, path, true); got != removed || err != nil {
		t.Errorf("while there is no file: %d, %v", got, err)
	}
	mustLock(t, path, true)
	if got, err := claim(late, path, true); got != removed || err != nil {
		t.Errorf("while there is another file: %d, %v", got, err)
	}
}
