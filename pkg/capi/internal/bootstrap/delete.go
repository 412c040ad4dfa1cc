package bootstrap

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/words"
	"github.com/oaictl/oaictl/pkg/install"
)

// deletionTakes is how long a reconcile waits for the service to let go of something; it comes back then.
const deletionTakes = 10 * time.Second

// delete lets go of what the service has of a machine that is gone: its host's record, and its
// InfraEnv. The node was drained, and is deleted, by Cluster API. A config without a Machine is let
// go of the same way.
func (s *scope) delete(ctx context.Context) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(s.config, bootstrapv1.ConfigFinalizer) {
		return ctrl.Result{}, nil
	}
	if !machines.IsMoving(s.config) {
		within, cancel := context.WithTimeout(ctx, deletionTakes)
		defer cancel()
		if err := s.letGo(within); err != nil {
			if ctx.Err() == nil && within.Err() != nil {
				return ctrl.Result{RequeueAfter: deletionTakes}, nil
			}
			return ctrl.Result{}, err
		}
	}
	s.Status.Forget(s.config.UID)
	patched := s.config.DeepCopy()
	controllerutil.RemoveFinalizer(patched, bootstrapv1.ConfigFinalizer)
	return ctrl.Result{}, client.IgnoreNotFound(s.Client.Patch(ctx, patched, client.MergeFrom(s.config)))
}

func (s *scope) letGo(ctx context.Context) error {
	ref := s.config.Status.InfraEnvRef
	if ref == nil {
		ref = s.lastInfraEnv()
	}
	if ref == nil {
		return nil
	}
	service, err := s.Installations.Service(s.config.Namespace)
	if err != nil {
		return err
	}
	id := ref.Name
	if ref.Namespace != "" {
		id = ref.Namespace + "/" + ref.Name
	}
	hosts, err := service.ListHosts(ctx, id)
	if install.CodeOf(err) == install.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the hosts of InfraEnv %s: %w", id, err)
	}
	for i := range hosts {
		if err := service.DeleteHost(ctx, id, hosts[i].ID, install.DeleteOptions{}); err != nil && install.CodeOf(err) != install.CodeNotFound {
			return fmt.Errorf("delete the record of host %s: %w", hosts[i].ID, err)
		}
	}
	if err := service.DeleteInfraEnv(ctx, id, install.DeleteOptions{}); err != nil && install.CodeOf(err) != install.CodeNotFound {
		return fmt.Errorf("delete InfraEnv %s: %w", id, err)
	}
	s.Installations.Changed(s.key)
	return nil
}

// lastInfraEnv is the InfraEnv of the config as it was last observed: one may have been made whose
// reference did not get into the status any more.
func (s *scope) lastInfraEnv() *bootstrapv1.ObjectReference {
	view := s.Installations.Last(s.key)
	if view == nil {
		return nil
	}
	env := view.InfraEnv(s.config.Name)
	if env == nil || !env.Owned {
		return nil
	}
	return words.Reference(env.ID, "")
}
