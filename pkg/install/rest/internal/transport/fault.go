package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-openapi/runtime"

	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// readError makes an error of an answer with an error status. The service has two shapes for them; proxies and crashes
// have none. Some repeat what they were sent: hide removes that.
func readError(resp *http.Response, body []byte, now time.Time, hide func(string) string) *answerError {
	e := &answerError{status: resp.StatusCode, header: resp.Header, retryAfter: retryAfter(resp.Header, now)}
	e.kind, e.reason = errorShape([]byte(hide(string(body))))
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.kind = notAnAnswer
		e.reason = "the service sends elsewhere, to " + resp.Header.Get("Location")
	}
	if e.reason == "" {
		e.reason = http.StatusText(resp.StatusCode)
	}
	if e.reason == "" {
		e.reason = "status " + strconv.Itoa(resp.StatusCode)
	}
	e.reason = short(redact.Text(hide(e.reason)))
	return e
}

// errorShape reads the body of an error: models.Error has a code in a string
// and a reason, models.InfraError a number and a message.
func errorShape(body []byte) (answerKind, string) {
	var shape struct {
		Code    json.RawMessage `json:"code"`
		Reason  string          `json:"reason"`
		Message string          `json:"message"`
	}
	if err := json.Unmarshal(body, &shape); err == nil {
		switch {
		case shape.Reason != "":
			return serviceShape, shape.Reason
		case shape.Message != "" && len(shape.Code) > 0:
			return frameworkShape, shape.Message
		case shape.Message != "":
			return shapeless, shape.Message
		}
	}
	return shapeless, Title(body)
}

func pageTitle(body []byte) string {
	lower := bytes.ToLower(body)
	from := bytes.Index(lower, []byte("<title>"))
	if from < 0 {
		return ""
	}
	from += len("<title>")
	to := bytes.Index(lower[from:], []byte("</title>"))
	if to < 0 || len(lower) != len(body) {
		return ""
	}
	return strings.Join(strings.Fields(string(body[from:from+to])), " ")
}

// Title is what a page or plain text says of itself, in one line.
func Title(body []byte) string {
	text := string(bytes.TrimSpace(body))
	if strings.HasPrefix(text, "<") {
		if inner := pageTitle([]byte(text)); inner != "" {
			return inner
		}
		return "a page without a title"
	}
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}

// retryAfter is the service's wish in the header of that name: seconds or a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 24*3600)) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return max(0, at.Sub(now))
}

// passing reports whether a status may be another one a little later.
func passing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= 500
}

// fault makes the error that callers see of what went wrong with a request.
func (c *Connection) fault(call calling, operation *runtime.ClientOperation, try *attempt, err error) *model.Fault {
	method := operation.Method
	var made *model.Fault
	if errors.As(err, &made) {
		return made // the reader of the answer made it already
	}
	f := &model.Fault{Code: model.CodeFailure, Op: call.op, On: call.on}
	var answer *answerError
	if !errors.As(err, &answer) {
		c.noAnswer(f, method, try, err)
		return f
	}
	f.Status, f.Err, f.RetryAfter, f.Foreign = answer.status, answer, answer.retryAfter, answer.kind == notAnAnswer
	switch {
	case isElsewhere(operation, answer):
		f.Ambiguous, f.Permanent = method == http.MethodPost && answer.kind == notAnAnswer, answer.kind != notAnAnswer
		f.Err = fmt.Errorf("there is no assisted-service at %s: %w", c.URL(), answer)
		f.Next = "check --service-url"
	case answer.kind >= notAnAnswer:
		f.Ambiguous, f.Permanent, f.Err = method == http.MethodPost, answer.kind == tooLarge, c.foreign(answer)
		f.Next = model.Advicef("check that --service-url %s is an assisted-service and not a web page or login in front of it", c.URL())
	case passing(answer.status):
		f.Ambiguous = method == http.MethodPost && answer.status >= 500 && answer.kind != serviceShape
		f.Next = "run the same command again in a while"
	default:
		c.refused(f, answer, call.file && method != http.MethodGet && method != http.MethodDelete)
	}
	return f
}

// isElsewhere reports whether an answer shows that something else is at the service's address: every service has its
// collections, and sends no web pages.
func isElsewhere(operation *runtime.ClientOperation, answer *answerError) bool {
	if strings.Contains(operation.PathPattern, "{") {
		return false
	}
	return answer.kind == notAnAnswer && answer.page || answer.kind == shapeless && answer.status == http.StatusNotFound
}

// speaksTLS reports whether an answer is that of a server that was spoken to without TLS where it speaks TLS, in the
// words of Go, nginx and Apache.
func speaksTLS(answer *answerError) bool {
	if answer.kind != shapeless {
		return false
	}
	for _, words := range []string{"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port",
		"plain HTTP to an SSL-enabled"} {
		if strings.Contains(answer.reason, words) {
			return true
		}
	}
	return false
}

// tooOld is what to do about a key that the service does not know: a person knows it by its field of the file.
func (c *Connection) tooOld(key string) model.Advice {
	if c.fieldOf != nil {
		if field := c.fieldOf(key); field != "" {
			return model.Advicef("the service is too old to know %s (it calls it %s): leave it out, or use a newer service", field, key)
		}
	}
	return model.Advicef("the service is too old to know %s: leave out what needs it, or use a newer service", key)
}

// refused fills in a fault for a 4xx; ofFile says whether the request came from the file.
func (c *Connection) refused(f *model.Fault, answer *answerError, ofFile bool) {
	f.Permanent = true
	switch answer.status {
	case http.StatusUnauthorized:
		f.Code, f.Next = model.CodeAuth, model.Advice(c.auth.Next())
	case http.StatusForbidden:
		f.Code, f.Next = model.CodeAuth, "use a token of a user who may do this"
	case http.StatusNotFound:
		f.Code, f.Next = model.CodeNotFound, "{get clusters}"
	case http.StatusConflict:
		// The object is in another state than the last observation said; the
		// next one decides. Only what the request itself asked for stays wrong.
		f.Permanent = strings.Contains(answer.reason, "not part of the host's valid disks") ||
			strings.Contains(answer.reason, "duplicate setting of installation path")
		f.Code = model.CodeFailure
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		field := unknownField(answer.reason)
		switch {
		case speaksTLS(answer):
			f.Next = "use https:// in --service-url"
		case field != "" && answer.kind == serviceShape: // of a document within the request
			f.Code, f.Next = model.CodeInput, model.Advicef("leave %s out of the file: the service has no such key there", field)
		case field != "":
			f.Next = c.tooOld(field)
		case ofFile:
			f.Code, f.Next = model.CodeInput, "change the file and run the same command again"
		default:
			f.Next = "run the same command with -vv to see what was asked"
		}
	}
}

// unknownField is the field that a service does not know, as Go's JSON decoder names it.
func unknownField(reason string) string {
	match := regexp.MustCompile(`unknown field "([^"]+)"`).FindStringSubmatch(reason)
	if match == nil {
		return ""
	}
	return match[1]
}

func (c *Connection) noAnswer(f *model.Fault, method string, try *attempt, err error) {
	f.Ambiguous = method == http.MethodPost && try.sent.Load()
	f.Err = errors.New(short(hiding(try.value)(redact.Error(err))))
	host := c.base.Host
	if text, next := distrust(err, host, c.caFile); next != "" {
		f.Permanent, f.Next, f.Err = true, model.Advice(next), fmt.Errorf("%s: %w", text, f.Err)
		return
	}
	var (
		record    tls.RecordHeaderError
		dns       *net.DNSError
		syntax    *json.SyntaxError
		shape     *json.UnmarshalTypeError
		operation *net.OpError
	)
	switch {
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		f.Permanent, f.Next = true, "the service does not speak TLS there: check http or https, and the port, in --service-url"
	case errors.As(err, &dns):
		f.Err = fmt.Errorf("the name %s cannot be resolved: %w", dns.Name, f.Err)
		f.Next = "check --service-url and DNS"
	case errors.As(err, &shape):
		f.Foreign, f.Err = true, c.foreign(fmt.Errorf("the answer is not what the service sends: %w", f.Err))
		f.Next = model.Advicef("check that --service-url %s is an assisted-service", c.URL())
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		f.Err = fmt.Errorf("the answer broke off or is not what the service sends: %w", f.Err)
		f.Next = "run the same command again in a while"
	case errors.Is(err, context.DeadlineExceeded):
		f.Err = errors.New("the service did not answer in time")
		f.Next = model.Advice("check that " + host + " can be reached")
	case errors.As(err, &operation) && operation.Op == "dial":
		f.Next = model.Advice("check that the service runs and that " + host + " can be reached")
	default:
		f.Next = "run the same command again in a while"
	}
}

// distrust names the host with a certificate that was not trusted, the reason, and what to do about it; nothing if that
// is not what went wrong. caFile is the file of certificates that the user gave, if any.
func distrust(err error, host, caFile string) (text, next string) {
	var (
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &unknown) && caFile != "":
		return fmt.Sprintf("the certificate of %s is signed by none in %s", host, caFile),
			"give the certificate that signed that of " + host + " with --ca-file"
	case errors.As(err, &unknown):
		return fmt.Sprintf("the certificate of %s is not signed by an authority that this machine trusts", host),
			"give the certificate that signed that of " + host + " with --ca-file"
	case errors.As(err, &name):
		return fmt.Sprintf("the certificate of %s was made for another name", host),
			"use a name that the certificate was made for, or have it made for " + host
	case errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is not valid", host), "renew the certificate of " + host + ", and check this machine's clock"
	}
	return "", ""
}

// Gone reports whether the service has no such object any more.
func Gone(err error) bool {
	var fault *model.Fault
	return errors.As(err, &fault) && fault.Status == http.StatusNotFound
}

// Permanent reports whether the same request would be refused again.
func Permanent(err error) bool {
	var fault *model.Fault
	return errors.As(err, &fault) && (fault.Permanent || fault.Code == model.CodeAuth)
}

// Conflict reports whether the object is not in a state for the request.
func Conflict(err error) bool {
	var fault *model.Fault
	return errors.As(err, &fault) && fault.Status == http.StatusConflict
}

func short(text string) string {
	const longest = 2000
	text = strings.TrimSpace(text)
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
