package kubetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Webhooks is where a process serves webhooks to the API server: on a port of loopback of its
// own, since there is no Service that would lead to it.
type Webhooks struct {
	// Port is reserved until the cluster is closed, for the flag --webhook-port or the like.
	Port int
	// CertDir is a folder with the process's tls.crt and tls.key.
	CertDir string
	// CA is the certificate (PEM) of the authority that has signed that.
	CA []byte
}

// NewWebhooks reserves a port, and makes a certificate for the process that listens there.
func (c *Cluster) NewWebhooks(ctx context.Context) (*Webhooks, error) {
	w := &Webhooks{CA: encodeCertificate(c.authority.certificate.Raw)}
	var err error
	if w.Port, err = c.Port(ctx); err != nil {
		return nil, err
	}
	if w.CertDir, err = os.MkdirTemp(c.scratch.folder, "webhooks-"); err != nil {
		return nil, err
	}
	return w, c.authority.serving(w.CertDir)
}

// URL is where the process listens, without a path.
func (w *Webhooks) URL() string { return fmt.Sprintf("https://127.0.0.1:%d", w.Port) }

// serving writes a certificate for a process on loopback, as cert-manager has them in Secrets.
func (a *authority) serving(folder string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make a key to serve with: %w", err)
	}
	der, err := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key)
	if err != nil {
		return fmt.Errorf("make a certificate to serve with: %w", err)
	}
	encoded, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	if err := keyutil.WriteKey(filepath.Join(folder, "tls.key"), encoded); err != nil {
		return err
	}
	return cert.WriteCert(filepath.Join(folder, "tls.crt"), encodeCertificate(der))
}

// Point makes the API server call w for objects: for the admission that webhook configurations among them ask for, and
// to convert kinds with several versions, unless those say that nothing is to be converted (strategy None). Other
// objects stay as they are.
func (w *Webhooks) Point(objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		var err error
		switch o.GetKind() {
		case kindMutating, kindValidating:
			err = w.pointAdmission(o)
		case kindDefinition:
			err = w.pointConversion(o)
		}
		if err != nil {
			return fmt.Errorf("point %s %s at %s: %w", o.GetKind(), o.GetName(), w.URL(), err)
		}
	}
	return nil
}

func (w *Webhooks) pointAdmission(o *unstructured.Unstructured) error {
	hooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
	if err != nil {
		return err
	}
	for i := range hooks {
		hook, is := hooks[i].(map[string]any)
		if !is {
			return fmt.Errorf("webhook %d is no object", i)
		}
		path, _, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
		if err != nil {
			return err
		}
		hook["clientConfig"] = w.client(path)
	}
	return unstructured.SetNestedSlice(o.Object, hooks, "webhooks")
}

func (w *Webhooks) pointConversion(o *unstructured.Unstructured) error {
	versions, _, err := unstructured.NestedSlice(o.Object, "spec", "versions")
	if err != nil {
		return err
	}
	if strategy, _, _ := unstructured.NestedString(o.Object, "spec", "conversion", "strategy"); strategy == "None" || len(versions) < 2 {
		return nil
	}
	path, given, _ := unstructured.NestedString(o.Object, "spec", "conversion", "webhook", "clientConfig", "service", "path")
	if !given {
		path = "/convert"
	}
	return unstructured.SetNestedMap(o.Object, map[string]any{
		"strategy": "Webhook",
		"webhook":  map[string]any{"conversionReviewVersions": []any{"v1"}, "clientConfig": w.client(path)},
	}, "spec", "conversion")
}

// client is how the API server calls w at a path.
func (w *Webhooks) client(path string) map[string]any {
	return map[string]any{"url": w.URL() + "/" + strings.TrimPrefix(path, "/"), "caBundle": base64.StdEncoding.EncodeToString(w.CA)}
}
