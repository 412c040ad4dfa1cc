package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/oaictl/oaictl/internal/shared/clock"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterloop"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/capi/internal/messages"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// ReasonInvalid is the reason of a condition where only a change of the objects helps.
const ReasonInvalid = "InvalidConfiguration"

// install carries out what the plan has for the cluster, and writes down whose it is.
func (s *scope) install(ctx context.Context) error {
	view, err := s.step(ctx)
	if other := s.isAnother(view); other != nil {
		view, err = nil, other
	}
	s.view = view
	switch {
	case view == nil && err == nil:
		return nil
	case view == nil:
		return s.noView(err)
	}
	s.showConfiguration(s.unread())
	switch {
	case s.mismatch != "" && !view.Installed():
		s.notAvailable(controlplanev1.VersionMismatchReason, s.mismatch)
		return nil
	case view.NoPlan != nil && view.Installed(): // it runs: how it is, it says itself
	case view.NoPlan != nil && view.Observed.Cluster != nil && view.Observed.Cluster.State.Stopped():
		s.notAvailable(controlplanev1.ControlPlaneInstallFailedReason, "the installation has stopped: "+cmp.Or(view.Observed.Cluster.StatusInfo, string(view.Observed.Cluster.State))+"; "+messages.Error(view.NoPlan))
	case view.NoPlan != nil:
		if err := s.noView(view.NoPlan); err != nil {
			return errors.Join(err, s.markOwn(ctx))
		}
	case err != nil && !view.Installed(): // it is remembered, and tried again when its time has come
		s.notAvailable(controlplanev1.ControlPlaneInstallingReason, messages.Error(err))
	default:
		s.showInstall()
	}
	return s.markOwn(ctx)
}

// step carries out what the plan has for the cluster, or only looks where it is not clear what is wanted.
func (s *scope) step(ctx context.Context) (*clusterloop.View, error) {
	if noted, err := s.claim(ctx); noted || err != nil {
		return nil, err // the note wakes, once it can be read
	}
	if !s.OnHub {
		if err := s.Keys.Make(ctx, s.Client, s.cluster); err != nil {
			return nil, err
		}
	}
	if s.namesReleaseTwice() {
		view, err := s.Installations.View(ctx, s.key())
		if err == nil {
			err = s.checkVersions(ctx, view, view.Desired.Spec.Spec.OpenShift.ReleaseImage)
		}
		if s.noteMismatch(err) {
			return view, nil
		}
		if err != nil {
			return view, err
		}
	}
	s.dropMismatch()
	view, _, err := s.Installations.Act(ctx, s.key(), model.ScopeCluster)
	return view, err
}

// isAnother refuses a record of the service that belongs to another cluster than the installed one: it only has the
// same name as the cluster that was moved here.
func (s *scope) isAnother(view *clusterloop.View) error {
	if view == nil || view.Observed.Cluster == nil {
		return nil
	}
	return clusterspec.CheckIdentity(s.plane, view.Observed.Cluster)
}

// noView reports why the installation cannot be observed, or why the desired state is not known. A cluster that is
// installed and available stays available for that.
func (s *scope) noView(err error) error {
	if s.phase() == lifecycle.Installed {
		s.showConfiguration(err)
		if s.wasAvailable() {
			s.showUnseen(messages.Error(err))
			if clusterloop.IsRefusal(err) || errors.Is(err, clusterloop.ErrNotYet) {
				return nil
			}
			return err
		}
	}
	refusal, refused := errors.AsType[*clusterloop.Refusal](err)
	switch {
	case refused:
		s.notAvailable(ReasonInvalid, refusal.Error())
		return nil // a change of the objects wakes
	case errors.Is(err, clusterloop.ErrNotYet):
		s.notAvailable(controlplanev1.ControlPlaneInstallingReason, err.Error())
		return nil
	case apierrors.IsConflict(err):
		return err // it was read too early: nothing is blocked
	}
	s.notAvailable(controlplanev1.ControlPlaneInstallingReason, messages.Error(err))
	return err
}

// wasAvailable reports whether the cluster is installed and works, by the last condition.
func (s *scope) wasAvailable() bool {
	was := conditions.Get(s.plane, clusterv1.AvailableCondition)
	return s.phase() == lifecycle.Installed && was != nil && was.Status != metav1.ConditionFalse
}

// unread is why the desired state of the cluster is not known, or that the service has no record of a cluster that
// works; nil where neither is so.
func (s *scope) unread() error {
	if s.view.NoPlan == nil && s.view.Observed.Cluster == nil && s.wasAvailable() {
		return fmt.Errorf("the service has no record of the cluster: %s", s.waiting())
	}
	return s.view.NoPlan
}

// showConfiguration says why it is not known what is wanted of an installed cluster; nothing where that never was so.
func (s *scope) showConfiguration(err error) {
	const kind = controlplanev1.ConfigurationAcceptedCondition
	switch {
	case err != nil && apierrors.IsConflict(err): // it was read too early
	case err != nil && s.phase() == lifecycle.Installed:
		reason := controlplanev1.ConfigurationNotReadReason
		if clusterloop.IsRefusal(err) {
			reason = ReasonInvalid
		}
		s.set(kind, metav1.ConditionFalse, reason, messages.Error(err))
	case conditions.Has(s.plane, kind):
		s.set(kind, metav1.ConditionTrue, kind, "")
	}
}

// unseenFor is, in real time, how long the state of an installed cluster may be unknown until that is reported.
const unseenFor = 5 * time.Minute

// showUnseen reports that the state of an installed cluster is not known, once that has been so for long.
func (s *scope) showUnseen(why string) {
	since := conditions.Get(s.plane, controlplanev1.ConfigurationAcceptedCondition)
	if since != nil && since.Status != metav1.ConditionTrue && clock.Real().Now().Sub(since.LastTransitionTime.Time) > unseenFor {
		s.set(clusterv1.AvailableCondition, metav1.ConditionUnknown, controlplanev1.ControlPlaneUnseenReason, "the cluster was not read: "+why)
	}
}

// markOwn records which cluster of the service this one is and, once it is installed, the id that it has itself. Before
// that, only this service knows the state of the installation: the cluster must not be moved.
func (s *scope) markOwn(ctx context.Context) error {
	cluster := s.view.Observed.Cluster
	if cluster == nil {
		return nil
	}
	before := s.plane.DeepCopy()
	if s.plane.Annotations == nil {
		s.plane.Annotations = map[string]string{}
	}
	s.plane.Annotations[clusterspec.AnnotationClusterID] = cluster.ID
	if s.view.Installed() {
		delete(s.plane.Annotations, clusterctlv1.BlockMoveAnnotation)
		if cluster.OpenShiftID != "" {
			s.plane.Annotations[clusterspec.AnnotationOpenShiftID] = cluster.OpenShiftID
		}
	} else {
		s.plane.Annotations[clusterctlv1.BlockMoveAnnotation] = ""
	}
	if maps.Equal(before.Annotations, s.plane.Annotations) {
		return nil
	}
	if err := s.patchNow(ctx, before); err != nil {
		return fmt.Errorf("note the cluster %s on its control plane: %w", cluster.ID, err)
	}
	return nil
}

// showInstall reports how far the installation is, and what blocks it.
func (s *scope) showInstall() {
	plan, cluster := &s.view.Plan, s.view.Observed.Cluster
	if cluster == nil && s.wasAvailable() {
		s.showUnseen("the service has no record of it")
		return
	}
	if cluster == nil {
		if s.view.Deleted() {
			s.plane.Status.Installation.State, s.plane.Status.Installation.Percentage = "", nil // it installs no more
		}
		if s.view.Observed.Unproven {
			s.notAvailable(ReasonInvalid, s.waiting())
			return
		}
		s.notAvailable(controlplanev1.ControlPlaneInstallingReason, plan.Message)
		return
	}
	s.plane.Status.ClusterDeploymentRef = messages.Reference(cluster.ID, "")
	s.plane.Status.Installation.State = string(cluster.State)
	s.showPercent(cluster)
	switch {
	case plan.Verdict == model.VerdictFailed, plan.Verdict == model.VerdictCancelled, plan.Verdict == model.VerdictUnknown:
		s.notAvailable(controlplanev1.ControlPlaneInstallFailedReason, messages.Sentence(plan.Message, plan.Next))
	case !s.view.Installed():
		s.notAvailable(controlplanev1.ControlPlaneInstallingReason, s.waiting())
	}
}

func (s *scope) showPercent(cluster *model.Cluster) {
	percent := int32(cluster.Progress.Percent)
	if cluster.State.Installed() {
		percent = 100
	}
	s.plane.Status.Installation.Percentage = ptr.To(percent)
}

// waiting is what blocks the cluster, or else what it waits for.
func (s *scope) waiting() string {
	var texts []string
	for _, b := range s.view.Plan.Blockers {
		if b.Reason == model.ReasonUnproven {
			texts = append(texts, s.unproven(s.view.Desired.Options.Run))
			continue
		}
		texts = append(texts, messages.Sentence(b.Message, b.Remedy))
	}
	if len(texts) == 0 {
		for _, w := range s.view.Plan.Waits {
			if w.Scope == model.ScopeCluster {
				texts = append(texts, "waiting for "+w.For)
			}
		}
	}
	if len(texts) == 0 {
		return string(s.view.Observed.Cluster.State)
	}
	return messages.Lines(texts)
}
