package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	kindDefinition = "CustomResourceDefinition"
	kindMutating   = "MutatingWebhookConfiguration"
	kindValidating = "ValidatingWebhookConfiguration"
)

// ReadManifests reads the objects of YAML files, and of those in folders, in the order of
// their names.
func ReadManifests(paths ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			read, err := readManifest(file)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			objects = append(objects, read...)
		}
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("there are no objects in %q", paths)
	}
	return objects, nil
}

func readManifest(file string) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Objects(data)
}

// Objects reads the objects of YAML.
func Objects(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(o.Object) > 0:
			objects = append(objects, o)
		}
	}
}

// Install applies the objects of YAML files and folders, such as the kinds and the webhook configurations of a
// provider, and makes the API server call w for them, unless that is nil. It returns once all kinds are served.
func (c *Cluster) Install(ctx context.Context, w *Webhooks, paths ...string) error {
	objects, err := ReadManifests(paths...)
	if err != nil {
		return err
	}
	if w != nil {
		if err := w.Point(objects...); err != nil {
			return err
		}
	}
	return c.Apply(ctx, objects...)
}

// Apply applies objects, the kinds among them first, and returns once those are served.
func (c *Cluster) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	client, err := newApplier(c.Config)
	if err != nil {
		return err
	}
	isKind := func(o *unstructured.Unstructured) bool { return o.GetKind() == kindDefinition }
	var kinds []string
	for _, o := range objects {
		if isKind(o) {
			kinds = append(kinds, o.GetName())
			if err := client.apply(ctx, o); err != nil {
				return err
			}
		}
	}
	for _, name := range kinds {
		if err := client.served(ctx, name); err != nil {
			return err
		}
	}
	for _, o := range slices.DeleteFunc(slices.Clone(objects), isKind) {
		if err := client.apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// applier writes objects of any kind that an API server has.
type applier struct {
	objects dynamic.Interface
	mapper  meta.ResettableRESTMapper
}

func newApplier(config *rest.Config) (*applier, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	asks, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &applier{objects, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(asks))}, nil
}

func (a *applier) apply(ctx context.Context, o *unstructured.Unstructured) error {
	kind := o.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", kind.Kind, o.GetName(), err)
	}
	var resource dynamic.ResourceInterface = a.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = a.objects.Resource(mapping.Resource).Namespace(o.GetNamespace())
	}
	if _, err := resource.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: only, Force: true}); err != nil {
		return fmt.Errorf("apply %s %s: %w", kind.Kind, o.GetName(), err)
	}
	return nil
}

// served waits until the API server has objects of a kind, and takes them.
func (a *applier) served(ctx context.Context, name string) error {
	definitions := a.objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"})
	return poll(ctx, name, func(ctx context.Context) error {
		o, err := definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		resource := schema.GroupVersionResource{}
		resource.Group, _, _ = unstructured.NestedString(o.Object, "spec", "group")
		resource.Resource, _, _ = unstructured.NestedString(o.Object, "spec", "names", "plural")
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, each := range versions {
			version, _ := each.(map[string]any)
			if version["served"] != true {
				continue
			}
			resource.Version, _ = version["name"].(string)
			// An object that is not there is another error than a kind that is not served.
			if _, err := a.objects.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1}); apierrors.IsNotFound(err) {
				return err
			}
		}
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		a.mapper.Reset()
		// which discovery shows a little later
		_, err = a.mapper.RESTMapping(schema.GroupKind{Group: resource.Group, Kind: kind}, resource.Version)
		return err
	})
}
