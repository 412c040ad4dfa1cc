package controlplane

import (
	"context"
	"errors"
	"strings"
	"testing"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// TestTemplatesThatAreNotRead: a template of a kind that is no infrastructure is not read. No Machine is made of it, and the
// conditions say which field names it, with Machines and without.
func TestTemplatesThatAreNotRead(t *testing.T) {
	s, _ := observed()
	s.client = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("it was read")
		},
	})
	s.plane.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "OpenshiftAssistedConfigTemplate", Name: "x",
	}
	const says = "spec.machineTemplate.spec.infrastructureRef: OpenshiftAssistedConfigTemplate of the API group bootstrap.cluster.x-k8s.io is not read"
	reason, err := s.machineMaker().makeMachine(t.Context(), "m", nil)
	if reason != controlplanev1.InfrastructureTemplateCloningFailedReason || err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("a Machine is made: %s, %v", reason, err)
	}
	if template, err := s.machineMaker().template(t.Context(), "x"); template != nil || err != nil {
		t.Errorf("the template is %v, %v", template, err)
	}
	s.kept = &machinesSummary{noTemplate: true}
	if text := s.statusReport().missingTemplate(); !strings.Contains(text, says) {
		t.Errorf("it says %q", text)
	}
}
