package transport

import (
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Budget is a bucket of requests that fills with the service's time. Requests
// that cannot wait may overdraw it; those that can then wait the longer, so
// that the sum over any time is bounded by the rate and the burst.
type Budget struct {
	mu               sync.Mutex
	perMinute, burst float64
	tokens           float64
	at               time.Time // when tokens was true
}

// NewBudget is a full one. Zero or less: 12 requests a minute, and 100 at once.
func NewBudget(perMinute, burst int, now time.Time) *Budget {
	if perMinute <= 0 {
		perMinute = 12
	}
	if burst <= 0 {
		burst = 100
	}
	return &Budget{perMinute: float64(perMinute), burst: float64(burst), tokens: float64(burst), at: now}
}

// fill adds what has come since the last time. A clock that turns out to be far behind begins anew: only the first
// answer shows the service's time.
func (b *Budget) fill(now time.Time) {
	passed := now.Sub(b.at)
	switch {
	case passed > 0:
		b.tokens = min(b.burst, b.tokens+passed.Minutes()*b.perMinute)
		b.at = now
	case passed < -time.Minute:
		b.at = now
	}
}

// Has reports whether n requests may be sent now.
func (b *Budget) Has(n int, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(now)
	return b.tokens >= float64(n)
}

// Spend takes one request out, whether it was there or not.
func (b *Budget) Spend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens--
}

// ServiceClock knows the service's time from the Date headers of its answers,
// and how fast it runs beside ours: a simulated service may be hundreds of
// times faster.
type ServiceClock struct {
	mu    sync.Mutex
	clock clock.Clock
	date  time.Time // last Date
	got   time.Time // our clock then
	mark  time.Time // Date and our clock at the start of the measured stretch
	begun time.Time
	speed float64
}

// stretch is how much of our time is measured at least before a speed is
// believed: Date has whole seconds only.
const stretch = 5 * time.Second

// NewServiceClock is one for a service that has not answered yet.
func NewServiceClock(ours clock.Clock) *ServiceClock { return &ServiceClock{clock: ours} }

// LastAnswer is our time at the latest answer; zero: there was none.
func (k *ServiceClock) LastAnswer() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.got
}

// Answered records an answer's Date.
func (k *ServiceClock) Answered(date, got time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if date.Before(k.date) && k.date.Sub(date) < time.Minute {
		return // an answer that was overtaken
	}
	k.date, k.got = date, got
	switch {
	case k.mark.IsZero() || date.Before(k.mark):
		k.mark, k.begun = date, got
	case got.Sub(k.begun) >= stretch:
		k.speed = 1
		if ratio := date.Sub(k.mark).Seconds() / got.Sub(k.begun).Seconds(); ratio > 2 {
			k.speed = ratio
		}
		k.mark, k.begun = date, got
	}
}

// Now is the service's present time; ours before its first answer.
func (k *ServiceClock) Now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	ours := k.clock.Now()
	if k.date.IsZero() {
		return ours.UTC()
	}
	passed := max(0, ours.Sub(k.got))
	if k.speed > 2 {
		passed = time.Duration(float64(passed) * k.speed)
	}
	return k.date.Add(passed).UTC()
}
