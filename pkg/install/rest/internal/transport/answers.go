package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// elements is a list that is read one by one: what hundreds of hosts say of
// themselves is megabytes, and little of it is kept.
type elements interface{ read(body io.Reader) error }

// ListOf reads a list. keep makes ours of a thing, and says whether it has what every
// such thing has.
func ListOf[Wire, Thing any](ctx context.Context, c *Connection, r Request, keep func(*Wire) (Thing, bool)) ([]Thing, error) {
	list := &listed[Wire, Thing]{incomplete: c.Incomplete(r.Op, r.On), keep: keep}
	err := c.Do(ctx, r, list)
	return list.kept, err
}

type listed[Wire, Thing any] struct {
	incomplete error
	keep       func(*Wire) (Thing, bool)
	kept       []Thing
}

func (l *listed[Wire, Thing]) read(body io.Reader) error {
	l.kept = nil // of an answer that broke off
	parts := &parted{next: body, left: largestElement}
	decoder := json.NewDecoder(parts)
	if token, err := decoder.Token(); err != nil {
		return err
	} else if token != json.Delim('[') {
		return l.incomplete
	}
	for decoder.More() {
		var wire Wire
		parts.left = largestElement
		if err := decoder.Decode(&wire); err != nil {
			return err
		}
		thing, whole := l.keep(&wire)
		switch {
		case !whole:
			return l.incomplete
		case len(l.kept) == mostElements:
			return &answerError{status: http.StatusOK, kind: tooLarge, reason: fmt.Sprintf("the answer lists more than %d things", mostElements)}
		}
		l.kept = append(l.kept, thing)
	}
	_, err := decoder.Token()
	return err
}

// parted is the body of a list, with a limit for the size of each element.
type parted struct {
	next io.Reader
	left int
}

func (p *parted) Read(data []byte) (int, error) {
	if p.left <= 0 {
		return 0, &answerError{status: http.StatusOK, kind: tooLarge, reason: tooLargeText(largestElement)}
	}
	n, err := p.next.Read(data[:min(len(data), p.left)])
	p.left -= n
	return n, err
}

// Incomplete is the error for an answer that lacks what every such answer has.
func (c *Connection) Incomplete(op, on string) *model.Fault {
	return &model.Fault{
		Code: model.CodeFailure, Op: op, On: on, Foreign: true,
		Err:  c.foreign(errors.New("the answer is not what the service sends: it has no id or status")),
		Next: model.Advicef("check that --service-url %s is an assisted-service", c.URL()),
	}
}

// foreign says of an answer that is not the service's where it comes from.
func (c *Connection) foreign(answer error) error {
	return fmt.Errorf("%s answers wrongly: %w", c.URL(), answer)
}

// counted counts what is passed on, so that a download that has begun is not
// begun again behind what is already there.
type counted struct {
	to io.Writer
	n  *atomic.Int64
}

func (c counted) Write(data []byte) (int, error) {
	n, err := c.to.Write(data)
	c.n.Add(int64(n))
	return n, err
}

// Downloading is the connection and the writer for a download of at most so many
// bytes, 0 for any number.
func (c *Connection) Downloading(op, on string, out io.Writer, most int) (*Connection, io.Writer) {
	if most > 0 {
		out = &limitedWriter{to: out, left: most, most: most}
	}
	wrote := new(atomic.Int64)
	return c.with(func(call *calling) { call.op, call.on, call.wrote = op, on, wrote }), counted{to: out, n: wrote}
}

// limitedWriter refuses what is larger than a file can be.
type limitedWriter struct {
	to         io.Writer
	left, most int
}

func (l *limitedWriter) Write(data []byte) (int, error) {
	if len(data) > l.left {
		return 0, fmt.Errorf("the answer is larger than %d MiB", l.most>>20)
	}
	l.left -= len(data)
	return l.to.Write(data)
}

// OpenImage opens a discovery image by its URL at an offset. The caller closes
// the body. size is that of the whole image, -1 if unknown. No token of the service is sent along: the URL has its own.
func (c *Connection) OpenImage(ctx context.Context, address string, offset int64) (image io.ReadCloser, size int64, err error) {
	fail := func(status int, err error) (io.ReadCloser, int64, error) {
		return nil, 0, &model.Fault{
			Code: model.CodeFailure, Op: "download image from", On: hostOf(address), Status: status, Err: err,
			Permanent: status >= 400 && !passing(status), Next: "run the same command again, which gets a fresh URL",
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fail(0, errors.New("its URL cannot be used"))
	}
	if c.agent != "" {
		req.Header.Set("User-Agent", c.agent)
	}
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := c.images.Do(req)
	if err != nil {
		return fail(0, errors.New(short(redact.Error(err))))
	}
	switch {
	case resp.StatusCode == http.StatusPartialContent && offset > 0:
		return resp.Body, totalOf(resp, offset), nil
	case resp.StatusCode == http.StatusOK && offset == 0:
		return resp.Body, resp.ContentLength, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // what was read of an error is enough
	_, reason := errorShape(text)
	return fail(resp.StatusCode, fmt.Errorf("%s (%d)", short(redact.Text(reason)), resp.StatusCode))
}

func totalOf(resp *http.Response, offset int64) int64 {
	if resp.ContentLength < 0 {
		return -1
	}
	return offset + resp.ContentLength
}
