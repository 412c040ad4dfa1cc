package model

import (
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Note learns how an action went: err is what became of it, nil for a success. now is
// a moment on the service's clock.
func (m *Memory) Note(a Action, err error, now time.Time) {
	if a.Kind == UpdateHost || a.Kind == BindHost {
		m.HostWritten = now
	}
	if err != nil {
		m.refused(a, err, now)
		return
	}
	delete(m.Refused, a.Key)
	m.LastError = ""
	s := m.Done[a.Key]
	if !s.Repeats(a, now) {
		s = Success{Inputs: a.Fingerprint(), Kind: a.Kind, Name: a.Name, First: now}
	}
	s.Times, s.Last = s.Times+1, now
	m.Done = with(m.Done, a.Key, s)
	if strings.HasSuffix(a.Key, ResendSuffix) {
		m.Resent = with(m.Resent, a.Key, true)
	}
	m.Registered = m.Registered || a.Kind == RegisterCluster || a.Kind == ImportCluster
}

func (m *Memory) refused(a Action, err error, now time.Time) {
	r := m.Refused[a.Key]
	if r.Inputs != a.Fingerprint() {
		r = Refusal{Inputs: a.Fingerprint(), First: now}
	}
	r.Attempts++
	wait := backoff(r.Attempts)
	var fault *Fault
	r.Error, r.Next, r.Code, r.Permanent = err.Error(), "", 0, FaultOf(err).ForGood()
	if errors.As(err, &fault) {
		r.Next, r.Code, wait = string(fault.Next), fault.Code, max(wait, fault.RetryAfter)
	}
	r.Last, r.Until = now, now.Add(wait)
	m.Refused = with(m.Refused, a.Key, r)
	m.LastError = r.Error
}

// RefusalOf is the refusal of one of the plan's actions, else of one that is to be tried
// again.
func (m *Memory) RefusalOf(plan Plan) *Refusal {
	for _, a := range plan.Actions {
		if r, refused := m.Refused[a.Key]; refused {
			return &r
		}
	}
	return plan.retry
}

// with is a map with one more entry.
func with[V any](in map[string]V, key string, value V) map[string]V {
	if in == nil {
		in = map[string]V{}
	}
	in[key] = value
	return in
}

// Fingerprint is equal for two actions that would write the same.
func (a Action) Fingerprint() string {
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

// How long an action that failed is left alone, at first and at most.
const (
	firstBackoff = 2 * time.Second
	lastBackoff  = time.Minute
	forgotten    = time.Hour // from then on, an action that is done again is no repetition
)

// Repeats reports whether an action would write what succeeded before, not so long ago that this is forgotten.
func (s Success) Repeats(a Action, now time.Time) bool {
	return s.Inputs == a.Fingerprint() && now.Sub(s.Last) <= forgotten
}

// NextAtMost is when the action is carried out again at the latest, however often it was.
func (s Success) NextAtMost() time.Time { return s.Last.Add(lastBackoff) }

// Backoff is how long after the last time the action is carried out again, where the service does not show what it did.
func (s Success) Backoff() time.Duration { return backoff(s.Times) }

// backoff is how long after so many attempts the next one comes.
func backoff(attempts int) time.Duration {
	return min(lastBackoff, firstBackoff<<min(attempts-1, 6))
}

// Key tells a check and its status from others, of a host or, without the id of one, of the cluster.
func (v *Validation) Key(hostID string) string {
	subject := "host"
	if hostID == "" {
		subject = "cluster"
	}
	return subject + "/" + hostID + "/" + v.ID + "/" + v.Status
}

// Keys that have a meaning.
const (
	KeyPreparation = "cluster/preparation" // of the blocker for a failed preparation
	KeyHold        = "cluster/hold"        // begins the keys of the waits for a person who holds the start
	ResendSuffix   = "/resend"             // ends the keys of the actions that send secrets again
)
