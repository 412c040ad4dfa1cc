package kubetest

import (
	"errors"
	"os"
	"path/filepath"
)

// scratch is the folder of a hub's data, certificates and logs: some hundred
// megabytes. A test that is killed cannot remove it; the next one does, which knows
// by a lock that its owner is gone.
type scratch struct {
	folder string
	owner  *os.File // locked as long as the process lives
}

const (
	scratchName = "oaictl-kubetest-"
	ownerName   = "owner"
)

// newScratch makes a folder within another, and removes those there that were left
// behind.
func newScratch(within string) (*scratch, error) {
	abandoned, err := filepath.Glob(filepath.Join(within, scratchName+"*", ownerName))
	if err != nil {
		return nil, err
	}
	for _, owner := range abandoned {
		if err := removeAbandoned(owner); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp(within, scratchName)
	if err != nil {
		return nil, err
	}
	s := &scratch{folder: folder}
	if err := s.own(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// own locks the folder. The lock has its name only when it is held, for whoever
// looks for those that are not.
func (s *scratch) own() error {
	var err error
	if s.owner, err = os.CreateTemp(s.folder, ownerName+"-"); err != nil {
		return err
	}
	if _, err := tryLock(s.owner); err != nil {
		return err
	}
	return os.Rename(s.owner.Name(), filepath.Join(s.folder, ownerName))
}

// remove removes the folder, and what is in it.
func (s *scratch) remove() error {
	err := os.RemoveAll(s.folder)
	if s.owner != nil {
		err = errors.Join(err, s.owner.Close())
	}
	return err
}

// removeAbandoned removes a folder that nobody has locked. Another user's, and one
// that somebody else is just removing, are left alone.
func removeAbandoned(owner string) error {
	file, err := os.Open(owner)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if free, err := tryLock(file); err != nil || !free {
		return err
	}
	return os.RemoveAll(filepath.Dir(owner))
}
