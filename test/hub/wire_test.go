//go:build e2e

package hub

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	hubplane "github.com/oaictl/oaictl/pkg/install/hub"
)

// wire stands between oaictl and the API server.
type wire struct {
	next http.RoundTripper
	// strike may answer a request itself: with what it returns, and true. pass
	// sends it on.
	strike func(request *http.Request, pass func() (*http.Response, error)) (*http.Response, error, bool)

	mu      sync.Mutex
	written map[string]int // path of an object → how many writes to it were carried out, except those that only touch
	touched map[string]int // the same of those that only have the service look again
}

// RoundTrip is of http.RoundTripper.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	pass := func() (*http.Response, error) {
		counted := w.written
		if touches(request) {
			counted = w.touched
		}
		response, err := w.next.RoundTrip(request)
		if err == nil && writes(request) && response.StatusCode < 300 {
			w.mu.Lock()
			counted[request.URL.Path]++
			w.mu.Unlock()
		}
		return response, err
	}
	if w.strike != nil {
		if response, err, struck := w.strike(request, pass); struck {
			return response, err
		}
	}
	return pass()
}

func writes(request *http.Request) bool { return request.Method != http.MethodGet }

// touches reports whether a request only makes the service look at an object again.
func touches(request *http.Request) bool {
	if request.Method != http.MethodPatch || request.GetBody == nil {
		return false
	}
	body, err := request.GetBody()
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(body)
	return err == nil && bytes.HasPrefix(data, []byte(`{"metadata":{"annotations":{"`+hubapi.AnnotationTouched+`"`))
}

// placeOf names a request without what differs between two of the same kind.
func placeOf(request *http.Request) string { return request.Method + " " + request.URL.Path }

// through is a plane whose calls go over a wire.
func (x *site) through(t testing.TB, w *wire) *hubplane.Plane {
	t.Helper()
	kube := rest.CopyConfig(x.kube)
	if w.written == nil {
		w.written, w.touched = map[string]int{}, map[string]int{}
	}
	kube.Wrap(func(next http.RoundTripper) http.RoundTripper {
		w.next = next
		return w
	})
	return x.planeAs(t, kube)
}

// refusal is a Status as the API server sends it.
func refusal(request *http.Request, code int, reason, message, details string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"details":{%s},"code":%d}`, message, reason, details, code)
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)),
	}
}
