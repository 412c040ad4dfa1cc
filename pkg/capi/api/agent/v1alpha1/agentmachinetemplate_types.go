package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AgentMachineTemplateSpec says what AgentMachines are made of the template.
type AgentMachineTemplateSpec struct {
	// template is what each AgentMachine is made of.
	Template AgentMachineTemplateResource `json:"template"`
}

// AgentMachineTemplateResource is what each AgentMachine is made of.
type AgentMachineTemplateResource struct {
	// spec of the AgentMachines.
	Spec AgentMachineSpec `json:"spec"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentmachinetemplates,shortName=agentmt,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion:warning="capi-provider.agent-install.openshift.io/v1alpha1 is deprecated, use v1beta2"

// AgentMachineTemplate is what the AgentMachines of a MachineDeployment or MachineSet are
// made of.
type AgentMachineTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what AgentMachines are made of the template.
	// +optional
	Spec AgentMachineTemplateSpec `json:"spec,omitempty"`
}

// +kubebuilder:object:root=true

// AgentMachineTemplateList is a list of templates.
type AgentMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentMachineTemplate `json:"items"`
}
