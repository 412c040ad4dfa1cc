package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/internal/simulator/auth/jwt"
)

// manual is a clock that a test turns by hand.
type manual struct{ now time.Time }

func (m *manual) Now() time.Time                             { return m.now }
func (m *manual) Wall(d time.Duration) time.Duration         { return d }
func (m *manual) Sleep(context.Context, time.Duration) error { return nil }

func newService(t testing.TB, config auth.Config) (*auth.Service, *manual) {
	t.Helper()
	turned := &manual{now: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)}
	config.Clock = turned
	s, err := auth.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return s, turned
}

func mint(t testing.TB, s *auth.Service, grant auth.Grant) string {
	t.Helper()
	token, err := s.Mint(grant)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// try sends a request through the middleware. Headers are "Name: value".
func try(t testing.TB, s *auth.Service, method, path string, headers ...string) (code int, message string, seen auth.Identity) {
	t.Helper()
	handler := s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = auth.From(r.Context())
		w.WriteHeader(http.StatusNoContent)
	}))
	if !strings.HasPrefix(path, "/") {
		path = "/api/assisted-install/v2/" + path
	}
	request := httptest.NewRequest(method, path, nil)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	if recorder.Code == http.StatusNoContent {
		return recorder.Code, "", seen
	}
	var body struct {
		Code    any    `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %v", recorder.Body, err)
	}
	if body.Code != float64(recorder.Code) {
		t.Errorf("body says code %v, status is %d", body.Code, recorder.Code)
	}
	for _, header := range headers {
		if _, value, _ := strings.Cut(header, ": "); len(value) > 8 && strings.Contains(body.Message, value) {
			t.Errorf("the refusal repeats the credential: %s", body.Message)
		}
	}
	return recorder.Code, body.Message, seen
}

func TestParseMode(t *testing.T) {
	for text, want := range map[string]auth.Mode{"": auth.None, "none": auth.None, "rhsso": auth.RHSSO, "agent-installer-local": auth.AgentInstallerLocal} {
		if got, err := auth.ParseMode(text); err != nil || got != want {
			t.Errorf("ParseMode(%q) = %q, %v", text, got, err)
		}
	}
	if _, err := auth.ParseMode("local"); err == nil || !strings.Contains(err.Error(), "agent-installer-local") {
		t.Errorf("ParseMode(local): %v", err)
	}
}

func TestNoneLetsEveryoneThrough(t *testing.T) {
	s, _ := newService(t, auth.Config{})
	if code, _, seen := try(t, s, "GET", "clusters"); code != 204 || seen.Username != "admin" {
		t.Errorf("%d as %+v", code, seen)
	}
	if _, err := s.Mint(auth.Grant{Scheme: auth.UserAuth}); err == nil {
		t.Error("a token is made where none is asked for")
	}
}

func TestRHSSO(t *testing.T) {
	known := "dXNlcjpwYXNz"
	s, _ := newService(t, auth.Config{Mode: auth.RHSSO, AgentSecret: func(secret string) bool { return secret == known }})
	token := mint(t, s, auth.Grant{Scheme: auth.UserAuth, Username: "alice"})
	link := mint(t, s, auth.Grant{Scheme: auth.ImageURLAuth, InfraEnvID: "i1", Lifetime: time.Hour})
	other, _ := newService(t, auth.Config{Mode: auth.RHSSO})
	tests := []struct {
		name, method, path string
		headers            []string
		code               int
		message, user      string
	}{
		{name: "user", method: "GET", path: "clusters", headers: []string{"Authorization: Bearer " + token}, code: 204, user: "alice"},
		{name: "nobody", method: "GET", path: "clusters", code: 401, message: "unauthenticated for invalid credentials"},
		{name: "raw token", method: "GET", path: "clusters", headers: []string{"Authorization: " + token}, code: 401, message: "not sent as Bearer"},
		{name: "another server's token", method: "GET", path: "clusters", headers: []string{"Authorization: Bearer " + mint(t, other, auth.Grant{Scheme: auth.UserAuth})}, code: 401, message: "signature is invalid"},
		{name: "the offline token itself", method: "GET", path: "clusters", headers: []string{"Authorization: Bearer " + s.OfflineToken()}, code: 401},
		{name: "a link's token", method: "GET", path: "clusters", headers: []string{"Authorization: Bearer " + link}, code: 401},
		{name: "garbage", method: "GET", path: "clusters", headers: []string{"Authorization: Bearer x"}, code: 401, message: "malformed"},
		{name: "health needs nobody", method: "GET", path: "/ready", code: 204, user: "admin"},
		{name: "agent", method: "POST", path: "infra-envs/i1/hosts", headers: []string{"X-Secret-Key: " + known}, code: 204, user: "simulator-user"},
		{name: "agent of a stranger", method: "POST", path: "infra-envs/i1/hosts", headers: []string{"X-Secret-Key: dTpw"}, code: 401, message: "not known"},
		{name: "agent without a pull secret", method: "POST", path: "infra-envs/i1/hosts", headers: []string{"X-Secret-Key: hello"}, code: 401, message: "not a pull secret's"},
		{name: "user in an agent's place", method: "POST", path: "infra-envs/i1/hosts", headers: []string{"Authorization: Bearer " + token}, code: 401, message: "unauthenticated"},
		{name: "agent in a user's place", method: "POST", path: "clusters", headers: []string{"X-Secret-Key: " + known}, code: 401, message: "unauthenticated"},
		{name: "either, first is bad", method: "GET", path: "clusters/c1", headers: []string{"Authorization: Bearer x", "X-Secret-Key: " + known}, code: 204, user: "simulator-user"},
		{name: "watcher", method: "GET", path: "clusters", headers: []string{"Watcher-Authorization: x"}, code: 401, message: "not allowed for rhsso"},
		{name: "link", method: "GET", path: "infra-envs/i1/downloads/files?file_name=discovery.ign&image_token=" + link, code: 204, user: "admin"},
		{name: "link to something else", method: "GET", path: "infra-envs/i2/downloads/files?image_token=" + link, code: 404, message: "Object Not Found"},
		{name: "link where none serves", method: "GET", path: "infra-envs/i1/hosts?image_token=" + link, code: 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, message, seen := try(t, s, tt.method, tt.path, tt.headers...)
			if code != tt.code || !strings.Contains(message, tt.message) || seen.Username != tt.user {
				t.Errorf("%d %q as %+v, want %d ...%q... as %q", code, message, seen, tt.code, tt.message, tt.user)
			}
		})
	}
}

func TestAgentInstallerLocal(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, turned := newService(t, auth.Config{Mode: auth.AgentInstallerLocal, PrivateKey: key})
	user := mint(t, s, auth.Grant{Scheme: auth.UserAuth, Lifetime: time.Hour})
	agent := mint(t, s, auth.Grant{Scheme: auth.AgentAuth})
	watcher := mint(t, s, auth.Grant{Scheme: auth.WatcherAuth})
	signer, err := jwt.ES256(key)
	if err != nil {
		t.Fatal(err)
	}
	// What the agent-based installer makes with the same key: no more than this.
	foreign, err := jwt.Sign(signer, "", map[string]string{"auth_scheme": "userAuth"})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := jwt.Sign(signer, "", map[string]string{"infra_env_id": "i1"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, method, path, header string
		code                       int
	}{
		{"user, raw", "POST", "clusters", "Authorization: " + user, 204},
		{"user, Bearer", "POST", "clusters", "Authorization: Bearer " + user, 401},
		{"user, made elsewhere", "POST", "clusters", "Authorization: " + foreign, 204},
		{"no scheme in the token", "POST", "clusters", "Authorization: " + bare, 401},
		{"agent as a user", "POST", "clusters", "Authorization: " + agent, 403},
		{"agent", "POST", "infra-envs/i1/hosts", "X-Secret-Key: " + agent, 204},
		{"user as an agent", "POST", "infra-envs/i1/hosts", "X-Secret-Key: " + user, 403},
		{"user's header at an agent's call", "POST", "infra-envs/i1/hosts", "Authorization: " + user, 401},
		{"watcher lists clusters", "GET", "clusters", "Watcher-Authorization: " + watcher, 204},
		{"watcher reads events", "GET", "events?cluster_id=c1", "Watcher-Authorization: " + watcher, 204},
		{"watcher reads a cluster", "GET", "clusters/c1", "Watcher-Authorization: " + watcher, 204},
		{"watcher creates", "POST", "clusters", "Watcher-Authorization: " + watcher, 401},
		{"watcher as a user", "GET", "clusters", "Authorization: " + watcher, 403},
		{"HEAD is a GET", "HEAD", "clusters", "Watcher-Authorization: " + watcher, 204},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if code, message, _ := try(t, s, tt.method, tt.path, tt.header); code != tt.code {
				t.Errorf("%d %q, want %d", code, message, tt.code)
			}
		})
	}
	turned.now = turned.now.Add(time.Hour)
	if code, message, _ := try(t, s, "POST", "clusters", "Authorization: "+user); code != 401 || !strings.Contains(message, "expired") {
		t.Errorf("an hour later: %d %q", code, message)
	}
	if code, _, _ := try(t, s, "POST", "infra-envs/i1/hosts", "X-Secret-Key: "+agent); code != 204 {
		t.Errorf("a token without an end ends: %d", code)
	}
}

// Behind a hub, tokens name an InfraEnv or a cluster: agents may do with one what agents
// do, and a link opens that one object. There are no users but the operator.
func TestLocal(t *testing.T) {
	s, _ := newService(t, auth.Config{Mode: auth.Local})
	operator := mint(t, s, auth.Grant{Scheme: auth.UserAuth})
	agent := mint(t, s, auth.Grant{Scheme: auth.AgentAuth, InfraEnvID: "i1"})
	cluster := mint(t, s, auth.Grant{Scheme: auth.URLAuth, ClusterID: "c1"})
	other, _ := newService(t, auth.Config{Mode: auth.Local})
	foreign := mint(t, other, auth.Grant{Scheme: auth.AgentAuth, InfraEnvID: "i1"})
	for name, test := range map[string]struct {
		method, path, header string
		code                 int
		message              string
	}{
		"operator":                     {"POST", "clusters", "Authorization: " + operator, 204, ""},
		"an agent's token as a user's": {"GET", "infra-envs", "Authorization: " + agent, 401, "User Authentication not allowed for local auth"},
		"nobody lists InfraEnvs":       {"GET", "infra-envs", "Accept: */*", 401, "unauthenticated"},
		"agent":                        {"POST", "infra-envs/i1/hosts", "X-Secret-Key: " + agent, 204, ""},
		"agent reads its InfraEnv":     {"GET", "infra-envs/i1", "X-Secret-Key: " + agent, 204, ""},
		"agent reads its cluster":      {"GET", "clusters/c1", "X-Secret-Key: " + agent, 204, ""},
		"agent by its cluster":         {"PUT", "clusters/c1/progress", "X-Secret-Key: " + cluster, 204, ""},
		"agent without a token":        {"POST", "infra-envs/i1/hosts", "Accept: */*", 401, "unauthenticated"},
		"agent of another service":     {"POST", "infra-envs/i1/hosts", "X-Secret-Key: " + foreign, 401, "Failed to parse token"},
		"the operator's as an agent's": {"POST", "infra-envs/i1/hosts", "X-Secret-Key: " + operator, 401, "claims are incorrectly formatted"},
		"link":                         {"GET", "infra-envs/i1/downloads/files?file_name=discovery.ign&api_key=" + agent, "Accept: */*", 204, ""},
		"link to another InfraEnv":     {"GET", "infra-envs/i2/downloads/files?file_name=discovery.ign&api_key=" + agent, "Accept: */*", 404, "Object Not Found"},
		"events of a cluster":          {"GET", "events?cluster_id=c1&api_key=" + cluster, "Accept: */*", 204, ""},
		"an image's token":             {"GET", "infra-envs/i1/downloads/files?image_token=" + agent, "Accept: */*", 401, "Image Authentication not allowed for local auth"},
		"a watcher":                    {"GET", "clusters", "Watcher-Authorization: " + agent, 401, "Watcher Authentication not allowed for local auth"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, message, _ := try(t, s, test.method, test.path, test.header); code != test.code || !strings.Contains(message, test.message) {
				t.Errorf("%d %q, want %d %q", code, message, test.code, test.message)
			}
		})
	}
	if _, err := s.Mint(auth.Grant{Scheme: auth.AgentAuth}); err == nil {
		t.Error("an agent of no InfraEnv has a token")
	}
}

func TestAccessTokensExpire(t *testing.T) {
	s, turned := newService(t, auth.Config{Mode: auth.RHSSO})
	get := func() string {
		code, body := login(t, s, url.Values{"grant_type": {"refresh_token"}, "client_id": {"cloud-services"}, "refresh_token": {s.OfflineToken()}})
		if code != 200 {
			t.Fatalf("login: %d %v", code, body)
		}
		if body["token_type"] != "Bearer" || body["expires_in"] != 900.0 || body["refresh_token"] != s.OfflineToken() {
			t.Errorf("login: %v", body)
		}
		return body["access_token"].(string)
	}
	first := get()
	expect := func(token string, want int) {
		t.Helper()
		if code, message, _ := try(t, s, "GET", "clusters", "Authorization: Bearer "+token); code != want {
			t.Errorf("%d %q, want %d", code, message, want)
		}
	}
	turned.now = turned.now.Add(15*time.Minute - time.Second)
	expect(first, 204)
	turned.now = turned.now.Add(time.Second)
	expect(first, 401)
	second := get()
	expect(second, 204)
	s.ExpireAll()
	expect(second, 401)
	expect(get(), 204)
}

func login(t testing.TB, s *auth.Service, form url.Values, basic ...string) (int, map[string]any) {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, auth.TokenPath, strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if len(basic) == 2 {
		request.SetBasicAuth(basic[0], basic[1])
	}
	recorder := httptest.NewRecorder()
	s.Login().ServeHTTP(recorder, request)
	var body map[string]any
	if err := json.Unmarshal(recorder.Body.Bytes(), &body); err != nil {
		t.Fatalf("%d %s: %v", recorder.Code, recorder.Body, err)
	}
	return recorder.Code, body
}

func TestLogin(t *testing.T) {
	s, _ := newService(t, auth.Config{Mode: auth.RHSSO, OfflineToken: "offline", ClientID: "sa", ClientSecret: "pw"})
	refresh := func(client, token string) url.Values {
		return url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {token}}
	}
	account := func(id, secret string) url.Values {
		return url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
	}
	tests := []struct {
		name  string
		form  url.Values
		basic []string
		code  int
		error string
		user  string
	}{
		{name: "offline token", form: refresh("cloud-services", "offline"), code: 200, user: "simulator-user"},
		{name: "wrong offline token", form: refresh("cloud-services", "other"), code: 400, error: "invalid_grant"},
		{name: "no offline token", form: refresh("cloud-services", ""), code: 400, error: "invalid_grant"},
		{name: "wrong client", form: refresh("me", "offline"), code: 401, error: "invalid_client"},
		{name: "service account", form: account("sa", "pw"), code: 200, user: "service-account-sa"},
		{name: "service account in a header", form: url.Values{"grant_type": {"client_credentials"}}, basic: []string{"sa", "pw"}, code: 200, user: "service-account-sa"},
		{name: "wrong secret", form: account("sa", "no"), code: 401, error: "unauthorized_client"},
		{name: "password grant", form: url.Values{"grant_type": {"password"}}, code: 400, error: "unsupported_grant_type"},
		{name: "empty", code: 400, error: "unsupported_grant_type"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, body := login(t, s, tt.form, tt.basic...)
			if got, _ := body["error"].(string); code != tt.code || got != tt.error {
				t.Fatalf("%d %v, want %d %s", code, body, tt.code, tt.error)
			}
			if tt.code != 200 {
				return
			}
			if _, _, seen := try(t, s, "GET", "clusters", "Authorization: Bearer "+body["access_token"].(string)); seen.Username != tt.user {
				t.Errorf("the token is %+v's, want %s's", seen, tt.user)
			}
		})
	}
	for _, mode := range []auth.Mode{auth.None, auth.AgentInstallerLocal} {
		other, _ := newService(t, auth.Config{Mode: mode})
		if code, _ := login(t, other, refresh("cloud-services", "")); code != 400 {
			t.Errorf("login under %s: %d", mode, code)
		}
		if code, _ := login(t, other, account("", "")); code != 401 {
			t.Errorf("login under %s: %d", mode, code)
		}
	}
}

func TestMintRefusesNonsense(t *testing.T) {
	s, _ := newService(t, auth.Config{Mode: auth.RHSSO})
	for _, grant := range []auth.Grant{
		{}, {Scheme: "zzz"}, {Scheme: auth.AgentAuth}, {Scheme: auth.URLAuth}, {Scheme: auth.ImageAuth, InfraEnvID: "i", ClusterID: "c"},
	} {
		if _, err := s.Mint(grant); err == nil {
			t.Errorf("%+v gives a token", grant)
		}
	}
	if _, err := auth.New(auth.Config{Mode: "zzz"}); err == nil {
		t.Error("a mode zzz")
	}
	if _, err := auth.New(auth.Config{}); err == nil {
		t.Error("no clock is needed")
	}
}

func FuzzAuthorization(f *testing.F) {
	s, _ := newService(f, auth.Config{Mode: auth.AgentInstallerLocal})
	good := mint(f, s, auth.Grant{Scheme: auth.UserAuth})
	for _, seed := range []string{"", "Bearer x", good, "Bearer " + good, "a.b.c", good + "."} {
		f.Add("clusters/c1", seed)
	}
	f.Add("infra-envs//hosts", good)
	f.Fuzz(func(t *testing.T, path, credential string) {
		reached := false
		handler := s.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
		request := &http.Request{
			Method: http.MethodGet, URL: &url.URL{Path: "/api/assisted-install/v2/" + path},
			Header: http.Header{"Authorization": {credential}, "X-Secret-Key": {credential}},
		}
		handler.ServeHTTP(httptest.NewRecorder(), request)
		if reached && credential != good {
			t.Errorf("%q is let through to %q", credential, path)
		}
	})
}
