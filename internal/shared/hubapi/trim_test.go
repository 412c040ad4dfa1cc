package hubapi_test

import (
	"encoding/json"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/shared/must"
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
	packed := func(u *unstructured.Unstructured) *unstructured.Unstructured {
		u.Object["status"] = map[string]any{"inventory": `{"hostname":"h"}`}
		return u
	}
	checked := func(checks any) *unstructured.Unstructured {
		u := agent(nil)
		u.Object["status"] = map[string]any{"validationsInfo": checks}
		return u
	}
	var texts hubapi.Texts
	for name, test := range map[string]struct{ from, want *unstructured.Unstructured }{
		"bare": {agent(nil), packed(agent(nil))},
		"copies": {
			agent(map[string]any{hubapi.AnnotationAgentInventory: "{}", hubapi.AnnotationAgentValidations: "{}", hubapi.AnnotationAgentStage: "Done"}),
			packed(agent(map[string]any{hubapi.AnnotationAgentStage: "Done"})),
		},
		"owners": {agent(nil, entry("assisted-service", ""), entry("assisted-service", "status"), entry("oaictl", "")), packed(agent(nil, entry("assisted-service", ""), entry("oaictl", "")))},
		"checks": {
			checked(map[string]any{"network": []any{map[string]any{"id": "connected", "status": "success"}}}),
			checked(`{"network":[{"id":"connected","status":"success"}]}`),
		},
		"checks that are packed": {checked("{}"), checked("{}")},
		"hardware": {
			host(map[string]any{hubapi.AnnotationHardwareDetails: "{}", "a": "b"}, map[string]any{"hardware": map[string]any{"hostname": "h"}, "goodCredentials": map[string]any{}, "poweredOn": true}),
			host(map[string]any{"a": "b"}, map[string]any{"poweredOn": true}),
		},
		"another kind": {
			&unstructured.Unstructured{Object: map[string]any{"kind": "BareMetalHost", "apiVersion": "v1", "status": map[string]any{"hardware": "h"}}},
			&unstructured.Unstructured{Object: map[string]any{"kind": "BareMetalHost", "apiVersion": "v1", "status": map[string]any{"hardware": "h"}}},
		},
	} {
		texts.Trim(test.from)
		if diff := cmp.Diff(test.want, test.from); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestUnpack: what Trim has made a text of is read as it was.
func TestUnpack(t *testing.T) {
	const checks, inventory = `{"network":[{"id":"connected","status":"success","message":"a \"b\""}]}`, `{"hostname":"h","memory":{"physicalBytes":7}}`
	wantChecks := hubapi.Validations{"network": {{ID: "connected", Status: "success", Message: `a "b"`}}}
	wantInventory := agentinstall.HostInventory{Hostname: "h", Memory: agentinstall.HostMemory{PhysicalBytes: 7}}
	for _, packed := range []bool{false, true} {
		read := func(text string, into any) {
			t.Helper()
			data := []byte(text)
			if packed {
				data, _ = json.Marshal(text) // of a text it never fails
			}
			must.Do(t, json.Unmarshal(data, into), data)
		}
		var gotChecks hubapi.Validations
		var gotInventory agentinstall.HostInventory
		read(checks, &gotChecks)
		read(inventory, &gotInventory)
		if diff := cmp.Diff(wantChecks, gotChecks) + cmp.Diff(wantInventory, gotInventory); diff != "" {
			t.Errorf("packed is %v: %s", packed, diff)
		}
	}
	for _, bad := range []string{`"x"`, `[]`, `""`} {
		var checks hubapi.Validations
		var inventory agentinstall.HostInventory
		if json.Unmarshal([]byte(bad), &checks) == nil || json.Unmarshal([]byte(bad), &inventory) == nil {
			t.Errorf("%s: %v, %v", bad, checks, inventory)
		}
	}
}

// TestTextsAreKeptOnce: equal texts share memory for as long as objects come, also after a garbage collection.
func TestTextsAreKeptOnce(t *testing.T) {
	var texts hubapi.Texts
	copied := func() string { return strings.Clone("waiting for the host") }
	first := texts.Same(copied())
	goruntime.GC()
	if again := texts.Same(copied()); unsafe.StringData(first) != unsafe.StringData(again) {
		t.Error("there are two of one text")
	}
	trimmed := func() (name, message string) {
		u := &unstructured.Unstructured{Object: map[string]any{strings.Clone("status"): map[string]any{"conditions": []any{map[string]any{"message": copied()}}}}}
		texts.Trim(u)
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for name = range u.Object {
			return name, conditions[0].(map[string]any)["message"].(string)
		}
		return "", ""
	}
	name, message := trimmed()
	goruntime.GC()
	nameAgain, messageAgain := trimmed()
	if unsafe.StringData(name) != unsafe.StringData(nameAgain) || unsafe.StringData(message) != unsafe.StringData(messageAgain) || message != first {
		t.Error("two objects have texts of their own")
	}
	for i := range 10000 { // more than are kept in mind
		if text := texts.Same(strconv.Itoa(i)); text != strconv.Itoa(i) {
			t.Fatalf("%d is %q", i, text)
		}
	}
}
