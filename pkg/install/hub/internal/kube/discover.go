package kube

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/pkg/install/model"
)

// Discover is how the API server serves a kind that is none of a hub's own, in the first of the versions that it prefers;
// empty where it does not. Everybody may ask that, unlike for the kind's definition.
func (c *Client) Discover(ctx context.Context, kind schema.GroupKind) (schema.GroupVersionResource, error) {
	var group metav1.APIGroup
	found, err := c.readDiscovery(ctx, "/apis/"+kind.Group, "/apis/"+kind.Group, &group)
	if err != nil || !found {
		return schema.GroupVersionResource{}, err
	}
	for _, served := range group.Versions { // providers share groups, and not their versions
		version := schema.GroupVersion{Group: kind.Group, Version: served.Version}
		var list metav1.APIResourceList
		if _, err = c.readDiscovery(ctx, "/apis/"+version.String(), "/apis/"+version.String(), &list); err != nil {
			return schema.GroupVersionResource{}, err
		}
		for i := range list.APIResources {
			if r := &list.APIResources[i]; r.Kind == kind.Kind && r.Namespaced && !strings.Contains(r.Name, "/") {
				return version.WithResource(r.Name), nil
			}
		}
	}
	return schema.GroupVersionResource{}, nil
}

// readDiscovery reads what the API server has at a path, which errors call what.
func (c *Client) readDiscovery(ctx context.Context, what, path string, into any) (found bool, err error) {
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	data, err := c.Raw.Get().AbsPath(path).Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, c.Fault(Attempt{Op: "ask the hub for " + what}, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, &model.Fault{
			Code: model.CodeFailure, Op: "use the hub", On: c.Host, Permanent: true,
			Err: errors.New("what answers there is no Kubernetes API server"), Next: "check --kubeconfig and --context",
		}
	}
	return true, nil
}

// ListOf lists objects of such a kind in a namespace, "" for all.
func (c *Client) ListOf(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error) {
	ctx, cancel := WithTimeout(ctx)
	defer cancel()
	list, err := c.Dynamic.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		fault := c.Fault(Attempt{Op: "list " + resource.GroupResource().String(), Verb: "list", Namespace: namespace}, err)
		if apierrors.IsForbidden(err) && namespace == "" {
			fault.Next = "give --namespace for one that you may look into"
		}
		return nil, fault
	}
	return list.Items, nil
}
