package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
)

// detached says whether a run that waits for nothing may leave: not while an
// action is still to be tried again, and not without saying what it could not do.
func (r *run) detached(plan Plan) (done bool, err error) {
	retry := r.memory.RefusalOf(plan)
	if retry == nil {
		return !inserting(r.latest.Observed), nil
	}
	if retry.Last.Sub(retry.First) < firstContact {
		return false, nil
	}
	return true, &Fault{
		Code: cmp.Or(retry.Code, model.CodeFailure), Op: decide.Op(r.desired), On: r.desired.FullName(), Err: errors.New(retry.Error),
		Next: Advice(cmp.Or(retry.Next, "run the same command again in a while")),
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

// bound is the context of everything that a run does: requests under way end with
// its time, too, as the run's clock tells it. A fast one may run slower for a while.
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
func (r *run) wall(d time.Duration) time.Duration {
	if c, other := r.clock.(interface {
		Wall(d time.Duration) time.Duration
	}); other {
		return c.Wall(d)
	}
	return d
}

// lastResults fetches what a run whose time is up was about to save.
func (r *run) lastResults(ctx context.Context, ended error) {
	if ended == nil || model.CodeOf(ended) != model.CodeTimeout {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), max(r.wall(resultsWithin), resultsAtLeast))
	defer done()
	saves := slices.DeleteFunc(slices.Clone(r.latest.Plan.Actions), func(a Action) bool {
		return a.Kind != model.SaveNoIngress && a.Kind != model.SaveKubeconfig && a.Kind != model.SavePassword
	})
	r.act(ctx, saves)
}

// outOfTime is the end of a run that has no more time.
func (r *run) outOfTime() *Fault { return r.outOfTimeAs(fmt.Sprintf("not done after %s", r.timeout)) }

func (r *run) outOfTimeAs(text string) *Fault {
	return decide.OutOfTime(r.desired, r.latest.Observed, &r.latest.Plan, r.memory, text)
}

// Interrupt causes a context to end with a signal's exit code.
type Interrupt struct {
	Signal string // "interrupt", "terminated"
	Code   Code
}

func (i *Interrupt) Error() string { return "stopped by signal: " + i.Signal }

// left is the error of a run that could not look or wait: because it was told
// to stop, or because of err.
func (r *run) left(ctx context.Context, err error) error {
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
	return &Fault{Code: code, Op: "watch", On: r.desired.FullName(), Err: cause, Next: "run the same command again, which goes on from here; nothing was undone"}
}

func (r *run) lastEvent(result Result, err error) Event {
	code := result.ExitCode
	event := Event{Type: model.EventRun, Key: "run/end", State: string(result.Verdict), ExitCode: &code, Message: result.Plan.Message, Next: result.Plan.Next}
	if r.until != nil {
		event.State, event.Message, event.Next = r.until.Name, "", ""
	}
	if err != nil {
		event.Severity, event.Message, event.Next = model.SeverityError, err.Error(), model.NextOf(err)
		switch model.CodeOf(err) {
		case model.CodeTimeout:
			event.State = "timed-out"
		case model.CodeNeedsUser:
			event.State = "needs-user"
		case model.CodeInterrupted, model.CodeTerminated:
			event.State = "interrupted"
		case model.CodeFailed, model.CodeDegraded:
		default:
			if !slices.Contains([]Verdict{model.VerdictBlocked, model.VerdictUnknown}, result.Verdict) {
				event.State = "error"
			}
		}
	}
	return event
}

// inserting says whether a BMC is at an insertion, which would end with the run.
func inserting(o *Observed) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(o.Machines)), func(s MachineState) bool { return s.Inserting })
}
