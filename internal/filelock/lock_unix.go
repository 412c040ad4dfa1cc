//go:build unix

// Package filelock locks files against other processes.
package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks an open file for this descriptor, or says that somebody else
// holds it. The kernel gives the lock back when the descriptor is closed.
func Try(f *os.File, exclusive bool) (bool, error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, err
		}
	}
}
