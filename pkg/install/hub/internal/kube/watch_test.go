package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
)

// TestDeletedObjectsAreNotChanged: who deletes an object gives the one that all others may be reading just then.
func TestDeletedObjectsAreNotChanged(t *testing.T) {
	store := newStore(&hubapi.Texts{}, Agents, "lab", func(*unstructured.Unstructured) {})
	agent := func() *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"inventory": map[string]any{"hostname": "a"}}}}
		u.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindAgent))
		u.SetName("a")
		u.SetUID("1")
		u.SetAnnotations(map[string]string{hubapi.AnnotationAgentInventory: "{}"})
		return u
	}
	if err := store.Add(agent()); err != nil {
		t.Fatal(err)
	}
	gone := agent()
	if err := store.Delete(gone); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(agent(), gone); diff != "" {
		t.Errorf("Delete changed the object (-before +after):\n%s", diff)
	}
	if left := store.All(); len(left) != 0 {
		t.Errorf("%d objects are left", len(left))
	}
}
