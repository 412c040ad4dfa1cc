package controlplane

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/capi/internal/desired"
)

// clusterID is the id of the control plane's cluster in the service, "" where it has none: as it is noted, or of what a
// registration has made that was broken off before that.
func (s *scope) clusterID(ctx context.Context) (string, error) {
	id, err := desired.IDOf(s.plane, s.OnHub)
	if err != nil {
		return "", nil //nolint:nilerr // another namespace's is none of its own, and no reason to stay
	}
	run := s.plane.Annotations[desired.AnnotationRun]
	switch {
	case id != "":
		return id, nil
	case run == "":
		return "", nil // nothing was ever registered for it, whatever is there of its name
	case s.OnHub:
		return s.unnotedOnHub(ctx)
	}
	service, err := s.Installations.Service(s.plane.Namespace)
	if err != nil {
		return "", err
	}
	all, err := service.ListClusters(ctx)
	if err != nil {
		return "", fmt.Errorf("look for a cluster with the mark %s of control plane %s: %w", run, s.plane.Name, err)
	}
	for i := range all {
		if c := &all[i]; c.Owned && c.Run == run {
			return c.ID, nil
		}
	}
	return "", nil
}

// unnotedOnHub is the id of a cluster whose objects on the hub carry oaictl's label and the Cluster's: of its
// ClusterDeployment, or else of what is made before that, unless the ClusterDeployment of that name is somebody else's.
func (s *scope) unnotedOnHub(ctx context.Context) (string, error) {
	for _, kind := range []string{hubapi.KindClusterDeployment, hubapi.KindConfigMap, hubapi.KindSecret} {
		objects, err := s.ofCluster(ctx, kind)
		if err != nil {
			return "", err
		}
		for i := range objects {
			name := objects[i].GetLabels()[hubapi.LabelCluster]
			switch {
			case name == "":
				continue
			case kind == hubapi.KindClusterDeployment:
				return s.plane.Namespace + "/" + objects[i].GetName(), nil
			}
			if taken, err := s.isDeployed(ctx, name); err != nil || taken {
				return "", err
			}
			return s.plane.Namespace + "/" + name, nil
		}
	}
	return "", nil
}

// isDeployed reports whether the hub has a ClusterDeployment of a name, whoever has made it.
func (s *scope) isDeployed(ctx context.Context, name string) (bool, error) {
	all, err := s.onHub(ctx, hubapi.KindClusterDeployment)
	return slices.ContainsFunc(all, func(u unstructured.Unstructured) bool { return u.GetName() == name }), err
}
