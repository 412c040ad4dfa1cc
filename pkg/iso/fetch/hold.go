package fetch

import (
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
	if _, err := os.Stat(path); err != nil {
		return nil, nil
	}
	use, err := lock(c.path(digest, ".use"), false)
	if err != nil || use == nil { // nil: it is being dropped at this moment
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil { // it was dropped at this moment
		use.Close()
		return nil, nil
	}
	now := c.clock.Now()
	if err := os.Chtimes(use.Name(), now, now); err != nil {
		use.Close()
		return nil, err
	}
	return &File{Path: path, Size: info.Size(), SHA256: digest, use: use}, nil
}
