package node

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	certificatesclient "k8s.io/client-go/kubernetes/typed/certificates/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// store holds what is needed of the objects of one kind, as a watch brings them. However many
// there are, they are listed once.
type store[O metav1.Object, V any] struct {
	what string
	read func(O) V
	news *news

	mu      sync.Mutex
	values  map[string]V
	first   chan struct{} // is closed once all that there was at first is here
	synced  bool
	failing error // why nothing comes at present
}

func newStore[O metav1.Object, V any](what string, news *news, read func(O) V) *store[O, V] {
	return &store[O, V]{what: what, read: read, news: news, values: map[string]V{}, first: make(chan struct{})}
}

// Add is of cache.ReflectorStore.
func (s *store[O, V]) Add(object any) error { return s.Update(object) }

// Update is of cache.ReflectorStore. A heartbeat changes nothing.
func (s *store[O, V]) Update(object any) error {
	o, err := s.own(object)
	if err != nil {
		return err
	}
	value := s.read(o)
	s.mu.Lock()
	before, known := s.values[o.GetName()]
	changed := !known || !reflect.DeepEqual(before, value)
	s.values[o.GetName()] = value
	s.mu.Unlock()
	if changed {
		s.news.tell()
	}
	return nil
}

// Delete is of cache.ReflectorStore.
func (s *store[O, V]) Delete(object any) error {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	o, err := s.own(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.values, o.GetName())
	s.mu.Unlock()
	s.news.tell()
	return nil
}

// Replace is of cache.ReflectorStore.
func (s *store[O, V]) Replace(list []any, _ string) error {
	values := make(map[string]V, len(list))
	for _, item := range list {
		o, err := s.own(item)
		if err != nil {
			return err
		}
		values[o.GetName()] = s.read(o)
	}
	s.mu.Lock()
	s.values = values
	if !s.synced {
		s.synced = true
		close(s.first)
	}
	s.mu.Unlock()
	s.news.tell()
	return nil
}

// Resync is of cache.ReflectorStore.
func (s *store[O, V]) Resync() error { return nil }

func (s *store[O, V]) own(object any) (O, error) {
	o, ok := object.(O)
	if !ok {
		return o, fmt.Errorf("a watch of %s brought a %T", s.what, object)
	}
	return o, nil
}

func (s *store[O, V]) fail(err error) {
	s.mu.Lock()
	changed := (err == nil) != (s.failing == nil)
	s.failing = err
	s.mu.Unlock()
	if changed {
		s.news.tell()
	}
}

// await waits for the first list. Its error is why nothing comes.
func (s *store[O, V]) await(ctx context.Context) error {
	s.mu.Lock()
	synced, failing := s.synced, s.failing
	s.mu.Unlock()
	if failing != nil {
		return listFault(s.what, failing)
	}
	if synced {
		return nil
	}
	select {
	case <-s.first:
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failing != nil {
			return listFault(s.what, s.failing)
		}
		return listFault(s.what, errNoList)
	}
}

// all are the values by the names of their objects.
func (s *store[O, V]) all() []V {
	s.mu.Lock()
	defer s.mu.Unlock()
	values := make([]V, 0, len(s.values))
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		values = append(values, s.values[name])
	}
	return values
}

// get is the value of the object of that name.
func (s *store[O, V]) get(name string) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, known := s.values[name]
	return value, known
}

// keep changes what is held of an object, as a write has changed it: the watch brings it later.
func (s *store[O, V]) keep(name string, change func(*V)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, known := s.values[name]; known {
		change(&value)
		s.values[name] = value
	}
}

// lister lists and watches objects of one kind.
type lister struct {
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func watchNodes(life context.Context, core coreclient.CoreV1Interface, news *news) *store[*corev1.Node, model.Node] {
	s := newStore("nodes", news, readNode)
	nodes := core.Nodes()
	go follow(life, s, &corev1.Node{}, lister{
		list:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) },
		watch: nodes.Watch,
	})
	return s
}

func watchRequests(life context.Context, client certificatesclient.CertificatesV1Interface, signer string, news *news) *store[*certificates.CertificateSigningRequest, request] {
	s := newStore("certificate requests", news, readRequest)
	requests, ofSigner := client.CertificateSigningRequests(), "spec.signerName="+signer
	go follow(life, s, &certificates.CertificateSigningRequest{}, lister{
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = ofSigner
			return requests.List(ctx, o)
		},
		watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = ofSigner
			return requests.Watch(ctx, o)
		},
	})
	return s
}

// follow keeps a store up to date until life ends. The reflector lists, watches, and begins
// again by itself where a watch ends or its version is too old.
func follow[O metav1.Object, V any](life context.Context, s *store[O, V], kind runtime.Object, from lister) {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := from.list(ctx, o)
			s.fail(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			events, err := from.watch(ctx, o)
			if err == nil {
				s.fail(nil)
			}
			return events, err
		},
		DisableChunking: false,
	}
	logger := logr.Discard()
	cache.NewReflectorWithOptions(source, kind, s, cache.ReflectorOptions{
		Name: s.what, Logger: &logger,
		Backoff: &wait.Backoff{Duration: 300 * time.Millisecond, Cap: 5 * time.Second, Steps: 8, Factor: 2, Jitter: 0.5},
	}).RunWithContext(life)
}
