package kube

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// UnknownKindError is the error of an object whose kind the API server does not know, or not yet.
type UnknownKindError struct {
	Kind schema.GroupVersionKind
}

func (u *UnknownKindError) Error() string {
	return fmt.Sprintf("the API server does not know the kind %s of %s", u.Kind.Kind, u.Kind.GroupVersion())
}

// Apply creates an object or changes it, by server-side apply. It takes over fields that others have set. An object of a kind
// that has namespaces and that names none is put into default. The error wraps an *UnknownKindError if there is no such kind.
func (c *Client) Apply(ctx context.Context, object *Object) error {
	if err := c.apply(ctx, object); err != nil {
		return fmt.Errorf("apply the %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

func (c *Client) apply(ctx context.Context, object *Object) error {
	served, err := c.resourceOf(ctx, object.GroupVersionKind())
	if err != nil {
		return err
	}
	at := c.objects.Resource(object.GroupVersionKind().GroupVersion().WithResource(served.Name))
	var target dynamic.ResourceInterface = at
	if served.Namespaced {
		space := object.GetNamespace()
		if space == "" {
			space = metav1.NamespaceDefault
			object = object.DeepCopy()
			object.SetNamespace(space)
		}
		target = at.Namespace(space)
	}
	_, err = target.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: Manager, Force: true})
	return err
}

// resourceOf finds how the API server serves a kind.
func (c *Client) resourceOf(ctx context.Context, kind schema.GroupVersionKind) (metav1.APIResource, error) {
	path := []string{"apis", kind.Group, kind.Version}
	if kind.Group == "" {
		path = []string{"api", kind.Version}
	}
	content, err := c.raw.Get().AbsPath(path...).DoRaw(ctx)
	if NotFound(err) {
		return metav1.APIResource{}, &UnknownKindError{Kind: kind}
	}
	if err != nil {
		return metav1.APIResource{}, fmt.Errorf("read what kinds %s has: %w", kind.GroupVersion(), err)
	}
	var served metav1.APIResourceList
	if err := json.Unmarshal(content, &served); err != nil {
		return metav1.APIResource{}, fmt.Errorf("read what kinds %s has: %w", kind.GroupVersion(), err)
	}
	for _, one := range served.APIResources {
		if one.Kind == kind.Kind && !isPart(one.Name) {
			return one, nil
		}
	}
	return metav1.APIResource{}, &UnknownKindError{Kind: kind}
}

// isPart reports whether a resource is a part of another one, such as pods/log.
func isPart(resource string) bool {
	for _, char := range resource {
		if char == '/' {
			return true
		}
	}
	return false
}
