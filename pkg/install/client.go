package install

import (
	"context"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
)

// Client is all of oaictl but the terminal, over one service: the loop, and every verb. It
// is safe to use for several clusters, one after the other or at once; events of clusters
// that run at once come from several goroutines.
type Client struct {
	Backend
	files       Files
	machines    Machines
	clock       Clock
	emit        func(Event)
	poll        time.Duration
	timeout     time.Duration
	userTimeout time.Duration
}

// Clock tells the time and waits for it to pass.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the context's cause once ctx is done.
	Sleep(ctx context.Context, d time.Duration) error
}

// Option changes how a Client works.
type Option func(*Client)

// WithFiles says where results are written. Without it none are.
func WithFiles(files Files) Option { return func(client *Client) { client.files = files } }

// WithClock replaces the machine's clock.
func WithClock(c Clock) Option { return func(client *Client) { client.clock = c } }

// WithEvents receives every event, one at a time and in order. The run waits
// for receive to return.
func WithEvents(receive func(Event)) Option { return func(client *Client) { client.emit = receive } }

// WithPollInterval fixes the time between observations. Zero lets it adapt,
// between one second after a change and ten where nothing happens.
func WithPollInterval(d time.Duration) Option { return func(client *Client) { client.poll = d } }

// WithTimeouts limits a run: total for all of it (exit code 8), user for
// waiting for a person (exit code 9). Zero: no limit. Without it they are four
// hours and one. Both are measured on the Client's own clock.
func WithTimeouts(total, user time.Duration) Option {
	return func(client *Client) { client.timeout, client.userTimeout = total, user }
}

// New returns a Client for a service. One that is no [Backend] has the loop alone: every
// other verb is refused.
func New(service Service, options ...Option) *Client {
	backend, whole := service.(Backend)
	if !whole {
		backend = loopOnly{service}
	}
	client := &Client{Backend: backend, clock: clock.Real(), emit: func(Event) {}, timeout: 4 * time.Hour, userTimeout: time.Hour}
	for _, option := range options {
		option(client)
	}
	return client
}

// With is the Client with other options beside its own.
func (client *Client) With(options ...Option) *Client {
	own := *client
	for _, option := range options {
		option(&own)
	}
	return &own
}
