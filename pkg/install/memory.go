package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

// memory is what a run remembers: what was refused, and what was done. Losing
// it costs one repeated attempt, never a wrong write.
type memory struct {
	mu        sync.Mutex
	refusals  map[string]refusal
	successes map[string]success
	sent      map[string]bool // keys of what --resend-secrets has sent
	made      bool            // a cluster was registered
	differed  time.Time       // when a plan last changed a host
	wrong     error           // the last error, nil once an action succeeded after it
}

// last is the last error that no success followed.
func (m *memory) last() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wrong
}

// erred remembers an error.
func (m *memory) erred(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrong = err
}

// refusal is an action that did not succeed.
type refusal struct {
	inputs   string // fingerprint of what the action was to write
	err      error
	attempts int
	first    time.Time
	at       time.Time
	until    time.Time // not to be tried again before
	forGood  bool      // not to be tried again with the same inputs
}

// success is an action that was carried out. Should it be asked for again at
// once, the service has not shown it yet, or does not keep it.
type success struct {
	inputs string
	times  int
	at     time.Time
	action Action
}

func newMemory() *memory {
	return &memory{refusals: map[string]refusal{}, successes: map[string]success{}, sent: map[string]bool{}}
}

// fingerprint tells whether an action is still the one that was refused.
func fingerprint(a Action) string {
	data, err := json.Marshal(struct {
		Kind     Kind
		Target   string
		Settings map[Setting]Value
		Changes  []Change
	}{a.Kind, a.Target, a.Settings, a.Changes})
	if err != nil {
		return a.Key
	}
	return Digest(data)
}

const (
	firstBackoff = 2 * time.Second
	lastBackoff  = time.Minute
	// keptAfter is how often an action is carried out that the service does
	// not keep, and forgotten how long one stays a repetition.
	keptAfter = 6
	forgotten = time.Hour
	// stubbornAfter is how often a BMC may refuse before a person is to see to it.
	stubbornAfter = 3
)

func backoff(attempts int) time.Duration {
	return min(lastBackoff, firstBackoff<<min(attempts-1, 6))
}

// refused remembers that an action failed.
func (m *memory) refused(a Action, err error, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.refusals[a.Key]
	if r.inputs != fingerprint(a) {
		r = refusal{inputs: fingerprint(a), first: now}
	}
	r.err, r.at, m.wrong = err, now, err
	r.attempts++
	wait := backoff(r.attempts)
	r.forGood = forGood(err)
	var fault *Fault
	if errors.As(err, &fault) {
		wait = max(wait, fault.RetryAfter)
	}
	r.until = now.Add(wait)
	m.refusals[a.Key] = r
}

// refusalOf is the refusal of the first of some actions that was refused, else
// another one.
func (m *memory) refusalOf(actions []Action, otherwise *refusal) *refusal {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range actions {
		if r, refused := m.refusals[a.Key]; refused {
			return &r
		}
	}
	return otherwise
}

// forGood says whether the same request would be refused again.
func forGood(err error) bool {
	var fault *Fault
	return errors.As(err, &fault) && (fault.Permanent || fault.Code == CodeAuth)
}

func (m *memory) succeeded(a Action, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.refusals, a.Key)
	m.wrong = nil
	s := m.successes[a.Key]
	if s.inputs != fingerprint(a) || now.Sub(s.at) > forgotten {
		s = success{inputs: fingerprint(a)}
	}
	s.times, s.at, s.action = s.times+1, now, a
	m.successes[a.Key] = s
	if strings.HasSuffix(a.Key, resendSuffix) {
		m.sent[a.Key] = true
	}
	m.made = m.made || a.Kind == RegisterCluster || a.Kind == ImportCluster
}

// sees forgets of machines that they were switched, once that shows.
func (m *memory) sees(machines map[string]MachineState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.successes, func(_ string, s success) bool {
		return s.action.Kind.switches() && machines[s.action.Name].switched(s.action.Kind)
	})
}

// registered says whether the service has taken the registration of the cluster.
func (m *memory) registered() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.made
}

// lastDiffered is when a host was last not as the file says; zero if none was.
func (m *memory) lastDiffered() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.differed
}

// resent are the keys of the secrets that were sent again.
func (m *memory) resent() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.sent)
}

// apply takes out of a plan what was refused: for good, it becomes a blocker;
// for a while, a wait. So with what was just done. It returns the refusal that
// is still to be tried again, if any.
func (m *memory) apply(plan *Plan, now time.Time) (retry *refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := plan.Actions[:0:0]
	for _, a := range plan.Actions {
		if a.Kind == UpdateHost || a.Kind == BindHost {
			m.differed = now
		}
		r, refused := m.refusals[a.Key]
		refused = refused && r.inputs == fingerprint(a)
		stubborn := refused && a.Kind.boots() && r.attempts >= stubbornAfter
		if stubborn { // while it is tried again, too: what comes and goes nobody sees to
			plan.Blockers = append(plan.Blockers, r.blocker(a))
		}
		switch {
		case refused && r.forGood:
			plan.hinder(a, r.blocker(a))
		case stubborn && now.Before(r.until):
			retry = &r
		case refused && now.Before(r.until):
			retry = &r
			plan.Waits = append(plan.Waits, Wait{
				Key: a.Key + "/retry", Scope: a.Scope, Since: r.at, Who: a.who(),
				For: fmt.Sprintf("another try to %s: %v", a.task(), r.err),
			})
		case !m.repeated(plan, a, now):
			kept = append(kept, a)
		}
	}
	plan.Actions = kept
	if plan.Verdict == VerdictWorking && len(kept) == 0 {
		plan.Verdict = ""
		p := planner{plan: *plan}
		*plan = p.finish()
	}
	return retry
}

// repeated says whether an action was carried out only just now, and is not to
// be again: the service needs a while to show it or, if it never does, does
// not keep it. Without this a difference that nothing removes would be written
// for ever.
func (m *memory) repeated(plan *Plan, a Action, now time.Time) bool {
	s, known := m.successes[a.Key]
	if !known || s.inputs != fingerprint(a) || now.Sub(s.at) > forgotten {
		return false
	}
	mayRepeat := a.Kind == StartInstall || a.Kind == RenewImage || a.Kind == NudgeCluster // which count for themselves
	again := backoff(s.times)
	if a.Kind == NudgeCluster {
		again = touchAgain
	}
	if a.Kind.switches() {
		again = switchWithin
	}
	switch {
	case a.Kind.switches() && !now.Before(s.at.Add(again)):
		plan.Blockers = append(plan.Blockers, lyingBMC(a, s))
		return true
	case s.times >= keptAfter && a.Kind.boots():
		plan.Blockers = append(plan.Blockers, lyingBMC(a, s))
		return now.Before(s.at.Add(lastBackoff)) // once the BMC is cured, it goes on
	case s.times >= keptAfter && a.Kind.byMachines(): // the installation does not depend on it
		b := lyingBMC(a, s)
		plan.Warnings = append(plan.Warnings, Warning{Key: b.Key, Scope: b.Scope, Reason: b.Reason, Message: b.Message, Next: b.Remedy})
		return true
	case s.times >= keptAfter && !mayRepeat:
		b := Blocker{
			Key: a.Key + "/not-kept", Scope: a.Scope, Reason: "NotKept", Cure: CureNone, Since: s.at,
			Message: fmt.Sprintf("the service accepted %d times to %s, and still is as it was: %s", s.times, a.task(), changesText(a.Changes)),
			Remedy:  "leave these fields out of the file, or look at what changes them back: oaictl get events",
		}
		if len(a.Changes) == 1 {
			b.Field = a.Changes[0].Field
		}
		plan.hinder(a, b)
		return true
	case now.Before(s.at.Add(again)):
		plan.Waits = append(plan.Waits, Wait{
			Key: a.Key + "/shown", Scope: a.Scope, Since: s.at, Who: a.who(), For: a.shower() + " to show what was just done: to " + a.task(),
		})
		return true
	}
	return false
}

// hinder adds that an action cannot be carried out. A cluster whose end is not
// written down is installed nevertheless.
func (p *Plan) hinder(a Action, b Blocker) {
	if a.Kind == RecordInstalled {
		p.Warnings = append(p.Warnings, Warning{Key: b.Key, Scope: b.Scope, Reason: b.Reason, Message: b.Message, Next: b.Remedy})
		return
	}
	p.Blockers = append(p.Blockers, b)
}

func changesText(changes []Change) string {
	texts := make([]string, 0, len(changes))
	for _, c := range changes {
		texts = append(texts, fmt.Sprintf("%s is %s, not %s", c.Field, orNothing(c.From), orNothing(c.To)))
	}
	return strings.Join(texts, "; ")
}

// blocker is what a refusal for good is to the plan. Where the error has a
// code of its own, the run ends with that.
func (r refusal) blocker(a Action) Blocker {
	b := Blocker{
		Key: a.Key + "/refused", Scope: a.Scope, Reason: "Refused", Cure: CureNow, Since: r.at, Remedy: NextOf(r.err),
		Message: fmt.Sprintf("could not %s: %v", a.task(), r.err),
	}
	if a.Kind.byMachines() { // a person sees to that machine, and the others go on
		b.Cure, b.Hosts, b.Remedy = CurePerson, []string{a.Name}, firstOf(b.Remedy, "look at the BMC of "+a.Name)
		return b
	}
	var fault *Fault
	if errors.As(r.err, &fault) {
		switch fault.Code {
		case CodeAuth:
			b.Cure = CureAuth
		case CodeNotFound:
			b.Cure = CureOwner
		case CodeFailure:
			b.Cure = CureNone
		}
	}
	switch {
	case b.Remedy != "":
	case b.Cure == CureNow:
		b.Remedy = "change the file and run the same command again"
	default:
		b.Remedy = "see to that and run the same command again"
	}
	if len(a.Changes) == 1 && b.Cure == CureNow {
		b.Field = a.Changes[0].Field
	}
	return b
}
