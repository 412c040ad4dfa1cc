package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Result is how a run ended.
type Result struct {
	Verdict  Verdict
	Plan     Plan
	Observed *Observed
	ExitCode int
}

// How often a run looks, and how long it bears what it cannot change.
const (
	soonest        = time.Second
	latest         = 10 * time.Second
	blockedBear    = 5 * time.Minute  // a failing validation that only the file can cure
	firstContact   = 45 * time.Second // a service that has never answered
	detailInterval = 10 * time.Minute // everything is read anew this often
)

// run is one run of the loop.
type run struct {
	*Installer
	desired  *Desired
	memory   *memory
	watch    *watcher
	offset   time.Duration // service's clock minus ours
	started  time.Time
	standing map[string]time.Time // blocker key → first seen
	telling  sync.Mutex
	quiet    time.Duration // how long nothing has changed
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
	r.emit(e)
}

// Run observes, decides and acts until the cluster is installed, has failed,
// or needs a person for too long. The error of every unsuccessful end is a
// *Fault whose Code is the exit code. When ctx ends, nothing is undone: a
// later Run goes on from there.
func (i *Installer) Run(ctx context.Context, desired *Desired) (Result, error) {
	return i.loop(ctx, desired, false)
}

// Detach carries out every action that needs no waiting and leaves.
func (i *Installer) Detach(ctx context.Context, desired *Desired) (Result, error) {
	return i.loop(ctx, desired, true)
}

func (i *Installer) loop(ctx context.Context, desired *Desired, detach bool) (Result, error) {
	own := *desired
	r := &run{Installer: i, desired: &own, memory: newMemory(), standing: map[string]time.Time{}, started: i.clock.Now()}
	r.watch = newWatcher(r.tell)

	result, err := r.steps(ctx, detach)
	if err != nil && context.Cause(ctx) != nil {
		err = r.interrupted(ctx)
	}
	result.ExitCode = 0
	if err != nil {
		result.ExitCode = int(CodeOf(err))
	}
	r.tell(r.lastEvent(result, err))
	return result, err
}

// steps is the loop itself.
func (r *run) steps(ctx context.Context, detach bool) (Result, error) {
	var (
		result     Result
		lastDetail time.Time
	)
	for {
		detail := r.clock.Now().Sub(lastDetail) >= detailInterval
		observed, err := r.look(ctx, result.Observed, detail)
		if err != nil {
			return result, err
		}
		if detail {
			lastDetail = r.clock.Now()
		}
		if r.desired.Options.Started.IsZero() {
			r.desired.Options.Started = observed.At
		}
		observed.Standing = standing(r.desired, result.Observed, observed)
		plan := Decide(r.desired, observed, observed.At)
		r.memory.apply(&plan, observed.At)
		changed := r.watch.see(r.desired, result.Observed, observed, plan)
		result.Observed, result.Plan, result.Verdict = observed, plan, plan.Verdict

		if done, err := r.verdict(plan); done || err != nil {
			return result, err
		}
		if len(plan.Actions) > 0 {
			if r.act(ctx, plan.Actions) > 0 {
				r.quiet = 0
				continue
			}
		} else if detach {
			return result, nil
		}
		if err := r.limits(plan, observed.At); err != nil {
			return result, err
		}
		if err := r.clock.Sleep(ctx, r.pause(changed)); err != nil {
			return result, err
		}
	}
}

// look observes, and bears a service that does not answer for a while.
func (r *run) look(ctx context.Context, prior *Observed, detail bool) (*Observed, error) {
	began := r.clock.Now()
	for wait := soonest; ; wait = min(2*wait, latest) {
		observed, err := r.observe(ctx, r.desired, prior, detail)
		if err == nil && observed.Stale != "" {
			// What was written since does not show in an old picture: deciding
			// on it would write it again.
			err = &Fault{Op: "look at", On: r.name(), Err: errors.New(observed.Stale), Next: "check that the service runs and can be reached"}
		}
		if err == nil {
			r.offset = observed.At.Sub(r.clock.Now())
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
		if prior == nil && since >= firstContact {
			return nil, err
		}
		if late := r.timedOut(); late != nil {
			return nil, fmt.Errorf("%w; the service does not answer: %w", late, err)
		}
		r.watch.silent(err)
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
	return min(latest, max(soonest, r.quiet/2))
}

// verdict says whether the plan is an end.
func (r *run) verdict(plan Plan) (done bool, err error) {
	end := func(code Code) error {
		return &Fault{Code: code, Op: "install", On: r.name(), Err: errors.New(plan.Message), Next: plan.Next}
	}
	switch plan.Verdict {
	case VerdictInstalled:
		return true, nil
	case VerdictDegraded:
		return true, end(CodeDegraded)
	case VerdictFailed, VerdictCancelled:
		return true, end(CodeFailed)
	case VerdictUnknown:
		return true, end(CodeFailure)
	}
	return false, nil
}

func (r *run) name() string {
	return r.desired.Spec.Metadata.Name + "." + r.desired.Spec.Spec.BaseDomain
}

// limits ends the run when a blocker has stood for too long, or all of it has
// taken too long.
func (r *run) limits(plan Plan, now time.Time) error {
	seen := map[string]time.Time{}
	for _, b := range plan.Blockers {
		first, known := r.standing[b.Key]
		if !known {
			first = now
		}
		seen[b.Key] = first
		if err := r.limit(b, now.Sub(first)); err != nil {
			return err
		}
	}
	r.standing = seen
	return r.timedOut()
}

// limit says whether a blocker that has stood for so long ends the run.
func (r *run) limit(b Blocker, stood time.Duration) error {
	end := func(code Code) error {
		message := b.Message
		if b.Field != "" {
			if file, line, column := r.desired.Spec.Position(specField(r.desired.Spec, b.Field)); line > 0 {
				message = fmt.Sprintf("%s (%s:%d:%d: %s)", message, file, line, column, b.Field)
			}
		}
		return &Fault{Code: code, Op: "install", On: r.name(), Err: errors.New(message), Next: b.Remedy}
	}
	switch b.Cure {
	case CureNow:
		return end(CodeInput)
	case CureOwner:
		return end(CodeNotFound)
	case CureAuth:
		return end(CodeAuth)
	case CureNone:
		return end(CodeFailure)
	case CureFile:
		if stood >= blockedBear {
			return end(CodeBlocked)
		}
	case CurePerson:
		if r.userTimeout > 0 && stood >= r.userTimeout {
			return end(CodeNeedsUser)
		}
	}
	return nil
}

func (r *run) timedOut() error {
	if r.timeout <= 0 || r.clock.Now().Sub(r.started) < r.timeout {
		return nil
	}
	return &Fault{
		Code: CodeTimeout, Op: "install", On: r.name(), Err: fmt.Errorf("not done after %s; the installation goes on without oaictl", r.timeout),
		Next: "run the same command again, which goes on from here",
	}
}

// Interrupt causes a context to end with a signal's exit code.
type Interrupt struct {
	Signal string // "interrupt", "terminated"
	Code   Code
}

func (i *Interrupt) Error() string { return "stopped by signal: " + i.Signal }

func (r *run) interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	var interrupt *Interrupt
	code := CodeInterrupted
	if errors.As(cause, &interrupt) {
		code = interrupt.Code
	}
	return &Fault{Code: code, Op: "watch", On: r.name(), Err: cause, Next: "run the same command again, which goes on from here; nothing was undone"}
}

func (r *run) lastEvent(result Result, err error) Event {
	code := result.ExitCode
	event := Event{Type: EventRun, Key: "run/end", State: string(result.Verdict), ExitCode: &code, Message: result.Plan.Message, Next: result.Plan.Next}
	if err != nil {
		event.Severity, event.Message, event.Next = SeverityError, err.Error(), NextOf(err)
		switch CodeOf(err) {
		case CodeTimeout:
			event.State = "timed-out"
		case CodeNeedsUser:
			event.State = "needs-user"
		case CodeInterrupted, CodeTerminated:
			event.State = "interrupted"
		case CodeFailed, CodeDegraded:
		default:
			if !slices.Contains([]Verdict{VerdictBlocked, VerdictUnknown}, result.Verdict) {
				event.State = "error"
			}
		}
	}
	return event
}

// specField is a field with hosts by their place instead of their name, as
// the file's positions are kept.
func specField(c *spec.Cluster, field string) string {
	for i := range c.Spec.Hosts {
		if rest, ok := strings.CutPrefix(field, "spec.hosts["+c.Spec.Hosts[i].Name+"]"); ok {
			return fmt.Sprintf("spec.hosts[%d]%s", i, rest)
		}
	}
	return field
}
