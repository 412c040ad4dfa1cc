package pool_test

import (
	"testing"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// TestNotesAreThoseThatHubsAreReadBy: a client that reads a hub without Cluster API's kinds finds the labels and
// annotations that the provider writes.
func TestNotesAreThoseThatHubsAreReadBy(t *testing.T) {
	if agentv1.AgentMachineRefLabel != hubapi.LabelAgentMachine || agentv1.AgentMachineRefNamespaceAnnotation != hubapi.AnnotationAgentMachineNamespace {
		t.Error("the label and the annotation of a reserved Agent are others than those that are read")
	}
	if bootstrapv1.RoleLabel != hubapi.LabelRole {
		t.Error("the label of a Machine's role is another one than the one that is read")
	}
}
