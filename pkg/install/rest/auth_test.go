package rest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/rest/internal/transport"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// jwt is a web token with the given claims and no signature worth the name.
func jwt(claims map[string]any) string {
	part := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	return part(map[string]string{"alg": "ES256"}) + "." + part(claims) + ".c2ln"
}

// The kind of a token decides the header and its form.
func TestTokenKindDecidesTheHeader(t *testing.T) {
	user, watcher := jwt(map[string]any{"auth_scheme": "userAuth"}), jwt(map[string]any{"auth_scheme": "watcherAuth"})
	agent, access, local := jwt(map[string]any{"auth_scheme": "agentAuth"}), jwt(map[string]any{"typ": "Bearer"}), jwt(map[string]any{"infra_env_id": "x"})
	for token, want := range map[string]string{
		user:             "Authorization=" + user,
		watcher:          "Watcher-Authorization=" + watcher,
		agent:            "X-Secret-Key=" + agent,
		local:            "X-Secret-Key=" + local,
		access:           "Authorization=Bearer " + access,
		"opaque":         "Authorization=Bearer opaque",
		"a.b.c":          "Authorization=Bearer a.b.c",
		" opaque\n":      "Authorization=Bearer opaque",
		"Basic dXNlcjpw": "Authorization=Basic dXNlcjpw",
	} {
		source, err := Credentials{Token: spec.NewSecret(token)}.Authorise(nil, "", newFakeClock())
		if err != nil {
			t.Fatal(err)
		}
		name, value, err := source.Header(t.Context())
		if got := name + "=" + value; err != nil || got != want {
			t.Errorf("got %s, want %s (%v)", got, want, err)
		}
		if text := fmt.Sprintf("%v %+v %#v %s", source, source, source, source); strings.Contains(text, strings.TrimSpace(token)) {
			t.Errorf("the token shows in %s", text)
		}
	}
}

func TestAuthoriseTakesOneThing(t *testing.T) {
	secret := spec.NewSecret("x")
	for name, c := range map[string]Credentials{
		"two":       {Token: secret, OfflineToken: secret},
		"no secret": {ClientID: "x"},
		"no id":     {ClientSecret: secret},
	} {
		if _, err := c.Authorise(nil, "", nil); model.FaultOf(err).Code != model.CodeUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
	source, err := Credentials{}.Authorise(nil, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if name, _, _ := source.Header(t.Context()); name != "" {
		t.Error("a header without credentials")
	}
}

// sso is a token endpoint whose tokens are counted.
type sso struct {
	*httptest.Server
	issued atomic.Int64
	mu     sync.Mutex
	forms  []string
	answer http.HandlerFunc // instead of a token, if set
}

func newSSO(t *testing.T, life int) *sso {
	s := &sso{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		_ = r.ParseForm()
		s.forms = append(s.forms, r.PostForm.Encode())
		answer := s.answer
		s.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		reply(w, 200, fmt.Sprintf(`{"access_token":"access-%d","expires_in":%d}`, s.issued.Add(1), life))
	}))
	t.Cleanup(s.Close)
	return s
}

// An offline token is exchanged once for many callers, again ahead of the end
// of the access token, and once when the service does not take that one.
func TestOfflineToken(t *testing.T) {
	f, s := newFake(t), newSSO(t, 900)
	good := "access-1"
	var mu sync.Mutex
	f.on("GET /v2/clusters", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer "+good {
			reply(w, 401, `{"code":401,"message":"token expired"}`)
			return
		}
		reply(w, 200, "[]")
	})
	offline := jwt(map[string]any{"typ": "Offline", "azp": "cloud-services"})
	source, err := Credentials{Token: spec.NewSecret(offline), SSOURL: s.URL}.Authorise(nil, "", f.clock)
	if err != nil {
		t.Fatal(err)
	}
	p := f.plane(t, func(c *Config) { c.Auth = source })
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := listAll(p); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := s.issued.Load(); n != 1 {
		t.Errorf("%d tokens for callers at once", n)
	}
	if want := "client_id=cloud-services&grant_type=refresh_token&refresh_token=" + offline; s.forms[0] != want {
		t.Errorf("got form %s", s.forms[0])
	}

	good = "access-2"
	_ = f.clock.Sleep(t.Context(), 13*time.Minute+time.Second)
	if err := listAll(p); err != nil || s.issued.Load() != 2 {
		t.Errorf("two minutes before the end: %d tokens, %v", s.issued.Load(), err)
	}
	good = "access-3"
	f.took()
	if err := listAll(p); err != nil || s.issued.Load() != 3 || len(f.took()) != 2 {
		t.Errorf("after a 401: %d tokens, %v", s.issued.Load(), err)
	}
	good = "none"
	f.took()
	fault := faultOf(t, listAll(p))
	if fault.Code != model.CodeAuth || len(f.took()) != 2 || !strings.Contains(fault.Next.String(), "https://console.redhat.com/openshift/token") {
		t.Errorf("when no token is good: %v, next %q", fault, fault.Next)
	}
}

func TestServiceAccount(t *testing.T) {
	f, s := newFake(t), newSSO(t, 900)
	f.json("GET /v2/clusters", 200, []any{})
	source, err := Credentials{ClientID: "robot", ClientSecret: spec.NewSecret("geheim"), SSOURL: s.URL}.Authorise(nil, "", f.clock)
	if err != nil {
		t.Fatal(err)
	}
	if err := listAll(f.plane(t, func(c *Config) { c.Auth = source })); err != nil {
		t.Fatal(err)
	}
	if want := "client_id=robot&client_secret=geheim&grant_type=client_credentials"; s.forms[0] != want {
		t.Errorf("got form %s", s.forms[0])
	}
	if got := f.took()[0].header.Get("Authorization"); got != "Bearer access-1" {
		t.Errorf("got %s", got)
	}
}

// What goes wrong at the token endpoint says so, and shows no token.
func TestExchangeFails(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		code   model.Code
		asked  int
		text   string
	}{
		"expired":   {with(400, `{"error":"invalid_grant","error_description":"Offline user session not found"}`), model.CodeAuth, 1, "invalid_grant: Offline user session not found (400)"},
		"down":      {with(503, ""), model.CodeFailure, mostTries, "(503)"},
		"no token":  {with(200, `{}`), model.CodeFailure, mostTries, "holds no access token"},
		"html":      {with(200, `<html>`), model.CodeFailure, mostTries, "holds no access token"},
		"echoes it": {with(401, `{"error":"bad refresh_token=verysecret"}`), model.CodeAuth, 1, "refresh_token=[redacted]"},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := newFake(t), newSSO(t, 900)
			s.answer = test.answer
			source, err := Credentials{OfflineToken: spec.NewSecret("verysecret"), SSOURL: s.URL}.Authorise(nil, "", f.clock)
			if err != nil {
				t.Fatal(err)
			}
			err = listAll(f.plane(t, func(c *Config) { c.Auth = source }))
			fault := faultOf(t, err)
			if fault.Code != test.code || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "verysecret") {
				t.Errorf("got %d: %v", fault.Code, err)
			}
			if len(s.forms) != test.asked || len(f.took()) != 0 {
				t.Errorf("asked %d times, want %d", len(s.forms), test.asked)
			}
		})
	}
}

// The token service may be given by its server alone; one that is not there, or
// is another server, says what to check.
func TestTokenServiceAddress(t *testing.T) {
	f, s := newFake(t), newSSO(t, 900)
	s.answer = with(404, "404 page not found\n")
	gone := newSSO(t, 900)
	gone.Close()
	secure := httptest.NewUnstartedServer(with(200, "{}"))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, test := range map[string]struct {
		address, next string
		code          model.Code
	}{
		"another server": {s.URL, "check --sso-url", model.CodeFailure},
		"not there":      {gone.URL, "check that " + strings.TrimPrefix(gone.URL, "http://") + " can be reached, and --sso-url", model.CodeFailure},
		"no URL":         {"sso.example.com", "check --sso-url", model.CodeUsage},
		"unknown CA":     {secure.URL, "--ca-file", model.CodeFailure},
		"plain to TLS":   {strings.Replace(secure.URL, "https:", "http:", 1), "check --sso-url", model.CodeFailure},
	} {
		source, err := Credentials{OfflineToken: spec.NewSecret("verysecret"), SSOURL: test.address}.Authorise(nil, "", f.clock)
		if err != nil {
			t.Fatal(err)
		}
		fault := faultOf(t, listAll(f.plane(t, func(c *Config) { c.Auth = source })))
		if fault.Code != test.code || !strings.Contains(fault.Next.String(), test.next) {
			t.Errorf("%s: code %d, %v, next %q", name, fault.Code, fault, fault.Next)
		}
	}
}

// A debug log gets no secret.
func TestTraceHoldsNoSecret(t *testing.T) {
	f := newFake(t)
	f.on("GET /v2/events", with(200, "[]"))
	var seen []install.Call
	p := f.plane(t, func(c *Config) {
		c.Auth = transport.StaticToken(spec.NewSecret("verysecret"))
		c.Trace = func(x install.Call) { seen = append(seen, x) }
	})
	if _, err := p.Events(t.Context(), install.EventFilter{}, 0); err != nil {
		t.Fatal(err)
	}
	if err := listAll(p); err == nil {
		t.Fatal("the fake has no clusters")
	}
	if text := fmt.Sprintf("%+v", seen); len(seen) != 2 || strings.Contains(text, "verysecret") || !strings.Contains(text, "Status:404") {
		t.Errorf("got %s", text)
	}
}

// TestTokensGoToNoOtherOrigin: if a server answers in the place of the token service with a redirect, the offline token
// is not sent to the other address.
func TestTokensGoToNoOtherOrigin(t *testing.T) {
	f, elsewhere := newFake(t), newSSO(t, 900)
	secure := httptest.NewTLSServer(http.RedirectHandler("http://"+strings.TrimPrefix(elsewhere.URL, "http://")+"/token", http.StatusTemporaryRedirect))
	t.Cleanup(secure.Close)
	for name, test := range map[string]struct {
		redirect string // of the token service; "" for the TLS server's
		followed bool
	}{
		"to another host":     {redirect: elsewhere.URL + "/token"},
		"from https to http":  {},
		"to another path":     {redirect: "/there", followed: true},
		"to itself, for ever": {redirect: "/auth/realms/redhat-external/protocol/openid-connect/token"},
	} {
		s := newSSO(t, 900)
		s.answer = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				reply(w, 200, `{"access_token":"access","expires_in":900}`)
				return
			}
			http.Redirect(w, r, test.redirect, http.StatusTemporaryRedirect)
		}
		address, client := s.URL, http.DefaultClient
		if test.redirect == "" {
			address, client = secure.URL, secure.Client()
		}
		source, err := Credentials{OfflineToken: spec.NewSecret("verysecret"), SSOURL: address}.Authorise(client, "", f.clock)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = source.Header(t.Context())
		if test.followed {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		fault := faultOf(t, err)
		if len(elsewhere.forms) > 0 || fault.Next != "check --sso-url" || !strings.Contains(fault.Error(), "it redirects") || strings.Contains(fault.Error(), "verysecret") {
			t.Errorf("%s: %v, next %q; elsewhere got %v", name, fault, fault.Next, elsewhere.forms)
		}
	}
}
