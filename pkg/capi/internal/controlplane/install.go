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
	"github.com/oaictl/oaictl/pkg/capi/internal/recordmark"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// ReasonInvalid is the reason of a condition where only a change of the objects helps.
const ReasonInvalid = "InvalidConfiguration"

// installation registers and installs the cluster of a control plane, and says how far that is.
type installation struct {
	*subject

	keys         *recordmark.Keys
	onHub        bool
	registration *registration
	release      *releaseCheck
}

func (s *scope) installation() *installation {
	return &installation{subject: s.subject, keys: s.Keys, onHub: s.OnHub, registration: s.registration(), release: s.releaseCheck()}
}

// install carries out what the plan has for the cluster, and writes down whose it is.
func (i *installation) install(ctx context.Context) error {
	view, err := i.step(ctx)
	if other := i.isAnother(view); other != nil {
		view, err = nil, other
	}
	i.view = view
	switch {
	case view == nil && err == nil:
		return nil
	case view == nil:
		return i.noView(err)
	}
	i.showConfiguration(i.unread())
	switch {
	case i.mismatch != "" && !view.Installed():
		i.notAvailable(controlplanev1.VersionMismatchReason, i.mismatch)
		return nil
	case view.NoPlan != nil && view.Installed(): // it runs: how it is, it says itself
	case view.NoPlan != nil && view.Observed.Cluster != nil && view.Observed.Cluster.State.Stopped():
		i.notAvailable(controlplanev1.ControlPlaneInstallFailedReason,
			"the installation has stopped: "+cmp.Or(view.Observed.Cluster.StatusInfo, string(view.Observed.Cluster.State))+"; "+
				rewording.Error(view.NoPlan))
	case view.NoPlan != nil:
		if err := i.noView(view.NoPlan); err != nil {
			return errors.Join(err, i.markOwn(ctx))
		}
	case err != nil && !view.Installed(): // it is remembered, and tried again when its time has come
		i.notAvailable(controlplanev1.ControlPlaneInstallingReason, rewording.Error(err))
	default:
		i.showInstall()
	}
	return i.markOwn(ctx)
}

// step carries out what the plan has for the cluster, or only looks where it is not clear what is wanted.
func (i *installation) step(ctx context.Context) (*clusterloop.View, error) {
	if noted, err := i.registration.claim(ctx); noted || err != nil {
		return nil, err // the note wakes, once it can be read
	}
	if !i.onHub {
		if err := i.keys.Make(ctx, i.client, i.cluster); err != nil {
			return nil, err
		}
	}
	if i.release.namesReleaseTwice() {
		view, err := i.installations.View(ctx, i.key())
		if err == nil {
			err = i.release.checkVersions(ctx, view, view.Desired.Spec.Spec.OpenShift.ReleaseImage)
		}
		if i.release.noteMismatch(err) {
			return view, nil
		}
		if err != nil {
			return view, err
		}
	}
	i.release.dropMismatch()
	view, _, err := i.installations.Act(ctx, i.key(), model.ScopeCluster)
	return view, err
}

// isAnother refuses a record of the service that belongs to another cluster than the installed one: it only has the
// same name as the cluster that was moved here.
func (i *installation) isAnother(view *clusterloop.View) error {
	if view == nil || view.Observed.Cluster == nil {
		return nil
	}
	return clusterspec.CheckIdentity(i.plane, view.Observed.Cluster)
}

// noView reports why the installation cannot be observed, or why the desired state is not known. A cluster that is
// installed and available stays available for that.
func (i *installation) noView(err error) error {
	if i.phase() == lifecycle.Installed {
		i.showConfiguration(err)
		if i.wasAvailable() {
			i.showUnseen(rewording.Error(err))
			if clusterloop.IsRefusal(err) || errors.Is(err, clusterloop.ErrNotYet) {
				return nil
			}
			return err
		}
	}
	refusal, refused := errors.AsType[*clusterloop.Refusal](err)
	switch {
	case refused:
		i.notAvailable(ReasonInvalid, refusal.Error())
		return nil // a change of the objects wakes
	case errors.Is(err, clusterloop.ErrNotYet):
		i.notAvailable(controlplanev1.ControlPlaneInstallingReason, err.Error())
		return nil
	case apierrors.IsConflict(err):
		return err // it was read too early: nothing is blocked
	}
	i.notAvailable(controlplanev1.ControlPlaneInstallingReason, rewording.Error(err))
	return err
}

// unread is why the desired state of the cluster is not known, or that the service has no record of a cluster that
// works; nil where neither is so.
func (i *installation) unread() error {
	if i.view.NoPlan == nil && i.view.Observed.Cluster == nil && i.wasAvailable() {
		return fmt.Errorf("the service has no record of the cluster: %s", i.waiting())
	}
	return i.view.NoPlan
}

// showConfiguration says why it is not known what is wanted of an installed cluster; nothing where that never was so.
func (i *installation) showConfiguration(err error) {
	const kind = controlplanev1.ConfigurationAcceptedCondition
	switch {
	case err != nil && apierrors.IsConflict(err): // it was read too early
	case err != nil && i.phase() == lifecycle.Installed:
		reason := controlplanev1.ConfigurationNotReadReason
		if clusterloop.IsRefusal(err) {
			reason = ReasonInvalid
		}
		i.set(kind, metav1.ConditionFalse, reason, rewording.Error(err))
	case conditions.Has(i.plane, kind):
		i.set(kind, metav1.ConditionTrue, kind, "")
	}
}

// unseenFor is, in real time, how long the state of an installed cluster may be unknown until that is reported.
const unseenFor = 5 * time.Minute

// showUnseen reports that the state of an installed cluster is not known, once that has been so for long.
func (i *installation) showUnseen(why string) {
	since := conditions.Get(i.plane, controlplanev1.ConfigurationAcceptedCondition)
	if since != nil && since.Status != metav1.ConditionTrue && clock.Real().Now().Sub(since.LastTransitionTime.Time) > unseenFor {
		i.set(clusterv1.AvailableCondition, metav1.ConditionUnknown, controlplanev1.ControlPlaneUnseenReason, "the cluster was not read: "+why)
	}
}

// markOwn records which cluster of the service this one is and, once it is installed, the id that it has itself. Before
// that, only this service knows the state of the installation: the cluster must not be moved.
func (i *installation) markOwn(ctx context.Context) error {
	cluster := i.view.Observed.Cluster
	if cluster == nil {
		return nil
	}
	before := i.plane.DeepCopy()
	if i.plane.Annotations == nil {
		i.plane.Annotations = map[string]string{}
	}
	i.plane.Annotations[clusterspec.AnnotationClusterID] = cluster.ID
	if i.view.Installed() {
		delete(i.plane.Annotations, clusterctlv1.BlockMoveAnnotation)
		if cluster.OpenShiftID != "" {
			i.plane.Annotations[clusterspec.AnnotationOpenShiftID] = cluster.OpenShiftID
		}
	} else {
		i.plane.Annotations[clusterctlv1.BlockMoveAnnotation] = ""
	}
	if maps.Equal(before.Annotations, i.plane.Annotations) {
		return nil
	}
	if err := i.patchNow(ctx, before); err != nil {
		return fmt.Errorf("note the cluster %s on its control plane: %w", cluster.ID, err)
	}
	return nil
}

// showInstall reports how far the installation is, and what blocks it.
func (i *installation) showInstall() {
	plan, cluster := &i.view.Plan, i.view.Observed.Cluster
	if cluster == nil && i.wasAvailable() {
		i.showUnseen("the service has no record of it")
		return
	}
	if cluster == nil {
		if i.view.Deleted() {
			i.plane.Status.Installation.State, i.plane.Status.Installation.Percentage = "", nil // it installs no more
		}
		if i.view.Observed.Unproven {
			i.notAvailable(ReasonInvalid, i.waiting())
			return
		}
		i.notAvailable(controlplanev1.ControlPlaneInstallingReason, plan.Message)
		return
	}
	i.plane.Status.ClusterDeploymentRef = rewording.Reference(cluster.ID, "")
	i.plane.Status.Installation.State = string(cluster.State)
	i.showPercent(cluster)
	switch {
	case plan.Verdict == model.VerdictFailed, plan.Verdict == model.VerdictCancelled, plan.Verdict == model.VerdictUnknown:
		i.notAvailable(controlplanev1.ControlPlaneInstallFailedReason, rewording.Sentence(plan.Message, plan.Next))
	case !i.view.Installed():
		i.notAvailable(controlplanev1.ControlPlaneInstallingReason, i.waiting())
	}
}

func (i *installation) showPercent(cluster *model.Cluster) {
	percent := int32(cluster.Progress.Percent)
	if cluster.State.Installed() {
		percent = 100
	}
	i.plane.Status.Installation.Percentage = ptr.To(percent)
}

// waiting is what blocks the cluster, or else what it waits for.
func (i *installation) waiting() string {
	var texts []string
	for _, b := range i.view.Plan.Blockers {
		if b.Reason == model.ReasonUnproven {
			texts = append(texts, i.registration.unproven(i.view.Desired.Options.Run))
			continue
		}
		texts = append(texts, rewording.Sentence(b.Message, b.Remedy))
	}
	if len(texts) == 0 {
		for _, w := range i.view.Plan.Waits {
			if w.Scope == model.ScopeCluster {
				texts = append(texts, "waiting for "+w.For)
			}
		}
	}
	if len(texts) == 0 {
		return string(i.view.Observed.Cluster.State)
	}
	return rewording.Lines(texts)
}
