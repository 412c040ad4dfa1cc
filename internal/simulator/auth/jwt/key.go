package jwt

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"math/big"
)

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
