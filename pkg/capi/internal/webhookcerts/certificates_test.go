package webhookcerts

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// hand is a clock that is set by hand.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (c *hand) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}
func (c *hand) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
func (c *hand) Sleep(context.Context, time.Duration) error { return errors.New("nobody sleeps here") }
func (c *hand) Wall(d time.Duration) time.Duration         { return d }

const (
	service   = "webhooks"
	namespace = "ours"
	day       = 24 * time.Hour
)

func hooks(name string, services ...string) *unstructured.Unstructured {
	var list []any
	for _, each := range services {
		list = append(list, map[string]any{"name": each + ".example.com", "clientConfig": map[string]any{"service": map[string]any{"name": each, "namespace": namespace}}})
	}
	u := &unstructured.Unstructured{Object: map[string]any{"webhooks": list}}
	u.SetAPIVersion("admissionregistration.k8s.io/v1")
	u.SetKind("ValidatingWebhookConfiguration")
	u.SetName(name)
	return u
}

func converted(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"conversion": map[string]any{"webhook": map[string]any{
		"clientConfig": map[string]any{"service": map[string]any{"name": service, "namespace": namespace}},
	}}}}}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	u.SetName(name)
	return u
}

func newKeeper(t *testing.T, clock *hand, objects ...client.Object) *Keeper {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := kubescheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, &unstructured.Unstructured{})
	return &Keeper{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), Namespace: namespace, Secret: "certificate", Services: []string{service},
		Labels:  map[string]string{"provider": "x"},
		Callers: []Caller{{"ValidatingWebhookConfiguration", "ours"}, {"CustomResourceDefinition", "kinds"}, {"MutatingWebhookConfiguration", "not-there"}},
		Clock:   clock, Log: logr.Discard(),
	}
}

func (k *Keeper) ensured(t *testing.T) {
	t.Helper()
	if err := k.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// leaf is the certificate that is served, and fails the test where it is not trusted by bundle.
func (k *Keeper) leaf(t *testing.T, bundle []byte) *x509.Certificate {
	t.Helper()
	serving, err := k.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(serving.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		t.Fatal("there is no authority")
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: service + "." + namespace + ".svc", CurrentTime: k.Clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		t.Errorf("the API server does not trust the certificate: %v", err)
	}
	return leaf
}

// bundles are what a caller trusts.
func (k *Keeper) bundles(t *testing.T, caller Caller) [][]byte {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersions[caller.Kind])
	u.SetKind(caller.Kind)
	if err := k.Client.Get(t.Context(), client.ObjectKey{Name: caller.Name}, u); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, config := range clientConfigs(u) {
		text, _ := config["caBundle"].(string)
		bundle, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bundle)
	}
	return all
}

func TestKeeper(t *testing.T) {
	clock := &hand{now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)}
	foreign := hooks("foreign", service)
	k := newKeeper(t, clock, hooks("ours", service, "another-service"), converted("kinds"), foreign)
	if _, err := k.GetCertificate(nil); err == nil {
		t.Error("there is a certificate before any was made")
	}
	k.ensured(t)
	bundles := k.bundles(t, k.Callers[0])
	first := k.leaf(t, bundles[0])
	if len(bundles[1]) > 0 || len(k.bundles(t, Caller{"ValidatingWebhookConfiguration", "foreign"})[0]) > 0 {
		t.Error("what calls others was changed")
	}
	k.leaf(t, k.bundles(t, k.Callers[1])[0])

	t.Run("a second process takes the same", func(t *testing.T) {
		other := newKeeper(t, clock)
		other.Client = k.Client
		other.ensured(t)
		if !other.leaf(t, bundles[0]).Equal(first) {
			t.Error("it has made another certificate")
		}
	})
	t.Run("nothing is written while nothing is due", func(t *testing.T) {
		before := k.versions(t)
		clock.pass(200 * day)
		k.ensured(t)
		if after := k.versions(t); !slices.Equal(before, after) {
			t.Errorf("versions were %q, and are %q", before, after)
		}
	})
	t.Run("the certificate is renewed before its end", func(t *testing.T) {
		clock.pass(50 * day)
		k.ensured(t)
		if next := k.leaf(t, bundles[0]); next.Equal(first) || next.NotAfter.Before(clock.Now().Add(364*day)) {
			t.Errorf("after 250 days it ends at %s", next.NotAfter)
		}
	})
	t.Run("the authority is renewed, and the old one trusted for as long as it is good", func(t *testing.T) {
		old := k.bundles(t, k.Callers[0])[0]
		clock.pass(7 * 365 * day)
		k.ensured(t)
		bundle := k.bundles(t, k.Callers[0])[0]
		k.leaf(t, bundle)
		if len(bundle) < 2*len(old)-100 {
			t.Errorf("%d bytes of authorities after %d", len(bundle), len(old))
		}
		clock.pass(4 * 365 * day)
		k.ensured(t)
		if again := k.bundles(t, k.Callers[0])[0]; len(again) > len(old)+100 {
			t.Error("an authority is trusted after its end")
		}
	})
	t.Run("a Secret that was deleted comes back as it was", func(t *testing.T) {
		serving := k.leaf(t, k.bundles(t, k.Callers[0])[0])
		if err := k.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: k.Secret}}); err != nil {
			t.Fatal(err)
		}
		k.ensured(t)
		if !k.leaf(t, k.bundles(t, k.Callers[0])[0]).Equal(serving) {
			t.Error("another certificate is served")
		}
	})
	t.Run("a Secret that is broken is created again", func(t *testing.T) {
		for _, key := range []string{keyAuthority, keyAuthorityKey, keyCertificate, keyKey} {
			secret := &corev1.Secret{}
			if err := k.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: k.Secret}, secret); err != nil {
				t.Fatal(err)
			}
			secret.Data[key] = []byte("broken")
			if err := k.Client.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			k.ensured(t)
			k.leaf(t, k.bundles(t, k.Callers[1])[0])
		}
	})
	t.Run("an authority that was taken out comes back", func(t *testing.T) {
		u := hooks("ours", service)
		u.SetResourceVersion(k.versions(t)[0])
		if err := k.Client.Update(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		k.ensured(t)
		k.leaf(t, k.bundles(t, k.Callers[0])[0])
	})
}

// versions are those of what the keeper writes.
func (k *Keeper) versions(t *testing.T) []string {
	t.Helper()
	var versions []string
	for _, caller := range k.Callers[:2] {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(apiVersions[caller.Kind])
		u.SetKind(caller.Kind)
		if err := k.Client.Get(t.Context(), client.ObjectKey{Name: caller.Name}, u); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, u.GetResourceVersion())
	}
	secret := &corev1.Secret{}
	if err := k.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: k.Secret}, secret); err != nil {
		t.Fatal(err)
	}
	return append(versions, secret.ResourceVersion)
}

// TestKeeperTriesAgain: another process that starts writes the authority, too, and API servers write what they serve.
func TestKeeperTriesAgain(t *testing.T) {
	for conflicts, fails := range map[int]bool{0: false, 1: false, tries - 1: false, tries: true} {
		k := newKeeper(t, &hand{now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)}, hooks("ours", service), converted("kinds"))
		left := conflicts
		k.Client = interceptor.NewClient(k.Client.(client.WithWatch), interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
				if o.GetName() == "kinds" && left > 0 {
					left--
					return apierrors.NewConflict(schema.GroupResource{Resource: "customresourcedefinitions"}, "kinds", errors.New("it was changed meanwhile"))
				}
				return c.Patch(ctx, o, patch, options...)
			},
		})
		if err := k.Ensure(t.Context()); (err != nil) != fails {
			t.Errorf("after %d conflicts: %v", conflicts, err)
		}
		if trusts := len(k.bundles(t, k.Callers[1])[0]) > 0; trusts == fails {
			t.Errorf("after %d conflicts it trusts us: %v", conflicts, trusts)
		}
	}
}

// TestKeeperNamesTheConflict that keeps it from writing the Secret.
func TestKeeperNamesTheConflict(t *testing.T) {
	k := newKeeper(t, &hand{now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)})
	k.Client = interceptor.NewClient(k.Client.(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, k.Secret, errors.New("it was changed meanwhile"))
		},
	})
	if err := k.Ensure(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("it says %v", err)
	}
}

// TestKeeperLeavesCertManagerItsOwn: two that write the authority into one object undo each other.
func TestKeeperLeavesCertManagerItsOwn(t *testing.T) {
	u := hooks("ours", service)
	u.SetAnnotations(map[string]string{injected: "ours/serving-cert"})
	k := newKeeper(t, &hand{now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)}, u)
	if err := k.Ensure(t.Context()); !errors.Is(err, errTaken) {
		t.Errorf("got %v", err)
	}
	if len(k.bundles(t, k.Callers[0])[0]) > 0 {
		t.Error("it was written into")
	}
}
