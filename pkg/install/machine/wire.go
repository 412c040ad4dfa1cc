package machine

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// wire is what each request to a BMC goes through. It alone knows who we are, and
// says it to the BMC of the file and to nobody else: a link or a redirect that leads
// to another host, scheme or port is not followed.
type wire struct {
	connection *connection
	transport  *http.Transport
}

// RoundTrip implements http.RoundTripper. It keeps a TCP connection open from one
// request to the next, which gofish does not with a client of ours, and bounds how
// long a BMC may take, and what it may answer.
func (w wire) RoundTrip(request *http.Request) (*http.Response, error) {
	c := w.connection
	if origin := originOf(request.URL); origin != originOfText(c.endpoint) {
		return nil, &trouble{kind: kindOther, text: "its BMC sends to " + origin + ", where its user and password do not belong: give that as bmc.address if it is the BMC"}
	}
	ctx, cancel := request.Context(), context.CancelFunc(func() {})
	if !c.patient {
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
	}
	own := request.Clone(ctx)
	own.Close = false
	switch {
	case c.token != "":
		own.Header.Set("X-Auth-Token", c.token)
	case c.basic:
		own.SetBasicAuth(c.user, c.password)
	}
	response, err := w.transport.RoundTrip(own)
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &bounded{Reader: io.LimitReader(response.Body, mostOfAnswer), body: response.Body, cancel: cancel}
	return response, nil
}

// CloseIdleConnections has http.Client close those of the transport.
func (w wire) CloseIdleConnections() { w.transport.CloseIdleConnections() }

// bounded is the beginning of a body, within the time of its request.
type bounded struct {
	io.Reader
	body   io.Closer
	cancel context.CancelFunc
}

func (b *bounded) Close() error {
	defer b.cancel()
	return b.body.Close()
}

// originOf is scheme, host and port of a URL.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}

func originOfText(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return originOf(u)
}
