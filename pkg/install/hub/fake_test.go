package hub

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

// filledPlane is for tests that only read: a plane whose stores the test fills, and a client that
// finds nothing but what is given.
func filledPlane(t *testing.T, namespace string, others ...runtime.Object) (*Plane, *Namespace) {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{}
	for _, k := range known() {
		lists[k.GroupVersionResource] = k.name + "List"
	}
	p := &Plane{
		api:     newFake(fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, others...)),
		watched: map[string]*cluster{}, imageSets: map[string]imageSetRecord{},
	}
	at := p.api.fakeNamespace(namespace)
	t.Cleanup(p.Close)
	return p, at
}

// put has a watch bring objects.
func put(t *testing.T, at *Namespace, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, u := range objects {
		if s, watched := at.stores[u.GetKind()]; watched {
			if err := s.Update(u); err != nil {
				t.Fatal(err)
			}
		}
	}
}
