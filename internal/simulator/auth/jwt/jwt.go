// Package jwt makes and checks the compact signed tokens (RFC 7519, RFC 7515)
// that the simulated service hands out: HS256 for image links, ES256 for agents
// and RS256 for the stand-in login server.
package jwt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Why a token is refused. None of the errors repeats any part of the token.
var (
	ErrMalformed = errors.New("token is malformed")
	ErrAlgorithm = errors.New("token is signed with another algorithm")
	ErrSignature = errors.New("signature is invalid")
)

// maxSize bounds what is decoded; the longest token that the service makes is
// well below it.
const maxSize = 16 << 10

type header struct {
	Algorithm string   `json:"alg"`
	KeyID     string   `json:"kid,omitempty"`
	Type      string   `json:"typ,omitempty"`
	Critical  []string `json:"crit,omitempty"`
}

// Key signs and checks with one algorithm.
type Key interface {
	// Algorithm is the header's alg.
	Algorithm() string
	// Sign gives the signature of signed.
	Sign(signed []byte) ([]byte, error)
	// Verify says whether signature belongs to signed.
	Verify(signed, signature []byte) bool
}

// Sign makes a token of claims, which must encode to a JSON object. The key id
// may be empty.
func Sign(key Key, keyID string, claims any) (string, error) {
	head, err := json.Marshal(header{Algorithm: key.Algorithm(), KeyID: keyID, Type: "JWT"})
	if err != nil {
		return "", fmt.Errorf("encoding token header: %w", err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("encoding token claims: %w", err)
	}
	signed := encode(head) + "." + encode(body)
	signature, err := key.Sign([]byte(signed))
	if err != nil {
		return "", fmt.Errorf("signing token: %w", err)
	}
	return signed + "." + encode(signature), nil
}

// Verify checks the token's algorithm and signature and decodes its claims.
// When a token may be used, by its times, is the caller's to judge.
func Verify(token string, key Key, claims any) error {
	body, err := verified(token, key)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, claims); err != nil {
		return ErrMalformed
	}
	return nil
}

// Unverified decodes the claims of a token that nobody has checked: only good
// for finding the key to Verify it with.
func Unverified(token string, claims any) error {
	parts := strings.Split(token, ".")
	if len(token) > maxSize || len(parts) != 3 {
		return ErrMalformed
	}
	body, err := decode(parts[1])
	if err != nil || json.Unmarshal(body, claims) != nil {
		return ErrMalformed
	}
	return nil
}

func verified(token string, key Key) ([]byte, error) {
	if len(token) > maxSize {
		return nil, ErrMalformed
	}
	cut := strings.LastIndexByte(token, '.')
	if cut < 0 || strings.Count(token, ".") != 2 {
		return nil, ErrMalformed
	}
	signed := token[:cut]
	headText, bodyText, _ := strings.Cut(signed, ".")
	head, err := decode(headText)
	if err != nil {
		return nil, ErrMalformed
	}
	body, err := decode(bodyText)
	if err != nil || !bytes.HasPrefix(body, []byte("{")) {
		return nil, ErrMalformed
	}
	signature, err := decode(token[cut+1:])
	if err != nil {
		return nil, ErrMalformed
	}
	var h header
	if err := json.Unmarshal(head, &h); err != nil || h.Critical != nil {
		return nil, ErrMalformed
	}
	// The key decides the algorithm, never the token: otherwise "none", or a
	// public key taken for a shared secret, would pass.
	if h.Algorithm != key.Algorithm() {
		return nil, ErrAlgorithm
	}
	if !key.Verify([]byte(signed), signature) {
		return nil, ErrSignature
	}
	return body, nil
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

func decode(text string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(text) }
