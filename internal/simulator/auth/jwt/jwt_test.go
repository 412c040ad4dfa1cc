package jwt_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/simulator/auth/jwt"
)

type claims struct {
	Subject string `json:"sub"`
	Expires int64  `json:"exp,omitempty"`
}

func keys(t *testing.T) map[string]jwt.Key {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	elliptical, err := jwt.ES256(pair)
	if err != nil {
		t.Fatal(err)
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]jwt.Key{"HS256": jwt.HS256([]byte("s")), "ES256": elliptical, "RS256": jwt.RS256(private)}
}

func TestSignVerify(t *testing.T) {
	all := keys(t)
	for name, key := range all {
		token, err := jwt.Sign(key, "kid-1", claims{Subject: "x", Expires: 7})
		if err != nil {
			t.Fatal(err)
		}
		var got claims
		if err := jwt.Verify(token, key, &got); err != nil || got != (claims{Subject: "x", Expires: 7}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		for other, wrong := range all {
			if other == name {
				continue
			}
			if err := jwt.Verify(token, wrong, &got); !errors.Is(err, jwt.ErrAlgorithm) {
				t.Errorf("%s checked with a %s key: %v", name, other, err)
			}
		}
		if err := jwt.Unverified(token, &got); err != nil || got.Subject != "x" {
			t.Errorf("%s unverified: %+v, %v", name, got, err)
		}
		head, rest, _ := strings.Cut(token, ".")
		body, signature, _ := strings.Cut(rest, ".")
		forged := head + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"y"}`)) + "." + signature
		if err := jwt.Verify(forged, key, &got); !errors.Is(err, jwt.ErrSignature) {
			t.Errorf("%s with other claims: %v", name, err)
		}
		if err := jwt.Verify(head+"."+body+".", key, &got); !errors.Is(err, jwt.ErrSignature) {
			t.Errorf("%s without a signature: %v", name, err)
		}
	}
}

// TestPublishedToken checks the package against the example of RFC 7515, A.1,
// so that it does not only agree with itself.
func TestPublishedToken(t *testing.T) {
	const token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9" +
		".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ" +
		".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	secret, err := base64.RawURLEncoding.DecodeString("AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Issuer string `json:"iss"`
	}
	if err := jwt.Verify(token, jwt.HS256(secret), &got); err != nil || got.Issuer != "joe" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestVerifyMalformed(t *testing.T) {
	key := jwt.HS256([]byte("s"))
	b64 := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, token := range []string{
		"", ".", "..", "a.b", "a.b.c.d", b64(`{"alg":"HS256"}`) + "." + b64(`[]`) + ".", "=.=.=",
		b64(`{"alg":"HS256","crit":["b64"]}`) + "." + b64(`{}`) + ".", b64(`nothing`) + "." + b64(`{}`) + ".",
		strings.Repeat("a", 1<<20),
	} {
		if err := jwt.Verify(token, key, new(claims)); !errors.Is(err, jwt.ErrMalformed) {
			t.Errorf("%.40q: %v", token, err)
		}
	}
	for _, token := range []string{"", "a.b", "a.b.c.d", "a.=.c", strings.Repeat("a", 1<<20)} {
		if err := jwt.Unverified(token, new(claims)); !errors.Is(err, jwt.ErrMalformed) {
			t.Errorf("%.40q unverified: %v", token, err)
		}
	}
	none := b64(`{"alg":"none"}`) + "." + b64(`{}`) + "."
	if err := jwt.Verify(none, key, new(claims)); !errors.Is(err, jwt.ErrAlgorithm) {
		t.Errorf("alg none: %v", err)
	}
}

func TestES256NeedsItsCurve(t *testing.T) {
	pair, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jwt.ES256(pair); err == nil {
		t.Error("a P-384 key is taken")
	}
	if _, err := jwt.ES256(nil); err == nil {
		t.Error("no key is taken")
	}
}

func FuzzVerify(f *testing.F) {
	key := jwt.HS256([]byte("secret"))
	token, err := jwt.Sign(key, "", claims{Subject: "x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token)
	f.Add("a.b.c")
	f.Add(token + "=")
	f.Fuzz(func(t *testing.T, text string) {
		var got claims
		if err := jwt.Verify(text, key, &got); err == nil && text != token {
			t.Errorf("%q passes for a token", text)
		}
	})
}
