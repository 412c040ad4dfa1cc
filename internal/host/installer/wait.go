//go:build linux

package installer

import (
	"context"
	"fmt"
	"time"

	"github.com/oaictl/oaictl/internal/shared/escape"
)

// wait is for something that another machine, or a service of this one, has to do.
type wait struct {
	// what is waited for, as in "waiting for 2 control plane nodes".
	what string
	// next says where to look if it does not happen.
	next string
	// tell also posts to the service that this is waited for, since no stage says so.
	tell bool
	// look reports whether it has happened, and what is so far. An error is taken as passing.
	look func(ctx context.Context) (done bool, state string, err error)
}

const (
	lookEvery = 5 * time.Second // as assisted-installer
	sayEvery  = time.Minute
	// lookLimit is how long one look may take: a service that does not answer does not silence the wait.
	lookLimit = 50 * time.Second
)

func (w wait) lookOnce(ctx context.Context) (done bool, state string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	return w.look(ctx)
}

// waitFor looks every 5 seconds, until it has happened, or the step's time is over. It says every minute what it waits for.
func (r *run) waitFor(ctx context.Context, w wait) error {
	began := r.Clock.Now()
	said := began
	last := "" // the state that was logged last
	r.Log.Info("the installer waits", "for", w.what, "at most", r.timeLeft(ctx))
	for {
		done, state, err := w.lookOnce(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			state = last // the time was over while it looked
		case err != nil:
			state = "cannot tell: " + r.text(err)
		}
		if done {
			r.Log.Info("the wait is over", "for", w.what, "after", r.Clock.Now().Sub(began).Round(time.Second).String())
			return nil
		}
		now := r.Clock.Now()
		silent := now.Sub(said) >= sayEvery
		if silent || state != last {
			r.Log.Info("the installer still waits", "for", w.what, "so far", escape.Word(state),
				"since", now.Sub(began).Round(time.Second).String(), "at most", r.timeLeft(ctx))
			last = state
		}
		if silent {
			said = now
			if w.tell {
				r.post(ctx, "waiting for "+w.what+": "+escape.Word(state))
			}
		}
		if err := r.Clock.Sleep(ctx, lookEvery); err != nil {
			return fmt.Errorf("waited %s for %s, and saw: %s; %s: %w",
				r.Clock.Now().Sub(began).Round(time.Second), w.what, escape.Word(state), w.next, err)
		}
	}
}

// timeLeft is how long a context has left, for people.
func (r *run) timeLeft(ctx context.Context) string {
	deadline, limited := ctx.Deadline()
	if !limited {
		return "without limit"
	}
	return deadline.Sub(r.Clock.Now()).Round(time.Second).String()
}
