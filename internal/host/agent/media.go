//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/machine"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

const (
	// mediaFolder is where a full image is mounted. A minimal image is in memory and has no such folder.
	mediaFolder = "/run/media/iso"
	// mediaLimit is how long a read may take: virtual media may hang instead of failing.
	mediaLimit = 20 * time.Second
)

// media is the removable medium that the machine runs from. nil is a machine without one.
type media struct {
	runner machine.Runner
	files  hostfile.Files
	clock  clock.Clock
	log    *slog.Logger

	mu      sync.Mutex
	reading *read // nil if there is none
}

// read is one that all steps wait for that begin or fail meanwhile.
type read struct {
	done chan struct{}
	err  error
}

// lost returns an error if the medium cannot be read. What cannot be found out about it is no error.
func (m *media) lost(ctx context.Context) error {
	if m == nil || !m.files.Exists(mediaFolder) {
		return nil
	}
	device, err := m.device(ctx)
	if err != nil {
		m.log.Warn("it is not known whether the installation medium is there", "error", err)
		return nil
	}
	now := m.start(device)
	limit, cancel := context.WithTimeout(ctx, m.clock.Wall(mediaLimit))
	defer cancel()
	select {
	case <-now.done:
		err = now.err
	case <-limit.Done():
		err = fmt.Errorf("a read takes longer than %s", mediaLimit)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("the installation medium %s cannot be read, it was probably disconnected; connect the virtual media again: %w",
			device, err)
	}
	return nil
}

// start starts a read, unless one goes on: it may hang.
func (m *media) start(device string) *read {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading != nil {
		return m.reading
	}
	now := &read{done: make(chan struct{})}
	m.reading = now
	go func() {
		now.err = readStart(m.files.Path(device))
		m.mu.Lock()
		m.reading = nil
		m.mu.Unlock()
		close(now.done)
	}()
	return now
}

// device is what the medium is mounted from.
func (m *media) device(ctx context.Context) (string, error) {
	result, err := m.runner.Run(ctx, machine.Command{
		Name: "findmnt", Args: []string{"--raw", "--noheadings", "--output", "SOURCE,TARGET", "--target", mediaFolder}, Timeout: mediaLimit,
	})
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(result.Stdout))
	const sourceAndTarget = 2
	if len(fields) < sourceAndTarget {
		return "", errors.New("findmnt names no source of " + mediaFolder)
	}
	if fields[1] != mediaFolder || !strings.HasPrefix(fields[0], "/dev/") {
		return "", fmt.Errorf("%s is mounted on %s, and not a device on %s", escape.Word(fields[0]), escape.Word(fields[1]), mediaFolder)
	}
	return fields[0], nil
}

// readStart reads the first bytes of a device.
func readStart(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.ReadFull(file, make([]byte, 2))
	return err
}
