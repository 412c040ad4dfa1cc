package release

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// guard has all requests for an image pass through it: to the registry, to where that gives tokens, and to where
// they are redirected. It cuts off answers that are too large, and says which requests go out without TLS: the library
// would send some to private addresses, with the credentials.
type guard struct {
	next     http.RoundTripper
	registry string // host and port
	plain    bool   // registries.conf says that the registry is insecure

	// Of a registry that has answered:
	scheme string   // by which it was reached
	realm  *url.URL // where it gives tokens, nil for nowhere
}

// answered is a guard for the requests after the first one, which the registry has answered.
func (g *guard) answered(by *transport.Challenge) (*guard, error) {
	next := *g
	next.scheme = "https"
	if by.Insecure {
		next.scheme = "http"
	}
	if !strings.EqualFold(by.Scheme, "bearer") {
		return &next, nil
	}
	realm, err := url.Parse(by.Parameters["realm"])
	if err != nil || realm.Host == "" {
		return nil, errNoRealm
	}
	next.realm = realm
	return &next, nil
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if g.scheme != "" && request.URL.Host == g.registry && request.URL.Scheme != g.scheme {
		request = request.Clone(request.Context()) // a registry behind a proxy may not know its own scheme
		request.URL.Scheme = g.scheme
	}
	if err := g.check(request); err != nil {
		return nil, err
	}
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	limit := int64(largestAnswer)
	if strings.Contains(request.URL.Path, blobs) || request.Response != nil { // or where a redirect sends for one
		limit = largestBlob
	}
	if response.ContentLength > limit {
		response.Body.Close()
		return nil, fmt.Errorf("%w: %d bytes", errTooLarge, response.ContentLength)
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: limit}
	return response, nil
}

// check refuses requests that would show a login, or a token, to others than those it is for.
func (g *guard) check(request *http.Request) error {
	first := request
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	forToken := g.realm != nil && (first.URL.Host != g.registry || first.URL.Path == g.realm.Path)
	encrypted := request.URL.Scheme == "https"
	switch {
	case forToken && request.Method != http.MethodGet && request.URL.Host != first.URL.Host:
		return errSentOn
	case forToken && !encrypted && (g.scheme != "http" || !strings.EqualFold(request.URL.Hostname(), (&url.URL{Host: g.registry}).Hostname())):
		return errPlainRealm
	case !encrypted && !g.plain:
		return errPlain
	}
	return nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(data []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(data)) > b.left {
		data = data[:b.left]
	}
	n, err := b.ReadCloser.Read(data)
	b.left -= int64(n)
	return n, err
}
