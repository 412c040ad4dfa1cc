package model

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
