package clusterspec

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
)

// Twins are the other control planes of the namespace that record the same cluster as their own, or the same
// registration: one was copied with its annotations. What is written in another namespace does not count.
func Twins(ctx context.Context, reader client.Reader,
	plane *controlplanev1.OpenshiftAssistedControlPlane) ([]*controlplanev1.OpenshiftAssistedControlPlane, error) {
	list := &controlplanev1.OpenshiftAssistedControlPlaneList{}
	if err := reader.List(ctx, list, client.InNamespace(plane.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("look for copies of control plane %s: %w", plane.Name, err)
	}
	var twins []*controlplanev1.OpenshiftAssistedControlPlane
	for i := range list.Items {
		if other := &list.Items[i]; client.ObjectKeyFromObject(other) != client.ObjectKeyFromObject(plane) && isTwin(plane, other) {
			twins = append(twins, other)
		}
	}
	return twins, nil
}

func isTwin(a, b *controlplanev1.OpenshiftAssistedControlPlane) bool {
	return slices.ContainsFunc([]string{AnnotationClusterID, AnnotationRun}, func(key string) bool {
		return a.Annotations[key] != "" && a.Annotations[key] == b.Annotations[key]
	})
}

// checkCopied refuses a control plane that is the copy of an older one: what is done for it would be done to the cluster of
// that one.
func (s *Source) checkCopied(ctx context.Context, c *Cluster) error {
	twins, err := Twins(ctx, s.Client, c.ControlPlane)
	if err != nil {
		return err
	}
	for _, other := range twins {
		if isOlder(other, c.ControlPlane) {
			return &clusterloop.Refusal{Problems: []string{fmt.Sprintf(
				"OpenshiftAssistedControlPlane metadata.annotations are copied from control plane %s/%s, whose cluster they name: nothing is done "+
					"for it; if it must have its own cluster, delete it and create it again without the annotations oaictl.io/*: kubectl -n %s "+
					"delete cluster %s",
				other.Namespace, other.Name, c.Namespace, c.Name)}}
		}
	}
	return nil
}

// isOlder reports whether a control plane was made before another one. Of two of one second one is.
func isOlder(a, b *controlplanev1.OpenshiftAssistedControlPlane) bool {
	by := a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	return by < 0 || by == 0 && strings.Compare(string(a.UID), string(b.UID)) < 0
}
