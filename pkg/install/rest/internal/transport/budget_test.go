package transport

import (
	"context"
	"testing"
	"time"
)

// stepClock passes as fast as its callers sleep.
type stepClock struct{ now time.Time }

func (c *stepClock) Now() time.Time { return c.now }

func (c *stepClock) Sleep(_ context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return nil
}

func (c *stepClock) Wall(d time.Duration) time.Duration { return d }

// A simulated service may be hundreds of times faster than our clock: the looks then follow the service's time.
func TestFastService(t *testing.T) {
	clock := &stepClock{now: time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)}
	k := NewServiceClock(clock)
	begun := clock.Now()
	for range 20 {
		passed := clock.Now().Sub(begun)
		k.Answered(begun.Add(300*passed).Truncate(time.Second), clock.Now())
		_ = clock.Sleep(t.Context(), time.Second)
	}
	if got := k.Now().Sub(begun.Add(300 * 20 * time.Second)); got.Abs() > 10*time.Second {
		t.Errorf("off by %s", got)
	}
	k.Answered(begun, clock.Now()) // a clock that was set back
	if got := k.Now().Sub(begun); got > time.Second {
		t.Errorf("off by %s", got)
	}
}
