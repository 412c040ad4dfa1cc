package release

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// asked is what a server was asked for, with the credentials it was shown.
type asked struct {
	mu       sync.Mutex
	requests []string
}

func (a *asked) add(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")))
}

func (a *asked) all() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.requests, "\n")
}

// desk is a registry whose images are read with a token, and a server that gives it. The registry sends for parts of
// an image to storage, where that is set.
type desk struct {
	registry, tokens *httptest.Server
	realm, storage   string // addresses
	asked            asked  // of tokens
}

const token = "a-token-for-images"

func newDesk(t *testing.T, start func(*httptest.Server)) *desk {
	t.Helper()
	d := &desk{}
	images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	d.registry = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			d.give(w, r)
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+d.realm+`",service="images"`)
			w.WriteHeader(http.StatusUnauthorized)
		case d.storage != "" && strings.Contains(r.URL.Path, blobs):
			http.Redirect(w, r, d.storage+r.URL.Path+"?signature=x", http.StatusTemporaryRedirect)
		default:
			images.ServeHTTP(w, r)
		}
	}))
	d.tokens = httptest.NewUnstartedServer(http.HandlerFunc(d.give))
	for _, s := range []*httptest.Server{d.registry, d.tokens} {
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		start(s)
		t.Cleanup(s.Close)
	}
	tag := must.Get(name.ParseReference("images.example.com/ocp/release:1", name.Insecure))(t)
	// The image is written past the login.
	must.Do(t, remote.Write(tag, made{arch: "amd64", label: "4.20.33"}.image(t), remote.WithTransport(into{images})))
	return d
}

func (d *desk) give(w http.ResponseWriter, r *http.Request) {
	d.asked.add(r)
	if r.URL.Path == "/elsewhere" {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
		return
	}
	_, _ = fmt.Fprintf(w, `{"token":%q}`, token)
}

// into has a handler answer requests.
type into struct{ http.Handler }

func (i into) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	answer := httptest.NewRecorder()
	i.ServeHTTP(answer, r)
	response := answer.Result()
	response.Request = r
	return response, nil
}

func hostOf(server *httptest.Server) string { return server.Listener.Addr().String() }

// otherName is the address of a server by another name of this machine.
func otherName(server *httptest.Server) string {
	return strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
}

// TestWhereTokensAreTakenFrom: by TLS; without it only from the host of an insecure registry that has none itself.
func TestWhereTokensAreTakenFrom(t *testing.T) {
	plain, encrypted := (*httptest.Server).Start, (*httptest.Server).StartTLS
	for name, tt := range map[string]struct {
		registry, tokens func(*httptest.Server)
		realm            func(of *desk, tokens *desk) string
		refused          bool
	}{
		"by TLS, of another host":                        {plain, encrypted, func(_, to *desk) string { return otherName(to.tokens) + "/token" }, false},
		"by TLS, of a registry with TLS":                 {encrypted, encrypted, func(_, to *desk) string { return otherName(to.tokens) + "/token" }, false},
		"without TLS, of the registry":                   {plain, plain, func(of, _ *desk) string { return of.registry.URL + "/token" }, false},
		"without TLS, of its host":                       {plain, plain, func(_, to *desk) string { return to.tokens.URL + "/token" }, false},
		"without TLS, of another host":                   {plain, plain, func(_, to *desk) string { return otherName(to.tokens) + "/token" }, true},
		"without TLS, at what looks like a part":         {plain, plain, func(_, to *desk) string { return otherName(to.tokens) + "/v2/ocp/release/blobs/x" }, true},
		"without TLS, of the host of a registry with it": {encrypted, plain, func(_, to *desk) string { return to.tokens.URL + "/token" }, true},
		"of a registry that does not know of its TLS": {encrypted, plain, func(of, _ *desk) string {
			return "http://" + hostOf(of.registry) + "/token"
		}, false},
		"sent on, without TLS, to another host": {plain, plain, func(_, to *desk) string {
			return to.tokens.URL + "/elsewhere?to=" + url.QueryEscape(otherName(to.tokens)+"/token")
		}, true},
		"of nowhere": {plain, plain, func(_, _ *desk) string { return "" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			of, to := newDesk(t, tt.registry), newDesk(t, tt.tokens)
			of.realm = tt.realm(of, to)
			o := Options{Clock: &patient{}, PullSecret: login(hostOf(of.registry)), Registries: []Registry{{Prefix: hostOf(of.registry), Insecure: true}}}
			got, err := Read(t.Context(), hostOf(of.registry)+"/ocp/release:1", o)
			if (err != nil) != tt.refused || err == nil && got.Version != "4.20.33" {
				t.Errorf("%+v, %v", got, err)
			}
			if said := to.asked.all(); tt.refused && strings.Contains(said, "GET /token") || tt.refused && strings.Contains(said, blobs) {
				t.Errorf("asked is %s", said)
			}
		})
	}
}

// TestLoginsAreNotSentOn: the server that gives tokens does not have an identity token sent to another host.
func TestLoginsAreNotSentOn(t *testing.T) {
	of, to := newDesk(t, (*httptest.Server).StartTLS), newDesk(t, (*httptest.Server).StartTLS)
	of.realm = of.tokens.URL + "/elsewhere?to=" + url.QueryEscape(otherName(to.tokens)+"/token")
	secret := strings.ReplaceAll(login(hostOf(of.registry)).Reveal(), `"auth":`, `"identitytoken":"`+password+`","auth":`)
	o := Options{Clock: &patient{}, Registries: []Registry{{Prefix: hostOf(of.registry), Insecure: true}}}
	o.PullSecret = spec.NewSecret(secret)
	_, err := Read(t.Context(), hostOf(of.registry)+"/ocp/release:1", o)
	if err == nil || !strings.Contains(err.Error(), "sends the login on") || to.asked.all() != "" {
		t.Errorf("asked is %q, %v", to.asked.all(), err)
	}
}

// TestPartsElsewhere: a registry may send to storage for parts of an image, which is shown no credentials.
func TestPartsElsewhere(t *testing.T) {
	of := newDesk(t, (*httptest.Server).Start)
	of.realm = of.registry.URL + "/token"
	var seen asked
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.add(r)
		again := httptest.NewRequest(http.MethodGet, of.registry.URL+r.URL.Path, nil)
		again.Header.Set("Authorization", "Bearer "+token)
		of.storage = ""
		of.registry.Config.Handler.ServeHTTP(w, again)
	}))
	t.Cleanup(storage.Close)
	of.storage = otherName(storage)
	o := Options{Clock: &patient{}, PullSecret: login(hostOf(of.registry)), Registries: []Registry{{Prefix: hostOf(of.registry), Insecure: true}}}
	check.Equal(t, must.Get(Read(t.Context(), hostOf(of.registry)+"/ocp/release:1", o))(t).Version, "4.20.33")
	said := seen.all()
	if !strings.Contains(said, blobs) || strings.Contains(said, "Bearer") || strings.Contains(said, "Basic") {
		t.Errorf("storage was asked for %q", said)
	}
	check.Contains(t, of.asked.all(), "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)), "the login was not used")
}

// TestAllConnectionsAreDialledByTheOptions: also those for a token, and for parts of an image that are elsewhere. What
// Options.Proxy refuses is not dialled.
func TestAllConnectionsAreDialledByTheOptions(t *testing.T) {
	of, other := newDesk(t, (*httptest.Server).Start), newDesk(t, (*httptest.Server).StartTLS)
	var refused []string
	o := Options{Clock: &patient{}, Quiet: true, Registries: []Registry{{Prefix: hostOf(of.registry), Insecure: true}}}
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != hostOf(of.registry) {
			refused = append(refused, address)
			return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s is not to be called", address)}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	o.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	read := func(what, says string) {
		t.Helper()
		_, err := Read(t.Context(), hostOf(of.registry)+"/ocp/release:1", o)
		check.Says(t, err, says, what)
		if said := other.asked.all(); said != "" {
			t.Errorf("%s: asked is %s", what, said)
		}
	}
	of.realm = other.tokens.URL + "/token"
	read("a token", hostOf(other.tokens)+" is not to be called")
	of.realm, of.storage = of.registry.URL+"/token", other.tokens.URL
	read("a part", hostOf(other.tokens)+" is not to be called")
	if len(refused) == 0 {
		t.Error("the connections were made in another way")
	}
	o.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Host != hostOf(of.registry) {
			return nil, fmt.Errorf("%s is behind no proxy", r.URL.Host)
		}
		return nil, nil
	}
	read("a part by a proxy", hostOf(other.tokens)+" is behind no proxy")
}
