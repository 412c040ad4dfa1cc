package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestScaledPassesAnHourInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Scaled(300)
		began, real := c.Now(), time.Now()
		must.Do(t, c.Sleep(t.Context(), time.Hour))
		if passed := c.Now().Sub(began); passed < time.Hour || passed > time.Hour+time.Minute {
			t.Errorf("%s passed", passed)
		}
		if took := time.Since(real); took < 12*time.Second || took > 13*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestScaledDoesNotLeap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Scaled(300)
		began := c.Now()
		time.Sleep(5 * time.Second) // the machine stalls: 25 minutes on this clock
		if passed := c.Now().Sub(began); passed > time.Minute {
			t.Errorf("the clock leapt by %s", passed)
		}
	})
}

// TestScaledWaitsForWork holds a fast clock back while something is being done on it,
// and lets it go on at its speed afterwards. It does not stand still meanwhile.
func TestScaledWaitsForWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Scaled(300)
		began := c.Now()
		done := clock.Freeze(c)
		must.Do(t, c.Sleep(t.Context(), time.Minute))
		slow := c.Now()
		for range 100 { // the clock is read all the time
			time.Sleep(10 * time.Millisecond) // 3 seconds each
			c.Now()
		}
		if passed := c.Now().Sub(slow); slow.Sub(began) < time.Minute || passed < 10*time.Second || passed > 20*time.Second {
			t.Errorf("%s passed, then %s in a second", slow.Sub(began), passed)
		}
		done()
		fast := c.Now()
		for range 100 {
			time.Sleep(10 * time.Millisecond)
			c.Now()
		}
		if passed := c.Now().Sub(fast); passed != 5*time.Minute {
			t.Errorf("%s passed in a second once it was done", passed)
		}
	})
	for name, c := range map[string]clock.Clock{"real": clock.Real(), "slow": clock.Scaled(0.5)} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			defer clock.Freeze(c)()
			if err := c.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) > 2*time.Minute {
				t.Errorf("%s: a minute takes %s (%v)", name, time.Since(began), err)
			}
		})
	}
}

// TestSlowDown makes a fast clock run like the machine's from then on: for callers that sleep already, for later ones,
// and no matter how much is being done.
func TestSlowDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Scaled(60)
		began, real := c.Now(), time.Now()
		woken := make(chan time.Time, 1)
		go func() {
			_ = c.Sleep(t.Context(), 2*time.Minute)
			woken <- time.Now()
		}()
		if err := c.Sleep(t.Context(), time.Minute); err != nil { // a second
			t.Fatal(err)
		}
		defer clock.Freeze(c)()
		clock.SlowDown(c)
		if passed := c.Now().Sub(began).Round(time.Second); passed != time.Minute {
			t.Errorf("it shows %s after a minute", passed)
		}
		if took := (<-woken).Sub(real); took.Round(time.Second) != time.Minute+time.Second {
			t.Errorf("who slept already was woken after %s", took)
		}
		slow := c.Now()
		must.Do(t, c.Sleep(t.Context(), time.Hour))
		if passed, took := c.Now().Sub(slow), time.Since(real)-time.Minute; passed != time.Hour || took.Round(time.Minute) != time.Hour {
			t.Errorf("%s passed in %s", passed, took)
		}
		check.Equal(t, c.Wall(time.Minute), time.Minute, "a minute takes")
	})
	synctest.Test(t, func(t *testing.T) {
		half := clock.Scaled(0.5)
		for _, c := range []clock.Clock{clock.Real(), half} {
			before := c.Wall(time.Minute)
			if clock.SlowDown(c); c.Wall(time.Minute) != before {
				t.Errorf("%T: a minute took %s, and takes %s", c, before, c.Wall(time.Minute))
			}
		}
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	for name, c := range map[string]clock.Clock{"real": clock.Real(), "fast": clock.Scaled(300), "slow": clock.Scaled(0.5)} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(cause) })
			if err := c.Sleep(ctx, 24*time.Hour); !errors.Is(err, cause) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestRealIsTheMachinesClock(t *testing.T) {
	if c := clock.Scaled(0); c != clock.Real() || c.Wall(time.Minute) != time.Minute {
		t.Error("a speed of zero is not the real clock")
	}
}

// plain is a clock without Wall.
type plain struct{}

func (plain) Now() time.Time                             { return time.Unix(1, 0) }
func (plain) Sleep(context.Context, time.Duration) error { return errors.New("slept") }

func TestOf(t *testing.T) {
	if clock.Of(nil) != nil {
		t.Error("no clock became one")
	}
	if c := clock.Scaled(300); clock.Of(c) != c {
		t.Error("a whole clock was replaced")
	}
	c := clock.Of(plain{})
	if err := c.Sleep(t.Context(), time.Hour); c.Wall(time.Minute) != time.Minute || !c.Now().Equal(time.Unix(1, 0)) || err == nil {
		t.Errorf("it says %s, %s, %v", c.Wall(time.Minute), c.Now(), err)
	}
}
