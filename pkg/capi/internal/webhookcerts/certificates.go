// Package webhookcerts makes the certificates of webhooks where no other component does: an authority and a certificate
// of its own, which are kept in a Secret that all processes share, and renewed long before they expire. The authority
// is written into the webhook configurations and kinds that call the webhooks, and into no others.
package webhookcerts

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// Caller is an object that makes the API server call webhooks.
type Caller struct {
	// Kind is CustomResourceDefinition, MutatingWebhookConfiguration or
	// ValidatingWebhookConfiguration.
	Kind, Name string
}

// Keeper keeps the certificate of webhooks. It is safe for concurrent use.
type Keeper struct {
	// Client reads and writes without a cache.
	Client client.Client
	// Namespace is that of the Secret, and of the Services that lead to the webhooks.
	Namespace, Secret string
	Services          []string
	// Labels are on the Secret.
	Labels map[string]string
	// Callers are the objects that call the webhooks.
	Callers []Caller
	Clock   clock.Clock
	Log     logr.Logger

	mu   sync.Mutex
	have *material
}

// again is how often the Secret and the callers are checked: a user who applies their manifests again removes the
// authority from them.
const again = time.Minute

// errTaken says that another component writes the authority into a caller.
var errTaken = errors.New("cert-manager writes another authority into it (annotation " + injected +
	"): apply the manifests that are made for self-managed certificates")

const injected = "cert-manager.io/inject-ca-from"

// NeedLeaderElection says that every process keeps its certificate.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start keeps the certificate until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	for k.Clock.Sleep(ctx, again) == nil {
		if err := k.Ensure(ctx); err != nil && ctx.Err() == nil {
			k.Log.Error(err, "cannot keep the certificate of the webhooks; it is tried again", "secret", k.Secret)
		}
	}
	return nil
}

// GetCertificate is the certificate to serve with.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.have == nil {
		return nil, errors.New("there is no certificate yet")
	}
	serving := k.have.serving
	return &serving, nil
}

// Ensure makes sure that there is a certificate that is valid for some time, and that all callers trust it.
func (k *Keeper) Ensure(ctx context.Context) error {
	now, err := k.ensureSecret(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, caller := range k.Callers { // they trust it before it is shown
		if err := k.trust(ctx, caller, now.bundle()); err != nil {
			failed = append(failed, fmt.Errorf("have %s %s trust the certificate: %w", caller.Kind, caller.Name, err))
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.have == nil || len(failed) == 0 {
		k.have = now
	}
	return errors.Join(failed...)
}

// tries is how often is written what another process writes, too.
const tries = 5

func (k *Keeper) ensureSecret(ctx context.Context) (*material, error) {
	key := client.ObjectKey{Namespace: k.Namespace, Name: k.Secret}
	var names []string
	for _, service := range k.Services {
		names = append(names, service+"."+k.Namespace+".svc", service+"."+k.Namespace+".svc.cluster.local")
	}
	var err error
	for range tries {
		secret := &corev1.Secret{}
		err = k.Client.Get(ctx, key, secret)
		missing := apierrors.IsNotFound(err)
		if err != nil && !missing {
			return nil, fmt.Errorf("read Secret %s: %w", key, err)
		}
		k.mu.Lock()
		have := k.have // where the Secret was deleted, it is created again of this
		k.mu.Unlock()
		if !missing {
			if have, err = read(secret.Data); err != nil {
				k.Log.Info("the Secret with the certificate of the webhooks is created again", "secret", k.Secret, "reason", err.Error())
				have = nil
			}
		}
		next, failed := have.renewed(names, k.Clock.Now())
		if failed != nil {
			return nil, failed
		}
		if !missing && next == have {
			return next, nil
		}
		if secret.Data, err = next.write(); err != nil {
			return nil, err
		}
		if missing {
			secret.Namespace, secret.Name, secret.Type, secret.Labels = k.Namespace, k.Secret, corev1.SecretTypeTLS, maps.Clone(k.Labels)
			err = k.Client.Create(ctx, secret)
		} else {
			err = k.Client.Update(ctx, secret)
		}
		switch {
		case err == nil:
			k.Log.Info("made a certificate for the webhooks", "secret", k.Secret, "ends", k.Clock.Now().Add(servingLife).UTC().Format(time.RFC3339))
			return next, nil
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return nil, fmt.Errorf("write Secret %s: %w", key, err)
		}
	}
	return nil, fmt.Errorf("write Secret %s: %w", key, err)
}

// apiVersions are those of the kinds of callers.
var apiVersions = map[string]string{
	"CustomResourceDefinition":       "apiextensions.k8s.io/v1",
	"MutatingWebhookConfiguration":   "admissionregistration.k8s.io/v1",
	"ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
}

// trust makes a caller trust the authorities where it calls our Services. A caller that is not there is skipped: once
// it is installed, it is found by a later check.
func (k *Keeper) trust(ctx context.Context, caller Caller, bundle []byte) (err error) {
	for range tries {
		if err = k.trustOnce(ctx, caller, bundle); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func (k *Keeper) trustOnce(ctx context.Context, caller Caller, bundle []byte) error {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersions[caller.Kind])
	u.SetKind(caller.Kind)
	if err := k.Client.Get(ctx, client.ObjectKey{Name: caller.Name}, u); err != nil {
		return client.IgnoreNotFound(err)
	}
	changed := u.DeepCopy()
	found := false
	for _, config := range clientConfigs(changed) {
		service, _ := config["service"].(map[string]any)
		name, _ := service["name"].(string)
		if service["namespace"] != k.Namespace || !slices.Contains(k.Services, name) {
			continue
		}
		text, _ := config["caBundle"].(string)
		have, err := base64.StdEncoding.DecodeString(text)
		if err == nil && bytes.Equal(have, bundle) {
			continue
		}
		config["caBundle"], found = base64.StdEncoding.EncodeToString(bundle), true
	}
	if !found {
		return nil
	}
	if u.GetAnnotations()[injected] != "" {
		return errTaken
	}
	return k.Client.Patch(ctx, changed, client.MergeFromWithOptions(u, client.MergeFromWithOptimisticLock{}))
}

// clientConfigs are the parts of an object that say which servers the API server calls.
func clientConfigs(u *unstructured.Unstructured) []map[string]any {
	var configs []map[string]any
	if conversion, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "conversion", "webhook", "clientConfig"); conversion != nil {
		if config, is := conversion.(map[string]any); is {
			configs = append(configs, config)
		}
	}
	hooks, _, _ := unstructured.NestedFieldNoCopy(u.Object, "webhooks")
	list, _ := hooks.([]any)
	for _, each := range list {
		hook, _ := each.(map[string]any)
		if config, is := hook["clientConfig"].(map[string]any); is {
			configs = append(configs, config)
		}
	}
	return slices.Clip(configs)
}
