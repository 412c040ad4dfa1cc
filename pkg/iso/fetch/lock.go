package fetch

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
)

// lockPoll is how often a lock that somebody else holds is tried again: the
// kernel's own waiting can't be broken off.
const lockPoll = 200 * time.Millisecond

// lock opens a file, makes it where it is missing, and locks it. It returns nil
// where somebody else holds the lock.
func lock(path string, exclusive bool) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		outcome, err := claim(f, path, exclusive)
		if err == nil && outcome == locked {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if outcome == held {
			return nil, nil
		}
	}
}

// outcome is what came of trying to lock a file.
type outcome int

const (
	locked  outcome = iota
	held            // by somebody else
	removed         // by who held it before: the name means another file now
)

// claim tries to lock a file that was opened under a name.
func claim(f *os.File, path string, exclusive bool) (outcome, error) {
	ok, err := tryLock(f, exclusive)
	switch {
	case err != nil || !ok:
		return held, err
	case !isStill(f, path):
		return removed, nil
	}
	return locked, nil
}

// isStill says whether a path still names an open file.
func isStill(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(opened, named)
}

// waitLock locks a file however long somebody else holds it; waiting is called
// each time that it is found held.
func waitLock(ctx context.Context, clk clock.Clock, path string, exclusive bool, waiting func()) (*os.File, error) {
	for {
		f, err := lock(path, exclusive)
		if err != nil || f != nil {
			return f, err
		}
		waiting()
		if err := clk.Sleep(ctx, lockPoll); err != nil {
			return nil, err
		}
	}
}
