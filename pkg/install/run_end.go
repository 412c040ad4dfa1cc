package install

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// verdict says whether the plan is an end.
func (r *run) verdict(plan Plan) (done bool, err error) {
	end := func(code Code) error {
		return &Fault{Code: code, Op: r.op(), On: r.name(), Err: errors.New(plan.Message), Next: plan.Next}
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

// op is what the run is about, for its errors.
func (r *run) op() string {
	if r.desired.Options.AddNodes {
		return "add nodes to"
	}
	return "install"
}

func (r *run) name() string {
	return r.desired.Spec.Metadata.Name + "." + r.desired.Spec.Spec.BaseDomain
}

// detached says whether a run that waits for nothing may leave: not while an
// action is still to be tried again, and not without saying what it could not do.
func (r *run) detached(plan Plan, retry *refusal) (done bool, err error) {
	for _, b := range plan.Blockers {
		if err := r.limit(b, 0); err != nil {
			return true, err
		}
	}
	if retry == nil {
		return !inserting(r.latest.Observed), nil
	}
	if retry.at.Sub(retry.first) < firstContact {
		return false, nil
	}
	return true, &Fault{
		Code: CodeOf(retry.err), Op: r.op(), On: r.name(), Err: retry.err,
		Next: firstOf(NextOf(retry.err), "run the same command again in a while"),
	}
}

// limits ends the run when a blocker, or a person, has been waited for too long.
func (r *run) limits(plan Plan) error {
	now, seen := r.clock.Now(), map[string]time.Time{}
	stood := func(key string) time.Duration {
		first, known := r.standing[key]
		if !known {
			first = now
		}
		seen[key] = first
		return now.Sub(first)
	}
	for _, b := range plan.Blockers {
		waited := stood(b.Key)
		if b.Cure == CurePerson {
			b = foremost(plan.Blockers)
		}
		if err := r.limit(b, waited); err != nil {
			return err
		}
	}
	for _, w := range plan.Waits {
		if w.Who != WhoUser || !w.Until.IsZero() {
			continue
		}
		if waited := stood("wait/" + w.Key); r.userTimeout > 0 && waited >= r.userTimeout {
			return &Fault{
				Code: CodeNeedsUser, Op: r.op(), On: r.name(), Err: fmt.Errorf("waited %s for %s", r.userTimeout, w.For),
				Next: seeTo(w, r.desired.Spec.Metadata.Name),
			}
		}
	}
	// Another attempt to prepare is no cure: only an install that runs is.
	if first, stood := r.standing[keyPreparation]; stood {
		if o := r.latest.Observed; o != nil && o.Cluster != nil && (o.Cluster.State.beforeInstall() || o.Cluster.State == ClusterPreparing) {
			seen[keyPreparation] = first
		}
	}
	r.standing = seen
	return nil
}

// seeTo is the advice to whoever a wait is for.
func seeTo(w Wait, cluster string) string {
	if strings.HasPrefix(w.Key, keyHold) {
		return firstOf(w.Next, "see to that, and run the same command again")
	}
	return "see to that, and run the same command again; the discovery image: " + firstOf(w.Next, "oaictl download iso "+cluster)
}

// foremost is the first thing that a person is to see to. Others may have been
// seen before it, as its consequences: hosts miss a machine's answers before
// the service calls it disconnected.
func foremost(blockers []Blocker) Blocker {
	return blockers[slices.IndexFunc(blockers, func(b Blocker) bool { return b.Cure == CurePerson })]
}

// limit says whether a blocker that has stood for so long ends the run.
func (r *run) limit(b Blocker, stood time.Duration) error {
	end := func(code Code) error {
		message := b.Message
		if b.Field != "" {
			if file, line, column := r.desired.Spec.Position(placeOf(r.desired.Spec, b)); line > 0 {
				message = fmt.Sprintf("%s (%s:%d:%d: %s)", message, file, line, column, b.Field)
			}
		}
		return &Fault{Code: code, Op: r.op(), On: r.name(), Err: errors.New(message + besides(b, r.latest.Plan.Blockers)), Next: b.Remedy}
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

// besides are the other things that stand in the way when a blocker ends the run. What
// takes too long may well wait for the first, and is left out.
func besides(b Blocker, all []Blocker) string {
	const most = 4
	var texts []string
	for _, other := range all {
		if other.Key != b.Key && other.Message != b.Message && !slow(other) {
			texts = append(texts, other.Message)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	rest := ""
	if more := len(texts) - most; more > 0 {
		texts, rest = texts[:most], fmt.Sprintf("; and %d more", more)
	}
	return "; besides, " + strings.Join(texts, "; ") + rest
}

// errOutOfTime is why the context of a run ends that has taken too long.
var errOutOfTime = errors.New("the run has no more time")

// resultsBear is how long the results of an installed cluster may take to be fetched
// once the time is up, on a fast clock at least leastBear.
const (
	resultsBear = 30 * time.Second
	leastBear   = 5 * time.Second
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
	if ended == nil || CodeOf(ended) != CodeTimeout {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), max(r.wall(resultsBear), leastBear))
	defer done()
	saves := slices.DeleteFunc(slices.Clone(r.latest.Plan.Actions), func(a Action) bool {
		return a.Kind != SaveNoIngress && a.Kind != SaveKubeconfig && a.Kind != SavePassword
	})
	r.act(ctx, saves)
}

// timedOut ends a run that has taken too long, and says what it waited for.
func (r *run) timedOut() error {
	if r.timeout <= 0 || r.clock.Now().Sub(r.started) < r.timeout {
		return nil
	}
	return r.outOfTime(fmt.Sprintf("not done after %s", r.timeout))
}

// outOfTime is the end of a run that has no more time, whoever set the limit. It
// names what was waited for and what last went wrong.
func (r *run) outOfTime(text string) error {
	if message := r.latest.Plan.Message; message != "" {
		text += ", " + message
	}
	if last := r.memory.last(); last != nil {
		text += fmt.Sprintf("; the last error: %v", last)
	}
	if o := r.latest.Observed; o != nil && o.Cluster != nil && o.Cluster.State.running() {
		text += "; the installation goes on without oaictl"
	}
	return &Fault{Code: CodeTimeout, Op: r.op(), On: r.name(), Err: errors.New(text), Next: "run the same command again, which goes on from here"}
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
		return r.outOfTime(text)
	}
	if !errors.As(cause, &interrupt) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return r.outOfTime("not done before the deadline that the caller set")
	}
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

// placeOf is a blocker's field with hosts by their place instead of their name,
// as the file's positions are kept. Of all hosts, it is the first concerned.
func placeOf(c *spec.Cluster, b Blocker) string {
	for i := range c.Spec.Hosts {
		name := c.Spec.Hosts[i].Name
		if rest, ok := strings.CutPrefix(b.Field, "spec.hosts["+name+"]"); ok {
			return fmt.Sprintf("spec.hosts[%d]%s", i, rest)
		}
		if rest, ok := strings.CutPrefix(b.Field, "spec.hosts[]"); ok && slices.Contains(b.Hosts, name) {
			return fmt.Sprintf("spec.hosts[%d]%s", i, rest)
		}
	}
	return b.Field
}
