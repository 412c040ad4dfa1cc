package decide

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// attempts takes out of the plan what was refused or just done.
type attempts struct {
	*collector
	options  *model.Options
	machines map[string]model.MachineState
	done     map[string]model.Success
	refused  map[string]model.Refusal
	now      time.Time
}

// leaveOut takes out of the plan what was refused and what was just done: what was
// refused for good becomes a blocker, the rest is waited for.
func (t *attempts) leaveOut() {
	kept := t.plan.Actions[:0]
	for _, a := range t.plan.Actions {
		r, refused := t.refused[a.Key]
		refused = refused && r.Inputs == a.Fingerprint()
		stubborn := refused && !r.Permanent && a.Kind.Boots() && r.Attempts >= stubbornAfter
		if stubborn { // while it is tried again, too: no component handles a failure that comes and goes
			t.block(refusedBlocker(r, a))
		}
		switch {
		case refused && r.Permanent:
			t.hinder(a, refusedBlocker(r, a)) // while it is tried again, too
			switch {
			case !rests(r, t.options.Unattended, t.now):
				kept = append(kept, a)
			case t.options.Unattended:
				t.plan.TryAgain(r)
			}
		case stubborn && rests(r, t.options.Unattended, t.now):
			t.plan.TryAgain(r)
		case refused && rests(r, t.options.Unattended, t.now):
			t.plan.TryAgain(r)
			t.wait(model.Wait{
				Key: a.Key + "/retry", Scope: a.Scope, Since: r.Last, Who: a.Who(),
				For: fmt.Sprintf("the next attempt to %s: %s", a.Task(), r.Error),
			})
		case !t.repeated(a):
			kept = append(kept, a)
		}
	}
	t.plan.Actions = kept
}

// repeated reports whether an action was carried out only just now, and is not to be again: the service needs a while
// to show it or, if it never does, does not keep it. Without this a difference that nothing removes would be written
// for ever.
func (t *attempts) repeated(a model.Action) bool {
	s, known := t.done[a.Key]
	if !known || a.Kind.Paced() || !s.Repeats(a, t.now) {
		return false
	}
	again := s.Backoff()
	if a.Kind == model.NudgeCluster {
		again = touchAgain
	}
	if a.Kind.Switches() {
		again = switchWithin
	}
	switch {
	case t.machines[a.Name].Failed == a.Kind && a.Kind.ByBMC(): // it is reported already
		return t.now.Before(s.Last.Add(again))
	case a.Kind.Switches() && !t.now.Before(s.Last.Add(again)):
		t.block(lyingBMC(a, s))
		return true
	case s.Times >= keptAfter && a.Kind.Boots():
		t.block(lyingBMC(a, s))
		return t.now.Before(s.NextAtMost()) // once the BMC is cured, it goes on
	case s.Times >= keptAfter && a.Kind.ByBMC(): // the installation does not depend on it
		t.warn(asWarning(lyingBMC(a, s)))
		return true
	case s.Times >= keptAfter && !a.Kind.Counts():
		t.hinder(a, revertedWrite(a, s))
		return true
	case t.now.Before(s.Last.Add(again)):
		t.wait(model.Wait{
			Key: a.Key + "/shown", Scope: a.Scope, Since: s.Last, Who: a.Who(), For: a.ShownBy() + " to show the result of the last action: " +
				"to " + a.Task(),
		})
		return true
	}
	return false
}

// hinder adds that an action cannot be carried out. A cluster whose end is not
// written down is installed nevertheless.
func (t *attempts) hinder(a model.Action, b model.Blocker) {
	if a.Kind == model.RecordInstalled {
		t.warn(asWarning(b))
		return
	}
	t.block(b)
}

const (
	// keptAfter is how often an action is carried out that the service does not keep.
	keptAfter = 6
	// stubbornAfter is how often a BMC may refuse before a person has to solve that.
	stubbornAfter = 3
)

// reconsiderAfter is how long after a permanent refusal the same call is tried again where no user runs the command
// again: the cause, a quota or a permission, may have been cured, and no event reports that.
const reconsiderAfter = 10 * time.Minute

// rests reports whether what was refused is not to be tried at present.
func rests(r model.Refusal, unattended bool, now time.Time) bool {
	if r.Permanent {
		return !unattended || now.Before(r.Last.Add(reconsiderAfter))
	}
	return now.Before(r.Until)
}

// refusedBlocker is what a refusal for good is to the plan. Where the error has a
// code of its own, the run ends with that.
func refusedBlocker(r model.Refusal, a model.Action) model.Blocker {
	b := model.Blocker{
		Key: a.Key + "/refused", Scope: a.Scope, Reason: "Refused", Cure: model.CureNow, Since: r.First, Remedy: model.Advice(r.Next),
		Message: fmt.Sprintf("could not %s: %s", a.Task(), r.Error),
	}
	if a.Kind.ByBMC() { // a person handles that machine, and the others go on
		b.Cure, b.Hosts, b.Remedy = model.CurePerson, []string{a.Name}, cmp.Or(b.Remedy, model.Advice("look at the BMC of "+a.Name))
		return b
	}
	switch r.Code {
	case model.CodeAuth:
		b.Cure = model.CureAuth
	case model.CodeNotFound:
		b.Cure = model.CureOwner
	case model.CodeFailure:
		b.Cure = model.CureNone
	}
	switch {
	case b.Remedy != "":
	case b.Cure == model.CureNow:
		b.Remedy = "change the file and run the same command again"
	default:
		b.Remedy = "remove the cause and run the same command again"
	}
	if len(a.Changes) == 1 && b.Cure == model.CureNow {
		b.Field = a.Changes[0].Field
	}
	return b
}

// revertedWrite is the blocker of a service that accepts a write and stays as it is.
func revertedWrite(a model.Action, s model.Success) model.Blocker {
	b := model.Blocker{
		Key: a.Key + "/not-kept", Scope: a.Scope, Reason: "NotKept", Cure: model.CureNone, Since: s.First,
		Message: fmt.Sprintf("the service accepted %d times to %s, but nothing changed: %s", s.Times, a.Task(), changesText(a.Changes)),
		Remedy:  "remove these fields from the file, or find out what changes them back: {get events}",
	}
	if len(a.Changes) == 1 {
		b.Field = a.Changes[0].Field
	}
	return b
}

func changesText(changes []model.Change) string {
	texts := make([]string, 0, len(changes))
	for _, c := range changes {
		texts = append(texts, fmt.Sprintf("%s is %s, not %s", c.Field, orNothing(c.From), orNothing(c.To)))
	}
	return strings.Join(texts, "; ")
}

// lyingBMC is the blocker of a BMC that accepts a request again and again and
// says each time that nothing has changed.
func lyingBMC(a model.Action, s model.Success) model.Blocker {
	b := model.Blocker{
		Key: a.Key + "/not-kept", Scope: a.Scope, Reason: ReasonBMC, Cure: model.CurePerson, Since: s.First, Hosts: []string{a.Name},
		Message: fmt.Sprintf("the BMC of %s accepted %d times to %s, but reports that nothing has changed", a.Name, s.Times, a.Task()),
		Remedy:  "look at the machine and at its BMC; perhaps the BMC needs a reset",
	}
	if a.Kind.Switches() {
		b.Message = fmt.Sprintf("the BMC of %s accepted to %s %s ago, but reports that nothing has changed",
			a.Name, a.Task(), minutes(switchWithin))
		b.Remedy = model.Advice(a.Kind.Phrase() + " " + a.Name + " by hand, or look at its BMC; perhaps the BMC needs a reset")
	}
	return b
}

// switchWithin is how long a BMC may take to show that a machine was switched. It is
// asked for that once: a second request may be a second press of the button.
const switchWithin = 2 * time.Minute
