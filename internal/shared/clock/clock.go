// Package clock is the time that the rest of oaictl lives by. Nothing below
// the command line calls time.Now or time.Sleep: it is handed a Clock, so that
// a simulated hour can pass in seconds and a test can pass it at once.
package clock

import (
	"context"
	"slices"
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

// Of makes a Clock of one that does not know real time: it runs at the machine's own speed. It is nil for nil.
func Of(c interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}) Clock {
	if c == nil {
		return nil
	}
	if whole, ok := c.(Clock); ok {
		return whole
	}
	return unscaled{c.Now, c.Sleep}
}

// unscaled is a clock that runs at the machine's own speed.
type unscaled struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
}

func (u unscaled) Now() time.Time                                   { return u.now() }
func (u unscaled) Sleep(ctx context.Context, d time.Duration) error { return u.sleep(ctx, d) }
func (unscaled) Wall(d time.Duration) time.Duration                 { return d }

// Real is the machine's own clock.
func Real() Clock { return real{} }

// Scaled starts at the present moment and runs speed times as fast as the
// machine's clock. A speed of zero or less is taken as 1.
//
// It never leaps: where the machine stalls, or has too much to do, a fast clock runs slower for a while. Otherwise a
// hiccup of half a second would be minutes of silence in a simulation, and its time-outs would strike. Nor does it run
// ahead of what is due on it: sleepers are woken, and work that [Working] reports is done, before much time passes.
func Scaled(speed float64) Clock {
	if speed <= 0 || speed == 1 {
		return Real()
	}
	now := time.Now()
	return &scaled{speed: speed, last: now, virtual: now.Round(0)}
}

// SlowDown makes a fast clock go on at the machine's own speed, permanently, from what it shows now. Sleepers are woken
// when it shows their time, and nothing holds it back any more. Other clocks stay as they are.
func SlowDown(c Clock) {
	if s, isScaled := c.(*scaled); isScaled {
		s.Now() // what has passed until now was fast
		s.mu.Lock()
		s.speed = min(s.speed, 1)
		s.mu.Unlock()
	}
}

type real struct{}

func (real) Now() time.Time                     { return time.Now() }
func (real) Wall(d time.Duration) time.Duration { return d }

func (real) Sleep(ctx context.Context, d time.Duration) error { return wait(ctx, d) }

const (
	// longestStep is the most that a fast clock advances between two looks at it.
	longestStep = 15 * time.Second
	// patience is how much time passes at full speed while something is due, and
	// heldBack how much slower it passes from then on. It does not stand still: what is
	// being done may itself wait on the clock.
	patience = 5 * time.Second
	heldBack = 20
	// briefest is the least real time that a sleeper waits before it looks again.
	briefest = 100 * time.Microsecond
)

type scaled struct {
	mu      sync.Mutex
	speed   float64
	last    time.Time // when the clock was last read, in real time
	virtual time.Time // what it showed then
	due     duties
}

func (c *scaled) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	real := time.Now()
	step := time.Duration(float64(real.Sub(c.last)) * c.speed)
	if c.speed > 1 {
		step = c.due.holdBack(c.virtual, min(step, longestStep))
	}
	c.last, c.virtual = real, c.virtual.Add(step)
	return c.virtual
}

// Freeze says that something is being done which takes next to no time on a clock,
// however long the machine needs for it, until done is called.
func Freeze(c interface{ Now() time.Time }) (done func()) {
	s, isScaled := c.(*scaled)
	if !isScaled || !s.isFast() {
		return func() {}
	}
	return s.expect(s.Now())
}

func (c *scaled) isFast() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.speed > 1
}

// expect holds the clock back from at on, until done is called.
func (c *scaled) expect(at time.Time) (done func()) {
	c.mu.Lock()
	i, _ := slices.BinarySearchFunc(c.due, at, func(d *time.Time, at time.Time) int { return d.Compare(at) })
	c.due = slices.Insert(c.due, i, &at)
	c.mu.Unlock()
	return func() {
		c.Now() // what has passed was held back
		c.mu.Lock()
		i := slices.Index(c.due, &at)
		c.due = slices.Delete(c.due, i, i+1)
		c.mu.Unlock()
	}
}

// AtLeast is a time of the simulation that takes no less than some real time.
func AtLeast(c Clock, simulated, wall time.Duration) time.Duration {
	if is := c.Wall(simulated); is > 0 && is < wall {
		return time.Duration(float64(simulated) * float64(wall) / float64(is))
	}
	return simulated
}

func (c *scaled) Wall(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(float64(d) / c.speed)
}

func (c *scaled) Sleep(ctx context.Context, d time.Duration) error {
	until := c.Now().Add(d)
	if c.isFast() {
		defer c.expect(until)()
	}
	for {
		rest := until.Sub(c.Now())
		wall := c.Wall(rest)
		if rest > 0 && c.isFast() {
			// The clock has to be read often enough to run at full speed.
			wall = max(c.Wall(min(rest, longestStep/2)), briefest)
		}
		if err := wait(ctx, wall); err != nil || rest <= 0 {
			return err
		}
	}
}

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

// duties are the times at which something is due, earliest first: a sleep ends, or work has begun.
type duties []*time.Time

// holdBack is how much of a step a clock may advance that shows now.
func (d duties) holdBack(now time.Time, step time.Duration) time.Duration {
	if len(d) == 0 {
		return step
	}
	free := max(0, d[0].Add(patience).Sub(now))
	if step <= free {
		return step
	}
	return free + (step-free)/heldBack
}
