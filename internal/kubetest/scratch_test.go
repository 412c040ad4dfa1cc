//go:build e2e

package kubetest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestScratchOfTheKilledIsRemoved leaves a folder as a process does that is killed,
// beside one that is in use and one that was just made.
func TestScratchOfTheKilledIsRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no hub runs on Windows")
	}
	within := t.TempDir()
	used, err := newScratch(within)
	if err != nil {
		t.Fatal(err)
	}
	killed, err := newScratch(within)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(killed.folder, "data"), []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := killed.owner.Close(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	fresh := filepath.Join(within, scratchName+"fresh") // not owned yet
	if err := os.Mkdir(fresh, 0o700); err != nil {
		t.Fatal(err)
	}
	next, err := newScratch(within)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed.folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed process left is still there: %v", err)
	}
	for _, folder := range []string{used.folder, fresh, next.folder} {
		if _, err := os.Stat(folder); err != nil {
			t.Errorf("what is in use is gone: %v", err)
		}
	}
	for _, s := range []*scratch{used, next} {
		if err := s.remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
	}
}
