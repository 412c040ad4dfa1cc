//go:build linux

package installer

import (
	"context"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/mcslog"
)

const (
	configServerLogs = "/var/log/containers/*machine-config-server*.log"
	watchEvery       = 30 * time.Second
	// chunkSize is how much of a log is read at once.
	chunkSize = 1 << 20
)

// ignitionWatch follows the logs of the machine-config-server on this machine.
type ignitionWatch struct {
	read map[string]int64 // bytes of each log that were read
	seen map[netip.Addr]bool
	told map[netip.Addr]bool
}

// watchIgnition posts hosts as configuring when their Ignition has asked for its config, until ctx ends.
func (r *run) watchIgnition(ctx context.Context) {
	w := ignitionWatch{read: map[string]int64{}, seen: map[netip.Addr]bool{}, told: map[netip.Addr]bool{}}
	for r.Clock.Sleep(ctx, watchEvery) == nil {
		if err := w.readLogs(r.Files.Path(configServerLogs)); err != nil {
			r.Log.Warn("the log of the machine-config-server cannot be read", "why", r.text(err))
		}
		if len(w.seen) == len(w.told) {
			continue
		}
		hosts, err := r.otherHosts(ctx)
		if err != nil {
			r.Log.Warn("hosts that got their Ignition config are not posted as configuring yet", "why", r.text(err))
			continue
		}
		for _, h := range hosts {
			if slices.ContainsFunc(h.addresses, func(a netip.Addr) bool { return w.seen[a] && !w.told[a] }) {
				r.postConfiguring(ctx, h)
			}
		}
		maps.Copy(w.told, w.seen)
	}
}

// postConfiguring posts a host that has asked for its config. A worker that asks the bootstrap gets it only later.
func (r *run) postConfiguring(ctx context.Context, h clusterHost) {
	past := []models.HostStage{
		models.HostStageConfiguring, models.HostStageWaitingForIgnition, models.HostStageJoined, models.HostStageDone,
	}
	if slices.Contains(past, stageOf(h.Host)) {
		return
	}
	stage := models.HostStageConfiguring
	if h.Role == models.HostRoleWorker {
		stage = models.HostStageWaitingForIgnition
	}
	r.postFor(ctx, *h.ID, stage, "")
}

// readLogs reads what was added to the logs.
func (w *ignitionWatch) readLogs(pattern string) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := w.readLog(path); err != nil {
			return err
		}
	}
	return nil
}

func (w *ignitionWatch) readLog(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < w.read[path] {
		w.read[path] = 0 // another file of this name
	}
	chunk := make([]byte, chunkSize)
	for {
		n, err := file.ReadAt(chunk, w.read[path])
		whole := mcslog.Addresses(chunk[:n], w.seen)
		if whole == 0 && n == len(chunk) {
			whole = n // a line that is longer than any that counts
		}
		w.read[path] += int64(whole)
		if whole == 0 || err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
