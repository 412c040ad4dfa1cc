package spoke

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// How long it takes the etcd operator to make a member of a control plane node that is ready:
// until it is added, and from then on until it runs.
const (
	addTime   = time.Minute
	startTime = 2 * time.Minute
	seenTime  = time.Second // real time: as long a passing state can be seen
)

// etcdMemory is what is known of members beyond the API server.
type etcdMemory struct {
	names   map[string]string    // by member, its node
	ready   map[string]time.Time // by node that is no member yet, since when it could be
	wasDead map[string]bool      // by a node that is gone: whether it had been silent
	settled sighting             // what was last written of members and nodes, and when
}

// resync is how often the operators check what only a person changes.
const (
	resync     = time.Minute
	resyncSoon = time.Second // real time
)

func newEtcdMemory(s *Spoke) etcdMemory {
	m := etcdMemory{names: map[string]string{}, ready: map[string]time.Time{}, wasDead: map[string]bool{}}
	for _, n := range s.cluster.members() {
		m.names[memberID(n.Name)] = n.Name
	}
	return m
}

// RemoveMember takes the member of a node out of etcd, as a person does with etcdctl, and
// reports whether there was one. Where its node runs, the operator makes it a member again.
func (s *Spoke) RemoveMember(ctx context.Context, node string) (bool, error) {
	for {
		endpoints, err := s.core.CoreV1().ConfigMaps(nsEtcd).Get(ctx, etcdEndpoints, metav1.GetOptions{})
		if err != nil {
			return false, fmt.Errorf("remove the etcd member of %s: %w", node, err)
		}
		if _, is := endpoints.Data[memberID(node)]; !is {
			return false, nil
		}
		delete(endpoints.Data, memberID(node))
		_, err = s.core.CoreV1().ConfigMaps(nsEtcd).Update(ctx, endpoints, metav1.UpdateOptions{})
		if err == nil {
			s.logf("%s: is no etcd member any more", node)
			return true, nil
		}
		if !apierrors.IsConflict(err) {
			return false, fmt.Errorf("remove the etcd member of %s: %w", node, err)
		}
	}
}

// keepEtcd is the etcd operator: members for control plane nodes, their certificates, what
// is said of their health, and the guards of the quorum.
func (p *operators) keepEtcd(ctx context.Context, w *snapshot) error {
	endpoints, err := p.core.CoreV1().ConfigMaps(nsEtcd).Get(ctx, etcdEndpoints, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the members: %w", err)
	}
	if endpoints.Data == nil {
		endpoints.Data = map[string]string{}
	}
	before := maps.Clone(endpoints.Data)
	m := p.scaleUp(w, endpoints.Data)
	p.scaleDown(w, endpoints.Data)
	if !maps.Equal(before, endpoints.Data) {
		if _, err := p.core.CoreV1().ConfigMaps(nsEtcd).Update(ctx, endpoints, metav1.UpdateOptions{}); err != nil {
			return ignoreRetriable(err, "write the members")
		}
	}
	m.all += len(endpoints.Data)
	for _, id := range slices.Sorted(maps.Keys(endpoints.Data)) {
		if name := p.etcd.names[id]; !p.memberRuns(w, name) {
			m.unhealthy = append(m.unhealthy, name)
		}
	}
	slices.Sort(m.unhealthy)
	if err := p.settleEtcd(ctx, w, m); err != nil {
		return err
	}
	return p.keepEtcdPods(ctx, w, endpoints.Data)
}

// settleEtcd keeps certificates, the guards' budget and the reports, when members or nodes
// have changed, and now and then.
func (p *operators) settleEtcd(ctx context.Context, w *snapshot, m etcdMembers) error {
	list := controlPlaneOf(w)
	what := m.text()
	for _, n := range list {
		what += " " + n.Name
	}
	if what == p.etcd.settled.what && w.now.Sub(p.etcd.settled.at) < p.atLeast(resync, resyncSoon) {
		return nil
	}
	for _, n := range list {
		if err := p.setUpMember(ctx, n.Name); err != nil {
			return err
		}
	}
	if err := p.keepBudget(ctx, len(list)); err != nil {
		return err
	}
	if err := p.reportEtcd(ctx, w, m); err != nil {
		return err
	}
	p.etcd.settled = sighting{what, w.now.Time}
	return nil
}

// controlPlaneOf are the nodes of the control plane, arbiters among them.
func controlPlaneOf(w *snapshot) []*corev1.Node {
	var list []*corev1.Node
	for i := range w.nodes {
		_, controlPlane := w.nodes[i].Labels[rolePrefix+master]
		if _, arbiter := w.nodes[i].Labels[rolePrefix+RoleArbiter]; controlPlane || arbiter {
			list = append(list, &w.nodes[i])
		}
	}
	return list
}

// scaleUp makes members of control plane nodes that are ready, one after the other, and
// gives those that were added and do not run yet.
func (p *operators) scaleUp(w *snapshot, endpoints map[string]string) etcdMembers {
	var m etcdMembers
	for _, n := range controlPlaneOf(w) {
		id := memberID(n.Name)
		p.etcd.names[id] = n.Name
		p.etcd.wasDead[n.Name] = w.silent[n.Name]
		_, is := endpoints[id]
		if is || readyOf(n) != corev1.ConditionTrue || !p.mayBeMember(w, n) {
			delete(p.etcd.ready, n.Name)
			continue
		}
		since, known := p.etcd.ready[n.Name]
		switch {
		case !known:
			p.etcd.ready[n.Name] = w.now.Time
		case w.now.Sub(since) < addTime || len(m.unstarted) > 0:
		case w.now.Sub(since) < addTime+p.atLeast(startTime, seenTime):
			m.all++
			m.unstarted = append(m.unstarted, addressOf(n))
		default:
			endpoints[id] = addressOf(n)
			delete(p.etcd.ready, n.Name)
			p.logf("%s: is an etcd member", n.Name)
		}
	}
	return m
}

func addressOf(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

// memberRuns reports whether the machine of a node runs its member, with a Node or without.
func (p *operators) memberRuns(w *snapshot, name string) bool {
	if w.node(name) != nil {
		return !w.silent[name]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.cluster.installed(name); n != nil && p.running[name] == 0 {
		return !p.silent[name] && !p.etcd.wasDead[name]
	}
	return p.running[name] > 0
}

func (p *operators) reportEtcd(ctx context.Context, w *snapshot, m etcdMembers) error {
	etcd, err := p.objectsOf(kindEtcd, "").Get(ctx, "cluster", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read Etcd cluster: %w", err)
	}
	conditions := etcdConditions(m, w.now)
	if err := p.conditions(ctx, kindEtcd, etcd, w.now, conditions); err != nil {
		return err
	}
	operator, err := p.objectsOf(kindClusterOperator, "").Get(ctx, "etcd", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read ClusterOperator etcd: %w", err)
	}
	if _, degraded := p.config.Trouble.DegradedOperators["etcd"]; degraded {
		return nil
	}
	is := condition("Degraded", "False", "AsExpected", "All is well", w.now)
	if len(m.unhealthy) > 0 {
		is = condition("Degraded", "True", "EtcdMembers_UnhealthyMembers", "EtcdMembersDegraded: "+m.text(), w.now)
	}
	available := condition("Available", "True", "AsExpected", "EtcdMembersAvailable: "+m.text(), w.now)
	if c := conditions[2].(fields); c["status"] == "False" {
		available = condition("Available", "False", "EtcdMembers_NoQuorum", "EtcdMembersAvailable: "+m.text(), w.now)
	}
	return p.conditions(ctx, kindClusterOperator, operator, w.now, []any{is, available})
}

func (p *operators) conditions(ctx context.Context, k kind, u *unstructured.Unstructured, at metav1.Time, list []any) error {
	status := apiobject.Status(u)
	for _, entry := range list {
		c := entry.(fields)
		reason, _ := c["reason"].(string)
		message, _ := c["message"].(string)
		setCondition(status, at, c["type"].(string), c["status"].(string), reason, message)
	}
	return p.report(ctx, k, u, status)
}
