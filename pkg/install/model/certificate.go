package model

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// Certificate is what is needed to know of a certificate.
type Certificate struct {
	Subject     string
	Fingerprint string // SHA-256, in hex
	From, Until time.Time
}

// ValidAt reports whether the certificate is in force.
func (c Certificate) ValidAt(now time.Time) bool { return now.Before(c.Until) && !now.Before(c.From) }

// CertificatesIn are the certificates of a PEM text, in its order. An error says that it has none,
// or one that cannot be read.
func CertificatesIn(text []byte) ([]Certificate, error) {
	var all []Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read a certificate: %w", err)
		}
		sum := sha256.Sum256(c.Raw)
		all = append(all, Certificate{Subject: c.Subject.String(), Fingerprint: hex.EncodeToString(sum[:]), From: c.NotBefore, Until: c.NotAfter})
	}
	if len(all) == 0 {
		return nil, errors.New("there is no certificate (PEM) in it")
	}
	return all, nil
}

// ConfigServer is the machine config server of an installed cluster, from which its machines
// fetch their first config.
type ConfigServer struct {
	// Hosts are the names and addresses that its certificate is for.
	Hosts []string
	// CAs are the certificates that sign it, and CAFrom is the ConfigMap that has them, as
	// NAMESPACE/NAME, under CAKey. None: not known.
	CAs           []Certificate
	CAFrom, CAKey string
}
