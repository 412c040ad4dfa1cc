package install

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Result is how a run ended.
type Result struct {
	Verdict  Verdict   // of the last plan
	Plan     Plan      // the last one
	Observed *Observed // what it was decided on, nil if the service never answered
	ExitCode int       // 0 for success, else the code of the error
}

// How often a run looks, and how long it waits for what it cannot change.
const (
	soonest        = time.Second
	seldom         = 10 * time.Second
	firstContact   = 45 * time.Second // a service that has never answered
	firstLooks     = 8                // and as many looks, of one that answers with errors
	detailInterval = 10 * time.Minute // everything is read anew this often
)

// run is one run of the loop.
type run struct {
	*Installer
	desired *Desired
	memory  Memory
	noting  sync.Mutex // scopes are acted on side by side
	watch   *watcher
	offset  time.Duration // service's clock minus ours
	started time.Time
	latest  Result // as of the last look
	telling sync.Mutex
	quiet   time.Duration // how long nothing has changed
	silence silence
}

// now is the present moment on the service's clock.
func (r *run) now() time.Time { return r.clock.Now().Add(r.offset) }

func (r *run) tell(e Event) {
	r.telling.Lock()
	defer r.telling.Unlock()
	e.V, e.Cluster = 1, r.desired.Spec.Metadata.Name
	if e.Time.IsZero() {
		e.Time = r.now()
	}
	if e.Severity == "" {
		e.Severity = SeverityInfo
	}
	r.silence.hears(e, r.clock.Now())
	r.emit(e)
}

// Run observes, decides and acts until the cluster is installed, has failed,
// or needs a person for too long. The error of every unsuccessful end is a
// *Fault whose Code is the exit code. When ctx ends, nothing is undone: a
// later Run goes on from there.
func (i *Installer) Run(ctx context.Context, desired *Desired) (Result, error) {
	return i.loop(ctx, desired, false)
}

// Detach carries out every action that needs no waiting and leaves: the waits
// and blockers of the result's plan say what is left. Its error is nil even
// where a person is needed, but not where the install has failed, nor where an
// action was refused.
func (i *Installer) Detach(ctx context.Context, desired *Desired) (Result, error) {
	return i.loop(ctx, desired, true)
}

func (i *Installer) loop(ctx context.Context, desired *Desired, detach bool) (Result, error) {
	r := &run{Installer: i, desired: i.limited(desired), started: i.clock.Now()}
	r.watch = newWatcher(r.tell)

	bounded, release := r.bound(ctx)
	defer release()
	result, err := r.steps(bounded, detach)
	r.lastResults(ctx, err)
	result.ExitCode = 0
	if err != nil {
		result.ExitCode = int(CodeOf(err))
	}
	r.tell(r.lastEvent(result, err))
	return result, err
}

// limited is what is desired, with the Installer's limits.
func (i *Installer) limited(desired *Desired) *Desired {
	own := *desired
	own.Options.Timeout, own.Options.UserTimeout = i.timeout, i.userTimeout
	return &own
}

// steps is the loop itself.
func (r *run) steps(ctx context.Context, detach bool) (result Result, err error) {
	for {
		observed, err := r.look(ctx, result.Observed)
		if err != nil {
			return result, r.left(ctx, err)
		}
		r.memory.Seen(observed, r.clock.Now())
		plan := Decide(r.desired, observed, r.memory, observed.At)
		r.memory.Decided(plan, observed.At)
		if r.memory.Misses > 0 && plan.Fault == nil { // everything is asked for anew, and nothing told
			if result.Observed != nil {
				result.Observed.detailed = time.Time{}
			}
			if err := r.clock.Sleep(ctx, soonest); err != nil {
				return result, r.left(ctx, err)
			}
			continue
		}
		changed := r.memory.Misses == 0 && r.watch.see(r.desired, result.Observed, observed, plan)
		result.Observed, result.Plan, result.Verdict = observed, plan, plan.Verdict
		r.latest = result

		if r.act(ctx, plan.Actions) > 0 { // what it led to is looked at before anything is said of it
			r.quiet = 0
			continue
		}
		if ended, err := plan.Ended(); ended {
			return result, err
		}
		if detach && context.Cause(ctx) == nil { // whatever there was to do was refused just now
			if done, err := r.detached(plan); done || err != nil {
				return result, err
			}
		}
		r.stillThere(plan)
		if err := r.clock.Sleep(ctx, r.pause(changed)); err != nil {
			return result, r.left(ctx, err)
		}
	}
}

// look observes, and bears a service that does not answer for a while.
func (r *run) look(ctx context.Context, prior *Observed) (*Observed, error) {
	began := r.clock.Now()
	for wait, looks := soonest, 1; ; wait, looks = min(2*wait, seldom), looks+1 {
		observed, err := r.Observe(ctx, r.desired, prior)
		if err == nil && observed.Stale != "" {
			// What was written since does not show in an old picture: deciding
			// on it would write it again.
			err = &Fault{Op: "look at", On: r.desired.full(), Err: errors.New(observed.Stale), Next: "check that the service runs and can be reached"}
		}
		if err == nil {
			r.offset = observed.At.Sub(r.clock.Now())
			if r.watch.silence {
				r.memory.LastError = ""
			}
			r.watch.answered()
			return observed, nil
		}
		if context.Cause(ctx) != nil {
			return nil, err
		}
		var fault *Fault
		if errors.As(err, &fault) && (fault.Permanent || fault.Code == CodeAuth) {
			return nil, err
		}
		since := r.clock.Now().Sub(began)
		answers := fault != nil && fault.Status != 0
		if prior == nil && since >= firstContact && (!answers || looks >= firstLooks) {
			return nil, err
		}
		if r.timeout > 0 && r.clock.Now().Sub(r.started) >= r.timeout {
			return nil, fmt.Errorf("%w; the service does not answer: %w", r.outOfTime(), err)
		}
		r.memory.LastError = err.Error()
		r.watch.silent(err)
		r.stillSilent(err)
		if err := r.clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// pause is how long to wait before looking again: soon after a change, ever
// less often while nothing happens.
func (r *run) pause(changed bool) time.Duration {
	if r.poll > 0 {
		return r.poll
	}
	if changed {
		r.quiet = 0
	}
	r.quiet += max(soonest, r.quiet/2)
	return min(seldom, max(soonest, r.quiet/2))
}
