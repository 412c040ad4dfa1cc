package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
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
	must.Do(t, store.Add(agent()))
	gone := agent()
	must.Do(t, store.Delete(gone))
	if diff := cmp.Diff(agent(), gone); diff != "" {
		t.Errorf("Delete changed the object (-before +after):\n%s", diff)
	}
	if left := store.All(); len(left) != 0 {
		t.Errorf("%d objects are left", len(left))
	}
}
