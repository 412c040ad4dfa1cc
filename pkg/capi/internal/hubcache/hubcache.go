// Package hubcache gives the hub service planes of a manager the objects of the manager's cache, if the hub is the manager's
// own API server. Each kind is then watched once for all planes, and each object is in memory once.
package hubcache

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/kubewatch"
)

// Scope says which objects of a hub a manager's cache has.
type Scope struct {
	// Namespace is the only namespace that is cached; "" for all.
	Namespace string
	// Agents is the only namespace whose Agents are cached; "" for that of all else.
	Agents string
	// Planes says that service planes read the cache. Without them, fields that only they read are not kept.
	Planes bool
}

// Cache fills the stores of planes from a manager's cache. It is safe for concurrent use.
type Cache struct {
	// Informers are those of the manager's cache. They are set before the first call of Fill.
	Informers cache.Informers

	scope Scope
	mu    sync.Mutex
	kinds map[schema.GroupVersionKind]*kind
}

// New sets the options of a manager's cache, which has all objects of a hub as unstructured ones: an informer of their types
// would be another one. What neither reconcilers nor planes read of an object is not kept. Kinds that may be installed later
// are not named in the options: a cache is not made without them then.
func New(options *cache.Options, scope Scope) (*Cache, error) {
	c := &Cache{scope: scope, kinds: map[schema.GroupVersionKind]*kind{}}
	options.DefaultTransform = c.transform()
	if options.ByObject == nil {
		options.ByObject = map[client.Object]cache.ByObject{}
	}
	if scope.Agents != "" {
		agent := &unstructured.Unstructured{}
		agent.SetGroupVersionKind(hubapi.GroupVersionKind(hubapi.KindAgent))
		options.ByObject[agent] = cache.ByObject{Namespaces: map[string]cache.Config{scope.Agents: {}}}
	}
	if !scope.Planes {
		return c, nil
	}
	ours, err := labels.NewRequirement(hubapi.LabelCluster, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	options.ByObject[&corev1.ConfigMap{}] = cache.ByObject{Label: labels.NewSelector().Add(*ours)}
	options.NewInformer = c.newInformer
	return c, nil
}

// transform makes objects smaller that are to be cached. Planes read the managed fields of a hub's objects, reconcilers
// those of none.
func (c *Cache) transform() toolscache.TransformFunc {
	strip, texts := cache.TransformStripManagedFields(), &hubapi.Texts{}
	return func(object any) (any, error) {
		u, is := object.(*unstructured.Unstructured)
		if !is {
			return strip(object)
		}
		if !c.scope.Planes || !isOfHub(u.GroupVersionKind()) {
			u.SetManagedFields(nil)
		}
		texts.Trim(u)
		return u, nil
	}
}

// isOfHub reports whether planes read a kind.
func isOfHub(kind schema.GroupVersionKind) bool {
	switch kind.Group {
	case hubapi.GroupHive, hubapi.GroupHiveExtension, hubapi.GroupAgentInstall, hubapi.GroupMetal3:
		return true
	}
	return kind == hubapi.GroupVersionKind(hubapi.KindConfigMap)
}

// newInformer is an informer. One of a hub's kind reports whether it is kept up to date.
func (c *Cache) newInformer(source toolscache.ListerWatcher, of runtime.Object, resync time.Duration,
	indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	u, is := of.(*unstructured.Unstructured)
	if !is || !isOfHub(u.GroupVersionKind()) {
		return toolscache.NewSharedIndexInformer(source, of, resync, indexers)
	}
	k := c.kind(u.GroupVersionKind())
	made := toolscache.NewSharedIndexInformer(kubewatch.Reporting(k.counted(source), k.fail), of, resync, indexers)
	k.readFrom(made)
	return made
}

func (c *Cache) kind(of schema.GroupVersionKind) *kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kinds[of]
	if k == nil {
		k = &kind{
			of: of, objects: map[string]map[string]*unstructured.Unstructured{}, stores: map[string]map[*store]struct{}{},
		}
		c.kinds[of] = k
	}
	return k
}

// Fill keeps a store up to date with the objects of a kind in a namespace, until life ends. It is false if the cache does not
// have them. See hub.Config.
func (c *Cache) Fill(life context.Context, of schema.GroupVersionKind, namespace string, into kubewatch.Filled) bool {
	if !c.has(of, namespace) {
		return false
	}
	go c.kind(of).fill(life, c.Informers, namespace, into)
	return true
}

// has reports whether the cache has the objects of a kind in a namespace.
func (c *Cache) has(of schema.GroupVersionKind, namespace string) bool {
	switch {
	case !c.scope.Planes || namespace == "" || !isOfHub(of):
		return false
	case c.scope.Agents != "" && of.Kind == hubapi.KindAgent:
		return namespace == c.scope.Agents
	}
	return c.scope.Namespace == "" || namespace == c.scope.Namespace
}
