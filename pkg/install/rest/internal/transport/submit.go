package transport

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

	"github.com/oaictl/oaictl/pkg/install/model"
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
	patience     = 30 * time.Second // the longest Retry-After that is waited for here, and not by the caller
)

// calling is what requests have in common, beside what they say.
type calling struct {
	op, on string // what it does to what, for errors
	file   bool   // what it writes is the user's file
	tries  int    // how often it may be tried if it may be repeated; 0: tries
	charge func() // called for every try
	// answered gets the service's time, and ours, at every answer.
	answered func(date, got time.Time)
	wrote    *atomic.Int64 // bytes of a download that were passed on
	most     int           // bytes that an answer in JSON may have; 0: largestElement
}

func (c *Connection) with(change func(*calling)) *Connection {
	out := *c
	change(&out.call)
	return &out
}

// Labelled is the connection for an operation of the generated client.
func (c *Connection) Labelled(op, on string) *Connection {
	return c.with(func(call *calling) { call.op, call.on = op, on })
}

// SendingFile is the connection for what is made of the user's file: a refusal is
// the file's fault.
func (c *Connection) SendingFile(is bool) *Connection {
	return c.with(func(call *calling) { call.file = is })
}

// Polling is the connection for looks that come again and again: each request is tried twice. charge is called for
// every try, answered with the service's time and ours at every answer.
func (c *Connection) Polling(charge func(), answered func(date, got time.Time)) *Connection {
	return c.with(func(call *calling) {
		*call = calling{tries: 2, charge: charge, answered: answered}
	})
}

// Installer and Manifests are the generated client.
func (c *Connection) Installer() *installer.Client { return installer.New(c, strfmt.Default, nil) }

// Manifests is the generated client for manifests, over this connection.
func (c *Connection) Manifests() *manifests.Client { return manifests.New(c, strfmt.Default, nil) }

// Submit sends an operation of the generated client, again where that is safe
// and may help. It implements runtime.ClientTransport. Errors are *model.Fault,
// save for the end of the operation's context, which comes back as its cause.
func (c *Connection) Submit(operation *runtime.ClientOperation) (any, error) {
	ctx := operation.Context
	call := c.call
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
		result, err := c.once(ctx, operation, try, call)
		if call.answered != nil && !try.date.IsZero() {
			call.answered(try.date, try.got)
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
		fault := c.fault(call, operation, try, err)
		if fault.Status == http.StatusUnauthorized && !refreshed && c.auth.Refused(try.value) {
			refreshed = true
			number--
			continue
		}
		if number >= call.tries || !repeatable(operation.Method, fault, try, call) {
			return nil, fault
		}
		wait := max(backoff/2+rand.N(backoff), fault.RetryAfter)
		if err := c.clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// repeatable reports whether the same request may be sent again and may then succeed. A POST is repeated only if it did
// not leave, or the service said that it did not look at it.
func repeatable(method string, fault *model.Fault, try *attempt, call calling) bool {
	if fault.Permanent || fault.RetryAfter > patience || fault.Code == model.CodeAuth {
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
func (c *Connection) once(ctx context.Context, operation *runtime.ClientOperation, try *attempt, call calling) (any, error) {
	limit := max(c.clock.Wall(answerTime), leastAnswerTime)
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, attemptKey{}, try))
	defer cancel(nil)
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()

	own := *operation
	own.Context = ctx
	if call.wrote != nil {
		own.Reader = stallReader{next: operation.Reader, moved: func() { timer.Reset(limit) }}
	}
	result, err := c.runtime.Submit(&own)
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

// Request is an operation whose body or answer the generated client has no
// model for. It writes itself into a request of the client's runtime.
type Request struct {
	Op, On string // what it does to what, for errors
	Method string
	Path   string            // pattern: "/v2/clusters/{cluster_id}"
	In     map[string]string // values of the pattern
	Query  map[string][]string
	Body   any
	Header func(get func(name string) string) // gets the answer's header
}

// WriteToRequest implements runtime.ClientRequestWriter.
func (r *Request) WriteToRequest(out runtime.ClientRequest, _ strfmt.Registry) error {
	for name, value := range r.In {
		if value == "" {
			return fmt.Errorf("the request names no %s", name)
		}
		if err := out.SetPathParam(name, value); err != nil {
			return err
		}
	}
	for name, values := range r.Query {
		if err := out.SetQueryParam(name, values...); err != nil {
			return err
		}
	}
	if r.Body != nil {
		return out.SetBodyParam(r.Body)
	}
	return nil
}

// Do sends a request and decodes a JSON answer into the given value, or a
// list into elements; without either it is dropped.
func (c *Connection) Do(ctx context.Context, r Request, into any) error {
	read := func(response runtime.ClientResponse, _ runtime.Consumer) (any, error) {
		if r.Header != nil {
			r.Header(response.GetHeader)
		}
		if into == nil {
			_, err := io.Copy(io.Discard, response.Body()) // an answer that is cut off is none
			return nil, err
		}
		if list, ok := into.(elements); ok {
			return nil, list.read(response.Body())
		}
		return nil, json.NewDecoder(response.Body()).Decode(into)
	}
	most := largestElement
	switch into.(type) {
	case nil:
		most = largestDropped
	case elements:
		most = largestList
	}
	_, err := c.with(func(call *calling) { call.op, call.on, call.most = r.Op, r.On, most }).Submit(&runtime.ClientOperation{
		ID: r.Op, Method: r.Method, PathPattern: r.Path, Params: &r,
		ProducesMediaTypes: []string{runtime.JSONMime}, ConsumesMediaTypes: []string{runtime.JSONMime},
		Reader: runtime.ClientResponseReaderFunc(read), Context: ctx,
	})
	return err
}

// Delete deletes; what is gone after a try that may have done it was deleted.
func (c *Connection) Delete(ctx context.Context, op, on, path string, in map[string]string) error {
	tries, charge := 0, c.call.charge
	counting := c.with(func(call *calling) {
		call.charge = func() {
			tries++
			if charge != nil {
				charge()
			}
		}
	})
	err := counting.Do(ctx, Request{Op: op, On: on, Method: http.MethodDelete, Path: path, In: in}, nil)
	if Gone(err) && tries > 1 {
		return nil
	}
	return err
}
