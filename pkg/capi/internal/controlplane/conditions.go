package controlplane

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
	"github.com/oaictl/oaictl/pkg/capi/internal/controlplane/lifecycle"
	"github.com/oaictl/oaictl/pkg/capi/internal/machines"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// listed are texts below a first one, as Cluster API lists them.
func listed(first string, texts []string) string {
	lines := []string{first}
	for _, text := range texts {
		lines = append(lines, "* "+text)
	}
	return strings.Join(lines, "\n")
}

// showUpToDate says of a Machine in what it differs from what the control plane says.
func showUpToDate(spec *controlplanev1.OpenshiftAssistedControlPlaneSpec, m *lifecycle.Machine) {
	fields := slices.Clone(m.Outdated)
	if m.Expired {
		fields = append(fields, lifecycle.ExpiredField(spec))
	}
	if len(fields) == 0 {
		setOn(m.Machine, clusterv1.MachineUpToDateCondition, metav1.ConditionTrue, clusterv1.MachineUpToDateReason, "")
		return
	}
	setOn(m.Machine, clusterv1.MachineUpToDateCondition, metav1.ConditionFalse, clusterv1.MachineNotUpToDateReason,
		"* "+strings.Join(fields, "\n* "))
}

// showMachines says what is done to the Machines, and what that waits for.
func (r *statusReport) showMachines() {
	r.showScaling()
	if r.kept != nil {
		r.showRollout()
		r.showRemediation()
	}
	r.aggregate(clusterv1.MachineReadyCondition, clusterv1.MachinesReadyCondition, r.machines, clusterv1.NotReadyReason,
		clusterv1.ReadyUnknownReason, clusterv1.ReadyReason)
	told := slices.DeleteFunc(slices.Clone(r.machines), func(m *clusterv1.Machine) bool {
		return !conditions.Has(m,
			clusterv1.MachineUpToDateCondition)
	})
	r.aggregate(clusterv1.MachineUpToDateCondition, clusterv1.MachinesUpToDateCondition, told, clusterv1.NotUpToDateReason,
		clusterv1.UpToDateUnknownReason, clusterv1.UpToDateReason)
}

// Purposes for which a Machine is deleted. Each has a condition that reports what the deletion waits for.
const (
	forScaling     = "scaling"
	forRollout     = "rollout"
	forRemediation = "remediation"
)

// purpose is why a held Machine was deleted, as far as that is known. A Machine that a person has deleted is replaced,
// too.
func (r *statusReport) purpose(h *held) string {
	switch {
	case h.unhealthy:
		return forRemediation
	case h.outdated && len(r.machines) >= r.replicas():
		return forRollout
	case len(r.machines) > r.replicas():
		return forScaling
	}
	return forRemediation
}

// required is what a person has to do about a member of etcd, for one of the purposes; "" for nothing.
func (r *statusReport) required(purpose string) string {
	if r.kept == nil {
		return ""
	}
	for i := range r.kept.held {
		if h := &r.kept.held[i]; h.Reason == lifecycle.ReasonRemovalRequired && r.purpose(h) == purpose {
			return "Machine " + h.name + ": " + h.Message
		}
	}
	causes := map[lifecycle.Cause]string{lifecycle.Scale: forScaling, lifecycle.Rollout: forRollout, lifecycle.Remediate: forRemediation}
	if d := &r.kept.decision; d.ByPerson && causes[d.Cause] == purpose {
		return strings.Join(d.Blocked, "; ")
	}
	return ""
}

// waits are the messages about a cause that is blocked, a sentence each.
func (r *statusReport) waits(causes ...lifecycle.Cause) []string {
	if r.kept == nil {
		return nil
	}
	var texts []string
	for i := range r.kept.held {
		texts = append(texts, "Machine "+r.kept.held[i].name+": "+r.kept.held[i].Message)
	}
	if d := &r.kept.decision; d.Cause == "" || slices.Contains(causes, d.Cause) {
		texts = append(texts, d.Blocked...)
	}
	return texts
}

func (r *statusReport) showScaling() {
	have, want := len(r.machines), r.replicas()
	if !r.plane.DeletionTimestamp.IsZero() {
		want = 0
	} else {
		r.set(clusterv1.DeletingCondition, metav1.ConditionFalse, clusterv1.NotDeletingReason, "")
	}
	blocked := func(text string, more ...string) string {
		waits := slices.DeleteFunc(append(r.waits(lifecycle.Scale, lifecycle.Remediate), more...), func(w string) bool { return w == "" })
		if len(waits) > 0 {
			return listed(text+" is blocked because:", waits)
		}
		return text
	}
	switch reason, missing := clusterv1.ScalingUpReason, r.missingTemplate(); {
	case have >= want && missing != "":
		r.set(clusterv1.ScalingUpCondition, metav1.ConditionFalse, clusterv1.NotScalingUpReason, "Scaling up would be blocked because "+missing)
	case have >= want:
		r.set(clusterv1.ScalingUpCondition, metav1.ConditionFalse, clusterv1.NotScalingUpReason, "")
	default:
		if r.required(forScaling) != "" {
			reason = controlplanev1.EtcdMemberRemovalRequiredReason
		}
		r.set(clusterv1.ScalingUpCondition, metav1.ConditionTrue, reason,
			blocked(fmt.Sprintf("Scaling up from %d to %d replicas", have, want), missing))
	}
	switch reason := clusterv1.ScalingDownReason; {
	case have <= want:
		r.set(clusterv1.ScalingDownCondition, metav1.ConditionFalse, clusterv1.NotScalingDownReason, "")
	default:
		if r.required(forScaling) != "" {
			reason = controlplanev1.EtcdMemberRemovalRequiredReason
		}
		r.set(clusterv1.ScalingDownCondition, metav1.ConditionTrue, reason,
			blocked(fmt.Sprintf("Scaling down from %d to %d replicas", have, want)))
	}
}

// missingTemplate says that the template that Machines are made of is not there; "" where it is.
func (r *statusReport) missingTemplate() string {
	if r.kept == nil || !r.kept.noTemplate {
		return ""
	}
	ref := r.plane.Spec.MachineTemplate.Spec.InfrastructureRef
	if err := machines.CheckTemplate(ref); err != nil {
		return err.Error()
	}
	return ref.Kind + " " + ref.Name + " does not exist"
}

// showRollout reports whether Machines are replaced because they differ.
func (r *statusReport) showRollout() {
	d := &r.kept.decision
	leaving := slices.ContainsFunc(r.kept.held, func(h held) bool { return r.purpose(&h) == forRollout })
	var because []string
	for _, m := range r.machines {
		if c := conditions.Get(m, clusterv1.MachineUpToDateCondition); c != nil && c.Status == metav1.ConditionFalse {
			for line := range strings.Lines(c.Message) {
				because = append(because, strings.TrimPrefix(strings.TrimSpace(line), "* "))
			}
		}
	}
	slices.Sort(because)
	because = slices.Compact(because)
	text := listed(fmt.Sprintf("Rolling out %d not up-to-date replicas", r.kept.outdated), because)
	switch waits := r.waits(lifecycle.Rollout); {
	case r.kept.outdated == 0:
		r.set(clusterv1.RollingOutCondition, metav1.ConditionFalse, clusterv1.NotRollingOutReason, "")
	case d.CannotRoll != "":
		r.set(clusterv1.RollingOutCondition, metav1.ConditionFalse, clusterv1.NotRollingOutReason, d.CannotRoll)
	case len(d.Rollout) == 0 && !leaving:
		r.set(clusterv1.RollingOutCondition, metav1.ConditionFalse, clusterv1.NotRollingOutReason, r.notRolling())
	case r.required(forRollout) != "":
		r.set(clusterv1.RollingOutCondition, metav1.ConditionTrue, controlplanev1.EtcdMemberRemovalRequiredReason,
			r.required(forRollout)+"\n"+text)
	case len(waits) > 0:
		r.set(clusterv1.RollingOutCondition, metav1.ConditionTrue, clusterv1.RollingOutReason, text+"\n"+listed("It is blocked because:",
			waits))
	default:
		r.set(clusterv1.RollingOutCondition, metav1.ConditionTrue, clusterv1.RollingOutReason, text)
	}
}

// notRolling says why Machines that differ stay.
func (r *statusReport) notRolling() string {
	count := fmt.Sprintf("%d replicas are not up-to-date", r.kept.outdated)
	if r.plane.Spec.Rollout.Strategy.Type == controlplanev1.RollingUpdateStrategy {
		return count + ": they are replaced after the installation of the cluster"
	}
	return count + ", and are kept: spec.rollout.strategy.type is OnDelete, and spec.rollout.after is not set or is in the future"
}

// showRemediation reports whether unhealthy Machines are replaced. While a person has to take a member out of etcd,
// they are not.
func (r *statusReport) showRemediation() {
	if text := r.required(forRemediation); text != "" {
		r.set(clusterv1.RemediatingCondition, metav1.ConditionFalse, controlplanev1.EtcdMemberRemovalRequiredReason, text)
		return
	}
	var own, others []string
	for _, m := range r.machines {
		switch {
		case collections.IsUnhealthyAndOwnerRemediated(m):
			own = append(own, "Machine "+m.Name+": "+conditions.GetMessage(m, clusterv1.MachineOwnerRemediatedCondition))
		case collections.IsUnhealthy(m):
			others = append(others, "Machine "+m.Name+" is not healthy, but the control plane has no request to replace it")
		}
	}
	if len(own) == 0 {
		message := ""
		if len(others) > 0 {
			message = "* " + strings.Join(others, "\n* ")
		}
		r.set(clusterv1.RemediatingCondition, metav1.ConditionFalse, clusterv1.NotRemediatingReason, message)
		return
	}
	r.set(clusterv1.RemediatingCondition, metav1.ConditionTrue, clusterv1.RemediatingReason, "* "+strings.Join(own, "\n* "))
}

// aggregate sums a condition of Machines up, with the reasons of Cluster API.
func (r *statusReport) aggregate(of, into string, machines []*clusterv1.Machine, no, unknown, yes string) {
	if len(machines) == 0 {
		r.set(into, metav1.ConditionTrue, clusterv1.NoReplicasReason, "")
		return
	}
	condition, err := conditions.NewAggregateCondition(machines, of, conditions.TargetConditionType(into), conditions.CustomMergeStrategy{
		MergeStrategy: conditions.DefaultMergeStrategy(conditions.ComputeReasonFunc(conditions.GetDefaultComputeMergeReasonFunc(no, unknown,
			yes))),
	})
	if err != nil {
		r.set(into, metav1.ConditionUnknown, clusterv1.InternalErrorReason, err.Error())
		return
	}
	r.set(into, condition.Status, condition.Reason, condition.Message)
}

// showEtcd says how etcd is: it works as long as its operator says so, though members of it may be ill.
func (r *statusReport) showEtcd(spoke *model.Spoke, operator *model.ClusterOperator) {
	message := operator.Message
	if spoke.Etcd != nil && len(spoke.Etcd.Unhealthy) > 0 {
		message = spoke.Etcd.Message
	}
	if operator.Available {
		if spoke.Etcd == nil || len(spoke.Etcd.Unhealthy) == 0 {
			message = ""
		}
		r.set(controlplanev1.EtcdClusterAvailableCondition, metav1.ConditionTrue, controlplanev1.EtcdClusterAvailableCondition, message)
		return
	}
	r.set(controlplanev1.EtcdClusterAvailableCondition, metav1.ConditionFalse, "EtcdUnavailable", message)
}

// showLastRemediation says which unhealthy Machine was replaced last, if the status has been lost: an annotation of its
// successor records it.
func (r *statusReport) showLastRemediation() {
	status := &r.plane.Status
	for _, m := range r.machines {
		if last := lifecycle.RemediationFor(m); last != nil && last.Timestamp.After(status.LastRemediation.Time.Time) {
			status.LastRemediation = controlplanev1.LastRemediationStatus{Machine: last.Machine, Time: last.Timestamp,
				RetryCount: new(last.RetryCount)}
		}
	}
}
