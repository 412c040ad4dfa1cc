package hubapi

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Trim takes off an object that is to be kept in memory what nobody reads there: of an Agent the copies of its
// inventory and its validations that the service keeps in annotations, and who has set which field of its status; of
// a BareMetalHost the hardware that an inspection has found. On real machines that is more than half of them. What
// it leaves is not to be written.
func Trim(u *unstructured.Unstructured) {
	switch u.GroupVersionKind() {
	case GroupVersionKind(KindAgent):
		remove(u, "metadata", "annotations", AnnotationAgentInventory)
		remove(u, "metadata", "annotations", AnnotationAgentValidations)
		if entries := u.GetManagedFields(); len(entries) > 0 {
			u.SetManagedFields(slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" }))
		}
	case GroupVersionKind(KindBareMetalHost):
		remove(u, "metadata", "annotations", AnnotationHardwareDetails)
		remove(u, "status", "hardware")
	}
}

func remove(u *unstructured.Unstructured, path ...string) {
	unstructured.RemoveNestedField(u.Object, path...)
}
