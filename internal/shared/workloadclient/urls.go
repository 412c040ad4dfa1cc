package workloadclient

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Client reads what stands at URLs that users of a namespace may have written: it calls only addresses that may be called,
// follows redirects within the host of the URL alone, and of a refusal it passes on the HTTP status alone. The bodies of
// other answers have no bound.
// All else is as of base, or of a client that trusts the system's certificates where that is nil. It is an error if the
// connections of base cannot be seen, since its transport is of a kind of its own.
func (c Connector) Client(base *http.Client) (*http.Client, error) {
	if base == nil {
		base = &http.Client{}
	}
	transport, is := cmp.Or(base.Transport, http.DefaultTransport).(*http.Transport)
	if !is {
		return nil, errors.New("the addresses that the HTTP client calls cannot be checked: its Transport is no *http.Transport")
	}
	transport = transport.Clone()
	transport.DialContext, transport.DialTLSContext, transport.Proxy = c.Dial, nil, c.Proxy
	guarded := *base
	guarded.Transport = wordless{transport}
	guarded.CheckRedirect = withinHost
	return &guarded, nil
}

// Of an HTTP server: what trusts its certificate, and what its answers are to be like.
const theSystem, anHTTPServer = "the system", "an HTTP server"

// mostRedirects is how many redirects are followed, as many as net/http follows.
const mostRedirects = 10

// withinHost refuses redirects to another host: what was found out of the content at a URL would not be of what is read.
func withinHost(request *http.Request, via []*http.Request) error {
	switch {
	case !strings.EqualFold(request.URL.Hostname(), via[0].URL.Hostname()):
		return errors.New("it redirects to another host, which is not followed")
	case len(via) >= mostRedirects:
		return fmt.Errorf("it redirects more than %d times", mostRedirects)
	}
	return nil
}

// wordless drops what servers say of failures: the text of refusals, and of answers that are no HTTP.
type wordless struct{ next http.RoundTripper }

// RoundTrip is of http.RoundTripper.
func (w wordless) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, quietError(err, theSystem, anHTTPServer)
	}
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		err = response.Body.Close()
		response.Body, response.ContentLength = http.NoBody, 0
		response.Status = fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	case response.StatusCode >= http.StatusMultipleChoices:
		if to, wrong := response.Location(); wrong != nil || to.Scheme != "http" && to.Scheme != "https" {
			_ = response.Body.Close() // of an answer that is not read
			return nil, fmt.Errorf("it answers %d %s, without a URL", response.StatusCode, http.StatusText(response.StatusCode))
		}
	default:
		response.Body = &quietBody{response.Body}
	}
	return response, err
}

// quietBody is a body whose errors do not say what the server has said.
type quietBody struct{ io.ReadCloser }

// Read is of io.Reader.
func (b *quietBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = quietError(err, theSystem, anHTTPServer)
	}
	return n, err
}
