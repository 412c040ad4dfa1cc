package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clock"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const manager = "assisted-service"

type key struct {
	kind      objects.Kind
	space, id string
}

func keyOf(k objects.Kind, o *apiobject.Object) key { return key{k, o.GetNamespace(), o.GetName()} }

func (k key) String() string { return fmt.Sprintf("%s %s/%s", k.kind, k.space, k.id) }

// store is the API server as the controllers see it: watched copies, in which own writes show at once.
type store struct {
	client dynamic.Interface
	stores map[objects.Kind]cache.Store

	mu      sync.Mutex
	written map[key]*apiobject.Object // newer than what the watches have brought
}

// openStore starts the watches, which h waits for in the end, and returns when they have seen everything.
func openStore(ctx context.Context, config *rest.Config, namespace string, h *hub) (*store, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 500, 1000
	client, err := dial(config)
	if err != nil {
		return nil, err
	}
	s := &store{client: client, stores: map[objects.Kind]cache.Store{}, written: map[key]*apiobject.Object{}}
	kinds, err := awaitKinds(ctx, client, namespace, h.logf)
	if err != nil {
		return nil, err
	}
	var seen []cache.InformerSynced
	for _, k := range kinds {
		informer := cache.NewSharedIndexInformer(apiobject.ListWatch(client, of(client, k, namespace)), &apiobject.Object{}, 0, cache.Indexers{})
		if err := s.follow(k, informer, h); err != nil {
			return nil, fmt.Errorf("watch %s: %w", k, err)
		}
		h.running.Go(func() { informer.RunWithContext(ctx) })
		seen = append(seen, informer.HasSynced)
	}
	cache.WaitForCacheSync(ctx.Done(), seen...)
	return s, context.Cause(ctx)
}

func of(client dynamic.Interface, k objects.Kind, namespace string) dynamic.ResourceInterface {
	if k.ClusterScoped() {
		return client.Resource(k.Resource())
	}
	return client.Resource(k.Resource()).Namespace(namespace)
}

// awaitKinds are the watched kinds that the server has; it waits for those that are needed.
func awaitKinds(ctx context.Context, client dynamic.Interface, namespace string, logf func(string, ...any)) ([]objects.Kind, error) {
	for again := false; ; again = true {
		served, missing, err := kindsOf(ctx, client, namespace, false)
		if err != nil || len(missing) == 0 {
			return served, err
		}
		if !again {
			logf("waiting for the definition of %s on the hub", missing[len(missing)-1])
		}
		if err := clock.Real().Sleep(ctx, definitionPause); err != nil {
			return nil, err
		}
	}
}

// kindsOf are the watched kinds that a server has, and the needed ones that it has not. One that it
// refuses to list is an error, unless it may.
func kindsOf(ctx context.Context, client dynamic.Interface, namespace string, mayRefuse bool) (served, missing []objects.Kind, err error) {
	for _, k := range objects.Watched() {
		_, err := of(client, k, namespace).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case err == nil, mayRefuse && apierrors.IsForbidden(err):
			served = append(served, k)
		case !apierrors.IsNotFound(err):
			return nil, nil, fmt.Errorf("ask the hub which kinds it has: %w", err)
		case !k.Optional():
			missing = append(missing, k)
		}
	}
	return served, missing, nil
}

// definitionPause is the wait before asking again for definitions, in the API server's time.
const definitionPause = time.Second

func (s *store) follow(k objects.Kind, informer cache.SharedIndexInformer, h *hub) error {
	notify := func(o any, gone bool) {
		if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = last.Obj
		}
		if seen, ok := o.(*apiobject.Object); ok {
			s.forget(keyOf(k, seen), seen, gone)
			h.queue.add(keyOf(k, seen))
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { notify(o, false) },
		UpdateFunc: func(_, o any) { notify(o, false) },
		DeleteFunc: func(o any) { notify(o, true) },
	})
	s.stores[k] = informer.GetStore()
	return errors.Join(err, informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { h.logf("watch %s: %v", k, err) }))
}

// forget drops a version that was written, once a watch has brought it, a newer one, or its end.
func (s *store) forget(at key, seen *apiobject.Object, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if mine := s.written[at]; mine != nil && (gone && mine.GetUID() == seen.GetUID() || !older(seen, mine)) {
		delete(s.written, at)
	}
}

func older(a, b *apiobject.Object) bool {
	x, errX := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	y, errY := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return errX == nil && errY == nil && x < y
}

// get gives the newest known version of an object, to be changed at will; nil where there is none.
func (s *store) get(k objects.Kind, space, id string) *apiobject.Object {
	var newest *apiobject.Object
	if from := s.stores[k]; from != nil {
		if o, found, _ := from.GetByKey(cache.NewObjectName(space, id).String()); found {
			newest, _ = o.(*apiobject.Object)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mine := s.written[key{k, space, id}]; mine != nil && (newest == nil || older(newest, mine)) {
		newest = mine
	}
	return newest.DeepCopy() // nil of nil
}

// newest are the objects of a kind in a namespace ("" for all), not to be changed.
func (s *store) newest(k objects.Kind, space string) map[key]*apiobject.Object {
	found := map[key]*apiobject.Object{}
	if from := s.stores[k]; from != nil {
		for _, o := range from.List() {
			if seen, ok := o.(*apiobject.Object); ok && (space == "" || seen.GetNamespace() == space) {
				found[keyOf(k, seen)] = seen
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for at, mine := range s.written {
		if at.kind == k && (space == "" || at.space == space) && (found[at] == nil || older(found[at], mine)) {
			found[at] = mine
		}
	}
	return found
}

// list gives the objects of a kind in a namespace ("" for all), by name, to be changed at will.
func (s *store) list(k objects.Kind, space string) []*apiobject.Object {
	var all []*apiobject.Object
	for _, o := range s.newest(k, space) {
		all = append(all, o.DeepCopy())
	}
	slices.SortFunc(all, func(a, b *apiobject.Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}

func (s *store) read(ctx context.Context, k objects.Kind, space, id string) (*apiobject.Object, error) {
	if o := s.get(k, space, id); o != nil {
		return o, nil
	}
	return s.live(ctx, k, space, id)
}

// keep remembers a version that the server gave back for a write, and makes it the writer's own.
func (s *store) keep(o, made *apiobject.Object, err error) error {
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

// live asks the server for an object, for kinds of which other copies may be old.
func (s *store) live(ctx context.Context, k objects.Kind, space, id string) (*apiobject.Object, error) {
	return of(s.client, k, space).Get(ctx, id, metav1.GetOptions{})
}

func (s *store) resource(o *apiobject.Object) dynamic.ResourceInterface {
	return of(s.client, objects.Kind(o.GetKind()), o.GetNamespace())
}

func (s *store) create(ctx context.Context, o *apiobject.Object) error {
	made, err := s.resource(o).Create(ctx, o, metav1.CreateOptions{FieldManager: manager})
	return s.keep(o, made, err)
}

func (s *store) update(ctx context.Context, o *apiobject.Object) error {
	made, err := s.resource(o).Update(ctx, o, metav1.UpdateOptions{FieldManager: manager})
	return s.keep(o, made, err)
}

// change writes what edit does to an object, if it does anything.
func (s *store) change(ctx context.Context, o *apiobject.Object, edit func()) error {
	before := o.DeepCopy()
	if edit(); reflect.DeepEqual(before, o) {
		return nil
	}
	return s.update(ctx, o)
}

// updatePrinted is update in the form in which the service writes an object.
func (s *store) updatePrinted(ctx context.Context, o *apiobject.Object) error {
	printed := objects.AsPrinted(objects.Kind(o.GetKind()), o)
	err := s.update(ctx, printed)
	if err == nil {
		*o = *printed
	}
	return err
}

func (s *store) updateStatus(ctx context.Context, o *apiobject.Object) error {
	made, err := s.resource(o).UpdateStatus(ctx, o, metav1.UpdateOptions{FieldManager: manager})
	return s.keep(o, made, err)
}

// delete asks for the removal of an object. One that is not there is no error.
func (s *store) delete(ctx context.Context, k objects.Kind, space, id string) error {
	err := of(s.client, k, space).Delete(ctx, id, metav1.DeleteOptions{})
	s.mu.Lock()
	delete(s.written, key{k, space, id})
	s.mu.Unlock()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func referred(ref *hubapi.Reference) key {
	return key{hubapi.KindClusterDeployment, ref.Namespace, ref.Name}
}
