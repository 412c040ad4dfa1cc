// Package clock is the time that the rest of oaictl lives by. Nothing below
// the command line calls time.Now or time.Sleep: it is handed a Clock, so that
// a simulated hour can pass in seconds and a test can pass it at once.
package clock

import (
	"context"
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
func Real() Clock { return Scaled(1) }

// Scaled starts at the present moment and runs speed times as fast as the
// machine's clock. A speed of zero or less is taken as 1.
func Scaled(speed float64) Clock {
	if speed <= 0 {
		speed = 1
	}
	return &scaled{start: time.Now(), speed: speed}
}

type scaled struct {
	start time.Time
	speed float64
}

func (c *scaled) Now() time.Time {
	if c.speed == 1 {
		return time.Now()
	}
	return c.start.Add(time.Duration(float64(time.Since(c.start)) * c.speed)).Round(0)
}

func (c *scaled) Wall(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.speed)
}

func (c *scaled) Sleep(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(c.Wall(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
