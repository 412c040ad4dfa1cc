package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// subject is the control plane that is reconciled, with what is known of it in one reconcile.
type subject struct {
	client        client.Client
	plane         *controlplanev1.OpenshiftAssistedControlPlane
	cluster       *clusterv1.Cluster
	installations *clusterloop.Set
	was           controlplanev1.OpenshiftAssistedControlPlaneStatus // the status as it was read
	// machines are those of the control plane, by name.
	machines []*clusterv1.Machine
	view     *clusterloop.View // nil where there is none yet
	kept     *machinesSummary  // nil before the Machines were processed
	mismatch string            // why version and distributionVersion are not of one release; "" where they are
	recheck  time.Duration     // how soon something is read again that no watch reports; 0 where there is none
}

func (s *subject) key() clusterloop.Key { return client.ObjectKeyFromObject(s.cluster) }

func (s *subject) replicas() int { return int(ptr.Deref(s.plane.Spec.Replicas, 3)) }

// living are the Machines that are not being deleted.
func (s *subject) living() []*clusterv1.Machine {
	return slices.DeleteFunc(slices.Clone(s.machines), func(m *clusterv1.Machine) bool { return !m.DeletionTimestamp.IsZero() })
}

func (s *subject) listMachines(ctx context.Context, reader client.Reader) ([]*clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := reader.List(ctx, list, client.InNamespace(s.plane.Namespace), client.MatchingLabels{
		clusterv1.ClusterNameLabel: s.cluster.Name, clusterv1.MachineControlPlaneLabel: "",
	}); err != nil {
		return nil, fmt.Errorf("list the Machines of the control plane %s: %w", s.plane.Name, err)
	}
	var own []*clusterv1.Machine
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], s.plane) {
			own = append(own, &list.Items[i])
		}
	}
	slices.SortFunc(own, func(a, b *clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return own, nil
}

// domains are the failure domains of the cluster that take control planes.
func (s *subject) domains() []clusterv1.FailureDomain {
	var domains []clusterv1.FailureDomain
	for _, d := range s.cluster.Status.FailureDomains {
		if d.ControlPlane != nil && *d.ControlPlane {
			domains = append(domains, d)
		}
	}
	return domains
}

// phase is how far the installation is: as observed now, or last. A cluster without a record in the service stays in
// its last phase.
func (s *subject) phase() lifecycle.Phase {
	view := s.view
	if view == nil {
		view = s.installations.Last(s.key())
	}
	state := model.ClusterState(s.plane.Status.Installation.State)
	if view != nil && view.Observed.Cluster != nil {
		state = view.Observed.Cluster.State
	}
	switch {
	case s.plane.Annotations[clusterspec.AnnotationOpenShiftID] != "":
		return lifecycle.Installed
	case state == "", state.BeforeInstall():
		return lifecycle.Before
	case state.Installed():
		return lifecycle.Installed
	case state.Stopped():
		return lifecycle.Stopped
	}
	return lifecycle.Installing
}

// wasAvailable reports whether the cluster is installed and works, by the last condition.
func (s *subject) wasAvailable() bool {
	was := conditions.Get(s.plane, clusterv1.AvailableCondition)
	return s.phase() == lifecycle.Installed && was != nil && was.Status != metav1.ConditionFalse
}

// isMoving reports whether the control plane is deleted because it was moved elsewhere.
func (s *subject) isMoving() bool { return machines.IsMoving(s.plane) }

// kubeconfigSecret is the Secret of the cluster's kubeconfig.
func (s *subject) kubeconfigSecret() client.ObjectKey {
	return client.ObjectKey{Namespace: s.plane.Namespace, Name: secret.Name(s.cluster.Name, secret.Kubeconfig)}
}

func (s *subject) set(kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(s.plane, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: rewording.Message(message)})
}

func (s *subject) notAvailable(reason, message string) {
	s.set(clusterv1.AvailableCondition, metav1.ConditionFalse, reason, message)
}

// annotate sets an annotation of the control plane; "" removes it.
func (s *subject) annotate(key, value string) {
	if value == "" {
		delete(s.plane.Annotations, key)
		return
	}
	if s.plane.Annotations == nil {
		s.plane.Annotations = map[string]string{}
	}
	s.plane.Annotations[key] = value
}

// patchNow writes the annotations of the control plane if no other client has written it meanwhile. Its status stays as
// it is being put together.
func (s *subject) patchNow(ctx context.Context, before *controlplanev1.OpenshiftAssistedControlPlane) error {
	status := s.plane.Status
	if err := s.client.Patch(ctx, s.plane, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	s.plane.Status = status
	return nil
}
