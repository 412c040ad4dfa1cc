package kubewatch

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Client lists and watches the objects of one kind, as client-go's typed and dynamic clients do.
type Client[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Follow keeps a store up to date until life ends. The reflector lists, watches, and begins again
// where a watch ends or its resource version is too old. The selectors of only choose the objects. The client is
// one of all, which tells whether it lists by watching.
func Follow[O metav1.Object, V any, L runtime.Object](
	life context.Context, s *Store[O, V], client Client[L], only metav1.ListOptions, all any,
) {
	selected := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector, o.FieldSelector = only.LabelSelector, only.FieldSelector
		return o
	}
	source := Reporting(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, selected(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, selected(o))
		},
	}, s.Fail)
	logger := logr.Discard()
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, all), nil, s, cache.ReflectorOptions{
		Name: s.config.What, TypeDescription: s.config.What, Logger: &logger,
		Backoff: &wait.Backoff{Duration: 300 * time.Millisecond, Cap: 5 * time.Second, Steps: 8, Factor: 2, Jitter: 0.5},
	}).RunWithContext(life)
}

// Reporting is a source of objects that reports the result of each call that would bring some: the error, or nil.
func Reporting(of cache.ListerWatcher, report func(error)) *cache.ListWatch {
	source := cache.ToListerWatcherWithContext(of)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := source.ListWithContext(ctx, o)
			report(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			events, err := source.WatchWithContext(ctx, o)
			if err == nil || !goesOn(o, err) {
				report(err)
			}
			return events, err
		},
	}
}

// goesOn reports whether a reflector goes on after a watch was refused: a server that cannot list by watching, or has
// forgotten the resource version, is listed then, and that is reported. Where it does not answer, the reflector asks for the
// same again.
func goesOn(o metav1.ListOptions, err error) bool {
	if o.SendInitialEvents != nil {
		return !utilnet.IsConnectionRefused(err) && !apierrors.IsTooManyRequests(err)
	}
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}
