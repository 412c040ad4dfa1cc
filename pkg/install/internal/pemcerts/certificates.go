// Package pemcerts reads certificates in PEM, for the planes and for the decisions about nodes.
package pemcerts

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Parse are the certificates of a PEM text, in its order. An error says that it has none,
// or one that cannot be read.
func Parse(text []byte) ([]model.Certificate, error) {
	var all []model.Certificate
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
		all = append(all, model.Certificate{Subject: c.Subject.String(), Fingerprint: hex.EncodeToString(sum[:]), From: c.NotBefore,
			Until: c.NotAfter})
	}
	if len(all) == 0 {
		return nil, errors.New("there is no certificate (PEM) in it")
	}
	return all, nil
}
