package convert

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	webhookconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/oaictl/oaictl/pkg/capi/api/agent/v1alpha1"
	"github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta1"
	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
)

// AgentCluster converts AgentClusters.
func AgentCluster() Constructor {
	return webhookconversion.NewHubSpokeConverter(&agentv1.AgentCluster{}, agentClusters()...)
}

func agentClusters() []webhookconversion.SpokeConverter[*agentv1.AgentCluster] {
	hub := agentv1.GroupVersion()
	return []webhookconversion.SpokeConverter[*agentv1.AgentCluster]{
		newConverter(hub, agentClusterFromV1Beta1, agentClusterToV1Beta1),
		newConverter(hub,
			func(spoke *v1alpha1.AgentCluster, hub *agentv1.AgentCluster) error {
				return agentClusterFromV1Beta1((*v1beta1.AgentCluster)(spoke), hub)
			},
			func(hub *agentv1.AgentCluster, spoke *v1alpha1.AgentCluster) error {
				return agentClusterToV1Beta1(hub, (*v1beta1.AgentCluster)(spoke))
			}),
	}
}

// AgentMachine converts AgentMachines.
func AgentMachine() Constructor {
	return webhookconversion.NewHubSpokeConverter(&agentv1.AgentMachine{}, agentMachines()...)
}

func agentMachines() []webhookconversion.SpokeConverter[*agentv1.AgentMachine] {
	hub := agentv1.GroupVersion()
	return []webhookconversion.SpokeConverter[*agentv1.AgentMachine]{
		newConverter(hub, agentMachineFromV1Beta1, agentMachineToV1Beta1),
		newConverter(hub,
			func(spoke *v1alpha1.AgentMachine, hub *agentv1.AgentMachine) error {
				return agentMachineFromV1Beta1((*v1beta1.AgentMachine)(spoke), hub)
			},
			func(hub *agentv1.AgentMachine, spoke *v1alpha1.AgentMachine) error {
				return agentMachineToV1Beta1(hub, (*v1beta1.AgentMachine)(spoke))
			}),
	}
}

// AgentMachineTemplate converts AgentMachineTemplates.
func AgentMachineTemplate() Constructor {
	return webhookconversion.NewHubSpokeConverter(&agentv1.AgentMachineTemplate{}, agentMachineTemplates()...)
}

func agentMachineTemplates() []webhookconversion.SpokeConverter[*agentv1.AgentMachineTemplate] {
	hub := agentv1.GroupVersion()
	return []webhookconversion.SpokeConverter[*agentv1.AgentMachineTemplate]{
		newConverter(hub, agentMachineTemplateFromV1Beta1, agentMachineTemplateToV1Beta1),
		newConverter(hub,
			func(spoke *v1alpha1.AgentMachineTemplate, hub *agentv1.AgentMachineTemplate) error {
				return agentMachineTemplateFromV1Beta1((*v1beta1.AgentMachineTemplate)(spoke), hub)
			},
			func(hub *agentv1.AgentMachineTemplate, spoke *v1alpha1.AgentMachineTemplate) error {
				return agentMachineTemplateToV1Beta1(hub, (*v1beta1.AgentMachineTemplate)(spoke))
			}),
	}
}

func agentClusterFromV1Beta1(spoke *v1beta1.AgentCluster, hub *agentv1.AgentCluster) error {
	hub.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint(spoke.Spec.ControlPlaneEndpoint)
	hub.Spec.IgnitionEndpoint = (*agentv1.IgnitionEndpoint)(spoke.Spec.IgnitionEndpoint)
	hub.Status = agentv1.AgentClusterStatus{
		Initialization:       agentv1.AgentClusterInitializationStatus{Provisioned: flag(spoke.Status.Ready)},
		ClusterDeploymentRef: spoke.Status.ClusterDeploymentRef,
		Conditions:           spoke.Status.Conditions,
		FailureDomains:       spoke.Status.FailureDomains,
	}
	return nil
}

func agentClusterToV1Beta1(hub *agentv1.AgentCluster, spoke *v1beta1.AgentCluster) error {
	spoke.Spec.ControlPlaneEndpoint = v1beta1.APIEndpoint(hub.Spec.ControlPlaneEndpoint)
	spoke.Spec.IgnitionEndpoint = (*v1beta1.IgnitionEndpoint)(hub.Spec.IgnitionEndpoint)
	spoke.Status = v1beta1.AgentClusterStatus{
		Ready:                given(hub.Status.Initialization.Provisioned),
		ClusterDeploymentRef: hub.Status.ClusterDeploymentRef,
		Conditions:           hub.Status.Conditions,
		FailureDomains:       hub.Status.FailureDomains,
	}
	return nil
}

func agentMachineFromV1Beta1(spoke *v1beta1.AgentMachine, hub *agentv1.AgentMachine) error {
	hub.Spec = machineSpecFromV1Beta1(spoke.Spec)
	hub.Status = agentv1.AgentMachineStatus{
		Initialization: agentv1.AgentMachineInitializationStatus{Provisioned: flag(spoke.Status.Ready)},
		AgentRef:       spoke.Status.AgentRef,
		Addresses:      spoke.Status.Addresses,
		Conditions:     spoke.Status.Conditions,
	}
	if spoke.Status.FailureReason != nil || spoke.Status.FailureMessage != nil {
		hub.Status.Deprecated = &agentv1.AgentMachineDeprecatedStatus{V1Beta1: &agentv1.AgentMachineV1Beta1DeprecatedStatus{
			FailureReason: spoke.Status.FailureReason, FailureMessage: spoke.Status.FailureMessage,
		}}
	}
	return nil
}

func agentMachineToV1Beta1(hub *agentv1.AgentMachine, spoke *v1beta1.AgentMachine) error {
	spoke.Spec = machineSpecToV1Beta1(hub.Spec)
	spoke.Status = v1beta1.AgentMachineStatus{
		Ready:      given(hub.Status.Initialization.Provisioned),
		AgentRef:   hub.Status.AgentRef,
		Addresses:  hub.Status.Addresses,
		Conditions: hub.Status.Conditions,
	}
	if old := hub.Status.Deprecated; old != nil && old.V1Beta1 != nil {
		spoke.Status.FailureReason, spoke.Status.FailureMessage = old.V1Beta1.FailureReason, old.V1Beta1.FailureMessage
	}
	return nil
}

func agentMachineTemplateFromV1Beta1(spoke *v1beta1.AgentMachineTemplate, hub *agentv1.AgentMachineTemplate) error {
	hub.Spec.Template.Spec = machineSpecFromV1Beta1(spoke.Spec.Template.Spec)
	return nil
}

func agentMachineTemplateToV1Beta1(hub *agentv1.AgentMachineTemplate, spoke *v1beta1.AgentMachineTemplate) error {
	spoke.Spec.Template.Spec = machineSpecToV1Beta1(hub.Spec.Template.Spec)
	return nil
}

func machineSpecFromV1Beta1(spec v1beta1.AgentMachineSpec) agentv1.AgentMachineSpec {
	return agentv1.AgentMachineSpec{AgentLabelSelector: spec.AgentLabelSelector, ProviderID: valueOf(spec.ProviderID)}
}

func machineSpecToV1Beta1(spec agentv1.AgentMachineSpec) v1beta1.AgentMachineSpec {
	return v1beta1.AgentMachineSpec{AgentLabelSelector: spec.AgentLabelSelector, ProviderID: pointerTo(spec.ProviderID)}
}
