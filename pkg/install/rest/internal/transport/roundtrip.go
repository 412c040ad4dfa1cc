package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// What an answer in JSON may have, in bytes. 500 hosts with their inventories take about a tenth of a list. To a write
// the service answers with the whole object, including all that its hosts ever reported; nothing of that is kept.
const (
	largestElement = 16 << 20
	largestList    = 64 << 20
	largestDropped = 512 << 20
	// mostElements is how many a list may have.
	mostElements = 20000
)

// Exchange is install.Call.
type Exchange struct {
	Method   string
	URL      string
	Status   int // 0: there was no answer
	Duration time.Duration
	Attempt  int // 1 for the first
	Error    string
}

type attempt struct {
	number int
	most   int         // bytes that an answer in JSON may have; 0: largestElement
	sent   atomic.Bool // the request's head has left: the service may have acted
	value  string      // the authorisation that was sent
	date   time.Time   // the answer's Date
	got    time.Time   // our clock when the answer came
}

type attemptKey struct{}

func attemptOf(ctx context.Context) *attempt {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a
	}
	return &attempt{number: 1}
}

// answerError is an answer that is not a success, or none in the sense of the API.
type answerError struct {
	status     int
	header     http.Header
	kind       answerKind
	reason     string
	page       bool // it is a web page
	retryAfter time.Duration
}

type answerKind int

const (
	serviceShape   answerKind = iota // {"code":"409","reason":…}: the service's own logic
	frameworkShape                   // {"code":400,"message":…}: schema, parameters, authorisation
	shapeless                        // anything else with an error status: proxies, crashes
	notAnAnswer                      // a success that is not what the API sends
	tooLarge                         // the same, larger than anything that the API sends
)

func tooLargeText(most int) string {
	return fmt.Sprintf("the answer is larger than %d MiB, which nothing is that the service sends there", most>>20)
}

func (e *answerError) Error() string {
	if e.kind >= notAnAnswer || e.status == 0 {
		return e.reason
	}
	return fmt.Sprintf("%s (%d)", e.reason, e.status)
}

// unsentError is that of a token source: without a token nothing is sent.
type unsentError struct{ error }

// exchanger is the layer below the generated client. It adds authorisation, turns every answer that is not a success
// into an *answerError, and checks that a success is one.
type exchanger struct {
	*service
	next http.RoundTripper
}

// RoundTrip sends the request once.
func (e *exchanger) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	try := attemptOf(ctx)
	name, value, err := e.auth.Header(ctx)
	if err != nil {
		return nil, &unsentError{err}
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { try.sent.Store(true) }})
	out := req.Clone(ctx)
	if name != "" {
		out.Header.Set(name, value)
		try.value = value
	}
	if e.agent != "" {
		out.Header.Set("User-Agent", e.agent)
	}
	began := e.clock.Now()
	done := clock.Freeze(e.clock) // a request is one moment of a fast clock
	resp, err := e.next.RoundTrip(out)
	done()
	if err == nil {
		try.got = e.clock.Now()
		if date, dateErr := http.ParseTime(resp.Header.Get("Date")); dateErr == nil {
			try.date = date
		}
		resp, err = check(out, resp, try.got, hiding(try.value))
	}
	e.report(out, resp, err, try, began)
	return resp, err
}

func (e *exchanger) report(req *http.Request, resp *http.Response, err error, try *attempt, began time.Time) {
	if e.trace == nil {
		return
	}
	x := Exchange{Method: req.Method, URL: redact.URL(req.URL), Attempt: try.number, Duration: e.clock.Now().Sub(began)}
	if resp != nil {
		x.Status = resp.StatusCode
	}
	if err != nil {
		x.Error = short(hiding(try.value)(redact.Text(err.Error())))
		var answer *answerError
		if errors.As(err, &answer) {
			x.Status = answer.status
		}
	}
	e.trace(x)
}

// hiding takes out of texts what a request was authorised by, which some servers
// repeat: with its scheme, and without.
func hiding(authorisation string) func(string) string {
	return redact.NewReplacer(authorisation, authorisation[strings.LastIndex(authorisation, " ")+1:])
}

// check lets a success pass and makes an error of everything else. hide takes out of
// it what is a secret.
func check(req *http.Request, resp *http.Response, now time.Time, hide func(string) string) (*http.Response, error) {
	wantsJSON := !strings.Contains(req.Header.Get("Accept"), "octet-stream")
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // what was read of an error is enough
		return nil, readError(resp, body, now, hide)
	}
	if !wantsJSON {
		// A file of any type is passed on as bytes.
		resp.Header.Set("Content-Type", "application/octet-stream")
		return resp, nil
	}
	// Only the beginning is read here: what hundreds of hosts report about themselves is decoded as it comes, never
	// held whole.
	body := bufio.NewReader(resp.Body)
	first, err := firstByte(body)
	if err != nil && !errors.Is(err, io.EOF) {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	bad := &answerError{status: resp.StatusCode, header: resp.Header, kind: notAnAnswer}
	switch {
	case err != nil && (req.Method != http.MethodGet || resp.StatusCode == http.StatusNoContent):
	case err != nil:
		bad.reason = "the answer is empty"
	case first == '<':
		page, _ := io.ReadAll(io.LimitReader(body, 1<<20)) // its title stands at the beginning
		bad.page, bad.reason = true, "the answer is a web page, not the service's: "+redact.Text(Title([]byte(hide(string(page)))))
	case first == 'n' && req.Method == http.MethodGet: // null, or nothing at all
		bad.reason = "the answer is null"
	case !strings.ContainsRune(`{["-0123456789tfn`, rune(first)):
		bad.reason = "the answer is not JSON"
	}
	if bad.reason != "" {
		_ = resp.Body.Close()
		return nil, bad
	}
	resp.Header.Set("Content-Type", "application/json")
	most := attemptOf(req.Context()).most
	if most == 0 {
		most = largestElement
	}
	resp.Body = &bounded{next: body, body: resp.Body, left: most, most: most, refuse: bad}
	return resp, nil
}

// firstByte is the first byte that is no white space; it stays to be read. No service sends much of that before an
// answer.
func firstByte(r *bufio.Reader) (byte, error) {
	const most = 4096
	for range most {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
		default:
			return b, r.UnreadByte()
		}
	}
	return ' ', nil
}

// bounded is an answer's body that is limited to the largest possible answer to the request.
type bounded struct {
	next       io.Reader
	body       io.ReadCloser
	left, most int
	refuse     *answerError
}

func (b *bounded) Read(data []byte) (int, error) {
	if b.left <= 0 {
		b.refuse.kind, b.refuse.reason = tooLarge, tooLargeText(b.most)
		return 0, b.refuse
	}
	n, err := b.next.Read(data[:min(len(data), b.left)])
	b.left -= n
	return n, err
}

// Close reads the little that a decoder leaves, so that the connection can be reused.
func (b *bounded) Close() error {
	const little = 4 << 10
	_, _ = io.CopyN(io.Discard, b.next, little)
	return b.body.Close()
}
