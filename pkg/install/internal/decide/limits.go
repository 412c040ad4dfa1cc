package decide

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// fileWithin is how long a failing check that only the file can cure is waited for:
// many fail for a while and pass.
const fileWithin = 5 * time.Minute

// limit reports whether a loop ends with this plan, and if not, when it would. What begins to stand, or to be waited
// for, counts from when the loop first saw it, or from the service's own date where that is later.
func (p *planner) limit() {
	plan := &p.plan
	if code, ended := EndCode(plan.Verdict); ended {
		if code != 0 {
			plan.Fault = p.fault(code, plan.Message, plan.Next)
		}
		return
	}
	if total := p.desired.Options.Timeout; total > 0 && !p.memory.Began.IsZero() && p.reached(p.memory.Began.Add(total)) {
		plan.Fault = OutOfTime(p.desired, p.observed, plan, p.memory, fmt.Sprintf("not done after %s", total))
		return
	}
	for i := range plan.Blockers {
		b := &plan.Blockers[i]
		if b.Cure == model.CureAnswer && p.othersGoOn(b) {
			continue
		}
		if code, within, ends := p.patience(b.Cure); ends && p.over(b.Key, b.Since, within) {
			plan.Fault = p.blockedFault(b, code)
			return
		}
	}
	for i := range plan.Waits {
		w := &plan.Waits[i]
		if w.Who == model.WhoUser && w.Until.IsZero() && p.desired.Options.UserTimeout > 0 && p.over(w.StandingKey(), w.Since, p.desired.Options.UserTimeout) {
			plan.Fault = p.fault(model.CodeNeedsUser, fmt.Sprintf("waited %s for %s", p.desired.Options.UserTimeout, w.For), waitAdvice(w, p.name()))
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
func (p *planner) patience(cure model.Cure) (code model.Code, within time.Duration, ends bool) {
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
		return model.CodeNeedsUser, p.desired.Options.UserTimeout, p.desired.Options.UserTimeout > 0
	}
	return 0, 0, false
}

// othersGoOn reports whether the loop makes progress with something else than what a blocker is about: an action, also
// one that is to be tried again, a wait, or a person who may still help another host.
func (p *planner) othersGoOn(b *model.Blocker) bool {
	if refusal := p.memory.RefusalOf(p.plan); !p.idle() || refusal != nil && !refusal.Permanent {
		return true
	}
	another := func(s model.Scope) bool { return s.Host() != b.Scope.Host() }
	return slices.ContainsFunc(p.plan.Waits, func(w model.Wait) bool { return another(w.Scope) }) ||
		p.desired.Options.UserTimeout > 0 && slices.ContainsFunc(p.plan.Blockers, func(other model.Blocker) bool {
			return other.Cure == model.CurePerson && another(other.Scope)
		})
}

// over reports whether something has stood for too long.
func (p *planner) over(key string, since time.Time, within time.Duration) bool {
	first := cmp.Or(p.memory.Standing[key], p.memory.LastObserved)
	if own := since.Add(-p.memory.Ahead); own.After(first) {
		first = own
	}
	return p.reached(first.Add(within))
}

// reached reports whether a limit is reached, and keeps the nearest one that is not.
func (p *planner) reached(limit time.Time) bool {
	if !p.memory.LastObserved.Before(limit) {
		return true
	}
	if p.plan.Deadline.IsZero() || limit.Before(p.plan.Deadline) {
		p.plan.Deadline = limit
	}
	return false
}

func (p *planner) fault(code model.Code, message string, next model.Advice) *model.Fault {
	return &model.Fault{Code: code, Op: Op(p.desired), On: p.full(), Err: errors.New(message), Next: OrGiveUp(next, p.observed, &p.plan)}
}

// OrGiveUp is advice with how what has begun of a removal is taken back.
func OrGiveUp(next model.Advice, observed *model.Observed, plan *model.Plan) model.Advice {
	if back := nodes.GiveUp(observed, plan); back != "" {
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
func (p *planner) blockedFault(b *model.Blocker, code model.Code) *model.Fault {
	all := p.plan.Blockers
	if b.Cure == model.CurePerson {
		b = &all[slices.IndexFunc(all, func(b model.Blocker) bool { return b.Cure == model.CurePerson })]
	}
	message := b.Message
	if b.Field != "" {
		if file, line, column := p.whole.Position(fieldByIndex(p.whole, b)); line > 0 {
			message = fmt.Sprintf("%s (%s:%d:%d: %s)", message, file, line, column, b.Field)
		}
	}
	return p.fault(code, message+besides(b, all), b.Remedy)
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
		return cmp.Or(w.Next, "see to that, and run the same command again")
	}
	if strings.HasPrefix(string(w.Scope), string(model.ScopeNode.Of(""))) {
		return cmp.Or(w.Next, "see to that") + ", and run the same command again"
	}
	return "see to that, and run the same command again; the discovery image: " + cmp.Or(w.Next, model.Command("download iso", cluster))
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
		text += "; the installation goes on without oaictl"
	}
	return &model.Fault{Code: model.CodeTimeout, Op: Op(desired), On: desired.FullName(), Err: errors.New(text), Next: OrGiveUp("run the same command again, which goes on from here", observed, plan)}
}
