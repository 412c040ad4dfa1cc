package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
)

// What is no token is refused as the mistake on the command line that it is,
// before anything is sent and without showing it.
func TestTokenFiles(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, content, says string }{
		{"missing", "", "no such file"},
		{"empty", " \n", "it is empty"},
		{"folder", "", "is a directory"},
		{"two-lines", "geheim-1\ngeheim-2\n", "it is not a token: it has more than one line"},
		{"binary", "geheim\x00\x01\xff", "it is not a token: it is binary"},
		{"large", strings.Repeat("geheim", 20000), "it is not a token: it is too large"},
	} {
		path := filepath.Join(dir, tt.name)
		switch {
		case tt.name == "folder":
			must.Do(t, os.Mkdir(path, 0o700))
		case tt.content != "":
			must.Do(t, os.WriteFile(path, []byte(tt.content), 0o600))
		}
		for _, flag := range []string{"--token-file", "--offline-token-file"} {
			got := runLive(t, "http://127.0.0.1:1", "", false, "get", "clusters", flag, path)
			if got.code != 2 || !strings.Contains(got.errors, tt.says) || !strings.Contains(got.errors, "Next: give "+flag) || strings.Contains(got.errors, "geheim") {
				t.Errorf("%s %s: code %d\n%s", flag, tt.name, got.code, got.errors)
			}
		}
	}
}

// --insecure is about a lab's service. The server that exchanges tokens is always verified.
func TestInsecureIsNotForTheTokenService(t *testing.T) {
	asked := false
	sso := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		_, _ = w.Write([]byte(`{"access_token":"access","expires_in":900}`))
	}))
	defer sso.Close()
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("[]")) }))
	defer service.Close()
	token := filepath.Join(t.TempDir(), "token")
	must.Do(t, os.WriteFile(token, []byte("geheim"), 0o600))
	if got := runLive(t, service.URL, "", false, "get", "clusters", "--insecure", "--token-file", token); got.code != 0 {
		t.Errorf("--insecure does not reach a service with its own certificate: %+v", got)
	}
	got := runLive(t, service.URL, "", false, "get", "clusters", "--insecure", "--offline-token-file", token, "--sso-url", sso.URL)
	if got.code == 0 || asked || !strings.Contains(got.errors, "is not signed by an authority that this machine trusts") || !strings.Contains(got.errors, "--ca-file") {
		t.Errorf("the token service's certificate is not verified: asked %v, %+v", asked, got)
	}
}

// A token over a network without encryption is reported, once.
func TestPlainTokens(t *testing.T) {
	for _, tt := range []struct {
		url, sso string
		token    bool
		warnings int
	}{
		{"http://service.example.com", "", true, 1},
		{"http://service.example.com", "http://sso.example.com", true, 1},
		{"https://service.example.com", "http://192.0.2.1:8080", true, 1},
		{"http://service.example.com", "", false, 0},
		{"https://service.example.com", "", true, 0},
		{"http://127.0.0.1:8090", "http://[::1]:1", true, 0},
		{"http://localhost", "", true, 0},
	} {
		arguments := []string{"get", "clusters", "--service-url", tt.url}
		if tt.sso != "" {
			arguments = append(arguments, "--sso-url", tt.sso)
		}
		if tt.token {
			token := filepath.Join(t.TempDir(), "token")
			must.Do(t, os.WriteFile(token, []byte("geheim"), 0o600))
			arguments = append(arguments, "--token-file", token)
		}
		if got := run(t, lab(), "", arguments...); got.code != 0 || strings.Count(got.errors, "without encryption") != tt.warnings {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}
