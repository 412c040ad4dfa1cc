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
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capikubeconfig "sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
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

// kubeconfigHandout hands the kubeconfig of a cluster out in a Secret.
type kubeconfigHandout struct {
	*subject

	live      client.Reader
	clock     clock.Clock
	recorder  events.EventRecorder
	workloads *Workloads
	answers   func(ctx context.Context, kubeconfig []byte) error
	known     *kubeconfigs
	noCopy    string // why the service's copy of the kubeconfig cannot be read; "" where it can, or there is none
}

func (s *scope) kubeconfigHandout() *kubeconfigHandout {
	return &kubeconfigHandout{
		subject: s.subject, live: s.Live, clock: s.Clock, recorder: s.Recorder, workloads: s.Workloads,
		answers: s.Answers, known: &s.known,
	}
}

// kubeconfig hands out the cluster's kubeconfig as soon as the service has one; once its API server answers, the
// control plane is initialized, and its cluster is brought to the wanted version.
func (s *scope) kubeconfig(ctx context.Context) (ctrl.Result, error) {
	data, result, err := s.kubeconfigHandout().provide(ctx)
	if err != nil || data == nil || !result.IsZero() {
		return result, err
	}
	return s.upgrader().upgrade(ctx, data)
}

// provide hands the kubeconfig out, says how far that is, and returns it; nil where there is none.
func (h *kubeconfigHandout) provide(ctx context.Context) ([]byte, ctrl.Result, error) {
	data, err := h.handOut(ctx)
	if err == nil && data != nil {
		if err = h.known.examine(h.key(), data).problem; err == nil {
			data, err = h.followAuthorities(ctx, data)
		}
	}
	switch {
	case err != nil:
		h.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigUnavailableReason,
			rewording.Error(err))
		return nil, ctrl.Result{}, err
	case data == nil && h.view.Installed():
		h.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigUnavailableReason,
			fmt.Sprintf("the service has no kubeconfig of the cluster: put a kubeconfig of its administrator into the Secret %s, "+
				"with the label %s: %s",
				h.kubeconfigSecret().Name, clusterv1.ClusterNameLabel, h.cluster.Name))
		return nil, ctrl.Result{}, nil
	case data == nil:
		if !ptr.Deref(h.plane.Status.Initialization.ControlPlaneInitialized, false) {
			h.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigUnavailableReason,
				"the service provides a kubeconfig when the installation has started")
		}
		return nil, ctrl.Result{}, nil
	}
	h.showKubeconfig(data)
	result, err := h.initialize(ctx, data)
	return data, result, err
}

// handOut is what is in the Secret of the kubeconfig, nil where there is none yet. The service's copy is written to it, and
// anew where the service has another; a service that has taken in an installed cluster has none. While the service's copy
// cannot be read, what is in the Secret is good enough.
func (h *kubeconfigHandout) handOut(ctx context.Context) ([]byte, error) {
	cluster := h.view.Observed.Cluster
	var which string
	switch {
	case cluster == nil:
		return nil, nil
	case cluster.Kubeconfig:
		which = model.KubeconfigFile
	case cluster.NoIngress:
		which = model.NoIngressFile
	}
	if which == "" && !h.view.Installed() {
		return nil, nil
	}
	have, err := clusterspec.KubeconfigSecret(ctx, h.client, h.live, h.key())
	if err == nil {
		err = h.labelKubeconfig(ctx, have)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if which == "" {
		return have.Data[secret.KubeconfigDataName], nil
	}
	kept := have.Data[secret.KubeconfigDataName]
	known, id, now := h.known.examine(h.key(), kept), cluster.ID+"/"+which, h.clock.Now()
	spoke := h.view.Observed.Spoke
	taken := spoke == nil || spoke.TroubleKind != model.TroubleCredentials
	if known.problem == nil && taken && known.copyOf == id && now.Sub(known.compared) < copyAgain {
		return kept, nil
	}
	data, err := h.serviceCopy(ctx, cluster.ID, which)
	if err != nil && known.problem == nil {
		h.noCopy = rewording.Error(err)
		return kept, nil
	}
	if err != nil {
		return nil, err
	}
	if data, err = h.keepKubeconfig(ctx, have, data); err == nil && bytes.Equal(data, kept) {
		h.known.isCopy(h.key(), id, now)
	}
	return data, err
}

// serviceCopy is a kubeconfig as the service has it.
func (h *kubeconfigHandout) serviceCopy(ctx context.Context, id, which string) ([]byte, error) {
	service, err := h.installations.Service(h.plane.Namespace)
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
func (h *kubeconfigHandout) labelKubeconfig(ctx context.Context, have *corev1.Secret) error {
	if _, has := have.Labels[clusterv1.ClusterNameLabel]; has {
		return nil
	}
	before := have.DeepCopy()
	metav1.SetMetaDataLabel(&have.ObjectMeta, clusterv1.ClusterNameLabel, h.cluster.Name)
	if err := h.client.Patch(ctx, have, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("label Secret %s: %w", have.Name, err)
	}
	return nil
}

// keepKubeconfig writes the service's copy where it was not written yet, and says what the Secret has then.
func (h *kubeconfigHandout) keepKubeconfig(ctx context.Context, have *corev1.Secret, data []byte) ([]byte, error) {
	digest := fmt.Sprintf("%x", sha256.Sum256(data))
	if have.ResourceVersion == "" {
		owner := *metav1.NewControllerRef(h.plane, controlplanev1.GroupVersion().WithKind("OpenshiftAssistedControlPlane"))
		made := capikubeconfig.GenerateSecretWithOwner(h.key(), data, owner)
		made.Annotations = map[string]string{annotationTaken: digest}
		if err := h.client.Create(ctx, made); err != nil {
			return nil, fmt.Errorf("write Secret %s: %w", made.Name, err)
		}
		return data, nil
	}
	kept := have.Data[secret.KubeconfigDataName]
	if h.known.examine(h.key(), kept).problem == nil && have.Annotations[annotationTaken] == digest {
		return kept, nil
	}
	metav1.SetMetaDataAnnotation(&have.ObjectMeta, annotationTaken, digest)
	return data, h.writeKubeconfig(ctx, have, data)
}

// writeKubeconfig replaces what the Secret has.
func (h *kubeconfigHandout) writeKubeconfig(ctx context.Context, have *corev1.Secret, data []byte) error {
	have.Data = map[string][]byte{secret.KubeconfigDataName: data}
	if err := h.client.Update(ctx, have); err != nil {
		return fmt.Errorf("write Secret %s: %w", have.Name, err)
	}
	return nil
}

// showKubeconfig says that there is a kubeconfig, and why it may not be the service's, or that its certificate is about to
// end.
func (h *kubeconfigHandout) showKubeconfig(data []byte) {
	known := h.known.examine(h.key(), data)
	if known.hasEnd && known.ends.Sub(h.clock.Now()) < expiresSoon {
		h.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionFalse, controlplanev1.KubeconfigExpiresReason,
			fmt.Sprintf("the certificate of the kubeconfig expires at %s: make another one with "+
				"`oc config new-admin-kubeconfig`, and put it into the Secret %s",
				known.ends.UTC().Format(time.RFC3339), h.kubeconfigSecret().Name))
		return
	}
	h.set(controlplanev1.KubeconfigAvailableCondition, metav1.ConditionTrue, controlplanev1.KubeconfigAvailableCondition, h.noCopy)
}

// certificateEnds is when the client's certificate in a kubeconfig ends.
func certificateEnds(data []byte) (time.Time, bool) {
	config, err := workloadclient.Connector{}.Config(data)
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
func (h *kubeconfigHandout) initialize(ctx context.Context, data []byte) (ctrl.Result, error) {
	if ptr.Deref(h.plane.Status.Initialization.ControlPlaneInitialized, false) {
		return ctrl.Result{}, nil
	}
	if err := h.answers(ctx, data); err != nil {
		h.set(controlplanev1.InitializedCondition, metav1.ConditionFalse, "WaitingForAPIServer",
			"the API server of the cluster does not answer yet: "+err.Error())
		return ctrl.Result{RequeueAfter: max(soon, h.clock.Wall(probeEvery))}, nil //nolint:nilerr // the condition says it, and it is asked again
	}
	h.plane.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	h.set(controlplanev1.InitializedCondition, metav1.ConditionTrue, controlplanev1.InitializedCondition, "")
	h.recorder.Eventf(h.plane, h.cluster, corev1.EventTypeNormal, "Initialized", "Install", "the API server of the cluster answers")
	return ctrl.Result{}, nil
}

// probeTakes is how long an API server may take to say whether it is ready.
const probeTakes = 5 * time.Second

// NewReadyCheck reports why the API server that a kubeconfig names does not take requests, nil where it does:
// it is asked for /readyz.
func NewReadyCheck(by workloadclient.Connector) func(ctx context.Context, kubeconfig []byte) error {
	return func(ctx context.Context, data []byte) error {
		c, err := workloadclient.Connect(data, workloadclient.Options{Config: by.Config, Timeout: probeTakes})
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
