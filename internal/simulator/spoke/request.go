package spoke

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The names that nodes are known by.
const (
	nodesGroup = "system:nodes"
	nodePrefix = "system:node:"
)

type request struct {
	name  string
	uid   types.UID
	key   *ecdsa.PrivateKey
	asked time.Time // on the simulation's clock
}

// ask makes a request with a new key. Its name is the API server's choice, as of kubelets.
func (s *Spoke) ask(
	ctx context.Context, api kubernetes.Interface, labels map[string]string, signer string, template *x509.CertificateRequest,
	usages []certificatesv1.KeyUsage,
) (*request, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate request: %w", err)
	}
	made, err := api.CertificatesV1().CertificateSigningRequests().Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-", Labels: labels},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer, Usages: usages,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("ask for a certificate: %w", err)
	}
	return &request{name: made.Name, uid: made.UID, key: key, asked: s.clock.Now()}, nil
}

// errRefused is a request that will not be answered by a certificate any more.
var errRefused = errors.New("the request for a certificate was refused")

// answer is the certificate that a request was answered with, nil while it was not.
func (r *request) answer(ctx context.Context, api kubernetes.Interface) ([]byte, error) {
	now, err := api.CertificatesV1().CertificateSigningRequests().Get(ctx, r.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, errRefused
	case err != nil:
		return nil, err
	case now.UID != r.uid:
		return nil, errRefused
	}
	approved := false
	for _, c := range now.Status.Conditions {
		switch c.Type {
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			return nil, errRefused
		case certificatesv1.CertificateApproved:
			approved = true
		}
	}
	if !approved || len(now.Status.Certificate) == 0 {
		return nil, nil
	}
	return now.Status.Certificate, nil
}

func clientTemplate(node string) *x509.CertificateRequest {
	return &x509.CertificateRequest{Subject: pkix.Name{CommonName: nodePrefix + node, Organization: []string{nodesGroup}}}
}

func clientUsages() []certificatesv1.KeyUsage {
	return []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
}

func servingUsages() []certificatesv1.KeyUsage {
	return []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth}
}

func (s *Spoke) bootstrapClient(ctx context.Context) (kubernetes.Interface, error) {
	day := int64((24 * time.Hour).Seconds())
	token, err := s.core.CoreV1().ServiceAccounts(nsMachineConfig).CreateToken(ctx, bootstrapper,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("get the bootstrapper's token: %w", err)
	}
	config := rest.AnonymousClientConfig(s.config.Kube)
	config.BearerToken = token.Status.Token
	return kubernetes.NewForConfig(config)
}

func (s *Spoke) clientWith(certPEM, keyPEM []byte) (kubernetes.Interface, error) {
	config := rest.AnonymousClientConfig(s.config.Kube)
	config.CertData, config.KeyData = certPEM, keyPEM
	return kubernetes.NewForConfig(config)
}
