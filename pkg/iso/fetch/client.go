package fetch

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// newClient makes the client that a cache has where it is given none.
func newClient(trust *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:       trust.Clone(),
			TLSHandshakeTimeout:   30 * time.Second,
			ResponseHeaderTimeout: time.Minute,
			IdleConnTimeout:       time.Minute,
			ForceAttemptHTTP2:     true,
			DisableCompression:    true, // ranges and sizes are those of the content itself
		},
	}
}

// noDowngrade follows redirects, but not from https to http: what boots a
// machine would come from whoever is in between. No server is told where it was sent
// from: that URL may hold a token.
func noDowngrade(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return &redirectError{"it redirects more than 10 times"}
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return &redirectError{"it redirects from https to " + Redact(req.URL.String())}
	}
	req.Header.Del("Referer")
	return nil
}

// redirectError is a redirect that is not followed.
type redirectError struct{ why string }

func (e *redirectError) Error() string { return e.why }

// StatusError is an answer that is not the content.
type StatusError struct {
	Code int
	// Status is the status line's code and text, as in "404 Not Found".
	Status string
}

func (e *StatusError) Error() string { return "the server answers " + e.Status }

// passing says whether the same request may succeed a little later.
func passing(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Code >= 500 && status.Code != http.StatusNotImplemented ||
			status.Code == http.StatusTooManyRequests || status.Code == http.StatusRequestTimeout
	}
	var broken *brokenError
	return errors.As(err, &broken)
}

// brokenError is a request without an answer, or an answer that broke off.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// broken wraps what went wrong on the way. An *url.Error would repeat the URL
// with all that is secret in it.
func broken(err error) error {
	var redirect *redirectError
	if errors.As(err, &redirect) {
		return redirect
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	return &brokenError{err: err}
}
