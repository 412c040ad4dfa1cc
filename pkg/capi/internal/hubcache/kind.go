package hubcache

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/kubewatch"
)

// retryAfter is the real time after which an informer is asked for again, if there was an error: for one, the API server does
// not answer.
const retryAfter = 2 * time.Second

// settles is the real time after which an informer has handed on what a list of all objects has changed.
const settles = time.Minute

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
	lists   int                                              // lists of all objects that the informer has asked for
	source  toolscache.SharedIndexInformer                   // nil before there is one
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
		k.follow(life, namespace, s)
	case <-life.Done():
	}
}

// follow keeps a store up to date once the informer has its first list. After each later list of all objects, the store gets
// it whole: an own write that the informer has never seen, since another user has deleted the object, is in no event.
func (k *kind) follow(life context.Context, namespace string, s *store) {
	lists, _ := k.listed()
	k.list(namespace, s)
	for clock.Real().Sleep(life, settles) == nil {
		now, version := k.listed()
		if now == lists {
			continue
		}
		if clock.Real().Sleep(life, settles) != nil { // all events up to that version have been handed on then
			return
		}
		k.mu.Lock()
		k.version = version
		k.mu.Unlock()
		k.list(namespace, s)
		lists = now
	}
}

// readFrom says which informer brings the objects.
func (k *kind) readFrom(source toolscache.SharedIndexInformer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.source = source
}

// listed is how many lists of all objects the informer has asked for, and the version that it has come to.
func (k *kind) listed() (lists int, version string) {
	k.mu.Lock()
	source, lists := k.source, k.lists
	k.mu.Unlock()
	if source != nil {
		version = source.LastSyncResourceVersion()
	}
	return lists, version
}

// counted is a source whose lists of all objects are counted.
func (k *kind) counted(of toolscache.ListerWatcher) *toolscache.ListWatch {
	source := toolscache.ToListerWatcherWithContext(of)
	count := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.lists++
	}
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			count()
			return source.ListWithContext(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				count()
			}
			return source.WatchWithContext(ctx, o)
		},
	}
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

// list gives a store all objects of its namespace, and each event from then on.
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
