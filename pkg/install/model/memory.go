package model

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// Memory is what a loop has learned and no observation shows: what was refused and
// when it may be tried again, what was done already, and since when things stand
// that the service does not date. A loop keeps one for each cluster. It calls [Memory.Seen] after each look,
// [Memory.Decided] after each decision and [Memory.Note] after each action. Only install.Decide
// draws conclusions from it.
//
// The zero value knows nothing: what a service does not date counts then as having
// stood for long, so that a single look names the same causes as a loop that has
// looked for an hour. It can be kept as JSON and has no secrets. Losing it costs a
// repeated attempt and never a wrong write. Times are on the service's clock, but for those
// by which the loop ends. It is not safe for concurrent use.
type Memory struct {
	// Failed and Cancelled are when a preparation failed last, and was cancelled last, before the
	// loop began: both are dates of the service's events, to be compared with others of these
	// alone. Zero: no such event is known, and all count.
	Failed    time.Time `json:"failed,omitzero"`
	Cancelled time.Time `json:"cancelled,omitzero"`
	// ClusterID is the cluster that was seen last, Registered says that one was made,
	// and Missing since when, on the loop's own clock, and Misses in how many looks, the
	// service has not shown it.
	ClusterID  string    `json:"clusterID,omitempty"`
	Registered bool      `json:"registered,omitempty"`
	Missing    time.Time `json:"missing,omitzero"`
	Misses     int       `json:"misses,omitempty"`
	// Refused and Done are the actions that failed and succeeded last, by their keys.
	Refused map[string]Refusal `json:"refused,omitempty"`
	Done    map[string]Success `json:"done,omitempty"`
	// Resent are the keys of the actions that have sent secrets again.
	Resent map[string]bool `json:"resent,omitempty"`
	// HostWritten is when a host was last to be made what the file says.
	HostWritten time.Time `json:"hostWritten,omitzero"`
	// Checks is since when each failing check has had its status; nil: nothing was
	// seen yet.
	Checks map[string]time.Time `json:"checks"`
	// Began is when the loop first observed, LastObserved when it last did, and Standing since when
	// each blocker and each wait for a person stands, by key: on the loop's own clock, so
	// that no limit is reached because the service's is put.
	Began        time.Time            `json:"began,omitzero"`
	LastObserved time.Time            `json:"lastObserved,omitzero"`
	Standing     map[string]time.Time `json:"standing,omitempty"`
	// Machines is how the machines that boot get on, by the hosts' names in the file; nil:
	// none was seen yet.
	Machines map[string]machineBoot `json:"machines"`
	// Rebooted is when each host was seen to reboot into its disk, by id; zero where it had still
	// to. One that had before the loop began is not among them. Operators are
	// those of the installed cluster were well when they were first seen.
	Rebooted  map[string]time.Time `json:"rebooted,omitempty"`
	Operators map[string]bool      `json:"operators,omitempty"`
	// Answers are what a person has said of requests for certificates, as they were judged.
	Answers map[string]bool `json:"answers,omitempty"`
	// Leaving are the nodes that are to be removed, by name, as they were last seen.
	Leaving map[string]NodeSeen `json:"leaving,omitempty"`
	// LastError is the last error that no success followed.
	LastError string `json:"lastError,omitempty"`
	// Ahead is how far the service's clock was ahead of the loop's own in the last look, and Skew
	// how far that look was put.
	Ahead time.Duration `json:"ahead,omitempty"`
	Skew  time.Duration `json:"skew,omitempty"`
}

// Refusal is an action that failed.
type Refusal struct {
	Inputs    string    `json:"inputs"` // fingerprint of what was to be written
	Error     string    `json:"error"`
	Next      string    `json:"next,omitempty"`      // the advice with its marks
	Code      Code      `json:"code,omitempty"`      // 0: the error has none
	Permanent bool      `json:"permanent,omitempty"` // with the same inputs it would be refused again
	Attempts  int       `json:"attempts"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
	Until     time.Time `json:"until"` // not to be tried again before
}

// Success is an action that was carried out. Should it be asked for again at once, the
// service has not shown it yet, or does not keep it.
type Success struct {
	Inputs string    `json:"inputs"` // fingerprint of what was written
	Kind   Kind      `json:"kind"`
	Name   string    `json:"name,omitempty"` // of the object, as in the action
	Times  int       `json:"times"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

// NodeSeen is what stays known of a node that is to be removed.
type NodeSeen struct {
	UID       string       `json:"uid,omitempty"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
	Member    string       `json:"member,omitempty"`  // of etcd, its id
	Host      string       `json:"host,omitempty"`    // of the service, its id
	Returns   bool         `json:"returns,omitempty"` // that host goes back to its pool before it
	// Draining is since when pods are made to leave it, Silent since when it is not Ready: both on the
	// loop's own clock.
	Draining time.Time `json:"draining,omitzero"`
	Silent   time.Time `json:"silent,omitzero"`
}

// machineBoot is since when a machine is on with the discovery image, and when its BMC
// last read a part of it that it had not read before.
type machineBoot struct {
	Boots   time.Time `json:"boots,omitzero"`
	Grew    time.Time `json:"grew,omitzero"`
	Fetched int64     `json:"fetched,omitempty"` // bytes
}

// MemoryBefore is the memory of a loop that begins with this observation. It does not count what failed or was cancelled
// before: an earlier loop has reported that.
func (o *Observed) MemoryBefore() Memory {
	var m Memory
	if o.Cluster != nil {
		p := &o.Cluster.Preparation
		m.Cancelled = p.Cancelled
		if n := len(p.FailedAt); n > 0 {
			m.Failed = p.FailedAt[n-1]
		}
	}
	return m
}

// Seen learns from an observation that was made when the loop's own clock said own.
func (m *Memory) Seen(observed *Observed, own time.Time) {
	m.LastObserved, m.Ahead = own, observed.At.Sub(own)
	m.put(observed.Skew - m.Skew)
	m.Skew = observed.Skew
	if m.Began.IsZero() {
		before := observed.MemoryBefore()
		m.Began, m.Failed, m.Cancelled = own, before.Failed, before.Cancelled
	}
	if m.misses(observed) {
		return
	}
	m.checks(observed)
	m.machines(observed)
	m.spoke(observed)
	// Another attempt to prepare is no cure of what preparations fail over: only an
	// install that runs is.
	if c := observed.Cluster; c == nil || !c.State.BeforeInstall() && c.State != ClusterPreparing {
		delete(m.Standing, KeyPreparation)
	}
}

// put moves what was noted on the service's clock, which turned out to be by so much another.
func (m *Memory) put(by time.Duration) {
	if by == 0 {
		return
	}
	move := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Add(by)
		}
	}
	move(&m.HostWritten)
	for key, r := range m.Refused {
		move(&r.First)
		move(&r.Last)
		move(&r.Until)
		m.Refused[key] = r
	}
	for key, s := range m.Done {
		move(&s.First)
		move(&s.Last)
		m.Done[key] = s
	}
	for key, b := range m.Machines {
		move(&b.Boots)
		move(&b.Grew)
		m.Machines[key] = b
	}
	for _, dates := range []map[string]time.Time{m.Checks, m.Rebooted} {
		for key, t := range dates {
			move(&t)
			dates[key] = t
		}
	}
}

// misses says whether a cluster that was there is not shown, and counts that.
func (m *Memory) misses(observed *Observed) bool {
	if observed.Cluster != nil {
		m.ClusterID, m.Missing, m.Misses = observed.Cluster.ID, time.Time{}, 0
		return false
	}
	if m.ClusterID == "" && !m.Registered {
		return false // there was none
	}
	for _, other := range observed.Others {
		if m.ClusterID != "" && other.ID == m.ClusterID { // it is there, and not ours any more
			m.Missing, m.Misses = time.Time{}, 0
			return false
		}
	}
	m.Missing = cmp.Or(m.Missing, m.LastObserved)
	m.Misses++
	return true
}

// spoke learns what neither the service nor the installed cluster dates.
func (m *Memory) spoke(observed *Observed) {
	for i := range observed.Hosts {
		h := &observed.Hosts[i]
		switch since, known := m.Rebooted[h.ID]; {
		case !h.HasRebooted() && (!known || !since.IsZero()):
			m.Rebooted = with(m.Rebooted, h.ID, time.Time{}) // it is still to
		case known && since.IsZero() && h.HasRebooted():
			m.Rebooted = with(m.Rebooted, h.ID, observed.At)
		}
	}
	m.leaving(observed.Spoke, observed.Hosts)
	if s := observed.Spoke; m.Operators == nil && s != nil && s.Trouble == "" && len(s.Operators) > 0 {
		m.Operators = map[string]bool{}
		for i := range s.Operators {
			m.Operators[s.Operators[i].Name] = s.Operators[i].Well()
		}
	}
}

// leaving learns of the nodes that are to be removed what is not to be seen once they are gone.
func (m *Memory) leaving(s *Spoke, hosts []Host) {
	if s == nil || s.Trouble != "" {
		return
	}
	for i := range s.Drains {
		d := &s.Drains[i]
		node := s.NodeByName(d.Node)
		if node == nil {
			continue
		}
		seen := m.Leaving[d.Node]
		if seen.UID != "" && seen.UID != node.UID {
			continue // another of the same name
		}
		seen.UID, seen.Addresses = node.UID, node.Addresses
		if member := s.MemberOfNode(node); member != nil {
			seen.Member = member.ID
		}
		if i := slices.IndexFunc(hosts, func(h Host) bool { return !h.Unbound() && NodeName(h.Hostname) == node.Name }); i >= 0 {
			seen.Host = hosts[i].ID
		}
		seen.Host, seen.Returns = cmp.Or(node.Returns, seen.Host), node.Returns != ""
		switch {
		case !node.Cordoned || len(d.Pods) == 0:
			seen.Draining = time.Time{}
		case seen.Draining.IsZero():
			seen.Draining = m.LastObserved
		}
		switch {
		case node.Ready:
			seen.Silent = time.Time{}
		case seen.Silent.IsZero():
			seen.Silent = m.LastObserved
		}
		m.Leaving = with(m.Leaving, d.Node, seen)
	}
}

// Answer learns what a person has said of a request for a certificate, as it was judged: another
// judgement is another question.
func (m *Memory) Answer(v RequestVerdict, approve bool) {
	m.Answers = with(m.Answers, v.AnswerKey(), approve)
}

// AnswerKey names what a person was asked about.
func (v RequestVerdict) AnswerKey() string { return fmt.Sprint(v.UID, "/", v.Reason, v.Addresses) }

// checks brings forward since when each check that does not pass has had its status.
func (m *Memory) checks(observed *Observed) {
	since := map[string]time.Time{}
	note := func(host string, list []Validation) {
		for i := range list {
			if !list[i].Passes() {
				key := list[i].Key(host)
				since[key] = cmp.Or(m.Checks[key], observed.At)
			}
		}
	}
	if observed.Cluster != nil {
		note("", observed.Cluster.Validations)
	}
	for i := range observed.Hosts {
		note(observed.Hosts[i].ID, observed.Hosts[i].Validations)
	}
	m.Checks = since
}

// machines brings forward how machines boot, and forgets that they were switched once
// that shows.
func (m *Memory) machines(observed *Observed) {
	if observed.Machines == nil {
		return
	}
	boots := make(map[string]machineBoot, len(observed.Machines))
	for name, state := range observed.Machines {
		boots[name] = m.Machines[name].after(state, observed.At)
	}
	m.Machines = boots
	maps.DeleteFunc(m.Done, func(_ string, s Success) bool {
		return s.Kind.Switches() && observed.Machines[s.Name].switched(s.Kind)
	})
}

// after brings a boot forward by a look at the machine.
func (b machineBoot) after(state MachineState, now time.Time) machineBoot {
	switch {
	case state.Trouble != "": // what was known does not end with it
		return b
	case state.Power != PowerIsOn || !state.OurMedia:
		return machineBoot{Fetched: state.Fetch.Bytes}
	}
	b.Boots = cmp.Or(b.Boots, now)
	if state.Fetch.Bytes > b.Fetched {
		b.Grew = now
	}
	b.Fetched = state.Fetch.Bytes
	return b
}

// Decided learns from a decision since when things stand in the way.
func (m *Memory) Decided(plan Plan) {
	standing := make(map[string]time.Time, len(plan.Blockers))
	note := func(key string) { standing[key] = cmp.Or(m.Standing[key], m.LastObserved) }
	for i := range plan.Blockers {
		note(plan.Blockers[i].Key)
	}
	for i := range plan.Waits {
		if w := &plan.Waits[i]; w.Who == WhoUser {
			note(w.StandingKey())
		}
	}
	if first, stood := m.Standing[KeyPreparation]; stood {
		standing[KeyPreparation] = first
	}
	m.Standing = standing
}

// StandingKey tells a wait from a blocker of the same key.
func (w *Wait) StandingKey() string { return "wait/" + w.Key }
