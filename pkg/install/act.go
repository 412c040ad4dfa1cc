package install

import (
	"context"
	"fmt"
	"sync"

	"github.com/oaictl/oaictl/internal/model"
)

// sideBySide is how many scopes are acted on at once.
const sideBySide = 8

// act carries out a plan's actions: those of one scope in their order, scopes
// side by side. It returns how many succeeded.
func (r *run) act(ctx context.Context, actions []Action) int {
	var scopes []Scope
	byScope := map[Scope][]Action{}
	for _, a := range actions {
		if byScope[a.Scope] == nil {
			scopes = append(scopes, a.Scope)
		}
		byScope[a.Scope] = append(byScope[a.Scope], a)
	}
	var (
		group sync.WaitGroup
		done  int
		mu    sync.Mutex
		slots = make(chan struct{}, sideBySide)
	)
	for _, scope := range scopes {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			for _, a := range byScope[scope] {
				err := r.one(ctx, a)
				if err != nil {
					return // what follows in this scope stands on it
				}
				mu.Lock()
				done++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return done
}

// one carries out one action and tells of it.
func (r *run) one(ctx context.Context, a Action) error {
	err := r.Client.act(ctx, r.desired, r.latest.Observed, a, r.tell)
	if context.Cause(ctx) != nil && err != nil {
		return err // the run is being left; nothing was refused
	}
	event := Event{Type: model.EventAction, Host: model.HostOf(a.Scope), Key: a.Key, State: "done", Reason: string(a.Kind), Message: a.Describe()}
	if err != nil {
		event.State, event.Severity = "failed", model.SeverityWarning
		if model.ForGood(err) {
			event.Severity = model.SeverityError
		}
		event.Message = fmt.Sprintf("could not %s: %v", a.Task(), err)
		event.Next = model.NextOf(err)
	}
	r.noting.Lock()
	r.memory.Note(a, err, r.now())
	r.noting.Unlock()
	r.tell(event)
	return err
}
