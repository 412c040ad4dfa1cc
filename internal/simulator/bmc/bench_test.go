package bmc

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

// standing still until a test moves it, or a caller sleeps: the clock of these tests.
type handClock struct {
	mu  sync.Mutex
	now time.Time
	// asleep is called while a caller sleeps; nil is nothing.
	asleep func(context.Context)
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Sleep takes no real time but what asleep does.
func (c *handClock) Sleep(ctx context.Context, d time.Duration) error {
	if c.asleep != nil {
		c.asleep(ctx)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c.move(d)
	return nil
}

func (c *handClock) Wall(d time.Duration) time.Duration { return d }

// bench is a server with one machine of a flavour, or several, and media.
type bench struct {
	t      *testing.T
	server *Server
	clock  *handClock
	proxy  string
	client *http.Client
	media  *httptest.Server
	asked  []string // ranges that the media were asked for
	image  []byte
}

func newBench(t *testing.T, rules string, machines ...Machine) *bench {
	t.Helper()
	b := &bench{t: t, clock: &handClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, image: bytes.Repeat([]byte("media"), 1<<19)}
	var mu sync.Mutex
	b.media = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		b.asked = append(b.asked, strings.TrimSpace(r.Method+" "+r.Header.Get("Range")))
		mu.Unlock()
		if strings.Contains(r.URL.Path, "missing") {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "x.iso", time.Time{}, bytes.NewReader(b.image))
	}))
	t.Cleanup(b.media.Close)
	config := Config{Clock: b.clock, Machines: machines, Logf: t.Logf}
	if rules != "" {
		var err error
		text := "apiVersion: oaictl.io/v1alpha1\nkind: Scenario\nmetadata: {name: t}\nspec: {hosts: [" + rules + "]}\n"
		if config.Scenario, err = scenario.Parse("t.yaml", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if b.server, err = New(config); err != nil {
		t.Fatal(err)
	}
	b.listen()
	return b
}

// listen serves until the test ends, and reaches the controllers by the proxy.
func (b *bench) listen() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.server.Serve(ctx, listener) }()
	b.t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			b.t.Error(err)
		}
	})
	b.proxy = "http://" + listener.Addr().String()
	proxy, err := url.Parse(b.proxy)
	if err != nil {
		b.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.server.Certificate())
	now := b.clock.Now
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: roots, Time: now, MinVersion: tls.VersionTLS12}}
	b.t.Cleanup(transport.CloseIdleConnections)
	b.client = &http.Client{Transport: transport}
}

// answered is what a controller said.
type answered struct {
	status int
	header http.Header
	body   map[string]any
}

func (b *bench) call(method, address string, body any, header ...string) answered {
	b.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	if body == nil {
		data = nil
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("admin:calvin"))
	status, answer, text := b.send(method, address, bytes.NewReader(data), append([]string{"Authorization", basic}, header...)...)
	a := answered{status: status, header: answer}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &a.body); err != nil {
			b.t.Fatalf("%s %s: %d %q", method, address, status, text)
		}
	}
	return a
}

// send is one request and its answer. Of a header that comes twice, the last counts.
func (b *bench) send(method, address string, body io.Reader, header ...string) (status int, answer http.Header, data []byte) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), method, address, body)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err = io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, response.Header, data
}

func (b *bench) want(status int, method, address string, body any, header ...string) answered {
	b.t.Helper()
	a := b.call(method, address, body, header...)
	for a.status == http.StatusAccepted { // a Task: its monitor answers so until it has ended
		a = b.call("GET", at+a.header.Get("Location"), nil)
	}
	if a.status != status {
		b.t.Errorf("%s %s: %d %v, want %d", method, address, a.status, a.body, status)
	}
	return a
}

// find follows a path of keys and indexes through what was answered.
func (a answered) find(path ...any) any {
	var at any = a.body
	for _, step := range path {
		switch key := step.(type) {
		case string:
			object, _ := at.(map[string]any)
			at = object[key]
		case int:
			list, _ := at.([]any)
			if key >= len(list) {
				return nil
			}
			at = list[key]
		}
	}
	return at
}

func machineOf(f Flavour, address string) Machine {
	return Machine{
		Name: "m-0", UUID: "6f1f1ed2-0000-4000-8000-000000000001", Serial: "S1", Address: address, User: "admin", Password: "calvin", Flavour: f,
	}
}
