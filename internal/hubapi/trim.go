package hubapi

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TrimAgent takes off an Agent that is to be kept in memory what is there twice: the copies of its
// inventory and its validations that the service keeps in annotations, and who has set which field of its
// status. On real machines that is more than half of it. What it leaves is no Agent to be written.
func TrimAgent(agent *unstructured.Unstructured) {
	for _, copied := range []string{AnnotationAgentInventory, AnnotationAgentValidations} {
		unstructured.RemoveNestedField(agent.Object, "metadata", "annotations", copied)
	}
	if entries := agent.GetManagedFields(); len(entries) > 0 {
		agent.SetManagedFields(slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" }))
	}
}
