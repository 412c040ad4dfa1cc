package controlplane

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// deletionTakes is how long a reconcile waits for the service to delete a cluster; then it comes back.
const deletionTakes = 10 * time.Second

// deletion deletes what there is of a control plane that is deleted.
type deletion struct {
	*subject

	keys         *recordmark.Keys
	onHub        bool
	registration *registration
}

func (s *scope) deletion() *deletion {
	return &deletion{subject: s.subject, keys: s.Keys, onHub: s.OnHub, registration: s.registration()}
}

// delete deletes the Machines, then what the service has of the cluster, and then removes the finalizer. Cluster API
// has deleted the workers before.
func (s *scope) delete(ctx context.Context) (ctrl.Result, error) {
	if !s.isMoving() {
		if gone, result, err := s.deletion().delete(ctx); err != nil || !gone {
			return result, err
		}
	}
	return ctrl.Result{}, s.release(ctx)
}

// delete deletes the Machines, and then what the service has of the cluster. It reports whether all is gone.
func (d *deletion) delete(ctx context.Context) (gone bool, result ctrl.Result, err error) {
	if err := d.letGo(ctx); err != nil {
		return false, ctrl.Result{}, err
	}
	for _, m := range d.living() {
		if err := d.client.Delete(ctx, m); client.IgnoreNotFound(err) != nil {
			return false, ctrl.Result{}, fmt.Errorf("delete Machine %s: %w", m.Name, err)
		}
	}
	if len(d.machines) > 0 {
		d.set(clusterv1.DeletingCondition, metav1.ConditionTrue, reasonMachinesDeleting, d.machinesLeft())
		return false, ctrl.Result{}, nil // each that goes wakes
	}
	within, cancel := context.WithTimeout(ctx, deletionTakes)
	defer cancel()
	if err := d.deleteCluster(within); err != nil {
		d.set(clusterv1.DeletingCondition, metav1.ConditionTrue, clusterv1.DeletingReason, rewording.Error(err))
		if ctx.Err() == nil && within.Err() != nil {
			return false, ctrl.Result{RequeueAfter: deletionTakes}, nil
		}
		return false, ctrl.Result{}, err
	}
	return true, ctrl.Result{}, nil
}

// reasonMachinesDeleting is the reason of Deleting while Machines are there, as Cluster API's own control
// plane has it.
const reasonMachinesDeleting = "WaitingForMachineDeletion"

// machinesLeft are the Machines that are waited for, each with what it waits for itself.
func (d *deletion) machinesLeft() string {
	var texts []string
	for _, m := range d.machines {
		text := "Machine " + m.Name
		if c := conditions.Get(m, clusterv1.MachineDeletingCondition); c != nil && c.Status == metav1.ConditionTrue && c.Message != "" {
			text += ": " + c.Message
		}
		texts = append(texts, text)
	}
	return listed("waiting for Machines to be gone:", texts)
}

// deleteCluster deletes the control plane's cluster in the service. It does not search by name, and a cluster of
// another owner with the recorded id is left alone. So is a cluster that another control plane of the namespace, which
// stays, records as its own. A cluster that is not found was deleted, or is no longer marked as ours.
func (d *deletion) deleteCluster(ctx context.Context) error {
	if !d.onHub {
		return d.deleteRecords(ctx)
	}
	id, err := d.registration.clusterID(ctx)
	if err != nil || id == "" {
		return err
	}
	twins, err := clusterspec.Twins(ctx, d.client, d.plane)
	if err != nil || slices.ContainsFunc(twins,
		func(p *controlplanev1.OpenshiftAssistedControlPlane) bool { return p.DeletionTimestamp.IsZero() }) {
		return err
	}
	service, err := d.installations.Service(d.plane.Namespace)
	if err != nil {
		return err
	}
	all, err := service.ListClusters(ctx)
	if err != nil {
		return fmt.Errorf("look for the cluster %s in the service: %w", id, err)
	}
	if slices.ContainsFunc(all, func(c model.Cluster) bool { return c.ID == id && clusterspec.CheckIdentity(d.plane, &c) != nil }) {
		return nil
	}
	if err := service.DeleteCluster(ctx, id, install.DeleteOptions{}); err != nil && model.FaultOf(err).Code != model.CodeNotFound {
		return fmt.Errorf("delete the cluster %s in the service: %w", id, err)
	}
	return nil
}

// deleteRecords is deleteCluster of a service without namespaces: what is proven to be the control plane's is deleted, and
// then the key by which that is proven.
func (d *deletion) deleteRecords(ctx context.Context) error {
	twins, err := clusterspec.Twins(ctx, d.client, d.plane)
	if err != nil || slices.ContainsFunc(twins,
		func(p *controlplanev1.OpenshiftAssistedControlPlane) bool { return p.DeletionTimestamp.IsZero() }) {
		return err
	}
	own, err := d.registration.records(ctx)
	if err != nil {
		return err
	}
	for i := range own {
		if clusterspec.CheckIdentity(d.plane, &own[i]) != nil {
			continue
		}
		service, err := d.installations.Service(d.plane.Namespace)
		if err != nil {
			return err
		}
		if err := service.DeleteCluster(ctx, own[i].ID, install.DeleteOptions{}); err != nil && model.FaultOf(err).Code != model.CodeNotFound {
			return fmt.Errorf("delete the cluster %s in the service: %w", own[i].ID, err)
		}
	}
	return d.keys.Delete(ctx, d.client, d.cluster)
}

// forget drops what is known of the Cluster that a control plane had. The control plane, or the Cluster, is gone.
func (r *Reconciler) forget(plane types.NamespacedName) {
	if cluster, known := r.clusters.take(plane); known {
		r.forgetCluster(cluster)
	}
}

func (r *Reconciler) forgetCluster(cluster clusterloop.Key) {
	if r.Keys != nil {
		r.Keys.Forget(cluster)
	}
	r.Installations.Forget(cluster)
	r.Workloads.Forget(cluster)
	r.known.forget(cluster)
}

// release removes the finalizer of the control plane.
func (s *scope) release(ctx context.Context) error {
	if s.cluster != nil {
		s.forgetCluster(s.key())
	}
	s.forget(client.ObjectKeyFromObject(s.plane))
	s.Status.Forget(s.plane.UID)
	before := s.plane.DeepCopy()
	if !controllerutil.RemoveFinalizer(s.plane, controlplanev1.ControlPlaneFinalizer) {
		return nil
	}
	return client.IgnoreNotFound(s.Client.Patch(ctx, s.plane, client.MergeFrom(before)))
}
