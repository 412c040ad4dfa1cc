//go:build linux

package installer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/openshift/assisted-service/models"

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
		err = r.stillExpected(ctx)
		if err == nil {
			err = r.Clock.Sleep(ctx, lookEvery)
		}
		if err != nil {
			return fmt.Errorf("waited %s for %s, and saw: %s; %s: %w",
				r.Clock.Now().Sub(began).Round(time.Second), w.what, escape.Word(state), w.next, err)
		}
	}
}

// stillExpected returns an error if a patient step has taken longer than its limit, and the service does not count on this host
// any more. A service that does not answer is asked again.
func (r *run) stillExpected(ctx context.Context) error {
	now := r.Clock.Now()
	if r.patience.IsZero() || now.Before(r.patience) {
		return nil
	}
	r.patience = now.Add(sayEvery)
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	host, err := r.Service.Host(ctx, r.infraEnv, r.host)
	if err != nil {
		r.Log.Warn("the service does not say whether it still waits for this host", "why", r.text(err))
		return nil
	}
	status := "unknown"
	if host.Status != nil {
		status = *host.Status
	}
	if slices.Contains([]string{
		models.HostStatusInstalling, models.HostStatusInstallingInProgress, models.HostStatusInstallingPendingUserAction,
	}, status) {
		r.Log.Info("it takes longer than usual, and the service still waits for this host", "status", status)
		return nil
	}
	return fmt.Errorf("%w, and the service does not wait for this host any more: its status is %q", errLimit, status)
}

// timeLeft is how long a context has left, for people.
func (r *run) timeLeft(ctx context.Context) string {
	deadline, limited := ctx.Deadline()
	if !limited {
		return "without limit"
	}
	return deadline.Sub(r.Clock.Now()).Round(time.Second).String()
}
