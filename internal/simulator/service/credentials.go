package service

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

// makeCredentials makes what the installer would make for a new cluster. The
// certificates are valid from the service's now.
func makeCredentials(now time.Time, password string) (*model.Credentials, error) {
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

// kubeconfig is the administrator's access to the cluster; ingress is the
// certificate of its routes, if it is known.
func kubeconfig(k *model.Credentials, name, domain, ingress string) []byte {
	ca := bytes.Clone(k.CA)
	if ingress != "" {
		ca = append(ca, []byte(ingress)...)
	}
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: https://api.%s.%s:6443
  name: %s
contexts:
- context:
    cluster: %s
    user: admin
  name: admin
current-context: admin
kind: Config
preferences: {}
users:
- name: admin
  user:
    client-certificate-data: %s
    client-key-data: %s
`, b64(ca), name, domain, name, name, b64(k.Cert), b64(k.Key))
}

// newPassword makes a password as the installer does: four groups of five.
func (s *Service) newPassword() string {
	const letters = "abcdefghijkmnopqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789"
	var b []byte
	for i := range 4 {
		if i > 0 {
			b = append(b, '-')
		}
		for range 5 {
			b = append(b, letters[s.random.IntN(len(letters))])
		}
	}
	return string(b)
}

// downloadStates are the states in which files of a cluster can be fetched.
func downloadStates() []string {
	return []string{model.ClusterInstalling, model.ClusterFinalizing, model.ClusterInstalled, model.ClusterError, model.ClusterAddingHosts, model.ClusterCancelled, model.ClusterPendingUser}
}

// downloadable refuses files of a cluster that is not that far.
func downloadable(c *model.Cluster) error {
	if !model.OneOf(c.Status, downloadStates()...) {
		return wire.Conflict("cluster %s is in %s state, files can be downloaded only when status is one of: %v", c.ID, c.Status, downloadStates())
	}
	return nil
}

func (s *Service) readCredentials(c *wire.Call) (wire.Reply, error) {
	cl, err := s.storedCluster(c.PathValue("cluster_id"), "record not found")
	if err != nil {
		return wire.Reply{}, err
	}
	console := false
	for _, o := range cl.MonitoredOperators {
		console = console || o.Name == "console" && o.Status == "available"
	}
	if !console || cl.Credentials == nil {
		return wire.Reply{}, wire.Conflict("console-url isn't available yet, it will be once console operator is ready as part of cluster finalizing stage")
	}
	return wire.OK(map[string]string{
		"console_url": "https://console-openshift-console.apps." + cl.Name + "." + cl.BaseDNSDomain,
		"password":    cl.Credentials.Password, "username": "kubeadmin",
	})
}

func (s *Service) downloadCredentials(c *wire.Call) (wire.Reply, error) {
	cl, err := s.storedCluster(c.PathValue("cluster_id"), "record not found")
	if err != nil {
		return wire.Reply{}, err
	}
	name := c.URL.Query().Get("file_name")
	if err := downloadable(cl); err != nil {
		return wire.Reply{}, err
	}
	missing := wire.Conflict("object %s/%s was not found", cl.ID, name)
	if cl.Credentials == nil {
		return wire.Reply{}, missing
	}
	switch name {
	case "kubeadmin-password":
		return wire.File(name, []byte(cl.Credentials.Password))
	case "kubeconfig-noingress":
		return wire.File(name, kubeconfig(cl.Credentials, cl.Name, cl.BaseDNSDomain, ""))
	}
	if cl.IngressCert == "" {
		return wire.Reply{}, missing
	}
	return wire.File(name, kubeconfig(cl.Credentials, cl.Name, cl.BaseDNSDomain, cl.IngressCert))
}

// presigned answers what a service that keeps its files on disk answers, whatever
// the cluster.
func (s *Service) presigned(*wire.Call) (wire.Reply, error) {
	return wire.Reply{}, wire.BadRequest("Failed to generate presigned URL: invalid backend")
}

// uploadIngressCert takes the certificate that makes the kubeconfig complete.
func (s *Service) uploadIngressCert(c *wire.Call) (wire.Reply, error) {
	cl, err := s.getCluster(c.PathValue("cluster_id"))
	if err != nil {
		return wire.Reply{}, err
	}
	cert := string(wire.Taken[models.IngressCertParams](c))
	if !model.OneOf(cl.Status, model.ClusterFinalizing, model.ClusterInstalled) {
		return wire.Reply{}, wire.BadRequest("Cluster %s is in %s state, upload ingress ca can be done only in %s or %s state", cl.ID, cl.Status, model.ClusterFinalizing, model.ClusterInstalled)
	}
	if block, _ := pem.Decode([]byte(cert)); block == nil {
		return wire.Reply{}, wire.Refuse(http.StatusInternalServerError, "given ingress-ca is not valid PEM format")
	}
	if cl.IngressCert == "" {
		cl.IngressCert = cert
	}
	return wire.Reply{Status: http.StatusCreated}, nil
}
