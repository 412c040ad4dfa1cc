package hub

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	admission "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"github.com/oaictl/oaictl/internal/simulator/hub/webhook"
)

type admitter struct {
	deny      []Denial
	hive      bool
	installed func(*hubapi.Reference) bool
}

// judge gives the verdict on a write; old is nil when an object is made, and now
// when it is deleted.
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

// serveAdmission serves the webhooks on loopback and registers them, until ctx
// ends. It gives back what ends the registration, and waits.
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
