//go:build linux

package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

const (
	generalInterval  = 30 * time.Second
	progressInterval = 60 * time.Second
	fetchInterval    = 10 * time.Second

	// longest is how long the original waits for operators. Here no step waits longer, and the whole installation may take twice
	// that time.
	longest = 10 * time.Hour
	// lookLimit is how long one look at what is waited for may take, with all requests in it. The client of the service sends a
	// request again for up to an hour by itself.
	lookLimit = 5 * time.Minute
	// sayEvery is when a wait that sees no change is logged again.
	sayEvery = 5 * time.Minute
)

// lastError ends a wait: what is waited for will not come.
type lastError struct{ err error }

func (l *lastError) Error() string { return l.err.Error() }
func (l *lastError) Unwrap() error { return l.err }

// missing is the error of a look that failed in nothing; what is waited for is only not there yet.
func missing(format string, args ...any) error { return errors.New(escape.Sprintf(format, args...)) }

// waiting is a wait.
type waiting struct {
	what  string        // what is waited for
	every time.Duration // the time between two looks
	limit time.Duration
}

// wait looks at once and then again and again, until a look returns no error. The error says what was waited for, and what
// the last look found.
func (c *Controller) wait(ctx context.Context, w waiting, look func(context.Context) error) error {
	return c.waitLong(ctx, w, lookLimit, look)
}

// waitLong waits as wait does. One look may take longer.
func (c *Controller) waitLong(ctx context.Context, w waiting, one time.Duration, look func(context.Context) error) error {
	began := c.Clock.Now()
	end := began.Add(w.limit)
	reason, logged := "", began
	for {
		err := c.lookLong(ctx, one, look)
		if err == nil {
			return nil
		}
		if last, is := errors.AsType[*lastError](err); is {
			return fmt.Errorf("stopped waiting for %s: %w", w.what, last.err)
		}
		if now, text := c.Clock.Now(), err.Error(); text != reason || now.Sub(logged) >= sayEvery {
			reason, logged = text, now
			c.Log.Info("still waiting", slog.String("for", w.what), slog.String("since", now.Sub(began).Round(time.Second).String()),
				slog.String("at most", w.limit.String()), said(err))
		}
		if c.Clock.Now().Add(w.every).After(end) {
			return fmt.Errorf("%s did not come within %s: %w", w.what, w.limit, err)
		}
		if stopped := c.Clock.Sleep(ctx, w.every); stopped != nil {
			return fmt.Errorf("stopped waiting for %s: %w; the last look found: %w", w.what, stopped, err)
		}
	}
}

// look does something within the time that it may take.
func (c *Controller) look(ctx context.Context, do func(context.Context) error) error {
	return c.lookLong(ctx, lookLimit, do)
}

func (c *Controller) lookLong(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.Clock.Wall(limit))
	defer cancel()
	return do(ctx)
}

// said is an error for the log.
func said(err error) slog.Attr { return slog.String("error", escape.Word(err.Error())) }

// word is a text from outside for the log.
func word(key, text string) slog.Attr { return slog.String(key, escape.Word(text)) }
