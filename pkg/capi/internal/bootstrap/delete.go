package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/capi/internal/status"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// deletionTakes is how long a reconcile waits for the service to delete something; then it comes back.
const deletionTakes = 10 * time.Second

// delete deletes what the service has of a machine that is gone: its host's record, and its InfraEnv. The node was
// drained, and is deleted, by Cluster API. What there is of a config without a Machine is deleted the same way.
func (s *scope) delete(ctx context.Context) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(s.config, bootstrapv1.ConfigFinalizer) {
		return ctrl.Result{}, nil
	}
	if !machines.IsMoving(s.config) {
		within, cancel := context.WithTimeout(ctx, deletionTakes)
		defer cancel()
		if err := s.letGo(within); err != nil {
			failed := s.showDeletion(ctx, err)
			if ctx.Err() == nil && within.Err() != nil {
				return ctrl.Result{RequeueAfter: deletionTakes}, failed
			}
			return ctrl.Result{}, errors.Join(err, failed)
		}
	}
	s.Status.Forget(s.config.UID)
	patched := s.config.DeepCopy()
	controllerutil.RemoveFinalizer(patched, bootstrapv1.ConfigFinalizer)
	return ctrl.Result{}, client.IgnoreNotFound(s.Client.Patch(ctx, patched, client.MergeFrom(s.config)))
}

// showDeletion says what keeps the config.
func (s *scope) showDeletion(ctx context.Context, why error) error {
	before := s.config.DeepCopy()
	s.set(clusterv1.DeletingCondition, metav1.ConditionTrue, clusterv1.DeletingReason, rewording.Error(why))
	_, _, err := s.Status.Write(ctx, s.Client, before, s.config, status.Words{News: []string{clusterv1.DeletingCondition}})
	return err
}

func (s *scope) letGo(ctx context.Context) error {
	ids, err := s.infraEnvs(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	service, err := s.Installations.Service(s.config.Namespace)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := deleteInfraEnv(ctx, service, id); err != nil {
			return err
		}
	}
	s.Installations.Changed(s.key)
	return nil
}

// deleteInfraEnv deletes an InfraEnv with its hosts.
func deleteInfraEnv(ctx context.Context, service install.Backend, id string) error {
	hosts, err := service.ListHosts(ctx, id)
	if model.FaultOf(err).Code == model.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the hosts of InfraEnv %s: %w", id, err)
	}
	for i := range hosts {
		if err := service.DeleteHost(ctx, id, hosts[i].ID, install.DeleteOptions{}); err != nil && model.FaultOf(err).Code != model.CodeNotFound {
			return fmt.Errorf("delete the record of host %s: %w", hosts[i].ID, err)
		}
	}
	if err := service.DeleteInfraEnv(ctx, id, install.DeleteOptions{}); err != nil && model.FaultOf(err).Code != model.CodeNotFound {
		return fmt.Errorf("delete InfraEnv %s: %w", id, err)
	}
	return nil
}

// infraEnvs are the ids of what was made for the config: on a hub the InfraEnv that its status refers to, in its own
// namespace, or else those that the service has. An InfraEnv may have been made before its reference was written into
// the status. Over REST an InfraEnv is the config's by its cluster alone: the status proves nothing.
func (s *scope) infraEnvs(ctx context.Context) ([]string, error) {
	if ref := s.config.Status.InfraEnvRef; s.OnHub && ref != nil && ref.Namespace == s.config.Namespace {
		return []string{ref.Namespace + "/" + ref.Name}, nil
	}
	if env := s.lastInfraEnv(); env != nil {
		return []string{env.ID}, nil
	}
	cluster, err := s.registeredCluster(ctx)
	if err != nil || cluster == "" {
		return nil, err // without a cluster none is made
	}
	service, err := s.Installations.Service(s.config.Namespace)
	if err != nil {
		return nil, err
	}
	all, err := service.ListInfraEnvs(ctx, cluster)
	if err != nil {
		return nil, fmt.Errorf("look for an InfraEnv of config %s: %w", s.config.Name, err)
	}
	var ids []string
	for i := range all {
		if all[i].Name == s.config.Name && (all[i].Owned || !s.OnHub && all[i].ClusterID == cluster) {
			ids = append(ids, all[i].ID)
		}
	}
	return ids, nil
}

// lastInfraEnv is the InfraEnv of the config as it was last observed; nil where none was.
func (s *scope) lastInfraEnv() *model.InfraEnv {
	view := s.Installations.Last(s.key)
	if view == nil {
		return nil
	}
	env := view.InfraEnv(s.config.Name)
	if env == nil || !env.Owned {
		return nil
	}
	return env
}

// registeredCluster is the id of the Cluster's record in the service: on a hub the one that its control plane records,
// over REST the one that is proven to be its own. It is "" if it is not known.
func (s *scope) registeredCluster(ctx context.Context) (string, error) {
	if s.cluster != nil && !s.OnHub {
		view, err := s.Installations.View(ctx, s.key)
		switch {
		case view != nil && view.Observed.Cluster != nil:
			return view.Observed.Cluster.ID, nil
		case view != nil, clusterloop.IsRefusal(err), errors.Is(err, clusterloop.ErrNotYet):
			return "", nil
		}
		return "", err
	}
	if s.cluster == nil || s.cluster.Spec.ControlPlaneRef.Kind != "OpenshiftAssistedControlPlane" {
		return "", nil
	}
	plane := &controlplanev1.OpenshiftAssistedControlPlane{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.cluster.Namespace, Name: s.cluster.Spec.ControlPlaneRef.Name}, plane)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read the control plane of Cluster %s: %w", s.cluster.Name, err)
	}
	id, err := clusterspec.IDOf(plane, true)
	if err != nil {
		return "", nil //nolint:nilerr // it names an InfraEnv of another namespace, where nothing was made for the config
	}
	return id, nil
}
