package workloadclient

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// quiet keeps what a server answers out of errors, which are shown: of an answer that is none of the API the HTTP status
// stays, and the reason that Kubernetes has for it. No redirect is followed: an API server sends none, and it would carry a
// request that writes to where the kubeconfig does not lead. Of an answer no more is read than its bounds allow.
type quiet struct{ next http.RoundTripper }

// RoundTrip is of http.RoundTripper.
func (q *quiet) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := q.next.RoundTrip(r)
	if err != nil {
		return nil, quietError(err, "the kubeconfig", "an API server")
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		response.Body = &bounded{ReadCloser: response.Body, left: longestAnswer,
			scan: scan{refused: response.StatusCode >= http.StatusBadRequest}}
	}
	wrong := error(&notAPI{response.StatusCode})
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		return response, withoutWords(response)
	case response.StatusCode >= http.StatusMultipleChoices:
	case isWatch(response):
		response.Body = &events{Closer: response.Body, from: json.NewDecoder(response.Body)}
		return response, nil
	default:
		is, err := isObject(response)
		if err == nil && (is || strings.HasSuffix(r.URL.Path, "/readyz")) {
			return response, nil
		}
		if err != nil {
			wrong = err
		}
	}
	_ = response.Body.Close() // of an answer that is not read
	return nil, wrong
}

// CloseIdleConnections ends those that are open.
func (q *quiet) CloseIdleConnections() {
	if closer, is := q.next.(interface{ CloseIdleConnections() }); is {
		closer.CloseIdleConnections()
	}
}

// notAPI says that a server has answered, and not as an API server does.
type notAPI struct{ status int }

func (n *notAPI) Error() string {
	return fmt.Sprintf("it answers %d %s, and not as an API server does", n.status, http.StatusText(n.status))
}

// longestStatus is how much of an answer is read for its reason.
const longestStatus = 64 << 10

// withoutWords leaves of the body of an error the reason that Kubernetes has for it.
func withoutWords(response *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(response.Body, longestStatus))
	if err != nil {
		text = nil // what is no Status has no reason
	}
	_ = response.Body.Close()
	body := quietStatus(text, response.StatusCode)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Warning")
	response.Header.Del("Content-Encoding")
	response.Header.Set("Content-Type", "application/json")
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// quietStatus is a Status with the code and the reason of another one, and nothing else that it says. The code 0 is that of the
// other one.
func quietStatus(text []byte, code int) []byte {
	var said metav1.Status
	_ = json.Unmarshal(text, &said)
	if code == 0 {
		code = int(said.Code)
	}
	reason := metav1.StatusReasonUnknown
	if slices.Contains(reasons(), said.Reason) {
		reason = said.Reason
	}
	message := fmt.Sprintf("%d %s", code, http.StatusText(code))
	if reason != metav1.StatusReasonUnknown && string(reason) != strings.ReplaceAll(http.StatusText(code), " ", "") {
		message += ", " + string(reason)
	}
	is := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     int32(code), //nolint:gosec // of three digits, or an int32
		Reason:   reason,
		Message:  message,
	}
	if said.Details != nil {
		is.Details = &metav1.StatusDetails{RetryAfterSeconds: said.Details.RetryAfterSeconds}
	}
	body, err := json.Marshal(is)
	if err != nil {
		return []byte("{}") // a Status can always be written
	}
	return body
}

// reasons are those that Kubernetes has for an error.
func reasons() []metav1.StatusReason {
	return []metav1.StatusReason{
		metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
		metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid, metav1.StatusReasonServerTimeout,
		metav1.StatusReasonStoreReadError, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest,
		metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable, metav1.StatusReasonRequestEntityTooLarge,
		metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonInternalError, metav1.StatusReasonExpired,
		metav1.StatusReasonServiceUnavailable,
	}
}

var objectStart = regexp.MustCompile(`^\s*\{\s*"(kind|apiVersion)"\s*:\s*"[A-Za-z]`)

// isWatch reports whether an answer is a stream of events.
func isWatch(response *http.Response) bool {
	return strings.Contains(response.Header.Get("Content-Type"), "stream=watch") || response.Request != nil &&
		response.Request.URL.Query().Get("watch") != ""
}

// isObject reports whether an answer begins as an object of Kubernetes does. The error of a client that reads another answer
// would repeat its text.
func isObject(response *http.Response) (bool, error) {
	if response.ContentLength == 0 || response.StatusCode == http.StatusSwitchingProtocols {
		return true, nil
	}
	reader := bufio.NewReader(response.Body)
	start, err := reader.Peek(len(`{"apiVersion":"config.openshift.io/v1"`))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{reader, response.Body}
	return objectStart.Match(start), nil
}

// unreadable says why an answer is not read, in words of this package.
type unreadable string

func (u unreadable) Error() string { return string(u) }

func isUnreadable(err error) bool {
	_, is := errors.AsType[unreadable](err)
	return is
}

// plainError shows a text in place of what an error says.
type plainError struct {
	text string
	err  error
}

func (p *plainError) Error() string { return p.text }
func (p *plainError) Unwrap() error { return p.err }

// quietError is an error without what the server has said. by names what says which certificates are trusted, and like what the
// server should be.
func quietError(err error, by, like string) error {
	var network *net.OpError
	var resolved *net.DNSError
	var mistrust *tls.CertificateVerificationError
	switch {
	case isUnreadable(err), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &mistrust):
		return &plainError{by + " does not trust the certificate of the server for its address", err}
	case errors.As(err, &network), errors.As(err, &resolved):
		return err
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return err
	}
	return &plainError{"it does not answer as " + like + " does", err}
}
