package machine

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
	"time"

	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/common"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Limits of one request to a BMC, on the network's own time.
const (
	dialTimeout    = 10 * time.Second
	requestTimeout = 30 * time.Second
	closeTimeout   = 10 * time.Second
	mostOfAnswer   = 8 << 20 // bytes; Redfish resources are a few KiB
)

// sessions is where DSP0266 (Redfish specification, "Session login") has every
// service keep its sessions.
const sessions = "/redfish/v1/SessionService/Sessions"

// connection is one conversation with a BMC.
type connection struct {
	*gofish.APIClient
	http     *http.Client
	endpoint string
	user     string
	password string
	token    string
	session  string // URL to delete in the end, "" where there is no session
}

// connect opens a session with a BMC. Where all sessions are taken, or there
// are none, each request carries the password instead.
func connect(ctx context.Context, bmc *spec.BMC, endpoint string, proxy *url.URL) (*connection, error) {
	user, password, ok := bmc.Credentials.Login()
	if !ok {
		return nil, &trouble{kind: kindCredentials, text: "its credentials are not known"}
	}
	client, err := httpClient(bmc, proxy)
	if err != nil {
		return nil, err
	}
	c := &connection{http: client, endpoint: endpoint, user: user, password: password.Reveal()}
	full, err := c.login(ctx)
	if err != nil {
		client.CloseIdleConnections()
		return nil, c.explain(err)
	}
	config := gofish.ClientConfig{Endpoint: endpoint, HTTPClient: client}
	if c.session != "" {
		config.Session = &gofish.Session{ID: c.session, Token: c.token}
	} else {
		config.Username, config.Password, config.BasicAuth = user, c.password, true
	}
	if c.APIClient, err = gofish.ConnectContext(ctx, config); err != nil {
		c.close(ctx)
		var status *common.Error
		if full && errors.As(err, &status) && (status.HTTPReturnedStatusCode == http.StatusUnauthorized || status.HTTPReturnedStatusCode == http.StatusForbidden) {
			return nil, &trouble{kind: kindBusy, text: "all its sessions are taken, and it takes no password without one"}
		}
		return nil, c.explain(err)
	}
	return c, nil
}

// login opens a session. It is not cut short when ctx ends: a session whose
// answer was not awaited would stay open on the BMC, which has few. full says
// that the BMC has no session left.
func (c *connection) login(ctx context.Context) (full bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	body, err := json.Marshal(map[string]string{"UserName": c.user, "Password": c.password})
	if err != nil {
		return false, err
	}
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, c.endpoint+sessions, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return false, err
	case response.StatusCode == http.StatusUnauthorized:
		return false, common.ConstructError(response.StatusCode, answer)
	case response.StatusCode/100 != 2:
		return response.StatusCode == http.StatusServiceUnavailable || strings.Contains(strings.ToLower(string(answer)), "sessionlimit"), nil
	}
	var resource struct {
		ID string `json:"@odata.id"`
	}
	_ = json.Unmarshal(answer, &resource) // the header alone may say it
	c.token = response.Header.Get("X-Auth-Token")
	location, err := url.Parse(cmp.Or(response.Header.Get("Location"), resource.ID))
	if c.token == "" || err != nil || location.Path == "" {
		return false, nil
	}
	c.session = location.RequestURI()
	return false, nil
}

// close ends the session, even when ctx has ended.
func (c *connection) close(ctx context.Context) {
	defer c.http.CloseIdleConnections()
	if c.session == "" {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(last, http.MethodDelete, c.endpoint+c.session, nil)
	if err != nil {
		return
	}
	request.Header.Set("X-Auth-Token", c.token)
	if response, err := c.http.Do(request); err == nil {
		_ = response.Body.Close() // a session that cannot be ended ends by itself
	}
	c.session = ""
}

// read decodes a resource of the BMC.
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

// write sends a change or calls an action. An answer with a body is thrown away:
// the next look shows what came of it.
func (c *connection) write(method, path string, body any) error {
	send := c.Post
	if method == http.MethodPatch {
		send = c.Patch
	}
	response, err := send(path, body)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// httpClient trusts what the file says, and speaks through proxy if there is
// one. The proxy of the environment is not used: it is the way to the internet,
// not to BMCs.
func httpClient(bmc *spec.BMC, proxy *url.URL) (*http.Client, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: bmc.Insecure} //nolint:gosec // as the file says
	if pem := bmc.CA.Text(); pem != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM([]byte(pem)) {
			return nil, &trouble{kind: kindOther, text: "bmc.ca holds no certificate"}
		}
		settings.RootCAs = pool
	}
	transport := &http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSClientConfig: settings,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: requestTimeout, MaxIdleConnsPerHost: 1, DisableCompression: true,
	}
	if proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	return &http.Client{
		Transport: wire{transport}, Timeout: requestTimeout,
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if to.URL.Hostname() != via[0].URL.Hostname() || len(via) > 3 {
				return errors.New("the BMC sends somewhere else")
			}
			return nil
		},
	}, nil
}

// wire keeps a connection open from one request to the next, which gofish does
// not with a client of ours, and bounds what a BMC may answer.
type wire struct{ http.RoundTripper }

func (w wire) RoundTrip(request *http.Request) (*http.Response, error) {
	own := request.Clone(request.Context())
	own.Close = false
	response, err := w.RoundTripper.RoundTrip(own)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, mostOfAnswer), response.Body}
	return response, nil
}
