// Package service is the machine's side of the assisted-service's REST API: what the agent, the installer, the log sender
// and the controller ask for and report. Requests are those of the original programs, so any assisted-service takes them.
//
// A call is sent again after errors that pass, as the original programs do; [Error] tells what an answer said. Answers
// are bounded, redirects to another host are refused since they would carry the token there, and the token is in no
// error and no log.
package service

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/escape"
	"github.com/oaictl/oaictl/internal/shared/redact"
)

// basePath is where the API is below the service's URL.
const basePath = "/api/assisted-install"

// Config says how the service is reached.
type Config struct {
	// URL is the service's, such as https://assisted.example.com; its path may be a prefix of the API's.
	URL string
	// CACertFile has certificates in PEM that are trusted beside the system's. "" means only the system's.
	CACertFile string
	// Insecure accepts any certificate.
	Insecure bool
	// Token authenticates this machine. "" means that the service asks for no token.
	Token string
	// AgentVersion is the agent's image, which replies to steps name. "" names none.
	AgentVersion string
	// Proxy says through which proxy a request goes. nil means through none.
	Proxy func(*http.Request) (*url.URL, error)
	// Dial connects to the service or the proxy. nil means over the network.
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Log   *slog.Logger
	Clock clock.Clock
}

// Client sends requests to one service. It may be used by many goroutines.
type Client struct {
	base         *url.URL
	token        string
	agentVersion string
	http         *http.Client
	log          *slog.Logger
	clock        clock.Clock
	// clean takes the token out of a text.
	clean func(string) string
	// spread is a random number in [0, 1), which keeps machines from asking all at once.
	spread func() float64
}

// New makes a client. It sends no request.
func New(c Config) (*Client, error) {
	base, err := baseURL(c.URL)
	if err != nil {
		return nil, err
	}
	roots, err := trusted(c)
	if err != nil {
		return nil, err
	}
	if c.Insecure {
		c.Log.Warn("the certificate of the assisted-service is not verified: another machine can pose as the service")
	}
	return &Client{
		base: base, token: c.Token, agentVersion: c.AgentVersion, log: c.Log, clock: c.Clock,
		clean:  redact.NewReplacer(c.Token),
		spread: rand.Float64,
		http: &http.Client{
			Transport: transport(c, roots),
			CheckRedirect: func(next *http.Request, via []*http.Request) error {
				return followed(next, via[len(via)-1], len(via))
			},
		},
	}, nil
}

// baseURL reads the URL that a flag or a variable gives.
func baseURL(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil {
		// The error of url.Parse repeats the text, which may have a password.
		return nil, errors.New("the URL of the assisted-service is malformed: give one such as https://assisted.example.com")
	}
	if (base.Scheme != "http" && base.Scheme != "https") || base.Hostname() == "" {
		return nil, fmt.Errorf("the URL of the assisted-service is %q: give one such as https://assisted.example.com",
			escape.Word(redact.URL(base)))
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("the URL of the assisted-service is %q: leave out the query and the fragment", escape.Word(redact.URL(base)))
	}
	return base.JoinPath(basePath), nil
}

// trusted are the authorities that may vouch for the service, nil for the system's.
func trusted(c Config) (*x509.CertPool, error) {
	if c.CACertFile == "" || c.Insecure {
		return nil, nil
	}
	content, err := os.ReadFile(c.CACertFile)
	if err != nil {
		return nil, fmt.Errorf("read the CA certificates of the assisted-service: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		c.Log.Warn("the system's CA certificates cannot be read: only those of the file are trusted", "error", err)
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s has no certificate in PEM: it must have the CA certificates of the assisted-service", c.CACertFile)
	}
	return pool, nil
}

func transport(c Config, roots *x509.CertPool) *http.Transport {
	const (
		dial      = 30 * time.Second
		handshake = 10 * time.Second
		idle      = 90 * time.Second
		// answer is how long the service may take once it has the whole request.
		answer = 5 * time.Minute
		// ping is when a silent connection of HTTP/2 is tried, and how long that may take: the address of a machine may
		// change, and its old connections then lead nowhere.
		ping = 15 * time.Second
	)
	connect := c.Dial
	if connect == nil {
		connect = (&net.Dialer{Timeout: dial, KeepAlive: dial}).DialContext
	}
	return &http.Transport{
		Proxy:                  c.Proxy,
		DialContext:            connect,
		ForceAttemptHTTP2:      true,
		IdleConnTimeout:        idle,
		TLSHandshakeTimeout:    handshake,
		ResponseHeaderTimeout:  answer,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: ping, PingTimeout: ping},
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: roots, InsecureSkipVerify: c.Insecure,
		},
	}
}

// followed returns an error for a redirect that would carry the token to another host, or unencrypted, or that would
// turn a report into a question.
func followed(next, last *http.Request, times int) error {
	const most = 3
	to := escape.Word(redact.URL(next.URL))
	switch {
	case times > most:
		return &redirectError{"the service redirects again and again, at last to " + to}
	case !strings.EqualFold(next.URL.Hostname(), last.URL.Hostname()), last.URL.Scheme == "https" && next.URL.Scheme != "https":
		return &redirectError{"the service redirects to " + to + ", where the token is not sent: give the service's own URL"}
	case next.Method != last.Method:
		return &redirectError{"the service redirects a " + last.Method + " to " + to + ": give that URL"}
	}
	return nil
}
