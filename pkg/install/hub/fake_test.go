package hub

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/oaictl/oaictl/internal/clock"
)

// filledPlane is for tests that only read: a plane whose stores the test fills, and a client that
// finds nothing but what is given.
func filledPlane(t *testing.T, namespace string, others ...runtime.Object) (*Plane, *place) {
	t.Helper()
	lists := map[schema.GroupVersionResource]string{}
	have := &served{resources: map[string]bool{}}
	for _, k := range append(required(), namespaces(), secrets(), configMaps(), bareMetalHosts(), agentClassifications()) {
		lists[k.GroupVersionResource] = k.name + "List"
		have.resources[k.GroupResource().String()] = true
	}
	p := &Plane{
		host: "https://hub.example.com:6443", clock: clock.Real(), time: &serverTime{clock: clock.Real()},
		dynamic: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, others...), have: have,
		places: map[string]*place{}, watched: map[string]*cluster{}, imageSets: map[string]imageSetRecord{},
	}
	at := filledPlace(p, namespace)
	t.Cleanup(p.Close)
	return p, at
}

// filledPlace is another namespace of such a plane.
func filledPlace(p *Plane, namespace string) *place {
	at := &place{namespace: namespace, stores: map[string]*store{}, news: make(chan struct{})}
	for _, k := range watched() {
		s := newShelf(k, at.changed)
		s.synced = true
		at.stores[k.name] = s
	}
	p.places[namespace] = at
	return at
}

// put has a watch bring objects.
func put(t *testing.T, at *place, objects ...*unstructured.Unstructured) {
	t.Helper()
	for _, u := range objects {
		if s, watched := at.stores[u.GetKind()]; watched {
			if err := s.Update(u); err != nil {
				t.Fatal(err)
			}
		}
	}
}
