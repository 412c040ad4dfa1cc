package kube

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/kubewatch"
)

// Namespace is a namespace that is watched, or all of them together: for all that it has a store for, or for some kinds alone.
type Namespace struct {
	Name   string
	Stores map[Kind]*Store // by kind

	mu      sync.Mutex
	signals map[*kubewatch.Signal]string // with the ids of their clusters
}

// NewNamespace is a namespace with empty stores for kinds.
func NewNamespace(texts *hubapi.Texts, name string, kinds ...Kind) *Namespace {
	at := &Namespace{Name: name, Stores: map[Kind]*Store{}, signals: map[*kubewatch.Signal]string{}}
	for _, k := range kinds {
		at.Stores[k] = newStore(texts, k, name, at.changed)
	}
	return at
}

// Watch is a namespace of clusters, whose objects are all there; the first call for it begins
// to watch. Where the watches cannot be begun, why.
func (c *Client) Watch(ctx context.Context, namespace string) (*Namespace, error) {
	return c.watch(ctx, namespace, Watched())
}

// WatchHosts is Watch for a namespace of which only hosts, and what they boot, are read: access to
// the clusters there is not needed.
func (c *Client) WatchHosts(ctx context.Context, namespace string) (*Namespace, error) {
	return c.watch(ctx, namespace, OfHosts())
}

func (c *Client) watch(ctx context.Context, namespace string, kinds []Kind) (*Namespace, error) {
	at, err := c.begin(ctx, namespace, kinds)
	if err != nil {
		return nil, err
	}
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	for _, k := range slices.Sorted(slices.Values(kinds)) { // of several faults the same one
		err, failed := at.Store(k).Wait(ctx), Attempt{Op: "watch namespace", Namespace: namespace}
		if err != nil && at.Store(k).Failing() != nil {
			failed = Attempt{Op: "watch " + k.Resource().Resource + " in", Verb: "list", Kind: k, Namespace: namespace}
		}
		if err != nil {
			return at, c.Fault(failed, err)
		}
	}
	return at, nil
}

// begin watches those of the kinds that the hub has in a namespace, "" for all, until the client is closed.
func (c *Client) begin(ctx context.Context, namespace string, kinds []Kind) (*Namespace, error) {
	served, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	life, err := c.lifetime(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known := c.Namespaces[namespace]
	if !known {
		at = NewNamespace(&c.Texts, namespace, slices.DeleteFunc(Watched(), func(k Kind) bool { return !served[k] })...)
		c.Namespaces[namespace] = at
	}
	for _, k := range kinds {
		if s := at.Stores[k]; s != nil && s.Begin() && !c.share(life, s, namespace) {
			client := c.Dynamic.Resource(k.Resource()).Namespace(namespace)
			go kubewatch.Follow(life, s.Store, client, metav1.ListOptions{LabelSelector: k.Selector()}, c.Dynamic)
		}
	}
	return at, nil
}

// share has a store filled from the caller's informers. It is false if they do not have the kind in the namespace.
func (c *Client) share(life context.Context, s *Store, namespace string) bool {
	if c.Informers == nil {
		return false
	}
	s.shared.Store(true) // before any object comes
	shared := c.Informers(life, hubapi.GroupVersionKind(string(s.Kind)), namespace, s)
	s.shared.Store(shared)
	return shared
}

// Watching is a namespace that is watched already, nil where it is not.
func (c *Client) Watching(namespace string) *Namespace {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Namespaces[namespace]
}

// Store is that of a kind; an empty one where the hub has no such kind.
func (at *Namespace) Store(k Kind) *Store {
	if s, there := at.Stores[k]; there {
		return s
	}
	none := newStore(nil, k, at.Name, func(*unstructured.Unstructured) {})
	_ = none.Replace(nil, "")
	return none
}

// Failing is why a watch brings nothing at present, nil while all do.
func (c *Client) Failing(at *Namespace) error {
	for _, s := range Sorted(at.Stores) {
		if err := s.Failing(); err != nil {
			return c.Fault(Attempt{Op: "watch " + s.Kind.Resource().Resource + " in", Verb: "watch", Kind: s.Kind, Namespace: at.Name}, err)
		}
	}
	return nil
}

// changed gives the signals that a change of an object concerns: all, where it is nil.
func (at *Namespace) changed(u *unstructured.Unstructured) {
	at.mu.Lock()
	defer at.mu.Unlock()
	if len(at.signals) == 0 {
		return
	}
	of := ""
	if u != nil {
		of = ClusterOf(u)
	}
	for signal, cluster := range at.signals {
		if of == "" || of == cluster {
			signal.Give()
			delete(at.signals, signal)
		}
	}
}

// Signal has a signal given at the next change in the namespace that concerns a cluster, or may.
func (at *Namespace) Signal(s *kubewatch.Signal, cluster string) {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.signals[s] = cluster
}

// Store holds the objects of one kind in a scope as a watch brings them, and as our own writes return them, whichever is
// newer. Its objects are not to be changed. Their keys are their names, in the scope of all namespaces their ids.
type Store struct {
	*kubewatch.Store[*unstructured.Unstructured, *unstructured.Unstructured]
	Kind Kind

	texts  *hubapi.Texts // trims the objects; nil for objects that others have, too
	shared atomic.Bool   // its objects are those of the caller's informers, which have trimmed them
}

// newStore is an empty store. With texts it trims its objects, which must be its own then.
func newStore(texts *hubapi.Texts, k Kind, scope string, changed func(*unstructured.Unstructured)) *Store {
	s := &Store{Kind: k, texts: texts}
	config := kubewatch.Config[*unstructured.Unstructured, *unstructured.Unstructured]{
		What: k.Resource().Resource, Key: (*unstructured.Unstructured).GetName, Changed: changed,
		Read: func(u *unstructured.Unstructured) *unstructured.Unstructured {
			if !s.shared.Load() {
				s.trim(u)
			}
			return u
		},
	}
	if scope == "" && !k.ClusterWide() {
		config.Key = func(u *unstructured.Unstructured) string { return ID(u.GetNamespace(), u.GetName()) }
	}
	s.Store = kubewatch.NewStore(config)
	return s
}

func (s *Store) trim(u *unstructured.Unstructured) {
	if s.texts != nil {
		s.texts.Trim(u)
	}
}

// keep puts in an object as it was written. One that has lost its label is not watched any more.
func (s *Store) keep(u *unstructured.Unstructured) {
	if _, labelled := u.GetLabels()[s.Kind.Selector()]; s.Kind.Selector() != "" && !labelled {
		_ = s.Delete(u) // an object of the right type is always taken
		return
	}
	if s.shared.Load() { // what comes from a write is the store's own
		s.trim(u)
	}
	s.Write(u)
}
