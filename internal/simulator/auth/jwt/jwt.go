// Package jwt makes and checks the compact signed tokens (RFC 7519, RFC 7515)
// that the simulated service hands out: HS256 for image links, ES256 for agents
// and RS256 for the stand-in login server.
package jwt

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
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

// HS256 is a key from a shared secret.
func HS256(secret []byte) Key { return hs256(secret) }

type hs256 []byte

func (hs256) Algorithm() string { return "HS256" }

func (k hs256) Sign(signed []byte) ([]byte, error) {
	mac := hmac.New(sha256.New, k)
	mac.Write(signed)
	return mac.Sum(nil), nil
}

func (k hs256) Verify(signed, signature []byte) bool {
	want, err := k.Sign(signed)
	return err == nil && hmac.Equal(want, signature)
}

// ES256 is a key from a P-256 key pair. With a public half only it verifies and
// does not sign.
func ES256(public *ecdsa.PublicKey, private *ecdsa.PrivateKey) (Key, error) {
	if private != nil {
		public = &private.PublicKey
	}
	if public == nil || public.Curve != elliptic.P256() {
		return nil, errors.New("making an ES256 key: the key is not on the curve P-256")
	}
	return es256{public: public, private: private}, nil
}

type es256 struct {
	public  *ecdsa.PublicKey
	private *ecdsa.PrivateKey
}

func (es256) Algorithm() string { return "ES256" }

// coordinate is the length of each half of an ES256 signature (RFC 7518, 3.4).
const coordinate = 32

func (k es256) Sign(signed []byte) ([]byte, error) {
	if k.private == nil {
		return nil, errors.New("no private key")
	}
	sum := sha256.Sum256(signed)
	r, s, err := ecdsa.Sign(rand.Reader, k.private, sum[:])
	if err != nil {
		return nil, err
	}
	signature := make([]byte, 2*coordinate)
	r.FillBytes(signature[:coordinate])
	s.FillBytes(signature[coordinate:])
	return signature, nil
}

func (k es256) Verify(signed, signature []byte) bool {
	if len(signature) != 2*coordinate {
		return false
	}
	sum := sha256.Sum256(signed)
	r, s := new(big.Int).SetBytes(signature[:coordinate]), new(big.Int).SetBytes(signature[coordinate:])
	return ecdsa.Verify(k.public, sum[:], r, s)
}

// RS256 is a key from an RSA key pair.
func RS256(private *rsa.PrivateKey) Key { return rs256{private} }

type rs256 struct{ private *rsa.PrivateKey }

func (rs256) Algorithm() string { return "RS256" }

func (k rs256) Sign(signed []byte) ([]byte, error) {
	sum := sha256.Sum256(signed)
	return rsa.SignPKCS1v15(nil, k.private, crypto.SHA256, sum[:])
}

func (k rs256) Verify(signed, signature []byte) bool {
	sum := sha256.Sum256(signed)
	return rsa.VerifyPKCS1v15(&k.private.PublicKey, crypto.SHA256, sum[:], signature) == nil
}
