package competitors

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func noon() time.Time { return time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC) }

func deployment(namespace, name, image string, replicas int32) client.Object {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image}}}}},
	}
}

func lease(name string, age time.Duration) client.Object {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: name}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("pod-1"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(noon().Add(-age))),
	}}
}

func engine(components ...any) client.Object {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"overrides": map[string]any{"components": components}}}}
	u.SetAPIVersion("multicluster.openshift.io/v1")
	u.SetKind("MultiClusterEngine")
	u.SetName("engine")
	return u
}

func component(name string, enabled bool) any {
	return map[string]any{"name": name, "enabled": enabled}
}

func definition(name, stored string) client.Object {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"versions": []any{
		map[string]any{"name": "other", "storage": false}, map[string]any{"name": stored, "storage": true},
	}}}}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	u.SetName(name)
	return u
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := kubescheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "multicluster.openshift.io", Version: "v1", Kind: "MultiClusterEngine"}, {Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	} {
		s.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		s.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	return s
}

func TestFind(t *testing.T) {
	const config = "openshiftassistedconfigs.bootstrap.cluster.x-k8s.io"
	all := Search{Infrastructure: true, Assisted: true}
	for name, c := range map[string]struct {
		search  Search
		objects []client.Object
		want    []string // the beginnings of what is found
	}{
		"nothing": {all, nil, nil},
		"the manager of a project, by its name": {
			all, []client.Object{deployment("capoa-bootstrap-system", "capoa-bootstrap-controller-manager", "registry.example.com/mirrored:1", 1)},
			[]string{"Deployment capoa-bootstrap-controller-manager in namespace capoa-bootstrap-system runs cluster-api-provider-openshift-assisted"},
		},
		"the manager of a project, by its image": {
			all, []client.Object{deployment("hosted-a", "capi-provider", "quay.io/x/origin-cluster-api-provider-agent@sha256:abc", 1)},
			[]string{"Deployment capi-provider in namespace hosted-a runs cluster-api-provider-agent"},
		},
		"a manager that is scaled down": {all, []client.Object{deployment("capoa-bootstrap-system", "capoa-bootstrap-controller-manager", "x", 0)}, nil},
		"our own":                       {all, []client.Object{deployment("oaictl-bootstrap-system", "oaictl-bootstrap-controller-manager", "ghcr.io/oaictl/oaictl:v0.1.0", 1)}, nil},
		"one of other kinds": {
			Search{Assisted: true}, []client.Object{deployment("cluster-api-provider-agent", "cluster-api-provider-agent-controller-manager", "x", 1), lease("7605f49b.agent-install.openshift.io", 0)}, nil,
		},
		"a lease that is kept":      {all, []client.Object{lease("08dff33b.cluster.x-k8s.io", 10*time.Second)}, []string{"Lease 08dff33b.cluster.x-k8s.io in namespace elsewhere is kept by pod-1"}},
		"a lease that has run out":  {all, []client.Object{lease("09dff44b.cluster.x-k8s.io", time.Minute)}, nil},
		"somebody else's lease":     {all, []client.Object{lease("controller-leader-election-capm3", 0)}, nil},
		"an engine as it comes":     {all, []client.Object{engine()}, []string{"MultiClusterEngine engine has its component cluster-api-provider-openshift-assisted", "MultiClusterEngine engine has its component hypershift"}},
		"an engine that brings one": {Search{Assisted: true}, []client.Object{engine(component("cluster-api-provider-openshift-assisted-preview", true))}, []string{"MultiClusterEngine engine has its component cluster-api-provider"}},
		"an engine that brings none": {
			all, []client.Object{engine(component("cluster-api-provider-openshift-assisted-preview", false), component("hypershift", false))}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.search.Client, c.search.Now = fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(c.objects...).Build(), noon()
			r, err := c.search.Find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Found) != len(c.want) || len(r.Unknown) > 0 {
				t.Fatalf("found %q, unknown %q", r.Found, r.Unknown)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(r.Found[i].What, want) || r.Found[i].Remedy == "" {
					t.Errorf("found %q", r.Found[i])
				}
			}
		})
	}
	t.Run("kinds", func(t *testing.T) {
		all.Kinds = []Kind{{config, "v1beta1"}, {"missing.example.com", ""}, {"clusters.cluster.x-k8s.io", ""}}
		all.Client = fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(definition(config, "v1alpha2"), definition("clusters.cluster.x-k8s.io", "v1beta2")).Build()
		r, err := all.Find(t.Context())
		if err != nil || !slices.Equal(r.Missing, []string{"missing.example.com"}) || len(r.Foreign) != 1 || !strings.Contains(r.Foreign[0].What, "stores version v1alpha2, and not v1beta1") {
			t.Errorf("found %+v: %v", r, err)
		}
	})
	t.Run("who may not look", func(t *testing.T) {
		all.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme(t)).Build(), interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", nil)
			},
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", nil)
			},
		})
		if r, err := all.Find(t.Context()); err != nil || len(r.Unknown) != 4 {
			t.Errorf("unknown: %q, %v", r.Unknown, err)
		}
	})
}
