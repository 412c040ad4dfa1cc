package hub

import (
	"context"
	"maps"
	"slices"
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
	name   string
	stores map[string]*store // by kind

	mu   sync.Mutex
	news chan struct{} // closed, and made anew, when something changes
}

func newNamespace(name string) *Namespace {
	return &Namespace{name: name, stores: map[string]*store{}, news: make(chan struct{})}
}

// place is a namespace whose objects are all there; the first call for it begins
// to watch. Where the watches cannot be begun, why.
func (c *Client) place(ctx context.Context, namespace string) (*Namespace, error) {
	have, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	life, err := c.lifetime(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	at, known := c.namespaces[namespace]
	if !known {
		at = newNamespace(namespace)
		c.namespaces[namespace] = at
		for _, k := range watched() {
			if k.Group != "" && !have.has(k) {
				continue
			}
			s := newStore(k, at.changed)
			at.stores[k.name] = s
			go c.fill(life, namespace, s)
		}
	}
	c.mu.Unlock()
	return at, c.filled(ctx, at)
}

// watching is a namespace that is watched already, nil where it is not.
func (c *Client) watching(namespace string) *Namespace {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.namespaces[namespace]
}

// filled waits until all is there, or something does not come.
func (c *Client) filled(ctx context.Context, at *Namespace) error {
	ctx, cancel := brief(ctx)
	defer cancel()
	for {
		news := at.wait()
		missing := false
		for _, s := range at.inOrder() {
			synced, failing := s.health()
			if synced {
				continue
			}
			missing = true
			if failing != nil {
				return c.fault(attempt{op: "watch " + s.kind.Resource + " in", verb: "list", kind: s.kind, namespace: at.name}, failing)
			}
		}
		if !missing {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return c.fault(attempt{op: "watch namespace", namespace: at.name}, context.Cause(ctx))
		}
	}
}

// store is that of a kind; an empty one where the hub has no such kind.
func (at *Namespace) store(k kind) *store {
	if s, there := at.stores[k.name]; there {
		return s
	}
	return newStore(k, func() {})
}

// inOrder are the stores by kind, so that of several faults always the same is
// told.
func (at *Namespace) inOrder() []*store {
	out := make([]*store, 0, len(at.stores))
	for _, name := range slices.Sorted(maps.Keys(at.stores)) {
		out = append(out, at.stores[name])
	}
	return out
}

// failing is why a watch brings nothing at present, nil while all do.
func (c *Client) failing(at *Namespace) error {
	for _, s := range at.inOrder() {
		if _, err := s.health(); err != nil {
			return c.fault(attempt{op: "watch " + s.kind.Resource + " in", verb: "watch", kind: s.kind, namespace: at.name}, err)
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

// wait is closed at the next change.
func (at *Namespace) wait() <-chan struct{} {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.news
}

// fill keeps a store up to date until life ends. The reflector lists, watches,
// and begins again by itself where a watch ends or its version is too old.
func (c *Client) fill(life context.Context, namespace string, s *store) {
	client := c.dynamic.Resource(s.kind.GroupVersionResource).Namespace(namespace)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = s.kind.with
			list, err := client.List(ctx, options)
			s.heard(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = s.kind.with
			events, err := client.Watch(ctx, options)
			// A server that cannot list by watching refuses, and is asked in the old
			// way next. One that has forgotten the version is listed anew.
			if streamed := options.SendInitialEvents != nil; err == nil || !streamed && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				s.heard(err)
			}
			return events, err
		},
	}
	logger := logr.Discard()
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, c.dynamic), &unstructured.Unstructured{}, s, cache.ReflectorOptions{
		Name: s.kind.Resource + " in " + namespace, TypeDescription: s.kind.name, Logger: &logger,
		Backoff: &wait.Backoff{Duration: 300 * time.Millisecond, Cap: 10 * time.Second, Steps: 8, Factor: 2, Jitter: 0.5},
	})
	reflector.RunWithContext(life)
}
