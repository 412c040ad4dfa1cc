package hub

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"github.com/oaictl/oaictl/internal/simulator/hub/webhook"
	admission "k8s.io/api/admission/v1"
	registration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type admitter struct {
	deny      []Denial
	hive      bool
	installed func(*hubapi.Reference) bool
}

// judge gives the verdict on a write; old is nil when an object is made, and now when it is deleted.
func (a *admitter) judge(k objects.Kind, operation, name string, old, now *objects.Object) error {
	for _, d := range a.deny {
		if d.Kind == string(k) && (d.Name == "" || d.Name == name) && (d.Operation == "" || d.Operation == operation) {
			return apierrors.NewForbidden(k.Resource().GroupResource(), name, errors.New(d.Message))
		}
	}
	switch {
	case k == objects.KindCluster && operation == string(admission.Delete):
		if a.hive && old != nil {
			return webhook.ValidateDeletion(old)
		}
	case now == nil || now.GetDeletionTimestamp() != nil: // nobody is kept from letting go
	case k == objects.KindCluster:
		if a.hive {
			return webhook.ValidateDeployment(old, now)
		}
	case k == objects.KindInstall:
		return webhook.ValidateInstall(old, now)
	case k == objects.KindInfraEnv:
		return webhook.ValidateInfraEnv(old, now, a.installed)
	case k == objects.KindAgent && old != nil:
		return webhook.ValidateAgent(old, now)
	case k == objects.KindClassification:
		return webhook.ValidateClassification(old, now)
	}
	return nil
}

// The paths below which the two kinds of webhooks are served; the kind follows.
const (
	validatePath = "/validate/"
	mutatePath   = "/mutate/"
)

func (a *admitter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const most = 16 << 20
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var review admission.AdmissionReview
	if err == nil {
		err = json.Unmarshal(data, &review)
	}
	if err != nil || review.Request == nil {
		http.Error(w, "no AdmissionReview", http.StatusBadRequest)
		return
	}
	mutates := strings.HasPrefix(r.URL.Path, mutatePath)
	review.Response = a.answer(review.Request, mutates)
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // who does not listen any more needs no answer
}

func (a *admitter) answer(request *admission.AdmissionRequest, mutates bool) *admission.AdmissionResponse {
	response := &admission.AdmissionResponse{UID: request.UID, Allowed: true}
	old, errOld := rawObject(request.OldObject.Raw)
	now, errNow := rawObject(request.Object.Raw)
	err := errors.Join(errOld, errNow)
	k := objects.Kind(request.Kind.Kind)
	switch {
	case err != nil:
	case mutates:
		err = defaultInto(response, now)
	default:
		err = a.judge(k, string(request.Operation), request.Name, old, now)
	}
	if err == nil {
		return response
	}
	response.Allowed = false
	status := metav1.Status{Message: err.Error(), Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	response.Result = &status
	return response
}

// defaultInto adds the patch that fills in what an AgentClusterInstall left open.
func defaultInto(response *admission.AdmissionResponse, now *objects.Object) error {
	if now == nil {
		return nil
	}
	changed, err := webhook.DefaultInstall(now)
	if err != nil || !changed {
		return err
	}
	value := now.Object["spec"].(map[string]any)["networking"].(map[string]any)["userManagedNetworking"]
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/spec/networking/userManagedNetworking", "value": value}})
	kind := admission.PatchTypeJSONPatch
	response.Patch, response.PatchType = patch, &kind
	return err
}

func rawObject(data []byte) (*objects.Object, error) {
	if len(data) == 0 {
		return nil, nil
	}
	o := &objects.Object{}
	return o, o.UnmarshalJSON(data)
}

// serveAdmission serves and registers the webhooks until ctx ends; what it returns unregisters, and waits.
func (h *hub) serveAdmission(ctx context.Context) (func(), error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a port for webhooks: %w", err)
	}
	pair, ca, err := selfSigned(clock.Real().Now())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		Handler:   &admitter{deny: h.config.Trouble.Deny, hive: h.config.Hive, installed: h.installed},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			h.logf("serve webhooks: %v", err)
		}
	}()
	closing := func() {
		h.withdraw(ctx)
		_ = server.Close()
		<-done
	}
	if err := h.register(ctx, "https://"+listener.Addr().String(), ca); err != nil {
		closing()
		return nil, err
	}
	return closing, nil
}

func (h *hub) installed(ref *hubapi.Reference) bool {
	k := referred(ref)
	cd := h.store.get(objects.KindCluster, k.space, k.id)
	if cd == nil {
		return false
	}
	spec, err := objects.Spec[objects.DeploymentSpec](cd)
	return err == nil && spec.IsInstalled()
}

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

// withdraw has the API server ask no more: after the run nothing could be written otherwise.
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

// selfSigned makes a certificate for loopback and the authority that it is trusted by.
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
