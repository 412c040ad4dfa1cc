//go:build linux

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
)

// Doer sends requests. An http.Client does.
type Doer interface {
	Do(request *http.Request) (*http.Response, error)
}

// URL is an image that is downloaded while it is written. A download that breaks off goes on where it ended, as long as the
// server still has the same file.
type URL struct {
	Address string // http or https
	Client  Doer
	Clock   clock.Clock
	Log     *slog.Logger
	// Tries is how often in a row a request may fail. Zero means 6.
	Tries int
	// Stall is how long the server may send nothing. Zero means a minute.
	Stall time.Duration
}

const (
	defaultTries = 6
	defaultStall = time.Minute
	longestPause = 30 * time.Second
)

func (u URL) String() string {
	parsed, err := url.Parse(u.Address)
	if err != nil {
		return "an image URL that cannot be read"
	}
	// The query and the user may be secret.
	return escape.Word((&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String())
}

// Check returns an error if an image cannot be downloaded from the address.
func (u URL) Check() error {
	parsed, err := url.Parse(u.Address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fmt.Errorf("download the image from %s: the URL must begin with http:// or https:// and a host", u)
	}
	return nil
}

// Open implements Source.
func (u URL) Open(ctx context.Context) (io.ReadCloser, int64, error) {
	if err := u.Check(); err != nil {
		return nil, 0, err
	}
	if u.Tries == 0 {
		u.Tries = defaultTries
	}
	if u.Stall == 0 {
		u.Stall = defaultStall
	}
	d := &download{URL: u, ctx: ctx, size: -1}
	if err := d.connect(nil); err != nil {
		return nil, 0, err
	}
	return d, d.size, nil
}

// download is a stream that goes on after its connection broke off.
type download struct {
	URL
	ctx    context.Context // that of the call which opened the stream
	body   io.ReadCloser
	cancel context.CancelCauseFunc // ends the request
	timer  *time.Timer             // ends the request if nothing comes
	at     int64                   // how many bytes were read
	size   int64                   // -1 if it is not known
	etag   string                  // a strong one, "" if there is none
	failed int                     // how often in a row
}

// Permanent is the answer of a server that another try does not change.
type Permanent struct {
	Source string
	Status int
}

func (p *Permanent) Error() string {
	return fmt.Sprintf("download the image from %s: the server answers %d %s", p.Source, p.Status, http.StatusText(p.Status))
}

var (
	errStalled = errors.New("the server sent nothing for too long")
	errChanged = errors.New("the file changed on the server during the download")
)

// connect asks for the rest of the file, until it comes or there were too many tries. Why says why the last request ended.
func (d *download) connect(why error) error {
	for {
		if why != nil {
			d.failed++
			if d.failed >= d.Tries {
				return fmt.Errorf("download the image from %s: %d tries failed at byte %d: %w", d, d.failed, d.at, why)
			}
			pause := min(time.Second<<(d.failed-1), longestPause)
			d.Log.Warn("the download of the image broke off, and goes on", "source", d.String(), "byte", d.at, "in", pause, "error", why)
			if err := d.Clock.Sleep(d.ctx, pause); err != nil {
				return fmt.Errorf("download the image from %s: %w", d, err)
			}
		}
		err := d.request()
		var permanent *Permanent
		switch {
		case err == nil:
			return nil
		case d.ctx.Err() != nil:
			return fmt.Errorf("download the image from %s: %w", d, context.Cause(d.ctx))
		case errors.As(err, &permanent), errors.Is(err, errChanged):
			return err
		}
		why = err
	}
}

// request asks for the rest of the file once.
func (d *download) request() error {
	ctx, cancel := context.WithCancelCause(d.ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Address, http.NoBody)
	if err != nil {
		cancel(nil)
		return &Permanent{Source: d.String(), Status: http.StatusBadRequest}
	}
	request.Header.Set("Accept-Encoding", "identity") // the image as it is stored
	if d.at > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
		if d.etag != "" {
			request.Header.Set("If-Range", d.etag)
		}
	}
	timer := time.AfterFunc(d.Stall, func() { cancel(errStalled) })
	response, err := d.Client.Do(request)
	if err != nil {
		timer.Stop()
		cancel(nil)
		return withoutURL(ctx, err)
	}
	skip, err := d.accept(response)
	const step = 1 << 20
	for ; skip > 0 && err == nil; skip -= step {
		timer.Reset(d.Stall)
		_, err = io.CopyN(io.Discard, response.Body, min(skip, step))
	}
	timer.Stop()
	if err != nil {
		cancel(nil)
		return errors.Join(err, response.Body.Close())
	}
	d.body, d.cancel, d.timer = response.Body, cancel, timer
	return nil
}

// withoutURL is an error of a client without the URL, which may have secrets.
func withoutURL(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// accept reads the header of an answer. A server may send all again: skip is how much of it was read before.
func (d *download) accept(response *http.Response) (skip int64, err error) {
	etag := response.Header.Get("ETag")
	if strings.HasPrefix(etag, "W/") {
		etag = ""
	}
	switch status := response.StatusCode; {
	case status == http.StatusOK && d.at == 0:
		d.size, d.etag = response.ContentLength, etag
		return 0, nil
	case status == http.StatusPartialContent && d.at > 0:
		return 0, d.acceptRange(response.Header.Get("Content-Range"), etag)
	case status == http.StatusOK:
		if etag != d.etag || response.ContentLength != d.size {
			return 0, fmt.Errorf("download the image from %s: %w", d, errChanged)
		}
		return d.at, nil
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return 0, fmt.Errorf("the server answers %d %s", status, http.StatusText(status))
	default:
		return 0, &Permanent{Source: d.String(), Status: status}
	}
}

// acceptRange checks a range such as "bytes 100-199/200".
func (d *download) acceptRange(text, etag string) error {
	from, size, ok := contentRange(text)
	if !ok || from != d.at {
		return fmt.Errorf("download the image from %s: the server sends the range %q instead of bytes from %d on",
			d, text, d.at)
	}
	if etag != d.etag || size >= 0 && d.size >= 0 && size != d.size {
		return fmt.Errorf("download the image from %s: %w", d, errChanged)
	}
	return nil
}

// contentRange reads a header Content-Range. The size is -1 if the server does not know it.
func contentRange(text string) (from, size int64, ok bool) {
	rest, isBytes := strings.CutPrefix(text, "bytes ")
	span, total, hasTotal := strings.Cut(rest, "/")
	first, last, hasLast := strings.Cut(span, "-")
	if !isBytes || !hasTotal || !hasLast {
		return 0, 0, false
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil || from < 0 {
		return 0, 0, false
	}
	if end, err := strconv.ParseInt(last, 10, 64); err != nil || end < from {
		return 0, 0, false
	}
	if total == "*" {
		return from, -1, true
	}
	size, err = strconv.ParseInt(total, 10, 64)
	return from, size, err == nil && size > from
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	for {
		d.timer.Reset(d.Stall)
		n, err := d.body.Read(p)
		stalled := !d.timer.Stop() // no time passes for the server while the disk is written
		d.at += int64(n)
		if n > 0 {
			d.failed = 0
			return n, nil // an error comes again with the next read, or the request is repeated
		}
		if errors.Is(err, io.EOF) && (d.size < 0 || d.at == d.size) {
			return 0, io.EOF
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if d.ctx.Err() != nil {
			return 0, fmt.Errorf("download the image from %s: %w", d, context.Cause(d.ctx))
		}
		if stalled {
			err = errStalled
		}
		d.end()
		if err := d.connect(err); err != nil {
			return 0, err
		}
	}
}

// end ends the request.
func (d *download) end() {
	d.cancel(nil)
	_ = d.body.Close() // only read
}

// Close implements io.Closer.
func (d *download) Close() error {
	d.end()
	return nil
}
