package hub

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// filledPlane is for tests that only read: a plane whose stores the test fills, and a client that
// finds nothing but what is given.
func filledPlane(t *testing.T, namespace string, others ...runtime.Object) (*Plane, *kube.Namespace) {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{}
	for _, k := range kube.Known() {
		lists[k.GroupVersionResource] = k.Name + "List"
	}
	p := &Plane{
		api:      kube.NewFake(fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, others...)),
		memories: map[string]*clusterMemory{}, imageSets: map[string]imageSetRecord{},
	}
	at := p.api.FakeNamespace(namespace)
	t.Cleanup(p.Close)
	return p, at
}

// put has a watch bring objects.
func put(t *testing.T, at *kube.Namespace, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, u := range objects {
		if s, watched := at.Stores[u.GetKind()]; watched {
			if err := s.Update(u); err != nil {
				t.Fatal(err)
			}
		}
	}
}
