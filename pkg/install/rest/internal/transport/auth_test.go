package transport

import (
	"encoding/base64"
	"testing"
)

// The token service may be given by its server alone.
func TestTokenURL(t *testing.T) {
	for address, want := range map[string]string{
		"https://sso.example.com":          "https://sso.example.com" + ssoPath,
		"https://sso.example.com/":         "https://sso.example.com" + ssoPath,
		"https://sso.example.com/my/token": "https://sso.example.com/my/token",
		"sso.example.com":                  "sso.example.com",
	} {
		if got := tokenURL(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

func FuzzTokenKind(f *testing.F) {
	part := base64.RawURLEncoding.EncodeToString
	f.Add("a.b.c")
	f.Add(part([]byte(`{"alg":"ES256"}`)) + "." + part([]byte(`{"auth_scheme":"userAuth"}`)) + ".c2ln")
	f.Add(part([]byte(`{"alg":"ES256"}`)) + "." + part([]byte(`{"auth_scheme":7,"typ":[1]}`)) + ".c2ln")
	f.Fuzz(func(_ *testing.T, token string) { tokenKind(token) })
}
