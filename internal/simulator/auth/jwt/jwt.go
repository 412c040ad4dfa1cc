// Package jwt makes and checks the compact signed tokens (RFC 7519, RFC 7515)
// that the simulated service hands out: HS256 for image links, ES256 for agents
// and RS256 for the stand-in login server.
package jwt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// Why a token is refused. None of the errors repeats any part of the token.
var (
	ErrMalformed = errors.New("token is malformed")
	ErrAlgorithm = errors.New("token is signed with another algorithm")
	ErrSignature = errors.New("signature is invalid")
)

// maxSize bounds what is decoded; the longest token that the service makes is well below it.
const maxSize = 16 << 10

// Key signs and checks with one algorithm. The zero value is no key.
type Key struct {
	method          jwt.SigningMethod
	private, public any
}

// IsZero says whether this is no key.
func (k Key) IsZero() bool { return k.method == nil }

// HS256 is a key from a shared secret.
func HS256(secret []byte) Key { return Key{jwt.SigningMethodHS256, secret, secret} }

// ES256 is a key from a P-256 key pair.
func ES256(private *ecdsa.PrivateKey) (Key, error) {
	if private == nil || private.Curve != elliptic.P256() {
		return Key{}, errors.New("making an ES256 key: the key is not on the curve P-256")
	}
	return Key{jwt.SigningMethodES256, private, &private.PublicKey}, nil
}

// RS256 is a key from an RSA key pair.
func RS256(private *rsa.PrivateKey) Key {
	return Key{jwt.SigningMethodRS256, private, &private.PublicKey}
}

// payload lets the library sign any JSON object.
type payload struct {
	jwt.Claims
	content any
}

func (p payload) MarshalJSON() ([]byte, error) { return json.Marshal(p.content) }

// Sign makes a token of claims, which must encode to a JSON object. The key id may be empty.
func Sign(key Key, keyID string, claims any) (string, error) {
	token := jwt.NewWithClaims(key.method, payload{content: claims})
	if keyID != "" {
		token.Header["kid"] = keyID
	}
	signed, err := token.SignedString(key.private)
	if err != nil {
		return "", fmt.Errorf("signing token: %w", err)
	}
	return signed, nil
}

// Verify checks the token's algorithm and signature and decodes its claims. The times are the caller's to judge.
func Verify(token string, key Key, claims any) error {
	if len(token) > maxSize {
		return ErrMalformed
	}
	parsed, parts, err := jwt.NewParser(jwt.WithStrictDecoding()).ParseUnverified(token, jwt.MapClaims{})
	switch {
	case errors.Is(err, jwt.ErrTokenUnverifiable):
		return ErrAlgorithm
	case err != nil || parsed.Header["crit"] != nil:
		return ErrMalformed
	// The key decides the algorithm, never the token: else "none", or a public key as a secret, would pass.
	case parsed.Method.Alg() != key.method.Alg():
		return ErrAlgorithm
	case key.method.Verify(parts[0]+"."+parts[1], parsed.Signature, key.public) != nil:
		return ErrSignature
	}
	return decode(parts[1], claims)
}

// Unverified decodes claims without a check. It serves only to find the key to Verify them with.
func Unverified(token string, claims any) error {
	parts := strings.Split(token, ".")
	if len(token) > maxSize || len(parts) != 3 {
		return ErrMalformed
	}
	return decode(parts[1], claims)
}

func decode(segment string, claims any) error {
	body, err := base64.RawURLEncoding.Strict().DecodeString(segment)
	if err != nil || json.Unmarshal(body, claims) != nil {
		return ErrMalformed
	}
	return nil
}
