package hub

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/hub/objects"
)

// power does for a BareMetalHost what the operator of bare metal does: it says
// that the machine is on and what it was booted with. The machines themselves
// boot as soon as there is an image, with an operator or without.
func (h *hub) power(ctx context.Context, host *objects.Object) error {
	status := statusOf(host)
	provisioning, _, _ := unstructured.NestedMap(host.Object, "status", "provisioning")
	if provisioning == nil {
		provisioning = map[string]any{"ID": ""}
	}
	online, _, _ := unstructured.NestedBool(host.Object, "spec", "online")
	image, booted, _ := unstructured.NestedMap(host.Object, "spec", "image")
	status["operationalStatus"], status["poweredOn"] = "OK", online
	status["errorCount"], status["errorMessage"] = int64(0), ""
	delete(provisioning, "image")
	switch {
	case booted:
		provisioning["state"], provisioning["image"] = "provisioned", map[string]any{"url": image["url"], "format": image["format"]}
	default:
		provisioning["state"] = "available"
	}
	if host.GetAnnotations()[hubapi.AnnotationBMHDetached] != "" {
		status["operationalStatus"] = "detached"
	}
	status["provisioning"] = provisioning
	return h.writeStatus(ctx, host, status)
}
