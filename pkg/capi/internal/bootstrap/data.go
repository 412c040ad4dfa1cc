package bootstrap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/capi/internal/userdata"
	"github.com/oaictl/oaictl/pkg/install/model"
)

const (
	secretValue  = "value"
	secretFormat = "format"
	ignition     = "ignition"
	// AnnotationData is on a data Secret; its value is a digest of what the Secret was made of, so that the Secret is
	// made again only if that has changed.
	AnnotationData = "oaictl.io/made-of"
)

// userData hands out the discovery Ignition of the machine's InfraEnv, once it is there, and anew as
// long as the machine has not booted.
func (s *scope) userData(ctx context.Context) error {
	have, err := s.secret(ctx)
	if err != nil {
		return err
	}
	if have != nil && s.hasBooted() {
		s.dataIsThere()
		return nil
	}
	env, ready := s.image()
	if !ready {
		return nil
	}
	added, err := userdata.ConfigOf(s.config)
	if err != nil {
		s.failData(bootstrapv1.CreatingSecretFailedReason, err.Error())
		return nil
	}
	added.DiscoveryOverride = nil // the service has merged it into what it hands out
	mark, err := madeOf(env, added)
	if err != nil {
		return err
	}
	if have != nil && have.Annotations[AnnotationData] == mark {
		s.dataIsThere()
		return nil
	}
	service, err := s.Installations.Service(s.config.Namespace)
	if err != nil {
		return err
	}
	var discovery bytes.Buffer
	if err := service.DownloadInfraEnvFile(ctx, env.ID, "discovery.ign", &discovery); err != nil {
		s.failData(bootstrapv1.CreatingSecretFailedReason, "cannot read the discovery Ignition: "+rewording.Error(err))
		return err
	}
	data, err := userdata.Discovery(discovery.Bytes(), added)
	if err != nil {
		s.failData(bootstrapv1.CreatingSecretFailedReason, err.Error())
		return nil // what is wrong is in the config
	}
	return s.writeSecret(ctx, have, data, mark)
}

// emptySecret lets a machine boot that needs no user data.
func (s *scope) emptySecret(ctx context.Context) error {
	if s.view != nil && s.way != machines.Pool && s.isHeld() && !s.hasBooted() {
		s.waitForData(bootstrapv1.WaitingForInstallCompleteReason, held)
		return nil
	}
	have, err := s.secret(ctx)
	if err != nil {
		return err
	}
	if have != nil {
		s.dataIsThere()
		return nil
	}
	return s.writeSecret(ctx, nil, nil, "")
}

const held = "the machine joins once the cluster is installed"

// image is the InfraEnv of the machine, once its image can be booted; else the condition says why not.
func (s *scope) image() (*model.InfraEnv, bool) {
	env := s.view.InfraEnv(s.config.Name)
	switch {
	case s.isHeld() && !s.hasBooted():
		s.waitForData(bootstrapv1.WaitingForInstallCompleteReason, held)
		return nil, false
	case env == nil || env.Image.State == model.ImagePending:
		s.waitForData(bootstrapv1.WaitingForInfraEnvReason, "waiting for the discovery image of InfraEnv "+s.config.Name)
		return nil, false
	case env.Image.State == model.ImageFailed:
		s.failData(bootstrapv1.InfraEnvFailedReason, env.Image.Info)
		return nil, false
	}
	return env, true
}

// hasBooted reports whether the machine has got what it boots: it is not to be given anything else.
func (s *scope) hasBooted() bool {
	return s.host != nil || s.machine.Spec.ProviderID != "" || ptr.Deref(s.machine.Status.Initialization.InfrastructureProvisioned, false)
}

// madeOf is a digest of what a data Secret is made of.
func madeOf(env *model.InfraEnv, added userdata.Config) (string, error) {
	data, err := json.Marshal(struct {
		ID      string
		Created time.Time
		Added   userdata.Config
	}{env.ID, env.Image.Created, added})
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), err
}

// WithoutData makes a cache keep bootstrap data Secrets without the data: that is large, secret, and read by none but
// the machines' infrastructure providers. Other Secrets stay whole.
func WithoutData(object any) (any, error) {
	secret, is := object.(*corev1.Secret)
	if !is {
		return object, nil
	}
	secret.ManagedFields = nil
	if _, has := secret.Data[secretFormat]; has {
		delete(secret.Data, secretValue)
	}
	return secret, nil
}

// secret is the data Secret; nil where there is none. The cache has the Secrets with the label of a Cluster, which are
// those of this provider. The Secret of another project may be without it: the API server is asked for that one only where
// the machine has booted, where config or Machine name a data Secret, and where a new Secret cannot be created because one
// is there.
func (s *scope) secret(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := s.Client.Get(ctx, client.ObjectKeyFromObject(s.config), secret)
	if apierrors.IsNotFound(err) {
		if s.config.Status.DataSecretName == "" && s.machine.Spec.Bootstrap.DataSecretName == nil && !s.hasBooted() {
			return nil, nil
		}
		return s.uncachedSecret(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read the data Secret %s: %w", s.config.Name, err)
	}
	return s.owned(ctx, secret)
}

// uncachedSecret is the data Secret as the API server has it; nil where there is none.
func (s *scope) uncachedSecret(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := s.Live.Get(ctx, client.ObjectKeyFromObject(s.config), secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the data Secret %s: %w", s.config.Name, err)
	}
	return s.owned(ctx, secret)
}

// owned refuses a Secret that the config does not own. A Secret that the config owns without being its controller was
// made by another project, and is taken over with its data.
func (s *scope) owned(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	if !slices.ContainsFunc(secret.OwnerReferences, s.isConfig) {
		message := fmt.Sprintf("Secret %s is there and is not the config's: delete it, or name the config otherwise", s.config.Name)
		s.failData(bootstrapv1.CreatingSecretFailedReason, message)
		return nil, fmt.Errorf("write the data Secret: %s", message)
	}
	if metav1.IsControlledBy(secret, s.config) && secret.Labels[clusterv1.ClusterNameLabel] != "" {
		return secret, nil
	}
	return s.takeOver(ctx, secret)
}

func (s *scope) isConfig(owner metav1.OwnerReference) bool { return owner.UID == s.config.UID }

// takeOver makes a data Secret that the config owns one as it is made here, except for its data.
func (s *scope) takeOver(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	changed := secret.DeepCopy()
	metav1.SetMetaDataLabel(&changed.ObjectMeta, clusterv1.ClusterNameLabel, s.cluster.Name)
	changed.OwnerReferences = append(slices.DeleteFunc(changed.OwnerReferences, s.isConfig), s.controllerRef())
	if err := s.Client.Patch(ctx, changed, client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{})); err != nil {
		s.failData(bootstrapv1.CreatingSecretFailedReason, err.Error())
		return nil, fmt.Errorf("take over the data Secret %s: %w", secret.Name, err)
	}
	return changed, nil
}

func (s *scope) controllerRef() metav1.OwnerReference {
	return *metav1.NewControllerRef(s.config, bootstrapv1.GroupVersion().WithKind("OpenshiftAssistedConfig"))
}

func (s *scope) writeSecret(ctx context.Context, have *corev1.Secret, data []byte, mark string) error {
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.config.Name, Namespace: s.config.Namespace,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: s.cluster.Name},
			OwnerReferences: []metav1.OwnerReference{s.controllerRef()},
		},
		Type: clusterv1.ClusterSecretType,
		Data: map[string][]byte{secretValue: data, secretFormat: []byte(ignition)},
	}
	if mark != "" {
		want.Annotations = map[string]string{AnnotationData: mark}
	}
	var err error
	if have == nil {
		err = s.Client.Create(ctx, want)
		if apierrors.IsAlreadyExists(err) {
			if have, err = s.uncachedSecret(ctx); err != nil {
				return err
			}
			if have != nil && (mark == "" || s.hasBooted()) {
				s.dataIsThere()
				return nil
			}
		}
	}
	if have != nil {
		want.ResourceVersion = have.ResourceVersion
		err = s.Client.Update(ctx, want)
	}
	if err != nil {
		s.failData(bootstrapv1.CreatingSecretFailedReason, err.Error())
		return fmt.Errorf("write the data Secret %s: %w", want.Name, err)
	}
	s.dataIsThere()
	return nil
}

func (s *scope) dataIsThere() {
	s.config.Status.DataSecretName = s.config.Name
	s.config.Status.Initialization.DataSecretCreated = ptr.To(true)
	s.set(bootstrapv1.DataSecretAvailableCondition, metav1.ConditionTrue, bootstrapv1.DataSecretAvailableReason, "")
}
