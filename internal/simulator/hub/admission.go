package hub

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"github.com/oaictl/oaictl/internal/simulator/hub/webhook"
	admission "k8s.io/api/admission/v1"
	registration "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
)

type admitter struct {
	deny      []Denial
	hive      bool
	installed func(*hubapi.Reference) bool
}

func (a *admitter) judge(k objects.Kind, operation, name string, old, now *apiobject.Object) error {
	for _, d := range a.deny {
		if d.Kind == string(k) && (d.Name == "" || d.Name == name) && (d.Operation == "" || d.Operation == operation) {
			return apierrors.NewForbidden(k.Resource().GroupResource(), name, errors.New(d.Message))
		}
	}
	switch {
	case k == hubapi.KindClusterDeployment && operation == string(admission.Delete):
		if a.hive && old != nil {
			return webhook.ValidateDeletion(old)
		}
	case now == nil || now.GetDeletionTimestamp() != nil: // finalizers can always be removed
	case k == hubapi.KindClusterDeployment:
		if a.hive {
			return webhook.ValidateDeployment(old, now)
		}
	case k == hubapi.KindAgentClusterInstall:
		return webhook.ValidateInstall(old, now)
	case k == hubapi.KindInfraEnv:
		return webhook.ValidateInfraEnv(old, now, a.installed)
	case k == hubapi.KindAgent && old != nil:
		return webhook.ValidateAgent(old, now)
	case k == hubapi.KindAgentClassification:
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
	var review admission.AdmissionReview
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, most)).Decode(&review); err != nil || review.Request == nil {
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
func defaultInto(response *admission.AdmissionResponse, now *apiobject.Object) error {
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

func rawObject(data []byte) (*apiobject.Object, error) {
	if len(data) == 0 {
		return nil, nil
	}
	o := &apiobject.Object{}
	return o, o.UnmarshalJSON(data)
}

// serveAdmission serves and registers the webhooks until ctx ends; what it returns unregisters, and waits.
func (h *hub) serveAdmission(ctx context.Context) (func(), error) {
	chain, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for webhooks: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate for webhooks: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a port for webhooks: %w", err)
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		Handler:   &admitter{deny: h.config.Trouble.Deny, hive: h.config.Hive, installed: h.installed},
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			h.logf("serve webhooks: %v", err)
		}
	})
	closing := func() {
		h.withdraw(ctx)
		_ = server.Close()
		serving.Wait()
	}
	if err := h.register(ctx, "https://"+listener.Addr().String(), chain); err != nil {
		closing()
		return nil, err
	}
	return closing, nil
}

func (h *hub) installed(ref *hubapi.Reference) bool {
	k := referred(ref)
	cd := h.store.get(hubapi.KindClusterDeployment, k.space, k.id)
	if cd == nil {
		return false
	}
	spec, err := objects.Spec[objects.DeploymentSpec](cd)
	return err == nil && spec.IsInstalled()
}

// hookName names the webhook configuration of this hub: each has one of its own.
func (h *hub) hookName() string {
	return strings.TrimSuffix("oaictl-simulator-hub-"+h.config.Namespace, "-")
}

// The registrations of webhooks, by their kinds.
const (
	validating = "ValidatingWebhookConfiguration"
	mutating   = "MutatingWebhookConfiguration"
)

func registrations(kind string) schema.GroupVersionResource {
	return registration.SchemeGroupVersion.WithResource(strings.ToLower(kind) + "s")
}

// register has the API server call the webhooks at an address. The authority has signed their certificate.
func (h *hub) register(ctx context.Context, address string, authority []byte) error {
	const service, hive = ".admission.agentinstall.openshift.io", ".admission.hive.openshift.io"
	spaces := map[string]any{}
	if h.config.Namespace != "" {
		spaces["matchLabels"] = map[string]any{"kubernetes.io/metadata.name": h.config.Namespace}
	}
	hook := func(name, path string, k objects.Kind, operations ...any) any {
		at := k.Resource()
		return map[string]any{
			"name": name, "admissionReviewVersions": []any{"v1"}, "failurePolicy": "Fail", "sideEffects": "None", "matchPolicy": "Equivalent",
			"clientConfig": map[string]any{
				"url": address + path + strings.ToLower(string(k)), "caBundle": base64.StdEncoding.EncodeToString(authority),
			},
			"namespaceSelector": spaces,
			"rules": []any{map[string]any{
				"operations": operations, "apiGroups": []any{at.Group}, "apiVersions": []any{at.Version}, "resources": []any{at.Resource},
			}},
		}
	}
	err := h.put(ctx, validating,
		hook("agentclusterinstallvalidators"+service, validatePath, hubapi.KindAgentClusterInstall, "CREATE", "UPDATE"),
		hook("infraenvvalidators"+service, validatePath, hubapi.KindInfraEnv, "CREATE", "UPDATE"),
		hook("agentvalidators"+service, validatePath, hubapi.KindAgent, "UPDATE"),
		hook("agentclassificationvalidators"+service, validatePath, hubapi.KindAgentClassification, "CREATE", "UPDATE"),
		hook("clusterdeploymentvalidators"+hive, validatePath, hubapi.KindClusterDeployment, "CREATE", "UPDATE", "DELETE"))
	if err != nil {
		return err
	}
	return h.put(ctx, mutating, hook("agentclusterinstallmutators"+service, mutatePath, hubapi.KindAgentClusterInstall, "CREATE", "UPDATE"))
}

// put makes a registration, in place of one that a former run has left.
func (h *hub) put(ctx context.Context, kind string, hooks ...any) error {
	o := &apiobject.Object{Object: map[string]any{"apiVersion": registration.SchemeGroupVersion.String(), "kind": kind, "webhooks": hooks}}
	o.SetName(h.hookName())
	if err := h.store.client.Resource(registrations(kind)).Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil &&
		!apierrors.IsNotFound(err) {
		return fmt.Errorf("remove an old registration of webhooks: %w", err)
	}
	if _, err := h.store.client.Resource(registrations(kind)).Create(ctx, o, metav1.CreateOptions{FieldManager: manager}); err != nil {
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
	for _, kind := range []string{validating, mutating} {
		err := h.store.client.Resource(registrations(kind)).Delete(ctx, h.hookName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			h.logf("withdraw the registration of webhooks: %v", err)
		}
	}
}
