//go:build linux

package agent

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/host/service"
)

const (
	// firstAway and longestAway bound the time between two questions while the service does not answer.
	firstAway   = time.Second
	longestAway = time.Minute
	// longestInterval bounds what the service may ask for.
	longestInterval = time.Hour
	// jump is from when on a difference between the time that passed and the time that was waited is worth a word.
	jump = 30 * time.Second
)

// poll asks for steps and starts them, until the host has to register again: the error is errAgain then. Steps go on when
// it ends.
func (a *Agent) poll(ctx context.Context, steps *steps, t target) error {
	inner, restart := context.WithCancelCause(ctx)
	defer restart(nil)
	away := pauses{least: firstAway, most: longestAway}
	pace := pace{agent: a, began: a.Clock.Now()}
	var since time.Time
	for {
		answer, err := a.Service.Instructions(inner, t.infraEnv, t.host, a.Options.Version)
		if inner.Err() != nil {
			return context.Cause(inner)
		}
		if err != nil {
			// The service may have been restored from a copy: it gets all results again.
			steps.forget()
			if service.HasStatus(err, http.StatusNotFound) {
				a.Log.Warn("the assisted-service does not know this host any more", "host", t.host.String(), "error", err)
				return errors.Join(errAgain, a.Clock.Sleep(ctx, firstPause))
			}
			if since.IsZero() {
				since = a.Clock.Now()
			}
			delay := away.next()
			a.Log.Error("the assisted-service gives no steps", "since", a.Clock.Now().Sub(since).Round(time.Second).String(),
				"again in", delay.String(), "error", err)
			if err := a.sleep(inner, delay); err != nil {
				return err
			}
			continue
		}
		if !since.IsZero() {
			a.Log.Info("the assisted-service gives steps again", "after", a.Clock.Now().Sub(since).Round(time.Second).String())
			since = time.Time{}
			away.reset()
		}
		interval := a.interval(answer)
		steps.take(ctx, work{target: t, restart: func() { restart(errAgain) }, spacing: interval}, answer.Instructions)
		if answer.PostStepAction != nil && *answer.PostStepAction == models.StepsPostStepActionExit {
			a.Log.Info("the assisted-service asks the host to register again")
			return errAgain
		}
		if err := a.sleep(inner, pace.pause(inner, t, answer, interval)); err != nil {
			return err
		}
	}
}

// interval is how long the service wants to wait for the next question.
func (a *Agent) interval(answer *models.Steps) time.Duration {
	seconds := answer.NextInstructionSeconds
	if seconds <= 0 {
		return a.Options.Interval
	}
	return time.Duration(min(seconds, int64(longestInterval/time.Second))) * time.Second
}

// sleep waits, and says so if the clock of the machine jumped meanwhile.
func (a *Agent) sleep(ctx context.Context, d time.Duration) error {
	before := a.Clock.Now().Round(0) // without the monotonic clock, which does not jump
	err := a.Clock.Sleep(ctx, d)
	if passed := a.Clock.Now().Round(0).Sub(before); err == nil && (passed > d+jump || passed < d-jump) {
		a.Log.Warn("the clock of this machine jumped, or the machine stood still", "waited", d.String(),
			"passed", passed.Round(time.Second).String())
	}
	return err
}

const (
	// quickPause is the time between two questions of a host that is not ready for the installation yet.
	quickPause = 3 * time.Second
	// quickFor is for how long a host asks so often: what is missing after that needs a person, or another host.
	quickFor = 10 * time.Minute
	// blindFor is the same where the service does not tell the status of the host.
	blindFor = 3 * time.Minute
)

// pace decides when to ask again.
type pace struct {
	agent *Agent
	began time.Time
	ready bool // the host was ready once, or installs
	blind bool // the service does not tell the status to a host
}

// pause is short until the host is known to the service as ready for the installation, then as long as the service wants.
func (p *pace) pause(ctx context.Context, t target, answer *models.Steps, interval time.Duration) time.Duration {
	passed := p.agent.Clock.Now().Sub(p.began)
	if p.ready || passed > quickFor || interval <= quickPause {
		return interval
	}
	if !p.blind {
		status, err := p.agent.Service.Status(ctx, t.infraEnv, t.host)
		switch {
		case err == nil:
			p.ready = !unready(status)
		case service.HasStatus(err, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed):
			// A service with users tells the status only to them. The steps tell whether the host is discovered.
			p.blind = true
		default:
			return interval
		}
	}
	if p.blind {
		p.ready = passed > blindFor || !discovering(answer.Instructions)
	}
	if p.ready {
		return interval
	}
	return quickPause
}

// unready reports whether a host in this status may become ready by what its agent finds out.
func unready(status string) bool {
	switch status {
	case models.HostStatusDiscovering, models.HostStatusInsufficient, models.HostStatusPendingForInput, models.HostStatusDisconnected,
		models.HostStatusDiscoveringUnbound, models.HostStatusInsufficientUnbound, models.HostStatusDisconnectedUnbound:
		return true
	}
	return false
}

// discovering reports whether steps are those of a host before its installation.
func discovering(steps []*models.Step) bool {
	for _, step := range steps {
		if step != nil && step.StepType == models.StepTypeInventory {
			return true
		}
	}
	return false
}
