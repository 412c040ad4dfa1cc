package clusterspec

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/workloadclient"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/fieldmap"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// AnnotationOpenShiftID is on the control plane of an installed cluster: what the cluster calls itself. By it
// the cluster is known to be installed where its status is lost, and the service has no record of it: after
// a move to another management cluster.
const AnnotationOpenShiftID = "oaictl.io/openshift-id"

// isInstalled reports whether a cluster is installed, by any service. Once installed, it stays so.
func isInstalled(c *Cluster, observed *model.Observed) bool {
	return c.ControlPlane.Annotations[AnnotationOpenShiftID] != "" || observed != nil && observed.Cluster != nil &&
		observed.Cluster.State.Installed()
}

// installed is a cluster that is installed already, as far as that concerns hosts that are added: how it is installed
// is no matter any more. If the service has no record of it, the cluster has to answer and prove that it is the
// installed one before it is imported.
func (s *Source) installed(ctx context.Context, c *Cluster, observed *model.Observed) (*spec.Cluster, error) {
	config := &c.ControlPlane.Spec.Config
	imported := &spec.Import{ClusterID: c.ControlPlane.Annotations[AnnotationOpenShiftID]}
	kubeconfig, err := s.importedKubeconfig(ctx, c)
	if err == nil && observed != nil && observed.Cluster == nil {
		err = s.prove(ctx, c, kubeconfig, imported.ClusterID)
	}
	if err != nil {
		return nil, err
	}
	imported.Kubeconfig = spec.NewSecret(kubeconfig).Source()
	out := &spec.Cluster{APIVersion: spec.APIVersion, Kind: spec.Kind, Metadata: spec.Metadata{Name: nameOf(c)}}
	to := &out.Spec
	to.BaseDomain = config.BaseDomain
	to.OpenShift = spec.OpenShift{Version: strings.TrimPrefix(c.ControlPlane.Spec.DistributionVersion, "v"), Arch: archOf(c)}
	to.Import = imported
	to.Network.NTP, to.Network.Defaults.NTP = config.NTPSources, config.AdditionalNTPSources
	to.SSHKeys = sshKeys(config.SSHAuthorizedKey)
	to.Proxy = fieldmap.Proxy(config.Proxy)
	if to.PullSecret, err = s.pullSecret(ctx, c.Namespace, config.PullSecretRef); err != nil {
		return nil, fmt.Errorf("spec.config.pullSecretRef: %w", err)
	}
	if err := s.registry(ctx, c, &to.Registry); err != nil {
		return nil, err
	}
	return out, s.ignitionEndpoint(ctx, c, to)
}

// Kubeconfig is that by which an installed cluster is reached.
func (s *Source) Kubeconfig(ctx context.Context, cluster clusterloop.Key) ([]byte, error) {
	found, err := KubeconfigSecret(ctx, s.Client, s.Live, cluster)
	if err != nil {
		return nil, err
	}
	data := found.Data[secret.KubeconfigDataName]
	return data, CheckKubeconfig(cluster, data)
}

// CheckKubeconfig refuses a kubeconfig of a Cluster by which no cluster is called.
func CheckKubeconfig(cluster clusterloop.Key, data []byte) error {
	if err := workloadclient.Check(data); err != nil {
		return fmt.Errorf("the kubeconfig in Secret %s cannot be used: %w", secret.Name(cluster.Name, secret.Kubeconfig), err)
	}
	return nil
}

// KubeconfigSecret is the Secret of a Cluster's kubeconfig, an empty one with the error where there is none. The cache
// has only what carries the label of its Cluster, and a user who makes the Secret by hand may leave the label out.
func KubeconfigSecret(ctx context.Context, cached, live client.Reader, cluster clusterloop.Key) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: secret.Name(cluster.Name, secret.Kubeconfig)}
	found := &corev1.Secret{}
	err := cached.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		err = live.Get(ctx, key, found)
	}
	if err != nil {
		return &corev1.Secret{}, fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	return found, nil
}

// importedKubeconfig is that of an installed cluster, as a service takes it in.
func (s *Source) importedKubeconfig(ctx context.Context, c *Cluster) (string, error) {
	found, err := KubeconfigSecret(ctx, s.Client, s.Live, client.ObjectKeyFromObject(c))
	if apierrors.IsNotFound(err) {
		return noKubeconfig, nil // it is written anew where the service has one
	}
	return string(found.Data[secret.KubeconfigDataName]), err
}

// noKubeconfig is used in the place of one that is missing: it reaches nothing.
const noKubeconfig = "{apiVersion: v1, kind: Config}"

// prove makes an installed cluster without a record in the service answer by its kubeconfig, and checks that it is the
// expected one.
func (s *Source) prove(ctx context.Context, c *Cluster, kubeconfig, id string) error {
	name := secret.Name(c.Name, secret.Kubeconfig)
	switch is, err := s.identifySeldom(ctx, client.ObjectKeyFromObject(c), kubeconfig); {
	case err != nil:
		return fmt.Errorf("Cluster %s is installed, but this service has no record of it, and it does not answer with the kubeconfig in "+
			"Secret %s: %w: %w", c.Name, name, err, clusterloop.ErrNotYet)
	case is != id:
		return &clusterloop.Refusal{Problems: []string{fmt.Sprintf("the kubeconfig in Secret %s reaches the cluster %s, but this one is "+
			"%s: put the kubeconfig of %[3]s into the Secret", name, is, id)}}
	}
	return nil
}

// identifyAgain is how long an installed cluster that did not answer is left alone.
const identifyAgain = 30 * time.Second

// silences are the installed clusters that did not answer lately.
type silences struct {
	mu sync.Mutex
	of map[clusterloop.Key]silence
}

// silence is that of one of them.
type silence struct {
	kubeconfig [sha256.Size]byte // the digest of the one by which it did not answer
	err        error
	at         time.Time
}

// identifySeldom is identify for a Cluster. All reconciles wait for the answer one after the other: a cluster that does
// not answer is not asked by the same kubeconfig again so soon.
func (s *Source) identifySeldom(ctx context.Context, cluster clusterloop.Key, kubeconfig string) (string, error) {
	now, digest := cmp.Or(s.Clock, clock.Real()).Now, sha256.Sum256([]byte(kubeconfig))
	s.silent.mu.Lock()
	last, is := s.silent.of[cluster]
	s.silent.mu.Unlock()
	if is && last.kubeconfig == digest && now().Sub(last.at) < identifyAgain {
		return "", last.err
	}
	id, err := s.identify(ctx, []byte(kubeconfig))
	s.silent.mu.Lock()
	defer s.silent.mu.Unlock()
	maps.DeleteFunc(s.silent.of, func(_ clusterloop.Key, old silence) bool { return now().Sub(old.at) >= identifyAgain })
	if err == nil || ctx.Err() != nil { // an end of ctx says nothing of the cluster
		return id, err
	}
	if s.silent.of == nil {
		s.silent.of = map[clusterloop.Key]silence{}
	}
	s.silent.of[cluster] = silence{kubeconfig: digest, err: err, at: now()}
	return "", err
}

// identify is what the cluster of a kubeconfig calls itself.
func (s *Source) identify(ctx context.Context, data []byte) (string, error) {
	if s.Identify != nil {
		return s.Identify(ctx, data)
	}
	c, err := workloadclient.Connect(data, workloadclient.Options{Config: s.Connector.Config, Timeout: identifyTakes})
	if err != nil {
		return "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	defer c.Close()
	versions := schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusterversions"}
	version, err := c.Dynamic.Resource(versions).Get(ctx, "version", metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read ClusterVersion version: %w", err)
	}
	id, _, _ := unstructured.NestedString(version.Object, "spec", "clusterID")
	return id, nil
}

// identifyTakes is how long a cluster may take to say what it is called.
const identifyTakes = 10 * time.Second
