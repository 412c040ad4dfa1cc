package kube

import (
	"cmp"
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// List reads objects by their namespaces: those of the client's namespace, or of
// all where it has none. It lists them once, without watching, unless Follow was called.
func (c *Client) List(ctx context.Context, kinds ...Kind) (map[string]*Namespace, error) {
	return c.ListIn(ctx, c.Namespace, kinds...)
}

// ListIn is List for one namespace, "" for all.
func (c *Client) ListIn(ctx context.Context, namespace string, kinds ...Kind) (map[string]*Namespace, error) {
	if _, err := c.Connect(ctx); err != nil {
		return nil, err
	}
	if c.Follows() {
		scope := namespace
		if c.Namespace == "" {
			scope = "" // what is watched for one namespace is watched for all already
		}
		return c.listWatched(ctx, scope, namespace, kinds...)
	}
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	namespaces := map[string]*Namespace{}
	for _, k := range kinds {
		found, err := c.Select(ctx, k, namespace, metav1.ListOptions{LabelSelector: k.Selector()})
		if err != nil {
			return nil, c.ListFault(k, namespace, err)
		}
		for i := range found {
			c.addObject(namespaces, k, &found[i])
		}
	}
	return namespaces, nil
}

// ListFor is List for what a person calls by an id or a name. An id says where it
// is: who may look into that namespace alone finds it all the same.
func (c *Client) ListFor(ctx context.Context, text string, kinds ...Kind) (map[string]*Namespace, error) {
	namespace, _ := SplitID(text, "")
	switch {
	case c.Namespace != "" || namespace == "":
		return c.List(ctx, kinds...)
	case !c.Follows() || c.Watching("") != nil:
		return c.ListIn(ctx, namespace, kinds...)
	}
	return c.listWatched(ctx, namespace, namespace, kinds...)
}

// ListFault is the fault that objects cannot be listed.
func (c *Client) ListFault(k Kind, namespace string, err error) error {
	f := c.Fault(Attempt{Op: "list " + k.Resource().Resource, Verb: "list", Kind: k, Namespace: namespace}, err)
	if f.Code == model.CodeAuth && namespace == "" && f.Status == 403 {
		f.Next = "give --namespace for one that you may look into"
	}
	return f
}

func (c *Client) addObject(namespaces map[string]*Namespace, k Kind, u *unstructured.Unstructured) {
	at := namespaces[u.GetNamespace()]
	if at == nil {
		at = NewNamespace(&c.Texts, u.GetNamespace())
		namespaces[u.GetNamespace()] = at
	}
	if at.Stores[k] == nil {
		at.Stores[k] = newStore(nil, k, at.Name, at.changed)
	}
	at.Stores[k].keep(u)
}

// Sorted are stores by kind, or namespaces by name: of several faults the same one is
// always reported.
func Sorted[K ~string, T any](named map[K]T) []T {
	out := make([]T, 0, len(named))
	for _, name := range slices.Sorted(maps.Keys(named)) {
		out = append(out, named[name])
	}
	return out
}

// Follow has lists read what watches bring, from the next list on. The first list of
// a kind begins to watch it, and waits until all of it is there; no later one asks
// the API server for anything.
func (c *Client) Follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follows = true
}

// Follows says whether lists read what watches bring.
func (c *Client) Follows() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.follows
}

// listWatched is ListIn from watches of a scope: of the namespace, or "" for all.
func (c *Client) listWatched(ctx context.Context, scope, namespace string, kinds ...Kind) (map[string]*Namespace, error) {
	at, err := c.begin(ctx, scope, kinds)
	if err != nil {
		return nil, err
	}
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	namespaces := map[string]*Namespace{}
	for _, k := range kinds {
		s := at.Store(k)
		if err := cmp.Or(s.Wait(ctx), s.Failing()); err != nil {
			return nil, c.ListFault(k, scope, err)
		}
		for _, u := range s.All() {
			if namespace == "" || u.GetNamespace() == namespace {
				c.addObject(namespaces, k, u)
			}
		}
	}
	return namespaces, nil
}
