package fetch

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/oaictl/oaictl/internal/clock"
)

// TestLockIsHeldByOne locks a file that each holder removes: who waits for the
// removed file must not believe that it holds the new one.
func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	var holders atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for locked := 0; locked < 300; {
				f, err := lock(path, true)
				if err != nil {
					t.Error(err)
					return
				}
				if f == nil {
					continue
				}
				if holders.Add(1) != 1 {
					t.Error("two hold one lock")
				}
				holders.Add(-1)
				remove(path)
				f.Close()
				locked++
			}
		})
	}
	group.Wait()
}

func TestSharedLockKeepsTheExclusiveOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.use")
	take := func(exclusive bool) bool {
		t.Helper()
		f, err := lock(path, exclusive)
		if err != nil {
			t.Fatal(err)
		}
		if f != nil {
			t.Cleanup(func() { f.Close() })
		}
		return f != nil
	}
	if !take(false) || !take(false) || take(true) {
		t.Error("a lock that is shared can't be shared, or is given to one alone")
	}
	waited := 0
	ctx := t.Context()
	f, err := waitLock(ctx, clock.Real(), path, false, func() { waited++ })
	if err != nil || waited != 0 {
		t.Errorf("%v after waiting %d times", err, waited)
	}
	f.Close()
}
