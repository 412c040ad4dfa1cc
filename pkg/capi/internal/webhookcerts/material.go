package webhookcerts

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// How long certificates are good for, and which part of that has passed when the next ones are made: a
// year, and ten for the authority.
const (
	servingLife   = 365 * 24 * time.Hour
	authorityLife = 10 * servingLife
	// before is how much earlier than now they begin: clocks differ.
	before = 5 * time.Minute
)

// Keys of the Secret. Those of the certificate are those of the type kubernetes.io/tls.
const (
	keyAuthority    = "ca.crt"
	keyAuthorityKey = "ca.key"
	keyCertificate  = "tls.crt"
	keyKey          = "tls.key"
)

const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

// material is what the Secret holds: the authorities, the one that signs now first, and the certificate.
type material struct {
	authorities []*x509.Certificate
	signer      *ecdsa.PrivateKey
	serving     tls.Certificate
}

// read reads the data of a Secret.
func read(data map[string][]byte) (*material, error) {
	m := &material{}
	rest := data[keyAuthority]
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		authority, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyAuthority, err)
		}
		m.authorities = append(m.authorities, authority)
	}
	if len(m.authorities) == 0 {
		return nil, errors.New("it has no " + keyAuthority)
	}
	block, _ := pem.Decode(data[keyAuthorityKey])
	if block == nil {
		return nil, errors.New("it has no " + keyAuthorityKey)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New(keyAuthorityKey + " is no key")
	}
	signer, is := key.(*ecdsa.PrivateKey)
	if !is || !signer.PublicKey.Equal(m.authorities[0].PublicKey) {
		return nil, errors.New(keyAuthorityKey + " is not the key of " + keyAuthority)
	}
	m.signer = signer
	if m.serving, err = tls.X509KeyPair(data[keyCertificate], data[keyKey]); err != nil {
		return nil, errors.New(keyCertificate + " and " + keyKey + " do not go together")
	}
	return m, nil
}

// write is the data of a Secret.
func (m *material) write() (map[string][]byte, error) {
	signer, err := x509.MarshalPKCS8PrivateKey(m.signer)
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(m.serving.PrivateKey)
	if err != nil {
		return nil, err
	}
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return map[string][]byte{
		keyAuthority: m.bundle(), keyAuthorityKey: encode(blockKey, signer), keyCertificate: encode(blockCertificate, m.serving.Certificate[0]),
		keyKey: encode(blockKey, key),
	}, nil
}

// bundle is what the certificate is trusted by.
func (m *material) bundle() []byte {
	var out bytes.Buffer
	for _, authority := range m.authorities {
		_ = pem.Encode(&out, &pem.Block{Type: blockCertificate, Bytes: authority.Raw}) // a buffer takes everything
	}
	return out.Bytes()
}

// due reports whether so much of a certificate's life has passed that the next one is made.
func due(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3))
}

// renewed is what to go on with: the material as it is, or with what was due made anew. The authority that
// went before is trusted until its end, since other processes still show certificates that it has signed.
func (m *material) renewed(names []string, now time.Time) (*material, error) {
	next := &material{}
	if m != nil {
		*next = *m
		next.authorities = slices.DeleteFunc(slices.Clone(m.authorities), func(c *x509.Certificate) bool { return now.After(c.NotAfter) })
	}
	anew := len(next.authorities) == 0 || due(next.authorities[0], now) || m != nil && !next.authorities[0].Equal(m.authorities[0])
	if anew {
		authority, signer, err := newAuthority(now)
		if err != nil {
			return nil, fmt.Errorf("make an authority: %w", err)
		}
		next.authorities, next.signer = append([]*x509.Certificate{authority}, next.authorities...), signer
	}
	if !anew && next.serves(names, now) {
		return m, nil
	}
	serving, err := next.sign(names, now)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	next.serving = serving
	return next, nil
}

// serves reports whether the certificate is good for the names, and not due.
func (m *material) serves(names []string, now time.Time) bool {
	leaf, err := x509.ParseCertificate(m.serving.Certificate[0])
	if err != nil || due(leaf, now) || leaf.CheckSignatureFrom(m.authorities[0]) != nil {
		return false
	}
	return !slices.ContainsFunc(names, func(name string) bool { return leaf.VerifyHostname(name) != nil })
}

func newAuthority(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := newSerial()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "oaictl webhooks", Organization: []string{"oaictl"}}, NotBefore: now.Add(-before),
		NotAfter: now.Add(authorityLife),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	authority, err := x509.ParseCertificate(der)
	return authority, key, err
}

func (m *material) sign(names []string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := newSerial()
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: names[0], Organization: []string{"oaictl"}}, DNSNames: names,
		NotBefore: now.Add(-before), NotAfter: now.Add(servingLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, m.authorities[0], key.Public(), m.signer)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// serialBits is how long random serial numbers are.
const serialBits = 127

func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
}
