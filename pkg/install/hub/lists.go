package hub

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install"
)

// listed reads objects by their namespaces: those of the plane's namespace, or of
// all where it has none. It lists them once, without watching, unless they are
// followed.
func (c *Client) listed(ctx context.Context, kinds ...kind) (map[string]*Namespace, error) {
	return c.listedIn(ctx, c.namespace, kinds...)
}

// listedIn is listed for one namespace, "" for all.
func (c *Client) listedIn(ctx context.Context, namespace string, kinds ...kind) (map[string]*Namespace, error) {
	if _, err := c.connect(ctx); err != nil {
		return nil, err
	}
	if c.follows() {
		scope := namespace
		if c.namespace == "" {
			scope = "" // what is watched for one namespace is watched for all already
		}
		return c.followed(ctx, scope, namespace, kinds...)
	}
	ctx, cancel := brief(ctx)
	defer cancel()
	namespaces := map[string]*Namespace{}
	for _, k := range kinds {
		client := c.dynamic.Resource(k.GroupVersionResource)
		list, err := client.Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: k.with})
		if err != nil {
			return nil, c.unlisted(k, namespace, err)
		}
		for i := range list.Items {
			arrange(namespaces, k, &list.Items[i])
		}
	}
	return namespaces, nil
}

// listedOf is listed for what a person calls by an id or a name. An id says where it
// is: who may look into that namespace alone finds it all the same.
func (c *Client) listedOf(ctx context.Context, text string, kinds ...kind) (map[string]*Namespace, error) {
	namespace, _ := parts(text, "")
	switch {
	case c.namespace != "" || namespace == "":
		return c.listed(ctx, kinds...)
	case !c.follows() || c.watchesAll(kinds):
		return c.listedIn(ctx, namespace, kinds...)
	}
	if _, err := c.connect(ctx); err != nil {
		return nil, err
	}
	return c.followed(ctx, namespace, namespace, kinds...)
}

// unlisted is the fault that objects cannot be listed.
func (c *Client) unlisted(k kind, namespace string, err error) error {
	f := c.fault(attempt{op: "list " + k.Resource, verb: "list", kind: k, namespace: namespace}, err)
	if f.Code == install.CodeAuth && namespace == "" && f.Status == 403 {
		f.Next = "give --namespace for one that you may look into"
	}
	return f
}

// arrange puts an object where it belongs.
func arrange(namespaces map[string]*Namespace, k kind, u *unstructured.Unstructured) {
	at := namespaces[u.GetNamespace()]
	if at == nil {
		at = newNamespace(u.GetNamespace())
		namespaces[u.GetNamespace()] = at
	}
	if at.stores[k.name] == nil {
		at.stores[k.name] = newStore(k, func() {})
	}
	at.stores[k.name].keep(u)
}

// inOrder are namespaces by namespace.
func inOrder(namespaces map[string]*Namespace) []*Namespace {
	out := make([]*Namespace, 0, len(namespaces))
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		out = append(out, namespaces[namespace])
	}
	return out
}

// follow has lists read what watches bring, from the next list on. The first list of
// a kind begins to watch it, and waits until all of it is there; no later one asks
// the API server for anything.
func (c *Client) follow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.views == nil {
		c.views = map[string]*Namespace{}
	}
}

func (c *Client) follows() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.views != nil
}

// watchesAll says whether kinds are watched in all namespaces already.
func (c *Client) watchesAll(kinds []kind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range kinds {
		if c.views[viewName("", k)] == nil {
			return false
		}
	}
	return true
}

func viewName(scope string, k kind) string { return scope + "/" + k.name }

// followed is listedIn from watches of a scope: of the namespace, or "" for all.
func (c *Client) followed(ctx context.Context, scope, namespace string, kinds ...kind) (map[string]*Namespace, error) {
	namespaces := map[string]*Namespace{}
	for _, k := range kinds {
		view, err := c.view(ctx, scope, k)
		if err != nil {
			return nil, err
		}
		for _, u := range view.store(k).all() {
			if namespace == "" || u.GetNamespace() == namespace {
				arrange(namespaces, k, u)
			}
		}
	}
	return namespaces, nil
}

// view is a kind as a watch brings it, with all that there is.
func (c *Client) view(ctx context.Context, scope string, k kind) (*Namespace, error) {
	life, err := c.lifetime(ctx)
	if err != nil {
		return nil, err
	}
	name := viewName(scope, k)
	c.mu.Lock()
	view, begun := c.views[name]
	if !begun {
		view = newNamespace(scope)
		s := newStore(k, view.changed)
		s.wide = true
		view.stores[k.name] = s
		c.views[name] = view
		go c.fill(life, scope, s)
	}
	c.mu.Unlock()
	ctx, cancel := brief(ctx)
	defer cancel()
	for {
		news := view.wait()
		synced, failing := view.store(k).health()
		switch {
		case failing != nil:
			return nil, c.unlisted(k, scope, failing)
		case synced:
			return view, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, c.unlisted(k, scope, context.Cause(ctx))
		}
	}
}
