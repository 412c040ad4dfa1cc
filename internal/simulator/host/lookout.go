package host

import (
	"context"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
)

// lookout reads the service on behalf of all machines, so that many of them
// waiting for the same thing cost one request.
type lookout struct {
	api   *client
	clock clock.Clock

	mu   sync.Mutex
	seen map[string]*look
}

type look struct {
	mu       sync.Mutex
	at       time.Time
	cluster  clusterView
	infraEnv infraEnvView
	hosts    []hostView
	err      error
}

func newLookout(api *client, c clock.Clock) *lookout {
	return &lookout{api: api, clock: c, seen: map[string]*look{}}
}

// read is the resource at path, at most age old.
func (l *lookout) read(ctx context.Context, path string, age time.Duration, into func(*look) any) *look {
	l.mu.Lock()
	k := l.seen[path]
	if k == nil {
		k = &look{}
		l.seen[path] = k
	}
	l.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || l.clock.Now().Sub(k.at) > age {
		fresh := look{}
		fresh.err = l.api.get(ctx, path, into(&fresh))
		k.cluster, k.infraEnv, k.hosts, k.err = fresh.cluster, fresh.infraEnv, fresh.hosts, fresh.err
		k.at = l.clock.Now()
	}
	return &look{cluster: k.cluster, infraEnv: k.infraEnv, hosts: k.hosts, err: k.err}
}

// clusterAt is the cluster with its hosts, at most age old.
func (l *lookout) clusterAt(ctx context.Context, id string, age time.Duration) (clusterView, error) {
	k := l.read(ctx, clusterPath(id), age, func(k *look) any { return &k.cluster })
	return k.cluster, k.err
}

// host is one host of an infra-env, at most age old; an absent one is a 404.
func (l *lookout) host(ctx context.Context, infraEnv, id string, age time.Duration) (hostView, error) {
	k := l.read(ctx, infraEnvPath(infraEnv)+"/hosts", age, func(k *look) any { return &k.hosts })
	if k.err != nil {
		return hostView{}, k.err
	}
	for _, h := range k.hosts {
		if h.ID == id {
			return h, nil
		}
	}
	return hostView{}, &statusError{Status: 404, Reason: "the service no longer lists host " + id}
}

func (l *lookout) infraEnvAt(ctx context.Context, id string, age time.Duration) (infraEnvView, error) {
	k := l.read(ctx, infraEnvPath(id), age, func(k *look) any { return &k.infraEnv })
	return k.infraEnv, k.err
}
