package transport

import (
	"net/http"

	"github.com/oaictl/oaictl/internal/redact"
)

// redirectError is a redirect that is not followed.
type redirectError struct{ why string }

func (e *redirectError) Error() string { return e.why }

const mostRedirects = 10

// toSameOrigin follows redirects to the same scheme, host and port: what a request
// carries is for nobody else.
func toSameOrigin(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) >= mostRedirects:
		return &redirectError{"it redirects in circles"}
	case to.URL.Scheme != from.Scheme || to.URL.Host != from.Host:
		return &redirectError{"it redirects to " + redact.URL(to.URL) + ", where nothing is sent that is meant for " + from.Scheme + "://" + from.Host}
	}
	return nil
}

// forDownloads follows redirects, but not from https to http, and tells no server
// where it was sent from: the URL may hold a token.
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
