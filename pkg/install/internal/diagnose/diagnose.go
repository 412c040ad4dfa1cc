// Package diagnose finds out what is wrong behind the failing validations of
// a cluster and its hosts.
//
// A service reports every check of every host on its own, so that one missing
// DNS record on five hosts reads as a dozen failures. Explain says each cause
// once, with the hosts that it concerns, what to do and who can do it. It
// leaves out what follows from another failure, calls what has just begun to
// fail, and what the service still measures, a wait, and keeps warnings apart.
// It is a pure function: the same checks give the same report, in the same
// order.
package diagnose

import (
	"fmt"
	"math"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/explain"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// The statuses of a validation that matter here, in the service's words. Any
// other one that is not a kind of success is treated as pending.
const (
	StatusFailure = "failure"
	StatusError   = "error" // the service could not evaluate the check
	StatusPending = "pending"
)

// Check is one validation of the cluster or of one host. Those that pass may
// be left out.
type Check struct {
	Subject explain.Subject
	// Host names the host as people know it, "" for checks of the cluster.
	Host string
	// ID, Category, Status and Message are as in validations_info.
	ID, Category, Status, Message string
	// Seen is in how many observations in a row, this one included, the check
	// has had this status. 0 counts as 1.
	Seen int
}

// Settled is the Seen of a check that counts as having stood for long.
const Settled = math.MaxInt32

// Input is what a report is made from.
type Input struct {
	Checks []Check
	// Registered is how many hosts the service knows for the cluster.
	Registered int
	// Expected is how many hosts the cluster is to have, 0 if that is not known.
	Expected int
	// Roles are counted over the registered hosts.
	Roles Roles
	// IgnoredCluster and IgnoredHosts are the ids, or "all", that the service is set to ignore.
	IgnoredCluster, IgnoredHosts []string
}

// Roles are how many hosts have been given which role.
type Roles struct {
	// Wanted is the number of control plane hosts that the cluster asks for (control_plane_count), 0 if that is not
	// known.
	Wanted int
	// Auto are the hosts whose role is left to the service (auto-assign).
	ControlPlane, Worker, Arbiter, Auto int
}

// Report is what is wrong, what is still open, and what is no obstacle.
type Report struct {
	// Causes hold the installation up and do not pass by themselves.
	Causes []Cause
	// Waits hold it up and may pass: they have just begun to fail, are still
	// being evaluated, or wait for hosts.
	Waits []Cause
	// Warnings fail and do not hold the installation up, as far as is known.
	Warnings []Cause
}

// Pass is why a cause is expected to pass by itself, or with what it waits for.
type Pass string

// The reasons why a cause is a wait.
const (
	PassHosts     Pass = "hosts"     // hosts have not registered yet
	PassTransient Pass = "transient" // fails for too short a time to count
	PassPending   Pass = "pending"   // the service has not evaluated it yet
	PassService   Pass = "service"   // fails until the service or its agent has done something
)

// NoHosts is the ID of the wait that summarizes everything that cannot be evaluated before a host has registered. It is
// no validation of the service.
const NoHosts = "no-hosts"

// Cause is one thing that is wrong or open, over all the hosts it concerns.
type Cause struct {
	ID       string
	Subject  explain.Subject
	Category string
	Status   string // failure, error or pending
	// Hosts are sorted; empty for causes of the cluster.
	Hosts []string
	// Messages are the texts of the service, each with the hosts that it is about; several where it gives details of
	// each host.
	Messages []Message
	// Holds are what the service says of the checks that hold the installation up because
	// of a cause that alone would be a warning.
	Holds []Message
	// Title, Meaning, Usual, Check, Remedy and Field explain it, as in the
	// catalogue; Meaning and Remedy have the numbers where they are known.
	Title, Meaning, Usual, Field string
	Check, Remedy                model.Advice
	// Cure is who can make it pass, "" for a check that is not in the
	// catalogue.
	Cure explain.Cure
	// Blocking says that the installation cannot start with it.
	Blocking bool
	// Known says that the catalogue knows the check.
	Known bool
	// Pass is why it is a wait, "" for causes and warnings.
	Pass Pass
	// Consequences are the checks that were left out because of it.
	Consequences []explain.Ref
}

// Message is a text of the service and the hosts that it is about.
type Message struct {
	Text  string
	Hosts []string
}

// Explain makes a report of the checks.
func Explain(in Input) Report {
	g := newGraph(in)
	groups := map[groupKey]*Cause{}
	for _, n := range g.nodes {
		if len(g.parents(n)) == 0 {
			collect(groups, g.keyOf(n), n)
		}
	}
	for _, n := range g.nodes {
		for _, root := range g.roots(n) {
			if root == n {
				continue
			}
			cause := groups[g.keyOf(root)]
			cause.Consequences = append(cause.Consequences, n.ref())
			cause.Blocking = cause.Blocking || n.blocking
			if n.blocking && !root.blocking && n.failing() {
				cause.hold(n)
			}
		}
	}
	var report Report
	for _, cause := range groups {
		switch cause.ID {
		case NoHosts:
			explainNoHosts(cause, in)
		case mastersCount:
			explainMasters(cause, in)
		}
		finish(cause)
		report.add(cause)
	}
	report.sort()
	return report
}

// groupKey is what checks have in common that are reported as one.
type groupKey struct {
	ref  explain.Ref
	pass Pass
}

// collect adds a check to its group.
func collect(groups map[groupKey]*Cause, key groupKey, n *node) {
	cause := groups[key]
	if cause == nil {
		cause = &Cause{ID: key.ref.ID, Subject: key.ref.Subject, Category: n.Category, Status: n.Status, Pass: key.pass}
		groups[key] = cause
		describe(cause, n)
	}
	if key.ref.ID == NoHosts {
		cause.Consequences = append(cause.Consequences, n.ref())
	}
	cause.Blocking = cause.Blocking || n.blocking
	if cause.Status != StatusFailure && n.failing() {
		cause.Status = n.Status
	}
	if n.Host != "" {
		cause.Hosts = append(cause.Hosts, n.Host)
	}
	for i := range cause.Messages {
		if cause.Messages[i].Text == n.Message {
			cause.Messages[i].Hosts = appendHost(cause.Messages[i].Hosts, n.Host)
			return
		}
	}
	if n.Message != "" {
		cause.Messages = append(cause.Messages, Message{Text: n.Message, Hosts: appendHost(nil, n.Host)})
	}
}

// hold adds what the service says of a check that holds the installation up where its
// cause alone would not. What only says that something else fails is left out.
func (cause *Cause) hold(n *node) {
	said := func(m Message) bool { return m.Text == n.Message }
	if n.ID == AllHosts || n.Message == "" || slices.ContainsFunc(cause.Messages, said) || slices.ContainsFunc(cause.Holds, said) {
		return
	}
	cause.Holds = append(cause.Holds, Message{Text: n.Message, Hosts: appendHost(nil, n.Host)})
}

func appendHost(hosts []string, host string) []string {
	if host == "" {
		return hosts
	}
	return append(hosts, host)
}

// describe takes over what the catalogue says.
func describe(cause *Cause, n *node) {
	if !n.known {
		cause.Title = cause.ID
		cause.Meaning = "The service makes a check of this name, which this version of oaictl does not know."
		cause.Remedy = "Go by the service's message."
		return
	}
	cause.Known = true
	cause.Category = n.entry.Category
	cause.Title, cause.Meaning, cause.Usual = n.entry.Title, n.entry.Meaning, n.entry.Cause
	cause.Check, cause.Remedy, cause.Field, cause.Cure = n.entry.Check, n.entry.Remedy, n.entry.Field, n.entry.Cure
}

// explainNoHosts describes the wait for the first host.
func explainNoHosts(cause *Cause, in Input) {
	cause.Category, cause.Field, cause.Known, cause.Blocking = "hosts-data", "", true, true
	cause.Title = "A host has registered"
	cause.Meaning = "No host has registered yet, and most checks need one."
	if in.Expected > 0 {
		cause.Meaning = fmt.Sprintf("None of the %d hosts has registered yet, and most checks need one.", in.Expected)
	}
	cause.Usual = "The machines are off, do not boot the discovery image, or do not reach the service."
	cause.Check = "The machine's console shows whether the discovery image runs; {get hosts} shows who has registered."
	cause.Remedy = "Boot the machines into the discovery image: {download iso NAME}."
	cause.Cure = explain.CureMachine
	cause.Messages = nil // what the service says of the single checks
}

// finish puts in order what was collected in the order of the checks.
func finish(cause *Cause) {
	cause.Hosts = sorted(cause.Hosts)
	for i := range cause.Messages {
		cause.Messages[i].Hosts = sorted(cause.Messages[i].Hosts)
	}
	slices.SortFunc(cause.Messages, byHosts)
	slices.SortFunc(cause.Holds, byHosts)
	slices.SortFunc(cause.Consequences, byRef)
	cause.Consequences = slices.Compact(cause.Consequences)
}

// add puts a cause where it belongs.
func (r *Report) add(cause *Cause) {
	switch {
	case !cause.Blocking:
		cause.Pass = ""
		if cause.Status == StatusPending {
			return // open, and no obstacle: nothing to say
		}
		r.Warnings = append(r.Warnings, *cause)
	case cause.Pass != "":
		r.Waits = append(r.Waits, *cause)
	default:
		r.Causes = append(r.Causes, *cause)
	}
}

// Of is what a report says of one host alone.
func (r Report) Of(host string) Report {
	return Report{Causes: ofHost(r.Causes, host), Waits: ofHost(r.Waits, host), Warnings: ofHost(r.Warnings, host)}
}

func ofHost(causes []Cause, host string) []Cause {
	var out []Cause
	for _, cause := range causes {
		if !slices.Contains(cause.Hosts, host) {
			continue
		}
		cause.Hosts = []string{host}
		cause.Messages = messagesOf(cause.Messages, host)
		cause.Holds = messagesOf(cause.Holds, host)
		out = append(out, cause)
	}
	return out
}

func messagesOf(messages []Message, host string) []Message {
	var out []Message
	for _, m := range messages {
		if len(m.Hosts) == 0 || slices.Contains(m.Hosts, host) {
			out = append(out, Message{Text: m.Text, Hosts: []string{host}})
		}
	}
	return out
}
