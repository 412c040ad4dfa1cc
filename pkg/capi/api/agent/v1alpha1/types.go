package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta1"
)

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="capi-provider.agent-install.openshift.io/v1alpha1 is deprecated, use v1beta2"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="Whether the endpoint is known"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the AgentCluster was made"

// AgentCluster is the infrastructure of a cluster whose machines are taken from a pool of
// booted hosts. It is what version v1beta1 has.
type AgentCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the API of the cluster is reached.
	// +optional
	Spec v1beta1.AgentClusterSpec `json:"spec,omitempty"`
	// status is what became of the AgentCluster.
	// +optional
	Status v1beta1.AgentClusterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// AgentClusterList is a list of AgentClusters.
type AgentClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentCluster `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentmachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="capi-provider.agent-install.openshift.io/v1alpha1 is deprecated, use v1beta2"
// +kubebuilder:printcolumn:name="Agent",type="string",JSONPath=".status.agentRef.name",description="Host that the machine is"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="Whether a host is bound"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the AgentMachine was made"

// AgentMachine is a machine that is taken from a pool of booted hosts, and returned to it. It
// is what version v1beta1 has.
type AgentMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which host the machine may be.
	// +optional
	Spec v1beta1.AgentMachineSpec `json:"spec,omitempty"`
	// status is what became of the AgentMachine.
	// +optional
	Status v1beta1.AgentMachineStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// AgentMachineList is a list of AgentMachines.
type AgentMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentMachine `json:"items"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentmachinetemplates,shortName=agentmt,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion:warning="capi-provider.agent-install.openshift.io/v1alpha1 is deprecated, use v1beta2"

// AgentMachineTemplate is what the AgentMachines of a MachineDeployment or MachineSet are
// made of. It is what version v1beta1 has.
type AgentMachineTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what AgentMachines are made of the template.
	// +optional
	Spec v1beta1.AgentMachineTemplateSpec `json:"spec,omitempty"`
}

// +kubebuilder:object:root=true

// AgentMachineTemplateList is a list of templates.
type AgentMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentMachineTemplate `json:"items"`
}
