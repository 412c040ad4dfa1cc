package model

import (
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Event is the library's only output. Its JSON form is version 1 of the event
// line and is described by docs/event.schema.json.
type Event struct {
	V        int       `json:"v"`    // 1
	Time     time.Time `json:"time"` // on the service's clock
	Type     EventType `json:"type"`
	Cluster  string    `json:"cluster,omitempty"`
	Host     string    `json:"host,omitempty"`
	Key      string    `json:"key,omitempty"`
	State    string    `json:"state,omitempty"`
	Stage    string    `json:"stage,omitempty"`
	Percent  *int      `json:"percent,omitempty"`
	ETA      *int      `json:"eta,omitempty"` // seconds until the whole is done
	Severity Severity  `json:"severity,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"`
	Next     Advice    `json:"next,omitempty"`
	ExitCode *int      `json:"exitCode,omitempty"`
	// View is what a live display draws from; it is not part of the line.
	View *View `json:"-"`
}

// View is the whole state after an observation, for displays that draw it
// anew each time.
type View struct {
	Desired  *Desired
	Observed *Observed
	Plan     Plan
	Percent  int           // of the whole; never less than before
	ETA      time.Duration // zero: unknown
	Hosts    []HostView
}

// HostView is one line of a live display.
type HostView struct {
	Name    string    // in the file, or else the service's
	ID      string    // the service's, "" while the host is absent
	Role    spec.Role // as set, or as the service suggests
	State   HostState
	Stage   string // with the part of it that is done: "Writing image to disk 45%"
	Percent int
	Since   time.Time // when the stage, or else the state, began
	Waiting string    // the one thing it waits for
	Trouble bool      // Waiting is a blocker
}

// EventType is what an event is about.
type EventType string

// The types of event. The last event of a run has type EventRun, with State
// and ExitCode.
const (
	EventRun        EventType = "run"
	EventAction     EventType = "action"
	EventHost       EventType = "host"
	EventStage      EventType = "stage"
	EventValidation EventType = "validation"
	EventProgress   EventType = "progress"
	EventWarning    EventType = "warning"
	EventHint       EventType = "hint"
)

// Severity grades an event.
type Severity string

// The severities.
const (
	SeverityInfo    Severity = "info"
	SeverityWarning Severity = "warning"
	SeverityError   Severity = "error"
)
