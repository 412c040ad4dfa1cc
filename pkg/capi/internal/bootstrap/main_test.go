package bootstrap_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/oaictl/oaictl/internal/shared/clock"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/bootstrap"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// file is a cluster whose only host registers from the InfraEnv of the config.
const file = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20.1"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24]}
  topology: {controlPlane: 1}
  hosts:
  - {name: m, role: control-plane, match: {infraEnv: boot}}
`

var made = time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)

// still is a clock that stands.
type still struct{ clock.Clock }

func (still) Now() time.Time { return made.Add(time.Hour) }

// service plays a service that shows what a test sets, and records what it was asked to delete.
type service struct {
	install.Backend

	observed model.Observed
	hosts    map[string][]model.Host // of InfraEnvs
	fails    error                   // of deletions
	lists    error                   // of lists of InfraEnvs
	mute     bool                    // lists of hosts are not answered
	deleted  []string
}

func (s *service) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	shown := s.observed
	shown.InfraEnvs, shown.Hosts = slices.Clone(shown.InfraEnvs), slices.Clone(shown.Hosts)
	return &shown, nil
}

// Act forgets hosts, and does nothing else.
func (s *service) Act(_ context.Context, _ *model.Desired, a model.Action) error {
	if a.Kind == model.RemoveHost {
		s.observed.Hosts = slices.DeleteFunc(s.observed.Hosts, func(h model.Host) bool { return h.ID == a.Target })
	}
	return nil
}

// DownloadInfraEnvFile says in the file which image it belongs to.
func (s *service) DownloadInfraEnvFile(_ context.Context, id, file string, out io.Writer) error {
	_, err := fmt.Fprintf(out, `{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":"/etc/%s-of-%s","contents":{"source":"data:,%d"}}]}}`,
		file, id, s.observed.InfraEnvs[0].Image.Created.Unix())
	return err
}

func (s *service) ListInfraEnvs(_ context.Context, cluster string) ([]model.InfraEnv, error) {
	if s.lists != nil {
		return nil, s.lists
	}
	return slices.DeleteFunc(slices.Clone(s.observed.InfraEnvs), func(e model.InfraEnv) bool { return e.ClusterID != cluster }), nil
}

func (s *service) ListHosts(ctx context.Context, id string) ([]model.Host, error) {
	if s.mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if hosts, there := s.hosts[id]; there {
		return hosts, nil
	}
	return nil, &model.Fault{Code: model.CodeNotFound, On: id}
}

func (s *service) DeleteHost(_ context.Context, env, id string, _ install.DeleteOptions) error {
	s.deleted = append(s.deleted, "host "+env+" "+id)
	return s.fails
}

func (s *service) DeleteInfraEnv(_ context.Context, id string, _ install.DeleteOptions) error {
	s.deleted = append(s.deleted, "InfraEnv "+id)
	return s.fails
}

func (s *service) Close() {}

// bench is a config with its Machine and Cluster, and the reconciler.
type bench struct {
	t          *testing.T
	client     client.Client
	service    *service
	set        *clusterloop.Set
	wanted     *spec.Cluster
	options    model.Options // of what is desired
	refuses    error         // why nothing is desired
	observes   bool          // what there is can be observed all the same
	reconciler *bootstrap.Reconciler
	written    []string // by the reconciler
	// patched is called with each object that the reconciler has patched and the error of the patch, and returns the
	// error that the reconciler gets.
	patched func(client.Object, error) error
}

// start makes the objects, which change may alter, or take out by their kinds.
func start(t *testing.T, change ...func(objects map[string]client.Object)) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	labels := map[string]string{clusterv1.ClusterNameLabel: "lab"}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "lab", UID: "cluster"}}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	machine := &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: "machine", Labels: labels},
		Spec: clusterv1.MachineSpec{ClusterName: "lab", Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
			APIGroup: bootstrapv1.Group, Kind: bootstrapv1.ConfigKind, Name: "boot",
		}}},
	}
	config := &bootstrapv1.OpenshiftAssistedConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "boot", UID: "config", Labels: labels,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m", UID: "machine", Controller: ptr.To(true)}},
	}}
	objects := map[string]client.Object{"Cluster": cluster, "Machine": machine, "Config": config}
	for _, c := range change {
		c(objects)
	}
	b := &bench{t: t, service: &service{hosts: map[string][]model.Host{}}}
	b.service.observed = model.Observed{
		At:      made.Add(time.Hour),
		Cluster: &model.Cluster{ClusterRef: model.ClusterRef{ID: "id", Name: "lab", BaseDomain: "example.com", Owned: true}, State: model.ClusterDiscovering},
		InfraEnvs: []model.InfraEnv{{
			ID: "env", Name: "boot", ClusterID: "id", Owned: true, Image: model.Image{State: model.ImageReady, URL: "http://images/1", Created: made},
		}},
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(cluster, machine, config)
	for _, o := range objects {
		builder = builder.WithObjects(o)
	}
	b.client = builder.Build()
	env := spec.Env{LookupEnv: func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dTpw"}}}`, true }}
	wanted, err := spec.Parse(t.Context(), "cluster.yaml", []byte(file), env)
	if err != nil {
		t.Fatal(err)
	}
	b.wanted = wanted
	b.set = clusterloop.New(clusterloop.Config{
		Connect: func(string) (install.Backend, error) { return b.service, nil },
		Desire: func(context.Context, clusterloop.Key, *model.Observed) (*model.Desired, error) {
			if b.refuses != nil && !b.observes {
				return nil, b.refuses
			}
			return &model.Desired{Spec: b.wanted, Options: b.options}, b.refuses
		},
		Clock: still{clock.Real()}, Wake: func(clusterloop.Key, []model.Scope) {},
	})
	b.reconciler = &bootstrap.Reconciler{Client: b.watched(), Live: b.client, Installations: b.set, Recorder: events.NewFakeRecorder(1000), Clock: still{clock.Real()}, Status: status.New(still{clock.Real()})}
	return b
}

// startLiveISO is start with a Machine whose Metal3Machine has an image that it boots by live ISO, and a BareMetalHost.
func startLiveISO(t *testing.T, change ...func(objects map[string]client.Object)) *bench {
	t.Helper()
	return start(t, append([]func(map[string]client.Object){func(o map[string]client.Object) {
		o["Machine"].(*clusterv1.Machine).Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
			APIGroup: "infrastructure.cluster.x-k8s.io", Kind: machines.KindMetal3Machine, Name: "infra",
		}
		o["CustomResourceDefinition"] = &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
			Name: "metal3machines.infrastructure.cluster.x-k8s.io", Labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1beta2"},
		}}
		o["Metal3Machine"] = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": machines.KindMetal3Machine,
			"metadata": map[string]any{"namespace": "ns", "name": "infra", "annotations": map[string]any{"metal3.io/BareMetalHost": "ns/bare"}},
			"spec":     map[string]any{"image": map[string]any{"url": "http://images/before", "checksum": "", "diskFormat": "live-iso"}},
		}}
		o["BareMetalHost"] = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": map[string]any{"namespace": "ns", "name": "bare"},
		}}
	}}, change...)...)
}

// watched is the reconciler's client. Its writes are recorded. Of Secrets it has those that a manager's cache has.
func (b *bench) watched() client.Client {
	note := func(what string, o client.Object) {
		b.written = append(b.written, fmt.Sprintf("%s %s %s", what, strings.TrimPrefix(fmt.Sprintf("%T", o), "*"), o.GetName()))
	}
	inner, is := b.client.(client.WithWatch)
	if !is {
		b.t.Fatal("the client does not watch")
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			err := c.Get(ctx, key, o, options...)
			if _, is := o.(*corev1.Secret); is && err == nil && o.GetLabels()[clusterv1.ClusterNameLabel] == "" {
				return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
			}
			return err
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			note("create", o)
			return c.Create(ctx, o, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			note("update", o)
			return c.Update(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			note("patch", o)
			err := c.Patch(ctx, o, patch, options...)
			if b.patched != nil {
				err = b.patched(o, err)
			}
			return err
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			note("patch "+name+" of", o)
			return c.SubResource(name).Patch(ctx, o, patch, options...)
		},
	})
}

// reconcile reconciles the config until nothing more is written, and returns the last error.
func (b *bench) reconcile() error {
	b.t.Helper()
	b.set.Changed(clusterloop.Key{Namespace: "ns", Name: "lab"})
	for range 10 {
		before := len(b.written)
		_, err := b.reconciler.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "boot"}})
		if err != nil || len(b.written) == before {
			return err
		}
	}
	b.t.Fatalf("it writes again and again: %q", b.written)
	return nil
}

func (b *bench) mustReconcile() {
	b.t.Helper()
	if err := b.reconcile(); err != nil {
		b.t.Fatal(err)
	}
}

// get is an object as it is now; false where there is none.
func (b *bench) get(o client.Object, name string) bool {
	b.t.Helper()
	err := b.client.Get(b.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		b.t.Fatal(err)
	}
	return err == nil
}

func (b *bench) config() *bootstrapv1.OpenshiftAssistedConfig {
	b.t.Helper()
	config := &bootstrapv1.OpenshiftAssistedConfig{}
	if !b.get(config, "boot") {
		b.t.Fatal("there is no config")
	}
	return config
}

// secret is the data Secret; nil where there is none.
func (b *bench) secret() *corev1.Secret {
	b.t.Helper()
	list := &corev1.SecretList{}
	if err := b.client.List(b.t.Context(), list, client.InNamespace("ns")); err != nil {
		b.t.Fatal(err)
	}
	switch len(list.Items) {
	case 0:
		return nil
	case 1:
		return &list.Items[0]
	}
	b.t.Fatalf("there are %d Secrets", len(list.Items))
	return nil
}
