package kube

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/kubewatch"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// agent is an Agent with what is not kept.
func agent() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"inventory": map[string]any{"hostname": "a"}}}}
	u.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindAgent))
	u.SetName("a")
	u.SetUID("1")
	u.SetAnnotations(map[string]string{hubapi.AnnotationAgentInventory: "{}"})
	return u
}

// TestSharedObjectsAreNotChanged: the objects of the caller's informers stay as they are, and what a write returns is
// trimmed as before. A kind that the informers do not have is watched, and trimmed.
func TestSharedObjectsAreNotChanged(t *testing.T) {
	for _, has := range []bool{true, false} {
		var asked string
		c := &Client{Informers: func(_ context.Context, of schema.GroupVersionKind, namespace string, into kubewatch.Filled) bool {
			asked = of.Kind + " in " + namespace
			return has
		}}
		store := newStore(&hubapi.Texts{}, Agents, "lab", func(*unstructured.Unstructured) {})
		if c.share(t.Context(), store, "lab") != has || asked != "Agent in lab" {
			t.Errorf("asked for %s, and shared is not %t", asked, has)
		}
		brought := agent()
		brought.SetResourceVersion("1")
		must.Do(t, store.Add(brought))
		if _, whole := store.Get("a").GetAnnotations()[hubapi.AnnotationAgentInventory]; whole != has || store.Get("a") != brought {
			t.Errorf("shared is %t: kept is %v", has, store.Get("a"))
		}
		written := agent()
		written.SetResourceVersion("2")
		store.keep(written)
		if len(store.Get("a").GetAnnotations()) > 0 || store.Get("a") != written {
			t.Errorf("shared is %t: a write is kept as %v", has, store.Get("a"))
		}
	}
	if (&Client{}).share(t.Context(), nil, "lab") {
		t.Error("without informers a store is shared")
	}
}

// TestDeletedObjectsAreNotChanged: who deletes an object gives the one that all others may be reading just then.
func TestDeletedObjectsAreNotChanged(t *testing.T) {
	store := newStore(&hubapi.Texts{}, Agents, "lab", func(*unstructured.Unstructured) {})
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
