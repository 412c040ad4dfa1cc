package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/oaictl/oaictl/internal/shared/clock"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/capi/internal/rewording"
)

// MachineEtcdMemberRemoved is a condition of a Machine that is being deleted: whether its member of etcd is
// gone, and what that waits for.
const MachineEtcdMemberRemoved = controlplanev1.EtcdMemberRemovedCondition

// keepAgain is how soon a reconcile checks again what a Machine waits for.
const keepAgain = 10 * time.Second

// machinesSummary is what was found of the Machines of a control plane in one reconcile.
type machinesSummary struct {
	decision lifecycle.Decision
	held     []held
	outdated int // Machines that differ from what the control plane says
	// noTemplate says that the template that Machines are made of is not there.
	noTemplate bool
}

// held is a Machine that is being deleted and waits for something.
type held struct {
	lifecycle.DeletionBlock
	name      string
	unhealthy bool
	outdated  bool
}

// machineKeeper changes, releases and replaces the Machines of a control plane.
type machineKeeper struct {
	*subject

	live      client.Reader
	clock     clock.Clock
	recorder  events.EventRecorder
	workloads *Workloads
	onHub     bool
	maker     *machineMaker
	writer    *machineWriter
}

func (s *scope) machineKeeper() *machineKeeper {
	return &machineKeeper{
		subject: s.subject, live: s.Live, clock: s.Clock, recorder: s.Recorder, workloads: s.Workloads, onHub: s.OnHub,
		maker: s.machineMaker(), writer: s.machineWriter(),
	}
}

// keep processes the Machines: it changes what they can take in place, reports which cannot follow, releases those that
// are being deleted once their members of etcd are gone, and does what is decided next.
func (k *machineKeeper) keep(ctx context.Context) (ctrl.Result, error) {
	q := k.question()
	template, err := k.maker.template(ctx, k.plane.Spec.MachineTemplate.Spec.InfrastructureRef.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	k.kept = &machinesSummary{noTemplate: template == nil}
	if err := k.maker.ownTemplate(ctx, template); err != nil {
		return ctrl.Result{}, err
	}
	before := make([]*clusterv1.Machine, len(k.machines))
	for i, m := range k.machines {
		before[i] = m.DeepCopy()
		of, err := k.bring(ctx, m)
		if err != nil {
			return ctrl.Result{}, err
		}
		q.Machines = append(q.Machines, of)
	}
	var failed []error
	for i := range q.Machines {
		m := &q.Machines[i]
		if len(m.Outdated) > 0 || m.Expired {
			k.kept.outdated++
		}
		if !m.DeletionTimestamp.IsZero() && isHooked(m.Machine) {
			failed = append(failed, k.hold(ctx, q, m))
		}
	}
	k.kept.decision = lifecycle.Decide(q)
	k.judged(q)
	for i, m := range k.machines {
		failed = append(failed, k.writer.write(ctx, before[i], m))
	}
	if err := errors.Join(failed...); err != nil {
		return ctrl.Result{}, err // nothing further is done to a control plane that is not as it is believed to be
	}
	if err := k.act(ctx, q); err != nil {
		return ctrl.Result{}, err
	}
	return k.again(q), nil
}

// question is what is asked about the Machines, without them.
func (k *machineKeeper) question() *lifecycle.Question {
	q := &lifecycle.Question{
		Now: k.clock.Now(), Spec: &k.plane.Spec, Phase: k.phase(), Domains: k.domains(),
		Replacing: lifecycle.Replacing(k.plane.Annotations[lifecycle.ReplacingAnnotation]),
		Gone:      !k.cluster.DeletionTimestamp.IsZero(), OnHub: k.onHub,
	}
	if k.view != nil {
		q.Spoke = k.view.Observed.Spoke
	}
	return q
}

// bring brings to a Machine and its objects what they can follow, and says in what it differs otherwise. The
// objects are written, and the Machine is changed only.
func (k *machineKeeper) bring(ctx context.Context, m *clusterv1.Machine) (lifecycle.Machine, error) {
	of := lifecycle.Machine{Machine: m, Pooled: m.Spec.InfrastructureRef.Kind == machines.KindAgentMachine}
	version := ""
	if k.view != nil {
		of.Host = k.view.Host(m.Name)
		if spoke := k.view.Observed.Spoke; spoke != nil && m.Status.NodeRef.Name != "" {
			if node := spoke.NodeByName(m.Status.NodeRef.Name); node != nil {
				version = node.Version
			}
		}
	}
	made, err := k.made(ctx, m)
	if err != nil {
		return of, err
	}
	of.Outdated, err = k.outdated(ctx, made)
	if err != nil {
		return of, err
	}
	of.Expired = lifecycle.Expired(&k.plane.Spec, m, k.clock.Now())
	showUpToDate(&k.plane.Spec, &of)
	if !m.DeletionTimestamp.IsZero() {
		made.ApplyToDeleting(&k.plane.Spec)
		return of, nil
	}
	changed := *made
	if made.Config != nil {
		changed.Config = made.Config.DeepCopy()
	}
	if made.Infrastructure != nil {
		changed.Infrastructure = made.Infrastructure.DeepCopy()
	}
	changed.Apply(&k.plane.Spec, k.maker.ownLabels(), version)
	err = k.writer.writeMade(ctx, made, &changed)
	if isRefused(err) {
		notApplied(m, err)
		return of, nil
	}
	return of, err
}

// made is what a Machine consists of.
func (k *machineKeeper) made(ctx context.Context, m *clusterv1.Machine) (*lifecycle.MachineObjects, error) {
	made := &lifecycle.MachineObjects{Machine: m}
	var err error
	if made.Infrastructure, err = machines.Infrastructure(ctx, k.client, m); err != nil {
		return nil, err
	}
	ref := m.Spec.Bootstrap.ConfigRef
	if ref.Kind != bootstrapv1.ConfigKind {
		return made, nil
	}
	config := &bootstrapv1.OpenshiftAssistedConfig{}
	switch err := k.client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: ref.Name}, config); {
	case err == nil:
		made.Config = config
	case client.IgnoreNotFound(err) != nil:
		return nil, fmt.Errorf("read the config %s of Machine %s: %w", ref.Name, m.Name, err)
	}
	return made, nil
}

// outdated are the fields in which a Machine differs. Templates are read only where another one is named.
func (k *machineKeeper) outdated(ctx context.Context, made *lifecycle.MachineObjects) ([]string, error) {
	var was, is *unstructured.Unstructured
	if made.IsRotated(&k.plane.Spec) {
		var err error
		if is, err = k.maker.template(ctx, k.plane.Spec.MachineTemplate.Spec.InfrastructureRef.Name); err != nil {
			return nil, err
		}
		if was, err = k.maker.template(ctx, made.ClonedFrom()); err != nil {
			return nil, err
		}
	}
	return made.Outdated(&k.plane.Spec, k.domains(), was, is), nil
}

// template is a template of the kind that the control plane names; nil where there is none, or if templates of that
// kind are not read.
func (f *machineMaker) template(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	ref := f.plane.Spec.MachineTemplate.Spec.InfrastructureRef
	ref.Name = name
	if machines.CheckTemplate(ref) != nil {
		return nil, nil //nolint:nilerr // a condition says it
	}
	template, err := external.GetObjectFromContractVersionedRef(ctx, f.client, ref, f.plane.Namespace)
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
func (f *machineMaker) ownTemplate(ctx context.Context, template *unstructured.Unstructured) error {
	if template == nil || !template.GetDeletionTimestamp().IsZero() ||
		util.IsOwnedByObject(template, f.cluster, clusterv1.GroupVersion.WithKind("Cluster").GroupKind()) {
		return nil
	}
	changed := template.DeepCopy()
	changed.SetOwnerReferences(append(changed.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: f.cluster.Name, UID: f.cluster.UID,
	}))
	if err := f.client.Patch(ctx, changed, client.MergeFromWithOptions(template,
		client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("have the Cluster own %s %s: %w", template.GetKind(), template.GetName(), err)
	}
	return nil
}

// judged records what becomes of unhealthy Machines, and removes that record from those that are well again.
func (k *machineKeeper) judged(q *lifecycle.Question) {
	for i := range q.Machines {
		m := q.Machines[i].Machine
		if verdict, said := k.kept.decision.Remediated[m.Name]; said {
			setOn(m, clusterv1.MachineOwnerRemediatedCondition, metav1.ConditionFalse, verdict.Reason, verdict.Message)
			continue
		}
		if m.DeletionTimestamp.IsZero() && conditions.IsTrue(m, clusterv1.MachineHealthCheckSucceededCondition) &&
			conditions.IsFalse(m, clusterv1.MachineOwnerRemediatedCondition) {
			conditions.Delete(m, clusterv1.MachineOwnerRemediatedCondition)
		}
	}
}

// setOn sets a condition of a Machine if it says something else. A new observed generation alone is not written: others
// change the Machine's spec.
func setOn(m *clusterv1.Machine, kind string, status metav1.ConditionStatus, reason, message string) {
	message = rewording.Message(message)
	if c := conditions.Get(m, kind); c != nil && c.Status == status && c.Reason == reason && c.Message == message {
		return
	}
	conditions.Set(m, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

// again is when to reconcile again without an event.
func (k *machineKeeper) again(q *lifecycle.Question) ctrl.Result {
	result := ctrl.Result{}
	sooner := func(at time.Duration) {
		if at > 0 && (result.RequeueAfter == 0 || at < result.RequeueAfter) {
			result.RequeueAfter = at
		}
	}
	until := func(at time.Time) { sooner(k.clock.Wall(at.Sub(q.Now)) + time.Second) }
	if len(k.kept.held) > 0 || len(k.kept.decision.Blocked) > 0 {
		sooner(keepAgain)
	}
	if at := k.kept.decision.Again; !at.IsZero() {
		until(at)
	}
	if after := k.plane.Spec.Rollout.After; after.After(q.Now) {
		until(after.Time)
	}
	return result
}
