package spoke

import (
	"context"
	"slices"

	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// scaleSet has a MachineSet have as many Machines as it should: those that are marked for it
// are deleted first, and a new one waits for a host.
func (p *operators) scaleSet(ctx context.Context, w *snapshot, set *unstructured.Unstructured) error {
	if set.GetDeletionTimestamp() != nil {
		return nil
	}
	var mine []*unstructured.Unstructured
	for i := range w.machines {
		m := &w.machines[i]
		if m.GetNamespace() == set.GetNamespace() && m.GetLabels()[labelMachineSet] == set.GetName() && m.GetDeletionTimestamp() == nil {
			mine = append(mine, m)
		}
	}
	if _, byHosts := set.GetAnnotations()[scaleByHosts]; byHosts {
		if done, err := p.countHosts(ctx, w, set); err != nil || !done {
			return err
		}
	}
	wanted, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
	switch have := int64(len(mine)); {
	case have > wanted:
		slices.SortStableFunc(mine, func(a, b *unstructured.Unstructured) int { return rank(b) - rank(a) })
		for _, m := range mine[:have-wanted] {
			p.logf("MachineSet %s: deletes Machine %s", set.GetName(), m.GetName())
			if err := p.objectsOf(kindMachine, m.GetNamespace()).Delete(ctx, m.GetName(), metav1.DeleteOptions{}); err != nil {
				return ignoreRetriable(err, "delete Machine "+m.GetName())
			}
		}
	case have < wanted:
		return p.addMachine(ctx, set)
	}
	return p.countSet(ctx, set, mine)
}

// rank is how soon a Machine is deleted where its set has too many.
func rank(m *unstructured.Unstructured) int {
	const first, soon, late = 2, 1, 0
	if m.GetAnnotations()[deleteFirst] != "" {
		return first
	}
	if name := apiobject.Text(m, "status", "nodeRef", "name"); name == "" {
		return soon
	}
	return late
}

// countHosts sets a MachineSet's replicas to the number of hosts that its Machines use or that are free. It
// reports whether they were that already. It waits for a host whose Machine is gone.
func (p *operators) countHosts(ctx context.Context, w *snapshot, set *unstructured.Unstructured) (bool, error) {
	count := int64(0)
	for i := range w.hosts {
		name := apiobject.Text(&w.hosts[i], "spec", "consumerRef", "name")
		if name == "" {
			count++
			continue
		}
		at := slices.IndexFunc(w.machines, func(m unstructured.Unstructured) bool { return m.GetName() == name })
		if at < 0 {
			return true, nil
		}
		if w.machines[at].GetLabels()[labelMachineSet] == set.GetName() {
			count++
		}
	}
	if wanted, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas"); wanted == count {
		return true, nil
	}
	if err := unstructured.SetNestedField(set.Object, count, "spec", "replicas"); err != nil {
		return false, err
	}
	return false, p.write(ctx, kindMachineSet, set, "scale")
}

func (p *operators) addMachine(ctx context.Context, set *unstructured.Unstructured) error {
	labels, _, _ := unstructured.NestedStringMap(set.Object, "spec", "template", "metadata", "labels")
	spec, _, _ := unstructured.NestedMap(set.Object, "spec", "template", "spec")
	m := &unstructured.Unstructured{Object: fields{"apiVersion": kindMachine.apiVersion(), "kind": kindMachine.name, "spec": spec}}
	m.SetGenerateName(set.GetName() + "-")
	m.SetLabels(labels)
	m.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: kindMachineSet.apiVersion(), Kind: kindMachineSet.name, Name: set.GetName(), UID: set.GetUID(), Controller: new(true),
	}})
	made, err := p.objectsOf(kindMachine, set.GetNamespace()).Create(ctx, m, metav1.CreateOptions{})
	if err == nil {
		p.logf("MachineSet %s: makes Machine %s", set.GetName(), made.GetName())
	}
	return ignoreRetriable(err, "make a Machine for "+set.GetName())
}

func (p *operators) countSet(ctx context.Context, set *unstructured.Unstructured, mine []*unstructured.Unstructured) error {
	usable := int64(0)
	for _, m := range mine {
		if phase := apiobject.Text(m, "status", "phase"); phase == phaseRunning {
			usable++
		}
	}
	status := apiobject.Status(set)
	status["replicas"], status["readyReplicas"], status["availableReplicas"] = int64(len(mine)), usable, usable
	return p.report(ctx, kindMachineSet, set, status)
}
