package hub

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
)

// reconcileClassification labels the Agents of a namespace whose inventory a
// query matches, and counts them.
func (h *hub) reconcileClassification(ctx context.Context, k key) error {
	class := h.store.get(kindClassification, k.space, k.id)
	if class == nil {
		return nil
	}
	spec, err := readSpec[agentinstall.AgentClassificationSpec](class)
	if err != nil {
		return err
	}
	if class.GetDeletionTimestamp() != nil {
		return h.releaseClassification(ctx, class, hubapi.LabelClassificationPrefix+spec.LabelKey)
	}
	if addFinalizer(class, hubapi.FinalizerAgentClassification) {
		if class, err = h.store.update(ctx, kindClassification, class); err != nil {
			return err
		}
	}
	matched, failed := int64(0), int64(0)
	for _, agent := range h.store.list(kindAgent, k.space) {
		want := classify(&spec, agent)
		switch want {
		case spec.LabelValue:
			matched++
		case queryErrorPrefix + "-" + spec.LabelValue:
			failed++
		}
		if err := h.setClass(ctx, agent, &spec, want); err != nil {
			return err
		}
	}
	status := statusOf(class)
	delete(status, "matchedCount")
	delete(status, "errorCount")
	if matched > 0 {
		status["matchedCount"] = matched
	}
	problem := condition{hubapi.ConditionQueryErrors, no, "NoQueryErrors", "No errors encountered when applying the query"}
	if failed > 0 {
		status["errorCount"] = failed
		problem = condition{hubapi.ConditionQueryErrors, yes, "HasQueryErrors", fmt.Sprintf("%d Agents failed to apply the classification", failed)}
	}
	have, _, _ := unstructured.NestedSlice(class.Object, "status", "conditions")
	status["conditions"] = setConditions(have, []condition{problem}, h.clock.Now(), false)
	return h.writeStatus(ctx, kindClassification, class, status)
}

// classify gives the label that an Agent is to have; "" for none.
func classify(spec *agentinstall.AgentClassificationSpec, agent *object) string {
	inventory, found, _ := unstructured.NestedMap(agent.Object, "status", "inventory")
	if !found {
		return ""
	}
	broken := queryErrorPrefix + "-" + spec.LabelValue
	q, err := parseQuery(spec.Query)
	if err != nil {
		return broken
	}
	out, err := q(inventory)
	if err != nil || len(out) != 1 {
		return broken
	}
	verdict, ok := out[0].(bool)
	switch {
	case !ok:
		return broken
	case verdict:
		return spec.LabelValue
	}
	return ""
}

// setClass gives an Agent its label, or takes away one that is this
// classification's own.
func (h *hub) setClass(ctx context.Context, agent *object, spec *agentinstall.AgentClassificationSpec, want string) error {
	name := hubapi.LabelClassificationPrefix + spec.LabelKey
	labels := agent.GetLabels()
	have, there := labels[name]
	own := have == spec.LabelValue || have == queryErrorPrefix+"-"+spec.LabelValue
	switch {
	case have == want || want == "" && !own || agent.GetDeletionTimestamp() != nil:
		return nil
	case want == "" && there:
		delete(labels, name)
	default:
		labels, _ = setMark(labels, name, want)
	}
	agent.SetLabels(labels)
	_, err := h.store.update(ctx, kindAgent, agent)
	return err
}

// releaseClassification lets go once no Agent has the label any more; it takes
// the labels away itself.
func (h *hub) releaseClassification(ctx context.Context, class *object, name string) error {
	for _, agent := range h.store.list(kindAgent, class.GetNamespace()) {
		labels := agent.GetLabels()
		if _, there := labels[name]; !there {
			continue
		}
		delete(labels, name)
		agent.SetLabels(labels)
		if _, err := h.store.update(ctx, kindAgent, agent); err != nil {
			return err
		}
	}
	if !dropFinalizer(class, hubapi.FinalizerAgentClassification) {
		return nil
	}
	_, err := h.store.update(ctx, kindClassification, class)
	return err
}
