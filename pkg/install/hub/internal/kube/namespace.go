package kube

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Namespace is a namespace that is watched.
type Namespace struct {
	Name   string
	Stores map[string]*Store // by kind

	mu   sync.Mutex
	news chan struct{} // closed, and made anew, when something changes
}

func newNamespace(name string) *Namespace {
	return &Namespace{Name: name, Stores: map[string]*Store{}, news: make(chan struct{})}
}

// Watch is a namespace whose objects are all there; the first call for it begins
// to watch. Where the watches cannot be begun, why.
func (c *Client) Watch(ctx context.Context, namespace string) (*Namespace, error) {
	have, err := c.Connect(ctx)
	if err != nil {
		return nil, err
	}
	life, err := c.lifetime(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	at, known := c.Namespaces[namespace]
	if !known {
		at = newNamespace(namespace)
		c.Namespaces[namespace] = at
		for _, k := range Watched() {
			if k.Group != "" && !have.Has(k) {
				continue
			}
			s := newStore(k, at.changed)
			at.Stores[k.Name] = s
			go c.runReflector(life, namespace, s)
		}
	}
	c.mu.Unlock()
	return at, c.waitSynced(ctx, at)
}

// Watching is a namespace that is watched already, nil where it is not.
func (c *Client) Watching(namespace string) *Namespace {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Namespaces[namespace]
}

// waitSynced waits until all is there, or something does not come.
func (c *Client) waitSynced(ctx context.Context, at *Namespace) error {
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	for {
		news := at.Wait()
		missing := false
		for _, s := range Sorted(at.Stores) {
			synced, failing := s.health()
			if synced {
				continue
			}
			missing = true
			if failing != nil {
				return c.Fault(Attempt{Op: "watch " + s.Kind.Resource + " in", Verb: "list", Kind: s.Kind, Namespace: at.Name}, failing)
			}
		}
		if !missing {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return c.Fault(Attempt{Op: "watch namespace", Namespace: at.Name}, context.Cause(ctx))
		}
	}
}

// Store is that of a kind; an empty one where the hub has no such kind.
func (at *Namespace) Store(k Kind) *Store {
	if s, there := at.Stores[k.Name]; there {
		return s
	}
	return newStore(k, func() {})
}

// Failing is why a watch brings nothing at present, nil while all do.
func (c *Client) Failing(at *Namespace) error {
	for _, s := range Sorted(at.Stores) {
		if _, err := s.health(); err != nil {
			return c.Fault(Attempt{Op: "watch " + s.Kind.Resource + " in", Verb: "watch", Kind: s.Kind, Namespace: at.Name}, err)
		}
	}
	return nil
}

func (at *Namespace) changed() {
	at.mu.Lock()
	defer at.mu.Unlock()
	close(at.news)
	at.news = make(chan struct{})
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
	client := c.Dynamic.Resource(s.Kind.GroupVersionResource).Namespace(namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = s.Kind.Selector
			list, err := client.List(ctx, options)
			s.Heard(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = s.Kind.Selector
			events, err := client.Watch(ctx, options)
			// A server that cannot list by watching refuses, and is asked in the old
			// way next. One that has forgotten the version is listed anew.
			if streamed := options.SendInitialEvents != nil; err == nil || !streamed && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				s.Heard(err)
			}
			return events, err
		},
	}
	logger := logr.Discard()
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, c.Dynamic), &unstructured.Unstructured{}, s, cache.ReflectorOptions{
		Name: s.Kind.Resource + " in " + namespace, TypeDescription: s.Kind.Name, Logger: &logger,
		Backoff: &wait.Backoff{Duration: 300 * time.Millisecond, Cap: 10 * time.Second, Steps: 8, Factor: 2, Jitter: 0.5},
	})
	reflector.RunWithContext(life)
}
