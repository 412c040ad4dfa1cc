package hubapi

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Trim makes an object smaller that is to be kept in memory. It removes what is not read there: of an Agent the copies
// of its inventory and its validations that the service keeps in annotations, and the managed fields of its status; of
// a BareMetalHost the hardware that an inspection has found, its history and its credentials. On real machines that is
// more than half of them. The inventory and the validations of an Agent, which are hundreds of small maps, become
// texts, which their types read as well; the names of fields, and what conditions say, are kept once for all objects.
// The result must not be written to the API server.
func (t *Texts) Trim(u *unstructured.Unstructured) {
	switch u.GroupVersionKind() {
	case GroupVersionKind(KindAgent):
		remove(u, "metadata", "annotations", AnnotationAgentInventory)
		remove(u, "metadata", "annotations", AnnotationAgentValidations)
		if entries := u.GetManagedFields(); len(entries) > 0 {
			u.SetManagedFields(slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" }))
		}
		pack(u, "inventory")
		pack(u, "validationsInfo")
	case GroupVersionKind(KindBareMetalHost):
		remove(u, "metadata", "annotations", AnnotationHardwareDetails)
		for _, field := range []string{"hardware", "operationHistory", "goodCredentials", "triedCredentials"} {
			remove(u, "status", field)
		}
	}
	t.share(u.Object, false)
}

// share makes the names of fields below a value share memory with those of other objects, and the texts below
// conditions as well. It returns the new value.
func (t *Texts) share(value any, texts bool) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			v[t.Same(key)] = t.share(inner, texts || key == "conditions") // which also takes the place of the name
		}
	case []any:
		for i := range v {
			v[i] = t.share(v[i], texts)
		}
	case string:
		if texts {
			return t.value(v)
		}
	}
	return value
}

// pack makes a text of an object below an Agent's status.
func pack(u *unstructured.Unstructured, field string) {
	status, _ := u.Object["status"].(map[string]any)
	fields, is := status[field].(map[string]any)
	if !is {
		return
	}
	if text, err := json.Marshal(fields); err == nil { // which it was before
		status[field] = string(text)
	}
}

// Unpack reads JSON into a value, which may be a text that Trim has made of it.
func Unpack(data []byte, into any) error {
	var text string
	if json.Unmarshal(data, &text) == nil && text != "" {
		data = []byte(text)
	}
	return json.Unmarshal(data, into)
}

func remove(u *unstructured.Unstructured, path ...string) {
	unstructured.RemoveNestedField(u.Object, path...)
}
