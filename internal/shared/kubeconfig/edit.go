package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Locked is that something else has a kubeconfig locked.
type Locked struct{ Lock string }

func (l *Locked) Error() string {
	return fmt.Sprintf("it is locked by %s: kubectl or something like it changes it just now, or left that behind", l.Lock)
}

// How long the lock of a kubeconfig is waited for, and how often it is looked for. Who holds
// it writes one file.
const (
	lockWait = 5 * time.Second
	lockLook = 100 * time.Millisecond
)

// Read reads a kubeconfig. One that is not there is an empty one.
func Read(path string) (*Config, error) {
	text, err := textOf(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Edit changes a kubeconfig: change gets what the file has and returns its new text, nil for no change. change may be
// called twice, the second time under the lock that kubectl respects. The file is replaced as a whole, keeps its owner,
// and only the owner can read it; a link to it stays a link. A missing folder is made with mode 0700.
func Edit(ctx context.Context, clock clock.Clock, path string, change func(have *Config) (text []byte, err error)) error {
	changed := func() ([]byte, error) {
		have, err := Read(path)
		if err != nil {
			return nil, err
		}
		return change(have)
	}
	if text, err := changed(); err != nil || text == nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	real, err := behindLinks(path)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, clock, path, real)
	if err != nil {
		return err
	}
	defer unlock()
	text, err := changed()
	if err != nil || text == nil {
		return err
	}
	return replace(real, text)
}

// textOf is the content of a file, nil where it is not there.
func textOf(path string) ([]byte, error) {
	real, err := behindLinks(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	case info.Size() > Largest:
		return nil, fmt.Errorf("it is no kubeconfig: it has more than %d MiB", Largest>>20)
	}
	return os.ReadFile(real)
}

// behindLinks is the file that a path leads to, which need not be there unless a link names
// it.
func behindLinks(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink == 0:
		return path, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("it is a link to a file that is not there")
	}
	return real, err
}

// lock makes the files by which kubectl tells others that it writes: that of the path, and
// where links lead elsewhere, of the file there.
func lock(ctx context.Context, clock clock.Clock, paths ...string) (unlock func(), err error) {
	slices.Sort(paths)
	var held []string
	unlock = func() {
		for _, name := range held {
			_ = os.Remove(name)
		}
	}
	for _, path := range slices.Compact(paths) {
		name := path + ".lock"
		if err := lockOne(ctx, clock, name); err != nil {
			unlock()
			return nil, err
		}
		held = append(held, name)
	}
	return unlock, nil
}

func lockOne(ctx context.Context, clock clock.Clock, name string) error {
	for end := clock.Now().Add(lockWait); ; {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0)
		if err == nil {
			return file.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if !clock.Now().Before(end) {
			return &Locked{name}
		}
		if err := clock.Sleep(ctx, lockLook); err != nil {
			return err
		}
	}
}

// replace gives a file other content, at once.
func replace(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(text)
	if err == nil {
		err = likeBefore(file, path)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// likeBefore makes a file its owner's who has the one at path. Who may not write that one may
// not replace it either.
func likeBefore(file *os.File, path string) error {
	before, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = before.Close() }()
	return keepOwner(file, before)
}
