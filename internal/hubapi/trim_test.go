package hubapi_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
)

func TestTrim(t *testing.T) {
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
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent", "metadata": metadata, "status": map[string]any{"inventory": map[string]any{"hostname": "h"}}}}
	}
	host := func(annotations, status map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
			"metadata": map[string]any{"annotations": annotations, "managedFields": []any{entry("operator", "status")}}, "status": status,
		}}
	}
	for name, test := range map[string]struct{ from, want *unstructured.Unstructured }{
		"bare": {agent(nil), agent(nil)},
		"copies": {
			agent(map[string]any{hubapi.AnnotationAgentInventory: "{}", hubapi.AnnotationAgentValidations: "{}", hubapi.AnnotationAgentStage: "Done"}),
			agent(map[string]any{hubapi.AnnotationAgentStage: "Done"}),
		},
		"owners": {agent(nil, entry("assisted-service", ""), entry("assisted-service", "status"), entry("oaictl", "")), agent(nil, entry("assisted-service", ""), entry("oaictl", ""))},
		"hardware": {
			host(map[string]any{hubapi.AnnotationHardwareDetails: "{}", "a": "b"}, map[string]any{"hardware": map[string]any{"hostname": "h"}, "poweredOn": true}),
			host(map[string]any{"a": "b"}, map[string]any{"poweredOn": true}),
		},
		"another kind": {
			&unstructured.Unstructured{Object: map[string]any{"kind": "BareMetalHost", "apiVersion": "v1", "status": map[string]any{"hardware": "h"}}},
			&unstructured.Unstructured{Object: map[string]any{"kind": "BareMetalHost", "apiVersion": "v1", "status": map[string]any{"hardware": "h"}}},
		},
	} {
		hubapi.Trim(test.from)
		if diff := cmp.Diff(test.want, test.from); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
