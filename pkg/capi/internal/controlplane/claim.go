package controlplane

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// registration finds, in the service, what belongs to the Cluster of a control plane.
type registration struct {
	*subject

	live     client.Reader
	keys     *recordmark.Keys
	onHub    bool
	claiming *sync.Mutex // held while a control plane asks for a name
}

func (s *scope) registration() *registration {
	return &registration{subject: s.subject, live: s.Live, keys: s.Keys, onHub: s.OnHub, claiming: &s.claiming}
}

// claim makes sure, before anything is searched for on a hub, that no other owner has a cluster of the control plane's
// name in its namespace: names are all that clusters are found by there. The result is recorded.
func (r *registration) claim(ctx context.Context) (noted bool, err error) {
	id, err := clusterspec.IDOf(r.plane, r.onHub)
	if err != nil || !r.onHub || id != "" || r.plane.Annotations[clusterspec.AnnotationRun] != "" {
		return false, err
	}
	r.claiming.Lock() // of two that ask for one name, one is recorded before the other looks
	defer r.claiming.Unlock()
	if err := r.isFree(ctx, clusterspec.NameOf(r.cluster.Name, r.plane)); err != nil {
		if clusterloop.IsRefusal(err) {
			r.recheck = nameAgain
		}
		return false, err
	}
	return true, r.noteRun(ctx)
}

// nameAgain is, in real time, how soon a name that was taken is asked for again: no watch reports that it is free.
const nameAgain = 30 * time.Second

func (r *registration) noteRun(ctx context.Context) error {
	before := r.plane.DeepCopy()
	r.annotate(clusterspec.AnnotationRun, strings.ToLower(rand.Text()[:runLength]))
	if err := r.patchNow(ctx, before); err != nil {
		return fmt.Errorf("note the mark of its registration on control plane %s: %w", r.plane.Name, err)
	}
	return nil
}

// isFree refuses a cluster with a name that another one in the namespace has: the other would be mistaken for the
// control plane's own.
func (r *registration) isFree(ctx context.Context, name string) error {
	taken, err := r.isDeployed(ctx, name)
	if err != nil {
		return err
	}
	if taken {
		return &clusterloop.Refusal{Problems: []string{fmt.Sprintf(
			"there already is a ClusterDeployment %s/%s that this control plane has not created: give the cluster another name "+
				"(spec.config.clusterName), delete the ClusterDeployment if you do not need its cluster any more, or take it over: kubectl -n %[1]s "+
				"annotate openshiftassistedcontrolplane %[3]s %[4]s=%[1]s/%[2]s",
			r.plane.Namespace, name, r.plane.Name, clusterspec.AnnotationClusterID)}}
	}
	planes := &controlplanev1.OpenshiftAssistedControlPlaneList{}
	if err := r.live.List(ctx, planes, client.InNamespace(r.plane.Namespace)); err != nil {
		return fmt.Errorf("list the control planes of namespace %s: %w", r.plane.Namespace, err)
	}
	for i := range planes.Items {
		other := &planes.Items[i]
		if other.UID != r.plane.UID && other.Annotations[clusterspec.AnnotationRun] != "" &&
			clusterspec.NameOf(other.Labels[clusterv1.ClusterNameLabel], other) == name {
			return &clusterloop.Refusal{Problems: []string{fmt.Sprintf(
				"control plane %s of this namespace already has a cluster with the name %s: give this one another name (spec.config.clusterName)",
				other.Name,
				name)}}
		}
	}
	return nil
}

// runLength is how many letters a mark has, of 32 each: 60 bits.
const runLength = 12

// clusterID is the id of the control plane's cluster on a hub, "" where it has none: the recorded id, or that of the
// objects of a registration that was interrupted before the id was recorded.
func (r *registration) clusterID(ctx context.Context) (string, error) {
	id, err := clusterspec.IDOf(r.plane, true)
	switch {
	case err != nil:
		return "", nil //nolint:nilerr // an object of another namespace is no reason to stay
	case id != "":
		return id, nil
	case r.plane.Annotations[clusterspec.AnnotationRun] == "":
		return "", nil // nothing was ever registered for it, even if the service has a cluster of its name
	}
	return r.unnotedOnHub(ctx)
}

// records are the records of a service that are proven to be of the control plane's cluster. It is an error if there is
// a record with the recorded id that is not proven to be: nothing is done to that record.
func (r *registration) records(ctx context.Context) ([]model.Cluster, error) {
	mark, err := r.keys.Mark(ctx, r.cluster)
	if err != nil {
		return nil, err
	}
	query := model.Query{Exact: true, Run: mark, FormerRun: recordmark.Former(r.plane.Annotations[clusterspec.AnnotationRun])}
	noted := r.plane.Annotations[clusterspec.AnnotationClusterID]
	if query.Run == "" && query.FormerRun == "" && noted == "" {
		return nil, nil // nothing was ever registered for it
	}
	service, err := r.installations.Service(r.plane.Namespace)
	if err != nil {
		return nil, err
	}
	all, err := service.ListClusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for the cluster of control plane %s in the service: %w", r.plane.Name, err)
	}
	isThere := slices.ContainsFunc(all, func(c model.Cluster) bool { return c.ID == noted })
	own := slices.DeleteFunc(all, func(c model.Cluster) bool { return !query.Proves(c.ClusterRef) })
	if len(own) == 0 && isThere {
		return nil, errors.New(r.unproven(mark))
	}
	return own, nil
}

// unproven says that the record with the recorded id does not carry the Cluster's mark, and what to do.
func (r *registration) unproven(mark string) string {
	id, tags := r.plane.Annotations[clusterspec.AnnotationClusterID], "oaictl,"+model.RunTagPrefix+mark
	if mark == "" {
		tags = "of its mark"
	}
	return fmt.Sprintf("the service's cluster %s does not have the mark of Cluster %s, and is not changed. If it belongs to this "+
		"Cluster and the key was lost, restore Secret %s from a backup, or have an administrator of the service add "+
		"the tags %s to it: "+
		"PATCH /api/assisted-install/v2/clusters/%[1]s. If it belongs to another Cluster: kubectl -n %[5]s annotate "+
		"openshiftassistedcontrolplane %[6]s %[7]s-",
		id, r.key(), recordmark.SecretName(r.cluster.Name), tags, r.plane.Namespace, r.plane.Name, clusterspec.AnnotationClusterID)
}

// unnotedOnHub is the id of a cluster whose objects on the hub carry oaictl's label and the Cluster's: of its
// ClusterDeployment, or else of what is made before that, unless the ClusterDeployment of that name is another owner's.
// What is older than the control plane is of a Cluster of that name that was moved away, and stays.
func (r *registration) unnotedOnHub(ctx context.Context) (string, error) {
	for _, kind := range []string{hubapi.KindClusterDeployment, hubapi.KindConfigMap, hubapi.KindSecret} {
		objects, err := r.ofCluster(ctx, kind)
		if err != nil {
			return "", err
		}
		for i := range objects {
			name, made := objects[i].GetLabels()[hubapi.LabelCluster], objects[i].GetCreationTimestamp()
			switch {
			case name == "", made.Before(&r.plane.CreationTimestamp):
				continue
			case kind == hubapi.KindClusterDeployment:
				return r.plane.Namespace + "/" + objects[i].GetName(), nil
			}
			if taken, err := r.isDeployed(ctx, name); err != nil || taken {
				return "", err
			}
			return r.plane.Namespace + "/" + name, nil
		}
	}
	return "", nil
}

// isDeployed reports whether the hub has a ClusterDeployment of a name, no matter who has made it.
func (r *registration) isDeployed(ctx context.Context, name string) (bool, error) {
	all, err := r.listHub(ctx, hubapi.KindClusterDeployment)
	return slices.ContainsFunc(all, func(u unstructured.Unstructured) bool { return u.GetName() == name }), err
}
