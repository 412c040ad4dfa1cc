// Package apiobject has what is done alike with all objects of the API servers that the simulator plays on.
package apiobject

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// Object is any object of an API server.
type Object = unstructured.Unstructured

// Text reads a text at a path; "" where there is none.
func Text(o *Object, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

// Truth reads a truth value at a path; false where there is none.
func Truth(o *Object, path ...string) bool {
	value, _, _ := unstructured.NestedBool(o.Object, path...)
	return value
}

// Status is a copy of an object's status, to be changed; it is empty where the object has none.
func Status(o *Object) map[string]any {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	return status
}

// HasFinalizer reports whether an object has a finalizer.
func HasFinalizer(o *Object, name string) bool { return slices.Contains(o.GetFinalizers(), name) }

// AddFinalizer reports whether it was not there yet.
func AddFinalizer(o *Object, name string) bool {
	if HasFinalizer(o, name) {
		return false
	}
	o.SetFinalizers(append(o.GetFinalizers(), name))
	return true
}

// DropFinalizer reports whether it was there.
func DropFinalizer(o *Object, name string) bool {
	if !HasFinalizer(o, name) {
		return false
	}
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(other string) bool { return other == name }))
	return true
}

// Condition is the condition of a type in an object's status; nil where there is none.
func Condition(o *Object, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	if at := indexOf(list, kind); at >= 0 {
		return list[at].(map[string]any)
	}
	return nil
}

// SetCondition puts a condition into a list, in place of the one of its type. While its status is the same it keeps
// the time of its last transition.
func SetCondition(list []any, next map[string]any) []any {
	kind, _ := next["type"].(string)
	at := indexOf(list, kind)
	if at < 0 {
		return append(list, next)
	}
	if old := list[at].(map[string]any); old["status"] == next["status"] {
		next["lastTransitionTime"] = old["lastTransitionTime"]
	}
	list[at] = next
	return list
}

// DropCondition takes the condition of a type out of a list.
func DropCondition(list []any, kind string) []any {
	if at := indexOf(list, kind); at >= 0 {
		return slices.Delete(list, at, at+1)
	}
	return list
}

func indexOf(conditions []any, kind string) int {
	return slices.IndexFunc(conditions, func(each any) bool { c, is := each.(map[string]any); return is && c["type"] == kind })
}

// ListWatch lists and watches a resource. It is written out: dynamicinformer brings the clients of all of Kubernetes'
// own kinds along.
func ListWatch(client dynamic.Interface, resource dynamic.ResourceInterface) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, o)
		},
	}, client)
}
