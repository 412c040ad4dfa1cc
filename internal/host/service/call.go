package service

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/oaictl/oaictl/internal/shared/redact"
)

const (
	// largestAnswer bounds an answer: a cluster of hundreds of hosts with their inventories, or an Ignition config.
	largestAnswer = 64 << 20
	// largestReason bounds what is read of an answer that refuses a request.
	largestReason = 64 << 10
	// attemptLimit is how long one attempt may take, briefLimit one of the agent, and uploadLimit one that uploads logs.
	attemptLimit = 5 * time.Minute
	briefLimit   = time.Minute
	uploadLimit  = time.Hour
)

// call is one request, which may be sent several times.
type call struct {
	doing  string // for errors and logs
	method string
	path   string // below basePath
	query  url.Values
	header http.Header
	accept string // "" means JSON
	// body makes the body of an attempt, and says its type. nil means none.
	body func(ctx context.Context) (content io.Reader, contentType string, err error)
	// once says that body can be made only once.
	once bool
	// brief is for the agent, which asks again by itself and says so.
	brief bool
	// limit is how long an attempt may take, in real time. Zero means attemptLimit or briefLimit.
	limit time.Duration
}

// asJSON is a body of JSON.
func asJSON(value any) func(context.Context) (io.Reader, string, error) {
	return func(context.Context) (io.Reader, string, error) {
		content, err := json.Marshal(value)
		return bytes.NewReader(content), "application/json", err
	}
}

// do sends a request until it succeeds, or until asking again does not help.
func (c *Client) do(ctx context.Context, r call) ([]byte, error) {
	for tries := 1; ; tries++ {
		content, wait, failed := c.attempt(ctx, r)
		if failed == nil {
			return content, nil
		}
		failed.Tries = tries
		if ctx.Err() != nil || r.once || tries > r.retries(failed) {
			return nil, failed
		}
		delay := max(wait, c.delay(tries))
		c.log.Warn("a request to the assisted-service failed, it is sent again", "doing", r.doing, "in", delay.Round(time.Millisecond).String(),
			"attempt", tries, "attempts", r.retries(failed)+1, "error", failed.Error())
		if err := c.clock.Sleep(ctx, delay); err != nil {
			failed.err = errors.Join(failed.err, err)
			return nil, failed
		}
	}
}

// attempt sends a request once. The duration is what the service asks to wait before the next attempt.
func (c *Client) attempt(ctx context.Context, r call) ([]byte, time.Duration, *Error) {
	limit := cmp.Or(r.limit, attemptLimit)
	if r.brief {
		limit = cmp.Or(r.limit, briefLimit)
	}
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	failed := &Error{Doing: r.doing, Request: r.method + " " + redact.URL(c.url(r)), ID: newID(), Tries: 1}
	no := func(err error) ([]byte, time.Duration, *Error) {
		failed.err, failed.Reason = err, c.word(redact.Error(err))
		if ctx.Err() != nil && whole.Err() == nil {
			failed.Reason = "it took longer than " + limit.String()
		}
		return nil, 0, failed
	}
	request, err := c.request(ctx, r, failed.ID)
	if err != nil {
		return no(err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return no(err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		body, _ := io.ReadAll(io.LimitReader(response.Body, largestReason))
		failed.Status, failed.Reason = response.StatusCode, c.reasonOf(body)
		return nil, retryAfter(response.Header), failed
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, largestAnswer+1))
	if err != nil {
		return no(fmt.Errorf("its answer breaks off: %w", err))
	}
	if len(content) > largestAnswer {
		return no(errTooLong)
	}
	return content, 0, nil
}

// errTooLong is the error of an answer that no assisted-service gives: it is longer than largestAnswer.
var errTooLong = errors.New("its answer is longer than 64 MiB")

func (c *Client) url(r call) *url.URL {
	u := c.base.JoinPath(r.path)
	u.RawQuery = r.query.Encode()
	return u
}

func (c *Client) request(ctx context.Context, r call, id string) (*http.Request, error) {
	var content io.Reader
	contentType := ""
	if r.body != nil {
		var err error
		if content, contentType, err = r.body(ctx); err != nil {
			return nil, fmt.Errorf("make the request: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, r.method, c.url(r).String(), content)
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		request.Header[name] = values
	}
	accept := r.accept
	if accept == "" {
		accept = "application/json"
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("X-Request-ID", id)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		request.Header.Set("X-Secret-Key", c.token)
	}
	return request, nil
}

// newID is a random UUID, by which a request is found in the logs of the service.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// retries is how often a request is sent again after an error. The service may be away for about an hour while a machine
// installs.
func (r call) retries(failed *Error) int {
	if r.brief {
		return briefRetries(failed)
	}
	const few, many = 10, 360
	switch status := failed.Status; {
	case status == 0:
		if passes(failed) {
			return many
		}
		return 0
	case status == http.StatusNotFound, status == http.StatusLocked, status == http.StatusTooEarly:
		return few
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status/100 == 5:
		return many
	}
	return 0
}

func briefRetries(failed *Error) int {
	const few = 3
	switch failed.Status {
	case 0:
		if passes(failed) {
			return few
		}
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return few
	}
	return 0
}

// passes reports whether what kept the service from answering may pass.
func passes(failed *Error) bool {
	if certificate(failed.err) || errors.Is(failed.err, errTooLong) {
		return false
	}
	if wrong, is := errors.AsType[*url.Error](failed.err); is && failedBeforeSending(wrong) {
		return false
	}
	return true
}

// failedBeforeSending reports whether a request or a redirect was refused by this side.
func failedBeforeSending(err *url.Error) bool {
	_, refused := errors.AsType[*redirectError](err.Err)
	return refused
}

const (
	shortestDelay = 2 * time.Second
	longestDelay  = 10 * time.Second
	// longestWish is the longest delay that a service may ask for.
	longestWish = time.Minute
)

// delay is how long to wait after an attempt: twice as long each time, between half and the whole of it at random.
func (c *Client) delay(tries int) time.Duration {
	whole := longestDelay
	if shift := tries - 1; shift < 3 {
		whole = min(longestDelay, shortestDelay<<shift)
	}
	return whole/2 + time.Duration(c.spread()*float64(whole/2))
}

// retryAfter reads how many seconds the service wants to be left alone.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return 0
	}
	return min(time.Duration(min(seconds, int(longestWish/time.Second)))*time.Second, longestWish)
}

// answer sends a request and reads the JSON of its answer.
func answer[T any](ctx context.Context, c *Client, r call) (T, error) {
	var value T
	content, err := c.do(ctx, r)
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(content, &value); err != nil {
		return value, c.unreadable(r, err, "its body is not the JSON of the assisted-service: "+c.word(err.Error()))
	}
	return value, nil
}

// one sends a request and reads the JSON object of its answer. The object is never nil without an error.
func one[T any](ctx context.Context, c *Client, r call) (*T, error) {
	value, err := answer[*T](ctx, c, r)
	if err == nil && value == nil {
		err = c.unreadable(r, nil, "its body is null")
	}
	return value, err
}

// unreadable is the error of an answer that cannot be used.
func (c *Client) unreadable(r call, err error, reason string) *Error {
	return &Error{
		Doing: r.doing, Request: r.method + " " + redact.URL(c.url(r)), Status: http.StatusOK, Tries: 1, err: err,
		Reason: reason + "; a proxy or a login page may have answered",
	}
}

// redirectError is the error of a redirect that is not followed.
type redirectError struct{ text string }

func (r *redirectError) Error() string { return r.text }
