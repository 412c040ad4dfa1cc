//go:build unix

package kubetest

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
)

// lock waits until no other process holds the lock of that name. It is let go when
// a process ends, however it ends.
func lock(ctx context.Context, name string) (func(), error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		got, err := tryLock(file)
		if got {
			return func() { file.Close() }, nil
		}
		if err != nil {
			file.Close()
			return nil, err
		}
		if err := clock.Real().Sleep(ctx, 200*time.Millisecond); err != nil {
			file.Close()
			return nil, err
		}
	}
}

// tryLock takes the lock of a file, unless another process holds it: until the file
// is closed, or the process ends, however it ends.
func tryLock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
