package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/simulator/apiobject"
	"github.com/oaictl/oaictl/internal/simulator/hub/condition"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
	"github.com/oaictl/oaictl/internal/simulator/hub/webhook"
)

func (h *hub) reconcileClassification(ctx context.Context, k key) error {
	class := h.store.get(hubapi.KindAgentClassification, k.space, k.id)
	if class == nil {
		return nil
	}
	spec, err := objects.Spec[agentinstall.AgentClassificationSpec](class)
	if err != nil {
		return err
	}
	deleting := class.GetDeletionTimestamp() != nil
	if !deleting && apiobject.AddFinalizer(class, hubapi.FinalizerAgentClassification) {
		if err := h.store.update(ctx, class); err != nil {
			return err
		}
	}
	agents := h.store.list(hubapi.KindAgent, k.space)
	for _, agent := range agents {
		if !classify(ctx, agent, &spec, deleting) {
			continue
		}
		if err := h.store.update(ctx, agent); err != nil {
			return err
		}
	}
	if deleting {
		return h.store.change(ctx, class, func() { apiobject.DropFinalizer(class, hubapi.FinalizerAgentClassification) })
	}
	status := apiobject.Status(class)
	delete(status, "matchedCount")
	delete(status, "errorCount")
	matched, failed := countClassified(agents, &spec)
	if matched > 0 {
		status["matchedCount"] = matched
	}
	problem := condition.Condition{Type: hubapi.ConditionQueryErrors, Status: condition.False, Reason: "NoQueryErrors",
		Message: "No Agents failed to apply the classification"}
	if failed > 0 {
		status["errorCount"] = failed
		problem = condition.Condition{Type: hubapi.ConditionQueryErrors, Status: condition.True, Reason: "HasQueryErrors",
			Message: fmt.Sprintf("%d Agents failed to apply the classification", failed)}
	}
	h.setConditions(status, false, problem)
	return h.writeStatus(ctx, class, status)
}

func classify(ctx context.Context, agent *apiobject.Object, spec *agentinstall.AgentClassificationSpec, deleting bool) bool {
	name, failed := hubapi.LabelClassificationPrefix+spec.LabelKey, webhook.QueryErrorPrefix+"-"+spec.LabelValue
	matches, err := false, error(nil)
	if !deleting {
		inventory, _, _ := unstructured.NestedMap(agent.Object, "status", "inventory")
		matches, err = queryMatches(ctx, spec.Query, inventory)
	}
	before := agent.GetLabels()
	after := maps.Clone(before)
	switch have, there := before[name]; {
	case err != nil:
		after = labels.Merge(before, labels.Set{name: failed})
	case matches:
		after = labels.Merge(before, labels.Set{name: spec.LabelValue})
	case there && (have == spec.LabelValue || have == failed):
		delete(after, name)
	}
	agent.SetLabels(after)
	return !maps.Equal(before, after)
}

func queryMatches(ctx context.Context, text string, inventory map[string]any) (bool, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return false, fmt.Errorf("parsing the query %q: %w", text, err)
	}
	var input map[string]any // with the types of numbers that gojq takes
	data, err := json.Marshal(inventory)
	if err == nil {
		err = json.Unmarshal(data, &input)
	}
	if err != nil {
		return false, fmt.Errorf("reading the inventory: %w", err)
	}
	answers := query.RunWithContext(ctx, input)
	answer, some := answers.Next()
	if !some {
		return false, errors.New("the query gives no value")
	}
	if err, failed := answer.(error); failed {
		return false, fmt.Errorf("running the query %q: %w", text, err)
	}
	if _, more := answers.Next(); more {
		return false, errors.New("the query gives more than one value")
	}
	return answer == true, nil
}

func countClassified(agents []*apiobject.Object, spec *agentinstall.AgentClassificationSpec) (matched, failed int64) {
	for _, agent := range agents {
		label, there := agent.GetLabels()[hubapi.LabelClassificationPrefix+spec.LabelKey]
		switch {
		case there && label == spec.LabelValue:
			matched++
		case strings.HasPrefix(label, webhook.QueryErrorPrefix):
			failed++
		}
	}
	return matched, failed
}
