package kubeconfig_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/kubeconfig"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func noon() time.Time { return time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC) }

// certificate is one of a name that ends at some time, with its key, as PEM.
func certificate(t testing.TB, name string, ends time.Time) (cert, key string) {
	t.Helper()
	private := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	serial := must.Get(rand.Int(rand.Reader, big.NewInt(1<<60)))(t)
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: ends.AddDate(-10, 0, 0), NotAfter: ends}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private))(t)
	secret := must.Get(x509.MarshalECPrivateKey(private))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

// way is all that a kubeconfig of the installer has.
type way struct{ server, ca, cert, key string }

// newWay is one into a cluster of a domain, with certificates of its own.
func newWay(t testing.TB, fullName string) way {
	t.Helper()
	w := way{server: "https://api." + fullName + ":6443"}
	w.ca, _ = certificate(t, "signer of "+fullName, noon().AddDate(10, 0, 0))
	w.cert, w.key = certificate(t, "system:admin", noon().AddDate(10, 0, 0))
	return w
}

// endingAt is the way with another client certificate.
func (w way) endingAt(t testing.TB, at time.Time) way {
	t.Helper()
	w.cert, w.key = certificate(t, "system:admin", at)
	return w
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// filled is a text with the parts of a way in the places of {server}, {ca}, {cert} and {key}.
func (w way) filled(text string) string {
	return strings.NewReplacer("{server}", w.server, "{ca}", b64(w.ca), "{cert}", b64(w.cert), "{key}", b64(w.key)).Replace(text)
}

// installed is as the installer writes it.
const installed = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {ca}
    server: {server}
  name: lab
contexts:
- context:
    cluster: lab
    user: admin
  name: admin
current-context: admin
kind: Config
preferences: {}
users:
- name: admin
  user:
    client-certificate-data: {cert}
    client-key-data: {key}
`

// access is what a text in the way of the installer gives, for the cluster of an id.
func (w way) access(t testing.TB, id string) kubeconfig.Access {
	t.Helper()
	a := must.Get(parse(t, w.filled(installed)).Access())(t)
	a.ID = id
	return a
}

func parse(t testing.TB, text string) *kubeconfig.Config {
	t.Helper()
	c, err := kubeconfig.Parse("config", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

// generic is a text as a tree, with the lists of entries by their names.
func generic(t testing.TB, text string) map[string]any {
	t.Helper()
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, list := range []string{"clusters", "users", "contexts"} {
		items, _ := tree[list].([]any)
		delete(tree, list)
		for _, item := range items {
			if entry, is := item.(map[string]any); is {
				tree[list+"/"+fmt.Sprint(entry["name"])] = entry
			}
		}
	}
	return tree
}
