package fetch

import (
	"errors"
	"io/fs"
	"os"
	"sync"
)

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
	now := c.clock.Now()
	if err := os.Chtimes(use.Name(), now, now); err != nil {
		use.Close()
		return nil, err
	}
	return &File{Path: path, Size: size, SHA256: digest, use: use}, nil
}

// sizeOf is the size of a file that may not be there.
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
