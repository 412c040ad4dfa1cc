package metal3

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// AnnotationBareMetalHost is what Metal3's provider of Cluster API records on a Metal3Machine: the NAMESPACE/NAME of
// its host.
const AnnotationBareMetalHost = "metal3.io/BareMetalHost"

// liveISO is the format of an image that is booted, and not written to disk.
const liveISO = "live-iso"

// IsLiveISO reports whether the image of a Metal3Machine is booted itself.
func IsLiveISO(machine *unstructured.Unstructured) bool {
	for _, field := range []string{"diskFormat", "format"} { // v1beta2, and v1beta1
		if format, _, _ := unstructured.NestedString(machine.Object, "spec", "image", field); format == liveISO {
			return true
		}
	}
	return false
}
