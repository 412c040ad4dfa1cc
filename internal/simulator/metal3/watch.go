package metal3

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

type object = apiobject.Object

// The kinds that are watched, by their resources.
const (
	hosts       = "baremetalhosts"
	machines    = "metal3machines"
	clusters    = "metal3clusters"
	coreMachine = "machines"
	coreCluster = "clusters"
)

const (
	infraGroup = "infrastructure.cluster.x-k8s.io"
	coreGroup  = "cluster.x-k8s.io"
)

// resources are those kinds, in the version that their objects are read and written in.
func resources() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{
		hosts:       {Group: "metal3.io", Version: "v1alpha1", Resource: hosts},
		machines:    {Group: infraGroup, Version: "v1beta2", Resource: machines},
		clusters:    {Group: infraGroup, Version: "v1beta2", Resource: clusters},
		coreMachine: {Group: coreGroup, Version: "v1beta2", Resource: coreMachine},
		coreCluster: {Group: coreGroup, Version: "v1beta2", Resource: coreCluster},
	}
}

type key struct{ resource, namespace, name string }

func (k key) String() string {
	return strings.TrimSuffix(k.resource, "s") + " " + k.namespace + "/" + k.name
}

// store is what the watches have brought, and the queue of what is to be looked at.
type store struct {
	objects dynamic.Interface
	seen    map[string]cache.Indexer
	queue   workqueue.TypedRateLimitingInterface[key]
}

const (
	firstRetry = 50 * time.Millisecond // real time
	lastRetry  = 5 * time.Second       // real time
)

func newStore(config *rest.Config) (*store, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[key](firstRetry, lastRetry)
	return &store{objects: objects, seen: map[string]cache.Indexer{}, queue: workqueue.NewTypedRateLimitingQueue(limiter)}, nil
}

// open starts the watches, and returns when they have seen everything.
func (s *store) open(ctx context.Context, o *operator) error {
	var informers []cache.SharedIndexInformer
	var synced []cache.InformerSynced
	watched := resources()
	if o.config.HostsOnly {
		watched = map[string]schema.GroupVersionResource{hosts: watched[hosts]}
	}
	for name, resource := range watched {
		informer, err := s.informer(ctx, name, resource, o)
		if err != nil {
			return fmt.Errorf("watch %s: %w", name, err)
		}
		s.seen[name] = informer.GetIndexer()
		informers, synced = append(informers, informer), append(synced, informer.HasSynced)
	}
	for _, informer := range informers {
		o.running.Go(func() { informer.RunWithContext(ctx) })
	}
	cache.WaitForCacheSync(ctx.Done(), synced...)
	return context.Cause(ctx)
}

func (s *store) informer(
	ctx context.Context, name string, resource schema.GroupVersionResource, o *operator,
) (cache.SharedIndexInformer, error) {
	informer := cache.NewSharedIndexInformer(apiobject.ListWatch(s.objects, s.objects.Resource(resource).Namespace(o.config.Namespace)),
		&object{}, 0, cache.Indexers{
			cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		})
	told := func(seen any) {
		if last, is := seen.(cache.DeletedFinalStateUnknown); is {
			seen = last.Obj
		}
		if u, is := seen.(*object); is {
			o.spread(key{name, u.GetNamespace(), u.GetName()}, u)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: told, UpdateFunc: func(_, now any) { told(now) }, DeleteFunc: told,
	})
	return informer, errors.Join(err, informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
		if ctx.Err() == nil {
			o.logf("watch %s: %v", name, err)
		}
	}))
}

// get is an object as it was last seen, to be changed at will; nil where there is none.
func (s *store) get(k key) *object {
	seen, found, err := s.seen[k.resource].GetByKey(k.namespace + "/" + k.name)
	if err != nil || !found {
		return nil
	}
	return seen.(*object).DeepCopy()
}

// list are the objects of a namespace, not to be changed.
func (s *store) list(resource, namespace string) []*object {
	seen, err := s.seen[resource].ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		return nil
	}
	list := make([]*object, 0, len(seen))
	for _, each := range seen {
		list = append(list, each.(*object))
	}
	return list
}

func (s *store) client(k key) dynamic.ResourceInterface {
	return s.objects.Resource(resources()[k.resource]).Namespace(k.namespace)
}

const manager = "simulated-metal3"

// update writes an object, but for its status, if it is still what it was.
func (s *store) update(ctx context.Context, k key, u *object) error {
	_, err := s.client(k).Update(ctx, u, metav1.UpdateOptions{FieldManager: manager})
	return err
}

func (s *store) updateStatus(ctx context.Context, k key, u *object) error {
	_, err := s.client(k).UpdateStatus(ctx, u, metav1.UpdateOptions{FieldManager: manager})
	return err
}

func expected(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

func set(u *object, value any, path ...string) {
	switch v := value.(type) {
	case nil:
		unstructured.RemoveNestedField(u.Object, path...)
		return
	case string:
		if v == "" {
			unstructured.RemoveNestedField(u.Object, path...)
			return
		}
	case map[string]any:
		if v == nil {
			unstructured.RemoveNestedField(u.Object, path...)
			return
		}
	}
	// It fails only for an object of another shape, which the API server refuses.
	_ = unstructured.SetNestedField(u.Object, runtime.DeepCopyJSONValue(value), path...)
}
