package clusterspec

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
)

// Mark is a digest of the objects of a Cluster as the cache has them: it differs once something has changed that Desire
// may depend on. Infrastructure objects, Secrets and ConfigMaps are not read for it. It costs a hundredth of what
// Desire does.
func (s *Source) Mark(ctx context.Context, key clusterloop.Key) (uint64, error) {
	sum := fnv.New64a()
	cluster := &clusterv1.Cluster{}
	if err := s.Client.Get(ctx, key, cluster); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	note(sum, cluster, cluster.ResourceVersion)
	controlPlane := &controlplanev1.OpenshiftAssistedControlPlane{}
	if err := s.Client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: cluster.Spec.ControlPlaneRef.Name},
		controlPlane); err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	note(sum, controlPlane, "")
	for _, list := range []client.ObjectList{
		&clusterv1.MachineList{}, &bootstrapv1.OpenshiftAssistedConfigList{}, &clusterv1.MachineDeploymentList{}, &clusterv1.MachineSetList{},
	} {
		err := s.Client.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: key.Name},
			client.UnsafeDisableDeepCopy)
		if err != nil {
			return 0, fmt.Errorf("look whether objects of Cluster %s have changed: %w", key, err)
		}
		var all []client.Object
		if err := meta.EachListItem(list, func(o runtime.Object) error {
			object, is := o.(client.Object)
			if !is {
				return fmt.Errorf("%T is no object", o)
			}
			all = append(all, object)
			return nil
		}); err != nil {
			return 0, err
		}
		slices.SortFunc(all, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
		for _, o := range all {
			version := o.GetResourceVersion()
			if _, ours := o.(*bootstrapv1.OpenshiftAssistedConfig); ours {
				version = "" // its status follows from it
			}
			note(sum, o, version)
		}
	}
	return sum.Sum64(), nil
}

// note adds an object to a sum: by its version, or, where that is "", by all but its status.
func note(sum io.Writer, o client.Object, version string) {
	line := make([]byte, 0, 256)
	add := func(words ...string) {
		for _, word := range words {
			line = append(append(line, word...), 0)
		}
	}
	add(string(o.GetUID()), o.GetName(), version)
	if version == "" {
		line = strconv.AppendInt(line, o.GetGeneration(), 10)
		if at := o.GetDeletionTimestamp(); at != nil {
			line = at.AppendFormat(line, time.RFC3339)
		}
		for _, owner := range o.GetOwnerReferences() {
			add(owner.APIVersion, owner.Kind, owner.Name, string(owner.UID), strconv.FormatBool(ptr.Deref(owner.Controller, false)))
		}
		for _, all := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
			add("") // where one list ends
			for _, key := range slices.Sorted(maps.Keys(all)) {
				add(key, all[key])
			}
		}
	}
	_, _ = sum.Write(append(line, '\n')) // a hash takes all
}
