package release

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

const (
	attempts     = 3 // at one place
	firstBackoff = time.Second
	// answerTime is how long one registry may take, in the clock's time;
	// leastAnswerTime is the least in real time, for clocks that run fast.
	answerTime      = 2 * time.Minute
	leastAnswerTime = 10 * time.Second

	largestAnswer = 16 << 20
	largestBlob   = 64 << 20
)

type client struct {
	clock    clock.Clock
	logins   logins
	verified *http.Transport
	careless *http.Transport // for places that registries.conf calls insecure
}

func newClient(o Options) (*client, error) {
	all, err := readLogins(o.PullSecret)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if len(o.CA) > 0 && !pool.AppendCertsFromPEM(o.CA) {
		return nil, errors.New("the certificates to trust hold no PEM certificate")
	}
	c := &client{clock: o.Clock, logins: all}
	c.verified = o.transport(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool})
	// Only for what registries.conf marks as insecure.
	c.careless = o.transport(&tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true})
	return c, nil
}

// transport makes its connections as the options say.
func (o *Options) transport(trust *tls.Config) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = trust
	if o.Dial != nil {
		t.DialContext = o.Dial
	}
	if o.Proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			via, err := o.Proxy(r)
			if err != nil {
				return nil, &refusedProxy{err}
			}
			return via, nil
		}
	}
	return t
}

func (c *client) close() {
	c.verified.CloseIdleConnections()
	c.careless.CloseIdleConnections()
}

// reader reads something of an image from a repository that has it.
type reader[V any] func(ctx context.Context, from *repository, identifier string) (V, error)

// again reads until it succeeds, or fails for a reason that does not pass.
func again[V any](ctx context.Context, c *client, at source, read reader[V]) (V, error) {
	backoff := firstBackoff
	for number := 1; ; number++ {
		found, err := once(ctx, c, at, read)
		if err == nil || number >= attempts || !passing(err) {
			return found, err
		}
		if err := c.clock.Sleep(ctx, backoff); err != nil {
			return found, err
		}
		backoff *= 2
	}
}

func once[V any](ctx context.Context, c *client, at source, read reader[V]) (found V, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(c.clock.Wall(answerTime), leastAnswerTime))
	defer cancel()
	from, err := c.open(ctx, at)
	if err != nil {
		return found, err
	}
	return read(ctx, from, at.ref.Identifier())
}

func passing(err error) bool {
	if answer, is := errors.AsType[*transport.Error](err); is {
		return answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests
	}
	var certificate *tls.CertificateVerificationError
	var network net.Error
	var opening *net.OpError
	switch {
	case errors.As(err, &certificate), errors.Is(err, errTooLarge):
		return false
	case errors.As(err, &opening), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	}
	return errors.As(err, &network) && network.Timeout()
}

// repository reads from a registry. The library's own reader brings much along that
// makes images.
type repository struct {
	base   string // https://registry/v2/name
	client *http.Client
}

func (c *client) open(ctx context.Context, at source) (*repository, error) {
	base := c.verified
	if at.insecure {
		base = c.careless
	}
	in := at.ref.Context()
	login, err := c.logins.Resolve(in)
	if err != nil {
		return nil, err
	}
	first := &guard{next: base, registry: in.RegistryStr(), plain: at.insecure}
	challenge, err := transport.Ping(ctx, in.Registry, first)
	if err != nil {
		return nil, distrust(err)
	}
	guarded, err := first.answered(challenge)
	if err != nil {
		return nil, err
	}
	through := transport.NewUserAgent(guarded, "")
	token, err := tokenOf(ctx, in, login, through, challenge)
	if err != nil {
		return nil, distrust(err)
	}
	signed, err := transport.FromToken(in.Registry, login, through, challenge, token)
	if err != nil {
		return nil, err
	}
	return &repository{base: fmt.Sprintf("%s://%s/v2/%s", guarded.scheme, in.RegistryStr(), in.RepositoryStr()),
		client: &http.Client{Transport: signed}}, nil
}

// tokenOf is what a registry wants to be shown for reading, an empty one where it wants none.
func tokenOf(ctx context.Context, in name.Repository, login authn.Authenticator, through http.RoundTripper,
	challenge *transport.Challenge) (*transport.Token, error) {
	if !strings.EqualFold(challenge.Scheme, "bearer") {
		return &transport.Token{}, nil
	}
	config, err := authn.Authorization(ctx, login)
	if err != nil {
		return nil, err
	}
	if config.RegistryToken != "" {
		return &transport.Token{Token: config.RegistryToken}, nil
	}
	token, err := transport.Exchange(ctx, in.Registry, login, through, []string{in.Scope(transport.PullScope)}, challenge)
	if err != nil {
		_, answered := errors.AsType[*transport.Error](err)
		if _, asked := errors.AsType[*url.Error](err); answered || asked {
			return nil, err
		}
		return nil, errNoToken // the cause could quote an answer with a secret
	}
	token.Token = cmp.Or(token.AccessToken, token.Token)
	return token, nil
}

// content is a manifest or a part of an image.
type content struct {
	data   []byte
	kind   types.MediaType
	digest string
}

// The paths of what a repository has.
const (
	manifests = "/manifests/"
	blobs     = "/blobs/"
)

// get reads what a tag or a digest names at one of the paths.
func (r *repository) get(ctx context.Context, path, identifier string) (content, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path+identifier, nil)
	if err != nil {
		return content{}, err
	}
	if path == manifests {
		kinds := []string{string(types.OCIImageIndex), string(types.DockerManifestList), string(types.OCIManifestSchema1),
			string(types.DockerManifestSchema2)}
		request.Header.Set("Accept", strings.Join(kinds, ","))
	}
	response, err := r.client.Do(request)
	if err != nil {
		return content{}, err
	}
	defer response.Body.Close()
	if err := transport.CheckError(response, http.StatusOK); err != nil {
		return content{}, err
	}
	data, err := io.ReadAll(response.Body)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	if err == nil && strings.Contains(identifier, ":") && digest != identifier {
		err = finding(fmt.Sprintf("the registry answers with %s when asked for %s", digest, identifier))
	}
	return content{data: data, kind: types.MediaType(response.Header.Get("Content-Type")), digest: digest}, err
}

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
