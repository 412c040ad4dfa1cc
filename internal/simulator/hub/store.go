package hub

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// manager is the field manager that the service writes as.
const manager = "assisted-service"

type key struct {
	kind      objects.Kind
	space, id string
}

func keyOf(k objects.Kind, o *objects.Object) key { return key{k, o.GetNamespace(), o.GetName()} }

func (k key) String() string { return fmt.Sprintf("%s %s/%s", k.kind, k.space, k.id) }

// store is the API server as the controllers see it: watched copies, in which own writes show at once.
type store struct {
	client  dynamic.Interface
	changed func(key)
	stores  map[objects.Kind]cache.Store

	mu      sync.Mutex
	written map[key]*objects.Object // newer than what the watches have brought
}

// openStore starts the watches, which run among the hub's own, and waits until they
// have seen everything.
// Kinds that the server does not serve are left out where they are optional,
// and waited for otherwise.
func openStore(ctx context.Context, config *rest.Config, namespace string, h *hub) (*store, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 500, 1000
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the hub: %w", err)
	}
	s := &store{client: client, changed: h.noticed, stores: map[objects.Kind]cache.Store{}, written: map[key]*objects.Object{}}
	kinds, err := servedKinds(ctx, client, namespace, h.logf)
	if err != nil {
		return nil, err
	}
	var seen []cache.InformerSynced
	for _, k := range kinds {
		informer := cache.NewSharedIndexInformer(s.listWatch(k, namespace), &objects.Object{}, 0, cache.Indexers{})
		if err := s.follow(k, informer, h.logf); err != nil {
			return nil, err
		}
		h.running.Go(func() { informer.RunWithContext(ctx) })
		seen = append(seen, informer.HasSynced)
	}
	cache.WaitForCacheSync(ctx.Done(), seen...)
	return s, context.Cause(ctx)
}

// of is the client for a kind, within the namespace where it has one.
func of(client dynamic.Interface, k objects.Kind, namespace string) dynamic.ResourceInterface {
	if k.ClusterScoped() || namespace == "" {
		return client.Resource(k.Resource())
	}
	return client.Resource(k.Resource()).Namespace(namespace)
}

func (s *store) listWatch(k objects.Kind, namespace string) cache.ListerWatcher {
	client := of(s.client, k, namespace)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, o)
		},
	}, s.client)
}

// servedKinds are the watched kinds that the server has; it waits for those that are needed.
func servedKinds(ctx context.Context, client dynamic.Interface, namespace string, logf func(string, ...any)) ([]objects.Kind, error) {
	for told := false; ; told = true {
		var have []objects.Kind
		var missing objects.Kind
		for _, k := range objects.Watched() {
			_, err := of(client, k, namespace).List(ctx, metav1.ListOptions{Limit: 1})
			switch {
			case err == nil:
				have = append(have, k)
			case !apierrors.IsNotFound(err):
				return nil, fmt.Errorf("ask the hub which kinds it has: %w", err)
			case !k.Optional():
				missing = k
			}
		}
		if missing == "" {
			return have, nil
		}
		if !told {
			logf("waiting for the definition of %s on the hub", missing)
		}
		if err := clock.Real().Sleep(ctx, definitionPause); err != nil {
			return nil, err
		}
	}
}

// definitionPause is the wait before asking again for definitions, in the API server's time.
const definitionPause = time.Second

func (s *store) follow(k objects.Kind, informer cache.SharedIndexInformer, logf func(string, ...any)) error {
	err := informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { logf("watch %s: %v", k, err) })
	if err != nil {
		return fmt.Errorf("watch %s: %w", k, err)
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.tell(k, o, false) },
		UpdateFunc: func(_, o any) { s.tell(k, o, false) },
		DeleteFunc: func(o any) { s.tell(k, o, true) },
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", k, err)
	}
	s.stores[k] = informer.GetStore()
	return nil
}

func (s *store) tell(k objects.Kind, o any, gone bool) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	seen, ok := o.(*objects.Object)
	if !ok {
		return
	}
	at := keyOf(k, seen)
	s.mu.Lock()
	if mine := s.written[at]; mine != nil && (gone && mine.GetUID() == seen.GetUID() || !older(seen, mine)) {
		delete(s.written, at)
	}
	s.mu.Unlock()
	s.changed(at)
}

// older tells whether a is an earlier version of an object than b.
func older(a, b *objects.Object) bool {
	x, errX := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	y, errY := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return errX == nil && errY == nil && x < y
}

// get gives the newest known version of an object, to be changed at will; nil where there is none.
func (s *store) get(k objects.Kind, space, id string) *objects.Object {
	path := id
	if space != "" {
		path = space + "/" + id
	}
	var seen *objects.Object
	if from := s.stores[k]; from != nil {
		if o, found, _ := from.GetByKey(path); found {
			seen, _ = o.(*objects.Object)
		}
	}
	return s.newest(key{k, space, id}, seen)
}

func (s *store) newest(at key, seen *objects.Object) *objects.Object {
	s.mu.Lock()
	mine := s.written[at]
	s.mu.Unlock()
	if mine != nil && (seen == nil || older(seen, mine)) {
		seen = mine
	}
	if seen == nil {
		return nil
	}
	return seen.DeepCopy()
}

// list gives the objects of a kind in a namespace ("" for all), by name.
func (s *store) list(k objects.Kind, space string) []*objects.Object {
	found := map[key]*objects.Object{}
	if from := s.stores[k]; from != nil {
		for _, o := range from.List() {
			if seen, ok := o.(*objects.Object); ok && (space == "" || seen.GetNamespace() == space) {
				found[keyOf(k, seen)] = seen
			}
		}
	}
	s.mu.Lock()
	for at, mine := range s.written {
		if at.kind == k && (space == "" || at.space == space) && (found[at] == nil || older(found[at], mine)) {
			found[at] = mine
		}
	}
	s.mu.Unlock()
	all := make([]*objects.Object, 0, len(found))
	for _, o := range found {
		all = append(all, o.DeepCopy())
	}
	slices.SortFunc(all, func(a, b *objects.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

// keys names the objects of a kind in a namespace ("" for all).
func (s *store) keys(k objects.Kind, space string) []key {
	var all []key
	from := s.stores[k]
	if from == nil {
		return nil
	}
	for _, path := range from.ListKeys() {
		namespace, name, err := cache.SplitMetaNamespaceKey(path)
		if err == nil && (space == "" || namespace == space) {
			all = append(all, key{k, namespace, name})
		}
	}
	return all
}

func (s *store) read(ctx context.Context, k objects.Kind, space, id string) (*objects.Object, error) {
	if o := s.get(k, space, id); o != nil {
		return o, nil
	}
	return s.live(ctx, k, space, id)
}

// keep remembers a version that the server gave back for a write, and makes it the writer's own.
func (s *store) keep(o, made *objects.Object, err error) error {
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := keyOf(objects.Kind(made.GetKind()), made)
	if made.GetDeletionTimestamp() != nil && len(made.GetFinalizers()) == 0 {
		delete(s.written, at) // that was its last version
	} else {
		s.written[at] = made
	}
	*o = *made.DeepCopy()
	return nil
}

func (s *store) at(k objects.Kind, space string) dynamic.ResourceInterface {
	if k.ClusterScoped() {
		return s.client.Resource(k.Resource())
	}
	return s.client.Resource(k.Resource()).Namespace(space)
}

// live asks the server for an object, for kinds of which other copies may be old.
func (s *store) live(ctx context.Context, k objects.Kind, space, id string) (*objects.Object, error) {
	return s.at(k, space).Get(ctx, id, metav1.GetOptions{})
}

func (s *store) resource(o *objects.Object) dynamic.ResourceInterface {
	return s.at(objects.Kind(o.GetKind()), o.GetNamespace())
}

func (s *store) create(ctx context.Context, o *objects.Object) error {
	made, err := s.resource(o).Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
	return s.keep(o, made, err)
}

// update writes everything but the status, if the object is still what it was.
func (s *store) update(ctx context.Context, o *objects.Object) error {
	made, err := s.resource(o).Update(ctx, o, metav1.UpdateOptions{FieldManager: manager})
	return s.keep(o, made, err)
}

// updatePrinted is update in the form in which the service writes an object.
func (s *store) updatePrinted(ctx context.Context, o *objects.Object) error {
	printed := objects.AsPrinted(objects.Kind(o.GetKind()), o)
	err := s.update(ctx, printed)
	if err == nil {
		*o = *printed
	}
	return err
}

func (s *store) updateStatus(ctx context.Context, o *objects.Object) error {
	made, err := s.resource(o).UpdateStatus(ctx, o, metav1.UpdateOptions{FieldManager: manager})
	return s.keep(o, made, err)
}

// delete asks for the removal of an object. One that is not there is no error.
func (s *store) delete(ctx context.Context, k objects.Kind, space, id string) error {
	err := s.at(k, space).Delete(ctx, id, metav1.DeleteOptions{})
	s.mu.Lock()
	delete(s.written, key{k, space, id})
	s.mu.Unlock()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func referred(ref *hubapi.Reference) key { return key{objects.KindCluster, ref.Namespace, ref.Name} }
