package installfiles

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed" // kubeconfig.yaml
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// MakeCredentials makes what the installer would; certificates are valid from now.
func MakeCredentials(now time.Time, password string) (*model.Credentials, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the cluster's authority: %w", err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{OrganizationalUnit: []string{"openshift"}, CommonName: "kube-apiserver-lb-signer"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, fmt.Errorf("signing the cluster's authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the administrator's key: %w", err)
	}
	admin := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{Organization: []string{"system:masters"}, CommonName: "system:admin"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, admin, authority, &key.PublicKey, caKey)
	if err != nil {
		return nil, fmt.Errorf("signing the administrator's certificate: %w", err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding the administrator's key: %w", err)
	}
	return &model.Credentials{
		CA:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}),
		Cert:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:      pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
		Password: password,
	}, nil
}

//go:embed kubeconfig.yaml
var kubeconfig string

// Kubeconfig is the administrator's access; ingress is the routes' certificate, if known.
func Kubeconfig(k *model.Credentials, name, domain, ingress string) []byte {
	ca := bytes.Clone(k.CA)
	if ingress != "" {
		ca = append(ca, []byte(ingress)...)
	}
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, kubeconfig, b64(ca), name, domain, name, name, b64(k.Cert), b64(k.Key))
}
