package service

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// Error is the error of every call.
type Error struct {
	// Doing is what the call was for, such as "register this host".
	Doing string
	// Request is the method and the URL.
	Request string
	// Status is the HTTP status of the answer, 0 if there was no whole answer.
	Status int
	// Reason is what the service says about it, on one line. It may be empty.
	Reason string
	// ID is the request's identifier in the logs of the service.
	ID string
	// Tries says how often the request was sent.
	Tries int

	err error // why there was no whole answer
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Doing, e.Request)
	if e.Status == 0 {
		fmt.Fprintf(&b, ": no answer: %s", e.Reason)
	} else {
		fmt.Fprintf(&b, ": the service answered %d", e.Status)
		if name := http.StatusText(e.Status); name != "" {
			b.WriteString(" " + name)
		}
		if e.Reason != "" {
			b.WriteString(": " + e.Reason)
		}
	}
	if advice := e.advice(); advice != "" {
		b.WriteString("; " + advice)
	}
	fmt.Fprintf(&b, " (request ID %s", e.ID)
	if e.Tries > 1 {
		fmt.Fprintf(&b, ", sent %d times", e.Tries)
	}
	b.WriteString(")")
	return b.String()
}

func (e *Error) Unwrap() error { return e.err }

// advice is what to do about an answer, "" if only the service's reason helps.
func (e *Error) advice() string {
	switch e.Status {
	case 0:
		if certificate(e.err) {
			return "give the CA certificate of the service, and check the clock of this machine"
		}
	case http.StatusUnauthorized:
		return "the token of this machine is missing or no longer valid: boot it from a newly downloaded discovery image"
	case http.StatusForbidden:
		return "the service does not allow this to this machine"
	}
	return ""
}

// StatusOf is the HTTP status that a call's error carries, 0 if there was no answer or err is another error.
func StatusOf(err error) int {
	if answer, is := errors.AsType[*Error](err); is {
		return answer.Status
	}
	return 0
}

// HasStatus reports whether the service answered with one of these statuses.
func HasStatus(err error, statuses ...int) bool {
	status := StatusOf(err)
	return status != 0 && slices.Contains(statuses, status)
}

// certificate reports whether the service's certificate is why there was no answer: asking again does not help.
func certificate(err error) bool {
	if err == nil {
		return false
	}
	if _, is := errors.AsType[*tls.CertificateVerificationError](err); is {
		return true
	}
	if _, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return true
	}
	_, is := errors.AsType[tls.RecordHeaderError](err)
	return is
}

// longestReason is how many bytes of a service's reason are shown.
const longestReason = 1000

// reasonOf reads why the service refused a request. Behind a proxy or a router it may be a page.
func (c *Client) reasonOf(body []byte) string {
	var answer struct {
		Code    any    `json:"code"`
		Reason  string `json:"reason"`  // of models.Error
		Message string `json:"message"` // of models.InfraError, and of go-openapi's own errors
	}
	text := string(body)
	if err := json.Unmarshal(body, &answer); err == nil {
		text = answer.Reason + answer.Message
	}
	return c.word(text)
}

// word is a text from outside, fit for an error: on one line, bounded and without secrets.
func (c *Client) word(text string) string {
	text = c.clean(redact.Text(strings.Join(strings.Fields(text), " ")))
	if len(text) > longestReason {
		text = text[:longestReason] + "..."
	}
	return escape.Word(text)
}
