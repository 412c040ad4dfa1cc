package transport

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/go-openapi/runtime"
	"github.com/go-openapi/strfmt"

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
	patience     = 30 * time.Second // the longest Retry-After that is waited for here, and not by the caller
)

type calling struct {
	file     bool                      // what they write is the user's file
	tries    int                       // how often one may be tried if it may be repeated; 0: tries
	charge   func()                    // told of every try
	answered func(date, got time.Time) // told of the service's time, and ours, at every answer
}

func (c *Connection) with(change func(*calling)) *Connection {
	out := *c
	change(&out.call)
	return &out
}

// SendingFile is the connection for the user's file: a refusal is the file's fault.
func (c *Connection) SendingFile(is bool) *Connection {
	return c.with(func(call *calling) { call.file = is })
}

// Polling is the connection for looks that come again and again: each request is
// tried twice. charge is told of every try, answered of the service's time and ours
// at every answer.
func (c *Connection) Polling(charge func(), answered func(date, got time.Time)) *Connection {
	return c.with(func(call *calling) {
		*call = calling{tries: 2, charge: charge, answered: answered}
	})
}

// Request is an operation of the service, which writes itself for the client's runtime.
type Request struct {
	Op, On string // what it does to what, for errors
	Method string
	Path   string            // pattern: "/v2/clusters/{cluster_id}"
	In     map[string]string // values of the pattern
	Query  map[string][]string
	Body   any
	Header func(get func(name string) string) // told of the answer's header

	most int   // bytes that an answer in JSON may have
	file *file // that a download is passed on to, nil for an answer in JSON
	read func(body io.Reader) error
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
	switch into := into.(type) {
	case nil:
		r.most, r.read = largestDropped, func(body io.Reader) error {
			_, err := io.Copy(io.Discard, body) // an answer that breaks off is none
			return err
		}
	case elements:
		r.most, r.read = largestList, into.read
	default:
		r.most, r.read = largestElement, func(body io.Reader) error { return json.NewDecoder(body).Decode(into) }
	}
	return c.submit(ctx, &r)
}

// Download writes a file of the service to out, of at most so many bytes, 0 for any number.
func (c *Connection) Download(ctx context.Context, r Request, out io.Writer, most int) error {
	r.Method, r.file = http.MethodGet, &file{to: out, most: most}
	r.read = func(body io.Reader) error {
		_, err := io.Copy(r.file, body)
		return err
	}
	return c.submit(ctx, &r)
}

// submit sends a request, again where that is safe and may help. Errors are
// *install.Fault, save for the end of ctx, which comes back as its cause.
func (c *Connection) submit(ctx context.Context, r *Request) error {
	most := cmp.Or(c.call.tries, tries)
	refreshed := false
	backoff := firstBackoff
	for number := 1; ; number++ {
		if c.call.charge != nil {
			c.call.charge()
		}
		try := &attempt{number: number, most: r.most}
		err := c.once(ctx, r, try)
		if c.call.answered != nil && !try.date.IsZero() {
			c.call.answered(try.date, try.got)
		}
		if err == nil {
			return nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		var unsent *unsentError
		if errors.As(err, &unsent) {
			return unsent.error // the token source has tried for long enough
		}
		fault := c.fault(r, try, err)
		if fault.Status == http.StatusUnauthorized && !refreshed && c.auth.Refused(try.value) {
			refreshed = true
			number--
			continue
		}
		if number >= most || !r.repeatable(fault, try) {
			return fault
		}
		wait := max(backoff/2+rand.N(backoff), fault.RetryAfter)
		if err := c.clock.Sleep(ctx, wait); err != nil {
			return err
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// repeatable says whether the same request may be sent again and may then
// succeed. A POST is repeated only if it did not leave, or the service said
// that it did not look at it.
func (r *Request) repeatable(fault *install.Fault, try *attempt) bool {
	switch {
	case fault.Permanent, fault.RetryAfter > patience, fault.Code == install.CodeAuth, fault.Status == http.StatusConflict:
		return false
	case r.file != nil && r.file.wrote > 0: // it would stand behind what is already there
		return false
	case r.Method == http.MethodPost:
		return !try.sent.Load() || fault.Status == http.StatusTooManyRequests
	}
	return fault.Status == 0 || (fault.Status >= 200 && fault.Status < 300) || passing(fault.Status)
}

// once sends a request once, with a deadline: a download may go on for as long as it
// moves.
func (c *Connection) once(ctx context.Context, r *Request, try *attempt) error {
	limit := max(c.clock.Wall(answerTime), leastAnswerTime)
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, attemptKey{}, try))
	defer cancel(nil)
	timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	accept := runtime.JSONMime
	if r.file != nil {
		accept = runtime.DefaultMime
	}
	read := func(response runtime.ClientResponse, _ runtime.Consumer) (any, error) {
		if r.Header != nil {
			r.Header(response.GetHeader)
		}
		if r.file != nil {
			return nil, r.read(movingBody{response.Body(), func() { timer.Reset(limit) }})
		}
		return nil, r.read(response.Body())
	}
	_, err := c.runtime.Submit(&runtime.ClientOperation{
		ID: r.Op, Method: r.Method, PathPattern: r.Path, Params: r,
		ProducesMediaTypes: []string{accept}, ConsumesMediaTypes: []string{runtime.JSONMime},
		Reader: runtime.ClientResponseReaderFunc(read), Context: ctx,
	})
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return err
}

type movingBody struct {
	io.Reader
	moved func()
}

func (m movingBody) Read(data []byte) (int, error) {
	n, err := m.Reader.Read(data)
	if n > 0 {
		m.moved()
	}
	return n, err
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
