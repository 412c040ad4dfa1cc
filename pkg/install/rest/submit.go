package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-openapi/runtime"
	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/client/installer"
	"github.com/openshift/assisted-service/client/manifests"

	"github.com/oaictl/oaictl/pkg/install"
)

const (
	// answerTime is how long an answer may take, and how long a download may
	// stand still; leastAnswerTime is the same in real time, for clocks that
	// run fast.
	answerTime      = 30 * time.Second
	leastAnswerTime = 10 * time.Second

	tries        = 4 // of a request that may be repeated
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = 8 * time.Second
	// patience is the longest Retry-After that is waited for here; a longer
	// one is handed to the caller.
	patience = 30 * time.Second
)

// calling is what requests have in common, beside what they say.
type calling struct {
	label
	file   bool           // what it writes is the user's file
	tries  int            // how often it may be tried if it may be repeated; 0: tries
	charge func()         // told of every try
	seen   func(*attempt) // told of every answer
	wrote  *atomic.Int64  // bytes of a download that were passed on
	most   int            // bytes that an answer in JSON may have; 0: largestThing
}

// with is the plane for a part of the work.
func (p *Plane) with(call calling) *Plane { return &Plane{shared: p.shared, call: call} }

// labelled is the plane for an operation of the generated client.
func (p *Plane) labelled(op, on string) *Plane {
	call := p.call
	call.label = label{op: op, on: on}
	return p.with(call)
}

// installer and manifests are the generated client.
func (p *Plane) installer() *installer.Client { return installer.New(p, strfmt.Default, nil) }

func (p *Plane) manifests() *manifests.Client { return manifests.New(p, strfmt.Default, nil) }

// Submit sends an operation of the generated client, again where that is safe
// and may help. It implements runtime.ClientTransport. Errors are *install.Fault,
// save for the end of the operation's context, which comes back as its cause.
func (p *Plane) Submit(operation *runtime.ClientOperation) (any, error) {
	ctx := operation.Context
	call := p.call
	if call.tries == 0 {
		call.tries = tries
	}
	refreshed := false
	backoff := firstBackoff
	for number := 1; ; number++ {
		if call.charge != nil {
			call.charge()
		}
		try := &attempt{number: number, most: call.most}
		result, err := p.once(ctx, operation, try, call)
		if call.seen != nil && !try.date.IsZero() {
			call.seen(try)
		}
		if err == nil {
			return result, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		var unsent *unsentError
		if errors.As(err, &unsent) {
			return nil, unsent.error // the token source has tried for long enough
		}
		fault := p.fault(call, operation, try, err)
		if fault.Status == http.StatusUnauthorized && !refreshed && p.auth.Refused(try.value) {
			refreshed = true
			number--
			continue
		}
		if number >= call.tries || !repeatable(operation.Method, fault, try, call) {
			return nil, fault
		}
		wait := max(backoff/2+rand.N(backoff), fault.RetryAfter)
		if err := p.clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// repeatable says whether the same request may be sent again and may then
// succeed. A POST is repeated only if it did not leave, or the service said
// that it did not look at it.
func repeatable(method string, fault *install.Fault, try *attempt, call calling) bool {
	if fault.Permanent || fault.RetryAfter > patience || fault.Code == install.CodeAuth {
		return false
	}
	if call.wrote != nil && call.wrote.Load() > 0 {
		return false
	}
	if fault.Status == http.StatusConflict {
		return false
	}
	if method == http.MethodPost {
		return !try.sent.Load() || fault.Status == http.StatusTooManyRequests
	}
	return fault.Status == 0 || (fault.Status >= 200 && fault.Status < 300) || passing(fault.Status)
}

// once sends an operation once, with a deadline.
func (p *Plane) once(ctx context.Context, operation *runtime.ClientOperation, try *attempt, call calling) (any, error) {
	limit := max(p.clock.Wall(answerTime), leastAnswerTime)
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, attemptKey{}, try))
	defer cancel(nil)
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()

	own := *operation
	own.Context = ctx
	if call.wrote != nil {
		own.Reader = stallReader{next: operation.Reader, moved: func() { timer.Reset(limit) }}
	}
	result, err := p.runtime.Submit(&own)
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = context.DeadlineExceeded
	}
	return result, err
}

// stallReader lets a download go on for as long as it moves.
type stallReader struct {
	next  runtime.ClientResponseReader
	moved func()
}

func (s stallReader) ReadResponse(response runtime.ClientResponse, consumer runtime.Consumer) (any, error) {
	return s.next.ReadResponse(movingResponse{ClientResponse: response, moved: s.moved}, consumer)
}

type movingResponse struct {
	runtime.ClientResponse
	moved func()
}

func (m movingResponse) Body() io.ReadCloser {
	return movingBody{ReadCloser: m.ClientResponse.Body(), moved: m.moved}
}

type movingBody struct {
	io.ReadCloser
	moved func()
}

func (m movingBody) Read(data []byte) (int, error) {
	n, err := m.ReadCloser.Read(data)
	if n > 0 {
		m.moved()
	}
	return n, err
}

// request is an operation whose body or answer the generated client has no
// model for. It writes itself into a request of the client's runtime.
type request struct {
	label
	method string
	path   string            // pattern: "/v2/clusters/{cluster_id}"
	in     map[string]string // values of the pattern
	query  map[string][]string
	body   any
	header func(http.Header) // told of the answer's header
	tries  int
}

// WriteToRequest implements runtime.ClientRequestWriter.
func (r *request) WriteToRequest(out runtime.ClientRequest, _ strfmt.Registry) error {
	for name, value := range r.in {
		if value == "" {
			return fmt.Errorf("the request names no %s", name)
		}
		if err := out.SetPathParam(name, value); err != nil {
			return err
		}
	}
	for name, values := range r.query {
		if err := out.SetQueryParam(name, values...); err != nil {
			return err
		}
	}
	if r.body != nil {
		return out.SetBodyParam(r.body)
	}
	return nil
}

// do sends a request and decodes a JSON answer into the given value, or a
// list into things; without either it is dropped.
func (p *Plane) do(ctx context.Context, r request, into any) error {
	read := func(response runtime.ClientResponse, _ runtime.Consumer) (any, error) {
		if r.header != nil {
			r.header(headerOf(response))
		}
		if into == nil {
			_, err := io.Copy(io.Discard, response.Body()) // an answer that breaks off is none
			return nil, err
		}
		if list, ok := into.(things); ok {
			return nil, list.read(response.Body())
		}
		return nil, json.NewDecoder(response.Body()).Decode(into)
	}
	call := p.call
	call.label, call.most = r.label, largestThing
	switch into.(type) {
	case nil:
		call.most = largestDropped
	case things:
		call.most = largestList
	}
	if r.tries > 0 {
		call.tries = r.tries
	}
	_, err := p.with(call).Submit(&runtime.ClientOperation{
		ID: r.op, Method: r.method, PathPattern: r.path, Params: &r,
		ProducesMediaTypes: []string{runtime.JSONMime}, ConsumesMediaTypes: []string{runtime.JSONMime},
		Reader: runtime.ClientResponseReaderFunc(read), Context: ctx,
	})
	return err
}

func headerOf(response runtime.ClientResponse) http.Header {
	header := http.Header{}
	for _, name := range []string{eventCount} {
		if value := response.GetHeader(name); value != "" {
			header.Set(name, value)
		}
	}
	return header
}
