package bmc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// certificates are the controllers' own, made when first asked for and signed by an authority that nobody knows.
type certificates struct {
	from time.Time
	root *x509.Certificate
	key  *ecdsa.PrivateKey

	mu   sync.Mutex
	made map[string]*tls.Certificate
}

const validFor = 10 * 365 * 24 * time.Hour

func newCertificates(now time.Time) (*certificates, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of the BMCs' authority: %w", err)
	}
	from := now.Add(-24 * time.Hour) // a fast clock may be ahead of the client's
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "simulated BMCs"}, NotBefore: from, NotAfter: from.Add(validFor),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the BMCs' authority: %w", err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the BMCs' authority: %w", err)
	}
	return &certificates{from: from, root: root, key: key, made: map[string]*tls.Certificate{}}, nil
}

func (c *certificates) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.root.Raw})
}

// forName is the certificate of the controller at a name or an IP address.
func (c *certificates) forName(name string) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.made[name]; ok {
		return made, nil
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(c.made) + 2)), Subject: pkix.Name{CommonName: name}, NotBefore: c.from, NotAfter: c.from.Add(validFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.root, c.key.Public(), c.key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the BMC at %s: %w", name, err)
	}
	made := &tls.Certificate{Certificate: [][]byte{der, c.root.Raw}, PrivateKey: c.key}
	c.made[name] = made
	return made, nil
}
