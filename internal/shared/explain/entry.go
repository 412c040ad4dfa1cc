package explain

import (
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Kind is the sort of thing that an entry explains.
type Kind string

// The kinds of entries.
const (
	KindValidation Kind = "validation"
	KindState      Kind = "state"
	KindStage      Kind = "stage"
	KindEvent      Kind = "event"
)

// Kinds are all kinds, in the order in which they are listed to people.
func Kinds() []Kind { return []Kind{KindValidation, KindState, KindStage, KindEvent} }

// Subject is what an entry is about.
type Subject string

// The subjects of entries. Only events are about an InfraEnv.
const (
	SubjectHost     Subject = "host"
	SubjectCluster  Subject = "cluster"
	SubjectInfraEnv Subject = "infraenv"
)

// Entry is what all kinds of entries have in common: the explanation.
type Entry struct {
	Kind    Kind    `json:"kind"`
	Subject Subject `json:"subject"`
	// Name is the service's own word: an id, status, stage or event name. Of a state that oaictl shows it is oaictl's.
	Name string `json:"name"`
	// Title is a short name for people; for a validation, what holds when it
	// passes.
	Title string `json:"title"`
	// Meaning is what it says; for a validation, what failing says.
	Meaning string `json:"meaning"`
	// Cause is what usually leads to it, "" where there is nothing to blame.
	Cause string `json:"cause,omitempty"`
	// Check is what to run or look at to be sure.
	Check model.Advice `json:"check,omitempty"`
	// Remedy is what to do, "" where nothing is to be done.
	Remedy model.Advice `json:"remedy,omitempty"`
	// Field is the path in cluster.yaml that it belongs to, such as
	// "spec.network.vips.api" or "spec.hosts[].disk", "" for none.
	Field string `json:"field,omitempty"`
}

// Cure is who, or what, can make a failing validation pass.
type Cure string

// The cures of a validation.
const (
	CureFile    Cure = "file"    // only a changed cluster.yaml
	CureMachine Cure = "machine" // something at the machine, its network or the services around it
	CureWait    Cure = "wait"    // it passes by itself, or with what it waits for
)

// Ref names a validation. IDs alone do not: hosts and clusters share some.
type Ref struct {
	Subject Subject `json:"subject"`
	ID      string  `json:"id"`
}

// AnyBlocking is the ID of a Ref that means every blocking validation of its subject.
const AnyBlocking = "*"

// String is the form that Find understands, "host/connected".
func (r Ref) String() string { return string(r.Subject) + "/" + r.ID }

// CategoryKubeAPI is the category of what a hub reports about the objects themselves. It is not a category of
// validations_info.
const CategoryKubeAPI = "kube-api"

// SpecSynced is the check that represents the condition SpecSynced of an AgentClusterInstall and of an Agent.
const SpecSynced = "spec-synced"

// ValidationEntry explains a validation: an entry of validations_info.
type ValidationEntry struct {
	Entry
	// Category is the key in validations_info under which it is found.
	Category string `json:"category"`
	// Blocking says that the installation cannot start while it fails.
	Blocking bool `json:"blocking"`
	// Ignorable says that spec.ignoreValidations, "all" included, covers it.
	Ignorable bool `json:"ignorable"`
	// Cure is who can make it pass.
	Cure Cure `json:"cure"`
	// ConsequenceOf are validations whose failure makes this one fail, or
	// wait, too. Those of the same subject mean the same object.
	ConsequenceOf []Ref `json:"consequenceOf,omitempty"`
	// Debounce is how many observations in a row it has to fail before it
	// counts, 1 or more. Above 1 it is known to fail in passing.
	Debounce int `json:"debounce"`
}

// StateEntry explains a status of a cluster or a host, or a state as oaictl shows it: that of a cluster, a host or the
// discovery image of an InfraEnv.
type StateEntry struct {
	Entry
	// Neutral is the word for it that does not depend on the backend, such as "Blocked". A cluster that has not been
	// evaluated yet (empty validations_info) is a Draft in any status.
	Neutral string `json:"neutral"`
	// Terminal says that nothing follows unless a user asks for it.
	Terminal bool `json:"terminal"`
	// NeedsUser says that a person has to act at a machine for it to go on.
	NeedsUser bool `json:"needsUser"`
}

// Own reports whether it is a state as oaictl shows it, and not a status of the service.
func (s StateEntry) Own() bool { return s.Name == s.Neutral }

// StageEntry explains a stage: of a host's installation (subject host) or of
// the cluster's finalizing (subject cluster).
type StageEntry struct {
	Entry
	// Paths are the ways through an installation on which it lies. Empty for
	// finalizing stages, which every cluster goes through, and for Failed.
	Paths []Path `json:"paths,omitempty"`
	// Order is its place among the stages of its subject, from 1; 0 for
	// Failed. The order on one path is that of Stages.
	Order int `json:"order"`
	// Budget is the time after which the service calls it timed out, 0 for
	// none. Services may be configured otherwise, and say so themselves
	// (stage_timed_out), which goes first.
	Budget time.Duration `json:"budget"`
	// Hard is the time after which the service gives the cluster up, 0 where
	// it only warns.
	Hard time.Duration `json:"hard,omitempty"`
	// SingleNodeBudget is the Budget on a single node, 0 where it is the same.
	SingleNodeBudget time.Duration `json:"singleNodeBudget,omitempty"`
	// Usual is how long it takes on ordinary servers: the weight for an
	// estimate, no promise.
	Usual time.Duration `json:"usual"`
}

// Severity is how bad an event is, in the service's words.
type Severity string

// The severities of events.
const (
	SeverityInfo     Severity = "info"
	SeverityWarning  Severity = "warning"
	SeverityError    Severity = "error"
	SeverityCritical Severity = "critical"
)

// EventEntry explains an event: an entry of GET /events that has a name.
type EventEntry struct {
	Entry
	// Severity is the one that it usually has. Some events (a host's status
	// change) carry another one, by what they report.
	Severity Severity `json:"severity"`
	// Watch is what it means for a user who watches an installation.
	Watch model.Advice `json:"watch"`
}
