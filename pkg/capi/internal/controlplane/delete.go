package controlplane

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/desired"
	"github.com/oaictl/oaictl/pkg/capi/internal/words"
	"github.com/oaictl/oaictl/pkg/install"
)

// deletionTakes is how long a reconcile waits for the service to let go of a cluster; it comes back then.
const deletionTakes = 10 * time.Second

// delete deletes the Machines, then what the service has of the cluster, and lets go then. Cluster API
// has deleted the workers before.
func (s *scope) delete(ctx context.Context) (ctrl.Result, error) {
	if s.isMoving() {
		return ctrl.Result{}, s.release(ctx)
	}
	for _, m := range s.living() {
		if err := s.Client.Delete(ctx, m); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("delete Machine %s: %w", m.Name, err)
		}
	}
	if len(s.machines) > 0 {
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, clusterv1.DeletingReason, fmt.Sprintf("waiting for %d Machines to be gone", len(s.machines)))
		return ctrl.Result{}, nil // each that goes wakes
	}
	within, cancel := context.WithTimeout(ctx, deletionTakes)
	defer cancel()
	if err := s.deleteCluster(within); err != nil {
		s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, clusterv1.DeletingReason, words.Error(err))
		if ctx.Err() == nil && within.Err() != nil {
			return ctrl.Result{RequeueAfter: deletionTakes}, nil
		}
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, s.release(ctx)
}

// deleteCluster deletes the cluster in the service that is noted on the control plane: none is looked
// for by its name.
func (s *scope) deleteCluster(ctx context.Context) error {
	id := s.plane.Annotations[desired.AnnotationClusterID]
	if id == "" {
		return nil
	}
	service, err := s.Installations.Service(s.plane.Namespace)
	if err != nil {
		return err
	}
	if err := service.DeleteCluster(ctx, id, install.DeleteOptions{}); err != nil && install.CodeOf(err) != install.CodeNotFound {
		return fmt.Errorf("delete the cluster %s in the service: %w", id, err)
	}
	return nil
}

// release lets go of the control plane.
func (s *scope) release(ctx context.Context) error {
	if s.cluster != nil {
		s.Installations.Forget(s.key())
		s.Workloads.forget(s.key())
	}
	before := s.plane.DeepCopy()
	if !controllerutil.RemoveFinalizer(s.plane, controlplanev1.ControlPlaneFinalizer) {
		return nil
	}
	return client.IgnoreNotFound(s.Client.Patch(ctx, s.plane, client.MergeFrom(before)))
}
