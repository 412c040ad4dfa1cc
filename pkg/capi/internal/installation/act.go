package installation

import (
	"context"
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// rounds is how often Act decides anew at most: what it did may make more possible at once.
const rounds = 6

// Act carries out the actions of some scopes of a Cluster's plan, in their order, and looks again
// while that makes more of them possible. It returns the view afterwards, as View does, and what was done.
// An action that fails ends it: the error is its own, and is remembered, so that it is not
// tried again before its time. Others are looked at by the next call.
func (s *Set) Act(ctx context.Context, cluster Key, scopes ...model.Scope) (*View, []model.Action, error) {
	i, err := s.get(cluster)
	if err != nil {
		return nil, nil, err
	}
	if len(scopes) > 0 {
		letGo, err := i.hold(ctx, scopes[0])
		if err != nil {
			return nil, nil, err
		}
		defer letGo()
	}
	var done []model.Action
	for range rounds {
		view, err := i.look(ctx)
		if err != nil {
			return view, done, err
		}
		acted := false
		for _, action := range view.Plan.Actions {
			if !slices.Contains(scopes, action.Scope) {
				continue
			}
			err := i.client.Act(ctx, view.Desired, view.Observed, action)
			if err != nil && context.Cause(ctx) != nil {
				return view, done, err // nothing was refused
			}
			i.mu.Lock()
			i.memory.Note(action, err, view.Observed.At)
			i.changed++
			if err == nil && (action.Kind == model.RemoveHost || action.Kind == model.ReturnHost) {
				i.leftOut[action.Name] = leftOut{id: action.Target, why: action.Reason, at: view.Observed.At, pooled: action.Kind == model.ReturnHost}
			}
			i.mu.Unlock()
			if err != nil {
				return view, done, err
			}
			acted, done = true, append(done, action)
		}
		if !acted {
			return view, done, nil
		}
	}
	view, err := s.View(ctx, cluster)
	return view, done, err
}

// hold keeps others from acting on what begins with the same scope, until it is let go of.
func (i *installation) hold(ctx context.Context, scope model.Scope) (letGo func(), err error) {
	i.mu.Lock()
	if i.acting[scope] == nil {
		i.acting[scope] = newLock()
	}
	held := i.acting[scope]
	i.mu.Unlock()
	if err := held.Lock(ctx); err != nil {
		return nil, fmt.Errorf("wait for what is done to %s of Cluster %s: %w", scope, i.key, err)
	}
	return held.Unlock, nil
}
