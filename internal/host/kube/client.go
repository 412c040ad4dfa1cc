// Package kube reads and changes the few kinds of objects that an installation needs, in the cluster that is being installed.
// It has neither typed clients nor caches: each method is one request, or one for each page of a list.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// Manager is the name under which this client changes objects.
	Manager = "assisted-installer-controller"

	requestLimit = 2 * time.Minute
	bodyLimit    = 64 << 20 // bytes of one answer
	pageSize     = 250      // objects of one answer
	listLimit    = 10_000   // objects of one list
	pagesLimit   = 400      // answers with parts of one list, which may have few objects or none

	queriesPerSecond = 20
	queryBurst       = 40
)

// ErrTooMany is the error of a list that has more objects than a cluster that is being installed can have. The objects up
// to the limit are returned with it.
var ErrTooMany = errors.New("there are more than 10000")

// Client reads and changes objects. Its errors wrap those of the API server, see [NotFound].
type Client struct {
	objects dynamic.Interface
	raw     rest.Interface
}

// errTooLong is the error of an answer that has more bytes than are read.
var errTooLong = errors.New("the answer of the API server is too long")

// New makes a client. No request is sent.
func New(config *rest.Config) (*Client, error) { return newClient(config, bodyLimit) }

// newClient makes a client that reads answers of so many bytes.
func newClient(config *rest.Config, limit int64) (*Client, error) {
	config = dynamic.ConfigFor(config)
	config.QPS, config.Burst = queriesPerSecond, queryBurst
	config.Timeout = requestLimit
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return limited{next, limit} })
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server %s: %w", config.Host, err)
	}
	raw, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of the API server %s: %w", config.Host, err)
	}
	return &Client{objects: objects, raw: raw}, nil
}

// limited ends answers that are too long with an error.
type limited struct {
	next  http.RoundTripper
	limit int64
}

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err == nil && response.Body != nil {
		response.Body = &limitedBody{ReadCloser: response.Body, rest: l.limit}
	}
	return response, err
}

type limitedBody struct {
	io.ReadCloser
	rest int64
}

// Read implements io.Reader.
func (l *limitedBody) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.rest -= int64(n); l.rest < 0 {
		return 0, errTooLong
	}
	return n, err
}

// NotFound reports whether there is no such object, or no such kind of object.
func NotFound(err error) bool { return apierrors.IsNotFound(err) }

// Forbidden reports whether the API server refuses the request for ever: the user is unknown or lacks the right.
func Forbidden(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// AlreadyExists reports whether there is an object of that name.
func AlreadyExists(err error) bool { return apierrors.IsAlreadyExists(err) }

// of names a kind of object.
func of(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

// list reads all objects of a kind, in one namespace, or with "" in all.
func list[T any](ctx context.Context, c *Client, kind schema.GroupVersionResource, space string, options metav1.ListOptions) ([]T, error) {
	return listTrimmed(ctx, c, kind, space, options, func(*T) {})
}

// listTrimmed reads all objects, and lets go of what trim removes. If objects are so large that an answer is too long, fewer are
// asked for at once: large objects cannot hide the others.
func listTrimmed[T any](ctx context.Context, c *Client, kind schema.GroupVersionResource, space string, options metav1.ListOptions,
	trim func(*T),
) ([]T, error) {
	var all []T
	options.Limit = pageSize
	for pages := 1; ; pages++ {
		part, err := c.objects.Resource(kind).Namespace(space).List(ctx, options)
		if errors.Is(err, errTooLong) && options.Limit > 1 {
			options.Limit /= 2
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
		}
		for i := range part.Items {
			one, err := read[T](&part.Items[i])
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
			}
			trim(&one)
			all = append(all, one)
		}
		options.Continue = part.GetContinue()
		switch {
		case options.Continue == "":
			return all, nil
		case len(all) >= listLimit, pages >= pagesLimit:
			return all, fmt.Errorf("list %s: %w", kind.Resource, ErrTooMany)
		}
	}
}

// get reads an object.
func get[T any](ctx context.Context, c *Client, kind schema.GroupVersionResource, space, name string) (T, error) {
	object, err := c.objects.Resource(kind).Namespace(space).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		var none T
		return none, fmt.Errorf("read %s %q: %w", kind.Resource, name, err)
	}
	return read[T](object)
}

func read[T any](object *unstructured.Unstructured) (T, error) {
	var out T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &out); err != nil {
		return out, fmt.Errorf("read the %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	return out, nil
}

// patch changes parts of an object, by a merge patch that is marshalled to JSON.
func (c *Client) patch(ctx context.Context, kind schema.GroupVersionResource, space, name string, change any, parts ...string) error {
	content, err := json.Marshal(change)
	if err == nil {
		_, err = c.objects.Resource(kind).Namespace(space).Patch(ctx, name, types.MergePatchType, content,
			metav1.PatchOptions{FieldManager: Manager}, parts...)
	}
	if err != nil {
		return fmt.Errorf("change %s %q: %w", kind.Resource, name, err)
	}
	return nil
}

// remove deletes an object. It is no error if there is none.
func (c *Client) remove(ctx context.Context, kind schema.GroupVersionResource, space, name string) error {
	err := c.objects.Resource(kind).Namespace(space).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !NotFound(err) {
		return fmt.Errorf("delete %s %q: %w", kind.Resource, name, err)
	}
	return nil
}

// stream reads what is not an object, at most limit bytes, and drops what follows.
func (c *Client) stream(ctx context.Context, limit int64, options url.Values, path ...string) ([]byte, error) {
	request := c.raw.Get().AbsPath(path...)
	for name, values := range options {
		for _, value := range values {
			request.Param(name, value)
		}
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(body, limit))
	return content, errors.Join(err, body.Close())
}
