package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
)

// AgentMachineSpec says which host a machine may be.
type AgentMachineSpec struct {
	// agentLabelSelector selects Agents by their labels. Default is any.
	// +optional
	AgentLabelSelector *metav1.LabelSelector `json:"agentLabelSelector,omitempty"`
	// providerID is agent://NAME, with the name of the Agent, once there is one.
	// +optional
	ProviderID *string `json:"providerID,omitempty"`
}

// AgentMachineStatus is what became of an AgentMachine.
type AgentMachineStatus struct {
	// ready says whether a host is reserved and bound, and its addresses and providerID are
	// known.
	// +optional
	Ready bool `json:"ready"`
	// agentRef is the Agent that the machine is.
	// +optional
	AgentRef *agentv1.AgentReference `json:"agentRef,omitempty"`
	// addresses of the host.
	// +optional
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`
	// failureReason is the word for why the machine could not be set up.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`
	// failureMessage is the sentence for why the machine could not be set up.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`
	// conditions of the AgentMachine.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentmachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Agent",type="string",JSONPath=".status.agentRef.name",description="Host that the machine is"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="Whether a host is bound"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the AgentMachine was made"

// AgentMachine is a machine that is taken from a pool of booted hosts, and returned to it.
type AgentMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which host the machine may be.
	// +optional
	Spec AgentMachineSpec `json:"spec,omitempty"`
	// status is what became of the AgentMachine.
	// +optional
	Status AgentMachineStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// AgentMachineList is a list of AgentMachines.
type AgentMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentMachine `json:"items"`
}
