package spoke

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// register makes the kubelet's Node. One that is there already is taken over.
func (k *kubelet) register(ctx context.Context) error {
	now := k.spoke.clock.Now()
	node := k.spoke.nodeOf(k.machine, k.addresses(), k.spoke.stamp())
	_, err := k.api.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		k.logf("was registered before")
	case err != nil:
		return fmt.Errorf("cannot register its node: %w", err)
	default:
		k.logf("registers its node")
	}
	k.registered = now
	k.tell(false)
	return nil
}

func (k *kubelet) tell(ready bool) {
	if k.machine.Became != nil {
		k.machine.Became(ready)
	}
}

func (k *kubelet) addresses() []netip.Addr {
	if len(k.trouble.Addresses) > 0 {
		return k.trouble.Addresses
	}
	return k.machine.Addresses
}

func (k *kubelet) condition(now time.Time) corev1.NodeCondition {
	at := k.spoke.stamp()
	switch {
	case k.trouble.NeverReady != "":
		return ready(corev1.ConditionFalse, "KubeletNotReady", k.trouble.NeverReady, at)
	case now.Sub(k.registered) < networkTime:
		return ready(corev1.ConditionFalse, "KubeletNotReady", noNetwork, at)
	}
	return ready(corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status", at)
}

// report compares the Node with the machine as often as the kubelet renews its lease. It writes what differs, and
// from time to time an unchanged status. It does not make a deleted Node again before the next start.
func (k *kubelet) report(ctx context.Context) error {
	now, stamp := k.spoke.clock.Now(), k.spoke.stamp()
	is, addresses := k.condition(now), k.addresses()
	nowReady := is.Status == corev1.ConditionTrue
	if nowReady == k.isReady && slices.Equal(addresses, k.posted) && now.Sub(k.compared) < leaseEvery/2 {
		return nil
	}
	node, err := k.api.CoreV1().Nodes().Get(ctx, k.machine.nodeName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		k.miss()
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read its node: %w", err)
	}
	before := node.DeepCopy()
	status := k.spoke.statusOf(k.machine, addresses, stamp)
	status.NodeInfo.BootID = idOf(k.machine.UUID + k.started.String())
	status.Conditions = node.Status.Conditions
	for i := range status.Conditions {
		status.Conditions[i].LastHeartbeatTime = stamp
		k.recover(&status.Conditions[i], stamp)
	}
	changed := setReady(&status, is) || !slices.Equal(before.Status.Addresses, status.Addresses) ||
		before.Status.NodeInfo.BootID != status.NodeInfo.BootID ||
		before.Status.NodeInfo.KubeletVersion != status.NodeInfo.KubeletVersion
	if changed || now.Sub(k.reported) >= reportEvery {
		node.Status = status
		_, err = k.api.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		switch {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err): // the next step sees what has become of it
			return nil
		case err != nil:
			return fmt.Errorf("cannot report on its node: %w", err)
		}
		k.reported = now
	}
	if nowReady != k.isReady {
		k.logf("reports Ready %s", is.Status)
		k.tell(nowReady)
	}
	k.isReady, k.posted, k.compared, k.said = nowReady, addresses, now, ""
	return nil
}

// recover puts right a condition that went Unknown while the kubelet was silent.
func (k *kubelet) recover(c *corev1.NodeCondition, now metav1.Time) {
	if c.Status != corev1.ConditionUnknown || c.Type == corev1.NodeReady {
		return
	}
	for _, well := range k.spoke.statusOf(k.machine, nil, now).Conditions {
		if well.Type == c.Type {
			*c = well
		}
	}
}

func (k *kubelet) miss() {
	const gone = "does not find its node any more"
	if k.said != gone {
		k.said = gone
		k.logf("%s", gone)
	}
}

// renewLease shows that the kubelet runs. Without its Node it makes no lease.
func (k *kubelet) renewLease(ctx context.Context) error {
	now := k.spoke.clock.Now()
	if now.Sub(k.renewed) < leaseEvery/2 {
		return nil
	}
	renewed := metav1.NewMicroTime(now)
	if k.lease == nil {
		if err := k.findLease(ctx, renewed); err != nil || k.lease == nil {
			return err
		}
	}
	k.lease.Spec.RenewTime = &renewed
	lease, err := k.api.CoordinationV1().Leases(corev1.NamespaceNodeLease).Update(ctx, k.lease, metav1.UpdateOptions{})
	if err != nil {
		k.lease = nil // it was changed or deleted
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("cannot renew its lease: %w", err)
	}
	k.lease, k.renewed = lease, now
	return nil
}

// findLease takes the lease that is there, or makes one that goes with the Node.
func (k *kubelet) findLease(ctx context.Context, now metav1.MicroTime) error {
	leases, name := k.api.CoordinationV1().Leases(corev1.NamespaceNodeLease), k.machine.nodeName()
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		var node *corev1.Node
		if node, err = k.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return ignoreGone(err)
		}
		const seconds = int32(40)
		lease, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID},
			}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: new(name), LeaseDurationSeconds: new(seconds), RenewTime: &now},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("cannot get its lease: %w", err)
	}
	k.lease = lease
	return nil
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
