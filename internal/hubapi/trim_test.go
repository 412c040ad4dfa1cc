package hubapi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
)

func TestTrimAgent(t *testing.T) {
	entry := func(manager, subresource string) any {
		e := map[string]any{"manager": manager, "operation": "Update"}
		if subresource != "" {
			e["subresource"] = subresource
		}
		return e
	}
	agent := func(annotations map[string]any, entries ...any) *unstructured.Unstructured {
		metadata := map[string]any{"name": "a"}
		if annotations != nil {
			metadata["annotations"] = annotations
		}
		if len(entries) > 0 {
			metadata["managedFields"] = entries
		}
		return &unstructured.Unstructured{Object: map[string]any{"metadata": metadata, "status": map[string]any{"inventory": map[string]any{"hostname": "h"}}}}
	}
	for name, test := range map[string]struct{ from, want *unstructured.Unstructured }{
		"bare": {agent(nil), agent(nil)},
		"copies": {
			agent(map[string]any{hubapi.AnnotationAgentInventory: "{}", hubapi.AnnotationAgentValidations: "{}", hubapi.AnnotationAgentStage: "Done"}),
			agent(map[string]any{hubapi.AnnotationAgentStage: "Done"}),
		},
		"owners": {agent(nil, entry("assisted-service", ""), entry("assisted-service", "status"), entry("oaictl", "")), agent(nil, entry("assisted-service", ""), entry("oaictl", ""))},
	} {
		hubapi.TrimAgent(test.from)
		if diff := cmp.Diff(test.want, test.from); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
