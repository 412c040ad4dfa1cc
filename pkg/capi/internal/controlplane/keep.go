package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/clusterspec"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/messages"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// MachineEtcdMemberRemoved is a condition of a Machine that is being deleted: whether its member of etcd is
// gone, and what that waits for.
const MachineEtcdMemberRemoved = controlplanev1.EtcdMemberRemovedCondition

// keepAgain is how soon a reconcile checks again what a Machine waits for.
const keepAgain = 10 * time.Second

// kept is what was found of the Machines of a control plane in one reconcile.
type kept struct {
	decision lifecycle.Decision
	held     []held
	outdated int // Machines that differ from what the control plane says
	// noTemplate says that the template that Machines are made of is not there.
	noTemplate bool
}

// held is a Machine that is being deleted and waits for something.
type held struct {
	lifecycle.Held
	name      string
	unhealthy bool
	outdated  bool
}

// keep processes the Machines: it changes what they can take in place, reports which cannot follow, releases those that
// are being deleted once their members of etcd are gone, and does what is decided next.
func (s *scope) keep(ctx context.Context) (ctrl.Result, error) {
	q := s.question()
	template, err := s.template(ctx, s.plane.Spec.MachineTemplate.Spec.InfrastructureRef.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	s.kept = &kept{noTemplate: template == nil}
	if err := s.ownTemplate(ctx, template); err != nil {
		return ctrl.Result{}, err
	}
	before := make([]*clusterv1.Machine, len(s.machines))
	for i, m := range s.machines {
		before[i] = m.DeepCopy()
		of, err := s.bring(ctx, m)
		if err != nil {
			return ctrl.Result{}, err
		}
		q.Machines = append(q.Machines, of)
	}
	var failed []error
	for i := range q.Machines {
		m := &q.Machines[i]
		if len(m.Outdated) > 0 || m.Expired {
			s.kept.outdated++
		}
		if !m.DeletionTimestamp.IsZero() && isHooked(m.Machine) {
			failed = append(failed, s.hold(ctx, q, m))
		}
	}
	s.kept.decision = lifecycle.Decide(q)
	s.judged(q)
	for i, m := range s.machines {
		failed = append(failed, s.write(ctx, before[i], m))
	}
	if err := errors.Join(failed...); err != nil {
		return ctrl.Result{}, err // nothing further is done to a control plane that is not as it is believed to be
	}
	if err := s.act(ctx, q); err != nil {
		return ctrl.Result{}, err
	}
	return s.again(q), nil
}

// question is what is asked about the Machines, without them.
func (s *scope) question() *lifecycle.Question {
	q := &lifecycle.Question{
		Now: s.Clock.Now(), Spec: &s.plane.Spec, Phase: s.phase(), Domains: s.domains(),
		Replacing: lifecycle.Replacing(s.plane.Annotations[lifecycle.ReplacingAnnotation]),
		Gone:      !s.cluster.DeletionTimestamp.IsZero(), OnHub: s.OnHub,
	}
	if s.view != nil {
		q.Spoke = s.view.Observed.Spoke
	}
	return q
}

// phase is how far the installation is: as observed now, or last. A cluster without a record in the service stays in
// its last phase.
func (s *scope) phase() lifecycle.Phase {
	view := s.view
	if view == nil {
		view = s.Installations.Last(s.key())
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

// domains are the failure domains of the cluster that take control planes.
func (s *scope) domains() []clusterv1.FailureDomain {
	var domains []clusterv1.FailureDomain
	for _, d := range s.cluster.Status.FailureDomains {
		if d.ControlPlane != nil && *d.ControlPlane {
			domains = append(domains, d)
		}
	}
	return domains
}

// bring brings to a Machine and its objects what they can follow, and says in what it differs otherwise. The
// objects are written, and the Machine is changed only.
func (s *scope) bring(ctx context.Context, m *clusterv1.Machine) (lifecycle.Machine, error) {
	of := lifecycle.Machine{Machine: m, Pooled: m.Spec.InfrastructureRef.Kind == machines.KindAgentMachine}
	version := ""
	if s.view != nil {
		of.Host = s.view.Host(m.Name)
		if spoke := s.view.Observed.Spoke; spoke != nil && m.Status.NodeRef.Name != "" {
			if node := spoke.NodeByName(m.Status.NodeRef.Name); node != nil {
				version = node.Version
			}
		}
	}
	made, err := s.made(ctx, m)
	if err != nil {
		return of, err
	}
	of.Outdated, err = s.outdated(ctx, made)
	if err != nil {
		return of, err
	}
	of.Expired = lifecycle.Expired(&s.plane.Spec, m, s.Clock.Now())
	s.showUpToDate(&of)
	if !m.DeletionTimestamp.IsZero() {
		made.ApplyToDeleting(&s.plane.Spec)
		return of, nil
	}
	changed := *made
	if made.Config != nil {
		changed.Config = made.Config.DeepCopy()
	}
	if made.Infrastructure != nil {
		changed.Infrastructure = made.Infrastructure.DeepCopy()
	}
	changed.Apply(&s.plane.Spec, s.ownLabels(), version)
	err = s.writeMade(ctx, made, &changed)
	if isRefused(err) {
		s.notApplied(m, err)
		return of, nil
	}
	return of, err
}

// made is what a Machine consists of.
func (s *scope) made(ctx context.Context, m *clusterv1.Machine) (*lifecycle.Made, error) {
	made := &lifecycle.Made{Machine: m}
	var err error
	if made.Infrastructure, err = machines.Infrastructure(ctx, s.Client, m); err != nil {
		return nil, err
	}
	ref := m.Spec.Bootstrap.ConfigRef
	if ref.Kind != bootstrapv1.ConfigKind {
		return made, nil
	}
	config := &bootstrapv1.OpenshiftAssistedConfig{}
	switch err := s.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: ref.Name}, config); {
	case err == nil:
		made.Config = config
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("read the config %s of Machine %s: %w", ref.Name, m.Name, err)
	}
	return made, nil
}

// outdated are the fields in which a Machine differs. Templates are read only where another one is named.
func (s *scope) outdated(ctx context.Context, made *lifecycle.Made) ([]string, error) {
	var was, is *unstructured.Unstructured
	if made.IsRotated(&s.plane.Spec) {
		var err error
		if is, err = s.template(ctx, s.plane.Spec.MachineTemplate.Spec.InfrastructureRef.Name); err != nil {
			return nil, err
		}
		if was, err = s.template(ctx, made.ClonedFrom()); err != nil {
			return nil, err
		}
	}
	return made.Outdated(&s.plane.Spec, s.domains(), was, is), nil
}

// template is a template of the kind that the control plane names; nil where there is none, or if templates of that
// kind are not read.
func (s *scope) template(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	ref := s.plane.Spec.MachineTemplate.Spec.InfrastructureRef
	ref.Name = name
	if machines.CheckTemplate(ref) != nil {
		return nil, nil //nolint:nilerr // a condition says it
	}
	template, err := external.GetObjectFromContractVersionedRef(ctx, s.Client, ref, s.plane.Namespace)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the template %s %s: %w", ref.Kind, ref.Name, err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // not found: there is none
	}
	return template, nil
}

// ownTemplate makes the Cluster an owner of the template that Machines are made of, so that it is moved with the
// Cluster, and deleted with the last one that uses it.
func (s *scope) ownTemplate(ctx context.Context, template *unstructured.Unstructured) error {
	if template == nil || !template.GetDeletionTimestamp().IsZero() || util.IsOwnedByObject(template, s.cluster, clusterv1.GroupVersion.WithKind("Cluster").GroupKind()) {
		return nil
	}
	changed := template.DeepCopy()
	changed.SetOwnerReferences(append(changed.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: s.cluster.Name, UID: s.cluster.UID,
	}))
	if err := s.Client.Patch(ctx, changed, client.MergeFromWithOptions(template, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("have the Cluster own %s %s: %w", template.GetKind(), template.GetName(), err)
	}
	return nil
}

// judged records what becomes of unhealthy Machines, and removes that record from those that are well again.
func (s *scope) judged(q *lifecycle.Question) {
	for i := range q.Machines {
		m := q.Machines[i].Machine
		if verdict, said := s.kept.decision.Remediated[m.Name]; said {
			setOn(m, clusterv1.MachineOwnerRemediatedCondition, metav1.ConditionFalse, verdict.Reason, verdict.Message)
			continue
		}
		if m.DeletionTimestamp.IsZero() && conditions.IsTrue(m, clusterv1.MachineHealthCheckSucceededCondition) && conditions.IsFalse(m, clusterv1.MachineOwnerRemediatedCondition) {
			conditions.Delete(m, clusterv1.MachineOwnerRemediatedCondition)
		}
	}
}

// setOn sets a condition of a Machine if it says something else. A new observed generation alone is not written: others
// change the Machine's spec.
func setOn(m *clusterv1.Machine, kind string, status metav1.ConditionStatus, reason, message string) {
	message = messages.Message(message)
	if c := conditions.Get(m, kind); c != nil && c.Status == status && c.Reason == reason && c.Message == message {
		return
	}
	conditions.Set(m, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

// again is when to reconcile again without an event.
func (s *scope) again(q *lifecycle.Question) ctrl.Result {
	result := ctrl.Result{}
	sooner := func(at time.Duration) {
		if at > 0 && (result.RequeueAfter == 0 || at < result.RequeueAfter) {
			result.RequeueAfter = at
		}
	}
	until := func(at time.Time) { sooner(s.Clock.Wall(at.Sub(q.Now)) + time.Second) }
	if len(s.kept.held) > 0 || len(s.kept.decision.Blocked) > 0 {
		sooner(keepAgain)
	}
	if at := s.kept.decision.Again; !at.IsZero() {
		until(at)
	}
	if after := s.plane.Spec.Rollout.After; after.After(q.Now) {
		until(after.Time)
	}
	return result
}
