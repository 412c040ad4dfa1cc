package workload

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
// request that writes to where the kubeconfig does not lead. Of an answer no more is read than longestAnswer.
type quiet struct{ next http.RoundTripper }

// RoundTrip is of http.RoundTripper.
func (q *quiet) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := q.next.RoundTrip(r)
	if err != nil {
		return nil, quietError(err)
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		response.Body = &bounded{ReadCloser: response.Body, left: longestAnswer}
	}
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		return response, withoutWords(response)
	case response.StatusCode >= http.StatusMultipleChoices:
	case isObject(response), strings.HasSuffix(r.URL.Path, "/readyz"):
		return response, nil
	}
	_ = response.Body.Close() // of an answer that is not read
	return nil, &notAPI{response.StatusCode}
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

// longestAnswer is how many bytes of an answer are read at most, unpacked: the objects that are made of them take several
// times as much memory. A watch that has brought as much begins anew.
const longestAnswer = 32 << 20

// bounded is the body of an answer that may be endless.
type bounded struct {
	io.ReadCloser

	left int
}

// Read is of io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it answers with more than %d MiB", longestAnswer>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// longestStatus is how much of an answer is read for its reason.
const longestStatus = 64 << 10

// withoutWords leaves of the body of an error the reason that Kubernetes has for it.
func withoutWords(response *http.Response) error {
	var said metav1.Status
	text, err := io.ReadAll(io.LimitReader(response.Body, longestStatus))
	if err == nil {
		_ = json.Unmarshal(text, &said) // what is no Status has no reason
	}
	_ = response.Body.Close()
	reason := metav1.StatusReasonUnknown
	if slices.Contains(reasons(), said.Reason) {
		reason = said.Reason
	}
	message := fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	if reason != metav1.StatusReasonUnknown && string(reason) != strings.ReplaceAll(http.StatusText(response.StatusCode), " ", "") {
		message += ", " + string(reason)
	}
	is := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(response.StatusCode), //nolint:gosec // of three digits
		Reason: reason, Message: message,
	}
	if said.Details != nil {
		is.Details = &metav1.StatusDetails{RetryAfterSeconds: said.Details.RetryAfterSeconds}
	}
	body, err := json.Marshal(is)
	if err != nil {
		return err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Warning")
	response.Header.Del("Content-Encoding")
	response.Header.Set("Content-Type", "application/json")
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// reasons are those that Kubernetes has for an error.
func reasons() []metav1.StatusReason {
	return []metav1.StatusReason{
		metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden, metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists,
		metav1.StatusReasonConflict, metav1.StatusReasonGone, metav1.StatusReasonInvalid, metav1.StatusReasonServerTimeout,
		metav1.StatusReasonStoreReadError, metav1.StatusReasonTimeout, metav1.StatusReasonTooManyRequests, metav1.StatusReasonBadRequest,
		metav1.StatusReasonMethodNotAllowed, metav1.StatusReasonNotAcceptable, metav1.StatusReasonRequestEntityTooLarge,
		metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonInternalError, metav1.StatusReasonExpired, metav1.StatusReasonServiceUnavailable,
	}
}

var objectStart = regexp.MustCompile(`^\s*\{\s*"(kind|apiVersion|type)"\s*:\s*"[A-Za-z]`)

// protobufStart begins an object in the binary form of Kubernetes.
const protobufStart = "k8s\x00"

// isObject reports whether an answer begins as an object of Kubernetes does, or as an event of a watch. The error of
// a client that reads another answer would repeat its text.
func isObject(response *http.Response) bool {
	kind := response.Header.Get("Content-Type")
	isWatch := strings.Contains(kind, "stream=watch") || response.Request != nil && response.Request.URL.Query().Get("watch") != ""
	if isWatch || response.ContentLength == 0 || response.StatusCode == http.StatusSwitchingProtocols {
		return true // nothing of a watch may have come yet: it follows a list, which is looked at
	}
	reader := bufio.NewReader(response.Body)
	start, err := reader.Peek(len(`{"apiVersion":"config.openshift.io/v1"`))
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{reader, response.Body}
	return objectStart.Match(start) || bytes.HasPrefix(start, []byte(protobufStart))
}

// plainError shows a text in place of what an error says.
type plainError struct {
	text string
	err  error
}

func (p *plainError) Error() string { return p.text }
func (p *plainError) Unwrap() error { return p.err }

// quietError is an error without what the server has said.
func quietError(err error) error {
	var network *net.OpError
	var resolved *net.DNSError
	var mistrust *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &mistrust):
		return &plainError{"the kubeconfig does not trust the certificate of the server for its address", err}
	case errors.As(err, &network), errors.As(err, &resolved):
		return err
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return err
	}
	return &plainError{"it does not answer as an API server does", err}
}
