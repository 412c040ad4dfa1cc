// Package transport sends requests to an assisted-service and makes a *model.Fault
// of every answer that is not a success. It deals with authorisation, retries,
// deadlines, limits of size, and the budget of requests. It knows no object of the
// service and decides nothing about installs.
package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	oapi "github.com/go-openapi/runtime/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/redact"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const basePath = "/api/assisted-install" // where the API lives under the URL

// Options say which service to talk to and how.
type Options struct {
	URL       string       // of the service, with or without /api/assisted-install
	Client    *http.Client // in place of one made from CAFile and Insecure; nil for none
	CAFile    string       // certificates (PEM) to trust beside the system's
	Insecure  bool         // the service's certificate is not verified
	Auth      TokenSource
	Clock     clock.Clock
	UserAgent string // sent with every request
	Trace     func(Exchange)
	// FieldOf is what a file calls a key of a request, "" where it has none. It may be nil.
	FieldOf func(key string) string
}

// Connection sends requests to a service. Its methods are safe for concurrent use.
type Connection struct {
	*service
	call calling // what the requests of this part of the work have in common
}

type service struct {
	base    *url.URL
	runtime *oapi.Runtime
	auth    TokenSource
	clock   clock.Clock
	agent   string
	caFile  string
	trace   func(Exchange)
	fieldOf func(key string) string
	images  *http.Client // for image URLs, which carry their own authorisation
}

// Connect makes a connection; it does not talk to the service yet. An unusable URL
// or CA file is an error with CodeUsage.
func Connect(o Options) (*Connection, error) {
	base, err := serviceURL(o.URL)
	if err != nil {
		return nil, &model.Fault{Code: model.CodeUsage, Op: "use service URL", Permanent: true, Err: err,
			Next: "give --service-url https://HOST[:PORT]"}
	}
	client := o.Client
	if client == nil {
		if client, err = HTTPClient(o.CAFile, o.Insecure); err != nil {
			return nil, err
		}
	}
	s := &service{base: base, auth: o.Auth, clock: o.Clock, agent: o.UserAgent, caFile: o.CAFile, trace: o.Trace, fieldOf: o.FieldOf}
	if s.auth == nil {
		s.auth = noAuth{}
	}
	if s.clock == nil {
		s.clock = clock.Real()
	}
	s.images = &http.Client{Transport: transportOf(client), CheckRedirect: forDownloads}
	own := *client
	own.Transport = &exchanger{service: s, next: transportOf(client)}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own.Timeout = 0
	s.runtime = oapi.NewWithClient(base.Host, base.Path, []string{base.Scheme}, &own)
	s.runtime.Debug = false // the runtime would dump secrets when DEBUG is set in the environment
	return &Connection{service: s}, nil
}

// URL is the service's address, without what may be secret in it.
func (c *Connection) URL() string { return c.base.Redacted() }

// Clock is the clock that the connection uses.
func (c *Connection) Clock() clock.Clock { return c.clock }

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

// HTTPClient is a client that trusts the system's certificates and those of caFile, if
// any, or every certificate if insecure, and follows redirects but from https to http.
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
			return nil, &model.Fault{Code: model.CodeUsage, Op: "use CA file", On: caFile, Permanent: true, Err: err,
				Next: "give --ca-file a file with PEM certificates"}
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	return &http.Client{Transport: transport, CheckRedirect: forDownloads}, nil
}

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

type redirectError struct{ why string }

func (e *redirectError) Error() string { return e.why }

const mostRedirects = 10

// toSameOrigin follows redirects to the same scheme, host and port: what a request carries must go to no other server.
func toSameOrigin(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) >= mostRedirects:
		return &redirectError{"it redirects in circles"}
	case to.URL.Scheme != from.Scheme || to.URL.Host != from.Host:
		return &redirectError{"it redirects to " + redact.URL(to.URL) + ", where nothing is sent that is meant for " + from.Scheme + "://" +
			from.Host}
	}
	return nil
}

// forDownloads follows redirects, but not from https to http, and sends no server a Referer: the URL may hold a token.
func forDownloads(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= mostRedirects:
		return &redirectError{"it redirects in circles"}
	case via[len(via)-1].URL.Scheme == "https" && to.URL.Scheme != "https":
		return &redirectError{"it redirects from https to " + redact.URL(to.URL)}
	}
	to.Header.Del("Referer")
	return nil
}
