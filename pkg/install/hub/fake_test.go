package hub

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"

	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// filledPlane is for tests that only read: a plane whose stores the test fills, and a client that
// finds nothing but what is given.
func filledPlane(t *testing.T, namespace string, others ...runtime.Object) (*Plane, *kube.Namespace) {
	t.Helper()
	lists, served := map[schema.GroupVersionResource]string{}, map[kube.Kind]bool{}
	for _, k := range kube.Known() {
		lists[k.Resource()], served[k] = string(k)+"List", true
	}
	client := must.Get(kube.New(&rest.Config{Host: "https://hub.example.com:6443"}, "", nil, nil))(t)
	client.Served, client.Dynamic = served, fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, others...)
	t.Cleanup(client.Close)
	p := &Plane{api: client, memories: map[string]*clusterMemory{}, imageSets: map[string]imageSetRecord{}, signals: map[string]*kubewatch.Signal{}}
	return p, watchedNamespace(t, client, namespace)
}

// watchedNamespace has a namespace count as watched, with stores that the test fills.
func watchedNamespace(t *testing.T, client *kube.Client, name string) *kube.Namespace {
	t.Helper()
	at := kube.NewNamespace(&client.Texts, name, kube.Watched()...)
	for _, s := range at.Stores {
		must.Do(t, s.Replace(nil, ""))
	}
	client.Namespaces[name] = at
	return at
}

// put has a watch bring objects.
func put(t *testing.T, at *kube.Namespace, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, u := range objects {
		if s, watched := at.Stores[kube.Kind(u.GetKind())]; watched {
			must.Do(t, s.Update(u))
		}
	}
}
