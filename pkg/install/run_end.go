package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// detached reports whether a run that waits for nothing may leave: not while an action is still to be tried again, and
// not without saying what it could not do.
func (r *run) detached(plan model.Plan) (done bool, err error) {
	retry := r.turns.refusalOf(plan)
	if retry == nil {
		return !inserting(r.latest.Observed), nil
	}
	if retry.Last.Sub(retry.First) < firstContact {
		return false, nil
	}
	return true, &model.Fault{
		Code: cmp.Or(retry.Code, model.CodeFailure), Op: decide.Op(r.desired), On: r.desired.FullName(), Err: errors.New(retry.Error),
		Next: model.Advice(cmp.Or(retry.Next, "run the same command again in a while")),
	}
}

// errOutOfTime is why the context of a run ends that has taken too long.
var errOutOfTime = errors.New("the run has no more time")

// resultsWithin is how long the results of an installed cluster may take to be fetched
// once the time is up, on a fast clock at least resultsAtLeast.
const (
	resultsWithin  = 30 * time.Second
	resultsAtLeast = 5 * time.Second
)

// bound is the context of everything that a run does: requests under way end with its time, too, measured by the run's
// clock. A fast one may run slower for a while.
func (r *run) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.timeout <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	until := r.clock.Now().Add(r.timeout)
	go func() {
		for left := r.timeout; left > 0 && ctx.Err() == nil; left = until.Sub(r.clock.Now()) {
			passed, done := context.WithTimeout(ctx, max(r.wall(left), time.Millisecond))
			<-passed.Done()
			done()
		}
		cancel(errOutOfTime) // if it was not ended before
	}()
	return ctx, func() { cancel(nil) }
}

// wall is how long a time is for contexts, which know no other clock than the
// machine's.
func (r *run) wall(d time.Duration) time.Duration { return clock.Of(r.clock).Wall(d) }

// lastResults fetches what a run whose time is up was about to save.
func (r *run) lastResults(ctx context.Context, ended error) {
	if ended == nil || model.FaultOf(ended).Code != model.CodeTimeout {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), max(r.wall(resultsWithin), resultsAtLeast))
	defer done()
	saves := slices.DeleteFunc(slices.Clone(r.latest.Plan.Actions), func(a model.Action) bool {
		return a.Kind != model.SaveNoIngress && a.Kind != model.SaveKubeconfig && a.Kind != model.SavePassword
	})
	// the events have the errors
	_, _ = r.turns.carryOut(ctx, Look{Desired: r.desired, Observed: r.latest.Observed, Plan: r.latest.Plan}, saves)
}

// outOfTime is the end of a run that has no more time.
func (r *run) outOfTime() *model.Fault {
	return r.outOfTimeAs(fmt.Sprintf("not done after %s", r.timeout))
}

func (r *run) outOfTimeAs(text string) *model.Fault {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	return decide.OutOfTime(r.desired, r.latest.Observed, &r.latest.Plan, r.turns.memory, text)
}

// notTheService is the end of a run after something else than the service has answered for that time.
func (r *run) notTheService(fault *model.Fault, since time.Duration) *model.Fault {
	own := *fault
	own.Permanent = true
	text := "for " + spanText(since)
	if o := r.latest.Observed; o != nil && o.Cluster != nil && o.Cluster.State.Running() {
		text += "; the installation continues without oaictl"
	}
	own.Err = fmt.Errorf("%w, %s", fault.Err, text)
	own.Next = fault.Next + "; then run the same command again, which continues from here"
	return &own
}

// Interrupt causes a context to end with a signal's exit code.
type Interrupt struct {
	Signal string // "interrupt", "terminated"
	Code   model.Code
}

func (i *Interrupt) Error() string { return "stopped by signal: " + i.Signal }

// stopError is the error of a run that could not look or wait: because it was stopped, or because of err.
func (r *run) stopError(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		return err
	}
	var interrupt *Interrupt
	if errors.Is(cause, errOutOfTime) {
		text := fmt.Sprintf("not done after %s", r.timeout)
		if !errors.Is(err, errOutOfTime) {
			text = fmt.Sprintf("%s; while it ended: %v", text, err)
		}
		return r.outOfTimeAs(text)
	}
	if !errors.As(cause, &interrupt) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return r.outOfTimeAs("not done before the deadline that the caller set")
	}
	code := model.CodeInterrupted
	if errors.As(cause, &interrupt) {
		code = interrupt.Code
	}
	return &model.Fault{Code: code, Op: "watch", On: r.desired.FullName(), Err: cause,
		Next: decide.OrGiveUp("run the same command again, which continues from here; nothing was undone", r.latest.Observed, &r.latest.Plan)}
}

func (r *run) lastEvent(result Result, err error) model.Event {
	code := result.ExitCode
	event := model.Event{Type: model.EventRun, Key: "run/end", State: string(result.Verdict), ExitCode: &code, Message: result.Plan.Message,
		Next: result.Plan.Next}
	if r.until != nil {
		event.State, event.Message, event.Next = r.until.Name, "", ""
	}
	if err != nil {
		event.Severity, event.Message, event.Next = model.SeverityError, err.Error(), model.FaultOf(err).Next
		switch model.FaultOf(err).Code {
		case model.CodeTimeout:
			event.State = "timed-out"
		case model.CodeNeedsUser:
			event.State = "needs-user"
		case model.CodeInterrupted, model.CodeTerminated:
			event.State = "interrupted"
		case model.CodeFailed, model.CodeDegraded:
		default:
			if !slices.Contains([]model.Verdict{model.VerdictBlocked, model.VerdictUnknown}, result.Verdict) {
				event.State = "error"
			}
		}
	}
	return event
}

// inserting reports whether a BMC is at an insertion, which would end with the run.
func inserting(o *model.Observed) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(o.Machines)), func(s model.MachineState) bool { return s.Inserting })
}

// quietAfter is how long a run says nothing before it says what it still waits for, and
// how long after that it says so again.
const quietAfter = 5 * time.Minute

// reasonQuiet is the reason of the event that says that nothing has happened.
const reasonQuiet = "NothingNew"

// silence is the time since when a run has reported nothing.
type silence struct {
	lastEvent  time.Time // when something was last reported, on our clock
	lastReport time.Time // when the silence was last reported
}

// event begins the silence anew. Overall progress is drawn, and does not count as a report.
func (s *silence) event(e model.Event, now time.Time) {
	if e.Type != model.EventProgress && e.Reason != reasonQuiet {
		s.lastEvent, s.lastReport = now, now
	}
}

// due is how long nothing has been reported, zero while that is not to be reported yet.
func (s *silence) due(now time.Time) time.Duration {
	switch {
	case s.lastEvent.IsZero():
		s.lastEvent, s.lastReport = now, now
	case now.Sub(s.lastReport) >= quietAfter:
		s.lastReport = now
		return now.Sub(s.lastEvent)
	}
	return 0
}

// stillThere says, now and then, what a run waits for in which nothing happens.
func (r *run) stillThere(plan model.Plan) {
	r.remind(func() string {
		switch {
		case len(plan.Blockers) > 0:
			return "in the way: " + foremostOf(plan.Blockers)
		case len(plan.Waits) > 0:
			waits := make([]string, 0, len(plan.Waits))
			for _, w := range plan.Waits {
				waits = append(waits, w.For)
			}
			return "waiting for " + listtext.ListText(waits)
		}
		return plan.Message
	})
}

// foremostOf is the first blocker, and how many there are beside it.
func foremostOf(blockers []model.Blocker) string {
	text := blockers[0].Message
	if more := len(blockers) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// stillSilent says, now and then, that a service goes on not answering.
func (r *run) stillSilent(err error) {
	r.remind(func() string { return "waiting for the service, which does not answer: " + err.Error() })
}

func (r *run) remind(what func() string) {
	r.reporting.Lock()
	quiet := r.silence.due(r.clock.Now())
	r.reporting.Unlock()
	if quiet == 0 {
		return
	}
	r.report(model.Event{Type: model.EventHint, Key: "run/quiet", Reason: reasonQuiet,
		Message: fmt.Sprintf("nothing new for %s: %s", spanText(quiet), what())})
}

// spanText is a span of time in whole minutes.
func spanText(d time.Duration) string {
	minutes := int(d.Minutes())
	if minutes < 120 {
		return fmt.Sprintf("%dm", minutes)
	}
	return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
}
