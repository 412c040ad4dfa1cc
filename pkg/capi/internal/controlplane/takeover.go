package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
)

// takeOver looks, once, for the cluster that another provider has made on the hub for this control plane, and makes it
// ours. After that, objects of the service have no owner among Cluster API's objects: if those are deleted, as by a
// move, a running cluster must not be deleted with them.
func (r *registration) takeOver(ctx context.Context) error {
	if !r.onHub || r.plane.Annotations[clusterspec.AnnotationClusterID] != "" {
		return nil
	}
	if view := r.installations.Last(r.key()); view != nil {
		return nil // it was searched for before the first look at the installation
	}
	deployments, err := r.ofCluster(ctx, hubapi.KindClusterDeployment)
	if err != nil {
		return err
	}
	found := slices.IndexFunc(deployments, func(u unstructured.Unstructured) bool {
		return slices.ContainsFunc(u.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == r.plane.UID })
	})
	if found < 0 {
		return nil
	}
	for _, kind := range []string{hubapi.KindAgentClusterInstall, hubapi.KindInfraEnv, hubapi.KindClusterDeployment} {
		list, err := r.ofCluster(ctx, kind)
		if err != nil {
			return err
		}
		for i := range list {
			if err := r.disown(ctx, &list[i]); err != nil {
				return err
			}
		}
	}
	before := r.plane.DeepCopy()
	if r.plane.Annotations == nil {
		r.plane.Annotations = map[string]string{}
	}
	r.plane.Annotations[clusterspec.AnnotationClusterID] = r.plane.Namespace + "/" + deployments[found].GetName()
	return r.patchNow(ctx, before)
}

// ofCluster are the hub's objects of a kind that are labelled with the Cluster's name, by any provider.
func (r *registration) ofCluster(ctx context.Context, kind string) ([]unstructured.Unstructured, error) {
	return r.listHub(ctx, kind, client.MatchingLabels{clusterv1.ClusterNameLabel: r.cluster.Name})
}

// listHub are the hub's objects of a kind in the Cluster's namespace; none where the kind is not served.
func (r *registration) listHub(ctx context.Context, kind string, which ...client.ListOption) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	version := hubapi.GroupVersionKind(kind)
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: kind + "List"})
	err := r.live.List(ctx, list, append(which, client.InNamespace(r.plane.Namespace))...)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the %s objects of Cluster %s: %w", kind, r.cluster.Name, err)
	}
	return list.Items, nil
}

// disown takes Cluster API's objects out of the owners of an object of the service.
func (r *registration) disown(ctx context.Context, u *unstructured.Unstructured) error {
	owners := slices.DeleteFunc(slices.Clone(u.GetOwnerReferences()), func(o metav1.OwnerReference) bool {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		return strings.HasSuffix(group, "cluster.x-k8s.io")
	})
	if len(owners) == len(u.GetOwnerReferences()) {
		return nil
	}
	changed := u.DeepCopy()
	changed.SetOwnerReferences(owners)
	if err := r.client.Patch(ctx, changed, client.MergeFromWithOptions(u, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("take over %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}
