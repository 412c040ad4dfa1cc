package spoke

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const releaseTime = time.Minute

// keepMachines is the Machine API, where the cluster has it: Machines find their nodes,
// MachineSets have as many as they should, and what is deleted is let go of in its order.
func (p *operators) keepMachines(ctx context.Context, w *snapshot) error {
	if !p.cluster.MachineAPI {
		return nil
	}
	for i := range w.sets {
		if err := p.scaleSet(ctx, w, &w.sets[i]); err != nil {
			return err
		}
	}
	for i := range w.machines {
		m := &w.machines[i]
		do := p.linkMachine
		if m.GetDeletionTimestamp() != nil {
			do = p.deleteMachine
		}
		if err := do(ctx, w, m); err != nil {
			return err
		}
	}
	for i := range w.hosts {
		if err := p.discoverHost(ctx, &w.hosts[i]); err != nil {
			return err
		}
		if err := p.releaseHost(ctx, w, &w.hosts[i]); err != nil {
			return err
		}
	}
	return nil
}

// functional reports whether the etcd operator goes by Machines: one of the control plane's runs.
func (p *operators) functional(w *snapshot) bool {
	return slices.ContainsFunc(w.machines, func(m unstructured.Unstructured) bool {
		phase := apiobject.Text(&m, "status", "phase")
		return m.GetLabels()[labelMachineRole] == master && phase == phaseRunning
	})
}

func (w *snapshot) machineAt(address string) *unstructured.Unstructured {
	for i := range w.machines {
		list, _, _ := unstructured.NestedSlice(w.machines[i].Object, "status", "addresses")
		for _, entry := range list {
			if a, ok := entry.(fields); ok && a["type"] == "InternalIP" && a["address"] == address {
				return &w.machines[i]
			}
		}
	}
	return nil
}

func hasQuorumHook(m *unstructured.Unstructured) bool {
	hooks, _, _ := unstructured.NestedSlice(m.Object, "spec", "lifecycleHooks", "preDrain")
	return slices.ContainsFunc(hooks, func(entry any) bool {
		hook, ok := entry.(fields)
		return ok && hook["name"] == quorumHook && hook["owner"] == quorumHookOwner
	})
}

// mayBeMember reports whether the etcd operator takes a control plane node: where it goes
// by Machines, one that has the node's address, is not being deleted, and has its hook.
func (p *operators) mayBeMember(w *snapshot, n *corev1.Node) bool {
	if !p.functional(w) {
		return true
	}
	m := w.machineAt(addressOf(n))
	return m != nil && m.GetDeletionTimestamp() == nil && hasQuorumHook(m)
}

// scaleDown removes members as the etcd operator does on a cluster with Machines: a member that does not run and has
// neither Machine nor Node, and, once enough others are there, a member whose Machine is being deleted. A healthy
// member stays while an unhealthy one keeps its Machine.
func (p *operators) scaleDown(w *snapshot, endpoints map[string]string) {
	if !p.functional(w) {
		return
	}
	wanted, healthy, stuck := len(p.cluster.members()), 0, false
	pending := func(m *unstructured.Unstructured) bool { return m != nil && m.GetDeletionTimestamp() != nil }
	for id, address := range endpoints {
		runs := p.memberRuns(w, p.etcd.names[id])
		if runs {
			healthy++
		}
		stuck = stuck || !runs && !pending(w.machineAt(address))
	}
	for _, id := range slices.Sorted(maps.Keys(endpoints)) {
		name, address := p.etcd.names[id], endpoints[id]
		m, runs := w.machineAt(address), p.memberRuns(w, name)
		gone := m == nil && w.node(name) == nil && !runs
		leaving := pending(m) && len(endpoints) >= wanted && healthy >= wanted/2+1 && (!runs || len(endpoints) > wanted && !stuck)
		if gone || leaving {
			delete(endpoints, id)
			p.logf("%s: is no etcd member any more", name)
			return // one at a time
		}
	}
}

// linkMachine has a Machine know its host's addresses and its node, and its node know it.
func (p *operators) linkMachine(ctx context.Context, w *snapshot, m *unstructured.Unstructured) error {
	changed := apiobject.AddFinalizer(m, machineFinalizer)
	if m.GetLabels()[labelMachineRole] == master && p.functional(w) && !hasQuorumHook(m) {
		hooks, _, _ := unstructured.NestedSlice(m.Object, "spec", "lifecycleHooks", "preDrain")
		hooks = append(hooks, fields{"name": quorumHook, "owner": quorumHookOwner})
		if err := unstructured.SetNestedSlice(m.Object, hooks, "spec", "lifecycleHooks", "preDrain"); err != nil {
			return err
		}
		changed = true
	}
	if changed {
		updated, err := p.objectsOf(kindMachine, m.GetNamespace()).Update(ctx, m, metav1.UpdateOptions{})
		if err != nil {
			return ignoreRetriable(err, "prepare Machine "+m.GetName())
		}
		*m = *updated
	}
	status := apiobject.Status(m)
	host := w.hostOf(m)
	if host != nil {
		nics, _, _ := unstructured.NestedSlice(host.Object, "status", "hardware", "nics")
		hostname := apiobject.Text(host, "status", "hardware", "hostname")
		status["addresses"] = machineAddresses(hostname, nics)
	}
	n := p.nodeAt(w, status["addresses"])
	phase, _ := status["phase"].(string)
	switch {
	case host == nil && (phase == phaseRunning || phase == phaseProvisioned):
		status["phase"] = phaseFailed
	case phase == phaseFailed:
	case n != nil:
		status["phase"] = phaseRunning
		status["nodeRef"] = fields{"kind": "Node", "name": n.Name, "uid": string(n.UID)}
	case host == nil:
		status["phase"] = phaseProvisioning
	case phase != phaseRunning:
		status["phase"] = phaseProvisioned
	}
	if err := p.report(ctx, kindMachine, m, status); err != nil {
		return err
	}
	if n == nil || n.Annotations[machineOfNode] != "" {
		return nil
	}
	return p.annotateNode(ctx, n.Name, map[string]string{machineOfNode: m.GetNamespace() + "/" + m.GetName()})
}

func (w *snapshot) hostOf(m *unstructured.Unstructured) *unstructured.Unstructured {
	namespace, name, _ := strings.Cut(m.GetAnnotations()[hostOfMachine], "/")
	i := slices.IndexFunc(w.hosts, func(h unstructured.Unstructured) bool { return h.GetNamespace() == namespace && h.GetName() == name })
	if i < 0 {
		return nil
	}
	return &w.hosts[i]
}

func (p *operators) nodeAt(w *snapshot, addresses any) *corev1.Node {
	list, _ := addresses.([]any)
	for i := range w.nodes {
		for _, entry := range list {
			if a, ok := entry.(fields); ok && a["type"] == "InternalIP" && a["address"] == addressOf(&w.nodes[i]) {
				return &w.nodes[i]
			}
		}
	}
	return nil
}

// deleteMachine lets go of a Machine: its quorum hook once its member is gone, its pods, its
// host, its node, and then itself.
func (p *operators) deleteMachine(ctx context.Context, w *snapshot, m *unstructured.Unstructured) error {
	if status := apiobject.Status(m); status["phase"] != phaseDeleting {
		status["phase"] = phaseDeleting
		return p.report(ctx, kindMachine, m, status)
	}
	_, undrained := m.GetAnnotations()[keepPods]
	name := apiobject.Text(m, "status", "nodeRef", "name")
	node := w.node(name)
	if node != nil && !undrained {
		if hasQuorumHook(m) {
			return p.dropHook(ctx, w, m)
		}
		if done, err := p.drain(ctx, w, node); err != nil || !done {
			return err
		}
	}
	if done, err := p.powerDown(ctx, w, m, name); err != nil || !done {
		return err
	}
	if node != nil {
		if err := p.core.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); ignoreGone(err) != nil {
			return ignoreRetriable(err, "delete node "+name)
		}
	}
	p.logf("Machine %s: is gone", m.GetName())
	apiobject.DropFinalizer(m, machineFinalizer)
	return p.write(ctx, kindMachine, m, "let go of")
}

// dropHook takes the quorum hook off a Machine that has no member any more.
func (p *operators) dropHook(ctx context.Context, w *snapshot, m *unstructured.Unstructured) error {
	endpoints, err := p.core.CoreV1().ConfigMaps(nsEtcd).Get(ctx, etcdEndpoints, metav1.GetOptions{})
	if err != nil {
		return ignoreRetriable(err, "read the members")
	}
	for _, address := range endpoints.Data {
		if of := w.machineAt(address); of != nil && of.GetUID() == m.GetUID() {
			return nil
		}
	}
	hooks, _, _ := unstructured.NestedSlice(m.Object, "spec", "lifecycleHooks", "preDrain")
	hooks = slices.DeleteFunc(hooks, func(entry any) bool { hook, ok := entry.(fields); return ok && hook["name"] == quorumHook })
	if err := unstructured.SetNestedSlice(m.Object, hooks, "spec", "lifecycleHooks", "preDrain"); err != nil {
		return err
	}
	return p.write(ctx, kindMachine, m, "take the hook off")
}

// drain cordons a node and evicts its pods. It reports whether only pods are left that may stay. It does not wait
// for the pods of a silent node, which has no kubelet to end them.
func (p *operators) drain(ctx context.Context, w *snapshot, n *corev1.Node) (bool, error) {
	if !n.Spec.Unschedulable {
		n.Spec.Unschedulable = true
		_, err := p.core.CoreV1().Nodes().Update(ctx, n, metav1.UpdateOptions{})
		return false, ignoreRetriable(err, "cordon node "+n.Name)
	}
	left := false
	for i := range w.pods {
		pod := &w.pods[i]
		owner := metav1.GetControllerOf(pod)
		if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; pod.Spec.NodeName != n.Name || static || owner != nil &&
			owner.Kind == "DaemonSet" {
			continue
		}
		if pod.DeletionTimestamp != nil {
			left = left || !w.silent[n.Name]
			continue
		}
		left = true
		if pod.Labels["app"] == "guard" && pod.Namespace == nsEtcd { // which the etcd operator takes off such nodes itself
			if err := p.core.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}); ignoreGone(err) != nil {
				return false, ignoreRetriable(err, "remove pod "+pod.Name)
			}
			continue
		}
		err := p.core.PolicyV1().Evictions(pod.Namespace).Evict(
			ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}},
		)
		if err != nil && !apierrors.IsTooManyRequests(err) {
			return false, ignoreRetriable(err, "evict pod "+pod.Name)
		}
	}
	return !left, nil
}

// powerDown has a Machine's host switched off and let go of, and reports whether that is
// done. Only one that has a BMC can be switched off.
func (p *operators) powerDown(ctx context.Context, w *snapshot, m *unstructured.Unstructured, node string) (bool, error) {
	host := w.hostOf(m)
	if host == nil {
		return true, nil
	}
	key := "Machine " + m.GetNamespace() + "/" + m.GetName()
	since, known := p.deleting[key]
	if !known {
		p.deleting[key] = w.now.Time
		return false, nil
	}
	if w.now.Sub(since) < releaseTime {
		return false, nil
	}
	consumer := apiobject.Text(host, "spec", "consumerRef", "name")
	if host.GetDeletionTimestamp() != nil || consumer != m.GetName() {
		delete(p.deleting, key)
		return true, nil
	}
	address := apiobject.Text(host, "spec", "bmc", "address")
	if n := p.cluster.installed(node); n != nil && address != "" {
		p.PowerOff(node)
	}
	spec, _ := host.Object["spec"].(fields)
	for _, name := range []string{"consumerRef", "customDeploy", "image", "userData"} {
		delete(spec, name)
	}
	spec["online"] = false
	if _, err := p.objectsOf(kindBareMetalHost, host.GetNamespace()).Update(ctx, host, metav1.UpdateOptions{}); err != nil {
		return false, ignoreRetriable(err, "release BareMetalHost "+host.GetName())
	}
	delete(p.deleting, key)
	return true, nil
}

// discoverHost writes that a new host without a BMC is unmanaged.
func (p *operators) discoverHost(ctx context.Context, host *unstructured.Unstructured) error {
	_, seen, _ := unstructured.NestedString(host.Object, "status", "provisioning", "state")
	address := apiobject.Text(host, "spec", "bmc", "address")
	if seen || address != "" || host.GetDeletionTimestamp() != nil {
		return nil
	}
	host.Object["status"] = fields{
		"errorCount": int64(0), "errorMessage": "", "operationalStatus": "discovered", "poweredOn": false,
		"provisioning": fields{"state": "unmanaged", "ID": "", "image": fields{"url": ""}},
	}
	updated, err := p.objectsOf(kindBareMetalHost, host.GetNamespace()).UpdateStatus(ctx, host, metav1.UpdateOptions{})
	if err == nil {
		*host = *updated
	}
	return ignoreRetriable(err, "report on BareMetalHost "+host.GetName())
}

func (p *operators) releaseHost(ctx context.Context, w *snapshot, host *unstructured.Unstructured) error {
	if host.GetDeletionTimestamp() == nil || !apiobject.HasFinalizer(host, hostFinalizer) {
		return nil
	}
	key := "BareMetalHost " + host.GetNamespace() + "/" + host.GetName()
	since, known := p.deleting[key]
	switch {
	case !known:
		p.deleting[key] = w.now.Time
		return nil
	case w.now.Sub(since) < releaseTime:
		return nil
	}
	delete(p.deleting, key)
	apiobject.DropFinalizer(host, hostFinalizer)
	return p.write(ctx, kindBareMetalHost, host, "let go of")
}
