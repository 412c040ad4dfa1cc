package iso

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Library keeps bases open, so that one that many machines share is read once. A file that was
// replaced or changed since is read anew. The zero value is ready; all methods are safe for
// concurrent use.
type Library struct {
	mu    sync.Mutex
	bases map[string]*shelved
}

// shelved is a base and the file that it was read from, as it was then.
type shelved struct {
	base  *Base
	about fs.FileInfo
}

// Open returns the base at path. It belongs to the library: Close of the library closes it.
//
// A base whose file was replaced stays usable for who has it, and its file is closed once nobody has.
func (l *Library) Open(path string) (*Base, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the image: %w", err)
	}
	about, err := os.Stat(absolute)
	if err != nil {
		return nil, fmt.Errorf("opening the image: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if kept, ok := l.bases[absolute]; ok && kept.is(about) {
		return kept.base, nil
	}
	base, err := Open(path)
	if err != nil {
		return nil, err
	}
	if l.bases == nil {
		l.bases = map[string]*shelved{}
	}
	l.bases[absolute] = &shelved{base: base, about: about}
	return base, nil
}

func (s *shelved) is(now fs.FileInfo) bool {
	return os.SameFile(s.about, now) && s.about.Size() == now.Size() && s.about.ModTime().Equal(now.ModTime())
}

// Close closes all bases of the library, which is empty then.
func (l *Library) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, kept := range l.bases {
		errs = append(errs, kept.base.Close())
	}
	l.bases = nil
	return errors.Join(errs...)
}
