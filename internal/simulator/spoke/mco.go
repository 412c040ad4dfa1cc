package spoke

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// What the machine config operator writes on nodes.
const (
	annotationPrefix  = "machineconfiguration.openshift.io/"
	annotationCurrent = annotationPrefix + "currentConfig"
	annotationDesired = annotationPrefix + "desiredConfig"
	annotationPivot   = annotationPrefix + "firstPivotConfig"
	annotationState   = annotationPrefix + "state"
	annotationReason  = annotationPrefix + "reason"

	stateDone     = "Done"
	stateWorking  = "Working"
	stateDegraded = "Degraded"
)

const (
	// daemonTime is from a node's registration until its machine config daemon runs.
	daemonTime = 40 * time.Second
	// changeTime is how long that takes to change a config: drain, write, reboot.
	changeTime = 6 * time.Minute
)

func configAnnotations(current, desired string) map[string]string {
	return map[string]string{annotationCurrent: current, annotationDesired: desired}
}

// annotate is what the machine config daemon does first on a new node: it copies there
// what the machine config server has written onto the disk.
func (k *kubelet) annotate(ctx context.Context) error {
	if k.annotated || k.spoke.clock.Now().Sub(k.registered) < daemonTime {
		return nil
	}
	node, err := k.api.CoreV1().Nodes().Get(ctx, k.machine.nodeName(), metav1.GetOptions{})
	if err != nil {
		return ignoreGone(err)
	}
	if node.Annotations[annotationCurrent] == "" {
		name := poolOf(k.machine)
		pool, err := k.spoke.objectsOf(kindPool, "").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("cannot find the config of pool %s: %w", name, err)
		}
		config := apiobject.Text(pool, "status", "configuration", "name")
		with := configAnnotations(config, config)
		with[annotationPivot], with[annotationState] = config, stateDone
		if err := k.spoke.annotateNode(ctx, node.Name, with); err != nil {
			return err
		}
		k.logf("is configured by %s", config)
	}
	k.annotated = true
	return nil
}

func (s *Spoke) annotateNode(ctx context.Context, name string, with map[string]string) error {
	patch, err := json.Marshal(fields{"metadata": fields{"annotations": with}})
	if err != nil {
		return err
	}
	_, err = s.core.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return ignoreRetriable(err, "annotate node "+name)
}

func (p *operators) configure(ctx context.Context, w *snapshot) error {
	members := map[string][]*corev1.Node{}
	for i := range w.nodes {
		if name := p.poolFor(w, &w.nodes[i]); name != "" {
			members[name] = append(members[name], &w.nodes[i])
		}
	}
	for i := range w.pools {
		pool := &w.pools[i]
		list := members[pool.GetName()]
		if err := p.roll(ctx, w, pool, list); err != nil {
			return err
		}
		if err := p.count(ctx, w, pool, list); err != nil {
			return err
		}
	}
	return nil
}

// poolFor is the pool that a node belongs to: the control plane's, else a custom one, else the workers'; "" for none.
func (p *operators) poolFor(w *snapshot, n *corev1.Node) string {
	var custom []string
	has := func(name string) bool { _, is := n.Labels[rolePrefix+name]; return is }
	for i := range w.pools {
		if name := w.pools[i].GetName(); name != master && name != worker && has(name) {
			custom = append(custom, name)
		}
	}
	switch {
	case has(master):
		return master
	case len(custom) == 1:
		return custom[0]
	case len(custom) > 1: // which the operator refuses
		return ""
	case has(worker):
		return worker
	}
	return ""
}

// roll changes the config of the pool's nodes, one at a time, unless the pool is paused.
func (p *operators) roll(ctx context.Context, w *snapshot, pool *unstructured.Unstructured, list []*corev1.Node) error {
	wanted := apiobject.Text(pool, "spec", "configuration", "name")
	paused := apiobject.Truth(pool, "spec", "paused")
	why := p.config.Trouble.DegradedPools[pool.GetName()]
	busy := false
	for _, n := range list {
		busy = busy || n.Annotations[annotationCurrent] != n.Annotations[annotationDesired]
	}
	for i, n := range list {
		a := n.Annotations
		var with map[string]string
		switch {
		case a[annotationCurrent] == "" || w.silent[n.Name]:
		case why != "" && i == 0:
			if a[annotationState] != stateDegraded {
				with = map[string]string{annotationState: stateDegraded, annotationReason: why}
			}
		case a[annotationCurrent] != a[annotationDesired]:
			with = p.change(w, n)
		case a[annotationDesired] != wanted && !paused && !busy:
			with, busy = map[string]string{annotationDesired: wanted}, true
		}
		if with == nil {
			continue
		}
		if err := p.annotateNode(ctx, n.Name, with); err != nil {
			return err
		}
	}
	return nil
}

// change is what the machine config daemon of a node that is to have another config writes next.
func (p *operators) change(w *snapshot, n *corev1.Node) map[string]string {
	since, begun := p.updating[n.Name]
	switch {
	case !begun:
		p.updating[n.Name] = w.now.Time
		p.logf("%s: changes its config", n.Name)
		return map[string]string{annotationState: stateWorking}
	case w.now.Sub(since) < p.atLeast(changeTime, seenTime):
		return nil
	}
	delete(p.updating, n.Name)
	p.runs(n.Name, n.Annotations[annotationDesired])
	return map[string]string{annotationCurrent: n.Annotations[annotationDesired], annotationState: stateDone, annotationReason: ""}
}

func (p *operators) count(ctx context.Context, w *snapshot, pool *unstructured.Unstructured, list []*corev1.Node) error {
	wanted := apiobject.Text(pool, "spec", "configuration", "name")
	paused := apiobject.Truth(pool, "spec", "paused")
	var updated, usable, unavailable int64
	var reasons []string
	for _, n := range list {
		a := n.Annotations
		done := a[annotationCurrent] == wanted && a[annotationDesired] == wanted && a[annotationState] == stateDone
		available := readyOf(n) == corev1.ConditionTrue && !n.Spec.Unschedulable && a[annotationState] == stateDone
		if done {
			updated++
		}
		if done && available {
			usable++
		}
		if !available {
			unavailable++
		}
		if a[annotationState] == stateDegraded {
			reasons = append(reasons, fmt.Sprintf("Node %s is reporting: %q", n.Name, a[annotationReason]))
		}
	}
	all := int64(len(list))
	status := apiobject.Status(pool)
	status["machineCount"], status["updatedMachineCount"], status["readyMachineCount"] = all, updated, usable
	status["unavailableMachineCount"], status["degradedMachineCount"] = unavailable, int64(len(reasons))
	status["observedGeneration"] = pool.GetGeneration()
	if updated == all && usable == all && unavailable == 0 {
		setCondition(status, w.now, "Updated", "True", "", "All nodes are updated with MachineConfig "+wanted)
		setCondition(status, w.now, "Updating", "False", "", "")
		status["configuration"], _, _ = unstructured.NestedMap(pool.Object, "spec", "configuration")
	} else {
		setCondition(status, w.now, "Updated", "False", "", "")
		if paused {
			setCondition(status, w.now, "Updating", "False", "", "Pool is paused; will not update to MachineConfig "+wanted)
		} else {
			setCondition(status, w.now, "Updating", "True", "", "All nodes are updating to MachineConfig "+wanted)
		}
	}
	degraded, nodeReason := "False", ""
	if len(reasons) > 0 {
		degraded, nodeReason = "True", fmt.Sprintf("%d nodes are reporting degraded status on sync", len(reasons))
	}
	setCondition(status, w.now, "NodeDegraded", degraded, nodeReason, strings.Join(reasons, ", "))
	setCondition(status, w.now, "Degraded", degraded, "", strings.Join(reasons, ", "))
	return p.report(ctx, kindPool, pool, status)
}

// setCondition puts a condition into a status, with the time of its last change.
func setCondition(status fields, at metav1.Time, kind, is, reason, message string) {
	next := condition(kind, is, reason, message, at)
	next["lastTransitionTime"] = at.UTC().Format(time.RFC3339)
	list, _ := status["conditions"].([]any)
	status["conditions"] = apiobject.SetCondition(list, next)
}
