package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/pkg/install"
)

// things is a list that is read thing by thing: what hundreds of hosts say of
// themselves is megabytes, and little of it is kept.
type things interface{ read(body io.Reader) error }

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
	parts := &parted{next: body, left: largestThing}
	decoder := json.NewDecoder(parts)
	if token, err := decoder.Token(); err != nil {
		return err
	} else if token != json.Delim('[') {
		return l.incomplete
	}
	for decoder.More() {
		var wire Wire
		parts.left = largestThing
		if err := decoder.Decode(&wire); err != nil {
			return err
		}
		thing, whole := l.keep(&wire)
		switch {
		case !whole:
			return l.incomplete
		case len(l.kept) == mostThings:
			return &answerError{status: http.StatusOK, kind: tooLarge, reason: fmt.Sprintf("the answer lists more than %d things", mostThings)}
		}
		l.kept = append(l.kept, thing)
	}
	_, err := decoder.Token()
	return err
}

// parted is the body of a list none of whose things may be endless.
type parted struct {
	next io.Reader
	left int
}

func (p *parted) Read(data []byte) (int, error) {
	if p.left <= 0 {
		return 0, &answerError{status: http.StatusOK, kind: tooLarge, reason: tooLargeText(largestThing)}
	}
	n, err := p.next.Read(data[:min(len(data), p.left)])
	p.left -= n
	return n, err
}

// Incomplete is the error for an answer that lacks what every such answer has.
func (c *Connection) Incomplete(op, on string) *install.Fault {
	return &install.Fault{
		Code: install.CodeFailure, Op: op, On: on, Err: errors.New("the answer is not what the service sends: it has no id or status"),
		Next: advice.Sprintf("check that --service-url %s is an assisted-service", c.URL()),
	}
}
