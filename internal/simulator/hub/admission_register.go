package hub

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"

	registration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

type hook struct {
	kind       objects.Kind
	name       string
	operations []registration.OperationType
}

// The groups in whose name the webhooks speak.
const (
	serviceHooks = ".admission.agentinstall.openshift.io"
	hiveHooks    = ".admission.hive.openshift.io"
)

func validators() []hook {
	made, changed, gone := registration.Create, registration.Update, registration.Delete
	both := []registration.OperationType{made, changed}
	return []hook{
		{objects.KindInstall, "agentclusterinstallvalidators" + serviceHooks, both},
		{objects.KindInfraEnv, "infraenvvalidators" + serviceHooks, both},
		{objects.KindAgent, "agentvalidators" + serviceHooks, []registration.OperationType{changed}},
		{objects.KindClassification, "agentclassificationvalidators" + serviceHooks, both},
		{objects.KindCluster, "clusterdeploymentvalidators" + hiveHooks, []registration.OperationType{made, changed, gone}},
	}
}

// hookName names the registration. Each run has one for what it looks after.
func (h *hub) hookName() string {
	return strings.TrimSuffix("oaictl-simulator-hub-"+h.config.Namespace, "-")
}

func validatingHooks() schema.GroupVersionResource {
	return registration.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")
}

func mutatingHooks() schema.GroupVersionResource {
	return registration.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
}

func (h *hub) register(ctx context.Context, url string, ca []byte) error {
	fail, none, exact := registration.Fail, registration.SideEffectClassNone, registration.Equivalent
	spaces := &metav1.LabelSelector{}
	if h.config.Namespace != "" {
		spaces.MatchLabels = map[string]string{"kubernetes.io/metadata.name": h.config.Namespace}
	}
	rules := func(k objects.Kind, operations ...registration.OperationType) []registration.RuleWithOperations {
		at := k.Resource()
		return []registration.RuleWithOperations{{Operations: operations, Rule: registration.Rule{
			APIGroups: []string{at.Group}, APIVersions: []string{at.Version}, Resources: []string{at.Resource}}}}
	}
	client := func(path string, k objects.Kind) registration.WebhookClientConfig {
		address := url + path + strings.ToLower(string(k))
		return registration.WebhookClientConfig{URL: &address, CABundle: ca}
	}
	validating := &registration.ValidatingWebhookConfiguration{TypeMeta: metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"}}
	for _, v := range validators() {
		validating.Webhooks = append(validating.Webhooks, registration.ValidatingWebhook{
			Name: v.name, ClientConfig: client(validatePath, v.kind), Rules: rules(v.kind, v.operations...), FailurePolicy: &fail,
			SideEffects: &none, MatchPolicy: &exact, NamespaceSelector: spaces, AdmissionReviewVersions: []string{"v1"},
		})
	}
	mutating := &registration.MutatingWebhookConfiguration{TypeMeta: metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"}}
	mutating.Webhooks = []registration.MutatingWebhook{{
		Name: "agentclusterinstallmutators" + serviceHooks, ClientConfig: client(mutatePath, objects.KindInstall), FailurePolicy: &fail,
		Rules: rules(objects.KindInstall, registration.Create, registration.Update), SideEffects: &none, MatchPolicy: &exact,
		NamespaceSelector: spaces, AdmissionReviewVersions: []string{"v1"},
	}}
	if err := h.put(ctx, validatingHooks(), validating); err != nil {
		return err
	}
	return h.put(ctx, mutatingHooks(), mutating)
}

// put makes a registration, in place of one that a former run has left.
func (h *hub) put(ctx context.Context, at schema.GroupVersionResource, typed any) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return fmt.Errorf("write the registration of webhooks: %w", err)
	}
	o := &objects.Object{Object: fields}
	o.SetName(h.hookName())
	if err := h.store.client.Resource(at).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove an old registration of webhooks: %w", err)
	}
	if _, err := h.store.client.Resource(at).Create(ctx, o, metav1.CreateOptions{FieldManager: manager}); err != nil {
		return fmt.Errorf("register webhooks: %w", err)
	}
	return nil
}

// withdrawTime is how long the registration may take to be undone, in real time.
const withdrawTime = 10 * time.Second

// withdraw has the API server ask no more. The run is over by then, but without
// this nothing could be written.
func (h *hub) withdraw(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer stop()
	for _, at := range []schema.GroupVersionResource{validatingHooks(), mutatingHooks()} {
		err := h.store.client.Resource(at).Delete(ctx, h.hookName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			h.logf("withdraw the registration of webhooks: %v", err)
		}
	}
}

// selfSigned makes a certificate for loopback and the authority that it is
// trusted by.
func selfSigned(now time.Time) (tls.Certificate, []byte, error) {
	var none tls.Certificate
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return none, nil, fmt.Errorf("make the key of an authority for webhooks: %w", err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "simulated hub"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, &caKey.PublicKey, caKey)
	if err != nil {
		return none, nil, fmt.Errorf("sign an authority for webhooks: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return none, nil, fmt.Errorf("make a key for webhooks: %w", err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, &key.PublicKey, caKey)
	if err != nil {
		return none, nil, fmt.Errorf("sign a certificate for webhooks: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), nil
}
