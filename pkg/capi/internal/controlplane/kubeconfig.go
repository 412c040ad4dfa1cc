package controlplane

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	capikubeconfig "sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/model"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/words"
)

// probeEvery is how often an API server that has never answered is asked: it takes a quarter of an hour to come.
const probeEvery = 20 * time.Second

// soon is, in real time, how soon at most something is looked at again that nobody tells of.
const soon = 2 * time.Second

// expiresSoon is how long before its end the certificate of a kubeconfig is warned of.
const expiresSoon = 30 * 24 * time.Hour

// kubeconfig hands out the cluster's kubeconfig as soon as the service has one, and anew where the
// service's has changed; once its API server answers, the control plane is initialized.
func (s *scope) kubeconfig(ctx context.Context) (ctrl.Result, error) {
	cluster := s.view.Observed.Cluster
	var which string
	switch {
	case cluster == nil:
	case cluster.Kubeconfig:
		which = model.KubeconfigFile
	case cluster.NoIngress:
		which = model.NoIngressFile
	}
	if which == "" {
		if !ptr.Deref(s.plane.Status.Initialization.ControlPlaneInitialized, false) {
			s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigUnavailableReason, "the service hands out a kubeconfig once the installation runs")
		}
		return ctrl.Result{}, nil
	}
	service, err := s.Installations.Service(s.plane.Namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	data, err := service.Credential(ctx, cluster.ID, which)
	if err != nil {
		s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigUnavailableReason, words.Error(err))
		return ctrl.Result{}, fmt.Errorf("read the kubeconfig of %s: %w", cluster.ID, err)
	}
	if err := s.writeKubeconfig(ctx, data); err != nil {
		s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigUnavailableReason, err.Error())
		return ctrl.Result{}, err
	}
	s.showKubeconfig(data)
	result, err := s.initialize(ctx, data)
	if err != nil || !result.IsZero() {
		return result, err
	}
	return s.upgrade(ctx, data)
}

func (s *scope) writeKubeconfig(ctx context.Context, data []byte) error {
	key := client.ObjectKey{Namespace: s.plane.Namespace, Name: secret.Name(s.cluster.Name, secret.Kubeconfig)}
	owner := *metav1.NewControllerRef(s.plane, controlplanev1.GroupVersion().WithKind("OpenshiftAssistedControlPlane"))
	have := &corev1.Secret{}
	err := s.Client.Get(ctx, key, have)
	switch {
	case apierrors.IsNotFound(err):
		err = s.Client.Create(ctx, capikubeconfig.GenerateSecretWithOwner(s.key(), data, owner))
	case err == nil && !bytes.Equal(have.Data[secret.KubeconfigDataName], data):
		changed := have.DeepCopy()
		changed.Data = map[string][]byte{secret.KubeconfigDataName: data}
		err = s.Client.Update(ctx, changed)
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", key.Name, err)
	}
	return nil
}

// showKubeconfig says that there is a kubeconfig, or that its certificate is about to end.
func (s *scope) showKubeconfig(data []byte) {
	ends, known := certificateEnds(data)
	if known && ends.Sub(s.Clock.Now()) < expiresSoon {
		s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigExpiresReason,
			"the certificate of the kubeconfig ends at "+ends.UTC().Format(time.RFC3339)+": renew it with `oaictl kubeconfig refresh`")
		return
	}
	s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionTrue, controlplanev1.KubeconfigAvailableCondition, "")
}

// certificateEnds is when the client's certificate in a kubeconfig ends.
func certificateEnds(data []byte) (time.Time, bool) {
	config, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		return time.Time{}, false
	}
	block, _ := pem.Decode(config.CertData)
	if block == nil {
		return time.Time{}, false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, false
	}
	return certificate.NotAfter, true
}

// initialize says that the control plane takes requests, once it has.
func (s *scope) initialize(ctx context.Context, data []byte) (ctrl.Result, error) {
	if ptr.Deref(s.plane.Status.Initialization.ControlPlaneInitialized, false) {
		return ctrl.Result{}, nil
	}
	if err := s.Answers(ctx, data); err != nil {
		s.set(controlplanev1.InitializedCondition, metav1.ConditionFalse, "WaitingForAPIServer", "the API server of the cluster does not answer yet: "+err.Error())
		return ctrl.Result{RequeueAfter: max(soon, s.Clock.Wall(probeEvery))}, nil //nolint:nilerr // the condition says it, and it is asked again
	}
	s.plane.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	s.set(controlplanev1.InitializedCondition, metav1.ConditionTrue, controlplanev1.InitializedCondition, "")
	s.Recorder.Eventf(s.plane, s.cluster, corev1.EventTypeNormal, "Initialized", "Install", "the API server of the cluster answers")
	return ctrl.Result{}, nil
}

// probeTakes is how long an API server may take to say whether it is ready.
const probeTakes = 5 * time.Second

// Answers reports why the API server that a kubeconfig names does not take requests, nil where it does:
// it is asked for /readyz.
func Answers(ctx context.Context, kubeconfig []byte) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.Timeout = probeTakes
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer http.CloseIdleConnections()
	return ready(ctx, http, config.Host)
}

func ready(ctx context.Context, client *http.Client, host string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(host, "/")+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", response.Status)
	}
	return nil
}
