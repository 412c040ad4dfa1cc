package install

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowed is a clock that should be fast and that stands still for a while.
type slowed struct {
	Clock

	passed atomic.Int64
}

func (s *slowed) Now() time.Time                   { return time.Unix(0, s.passed.Load()) }
func (*slowed) Wall(d time.Duration) time.Duration { return d / 300 }
func (s *slowed) pass(d time.Duration)             { s.passed.Add(int64(d)) }

// TestTimeOfARunIsItsClocks: a run goes on for as long as its clock is held back, and ends when the clock says so.
func TestTimeOfARunIsItsClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &slowed{}
		r := &run{Client: &Client{clock: clock, timeout: time.Hour}}
		ctx, release := r.bound(t.Context())
		defer release()
		time.Sleep(20 * time.Minute)
		if err := ctx.Err(); err != nil {
			t.Fatalf("the clock stood still, but the run was ended: %v", context.Cause(ctx))
		}
		clock.pass(time.Hour)
		time.Sleep(time.Hour)
		synctest.Wait()
		if err := context.Cause(ctx); !errors.Is(err, errOutOfTime) {
			t.Errorf("after its time the run has %v", err)
		}
	})
}
