package rest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	oapi "github.com/go-openapi/runtime/client"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/redact"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/objects"
)

// basePath is where the service's API lives under its URL.
const basePath = "/api/assisted-install"

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
	call calling // what the requests of this part of the work have in common
}

// shared is what a plane is for all its requests.
type shared struct {
	base    *url.URL
	runtime *oapi.Runtime
	auth    TokenSource
	clock   clock.Clock
	agent   string
	caFile  string
	trace   func(Exchange)
	rate    rate

	images *http.Client // for image URLs, which carry their own authorisation
	tables objects.Tables

	mu      sync.Mutex
	watches map[string]*watch
	made    map[string]bool // ids of the InfraEnvs that this run registered
}

var _ install.Backend = (*Plane)(nil)

// New makes the plane; it does not talk to the service yet. An unusable URL or
// CA file is an error with CodeUsage.
func New(config Config) (*Plane, error) {
	base, err := serviceURL(config.URL)
	if err != nil {
		return nil, &install.Fault{Code: install.CodeUsage, Op: "use service URL", Permanent: true, Err: err, Next: "give --service-url https://HOST[:PORT]"}
	}
	client := config.HTTPClient
	if client == nil {
		if client, err = HTTPClient(config.CAFile, config.Insecure); err != nil {
			return nil, err
		}
	}
	p := &Plane{shared: &shared{
		base: base, auth: config.Auth, clock: config.Clock, agent: config.UserAgent, caFile: config.CAFile, trace: config.Trace,
		rate:    rate{perMinute: config.PollsPerMinute, burst: config.PollBurst}.orDefaults(),
		tables:  objects.NewTables(),
		watches: map[string]*watch{}, made: map[string]bool{},
	}}
	if p.auth == nil {
		p.auth = noAuth{}
	}
	if p.clock == nil {
		p.clock = clock.Real()
	}
	p.images = &http.Client{Transport: transportOf(client), CheckRedirect: forDownloads}
	own := *client
	own.Transport = &exchanger{plane: p, next: transportOf(client)}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Timeout = 0
	p.runtime = oapi.NewWithClient(base.Host, base.Path, []string{base.Scheme}, &own)
	p.runtime.Debug = false // the runtime would dump secrets when DEBUG is set in the environment
	return p, nil
}

// URL is the service's address, without what may be secret in it.
func (p *Plane) URL() string { return p.base.Redacted() }

func transportOf(client *http.Client) http.RoundTripper {
	if client.Transport == nil {
		return http.DefaultTransport
	}
	return client.Transport
}

// serviceURL is the base of all requests, however the user wrote it.
func serviceURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, errors.New("it is empty")
	}
	if !strings.Contains(text, "://") {
		return nil, fmt.Errorf("%q does not begin with https:// or http://", text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it cannot be read: " + redact.Text(err.Error()))
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%q is neither https nor http", u.Scheme)
	case u.Host == "":
		return nil, errors.New("it names no host")
	case u.User != nil:
		return nil, errors.New("it holds a user or password; use --token-file")
	}
	path := strings.TrimRight(u.Path, "/")
	path = strings.TrimSuffix(path, "/v2")
	path = strings.TrimSuffix(path, basePath)
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: path + basePath}, nil
}

// HTTPClient is a client that trusts the system's certificates and those of
// caFile (PEM, "" for none), or every certificate if insecure. It follows redirects
// to wherever content may lie, but for those from https to http. A file that cannot be read or holds no certificate is an error with CodeUsage.
func HTTPClient(caFile string, insecure bool) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 10
	transport.TLSClientConfig = &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The user asked for it in so many words; the command line says so loudly.
		InsecureSkipVerify: insecure,
	}
	if caFile != "" {
		pool, err := trust(caFile)
		if err != nil {
			return nil, &install.Fault{Code: install.CodeUsage, Op: "use CA file", On: caFile, Permanent: true, Err: err, Next: "give --ca-file a file with PEM certificates"}
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	return &http.Client{Transport: transport, CheckRedirect: forDownloads}, nil
}

// trust is the system's certificates and those of a file.
func trust(caFile string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("it holds no PEM certificate")
	}
	return pool, nil
}
