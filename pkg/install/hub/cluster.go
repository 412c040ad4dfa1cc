package hub

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// clusterMemory is what is remembered of one cluster between observations. Losing it
// costs a repeated look at most.
type clusterMemory struct {
	mu      sync.Mutex
	state   install.ClusterState
	started time.Time   // of the install
	failed  []time.Time // preparations that failed, oldest first
	// unprepared are the hosts that could not prepare the last time, with what the
	// service says of each: their Agents say so for some seconds.
	unprepared map[string]string
	// booted is when a machine was last seen to begin anew: its Agent stays the
	// same object.
	booted map[string]time.Time
	before map[string]install.HostState
	ca     map[string]string // certificates by the id of their Secret
}

func newClusterMemory() *clusterMemory {
	return &clusterMemory{
		unprepared: map[string]string{}, booted: map[string]time.Time{}, before: map[string]install.HostState{},
		ca: map[string]string{},
	}
}

// memoryOf is the memory of a cluster.
func (p *Plane) memoryOf(id string) *clusterMemory {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memories[id] == nil {
		p.memories[id] = newClusterMemory()
	}
	return p.memories[id]
}

// forgetCertificates has certificates read anew: their Secrets are not watched.
func (c *clusterMemory) forgetCertificates() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.ca)
}

func beforeInstall(state install.ClusterState) bool {
	switch state {
	case model.ClusterDraft, model.ClusterDiscovering, model.ClusterBlocked, model.ClusterReady:
		return true
	}
	return false
}

// update learns from an observation what the objects themselves do not keep, and
// adds what was learned before.
func (c *clusterMemory) update(o *install.Observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := o.Cluster
	if now.Preparation.Status == "failed" {
		for _, at := range now.Preparation.FailedAt {
			if !slices.ContainsFunc(c.failed, at.Equal) {
				c.failed = append(c.failed, at)
			}
		}
	}
	if c.state == model.ClusterPreparing && beforeInstall(now.State) && !slices.ContainsFunc(now.Preparation.FailedAt, func(at time.Time) bool { return o.At.Sub(at) < time.Minute }) {
		c.failed = append(c.failed, o.At) // the condition is about files, and does not tell of hosts
	}
	for i := range o.Hosts {
		switch h := &o.Hosts[i]; h.Status {
		case "preparing-failed":
			c.unprepared[h.ID] = h.StatusInfo
		case "preparing-successful":
			delete(c.unprepared, h.ID)
		}
	}
	if now.State == model.ClusterInstalling {
		c.failed = nil // what was prepared then was no failure
		clear(c.unprepared)
	}
	now.Preparation.FailedAt, now.Preparation.Hosts = slices.Clone(c.failed), maps.Clone(c.unprepared)
	switch {
	case beforeInstall(now.State):
		c.started = time.Time{}
	case c.started.IsZero():
		c.started = now.InstallStarted
	}
	if now.InstallStarted.IsZero() || !c.started.IsZero() && c.started.Before(now.InstallStarted) {
		now.InstallStarted = c.started
	}
	c.state = now.State
	for i := range o.Hosts {
		h := &o.Hosts[i]
		if was, known := c.before[h.ID]; known && was != h.State && h.State == model.HostDiscovering {
			c.booted[h.ID] = h.Since
		}
		c.before[h.ID] = h.State
		if at := c.booted[h.ID]; at.After(h.Registered) {
			h.Registered = at
		}
	}
}
