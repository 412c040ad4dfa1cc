package decide

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	// keptAfter is how often an action is carried out that the service does not keep.
	keptAfter = 6
	// stubbornAfter is how often a BMC may refuse before a person has to solve that.
	stubbornAfter = 3
)

// remember takes out of the plan what was refused and what was just done: what was
// refused for good becomes a blocker, the rest is waited for.
func (p *planner) remember() {
	kept := p.plan.Actions[:0]
	for _, a := range p.plan.Actions {
		r, refused := p.memory.Refused[a.Key]
		refused = refused && r.Inputs == a.Fingerprint()
		stubborn := refused && !r.Permanent && a.Kind.Boots() && r.Attempts >= stubbornAfter
		if stubborn { // while it is tried again, too: no component handles a failure that comes and goes
			p.block(refusedBlocker(r, a))
		}
		switch {
		case refused && r.Permanent:
			p.hinder(a, refusedBlocker(r, a)) // while it is tried again, too
			switch {
			case !p.rests(r):
				kept = append(kept, a)
			case p.desired.Options.Unattended:
				p.plan.TryAgain(r)
			}
		case stubborn && p.rests(r):
			p.plan.TryAgain(r)
		case refused && p.rests(r):
			p.plan.TryAgain(r)
			p.wait(model.Wait{
				Key: a.Key + "/retry", Scope: a.Scope, Since: r.Last, Who: a.Who(),
				For: fmt.Sprintf("another try to %s: %s", a.Task(), r.Error),
			})
		case !p.repeated(a):
			kept = append(kept, a)
		}
	}
	p.plan.Actions = kept
}

// repeated reports whether an action was carried out only just now, and is not to be again: the service needs a while
// to show it or, if it never does, does not keep it. Without this a difference that nothing removes would be written
// for ever.
func (p *planner) repeated(a model.Action) bool {
	s, known := p.memory.Done[a.Key]
	if !known || a.Kind.Paced() || !s.Repeats(a, p.now) {
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
	case p.observed.Machines[a.Name].Failed == a.Kind && a.Kind.ByBMC(): // it is reported already
		return p.now.Before(s.Last.Add(again))
	case a.Kind.Switches() && !p.now.Before(s.Last.Add(again)):
		p.block(lyingBMC(a, s))
		return true
	case s.Times >= keptAfter && a.Kind.Boots():
		p.block(lyingBMC(a, s))
		return p.now.Before(s.Last.Add(s.MaxBackoff())) // once the BMC is cured, it goes on
	case s.Times >= keptAfter && a.Kind.ByBMC(): // the installation does not depend on it
		p.warn(asWarning(lyingBMC(a, s)))
		return true
	case s.Times >= keptAfter && !a.Kind.Counts():
		p.hinder(a, revertedWrite(a, s))
		return true
	case p.now.Before(s.Last.Add(again)):
		p.wait(model.Wait{
			Key: a.Key + "/shown", Scope: a.Scope, Since: s.Last, Who: a.Who(), For: a.ShownBy() + " to show what was just done: to " + a.Task(),
		})
		return true
	}
	return false
}

// revertedWrite is the blocker of a service that accepts a write and stays as it is.
func revertedWrite(a model.Action, s model.Success) model.Blocker {
	b := model.Blocker{
		Key: a.Key + "/not-kept", Scope: a.Scope, Reason: "NotKept", Cure: model.CureNone, Since: s.First,
		Message: fmt.Sprintf("the service accepted %d times to %s, and still is as it was: %s", s.Times, a.Task(), changesText(a.Changes)),
		Remedy:  "leave these fields out of the file, or look at what changes them back: {get events}",
	}
	if len(a.Changes) == 1 {
		b.Field = a.Changes[0].Field
	}
	return b
}

// hinder adds that an action cannot be carried out. A cluster whose end is not
// written down is installed nevertheless.
func (p *planner) hinder(a model.Action, b model.Blocker) {
	if a.Kind == model.RecordInstalled {
		p.warn(asWarning(b))
		return
	}
	p.block(b)
}

func changesText(changes []model.Change) string {
	texts := make([]string, 0, len(changes))
	for _, c := range changes {
		texts = append(texts, fmt.Sprintf("%s is %s, not %s", c.Field, orNothing(c.From), orNothing(c.To)))
	}
	return strings.Join(texts, "; ")
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
		b.Remedy = "see to that and run the same command again"
	}
	if len(a.Changes) == 1 && b.Cure == model.CureNow {
		b.Field = a.Changes[0].Field
	}
	return b
}

// deleted decides on a cluster that was there and that the service does not show: a list may be a moment old, above all
// right after the registration. A deleted cluster is not created again: its user does not want it.
func (p *planner) deleted() {
	m := &p.memory
	within := shownWithin
	if m.ClusterID != "" {
		within = goneWithin
	}
	if m.Misses < goneObservations || m.LastObserved.Sub(m.Missing) < within {
		p.wait(model.Wait{Key: "cluster/shown", Scope: model.ScopeCluster, Who: model.WhoService, For: "the service to show the cluster " + p.full() + " again"})
		return
	}
	b := model.Blocker{
		Key: "cluster/deleted", Scope: model.ScopeCluster, Reason: model.ReasonClusterDeleted, Cure: model.CureOwner,
		Message: "somebody deleted the cluster meanwhile; nothing was written since",
		Remedy:  "run the same command again to make it anew; its machines then have to boot the new discovery image",
	}
	if p.desired.Options.AddNodes && !p.spec.Imported() || p.desired.Options.Adopt != "" {
		b.Remedy = "{get clusters}"
	}
	p.block(b)
}

// How long, and for how many looks, a cluster may be missing from what the service
// answers before it counts as deleted.
const (
	goneWithin       = 5 * time.Second
	shownWithin      = 30 * time.Second // one that was just made
	goneObservations = 3
)
