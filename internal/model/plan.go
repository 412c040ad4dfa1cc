package model

import (
	"strings"
	"time"
)

// Scope says what an action, a wait or a blocker is about: "cluster",
// "infraenv/NAME", "host/NAME" or "node/NAME".
type Scope string

// ScopeCluster is the scope of the cluster as a whole.
const ScopeCluster Scope = "cluster"

// HostScope is the scope of one host by its name in cluster.yaml.
func HostScope(name string) Scope { return Scope("host/" + name) }

// InfraEnvScope is the scope of one InfraEnv.
func InfraEnvScope(name string) Scope { return Scope("infraenv/" + name) }

// Who must act for a wait to end.
type Who string

// Who a wait is for.
const (
	WhoService Who = "service"
	WhoMachine Who = "machine"
	WhoUser    Who = "user"
)

// Cure says who can remove a blocker, which decides how long it is waited for.
type Cure string

// The cures of a blocker.
const (
	CureFile   Cure = "file"   // only a changed cluster.yaml: exit 6 after standing five minutes
	CureNow    Cure = "now"    // only a changed cluster.yaml or flag, and known at once: exit 3
	CurePerson Cure = "person" // somebody at a machine or the network: exit 9 after --user-timeout
	CureOwner  Cure = "owner"  // the object is someone else's or ambiguous: exit 5
	CureAuth   Cure = "auth"   // credentials: exit 4
	CureNone   Cure = "none"   // nothing will cure it by itself: exit 1
)

// Action is one request that brings the cluster closer to what is desired.
type Action struct {
	// Key is the same for the same action in every plan: "cluster/register".
	Key         string
	Scope       Scope
	Kind        Kind
	Reason      string
	Destructive bool
	// Changes are what a person is shown; secrets in them are redacted.
	Changes []Change
	// Target is the service's id of the object acted on, "" for a creation.
	Target string
	// InfraEnv is the id of the InfraEnv that a host belongs to.
	InfraEnv string
	// Name is the object's name: cluster, InfraEnv, "folder/file" of a manifest.
	Name string
	// Settings are what to write: all of a new object, only what differs of
	// an existing one.
	Settings Settings
}

// Change is one field that an action changes.
type Change struct {
	Field string // path in cluster.yaml
	From  string // as text, "" for nothing
	To    string
}

// Wait is something that the plan can only wait for.
type Wait struct {
	Key   string
	Scope Scope
	For   string    // "cp-1 to register with the service"
	Since time.Time // zero: unknown
	Who   Who
	Until time.Time // when it is given up, without harm; zero: never
	Next  Advice    // the command that helps, "" if none
}

// Blocker is something that stands in the way and does not pass by itself.
type Blocker struct {
	Key     string
	Scope   Scope
	Reason  string // CamelCase, stable: "UnknownHost"
	Message string
	Field   string // path in cluster.yaml, "" if none
	Remedy  Advice // what to do or type next
	Cure    Cure
	Since   time.Time // zero: unknown
	// Validations are the failing checks behind it, Hosts those concerned.
	Validations []string
	Hosts       []string
	// Of a failing check: what the service says beyond Message, what mostly lies behind
	// it, how to be sure, and the checks that fail because of it.
	Says    []string
	Usual   string
	Check   Advice
	Follows []string
}

// Verdict is where the install stands, in one word.
type Verdict string

// The verdicts of a plan. Those after VerdictBlocked are ends.
const (
	VerdictWorking   Verdict = "working" // there are actions to carry out
	VerdictWaiting   Verdict = "waiting" // nothing to do but wait
	VerdictBlocked   Verdict = "blocked" // a person is needed
	VerdictInstalled Verdict = "installed"
	VerdictDegraded  Verdict = "degraded" // installed, with failed operators or hosts
	VerdictFailed    Verdict = "failed"
	VerdictCancelled Verdict = "cancelled"
	VerdictUnknown   Verdict = "unknown" // the service is in a state that oaictl does not know
)

// Plan is what Decide makes of a desired and an observed cluster.
type Plan struct {
	Verdict  Verdict
	Message  string // one sentence for a person
	Next     Advice // the command to type next, "" if none
	Actions  []Action
	Waits    []Wait
	Blockers []Blocker
	// Warnings change nothing, but a person should know: drift that is not
	// written, unknown states, workers that did not come.
	Warnings []Warning
	// Checks are failing checks that hold nothing up.
	Checks []Warning
	// Wipes names, before the install call, each disk that will be written.
	Wipes []Wipe
	// Missing are hosts of the file that are not in the cluster.
	Missing []string
	// Added are the hosts that were added after the install, of an installed
	// cluster and with Options.AddNodes.
	Added []string
	// Fault is why a loop that has nothing left to do ends here, with its exit code:
	// the cluster has failed, is degraded or unknown, or something has been waited for
	// too long. Nil: it goes on, or is done.
	Fault *Fault
	// Deadline is when, on the loop's own clock, the next limit is reached that would end
	// it; zero: none.
	Deadline time.Time

	retry *Refusal // of an action that is to be tried again
}

// Ended says whether a loop that has carried out the plan's actions, and found none
// left, is over. err is nil where the cluster is installed.
func (p *Plan) Ended() (ended bool, err error) {
	if p.Fault != nil {
		return true, p.Fault
	}
	return p.Verdict == VerdictInstalled, nil
}

// TryAgain says that an action which was refused is left out of the plan until it is to be
// tried again.
func (p *Plan) TryAgain(refused Refusal) { p.retry = &refused }

// Warning is something that a person should know and that stops nothing.
type Warning struct {
	Key     string
	Scope   Scope
	Reason  string // CamelCase, stable: "Drift"
	Message string
	Next    Advice
}

// Wipe is a disk that the install will write over.
type Wipe struct {
	Host    string
	Disk    string // path and id for a person
	Size    int64  // bytes
	Install bool   // the installation disk; otherwise only formatted
}

// HostOf is the name of the host that a scope is about, "" for another scope.
func HostOf(s Scope) string {
	name, _ := strings.CutPrefix(string(s), "host/")
	if name == string(s) {
		return ""
	}
	return name
}
