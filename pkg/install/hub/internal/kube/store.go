package kube

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// Store holds the objects of one kind in one namespace as a watch brings them,
// and as our own writes return them, whichever is newer. Its objects are not to
// be changed.
type Store struct {
	Kind    Kind
	changed func() // is called after every change of the store
	wide    bool   // it has the objects of several namespaces

	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured // by name, with the namespace before it where it is wide
	synced  bool                                  // all that there was at first is here
	failing error                                 // why nothing comes at present
}

var _ cache.ReflectorStore = (*Store)(nil)

func newStore(k Kind, changed func()) *Store {
	return &Store{Kind: k, changed: changed, objects: map[string]*unstructured.Unstructured{}}
}

// nameOf is the name under which an object stands in the store.
func (s *Store) nameOf(u *unstructured.Unstructured) string {
	if s.wide {
		return u.GetNamespace() + "/" + u.GetName()
	}
	return u.GetName()
}

// Add is of cache.ReflectorStore.
func (s *Store) Add(object any) error { return s.Update(object) }

// Update is of cache.ReflectorStore.
func (s *Store) Update(object any) error {
	u, err := s.own(object)
	if err != nil {
		return err
	}
	s.keep(u)
	return nil
}

// Delete is of cache.ReflectorStore.
func (s *Store) Delete(object any) error {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	u, err := s.own(object)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if there := s.objects[s.nameOf(u)]; there != nil && there.GetUID() == u.GetUID() {
		delete(s.objects, s.nameOf(u))
	}
	s.mu.Unlock()
	s.changed()
	return nil
}

// Replace is of cache.ReflectorStore. What we wrote after the list was made
// stays.
func (s *Store) Replace(list []any, version string) error {
	objects := make(map[string]*unstructured.Unstructured, len(list))
	for _, item := range list {
		u, err := s.own(item)
		if err != nil {
			return err
		}
		objects[s.nameOf(u)] = u
	}
	s.mu.Lock()
	for name, there := range s.objects {
		if newer(there.GetResourceVersion(), version) {
			objects[name] = there
		}
	}
	s.objects, s.synced = objects, true
	s.mu.Unlock()
	s.changed()
	return nil
}

// Resync is of cache.ReflectorStore.
func (s *Store) Resync() error { return nil }

func (s *Store) own(object any) (*unstructured.Unstructured, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("a watch of %s brought a %T", s.Kind.Resource, object)
	}
	return u, nil
}

// keep puts an object into the store unless a newer one is there.
func (s *Store) keep(u *unstructured.Unstructured) {
	s.mu.Lock()
	name := s.nameOf(u)
	there := s.objects[name]
	if _, labelled := u.GetLabels()[s.Kind.Selector]; s.Kind.Selector != "" && !labelled {
		delete(s.objects, name) // none of those that are watched any more
	} else if there == nil || there.GetUID() != u.GetUID() || newer(u.GetResourceVersion(), there.GetResourceVersion()) {
		s.objects[name] = u
	}
	s.mu.Unlock()
	s.changed()
}

// Heard notes how the last call for the store went.
func (s *Store) Heard(err error) {
	s.mu.Lock()
	same := err == nil && s.failing == nil
	s.failing = err
	s.mu.Unlock()
	if !same {
		s.changed()
	}
}

// health is whether the store has been filled, and why nothing comes now.
func (s *Store) health() (synced bool, failing error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced, s.failing
}

// Get is the object of that name, or nil.
func (s *Store) Get(name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[name]
}

// All are the objects by name.
func (s *Store) All() []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.objects), func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
}

// newer says whether one resource version is later than another. They are
// numbers that grow (KEP-5504); where they are not, the one that comes last is
// taken for the later.
func newer(a, b string) bool {
	x, err := strconv.ParseUint(a, 10, 64)
	y, other := strconv.ParseUint(b, 10, 64)
	if err != nil || other != nil {
		return true
	}
	return x > y
}
