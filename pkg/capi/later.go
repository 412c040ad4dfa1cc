package capi

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// servedAgain is how often it is checked whether a kind is served.
const servedAgain = 10 * time.Second

// later is a source of requests by the objects of a kind that may be installed later, with another
// provider. A controller that watched it would not start before, and end after a while.
func (c *controllerManager) later(of client.Object, then handler.EventHandler, predicates ...predicate.Predicate) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go func() {
			for !c.serves(of) {
				if c.options.Clock.Sleep(ctx, servedAgain) != nil {
					return
				}
			}
			kind := source.Kind(c.GetCache(), of, then, predicates...)
			if err := kind.Start(ctx, queue); err != nil && ctx.Err() == nil {
				c.options.Log.Error(err, "cannot watch a kind that has come later", "kind", fmt.Sprintf("%T", of))
			}
		}()
		return nil
	})
}

// serves reports whether the API server has a kind.
func (c *controllerManager) serves(of client.Object) bool {
	kind, err := apiutil.GVKForObject(of, c.GetScheme())
	if err != nil {
		return false
	}
	_, err = c.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	return err == nil
}
