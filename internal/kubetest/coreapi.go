package kubetest

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Where the core of Cluster API runs when clusterctl installs it, and what its objects are
// called there: core/config/default of its module.
const (
	coreNamespace = "capi-system"
	corePrefix    = "capi-"
)

// coreConfig is the folder of the core's manifests: core/config of its module.
type coreConfig string

// labels are those that clusterctl finds the core's objects by: the first is in its released
// components (core/config/default), the second clusterctl puts on what it installs.
func (coreConfig) labels() map[string]string {
	return map[string]string{"cluster.x-k8s.io/provider": "cluster-api", "clusterctl.cluster.x-k8s.io": ""}
}

// kinds are the CustomResourceDefinitions of the core.
func (c coreConfig) kinds() ([]*unstructured.Unstructured, error) {
	return c.read("crd", "bases")
}

// admission are the core's webhook configurations, by the names that its components have.
func (c coreConfig) admission() ([]*unstructured.Unstructured, error) {
	objects, err := c.read("webhook", "manifests.yaml")
	for _, o := range objects {
		o.SetName(corePrefix + o.GetName())
	}
	return objects, err
}

func (c coreConfig) read(path ...string) ([]*unstructured.Unstructured, error) {
	objects, err := ReadManifests(filepath.Join(append([]string{string(c)}, path...)...))
	if err != nil {
		return nil, fmt.Errorf("read the manifests of Cluster API: %w", err)
	}
	for _, o := range objects {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, c.labels())
		o.SetLabels(labels)
	}
	return objects, nil
}

// pointed are objects for which the API server calls w.
func pointed(w *Webhooks) func([]*unstructured.Unstructured, error) ([]*unstructured.Unstructured, error) {
	return func(objects []*unstructured.Unstructured, err error) ([]*unstructured.Unstructured, error) {
		return objects, errors.Join(err, w.Point(objects...))
	}
}
