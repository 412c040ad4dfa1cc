package extent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// staged is a file on its way to its name: it has none yet, or a private one.
type staged struct {
	*os.File
	target  string // the name that it shall have
	private string // the name that it has or may get until then
	named   bool   // it has the private name now
}

// stage opens an empty file in target's folder, and removes what a killed
// process may have left of the same target.
func stage(target string, mode fs.FileMode) (*staged, error) {
	private := privateName(target)
	if err := removeAbandoned(private); err != nil {
		return nil, err
	}
	if file, err := openUnnamed(filepath.Dir(target), mode); err == nil {
		return hold(&staged{File: file, target: target, private: private})
	}
	return stageNamed(target, private, mode)
}

// stageNamed is stage for filesystems where each file has a name.
func stageNamed(target, private string, mode fs.FileMode) (*staged, error) {
	file, err := os.OpenFile(private, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		err = ErrBusy
	}
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		// The private name would tell nobody anything.
		err = fmt.Errorf("creating a file in %s: %w", filepath.Dir(target), pathErr.Err)
	}
	if err != nil {
		return nil, err
	}
	return hold(&staged{File: file, target: target, private: private, named: true})
}

// privateName is where a file is kept that shall become target. It is the same
// each time, so that the next run finds what was left, and short enough for any
// folder.
func privateName(target string) string {
	sum := sha256.Sum256([]byte(filepath.Base(target)))
	return filepath.Join(filepath.Dir(target), ".oaictl-"+hex.EncodeToString(sum[:8])+".partial")
}

// hold locks the staged file, so that no other process takes it for abandoned.
func hold(s *staged) (*staged, error) {
	if err := lock(s.File); err != nil {
		s.Close() // whoever holds the lock is about to remove the file
		return nil, err
	}
	return s, nil
}

// publish gives the file its name, all at once.
func (s *staged) publish(overwrite bool) error {
	if !s.named {
		err := linkUnnamed(s.File, s.target)
		if err == nil || !overwrite || !errors.Is(err, fs.ErrExist) {
			return err
		}
		// A link replaces nothing, a rename does, and needs a name to rename.
		if err := linkUnnamed(s.File, s.private); err != nil {
			if errors.Is(err, fs.ErrExist) {
				err = ErrBusy
			}
			return err
		}
		s.named = true
	}
	rename := renameNew
	if overwrite {
		rename = os.Rename
	}
	if err := s.closeToRename(); err != nil {
		return err
	}
	if err := rename(s.private, s.target); err != nil {
		return err
	}
	s.named = false
	return nil
}

// discard lets go of the file; without a name of its own it is gone then.
func (s *staged) discard() {
	if s.named {
		// Some systems remove no open file, others must not let go of the lock first.
		if os.Remove(s.private) != nil {
			s.Close()
			os.Remove(s.private)
		}
	}
	s.Close()
}

// linkNew gives a file a new name by a second link, where there are such: that
// fails where the name is taken. Else it looks first, and then renames.
func linkNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil {
		return os.Remove(from)
	}
	if errors.Is(err, fs.ErrExist) {
		return fs.ErrExist
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
}
