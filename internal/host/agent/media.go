//go:build linux

package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/host/hostfile"
	"github.com/oaictl/oaictl/internal/host/mountinfo"
	"github.com/oaictl/oaictl/internal/shared/clock"
)

const (
	// mediaFolder is where a full image is mounted. A minimal image is in memory and has no such folder.
	mediaFolder = "/run/media/iso"
	mountsFile  = "/proc/self/mountinfo"
	// mediaLimit is how long a read may take: virtual media may hang instead of failing.
	mediaLimit = 20 * time.Second
)

// media is the removable medium that the machine runs from. nil is a machine without one.
type media struct {
	files hostfile.Files
	clock clock.Clock
	log   *slog.Logger

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
	device, err := m.device()
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
func (m *media) device() (string, error) {
	content, err := m.files.Read(mountsFile)
	if err != nil {
		return "", err
	}
	source := mountSource(string(content), mediaFolder)
	if !strings.HasPrefix(source, "/dev/") {
		return "", fmt.Errorf("%q is mounted on %s, which is no device", source, mediaFolder)
	}
	return source, nil
}

// mountSource is what is mounted on a folder, "" if it is no mount point. The last mount hides the others.
func mountSource(mounts, folder string) string {
	found := ""
	for _, mount := range mountinfo.Parse(mounts) {
		if mount.Point == folder && mount.Source != "" {
			found = mount.Source
		}
	}
	return found
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
