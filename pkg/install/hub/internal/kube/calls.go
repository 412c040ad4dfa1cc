package kube

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/pkg/install"
)

// Call is one call of the API server, for a debug log. It holds no secret: no
// body, no header, no query beside whether it is a watch.
type Call struct {
	Method   string // PATCH; WATCH for a GET that goes on
	Path     string
	Status   int // 0: there was no answer
	Duration time.Duration
	Error    string
}

// Writes says whether the call was to change something.
func (c Call) Writes() bool { return c.Method != http.MethodGet && c.Method != "WATCH" }

// loggingTransport passes calls on, tells of them, and learns the server's time from them.
type loggingTransport struct {
	next  http.RoundTripper
	clock install.Clock
	log   func(Call)
	time  *ServerTime
}

// RoundTrip is of http.RoundTripper.
func (c *loggingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	began := c.clock.Now()
	response, err := c.next.RoundTrip(request)
	call := Call{Method: request.Method, Path: request.URL.Path, Duration: c.clock.Now().Sub(began)}
	if request.URL.Query().Get("watch") != "" {
		call.Method = "WATCH"
	}
	switch {
	case err != nil:
		call.Error = redact.Text(err.Error())
	default:
		call.Status = response.StatusCode
		c.time.observe(response.Header.Get("Date"))
	}
	if c.log != nil {
		c.log(call)
	}
	return response, err
}

// ServerTime is the API server's clock, as far as its answers tell.
type ServerTime struct {
	clock  install.Clock
	mu     sync.Mutex
	known  bool
	offset time.Duration
}

// minimumOffset is the difference of clocks that a Date, which has whole seconds, and
// the way of an answer explain.
const minimumOffset = 3 * time.Second

// observe learns from the first answer how far the server's clock is from ours.
func (s *ServerTime) observe(date string) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known {
		return
	}
	s.known = true
	if offset := at.Sub(s.clock.Now()); offset.Abs() > minimumOffset {
		s.offset = offset
	}
}

// Now is the present moment on the server's clock.
func (s *ServerTime) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock.Now().Add(s.offset)
}

// WithTimeout gives a call its deadline, and has client-go tell nobody else of it.
func WithTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(withoutLogging(ctx), RequestTimeout)
}

// withoutLogging keeps what client-go would write to the standard error to itself: what
// goes wrong is reported by the plane.
func withoutLogging(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

// rawConfig is for calls whose answers are read as they are.
func rawConfig(kube *rest.Config) *rest.Config {
	raw := rest.CopyConfig(kube)
	raw.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	raw.APIPath = "/apis"
	return raw
}
