//go:build unix

package kubeconfig

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner of the one that it replaces: root may change what is a
// user's. That the group cannot be kept does not matter, since it cannot read the file.
func keepOwner(file, before *os.File) error {
	is, err := file.Stat()
	if err != nil {
		return err
	}
	was, err := before.Stat()
	if err != nil {
		return err
	}
	now, known := is.Sys().(*syscall.Stat_t)
	old, knew := was.Sys().(*syscall.Stat_t)
	if !known || !knew || now.Uid == old.Uid && now.Gid == old.Gid {
		return nil
	}
	err = file.Chown(int(old.Uid), int(old.Gid))
	if errors.Is(err, fs.ErrPermission) && now.Uid == old.Uid {
		return nil
	}
	return err
}
