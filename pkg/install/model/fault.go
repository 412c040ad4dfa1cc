package model

import (
	"errors"
	"fmt"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Code classes an error; each maps to one exit code.
type Code int

// The codes, with the exit code of each.
const (
	CodeFailure     Code = 1
	CodeUsage       Code = 2
	CodeInput       Code = 3
	CodeAuth        Code = 4
	CodeNotFound    Code = 5
	CodeBlocked     Code = 6
	CodeFailed      Code = 7
	CodeTimeout     Code = 8
	CodeNeedsUser   Code = 9
	CodeDegraded    Code = 10
	CodeInterrupted Code = 130
	CodeTerminated  Code = 143
)

// Fault is an error that says what was being done, to what, why it failed,
// and what to do next.
type Fault struct {
	Code Code
	Op   string // "register cluster"
	On   string // "lab.example.com"
	Next Advice // what to type or do next
	// Permanent says that the same request will be refused again: a 4xx other
	// than 408, 423, 425 and 429, a webhook, a schema.
	Permanent bool
	// Ambiguous says that the request may have been carried out nevertheless.
	Ambiguous bool
	// Foreign says that what answered is not the service: a proxy, a login page, another server.
	Foreign bool
	// RetryAfter is the service's own wish, zero if it had none.
	RetryAfter time.Duration
	Status     int // HTTP status, 0 if none
	Err        error
}

func (f *Fault) Error() string {
	switch {
	case f.Op == "":
		return f.Err.Error()
	case f.On == "":
		return fmt.Sprintf("%s: %v", f.Op, f.Err)
	default:
		return fmt.Sprintf("%s %s: %v", f.Op, f.On, f.Err)
	}
}

func (f *Fault) Unwrap() error { return f.Err }

// FaultOf returns a copy of the first Fault in the chain of err, or a new one for an error without one. Its Code is set:
// where the first Fault has none, it is CodeInput for what is wrong with a cluster.yaml, and else CodeFailure.
func FaultOf(err error) *Fault {
	fault := Fault{Err: err}
	if first := (*Fault)(nil); errors.As(err, &first) {
		fault = *first
	}
	if fault.Code == 0 {
		fault.Code = CodeFailure
		if problems := (*spec.Problems)(nil); errors.As(err, &problems) {
			fault.Code = CodeInput
		}
	}
	return &fault
}

// ForGood reports whether the same request would be refused again.
func (f *Fault) ForGood() bool { return f.Permanent || f.Code == CodeAuth }
