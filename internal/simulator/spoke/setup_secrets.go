package spoke

import (
	"cmp"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/simulator/pki"
)

func (s *Spoke) setUpSecrets(ctx context.Context) error {
	pull := cmp.Or(s.cluster.PullSecret, `{"auths":{"quay.io":{"auth":"c2ltdWxhdGVkOnNpbXVsYXRlZA=="}}}`)
	root, err := s.newCertificate("root-ca", nil)
	if err != nil {
		return fmt.Errorf("make the CA of the installation: %w", err)
	}
	ca := root
	if s.cluster.ownServerCA() {
		if ca, err = s.newCertificate("machine-config-server-ca", nil); err != nil {
			return fmt.Errorf("make the CA of the machine config server: %w", err)
		}
	}
	served, err := s.newCertificate("system:machine-config-server", ca, "api-int."+s.cluster.domain())
	if err != nil {
		return fmt.Errorf("make the certificate of the machine config server: %w", err)
	}
	list := []object{
		secret("openshift-config", "pull-secret", "kubernetes.io/dockerconfigjson", map[string][]byte{".dockerconfigjson": []byte(pull)}),
		secret(
			nsMachineConfig, "machine-config-server-tls", "kubernetes.io/tls",
			map[string][]byte{"tls.crt": served.CertPEM, "tls.key": served.KeyPEM},
		),
		{kind: kindConfigMap, namespace: "kube-system", name: "root-ca", fields: fields{"data": fields{"ca.crt": string(root.CertPEM)}}},
	}
	own := object{
		kind: kindConfigMap, namespace: nsMachineConfig, name: "machine-config-server-ca",
		fields: fields{"data": fields{"ca-bundle.crt": string(ca.CertPEM)}},
	}
	if s.cluster.ownServerCA() {
		list = append(list, own)
	} else if err := s.objectsOf(own.kind, own.namespace).Delete(ctx, own.name, metav1.DeleteOptions{}); ignoreGone(err) != nil {
		return err
	}
	for _, role := range []string{master, worker} {
		pointer, err := s.cluster.pointer(role, ca.CertPEM)
		if err != nil {
			return err
		}
		for _, name := range []string{role + "-user-data", role + "-user-data-managed"} {
			list = append(list, secret(nsMachineAPI, name, "Opaque", map[string][]byte{"disableTemplating": []byte("true\n"), "userData": pointer}))
		}
	}
	return s.apply(ctx, list...)
}

// ownServerCA reports whether the machine config operator has given its server a CA of its own:
// since 4.19, on clusters with MachineSets.
func (c *Cluster) ownServerCA() bool {
	minor, _ := c.minor() // complete has looked
	return c.MachineAPI && minor >= 19
}

func secret(namespace, name, kind string, data map[string][]byte) object {
	encoded := fields{}
	for key, value := range data {
		encoded[key] = base64.StdEncoding.EncodeToString(value)
	}
	return object{kind: kindSecret, namespace: namespace, name: name, fields: fields{"type": kind, "data": encoded}}
}

// pointer is the Ignition config that leads a machine to the machine config server.
func (c *Cluster) pointer(role string, ca []byte) ([]byte, error) {
	const port = "22623"
	return json.Marshal(fields{"ignition": fields{
		"version": "3.2.0",
		"config":  fields{"merge": []any{fields{"source": "https://api-int." + c.domain() + ":" + port + "/config/" + role}}},
		"security": fields{"tls": fields{"certificateAuthorities": []any{
			fields{"source": "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(ca)},
		}}},
	}})
}

// newCertificate makes a certificate that another signs, or a CA if none does.
func (s *Spoke) newCertificate(name string, by *pki.Pair, hosts ...string) (*pki.Pair, error) {
	const years = 10
	now := s.clock.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name, OrganizationalUnit: []string{"openshift"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(years, 0, 0), DNSNames: hosts,
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
	}
	if by == nil {
		template.IsCA, template.KeyUsage = true, template.KeyUsage|x509.KeyUsageCertSign
	}
	return pki.Make(template, by)
}
