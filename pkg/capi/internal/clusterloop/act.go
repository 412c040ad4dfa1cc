package clusterloop

import (
	"context"
	"fmt"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// rounds is how often Act decides anew at most: what it did may make more possible at once.
const rounds = 6

// Act carries out the actions of some scopes of a Cluster's plan, and looks again while that makes more of them possible. It
// returns the view afterwards, as View does, and the actions that succeeded. An action that fails ends it: the error is that
// of the action, and is remembered, so that the action is not tried again before its time.
func (s *Set) Act(ctx context.Context, cluster Key, scopes ...model.Scope) (*View, []model.Action, error) {
	i, err := s.get(cluster)
	if err != nil {
		return nil, nil, err
	}
	if len(scopes) == 0 {
		view, err := i.look(ctx)
		return view, nil, err
	}
	release, err := i.hold(ctx, scopes[0])
	if err != nil {
		return nil, nil, err
	}
	defer release()
	var done []model.Action
	for range rounds {
		view, err := i.look(ctx)
		if err != nil {
			return view, done, err
		}
		acted, err := i.loop.Act(ctx, view.Look, scopes...)
		if len(acted) > 0 || err != nil {
			i.noteActed(view.Observed.At, acted)
		}
		done = append(done, acted...)
		if err != nil || len(acted) == 0 {
			return view, done, err
		}
	}
	view, err := s.View(ctx, cluster)
	return view, done, err
}

// noteActed records actions: the next look is a new one, and the hosts that they took out of the cluster are left out.
func (i *installation) noteActed(at time.Time, acted []model.Action) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.changed++
	for _, a := range acted {
		if a.Kind == model.RemoveHost || a.Kind == model.ReturnHost {
			i.leftOut[a.Name] = leftOut{id: a.Target, why: a.Reason, at: at, pooled: a.Kind == model.ReturnHost}
		}
	}
}

// hold keeps other calls of Act that begin with the same scope waiting until it is released.
func (i *installation) hold(ctx context.Context, scope model.Scope) (release func(), err error) {
	i.mu.Lock()
	if i.acting[scope] == nil {
		i.acting[scope] = newLock()
	}
	held := i.acting[scope]
	i.mu.Unlock()
	if err := held.Lock(ctx); err != nil {
		return nil, fmt.Errorf("wait for the action on %s of Cluster %s: %w", scope, i.key, err)
	}
	return held.Unlock, nil
}
