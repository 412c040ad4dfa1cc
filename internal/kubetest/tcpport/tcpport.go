// Package tcpport reserves TCP ports for programs that can only be given a number, which tests start.
package tcpport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/oaictl/oaictl/internal/shared/filelock"
)

// Reservation holds TCP ports. A port that the system chooses for a listener is free again once the
// listener is closed, and the next connection may take it. Reserved ports are below the range that
// systems choose from, and a lock of a file keeps other reservations from them, in this process and in
// others. It is safe for concurrent use.
type Reservation struct {
	folder string // of the locks, which all processes of a user share

	mu    sync.Mutex
	locks []*os.File
}

// New returns a reservation without ports.
func New() *Reservation {
	return &Reservation{folder: filepath.Join(os.TempDir(), fmt.Sprintf("oaictl-ports-%d", os.Getuid()))}
}

// The range is below the dynamic ports of Linux (from 32768) and of macOS and Windows (from 49152).
const (
	firstPort = 20000
	portCount = 10000
)

// Port reserves a port on which no program listens, on any address. It is reserved until Release, or
// until the process ends.
func (r *Reservation) Port(ctx context.Context) (int, error) {
	return r.reserveFrom(ctx, firstPort+rand.IntN(portCount))
}

// reserveFrom reserves the first port that is free, from start on.
func (r *Reservation) reserveFrom(ctx context.Context, start int) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return 0, fmt.Errorf("reserve a port: %w", err)
	}
	for i := range portCount {
		port := firstPort + (start-firstPort+i)%portCount
		file, err := r.lock(port)
		if err != nil {
			return 0, fmt.Errorf("reserve port %d: %w", port, err)
		}
		if file == nil {
			continue
		}
		if listener, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf(":%d", port)); err == nil {
			r.locks = append(r.locks, file)
			return port, listener.Close()
		}
		if err := errors.Join(file.Close(), ctx.Err()); err != nil {
			return 0, fmt.Errorf("reserve port %d: %w", port, err)
		}
	}
	return 0, fmt.Errorf("reserve a port: all from %d to %d are in use", firstPort, firstPort+portCount-1)
}

// lock returns nil where another test has reserved the port.
func (r *Reservation) lock(port int) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(r.folder, strconv.Itoa(port)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if free, err := filelock.Try(file, true); err != nil || !free {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Release frees all ports.
func (r *Reservation) Release() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for _, file := range r.locks {
		err = errors.Join(err, file.Close())
	}
	r.locks = nil
	return err
}

// Address is a reserved port on loopback, as HOST:PORT.
func (r *Reservation) Address(ctx context.Context) (string, error) {
	port, err := r.Port(ctx)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}
