// Package kubewatch keeps objects of an API server in memory: client-go's reflectors, or informers of another cache, fill
// client-go's stores. It adds what these do not have: a write is in the store at once, and changes and failures are
// signalled.
package kubewatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// Config says what a Store keeps of objects of type O.
type Config[O metav1.Object, V any] struct {
	What    string            // the resource, for errors
	Key     func(O) string    // the object's key in the store
	Read    func(O) V         // the value that is kept of an object; it may change the object
	Same    func(a, b V) bool // two versions of an object have the same value; nil: they never have
	Changed func(O)           // is called after each change, with nil unless it is of a single object
}

// Filled is what a reflector, or what has informers, brings the objects of a kind to: the first complete list by Replace,
// and changes of single objects after it. Fail takes the result of each call that would bring some.
type Filled = interface {
	cache.ReflectorStore
	Fail(err error)
}

// Store holds the value of each object of one kind. The reflector and own writes fill it; the newer version wins.
// Its values are shared and must not be changed.
type Store[O metav1.Object, V any] struct {
	config  Config[O, V]
	objects cache.Store

	mu      sync.Mutex // of changes of objects, too
	sorted  []V        // all values by key; nil after a change
	changes uint64
	seen    string // the latest resource version that the watch has brought
	begun   bool
	synced  bool
	failing error
	turn    chan struct{} // is closed, and replaced, when synced or failing changes
}

// entry is what client-go's store holds of an object.
type entry[V any] struct {
	key, version string
	uid          types.UID
	written      bool // by an own write
	value        V
}

var _ Filled = (*Store[metav1.Object, any])(nil)

// NewStore returns an empty store.
func NewStore[O metav1.Object, V any](config Config[O, V]) *Store[O, V] {
	key := func(object any) (string, error) { return object.(entry[V]).key, nil }
	return &Store[O, V]{config: config, objects: cache.NewStore(key), turn: make(chan struct{})}
}

func (s *Store[O, V]) object(object any) (O, error) {
	o, ok := object.(O)
	if !ok {
		return o, fmt.Errorf("a watch of %s brought a %T", s.config.What, object)
	}
	return o, nil
}

func (s *Store[O, V]) entry(o O, written bool) entry[V] {
	e := entry[V]{key: s.config.Key(o), version: o.GetResourceVersion(), uid: o.GetUID(), written: written}
	e.value = s.config.Read(o)
	return e
}

func (s *Store[O, V]) find(key string) (e entry[V], found bool) {
	item, found, _ := s.objects.GetByKey(key)
	if found {
		e = item.(entry[V])
	}
	return e, found
}

// Add is of cache.ReflectorStore.
func (s *Store[O, V]) Add(object any) error { return s.Update(object) }

// Update is of cache.ReflectorStore.
func (s *Store[O, V]) Update(object any) error {
	o, err := s.object(object)
	if err != nil {
		return err
	}
	return s.put(o, false)
}

// Write puts an object into the store as an own write has returned it, for the next read.
func (s *Store[O, V]) Write(o O) { _ = s.put(o, true) }

func (s *Store[O, V]) put(o O, written bool) error {
	e := s.entry(o, written)
	s.mu.Lock()
	there, known := s.find(e.key)
	if known && there.written && !written && e.version == there.version && e.uid == there.uid {
		defer s.mu.Unlock()
		return s.replaceCopy(e)
	}
	late := known && e.version != "" && e.version == there.version || known && there.written && !Newer(e.version, there.version)
	switch {
	case written:
		late = late || !Newer(e.version, s.seen) // the watch has brought it already, or that it is deleted
	case known && !there.written && Newer(there.version, e.version):
		s.seen = e.version // the server was restored, and the informer has listed it anew
	default:
		s.see(e.version)
	}
	if late {
		s.mu.Unlock()
		return nil
	}
	err := s.objects.Update(e)
	s.note()
	s.mu.Unlock()
	if !known || there.uid != e.uid || s.config.Same == nil || !s.config.Same(there.value, e.value) {
		s.config.Changed(o)
	}
	return err
}

// replaceCopy puts in an object that is there already, as an own write has returned it: an informer that has brought it
// holds it anyway, and memory has it once then. It is no change. s.mu is held.
func (s *Store[O, V]) replaceCopy(e entry[V]) error {
	s.see(e.version)
	s.sorted = nil
	return s.objects.Update(e)
}

// Delete is of cache.ReflectorStore. Another object of the same name stays.
func (s *Store[O, V]) Delete(object any) error {
	o, err := s.object(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.see(o.GetResourceVersion())
	if there, known := s.find(s.config.Key(o)); known && there.uid == o.GetUID() {
		err = s.objects.Delete(there)
		s.note()
	}
	s.mu.Unlock()
	s.config.Changed(o)
	return err
}

// Replace is of cache.ReflectorStore. Own writes that are newer than the list stay.
func (s *Store[O, V]) Replace(list []any, version string) error {
	entries, index := make([]any, 0, len(list)), make(map[string]int, len(list))
	for _, item := range list {
		o, err := s.object(item)
		if err != nil {
			return err
		}
		e := s.entry(o, false)
		index[e.key] = len(entries)
		entries = append(entries, e)
	}
	s.mu.Lock()
	for _, item := range s.objects.List() {
		if e := item.(entry[V]); e.written && Newer(e.version, version) {
			if i, listed := index[e.key]; listed {
				entries[i] = e
			} else {
				entries = append(entries, e)
			}
		}
	}
	err := s.objects.Replace(entries, version)
	s.note()
	s.synced, s.seen = true, version
	s.turned()
	s.mu.Unlock()
	s.changed()
	return err
}

// Resync is of cache.ReflectorStore.
func (s *Store[O, V]) Resync() error { return nil }

// see records how far the watch is. s.mu is held.
func (s *Store[O, V]) see(version string) {
	if Newer(version, s.seen) {
		s.seen = version
	}
}

// note records a change of the objects. s.mu is held.
func (s *Store[O, V]) note() { s.sorted, s.changes = nil, s.changes+1 }

// turned wakes those that wait for the store. s.mu is held.
func (s *Store[O, V]) turned() {
	close(s.turn)
	s.turn = make(chan struct{})
}

func (s *Store[O, V]) changed() {
	var none O
	s.config.Changed(none)
}

// Fail records the result of the last call that would fill the store.
func (s *Store[O, V]) Fail(err error) {
	s.mu.Lock()
	same := fmt.Sprint(err) == fmt.Sprint(s.failing)
	s.failing = err
	if !same {
		s.turned()
	}
	s.mu.Unlock()
	if !same {
		s.changed()
	}
}

// Failing is the error by which the store is not kept up to date at present, or nil.
func (s *Store[O, V]) Failing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failing
}

// Begin reports whether a watch must be started for the store. It does so once.
func (s *Store[O, V]) Begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.begun && !s.synced
	s.begun = true
	return first
}

// Wait waits for the first list. It returns the error by which none comes.
func (s *Store[O, V]) Wait(ctx context.Context) error {
	for {
		s.mu.Lock()
		synced, failing, turn := s.synced, s.failing, s.turn
		s.mu.Unlock()
		switch {
		case synced:
			return nil
		case failing != nil:
			return failing
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Changes counts the changes of the objects so far.
func (s *Store[O, V]) Changes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// Get is the value of the object with that key, the zero value if there is none.
func (s *Store[O, V]) Get(key string) V {
	e, _ := s.find(key)
	return e.value
}

// All are the values in the order of their keys.
func (s *Store[O, V]) All() []V {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sorted == nil {
		items := s.objects.List()
		slices.SortFunc(items, func(a, b any) int { return cmp.Compare(a.(entry[V]).key, b.(entry[V]).key) })
		s.sorted = make([]V, len(items))
		for i, item := range items {
			s.sorted[i] = item.(entry[V]).value
		}
	}
	return slices.Clone(s.sorted)
}

// Newer reports whether a resource version is later than another. Versions are numbers that grow (KEP-5504).
// Where they are not, the one that comes last is later.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
