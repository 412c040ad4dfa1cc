package teardown

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/hub/internal/kube"
)

// Release takes oaictl's label and its ownership of fields off all objects of a cluster.
func (w *Deleter) Release(ctx context.Context, deployment *unstructured.Unstructured) error {
	owner := deployment.GetLabels()[hubapi.LabelCluster]
	if owner == "" {
		return nil // no cluster of oaictl owns it
	}
	w.Cluster = owner
	made := w.installOf(deployment)
	// The ClusterDeployment last: as long as it is ours the rest is found again.
	for _, k := range []kube.Kind{kube.BareMetalHosts, kube.AgentClassifications, kube.NMStateConfigs, kube.InfraEnvs, kube.ConfigMaps,
		kube.AgentClusterInstalls} {
		for _, u := range w.OfCluster(k) {
			if err := w.ReleaseObject(ctx, k, u); err != nil {
				return err
			}
		}
	}
	secrets, err := w.secrets(ctx)
	if err != nil {
		return err
	}
	for i := range secrets {
		if err := w.ReleaseObject(ctx, kube.Secrets, &secrets[i]); err != nil {
			return err
		}
	}
	for _, name := range w.imageSets(made) {
		set, err := w.ownImageSet(ctx, name, made)
		if err = w.releaseIfOwned(ctx, kube.ClusterImageSets, set, err); err != nil {
			return err
		}
	}
	namespace, err := w.Get(ctx, kube.Namespaces, "", w.Namespace.Name)
	if err = w.releaseIfOwned(ctx, kube.Namespaces, namespace, err); err != nil {
		return err
	}
	return w.ReleaseObject(ctx, kube.ClusterDeployments, deployment)
}

// releaseIfOwned releases an object of the hub as a whole, nil for none. If the user may not read it, as err says, or
// may not change it, it stays as it is.
func (w *Deleter) releaseIfOwned(ctx context.Context, k kube.Kind, u *unstructured.Unstructured, err error) error {
	if err == nil && u != nil && u.GetLabels()[hubapi.LabelCluster] == w.Cluster {
		err = w.ReleaseObject(ctx, k, u)
	}
	if kube.NotAllowed(err) {
		return nil
	}
	return err
}

// ReleaseObject takes the label and the ownership of fields off an object. The service
// writes to the objects, too: one that has changed since it was read is read anew.
func (w *Deleter) ReleaseObject(ctx context.Context, k kube.Kind, u *unstructured.Unstructured) error {
	for try := 1; ; try++ {
		err := w.releaseOnce(ctx, k, u)
		if !hasStatus(err, http.StatusConflict) || try == mostTries {
			return err
		}
		if err := w.Clock.Sleep(ctx, time.Second/4); err != nil { // the watch shows it in a moment
			return err
		}
		fresh, reading := w.Get(ctx, k, u.GetNamespace(), u.GetName())
		if reading != nil || fresh == nil {
			return reading
		}
		u = fresh
	}
}

// mostTries is how often it is tried to release an object that others write to meanwhile.
const mostTries = 5

// releaseOnce releases an object as it was read; its fields stay as they are. An apply that leaves them out would
// remove them.
func (w *Deleter) releaseOnce(ctx context.Context, k kube.Kind, u *unstructured.Unstructured) error {
	entries := []any{}
	for _, entry := range u.GetManagedFields() {
		if entry.Manager != hubapi.FieldManager {
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		entries = append(entries, map[string]any{}) // what the API server takes for none
	}
	written, err := w.MergePatch(ctx, "let go of", hubapi.FieldManager+"-release", k, u, map[string]any{"metadata": map[string]any{
		"resourceVersion": u.GetResourceVersion(), "managedFields": entries, "labels": map[string]any{hubapi.LabelCluster: nil},
	}})
	if err != nil {
		return err
	}
	w.Keep(k, written)
	return nil
}
