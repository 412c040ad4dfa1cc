package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// Namespace is a namespace that is watched: for all that it has a store for, or for hosts alone.
type Namespace struct {
	Name   string
	Stores map[Kind]*Store // by kind

	mu      sync.Mutex
	news    chan struct{} // closed, and made anew, when something changes
	signals map[*Signal]bool
}

// NewNamespace is a namespace with empty stores for kinds.
func NewNamespace(texts *hubapi.Texts, name string, kinds ...Kind) *Namespace {
	at := &Namespace{Name: name, Stores: map[Kind]*Store{}, news: make(chan struct{}), signals: map[*Signal]bool{}}
	for _, k := range kinds {
		at.Stores[k] = newStore(texts, k, at.changed)
	}
	return at
}

// Watch is a namespace of clusters, whose objects are all there; the first call for it begins
// to watch. Where the watches cannot be begun, why.
func (c *Client) Watch(ctx context.Context, namespace string) (*Namespace, error) {
	return c.watch(ctx, namespace, Watched())
}

// WatchHosts is Watch for a namespace of which only hosts, and what they boot, are asked for: who may not look
// at the clusters there need not.
func (c *Client) WatchHosts(ctx context.Context, namespace string) (*Namespace, error) {
	return c.watch(ctx, namespace, OfHosts())
}

func (c *Client) watch(ctx context.Context, namespace string, kinds []Kind) (*Namespace, error) {
	served, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	life, err := c.lifetime(ctx)
	if err != nil {
		return nil, err
	}
	isMissing := func(k Kind) bool { return !served[k] }
	kinds = slices.DeleteFunc(kinds, isMissing)
	c.mu.Lock()
	at, known := c.Namespaces[namespace]
	if !known {
		at = NewNamespace(&c.Texts, namespace, slices.DeleteFunc(Watched(), isMissing)...)
		c.Namespaces[namespace] = at
	}
	for _, k := range kinds {
		if s := at.Stores[k]; s.begin() {
			go c.runReflector(life, namespace, s)
		}
	}
	c.mu.Unlock()
	return at, at.waitSynced(ctx, kinds, func(k Kind, err error) error {
		if k == "" {
			return c.Fault(Attempt{Op: "watch namespace", Namespace: namespace}, err)
		}
		return c.Fault(Attempt{Op: "watch " + k.Resource().Resource + " in", Verb: "list", Kind: k, Namespace: namespace}, err)
	})
}

// Watching is a namespace that is watched already, nil where it is not.
func (c *Client) Watching(namespace string) *Namespace {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Namespaces[namespace]
}

// waitSynced waits until all of some kinds is there, or a kind does not come; fault makes the error,
// for no kind where it is the end of ctx.
func (at *Namespace) waitSynced(ctx context.Context, kinds []Kind, fault func(Kind, error) error) error {
	kinds = slices.Sorted(slices.Values(kinds)) // of several faults the same one
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	for {
		news := at.Wait()
		missing := false
		for _, k := range kinds {
			synced, failing := at.Stores[k].health()
			if !synced && failing != nil {
				return fault(k, failing)
			}
			missing = missing || !synced
		}
		if !missing {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fault("", context.Cause(ctx))
		}
	}
}

// Store is that of a kind; an empty one where the hub has no such kind.
func (at *Namespace) Store(k Kind) *Store {
	if s, there := at.Stores[k]; there {
		return s
	}
	return newStore(&hubapi.Texts{}, k, func(*unstructured.Unstructured) {})
}

// Failing is why a watch brings nothing at present, nil while all do.
func (c *Client) Failing(at *Namespace) error {
	for _, s := range Sorted(at.Stores) {
		if _, err := s.health(); err != nil {
			return c.Fault(Attempt{Op: "watch " + s.Kind.Resource().Resource + " in", Verb: "watch", Kind: s.Kind, Namespace: at.Name}, err)
		}
	}
	return nil
}

// changed tells of a change of an object, nil for one of whatever.
func (at *Namespace) changed(u *unstructured.Unstructured) {
	at.mu.Lock()
	defer at.mu.Unlock()
	close(at.news)
	at.news = make(chan struct{})
	if len(at.signals) == 0 {
		return
	}
	of := ""
	if u != nil {
		of = ClusterOf(u)
	}
	for signal := range at.signals {
		if of == "" || of == signal.cluster {
			signal.give()
			delete(at.signals, signal)
		}
	}
}

// Signal is given once: at the first change that concerns a cluster, in any of the namespaces
// that it was put into.
type Signal struct {
	cluster string // id
	once    sync.Once
	given   chan struct{}
}

// NewSignal is one for the cluster of that id.
func NewSignal(cluster string) *Signal { return &Signal{cluster: cluster, given: make(chan struct{})} }

func (s *Signal) give() { s.once.Do(func() { close(s.given) }) }

// Given is closed once the signal is given.
func (s *Signal) Given() <-chan struct{} { return s.given }

// IsGiven reports whether it was.
func (s *Signal) IsGiven() bool {
	select {
	case <-s.given:
		return true
	default:
		return false
	}
}

// Signals puts a signal into a namespace: it is given at the next change there that concerns its
// cluster, or may.
func (at *Namespace) Signals(s *Signal) {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.signals[s] = true
}

// Wait is closed at the next change.
func (at *Namespace) Wait() <-chan struct{} {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.news
}

// runReflector keeps a store up to date until life ends. The reflector lists, watches,
// and begins again by itself where a watch ends or its version is too old.
func (c *Client) runReflector(life context.Context, namespace string, s *Store) {
	client := c.Dynamic.Resource(s.Kind.Resource()).Namespace(namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = s.Kind.Selector()
			list, err := client.List(ctx, options)
			s.SetFailing(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = s.Kind.Selector()
			events, err := client.Watch(ctx, options)
			// A server that cannot list by watching refuses, and is asked in the old
			// way next. One that has forgotten the version is listed anew.
			if streamed := options.SendInitialEvents != nil; err == nil || !streamed && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				s.SetFailing(err)
			}
			return events, err
		},
	}
	logger := logr.Discard()
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, c.Dynamic), &unstructured.Unstructured{}, s, cache.ReflectorOptions{
		Name: s.Kind.Resource().Resource + " in " + namespace, TypeDescription: string(s.Kind), Logger: &logger,
		Backoff: &wait.Backoff{Duration: 300 * time.Millisecond, Cap: 10 * time.Second, Steps: 8, Factor: 2, Jitter: 0.5},
	})
	reflector.RunWithContext(life)
}

// Store holds the objects of one kind in one namespace as a watch brings them,
// and as our own writes return them, whichever is newer. Its objects are not to
// be changed.
type Store struct {
	Kind    Kind
	texts   *hubapi.Texts
	changed func(*unstructured.Unstructured) // is called after every change of the store
	wide    bool                             // it has the objects of several namespaces

	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured // by name, with the namespace before it where it is wide
	sorted  []*unstructured.Unstructured          // all of them by name; nil after a change
	changes uint64                                // of its objects so far
	begun   bool                                  // a watch brings them
	synced  bool                                  // all that there was at first is here
	failing error                                 // why nothing comes at present
}

var _ cache.ReflectorStore = (*Store)(nil)

func newStore(texts *hubapi.Texts, k Kind, changed func(*unstructured.Unstructured)) *Store {
	return &Store{Kind: k, texts: texts, changed: changed, objects: map[string]*unstructured.Unstructured{}}
}

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
	u, err := s.of(object) // which others may be reading: it is not made smaller
	if err != nil {
		return err
	}
	s.mu.Lock()
	if there := s.objects[s.nameOf(u)]; there != nil && there.GetUID() == u.GetUID() {
		delete(s.objects, s.nameOf(u))
		s.turn()
	}
	s.mu.Unlock()
	s.changed(u)
	return nil
}

// Replace is of cache.ReflectorStore. What we wrote after the list was made stays.
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
	s.turn()
	s.mu.Unlock()
	s.changed(nil)
	return nil
}

// Resync is of cache.ReflectorStore.
func (s *Store) Resync() error { return nil }

// own is an object that a watch has brought, and that nobody else has.
func (s *Store) own(object any) (*unstructured.Unstructured, error) {
	u, err := s.of(object)
	if err == nil {
		s.texts.Trim(u)
	}
	return u, err
}

func (s *Store) of(object any) (*unstructured.Unstructured, error) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("a watch of %s brought a %T", s.Kind.Resource().Resource, object)
	}
	return u, nil
}

// keep puts an object into the store unless a newer one is there.
func (s *Store) keep(u *unstructured.Unstructured) {
	if s.put(u) {
		s.changed(u)
	}
}

// put reports whether an object has changed what the store holds.
func (s *Store) put(u *unstructured.Unstructured) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := s.nameOf(u)
	there := s.objects[name]
	if _, labelled := u.GetLabels()[s.Kind.Selector()]; s.Kind.Selector() != "" && !labelled {
		delete(s.objects, name) // none of those that are watched any more
		s.turn()
		return there != nil
	}
	if there != nil && there.GetUID() == u.GetUID() && !newer(u.GetResourceVersion(), there.GetResourceVersion()) {
		return false
	}
	s.objects[name] = u
	s.turn()
	return true
}

// turn notes that the objects have changed. s.mu is held.
func (s *Store) turn() { s.sorted, s.changes = nil, s.changes+1 }

// Changes is how often the objects have changed so far: as long as it stays the same, All does.
func (s *Store) Changes() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// SetFailing notes how the last call for the store went.
func (s *Store) SetFailing(err error) {
	s.mu.Lock()
	same := err == nil && s.failing == nil
	s.failing = err
	s.mu.Unlock()
	if !same {
		s.changed(nil)
	}
}

// begin reports whether a watch is still to be begun for the store, and takes it for begun then. What was filled
// already is watched.
func (s *Store) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.begun && !s.synced
	s.begun = true
	return first
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
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(maps.Values(s.objects), func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	}
	return slices.Clone(s.sorted)
}

// newer says whether one resource version is later than another. They are
// numbers that grow (KEP-5504); where they are not, the one that comes last is
// taken for the later.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order > 0
}
