package spoke

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/clock"
)

// grace is how long a node may be silent before its conditions become Unknown.
const (
	grace       = 40 * time.Second
	graceLeases = 5 // as many renewals may be missed
)

// PowerOff switches the machine of a node off that the cluster was installed with.
func (s *Spoke) PowerOff(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent[node] = true
}

func (p *operators) watchNodes(ctx context.Context, w *snapshot) error {
	for i := range w.nodes {
		n := &w.nodes[i]
		w.silent[n.Name] = p.isSilent(w, n.Name)
		if err := p.schedule(ctx, n); err != nil {
			return err
		}
		if err := p.watchNode(ctx, n, w); err != nil {
			return err
		}
	}
	maps.DeleteFunc(p.leases, func(name string, _ lastLease) bool { return w.node(name) == nil })
	return nil
}

// schedule has the control plane of a cluster that joins without workers run workloads, too.
func (p *operators) schedule(ctx context.Context, n *corev1.Node) error {
	_, controlPlane := n.Labels[rolePrefix+master]
	_, does := n.Labels[rolePrefix+worker]
	if !p.cluster.Joining || p.config.Shared || !p.cluster.compact() || !controlPlane || does {
		return nil
	}
	n.Labels[rolePrefix+worker] = ""
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == rolePrefix+master })
	updated, err := p.core.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
	if err != nil {
		return ignoreRetriable(err, "have node "+n.Name+" run workloads")
	}
	*n = *updated
	return nil
}

func (c *Cluster) installed(name string) *Node {
	if c.Joining {
		return nil
	}
	for _, list := range c.nodes() {
		if i := slices.IndexFunc(list, func(n Node) bool { return n.Name == name }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

func (s *Spoke) leaseSoon() time.Duration { return cmp.Or(s.config.LeaseEvery, leaseSoon) }

// isSilent reports whether a node's lease was not renewed for too long, by the operators'
// own clock. Nodes of the installation have none, unless their machine has joined anew.
func (p *operators) isSilent(w *snapshot, name string) bool {
	lease := w.leases[name]
	if lease == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.silent[name]
	}
	what := ""
	if renewed := lease.Spec.RenewTime; renewed != nil {
		what = renewed.String()
	}
	now, seen := clock.Real().Now(), p.leases[name]
	if seen.at.IsZero() || seen.what != what {
		p.leases[name] = lastLease{sighting{what, w.now.Time}, now}
		return false
	}
	missed := graceLeases * p.leaseSoon()
	return w.now.Sub(seen.at) > p.atLeast(grace, missed) && now.Sub(seen.real) > missed // the clock may have been slowed down
}

// lastLease is when the lease of a node was last seen to be renewed, also in real time, which limits renewals.
type lastLease struct {
	sighting

	real time.Time
}

// watchNode writes down that a node is silent, or back, and taints it by how it is.
func (p *operators) watchNode(ctx context.Context, n *corev1.Node, w *snapshot) error {
	conditions := slices.Clone(n.Status.Conditions)
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		switch {
		case w.silent[n.Name] && c.Status != corev1.ConditionUnknown:
			c.Status = corev1.ConditionUnknown
			c.Reason = "NodeStatusUnknown"
			c.Message = "Kubelet stopped posting node status."
			c.LastTransitionTime = p.stamp()
		case !w.silent[n.Name] && c.Status == corev1.ConditionUnknown && w.leases[n.Name] == nil:
			*c = p.well(n.Name, c.Type, p.stamp())
		}
	}
	nodes := p.core.CoreV1().Nodes()
	if !slices.Equal(conditions, n.Status.Conditions) {
		p.logf("%s: is %s", n.Name, map[bool]string{true: "silent", false: "back"}[w.silent[n.Name]])
		updated, err := nodes.UpdateStatus(ctx, n, metav1.UpdateOptions{})
		if err != nil {
			return ignoreRetriable(err, "report on node "+n.Name)
		}
		*n = *updated
	}
	taints := taintsFor(n, w.now)
	if sameTaints(taints, n.Spec.Taints) {
		return nil
	}
	n.Spec.Taints = taints
	updated, err := nodes.Update(ctx, n, metav1.UpdateOptions{})
	if err != nil {
		return ignoreRetriable(err, "taint node "+n.Name)
	}
	*n = *updated
	return nil
}

// ignoreRetriable drops conflicts and objects that are gone: the next look tries again.
func ignoreRetriable(err error, what string) error {
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// well is the condition of an installed node that runs.
func (p *operators) well(name string, kind corev1.NodeConditionType, at metav1.Time) corev1.NodeCondition {
	if kind == corev1.NodeReady {
		return ready(corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status", at)
	}
	for _, c := range p.statusOf(Machine{Hostname: name}, nil, at).Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, LastHeartbeatTime: at, LastTransitionTime: at}
}

// taintsFor are a node's taints, of which the lifecycle's follow from its condition Ready,
// and one from whether it is cordoned.
func taintsFor(n *corev1.Node, now metav1.Time) []corev1.Taint {
	wanted := map[string][]corev1.TaintEffect{}
	both := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}
	switch readyOf(n) {
	case corev1.ConditionTrue:
	case corev1.ConditionUnknown:
		wanted[corev1.TaintNodeUnreachable] = both
	default:
		wanted[corev1.TaintNodeNotReady] = both
	}
	if n.Spec.Unschedulable {
		wanted[corev1.TaintNodeUnschedulable] = both[:1]
	}
	ours := []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady, corev1.TaintNodeUnschedulable}
	var taints []corev1.Taint
	for _, t := range n.Spec.Taints {
		if !slices.Contains(ours, t.Key) {
			taints = append(taints, t)
			continue
		}
		if at := slices.Index(wanted[t.Key], t.Effect); at >= 0 {
			taints = append(taints, t)
			wanted[t.Key] = slices.Delete(slices.Clone(wanted[t.Key]), at, at+1)
		}
	}
	for _, key := range ours {
		for _, effect := range wanted[key] {
			t := corev1.Taint{Key: key, Effect: effect}
			if effect == corev1.TaintEffectNoExecute || key == corev1.TaintNodeUnschedulable {
				t.TimeAdded = &now
			}
			taints = append(taints, t)
		}
	}
	return taints
}

func sameTaints(a, b []corev1.Taint) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
}

func readyOf(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionFalse
}
