package hub

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/hub/assisted"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// queue holds the objects to reconcile, each once, in order, some not before their time.
type queue struct {
	mu    sync.Mutex
	order []key
	in    map[key]bool
	later map[key]time.Time
	wake  chan struct{}
}

func newQueue() *queue {
	return &queue{in: map[key]bool{}, later: map[key]time.Time{}, wake: make(chan struct{}, 1)}
}

func (q *queue) add(k key) {
	q.mu.Lock()
	if !q.in[k] {
		q.in[k] = true
		q.order = append(q.order, k)
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// after names an object that is to be reconciled at a time, at the latest.
func (q *queue) after(k key, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if old, waits := q.later[k]; !waits || at.Before(old) {
		q.later[k] = at
	}
}

// take gives all objects whose turn it is, and forgets them.
func (q *queue) take(now time.Time) []key {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k, at := range q.later {
		if now.Before(at) {
			continue
		}
		delete(q.later, k)
		if !q.in[k] {
			q.in[k] = true
			q.order = append(q.order, k)
		}
	}
	taken := q.order
	q.order = nil
	clear(q.in)
	return taken
}

// noticed takes that an object was made, changed or removed.
func (h *hub) noticed(k key) { h.queue.add(k) }

// spread has everything looked at that depends on an object, as the service's watches do.
func (h *hub) spread(k key) {
	switch k.kind {
	case objects.KindAgent:
		h.spreadAgent(k)
	case objects.KindInfraEnv:
		h.addAll(objects.KindBareMetal, k.space)
		h.addAll(objects.KindAgent, k.space)
	case objects.KindNMState:
		h.addAll(objects.KindInfraEnv, k.space)
	case objects.KindImageSet:
		h.addAll(objects.KindCluster, "")
	case objects.KindSecret, objects.KindConfigMap:
		h.addAll(objects.KindCluster, k.space)
		h.addAll(objects.KindInfraEnv, k.space)
	}
}

func (h *hub) spreadAgent(k key) {
	h.addAll(objects.KindClassification, k.space)
	h.addAll(objects.KindBareMetal, k.space)
	agent := h.store.get(objects.KindAgent, k.space, k.id)
	if agent == nil {
		return
	}
	if owner := boundTo(agent); owner.id != "" {
		h.queue.add(owner)
	}
}

func (h *hub) addAll(k objects.Kind, space string) {
	for _, at := range h.store.keys(k, space) {
		h.queue.add(at)
	}
}

// look reads what happened in the service since the last time, and has what it concerns looked at.
func (h *hub) look(ctx context.Context) {
	if h.config.Trouble.ServiceDown {
		return
	}
	now := h.clock.Now()
	all := now.Sub(h.looked) >= max(h.atLeast(refreshEvery, refreshSoon), h.pause)
	if all {
		h.looked = now
		defer func() { h.pause = refreshShare * h.clock.Now().Sub(now) }()
	}
	named, err := h.readLog(ctx)
	if err != nil {
		if ctx.Err() == nil {
			h.logf("read the events of the service: %v", err)
		}
		return
	}
	for k, m := range h.infraEnvs {
		if m.id == "" || !all && !named[m.id] {
			continue
		}
		if err := h.readHosts(ctx, k, m); err != nil && ctx.Err() == nil {
			h.logf("%s: %v", k, err)
		}
	}
	for k, m := range h.clusters {
		if m.id == "" || !all && !named[m.id] {
			continue
		}
		h.lookAtCluster(ctx, k, m)
	}
}

func (h *hub) lookAtCluster(ctx context.Context, k key, m *clusterMemory) {
	before := m.raw
	err := h.readCluster(ctx, m)
	if assisted.IsGone(err) {
		*m = clusterMemory{}
	} else if err != nil {
		if ctx.Err() == nil {
			h.logf("%s: %v", k, err)
		}
		return
	}
	if m.raw != before {
		h.queue.add(k)
	}
}

func (h *hub) readLog(ctx context.Context) (map[string]bool, error) {
	const most = 500
	named := map[string]bool{}
	for {
		var events []struct {
			ClusterID  string `json:"cluster_id"`
			InfraEnvID string `json:"infra_env_id"`
		}
		if err := h.backend.Do(ctx, "GET", fmt.Sprintf("/v2/events?offset=%d&limit=%d", h.seen, most), nil, &events); err != nil {
			return nil, err
		}
		for _, e := range events {
			named[e.ClusterID], named[e.InfraEnvID] = true, true
		}
		h.seen += len(events)
		if len(events) < most {
			return named, nil
		}
	}
}
