package hub

import (
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
)

// TestObjects: the conditions of a cluster's objects are read as they are, and those of others
// are left out.
func TestObjects(t *testing.T) {
	image := object("metal3.io/v1alpha1", "PreprovisioningImage", "lab", "cp-0", map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Error", "status": "True", "reason": "ArchMismatch", "message": "no such arch"},
	}}})
	p, at := filledPlane(t, "lab", image)
	env := object("agent-install.openshift.io/v1beta1", "InfraEnv", "lab", "lab", map[string]any{
		"spec":   map[string]any{"clusterRef": map[string]any{"namespace": "lab", "name": "lab"}},
		"status": map[string]any{"bootArtifacts": map[string]any{"ipxeScript": "http://images.example.com/ipxe"}},
	})
	host := object("metal3.io/v1alpha1", "BareMetalHost", "lab", "cp-0", nil)
	host.SetLabels(map[string]string{hubapi.LabelCluster: "lab"})
	put(t, at, env, host, object("metal3.io/v1alpha1", "BareMetalHost", "lab", "other", nil), agentWith(conditionOf("SpecSynced", "False", "InputError")))
	got := must.Get(p.Objects(t.Context(), "lab/lab"))(t)
	for i := range got {
		for j := range got[i].Conditions {
			got[i].Conditions[j].Since = time.Time{} // which is now
		}
	}
	want := []install.Object{
		{Kind: "InfraEnv", Name: "lab", IPXE: "http://images.example.com/ipxe"},
		{Kind: "Agent", Name: "00000000-0000-0000-0000-000000000000", Conditions: []install.ObjectCondition{{Type: "SpecSynced", Status: "False", Reason: "InputError", Message: "InputError"}}},
		{Kind: "BareMetalHost", Name: "cp-0"},
		{Kind: "PreprovisioningImage", Name: "cp-0", Conditions: []install.ObjectCondition{{Type: "Error", Status: "True", Reason: "ArchMismatch", Message: "no such arch"}}},
	}
	check.Same(t, want, got)
}
