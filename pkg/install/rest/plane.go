// Package rest is the service plane over the assisted-service REST API, v2: the
// hosted service, one that runs on premises, or the one inside agent-based
// installation media.
//
// A [Plane] is an [install.Backend]. It sends only fields that were asked for, since
// services reject fields that they do not know, and reads answers with fields that
// it does not know itself.
//
// Requests go through the generated client's parameters, models and transport. internal/transport deals, for all of
// them alike, with authorisation, retries, the two shapes of error that the service has, and answers that are not the
// service's. internal/objects says which fields of the service hold which setting.
//
// Polling is cheap: an observation asks the service's event log whether
// anything happened and reads again only what an event or an own write
// concerns, under a budget of requests per minute of the service's time.
package rest

import (
	"context"
	"net/http"
	"sync"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Config says which service to talk to and how.
type Config struct {
	URL string // of the service, with or without /api/assisted-install
	// HTTPClient, if given, is used instead of one made from CAFile and
	// Insecure. Its redirect policy is replaced: a token follows no redirect.
	HTTPClient *http.Client
	// CAFile holds certificates (PEM) to trust beside the system's. Where
	// HTTPClient is given, it is only named in errors.
	CAFile   string
	Insecure bool        // switches the verification of the service's certificate off
	Auth     TokenSource // gives requests their authorisation; nil sends none
	// Clock is what retries, budgets and token lifetimes are measured by; the machine's own
	// if nil. Its Wall is how much real time a duration takes: what network deadlines are
	// made of.
	Clock     install.Clock
	UserAgent string             // sent with every request
	Trace     func(install.Call) // called with every exchange, which holds no secret
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

type shared struct {
	tables objects.Tables
	// perMinute and burst are Config's PollsPerMinute and PollBurst.
	perMinute, burst int

	mu      sync.Mutex
	watches map[string]*watch
	made    map[string]bool // ids of the InfraEnvs that this run registered
	// imported are the marks of the owners of the clusters that this process imported, by the clusters' ids.
	imported map[string]string
}

var _ install.Backend = (*Plane)(nil)

// New makes the plane; it does not talk to the service yet. An unusable URL or
// CA file is an error with CodeUsage.
func New(config Config) (*Plane, error) {
	tables := objects.NewTables()
	var trace func(transport.Exchange)
	if config.Trace != nil {
		trace = func(e transport.Exchange) { config.Trace(install.Call(e)) }
	}
	conn, err := transport.Connect(transport.Options{
		URL: config.URL, Client: config.HTTPClient, CAFile: config.CAFile, Insecure: config.Insecure,
		Auth: config.Auth, Clock: clock.Of(config.Clock), UserAgent: config.UserAgent, Trace: trace, FieldOf: tables.FieldOf,
	})
	if err != nil {
		return nil, err
	}
	return &Plane{conn: conn, shared: &shared{
		tables: tables, perMinute: config.PollsPerMinute, burst: config.PollBurst,
		watches: map[string]*watch{}, made: map[string]bool{}, imported: map[string]string{},
	}}, nil
}

// over is the plane for a part of the work that goes over another connection.
func (p *Plane) over(conn *transport.Connection) *Plane { return &Plane{shared: p.shared, conn: conn} }

// URL is the service's address, without what may be secret in it.
func (p *Plane) URL() string { return p.conn.URL() }

// TokenSource authorises requests.
type TokenSource interface {
	// Header is the header that authorises a request; an empty name: none is needed. An error is a model.Fault, with
	// model.CodeAuth where the credentials are wrong.
	Header(ctx context.Context) (name, value string, err error)
	// Refused records that the service answered 401 to a value of Header. It reports whether the request is worth
	// repeating with a new one.
	Refused(value string) bool
	// Next is what a person can do about a refusal.
	Next() string
}

// Credentials are what a user has to identify with: at most one of Token, OfflineToken, and ClientID with ClientSecret.
type Credentials struct {
	// Token is sent as it is, in the header that its kind needs; an offline or refresh token is exchanged first.
	Token        spec.Secret
	OfflineToken spec.Secret // exchanged for access tokens at SSOURL
	ClientID     string      // of a service account, with ClientSecret
	ClientSecret spec.Secret
	// SSOURL is where tokens are exchanged; Red Hat's if empty. Without a path, it is the server of Red Hat's realm.
	SSOURL string
}

// Authorise makes a token source of what the user gave. The rest is for credentials that have to be exchanged for a token:
// the client verifies certificates, since what is sent is worth more than the service; nil is http.DefaultClient. Its
// redirect policy is replaced: a token goes to no other origin. caFile is the file that it trusts, for errors. A clock that
// is nil is the machine's own.
func (c Credentials) Authorise(client *http.Client, caFile string, now install.Clock) (TokenSource, error) {
	return transport.Authorise(transport.Credentials(c), transport.Exchanger{Client: client, Clock: clock.Of(now), CAFile: caFile})
}

// HTTPClient is a client that trusts the system's certificates and those of caFile (PEM, "" for none), or every
// certificate if insecure. It follows redirects to wherever content may lie, except those from https to http. A file
// that cannot be read or holds no certificate is an error with CodeUsage.
func HTTPClient(caFile string, insecure bool) (*http.Client, error) {
	return transport.HTTPClient(caFile, insecure)
}
