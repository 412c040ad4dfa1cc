package hubcache

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/kubewatch"
)

// retryAfter is the real time after which an informer is asked for again, if there was an error: for one, the API server does
// not answer.
const retryAfter = 2 * time.Second

// kind hands the events of one informer on to the stores of each namespace. It is the only handler of the planes there: with
// one handler for each store, each event would be given to all of them.
type kind struct {
	of schema.GroupVersionKind

	beginning sync.Mutex
	complete  <-chan struct{} // is closed once the first list has been handed on; nil before there is an informer

	mu      sync.Mutex
	objects map[string]map[string]*unstructured.Unstructured // that the events have brought, by namespace and name
	version string                                           // the latest one of them
	failing error                                            // why the informer is not kept up to date at present
	stores  map[string]map[*store]struct{}                   // by namespace
}

var _ toolscache.ResourceEventHandler = (*kind)(nil)

// store is a store of a plane.
type store struct {
	kubewatch.Filled

	filled bool // it has the first list
}

// fill keeps a store up to date until life ends.
func (k *kind) fill(life context.Context, informers cache.Informers, namespace string, into kubewatch.Filled) {
	s := &store{Filled: into}
	k.enter(namespace, s)
	defer k.leave(namespace, s)
	complete, err := k.begin(life, informers)
	for err != nil {
		s.Fail(err)
		if clock.Real().Sleep(life, retryAfter) != nil {
			return
		}
		complete, err = k.begin(life, informers)
	}
	select {
	case <-complete:
		k.list(namespace, s)
	case <-life.Done():
	}
	<-life.Done()
}

// begin listens to the informer, if that is still to be done. What it returns is closed once the first list is there.
func (k *kind) begin(ctx context.Context, informers cache.Informers) (<-chan struct{}, error) {
	k.beginning.Lock()
	defer k.beginning.Unlock()
	if k.complete != nil {
		return k.complete, nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.of)
	informer, err := informers.GetInformer(ctx, u, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch the kind %s: %w", k.of.Kind, err)
	}
	registered, err := informer.AddEventHandlerWithResyncPeriod(k, 0)
	if err != nil {
		return nil, fmt.Errorf("watch the kind %s: %w", k.of.Kind, err)
	}
	k.complete = registered.HasSyncedChecker().Done()
	return k.complete, nil
}

func (k *kind) enter(namespace string, s *store) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stores[namespace] == nil {
		k.stores[namespace] = map[*store]struct{}{}
	}
	k.stores[namespace][s] = struct{}{}
	s.Fail(k.failing)
}

func (k *kind) leave(namespace string, s *store) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.stores[namespace], s)
	if len(k.stores[namespace]) == 0 {
		delete(k.stores, namespace)
	}
}

// list gives a store the objects of its namespace, and each event from then on.
func (k *kind) list(namespace string, s *store) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]any, 0, len(k.objects[namespace]))
	for _, u := range k.objects[namespace] {
		all = append(all, u)
	}
	_ = s.Replace(all, k.version) // a store takes every object of the right type
	s.Fail(k.failing)
	s.filled = true
}

// fail takes the result of a call that fills the informer.
func (k *kind) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failing = err
	for _, of := range k.stores {
		for s := range of {
			s.Fail(err)
		}
	}
}

// OnAdd is of cache.ResourceEventHandler.
func (k *kind) OnAdd(object any, _ bool) { k.put(object) }

// OnUpdate is of cache.ResourceEventHandler.
func (k *kind) OnUpdate(_, object any) { k.put(object) }

func (k *kind) put(object any) {
	u, is := object.(*unstructured.Unstructured)
	if !is {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	namespace, version := u.GetNamespace(), u.GetResourceVersion()
	if k.objects[namespace] == nil {
		k.objects[namespace] = map[string]*unstructured.Unstructured{}
	}
	before := k.objects[namespace][u.GetName()]
	k.objects[namespace][u.GetName()] = u
	restored := before != nil && kubewatch.Newer(before.GetResourceVersion(), version) // the API server, from a backup
	if restored || kubewatch.Newer(version, k.version) {
		k.version = version
	}
	for s := range k.stores[namespace] {
		if s.filled {
			_ = s.Update(u) // a store takes every object of the right type
		}
	}
}

// OnDelete is of cache.ResourceEventHandler.
func (k *kind) OnDelete(object any) {
	if missed, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = missed.Obj
	}
	u, is := object.(*unstructured.Unstructured)
	if !is {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	namespace, version := u.GetNamespace(), u.GetResourceVersion()
	delete(k.objects[namespace], u.GetName())
	if len(k.objects[namespace]) == 0 {
		delete(k.objects, namespace)
	}
	if kubewatch.Newer(version, k.version) {
		k.version = version
	}
	for s := range k.stores[namespace] {
		if s.filled {
			_ = s.Delete(u) // a store takes every object of the right type
		}
	}
}
