package install

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Result is how a run ended.
type Result struct {
	Verdict  model.Verdict   // of the last plan
	Plan     model.Plan      // the last one
	Observed *model.Observed // what it was decided on, nil if the service never answered
	ExitCode int             // 0 for success, else the code of the error
}

// How long a run waits for what it cannot change.
const (
	firstContact   = 45 * time.Second // a service that has never answered
	firstAttempts  = 8                // and as often, of one that answers with errors
	wrongAnswers   = 10 * time.Minute // answers in a row that are not the service's: a proxy gives some while the service starts
	detailInterval = 10 * time.Minute // everything is read anew this often
)

// run is one run of the loop.
type run struct {
	*Client
	desired   *model.Desired
	turns     *Loop
	watch     *watcher
	started   time.Time
	latest    Result // as of the last look
	reporting sync.Mutex
	silence   silence
	looked    time.Time     // when all was observed last
	took      time.Duration // how long that took, and what was decided on it
	requests  requests
	question  *question  // that a person is being asked; nil for none
	until     *Condition // what is only waited for; nil: it is brought about
}

// now is the present moment on the service's clock.
func (r *run) now() time.Time {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	return r.turns.now()
}

func (r *run) report(e model.Event) {
	r.reporting.Lock()
	defer r.reporting.Unlock()
	e.V, e.Cluster = 1, r.desired.Spec.Metadata.Name
	if e.Time.IsZero() {
		e.Time = r.now()
	}
	if e.Severity == "" {
		e.Severity = model.SeverityInfo
	}
	r.silence.event(e, r.clock.Now())
	r.emit(e)
}

// Run observes, decides and acts until the cluster is installed, has failed,
// or needs a person for too long. The error of every unsuccessful end is a
// *Fault whose Code is the exit code. When ctx ends, nothing is undone: a
// later Run continues from there.
func (client *Client) Run(ctx context.Context, desired *model.Desired) (Result, error) {
	return client.newRun(desired).loop(ctx, nil, false)
}

// Detach carries out every action that needs no waiting and leaves: the waits
// and blockers of the result's plan say what is left. Its error is nil even
// where a person is needed, but not where the install has failed, nor where an
// action was refused.
func (client *Client) Detach(ctx context.Context, desired *model.Desired) (Result, error) {
	return client.newRun(desired).loop(ctx, nil, true)
}

// Wait looks, and writes nothing, until a condition holds of a cluster that was observed, or can hold no more. The
// cluster is taken as it is, with the hosts that it has, even if oaictl did not make it.
func (client *Client) Wait(ctx context.Context, observed *model.Observed, until Condition) (Result, error) {
	r := client.newRun(asObserved(observed))
	r.until = &until
	return r.loop(ctx, observed, false)
}

// Condition is what is waited for.
type Condition struct {
	Name string // "installed", "3 hosts"
	Met  func(*model.Observed) bool
	// Whole says that an installed cluster that is degraded ends the wait as degraded.
	Whole bool
	// Regardless says that a blocker of the installation does not keep the condition from being met.
	Regardless bool
}

// waited reports whether a wait is over: its condition holds, or it can hold no more.
func (r *run) waited(plan model.Plan) (ended bool, err error) {
	observed := r.latest.Observed
	degraded := plan.Verdict == model.VerdictDegraded
	_, over := decide.EndCode(plan.Verdict)
	switch {
	case observed.Cluster != nil && r.until.Met(observed):
		if degraded && r.until.Whole {
			return true, plan.Fault
		}
		return true, nil
	case plan.Fault == nil || degraded:
		return false, nil
	case r.until.Regardless && observed.Cluster != nil && !over && plan.Fault.Code != model.CodeTimeout:
		return false, nil
	}
	return true, plan.Fault
}

func (client *Client) newRun(desired *model.Desired) *run {
	r := &run{Client: client, desired: client.limited(desired), turns: client.NewLoop(), started: client.clock.Now()}
	r.turns.report, r.watch = r.report, newWatcher(r.report)
	return r
}

// loop runs to its end. first is an observation that was made already, nil for none.
func (r *run) loop(ctx context.Context, first *model.Observed, detach bool) (Result, error) {
	bounded, release := r.bound(ctx)
	defer release()
	result, err := r.steps(bounded, first, detach)
	if r.question != nil {
		r.question.withdraw()
	}
	r.lastResults(ctx, err)
	result.ExitCode = 0
	if err != nil {
		result.ExitCode = int(model.FaultOf(err).Code)
	}
	r.report(r.lastEvent(result, err))
	return result, err
}

// limited is what is desired, with the Client's limits.
func (client *Client) limited(desired *model.Desired) *model.Desired {
	own := *desired
	own.Options.Timeout, own.Options.UserTimeout = client.timeout, client.userTimeout
	return &own
}

// steps is the loop itself.
func (r *run) steps(ctx context.Context, first *model.Observed, detach bool) (Result, error) {
	for {
		began := r.clock.Now()
		observed, err := first, error(nil)
		if first = nil; observed == nil {
			observed, err = r.observePatiently(ctx)
			r.looked = r.clock.Now()
		}
		if err != nil {
			return r.latest, r.stopError(ctx, err)
		}
		if r.until != nil && observed.Cluster != nil {
			observed = taken(observed)
			r.desired = r.limited(asObserved(observed))
		}
		look := r.turns.Decide(r.desired, observed)
		if look.missing && look.Plan.Fault == nil { // nothing is reported, and everything asked for anew
			if err := r.clock.Sleep(ctx, soonest); err != nil {
				return r.latest, r.stopError(ctx, err)
			}
			continue
		}
		plan := look.Plan
		changed := !look.missing && r.watch.reportChanges(r.desired, r.latest.Observed, observed, plan)
		r.latest = Result{Observed: observed, Plan: plan, Verdict: plan.Verdict}
		r.requestsSeen(ctx, observed, plan)
		if !detach && r.asked(ctx, observed, plan) {
			first = observed
			continue
		}
		acted, ended, err := r.proceed(ctx, look, detach)
		if ended || err != nil {
			return r.latest, err
		}
		if acted { // what it led to is observed before anything is reported
			continue
		}
		r.stillThere(plan)
		r.took = r.clock.Now().Sub(began)
		pause := r.turns.Pause(changed)
		if !plan.Deadline.IsZero() {
			pause = min(pause, plan.Deadline.Sub(r.clock.Now()))
		}
		glance, err := r.await(ctx, pause)
		if err == nil && glance && r.clock.Now().Sub(r.looked) < seldom {
			first, err = r.glance(ctx, observed)
		}
		if err != nil {
			return r.latest, r.stopError(ctx, err)
		}
	}
}

// proceed carries out what is to be done. Where nothing was, it says whether that is the
// end.
func (r *run) proceed(ctx context.Context, look Look, detach bool) (acted, ended bool, err error) {
	if r.until != nil {
		ended, err = r.waited(look.Plan)
		return false, ended, err
	}
	if done, _ := r.turns.Act(ctx, look); len(done) > 0 { // the memory and the events have the errors
		return true, false, nil
	}
	if ended, err = look.Plan.Ended(); !ended && detach && context.Cause(ctx) == nil { // all that there was to do was refused just now
		ended, err = r.detached(look.Plan)
	}
	return false, ended, err
}

// observePatiently observes, and puts up with a service that does not answer for a while.
func (r *run) observePatiently(ctx context.Context) (*model.Observed, error) {
	began, first := r.clock.Now(), r.turns.Last().Observed == nil
	var wrongSince time.Time // the first of the answers in a row that are not the service's
	for wait, attempts := soonest, 1; ; wait, attempts = min(2*wait, seldom), attempts+1 {
		seen := clock.Freeze(r.clock) // an observation is one moment: a fast clock waits for it
		observed, err := r.turns.Observe(ctx, r.desired)
		seen()
		if err == nil && observed.Stale != "" {
			// What was written since does not show in an old observation: deciding
			// on it would write it again.
			err = &model.Fault{Op: "look at", On: r.desired.FullName(), Err: errors.New(observed.Stale),
				Next: "check that the service runs and can be reached"}
			if observed.StaleFault != nil && observed.StaleFault.Foreign {
				err = observed.StaleFault
			}
		}
		if err == nil {
			if r.watch.silence {
				r.turns.noteError("")
			}
			r.watch.answered()
			return observed, nil
		}
		if context.Cause(ctx) != nil {
			return nil, err
		}
		var fault *model.Fault
		if errors.As(err, &fault) && (fault.Permanent || fault.Code == model.CodeAuth) {
			return nil, err
		}
		since := r.clock.Now().Sub(began)
		answers := fault != nil && fault.Status != 0
		if first && since >= firstContact && (!answers || attempts >= firstAttempts) {
			return nil, err
		}
		switch now := r.clock.Now(); {
		case fault == nil || !fault.Foreign:
			wrongSince = time.Time{}
		case wrongSince.IsZero():
			wrongSince = now
		case now.Sub(wrongSince) >= wrongAnswers:
			return nil, r.notTheService(fault, now.Sub(wrongSince))
		}
		if r.timeout > 0 && r.clock.Now().Sub(r.started) >= r.timeout {
			return nil, fmt.Errorf("%w; the service does not answer: %w", r.outOfTime(), err)
		}
		r.turns.noteError(err.Error())
		r.watch.silent(err)
		r.stillSilent(err)
		if err := r.clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}
