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

// place is a namespace that is watched.
type place struct {
	namespace string
	stores    map[string]*store // by kind

	mu   sync.Mutex
	news chan struct{} // closed, and made anew, when something changes
}

// place is a namespace whose objects are all there; the first call for it begins
// to watch. Where the watches cannot be begun, why.
func (p *Plane) place(ctx context.Context, namespace string) (*place, error) {
	have, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	life, err := p.lifetime(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	at, known := p.places[namespace]
	if !known {
		at = &place{namespace: namespace, stores: map[string]*store{}, news: make(chan struct{})}
		p.places[namespace] = at
		for _, k := range watched() {
			if k.Group != "" && !have.has(k) {
				continue
			}
			s := newShelf(k, at.changed)
			at.stores[k.name] = s
			go p.fill(life, namespace, s)
		}
	}
	p.mu.Unlock()
	return at, p.filled(ctx, at)
}

// filled waits until all is there, or something does not come.
func (p *Plane) filled(ctx context.Context, at *place) error {
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
				return p.fault(attempt{op: "watch " + s.kind.Resource + " in", verb: "list", kind: s.kind, namespace: at.namespace}, failing)
			}
		}
		if !missing {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return p.fault(attempt{op: "watch namespace", namespace: at.namespace}, context.Cause(ctx))
		}
	}
}

// store is that of a kind; an empty one where the hub has no such kind.
func (at *place) store(k kind) *store {
	if s, there := at.stores[k.name]; there {
		return s
	}
	return newShelf(k, func() {})
}

// inOrder are the stores by kind, so that of several faults always the same is
// told.
func (at *place) inOrder() []*store {
	out := make([]*store, 0, len(at.stores))
	for _, name := range slices.Sorted(maps.Keys(at.stores)) {
		out = append(out, at.stores[name])
	}
	return out
}

// failing is why a watch brings nothing at present, nil while all do.
func (p *Plane) failing(at *place) error {
	for _, s := range at.inOrder() {
		if _, err := s.health(); err != nil {
			return p.fault(attempt{op: "watch " + s.kind.Resource + " in", verb: "watch", kind: s.kind, namespace: at.namespace}, err)
		}
	}
	return nil
}

func (at *place) changed() {
	at.mu.Lock()
	defer at.mu.Unlock()
	close(at.news)
	at.news = make(chan struct{})
}

// wait is closed at the next change.
func (at *place) wait() <-chan struct{} {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.news
}

// fill keeps a store up to date until life ends. The reflector lists, watches,
// and begins again by itself where a watch ends or its version is too old.
func (p *Plane) fill(life context.Context, namespace string, s *store) {
	client := p.dynamic.Resource(s.kind.GroupVersionResource).Namespace(namespace)
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
	reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, p.dynamic), &unstructured.Unstructured{}, s, cache.ReflectorOptions{
		Name: s.kind.Resource + " in " + namespace, TypeDescription: s.kind.name, Logger: &logger,
		Backoff: &wait.Backoff{Duration: 300 * time.Millisecond, Cap: 10 * time.Second, Steps: 8, Factor: 2, Jitter: 0.5},
	})
	reflector.RunWithContext(life)
}
