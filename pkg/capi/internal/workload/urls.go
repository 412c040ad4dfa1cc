package workload

import (
	"cmp"
	"errors"
	"fmt"
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

// mostRedirects is how many redirects are followed, as many as net/http follows.
const mostRedirects = 10

// withinHost refuses redirects to another host: what was found out of the content at a URL would not be of what is read.
func withinHost(request *http.Request, via []*http.Request) error {
	switch host := request.URL.Hostname(); {
	case !strings.EqualFold(host, via[0].URL.Hostname()):
		return fmt.Errorf("it sends on to another host, %s", host)
	case len(via) >= mostRedirects:
		return fmt.Errorf("it sends on more than %d times", mostRedirects)
	}
	return nil
}

// wordless drops the text of refusals.
type wordless struct{ next http.RoundTripper }

func (w wordless) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.next.RoundTrip(request)
	if err != nil || response.StatusCode < http.StatusBadRequest {
		return response, err
	}
	err = response.Body.Close()
	response.Body, response.ContentLength = http.NoBody, 0
	response.Status = fmt.Sprintf("%d %s", response.StatusCode, http.StatusText(response.StatusCode))
	return response, err
}
