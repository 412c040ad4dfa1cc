package serve

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
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

// How long a certificate of ours is good for, and how long before its end it
// is replaced.
const (
	certLife  = 2 * 365 * 24 * time.Hour
	certRenew = 30 * 24 * time.Hour
)

// SelfSigned returns a certificate for the names and addresses by which
// machines reach the server. It is kept in a file, with its key and readable
// by its owner alone, so that a restarted server shows the same one; it is
// made where the file is missing, and made anew where it is about to end or
// does not cover all names.
func SelfSigned(path string, hosts []string, now time.Time) (*tls.Certificate, error) {
	data, err := readPrivate(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the certificate of the media server: %w", err)
	}
	if err == nil {
		cert, err := tls.X509KeyPair(data, data)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of the media server: %s: %w", path, err)
		}
		if covers(cert.Leaf, hosts, now) {
			return &cert, nil
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("replace the certificate of the media server: %w", err)
		}
	}
	if data, err = newCertificate(hosts, now); err != nil {
		return nil, fmt.Errorf("make a certificate for the media server: %w", err)
	}
	if err := writeOnce(path, data); err != nil {
		return nil, fmt.Errorf("keep the certificate of the media server: %w", err)
	}
	if data, err = readPrivate(path); err != nil { // another process may have been first
		return nil, fmt.Errorf("read the certificate of the media server: %w", err)
	}
	cert, err := tls.X509KeyPair(data, data)
	return &cert, err
}

// covers says whether a certificate is good for all hosts, for a while yet.
func covers(cert *x509.Certificate, hosts []string, now time.Time) bool {
	for _, host := range hosts {
		if cert.VerifyHostname(host) != nil {
			return false
		}
	}
	return now.After(cert.NotBefore) && now.Add(certRenew).Before(cert.NotAfter)
}

// newCertificate makes a certificate and its key, in PEM.
func newCertificate(hosts []string, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "oaictl media server"},
		NotBefore:             now.Add(-24 * time.Hour), // clocks of BMCs are late
		NotAfter:              now.Add(certLife),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true, // so that a machine can be told to trust it
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = errors.Join(
		pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.Encode(&out, &pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return out.Bytes(), err
}
