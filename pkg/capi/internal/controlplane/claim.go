package controlplane

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/hubapi"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/desired"
	"github.com/oaictl/oaictl/pkg/capi/internal/installation"
)

// claim sees to it, before anything is looked for on a hub, that nobody else has a cluster of the control plane's name in
// its namespace: names are all that clusters are found by there. That it was so is noted.
func (s *scope) claim(ctx context.Context) (noted bool, err error) {
	id, err := desired.IDOf(s.plane, s.OnHub)
	if err != nil || !s.OnHub || id != "" || s.plane.Annotations[desired.AnnotationRun] != "" {
		return false, err
	}
	s.claiming.Lock() // of two that ask for one name, one is noted before the other looks
	defer s.claiming.Unlock()
	if err := s.isFree(ctx, desired.NameOf(s.cluster.Name, s.plane)); err != nil {
		if installation.IsRefusal(err) {
			s.recheck = nameAgain
		}
		return false, err
	}
	return true, s.noteRun(ctx)
}

// nameAgain is, in real time, how soon a name that was taken is asked for again: nobody tells that it is free.
const nameAgain = 30 * time.Second

// markRun notes, before a cluster is registered in a service that knows many, or taken in, what its record is
// marked with: by that it is found if its id could not be noted any more, and no other of its name is. It is noted once
// the service has answered, and nothing is done before the note is read, which wakes: whoever is without it has no
// record there.
func (s *scope) markRun(ctx context.Context) (*installation.View, error) {
	view, err := s.Installations.View(ctx, s.key())
	if err != nil {
		return nil, err
	}
	if err := s.noteRun(ctx); err != nil {
		return nil, err
	}
	return view, nil
}

func (s *scope) noteRun(ctx context.Context) error {
	before := s.plane.DeepCopy()
	s.annotate(desired.AnnotationRun, strings.ToLower(rand.Text()[:runLength]))
	if err := s.patchNow(ctx, before); err != nil {
		return fmt.Errorf("note the mark of its registration on control plane %s: %w", s.plane.Name, err)
	}
	return nil
}

// isFree refuses a cluster of a name that another one in the namespace has: it would be taken for its own.
func (s *scope) isFree(ctx context.Context, name string) error {
	taken, err := s.isDeployed(ctx, name)
	if err != nil {
		return err
	}
	if taken {
		return &installation.Refusal{Problems: []string{fmt.Sprintf(
			"there is a ClusterDeployment %s/%s already, which this control plane has not made: give the cluster another name (spec.config.clusterName), delete the ClusterDeployment if its cluster is not needed any more, or take it over: kubectl -n %[1]s annotate openshiftassistedcontrolplane %[3]s %[4]s=%[1]s/%[2]s",
			s.plane.Namespace, name, s.plane.Name, desired.AnnotationClusterID)}}
	}
	planes := &controlplanev1.OpenshiftAssistedControlPlaneList{}
	if err := s.Live.List(ctx, planes, client.InNamespace(s.plane.Namespace)); err != nil {
		return fmt.Errorf("list the control planes of namespace %s: %w", s.plane.Namespace, err)
	}
	for i := range planes.Items {
		other := &planes.Items[i]
		if other.UID != s.plane.UID && other.Annotations[desired.AnnotationRun] != "" && desired.NameOf(other.Labels[clusterv1.ClusterNameLabel], other) == name {
			return &installation.Refusal{Problems: []string{fmt.Sprintf(
				"control plane %s of this namespace has a cluster of the name %s already: give this one another (spec.config.clusterName)", other.Name, name)}}
		}
	}
	return nil
}

// runLength is how many letters a mark has, of 32 each: 60 bits.
const runLength = 12

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
// What is older than the control plane is of a Cluster of that name that was moved away, and stays.
func (s *scope) unnotedOnHub(ctx context.Context) (string, error) {
	for _, kind := range []string{hubapi.KindClusterDeployment, hubapi.KindConfigMap, hubapi.KindSecret} {
		objects, err := s.ofCluster(ctx, kind)
		if err != nil {
			return "", err
		}
		for i := range objects {
			name, made := objects[i].GetLabels()[hubapi.LabelCluster], objects[i].GetCreationTimestamp()
			switch {
			case name == "", made.Before(&s.plane.CreationTimestamp):
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
