package clusterloop

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	// idly is the longest time between two looks at an installed cluster: see [install.Loop.Pause].
	idly = 2 * time.Minute
	// again is when the next look comes after one that has failed.
	again = 10 * time.Second
	// burst is how long changes that come together are gathered, in real time, to spare the processor.
	burst = 100 * time.Millisecond
)

// Start makes changes of installations wake the reconcilers that they concern, until ctx ends. It returns then.
func (s *Set) Start(ctx context.Context) error {
	s.mu.Lock()
	s.life = ctx
	for _, i := range s.of {
		s.begin(i)
	}
	s.mu.Unlock()
	for s.config.Clock.Sleep(ctx, unusedFor) == nil {
		s.closeUnused()
	}
	s.mu.Lock()
	s.ended = true // before the wait for the loops: a caller that is still at work must not begin another one meanwhile
	s.mu.Unlock()
	s.loops.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var closing sync.WaitGroup // each waits for its watches to end
	for _, i := range s.of {
		if closer, has := i.nodes.(interface{ Close() }); has {
			closing.Go(closer.Close)
		}
	}
	closing.Wait()
	for _, c := range s.services {
		c.service.Close()
	}
	return nil
}

// unusedFor is the least time since a service was last asked for, before its watches are ended: longer than any caller
// uses it.
const unusedFor = 10 * time.Minute

// closeUnused closes the services that watch namespaces in which nothing is installed.
func (s *Set) closeUnused() {
	s.mu.Lock()
	used := map[string]bool{}
	for key := range s.of {
		used[key.Namespace] = true
	}
	var closing []install.Backend
	for namespace, c := range s.services {
		if _, watches := c.service.(install.Notifier); watches && !used[namespace] && s.config.Clock.Now().Sub(c.used) >= unusedFor {
			delete(s.services, namespace)
			closing = append(closing, c.service)
		}
	}
	s.mu.Unlock()
	for _, service := range closing {
		service.Close()
	}
}

// DropUnused is for a process that does not lead, where no loop finds out what is not needed any more: it drops the
// installations that were not asked for in a while, and closes the services that are left without any.
func (s *Set) DropUnused() {
	var unused []*installation
	s.mu.Lock()
	for _, i := range s.of {
		if s.life == nil && s.config.Clock.Now().Sub(i.used) >= unusedFor {
			unused = append(unused, i)
		}
	}
	s.mu.Unlock()
	for _, i := range unused {
		s.drop(i)
	}
	s.closeUnused()
}

// begin starts the loop of an installation, if there is a life for it. s.mu is held.
func (s *Set) begin(i *installation) {
	if s.life == nil || s.ended || i.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(s.life)
	i.stop = stop
	s.loops.Go(func() { i.follow(ctx) })
}

// follow looks at an installation whenever it may have changed, and wakes the reconcilers that this concerns.
func (i *installation) follow(ctx context.Context) {
	for ctx.Err() == nil {
		i.turn(ctx)
	}
}

// turn is one look, and the pause after it. A panic concerns one Cluster, and would end the process, which serves all.
func (i *installation) turn(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			i.set.config.Log.Error(fmt.Errorf("panic: %v", p), "cannot look at a Cluster", "cluster", i.key.String(), "stack", string(debug.Stack()))
			_ = i.set.config.Clock.Sleep(ctx, again) // the end cuts it short, which the loop sees by itself
		}
	}()
	service, nodes := i.loop.Changed() // before the look, so that no change is lost
	view, err := i.observePatiently(ctx)
	if ctx.Err() != nil {
		return
	}
	told := view != nil && i.tell(view)
	switch {
	case err == nil:
	case errors.Is(err, ErrGone): // as after a move, which takes objects away without a word
		i.set.drop(i) // which ends ctx
		return
	case !errors.Is(err, ErrNotYet) && !IsRefusal(err):
		i.set.config.Wake(i.key, []model.Scope{model.ScopeCluster}) // its reconciler says why
	}
	if service == nil && view != nil {
		if service, _ = i.loop.Changed(); service != nil {
			return // only now it is known what is to be followed
		}
	}
	pause := i.loop.Pause(told)
	if err != nil {
		pause = min(pause, again)
	}
	_, _ = i.loop.Await(ctx, pause, service, nodes) // a change, or the end, cuts it short
	_ = clock.Real().Sleep(ctx, burst)              // which the loop sees by itself
}

// observePatiently is observe as the loop does it.
func (i *installation) observePatiently(ctx context.Context) (*View, error) {
	if err := i.looking.Lock(ctx); err != nil {
		return nil, err
	}
	defer i.looking.Unlock()
	return i.observe(ctx, true)
}

// tell wakes the scopes in which a view differs from the last one, and reports whether there were any.
func (i *installation) tell(view *View) bool {
	now := view.Fingerprints()
	var scopes []model.Scope
	for scope, mark := range now {
		if i.told[scope] != mark {
			scopes = append(scopes, scope)
		}
	}
	for scope := range i.told {
		if _, there := now[scope]; !there {
			scopes = append(scopes, scope)
		}
	}
	i.told = now
	if len(scopes) == 0 {
		return false
	}
	slices.Sort(scopes)
	i.set.config.Wake(i.key, scopes)
	return true
}
