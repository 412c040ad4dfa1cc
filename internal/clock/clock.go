// Package clock is the time that the rest of oaictl lives by. Nothing below
// the command line calls time.Now or time.Sleep: it is handed a Clock, so that
// a simulated hour can pass in seconds and a test can pass it at once.
package clock

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time and waits for it to pass.
type Clock interface {
	// Now is the present moment on this clock.
	Now() time.Time
	// Sleep returns after d has passed on this clock, or with the context's
	// cause once ctx is done. A d of zero or less only checks ctx.
	Sleep(ctx context.Context, d time.Duration) error
	// Wall is how much real time d takes on this clock: what a network
	// deadline or a screen refresh has to be measured in.
	Wall(d time.Duration) time.Duration
}

// Real is the machine's own clock.
func Real() Clock { return real{} }

// Scaled starts at the present moment and runs speed times as fast as the
// machine's clock. A speed of zero or less is taken as 1.
//
// It never leaps: where the machine stalls, or has too much to do, a fast clock
// runs slower for a while. Otherwise a hiccup of half a second would be minutes
// of silence in a simulation, and its time-outs would strike.
func Scaled(speed float64) Clock {
	if speed <= 0 || speed == 1 {
		return Real()
	}
	now := time.Now()
	return &scaled{speed: speed, last: now, virtual: now.Round(0)}
}

type real struct{}

func (real) Now() time.Time                     { return time.Now() }
func (real) Wall(d time.Duration) time.Duration { return d }

func (real) Sleep(ctx context.Context, d time.Duration) error { return wait(ctx, d) }

// longestStep is the most that a fast clock advances between two looks at it.
const longestStep = 15 * time.Second

type scaled struct {
	speed float64

	mu      sync.Mutex
	last    time.Time // when the clock was last looked at, in real time
	virtual time.Time // what it showed then
}

func (c *scaled) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	real := time.Now()
	step := time.Duration(float64(real.Sub(c.last)) * c.speed)
	if c.speed > 1 {
		step = min(step, longestStep)
	}
	c.last, c.virtual = real, c.virtual.Add(step)
	return c.virtual
}

func (c *scaled) Wall(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.speed)
}

func (c *scaled) Sleep(ctx context.Context, d time.Duration) error {
	for until := c.Now().Add(d); ; {
		rest := until.Sub(c.Now())
		if c.speed > 1 {
			// Somebody has to look at the clock often enough for it to run at full speed.
			rest = min(rest, longestStep/2)
		}
		if err := wait(ctx, c.Wall(rest)); err != nil || rest <= 0 {
			return err
		}
	}
}

// wait sleeps in real time.
func wait(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
