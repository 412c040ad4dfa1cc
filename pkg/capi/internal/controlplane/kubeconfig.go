package controlplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capikubeconfig "sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/workload"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/messages"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// probeEvery is how often an API server that has never answered is asked: it takes a quarter of an hour to come.
const probeEvery = 20 * time.Second

// soon is, in real time, the shortest time after which something is read again that no watch reports.
const soon = 2 * time.Second

// expiresSoon is how long before its end the certificate of a kubeconfig is warned of.
const expiresSoon = 30 * 24 * time.Hour

// annotationTaken is, on the Secret of the kubeconfig, the digest of the service's copy that was last written to it. As
// long as the service's copy is the same, a kubeconfig that a user has put there since stays: the service always
// returns the one that the installation made.
const annotationTaken = "oaictl.io/service-copy"

// kubeconfig hands out the cluster's kubeconfig as soon as the service has one; once its API server answers, the
// control plane is initialized.
func (s *scope) kubeconfig(ctx context.Context) (ctrl.Result, error) {
	data, err := s.handOut(ctx)
	if err == nil && data != nil {
		if err = s.known.examine(s.key(), data).problem; err == nil {
			data, err = s.followAuthorities(ctx, data)
		}
	}
	switch {
	case err != nil:
		s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigUnavailableReason, messages.Error(err))
		return ctrl.Result{}, err
	case data == nil && s.view.Installed():
		s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigUnavailableReason,
			fmt.Sprintf("the service has no kubeconfig of the cluster: put one of its administrator into the Secret %s, with the label %s: %s",
				s.kubeconfigSecret().Name, clusterv1.ClusterNameLabel, s.cluster.Name))
		return ctrl.Result{}, nil
	case data == nil:
		if !ptr.Deref(s.plane.Status.Initialization.ControlPlaneInitialized, false) {
			s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigUnavailableReason, "the service hands out a kubeconfig once the installation runs")
		}
		return ctrl.Result{}, nil
	}
	s.showKubeconfig(data)
	result, err := s.initialize(ctx, data)
	if err != nil || !result.IsZero() {
		return result, err
	}
	return s.upgrade(ctx, data)
}

// handOut is what is in the Secret of the kubeconfig, nil where there is none yet. The service's copy is written to it, and
// anew where the service has another; a service that has taken in an installed cluster has none. While the service's copy
// cannot be read, what is in the Secret is good enough.
func (s *scope) handOut(ctx context.Context) ([]byte, error) {
	cluster := s.view.Observed.Cluster
	var which string
	switch {
	case cluster == nil:
		return nil, nil
	case cluster.Kubeconfig:
		which = model.KubeconfigFile
	case cluster.NoIngress:
		which = model.NoIngressFile
	}
	if which == "" && !s.view.Installed() {
		return nil, nil
	}
	have, err := clusterspec.KubeconfigSecret(ctx, s.Client, s.Live, s.key())
	if err == nil {
		err = s.labelKubeconfig(ctx, have)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if which == "" {
		return have.Data[secret.KubeconfigDataName], nil
	}
	kept := have.Data[secret.KubeconfigDataName]
	known, id, now := s.known.examine(s.key(), kept), cluster.ID+"/"+which, s.Clock.Now()
	spoke := s.view.Observed.Spoke
	taken := spoke == nil || spoke.TroubleKind != model.TroubleCredentials
	if known.problem == nil && taken && known.copyOf == id && now.Sub(known.compared) < copyAgain {
		return kept, nil
	}
	data, err := s.serviceCopy(ctx, cluster.ID, which)
	if err != nil && known.problem == nil {
		s.noCopy = messages.Error(err)
		return kept, nil
	}
	if err != nil {
		return nil, err
	}
	if data, err = s.keepKubeconfig(ctx, have, data); err == nil && bytes.Equal(data, kept) {
		s.known.isCopy(s.key(), id, now)
	}
	return data, err
}

// serviceCopy is a kubeconfig as the service has it.
func (s *scope) serviceCopy(ctx context.Context, id, which string) ([]byte, error) {
	service, err := s.Installations.Service(s.plane.Namespace)
	if err != nil {
		return nil, err
	}
	data, err := service.Credential(ctx, id, which)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of %s: %w", id, err)
	}
	return data, nil
}

// labelKubeconfig has the Secret carry the label of its Cluster, without which Cluster API does not see it either.
func (s *scope) labelKubeconfig(ctx context.Context, have *corev1.Secret) error {
	if _, has := have.Labels[clusterv1.ClusterNameLabel]; has {
		return nil
	}
	before := have.DeepCopy()
	metav1.SetMetaDataLabel(&have.ObjectMeta, clusterv1.ClusterNameLabel, s.cluster.Name)
	if err := s.Client.Patch(ctx, have, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("label Secret %s: %w", have.Name, err)
	}
	return nil
}

// keepKubeconfig writes the service's copy where it was not written yet, and says what the Secret has then.
func (s *scope) keepKubeconfig(ctx context.Context, have *corev1.Secret, data []byte) ([]byte, error) {
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	if have.ResourceVersion == "" {
		owner := *metav1.NewControllerRef(s.plane, controlplanev1.GroupVersion().WithKind("OpenshiftAssistedControlPlane"))
		made := capikubeconfig.GenerateSecretWithOwner(s.key(), data, owner)
		made.Annotations = map[string]string{annotationTaken: digest}
		if err := s.Client.Create(ctx, made); err != nil {
			return nil, fmt.Errorf("write Secret %s: %w", made.Name, err)
		}
		return data, nil
	}
	kept := have.Data[secret.KubeconfigDataName]
	if s.known.examine(s.key(), kept).problem == nil && have.Annotations[annotationTaken] == digest {
		return kept, nil
	}
	metav1.SetMetaDataAnnotation(&have.ObjectMeta, annotationTaken, digest)
	return data, s.writeKubeconfig(ctx, have, data)
}

// writeKubeconfig replaces what the Secret has.
func (s *scope) writeKubeconfig(ctx context.Context, have *corev1.Secret, data []byte) error {
	have.Data = map[string][]byte{secret.KubeconfigDataName: data}
	if err := s.Client.Update(ctx, have); err != nil {
		return fmt.Errorf("write Secret %s: %w", have.Name, err)
	}
	return nil
}

// kubeconfigSecret is the Secret of the cluster's kubeconfig.
func (s *scope) kubeconfigSecret() client.ObjectKey {
	return client.ObjectKey{Namespace: s.plane.Namespace, Name: secret.Name(s.cluster.Name, secret.Kubeconfig)}
}

// showKubeconfig says that there is a kubeconfig, and why it may not be the service's, or that its certificate is about to
// end.
func (s *scope) showKubeconfig(data []byte) {
	known := s.known.examine(s.key(), data)
	if known.hasEnd && known.ends.Sub(s.Clock.Now()) < expiresSoon {
		s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigExpiresReason,
			fmt.Sprintf("the certificate of the kubeconfig ends at %s: make another one with `oc config new-admin-kubeconfig`, and put it into the Secret %s",
				known.ends.UTC().Format(time.RFC3339), s.kubeconfigSecret().Name))
		return
	}
	s.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionTrue, controlplanev1.KubeconfigAvailableCondition, s.noCopy)
}

// certificateEnds is when the client's certificate in a kubeconfig ends.
func certificateEnds(data []byte) (time.Time, bool) {
	config, err := workload.Connector{}.Config(data)
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
func Answers(by workload.Connector) func(ctx context.Context, kubeconfig []byte) error {
	return func(ctx context.Context, data []byte) error {
		c, err := workload.Connect(data, workload.Options{Config: by.Config, Timeout: probeTakes})
		if err != nil {
			return fmt.Errorf("read the kubeconfig: %w", err)
		}
		defer c.Close()
		return ready(ctx, c.HTTP, c.Host)
	}
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
		return fmt.Errorf("/readyz answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	return nil
}
