package kubeconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"net/url"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/oaictl/oaictl/internal/shared/redact"
)

// Ends is when the client certificate ends; has is false where there is none that can be
// read.
func (a Access) Ends() (at time.Time, has bool) {
	certificate := clientCertificate(a.user)
	if certificate == nil {
		return time.Time{}, false
	}
	return certificate.NotAfter, true
}

// SameCluster reports whether two accesses are to one cluster: at the same server, and with
// the same id where both have one, else with a certificate that both trust.
func (a Access) SameCluster(b Access) bool {
	if !sameServer(a.cluster.Server, b.cluster.Server) {
		return false
	}
	if a.ID != "" && b.ID != "" {
		return a.ID == b.ID
	}
	return shareAuthority(a.cluster, b.cluster)
}

// clientCertificate is the certificate of a user, nil without one.
func clientCertificate(u *api.AuthInfo) *x509.Certificate {
	block, rest := pem.Decode(u.ClientCertificateData)
	for block != nil && block.Type != "CERTIFICATE" {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return certificate
}

// pair says what is wrong with a client certificate and its key.
func pair(u *api.AuthInfo) error {
	if clientCertificate(u) == nil {
		return errors.New("its client certificate cannot be read")
	}
	if _, err := tls.X509KeyPair(u.ClientCertificateData, u.ClientKeyData); err != nil {
		return errors.New("its client key is not that of its client certificate")
	}
	return nil
}

// authorities are the certificates of a bundle, each once. What is no certificate counts as
// a whole.
func authorities(bundle []byte) map[string]bool {
	all := map[string]bool{}
	rest := bundle
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		all[string(block.Bytes)] = true
	}
	if bundle = bytes.TrimSpace(bundle); len(all) == 0 && len(bundle) > 0 {
		all[string(bundle)] = true
	}
	return all
}

// shareAuthority reports whether there is a certificate that both trust. A bundle changes
// when a cluster's certificates are rotated, but never all of it at once.
func shareAuthority(a, b *api.Cluster) bool {
	theirs := authorities(b.CertificateAuthorityData)
	for one := range authorities(a.CertificateAuthorityData) {
		if theirs[one] {
			return true
		}
	}
	return false
}

// sameAuthorities reports whether both trust the same certificates.
func sameAuthorities(a, b *api.Cluster) bool {
	return maps.Equal(authorities(a.CertificateAuthorityData), authorities(b.CertificateAuthorityData))
}

// sameServer reports whether two URLs are of one server.
func sameServer(a, b string) bool { return a == b || normalised(a) == normalised(b) }

// normalised is a URL with what it leaves to be understood.
func normalised(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return server
	}
	port := u.Port()
	if port == "" && u.Scheme == "https" {
		port = "443"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port + strings.TrimRight(u.Path, "/")
}

// shown is a URL without what may be secret in it.
func shown(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return "an address that cannot be read"
	}
	return redact.URL(u)
}

// hostOf is the host that a URL names, without a port.
func hostOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
