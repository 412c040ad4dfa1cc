package host

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// nodes is which machines run their installed system, and how far they are on
// the way to being a ready node of their cluster.
type nodes struct {
	mu     sync.Mutex
	byHost map[string]node
}

type node struct {
	ignition, configuring, joined, ready time.Time
}

func newNodes() *nodes { return &nodes{byHost: map[string]node{}} }

// boot notes that a host has left the installer for its disk.
func (n *nodes) boot(host string, at time.Time, vary func(time.Duration) time.Duration) {
	var x node
	x.ignition = at.Add(vary(diskBootTime))
	x.configuring = x.ignition.Add(vary(ignitionTime))
	x.joined = x.configuring.Add(vary(joinTime))
	x.ready = x.joined.Add(vary(readyTime))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.byHost[host] = x
}

func (n *nodes) forget(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.byHost, host)
}

func (n *nodes) get(host string) (node, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	x, ok := n.byHost[host]
	return x, ok
}

func (x node) reached(stage string, at time.Time) bool {
	var due time.Time
	switch stage {
	case stageWaitIgnition:
		due = x.ignition
	case stageConfiguring:
		due = x.configuring
	case stageJoined:
		due = x.joined
	case stageDone:
		due = x.ready
	default:
		return false
	}
	return !due.After(at)
}

// advance reports the stages of a host that runs its installed system, as the
// cluster sees it coming, no further than upTo. It returns the stage that the
// host is in then.
func (f *Fleet) advance(ctx context.Context, h hostView, upTo string) string {
	stage := h.Progress.CurrentStage
	if h.Status == "error" || h.Status == "cancelled" {
		return stage
	}
	place := slices.Index(h.ProgressStages, stage)
	if place < 0 || place < slices.Index(h.ProgressStages, stageRebooting) {
		return stage
	}
	x, known := f.nodes.get(h.ID)
	l := f.lifeOf(h.ID)
	switch {
	case !known && l != nil:
		return stage // in the firmware, in the ISO, or without power
	case !known:
		// A machine that some other process simulates, or a real one: nobody
		// here knows more than that it has rebooted.
		f.nodes.boot(h.ID, f.now(), func(d time.Duration) time.Duration { return d })
		return stage
	}
	for _, next := range h.ProgressStages[place+1:] {
		if !x.reached(next, f.now()) || l != nil && l.lost(ctx) {
			break
		}
		if err := putProgress(ctx, f.api, h.InfraEnvID, h.ID, next, ""); err != nil {
			f.logf("controller: cannot report %s of %s: %v", next, h.RequestedHostname, err)
			break
		}
		stage = next
		if l != nil {
			l.logf("stage %s", next)
			l.enter(next)
		}
		if next == upTo {
			break
		}
	}
	return stage
}

// lost tells whether a trouble keeps a node from going on, and carries out one that makes it fail.
func (l *life) lost(ctx context.Context) bool {
	if t := l.trouble(scenario.DoFail); t != nil {
		if l.report(ctx, stageFailed, t.rule.Args.String("reason", "node did not come up")) == nil {
			l.finish(t)
		}
		return true
	}
	return l.trouble(scenario.DoStall, scenario.DoPowerOff) != nil
}

func (f *Fleet) lifeOf(host string) *life {
	for _, l := range f.lives {
		if l.spec.UUID == host {
			return l
		}
	}
	return nil
}
