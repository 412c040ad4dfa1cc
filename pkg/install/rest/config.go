package rest

import (
	"net/http"
	"sync"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
)

// Config says which service to talk to and how.
type Config struct {
	// URL of the service, with or without /api/assisted-install.
	URL string
	// HTTPClient, if given, is used instead of one made from CAFile and
	// Insecure. Its redirect policy is replaced: a token follows no redirect.
	HTTPClient *http.Client
	// CAFile holds certificates (PEM) to trust beside the system's. Where
	// HTTPClient is given, it is only named in errors.
	CAFile string
	// Insecure switches the verification of the service's certificate off.
	Insecure bool
	// Auth gives requests their authorisation; nil sends none.
	Auth TokenSource
	// Clock is what retries, budgets and token lifetimes are measured by; the machine's own
	// if nil. Its Wall is how much real time a duration takes: what network deadlines are
	// made of.
	Clock clock.Clock
	// UserAgent is sent with every request.
	UserAgent string
	// Trace is told of every exchange; what it is told holds no secret.
	Trace func(Exchange)
	// PollsPerMinute and PollBurst bound what observing costs: so many
	// requests a minute of the service's time, and so many more while things
	// happen. Zero: 12 and 100.
	PollsPerMinute, PollBurst int
}

// Plane is the service plane. Its methods are safe for concurrent use.
type Plane struct {
	*shared
	conn *transport.Connection // for this part of the work
}

// shared is what a plane is for all its work.
type shared struct {
	tables objects.Tables
	// perMinute and burst are Config's PollsPerMinute and PollBurst.
	perMinute, burst int

	mu      sync.Mutex
	watches map[string]*watch
	made    map[string]bool // ids of the InfraEnvs that this run registered
}

var _ install.Backend = (*Plane)(nil)

// New makes the plane; it does not talk to the service yet. An unusable URL or
// CA file is an error with CodeUsage.
func New(config Config) (*Plane, error) {
	conn, err := transport.Connect(transport.Options{
		URL: config.URL, Client: config.HTTPClient, CAFile: config.CAFile, Insecure: config.Insecure,
		Auth: config.Auth, Clock: config.Clock, UserAgent: config.UserAgent, Trace: config.Trace,
	})
	if err != nil {
		return nil, err
	}
	return &Plane{conn: conn, shared: &shared{
		tables: objects.NewTables(), perMinute: config.PollsPerMinute, burst: config.PollBurst,
		watches: map[string]*watch{}, made: map[string]bool{},
	}}, nil
}

// over is the plane for a part of the work that goes over another connection.
func (p *Plane) over(conn *transport.Connection) *Plane { return &Plane{shared: p.shared, conn: conn} }

// URL is the service's address, without what may be secret in it.
func (p *Plane) URL() string { return p.conn.URL() }
