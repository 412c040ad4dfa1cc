package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// authority signs the certificates of users, and the requests that are approved in the
// hub: the API server knows both by it, so that a kubelet is let in with what it was given.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// certFile and keyFile are both as PEM files.
	certFile, keyFile string
}

var _ envtest.Authn = (*authority)(nil)

// newAuthority makes a CA and writes it into a folder.
func newAuthority(folder string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, certFile: filepath.Join(folder, "signing.crt"), keyFile: filepath.Join(folder, "signing.key")}
	if a.certificate, err = cert.NewSelfSignedCACert(cert.Config{CommonName: only}, key); err != nil {
		return nil, err
	}
	if err := cert.WriteCert(a.certFile, encodeCertificate(a.certificate.Raw)); err != nil {
		return nil, err
	}
	encoded, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	return a, keyutil.WriteKey(a.keyFile, encoded)
}

// Configure makes the API server trust it.
func (a *authority) Configure(_ string, args *envtest.Arguments) error {
	args.Set("client-ca-file", a.certFile)
	return nil
}

// Start does nothing: the files are there.
func (a *authority) Start() error { return nil }

// Stop does nothing: the files are removed with their folder.
func (a *authority) Stop() error { return nil }

// AddUser makes a certificate for a user, which is good for ten years, as that of an installed cluster's administrator.
func (a *authority) AddUser(user envtest.User, base *rest.Config) (*rest.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for %s: %w", user.Name, err)
	}
	der, err := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: user.Name, Organization: user.Groups}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotAfter: clock.Real().Now().AddDate(10, 0, 0),
	}, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", user.Name, err)
	}
	config := rest.CopyConfig(base)
	config.CertData = encodeCertificate(der)
	config.KeyData, err = keyutil.MarshalPrivateKeyToPEM(key)
	return config, err
}

// sign signs a certificate for a key, which is good for a week where the template does not say how long.
func (a *authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	const week = 7 * 24 * time.Hour
	now := clock.Real().Now()
	template.SerialNumber, template.NotBefore = serial, now.Add(-time.Minute)
	if template.NotAfter.IsZero() {
		template.NotAfter = now.Add(week)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	return x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}
