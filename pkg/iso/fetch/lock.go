package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/filelock"
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
		locked, err := claim(f, path, exclusive)
		if locked {
			return f, nil
		}
		f.Close()
		switch {
		case err == nil:
			return nil, nil
		case !errors.Is(err, errRemoved):
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

var errRemoved = errors.New("who held it has removed it: the name means another file now")

// claim tries to lock a file that was opened under a name.
func claim(f *os.File, path string, exclusive bool) (locked bool, err error) {
	locked, err = filelock.Try(f, exclusive)
	if locked && !isStill(f, path) {
		return false, errRemoved
	}
	return locked, err
}

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

// File is an image on this machine.
type File struct {
	// Path is where it lies. It must not be written to.
	Path string
	// Size is in bytes.
	Size int64
	// SHA256 is the content's digest in hexadecimal; empty for a file of this
	// machine that no checksum was given for.
	SHA256 string
	// Warning says why the content may be out of date: the server could not be
	// asked. Empty if all is well.
	Warning string

	use   *os.File
	close sync.Once
}

// Close gives the file back: from now on the cache may drop it to make room.
func (f *File) Close() error {
	f.close.Do(func() {
		if f.use != nil {
			f.use.Close()
		}
	})
	return nil
}

// hold takes content out of the cache, in a way that keeps it there. It returns
// nil where the cache does not have it.
func (c *Cache) hold(digest string) (*File, error) {
	if digest == "" {
		return nil, nil
	}
	path := c.path(digest, ".iso")
	if _, there, err := sizeOf(path); err != nil || !there {
		return nil, err
	}
	use, err := lock(c.path(digest, ".use"), false)
	if err != nil || use == nil { // nil: it is being dropped at this moment
		return nil, err
	}
	size, there, err := sizeOf(path)
	if err != nil || !there { // it was dropped at this moment
		use.Close()
		return nil, err
	}
	now := c.config.Clock.Now()
	if err := os.Chtimes(use.Name(), now, now); err != nil {
		use.Close()
		return nil, err
	}
	return &File{Path: path, Size: size, SHA256: digest, use: use}, nil
}

func sizeOf(path string) (size int64, there bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	}
	return info.Size(), true, nil
}
