package decide

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// limits says whether a loop ends with the plan.
type limits struct {
	*collector
	desired  *model.Desired
	options  *model.Options
	name     string
	full     string
	observed *model.Observed
	memory   model.Memory
	roster   *roster
}

// fileWithin is how long a failing check that only the file can cure is waited for:
// many fail for a while and pass.
const fileWithin = 5 * time.Minute

// apply reports whether a loop ends with this plan, and if not, when it would. What begins to stand, or to be waited
// for, counts from when the loop first saw it, or from the service's own date where that is later.
func (l *limits) apply() {
	plan := &l.plan
	if code, ended := EndCode(plan.Verdict); ended {
		if code != 0 {
			plan.Fault = l.fault(code, plan.Message, plan.Next)
		}
		return
	}
	if total := l.options.Timeout; total > 0 && !l.memory.Began.IsZero() && l.reached(l.memory.Began.Add(total)) {
		plan.Fault = OutOfTime(l.desired, l.observed, plan, l.memory, fmt.Sprintf("not done after %s", total))
		return
	}
	for i := range plan.Blockers {
		b := &plan.Blockers[i]
		if b.Cure == model.CureAnswer && l.othersGoOn(b) {
			continue
		}
		if code, within, ends := l.patience(b.Cure); ends && l.over(b.Key, b.Since, within) {
			plan.Fault = l.blockedFault(b, code)
			return
		}
	}
	for i := range plan.Waits {
		w := &plan.Waits[i]
		if w.Who == model.WhoUser && w.Until.IsZero() && l.options.UserTimeout > 0 && l.over(w.StandingKey(), w.Since, l.options.UserTimeout) {
			plan.Fault = l.fault(model.CodeNeedsUser, fmt.Sprintf("waited %s for %s", l.options.UserTimeout, w.For), waitAdvice(w, l.name))
			return
		}
	}
}

// EndCode is the exit code of a verdict that is an end.
func EndCode(v model.Verdict) (code model.Code, ended bool) {
	switch v {
	case model.VerdictInstalled:
		return 0, true
	case model.VerdictDegraded:
		return model.CodeDegraded, true
	case model.VerdictFailed, model.VerdictCancelled:
		return model.CodeFailed, true
	case model.VerdictUnknown:
		return model.CodeFailure, true
	}
	return 0, false
}

// patience is how long a blocker is waited for, and with which code it ends a loop.
func (l *limits) patience(cure model.Cure) (code model.Code, within time.Duration, ends bool) {
	switch cure {
	case model.CureNow:
		return model.CodeInput, 0, true
	case model.CureOwner:
		return model.CodeNotFound, 0, true
	case model.CureAuth:
		return model.CodeAuth, 0, true
	case model.CureNone:
		return model.CodeFailure, 0, true
	case model.CureTime:
		return model.CodeTimeout, 0, true
	case model.CureFile:
		return model.CodeBlocked, fileWithin, true
	case model.CureAnswer:
		return model.CodeNeedsUser, 0, true
	case model.CurePerson:
		return model.CodeNeedsUser, l.options.UserTimeout, l.options.UserTimeout > 0
	}
	return 0, 0, false
}

// othersGoOn reports whether the loop makes progress with something else than what a blocker is about: an action, also
// one that is to be tried again, a wait, or a person who may still help another host.
func (l *limits) othersGoOn(b *model.Blocker) bool {
	if refusal := l.memory.RefusalOf(l.plan); !l.idle() || refusal != nil && !refusal.Permanent {
		return true
	}
	another := func(s model.Scope) bool { return s.Host() != b.Scope.Host() }
	return slices.ContainsFunc(l.plan.Waits, func(w model.Wait) bool { return another(w.Scope) }) ||
		l.options.UserTimeout > 0 && slices.ContainsFunc(l.plan.Blockers, func(other model.Blocker) bool {
			return other.Cure == model.CurePerson && another(other.Scope)
		})
}

// over reports whether something has stood for too long.
func (l *limits) over(key string, since time.Time, within time.Duration) bool {
	first := cmp.Or(l.memory.Standing[key], l.memory.LastObserved)
	if own := since.Add(-l.memory.Ahead); own.After(first) {
		first = own
	}
	return l.reached(first.Add(within))
}

// reached reports whether a limit is reached, and keeps the nearest one that is not.
func (l *limits) reached(limit time.Time) bool {
	if !l.memory.LastObserved.Before(limit) {
		return true
	}
	if l.plan.Deadline.IsZero() || limit.Before(l.plan.Deadline) {
		l.plan.Deadline = limit
	}
	return false
}

func (l *limits) fault(code model.Code, message string, next model.Advice) *model.Fault {
	return &model.Fault{Code: code, Op: Op(l.desired), On: l.full, Err: errors.New(message), Next: OrGiveUp(next, l.observed, &l.plan)}
}

// OrGiveUp is advice with how what has begun of a removal is taken back.
func OrGiveUp(next model.Advice, observed *model.Observed, plan *model.Plan) model.Advice {
	if back := nodeplan.GiveUp(observed, plan); back != "" {
		return next + "; " + back
	}
	return next
}

// Op is what a loop does, for its errors.
func Op(d *model.Desired) string {
	switch {
	case d.Options.AddNodes:
		return "add nodes to"
	case d.Options.Remove != nil:
		return "remove nodes from"
	}
	return "install"
}

// blockedFault is the end of a loop with a blocker, or with the first of those that a person has to solve: others may
// have been seen before it, as its consequences, since hosts miss a machine's answers before the service calls it
// disconnected.
func (l *limits) blockedFault(b *model.Blocker, code model.Code) *model.Fault {
	all := l.plan.Blockers
	if b.Cure == model.CurePerson {
		b = &all[slices.IndexFunc(all, func(b model.Blocker) bool { return b.Cure == model.CurePerson })]
	}
	message := b.Message
	if b.Field != "" {
		if file, line, column := l.roster.whole.Position(fieldByIndex(l.roster.whole, b)); line > 0 {
			message = fmt.Sprintf("%s (%s:%d:%d: %s)", message, file, line, column, b.Field)
		}
	}
	return l.fault(code, message+besides(b, all), b.Remedy)
}

// fieldByIndex is a blocker's field with hosts by their index instead of their name,
// as the file's positions are kept. Of all hosts, it is the first concerned.
func fieldByIndex(c *spec.Cluster, b *model.Blocker) string {
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

// besides are the other blockers when a blocker ends a loop. A blocker for a wait that takes too long may well be a
// consequence of the first, and is left out.
func besides(b *model.Blocker, all []model.Blocker) string {
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

// waitAdvice is the advice to the one who has to end a wait.
func waitAdvice(w *model.Wait, cluster string) model.Advice {
	if strings.HasPrefix(w.Key, model.KeyHold) {
		return cmp.Or(w.Next, "do what oaictl waits for, and run the same command again")
	}
	if strings.HasPrefix(string(w.Scope), string(model.ScopeNode.Of(""))) {
		return cmp.Or(w.Next, "do what oaictl waits for") + ", and run the same command again"
	}
	return "do what oaictl waits for, and run the same command again; the " +
		"discovery image: " + cmp.Or(w.Next, model.Command("download iso", cluster))
}

// OutOfTime is the end of a loop that has no more time. It names what was waited for
// and what last went wrong.
func OutOfTime(desired *model.Desired, observed *model.Observed, plan *model.Plan, memory model.Memory, text string) *model.Fault {
	if plan.Message != "" {
		text += ", " + plan.Message
	}
	if memory.LastError != "" {
		text += "; the last error: " + memory.LastError
	}
	if observed != nil && observed.Cluster != nil && observed.Cluster.State.Running() {
		text += "; the installation continues without oaictl"
	}
	return &model.Fault{Code: model.CodeTimeout, Op: Op(desired), On: desired.FullName(), Err: errors.New(text),
		Next: OrGiveUp("run the same command again, which continues from here", observed, plan)}
}
