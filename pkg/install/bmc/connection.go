package bmc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/common"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Limits of one request to a BMC, on the network's own time.
const (
	dialTimeout    = 10 * time.Second
	requestTimeout = 30 * time.Second
	closeTimeout   = 10 * time.Second
	mostOfAnswer   = 8 << 20 // bytes; Redfish resources are a few KiB
)

const systems = "/redfish/v1/Systems"

type connection struct {
	*gofish.APIClient
	http     *http.Client
	endpoint string
	user     string
	password string
	token    string // of the session, "" where there is none
	basic    bool   // whether each request carries the password
	session  string // URL to delete in the end, "" where there is no session
	image    string // URL of our image, whose path is a secret
	patient  bool   // whether a request may take as long as its context

	ctx      context.Context // of the conversation
	clock    install.Clock   // says how long a Task takes
	within   time.Duration   // how long a Task is followed, 0 until it ends
	accepted string          // path of the Task that the last request began, "" for none
}

// connect opens a conversation with a BMC: with a session where its root links to
// sessions, else with the password in each request.
func (p *Plane) connect(ctx context.Context, bmc *spec.BMC, endpoint string) (*connection, error) {
	user, password, ok := bmc.Credentials.Login()
	if !ok {
		return nil, &bmcError{kind: model.TroubleCredentials, text: "its credentials are not known"}
	}
	c := &connection{endpoint: endpoint, user: user, password: password.Reveal(), ctx: ctx, clock: p.network}
	if err := c.prepare(bmc, p.proxy); err != nil {
		return nil, err
	}
	fail := func(err error) (*connection, error) {
		c.close(ctx)
		return nil, c.explain(err)
	}
	sessions, err := c.findSessions(ctx)
	if err != nil {
		return fail(err)
	}
	if err := p.users.at(endpoint, c.user, c.password).login(ctx, func() error { return c.login(ctx, sessions) }); err != nil {
		return fail(err)
	}
	if c.APIClient, err = gofish.ConnectContext(ctx, gofish.ClientConfig{Endpoint: endpoint, HTTPClient: c.http}); err != nil {
		return fail(err)
	}
	return c, nil
}

// send makes a request that gofish has no part in.
func (c *connection) send(ctx context.Context, method, path string, body any) (status int, header http.Header, answer []byte, err error) {
	var data []byte
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return 0, nil, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.endpoint+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, response.Header, answer, err
}

// findSessions is where a BMC keeps its sessions, as its root says: that everybody
// may read (DSP0266, "Service root"). "" has none.
func (c *connection) findSessions(ctx context.Context) (path string, err error) {
	status, _, answer, err := c.send(ctx, http.MethodGet, common.DefaultServiceRoot, nil)
	switch {
	case err != nil:
		return "", err
	case status == http.StatusUnauthorized: // against the standard: Basic opens it, if anything does
		return "", nil
	case status/100 != 2:
		return "", common.ConstructError(status, answer)
	}
	var root struct {
		Links struct{ Sessions common.Link }
	}
	if err := json.Unmarshal(answer, &root); err != nil {
		return "", fmt.Errorf("read %s: %w", common.DefaultServiceRoot, err)
	}
	return root.Links.Sessions.String(), nil
}

// login authenticates to the BMC. If a BMC creates no session for any reason, the password may still work; the password
// is wrong only if the BMC accepts neither.
func (c *connection) login(ctx context.Context, sessions string) error {
	opened, full := false, false
	if sessions != "" {
		var err error
		if opened, full, err = c.openSession(ctx, sessions); opened || err != nil {
			return err
		}
	}
	c.basic = true
	status, _, answer, err := c.send(ctx, http.MethodGet, systems, nil)
	switch {
	case err != nil:
		return err
	case full && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return &bmcError{kind: model.TroubleBusy, text: "all its sessions are in use, and it does not accept a password without a session"}
	case status == http.StatusUnauthorized:
		return &refusedUser{common.ConstructError(status, answer)}
	}
	return nil // what else is wrong shows when it is read
}

// openSession is not cut short when ctx ends: a session whose answer was not awaited
// would stay open on the BMC, which has few. full says that it has none left.
func (c *connection) openSession(ctx context.Context, path string) (opened, full bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, false, err
	}
	status, header, answer, err := c.send(context.WithoutCancel(ctx), http.MethodPost, path,
		map[string]string{"UserName": c.user, "Password": c.password})
	if err != nil {
		return false, false, err
	}
	if status/100 != 2 {
		return false, status == http.StatusServiceUnavailable || strings.Contains(strings.ToLower(string(answer)), "sessionlimit"), nil
	}
	var resource struct {
		ID string `json:"@odata.id"`
	}
	_ = json.Unmarshal(answer, &resource) // the header alone may say it
	location, err := url.Parse(cmp.Or(header.Get("Location"), resource.ID))
	if token := header.Get("X-Auth-Token"); token != "" && err == nil && location.Path != "" {
		c.token, c.session = token, location.RequestURI()
		return true, false, nil
	}
	return false, false, nil
}

// close ends the session, even when ctx has ended.
func (c *connection) close(ctx context.Context) {
	defer c.http.CloseIdleConnections()
	if c.session == "" {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_, _, _, _ = c.send(last, http.MethodDelete, c.session, nil) // a session that cannot be ended ends by itself
	c.session = ""
}

func (c *connection) read(path string, into any) error {
	response, err := c.Get(path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// write sends a change or calls an action, and follows the Task that carries it out. The body of an answer is thrown
// away: the next look shows the result.
func (c *connection) write(method, path string, body any) error {
	send := c.Post
	if method == http.MethodPatch {
		send = c.Patch
	}
	response, err := send(path, body)
	if err == nil {
		_ = response.Body.Close()
	}
	return c.finish(err)
}

// prepare makes the HTTP client, which trusts what the file says, and speaks through
// proxy if there is one. The proxy of the environment is not used: it is the way to
// the internet, not to BMCs.
func (c *connection) prepare(bmc *spec.BMC, proxy *url.URL) error {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: bmc.Insecure} //nolint:gosec // as the file says
	if pem := bmc.CA.Text(); pem != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM([]byte(pem)) {
			return &bmcError{kind: model.TroubleOther, text: "bmc.ca holds no certificate"}
		}
		settings.RootCAs = pool
	}
	transport := &http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSClientConfig: settings,
		TLSHandshakeTimeout: dialTimeout, MaxIdleConnsPerHost: 1, DisableCompression: true,
	}
	if proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	c.http = &http.Client{Transport: wire{connection: c, transport: transport}}
	return nil
}

// users are those who log in to BMCs. A user and password that a BMC has refused are
// not tried again: accounts lock.
type users struct {
	mu sync.Mutex
	of map[account]*user
}

type account struct{ endpoint, name, password string }

type user struct {
	turn    chan struct{} // holds one element while a login is under way
	refused error
}

func (u *users) at(endpoint, name, password string) *user {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := account{endpoint, name, password}
	if u.of == nil {
		u.of = map[account]*user{}
	}
	if u.of[key] == nil {
		u.of[key] = &user{turn: make(chan struct{}, 1)}
	}
	return u.of[key]
}

// login logs in as a user, unless that was refused before. Machines that share a BMC
// do so one after the other.
func (u *user) login(ctx context.Context, try func() error) error {
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if u.refused != nil {
		return u.refused
	}
	err := try()
	if refused := new(refusedUser); errors.As(err, &refused) {
		u.refused = &bmcError{kind: model.TroubleCredentials, text: "its BMC refuses the user and the password"}
		return u.refused
	}
	return err
}

// refusedUser is the answer of a BMC that takes a user and password in no way.
type refusedUser struct{ error }

// wire is what each request to a BMC goes through. It alone has the credentials, and sends them only to the BMC of the
// file: a link or a redirect that leads to another host, scheme or port is not followed.
type wire struct {
	connection *connection
	transport  *http.Transport
}

// RoundTrip implements http.RoundTripper. It keeps a TCP connection open from one
// request to the next, which gofish does not with a client of ours, and bounds how
// long a BMC may take, and what it may answer.
func (w wire) RoundTrip(request *http.Request) (*http.Response, error) {
	c := w.connection
	bmc, err := url.Parse(c.endpoint)
	if origin := originOf(request.URL); err != nil || origin != originOf(bmc) {
		return nil, &bmcError{kind: model.TroubleOther, text: "its BMC redirects to " + origin +
			", and oaictl does not send the user and the password there: if this is the BMC, give this address as bmc.address"}
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
	if err := c.accepts(response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
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

func originOf(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}
