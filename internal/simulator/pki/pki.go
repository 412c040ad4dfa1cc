// Package pki makes the certificates of what the simulator plays: BMCs, clusters and their machines.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// Pair is a certificate with its key, also as PEM.
type Pair struct {
	Certificate     *x509.Certificate
	Key             *ecdsa.PrivateKey
	CertPEM, KeyPEM []byte
}

// Make makes a certificate with a new key. The authority signs it; without one it signs itself.
func Make(template *x509.Certificate, authority *Pair) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	made, parent, signer := &Pair{Key: key}, template, key
	if authority != nil {
		parent, signer = authority.Certificate, authority.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate: %w", err)
	}
	if made.Certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	made.CertPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	made.KeyPEM, err = EncodeKey(key)
	return made, err
}

// EncodeKey is a key as PEM.
func EncodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
