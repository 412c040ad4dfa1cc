package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// AgentMachineTemplateSpec says what AgentMachines are made of the template.
type AgentMachineTemplateSpec struct {
	// template is what each AgentMachine is made of.
	// +required
	Template AgentMachineTemplateResource `json:"template,omitempty,omitzero"`
}

// AgentMachineTemplateResource is what each AgentMachine is made of.
type AgentMachineTemplateResource struct {
	// metadata holds labels and annotations of the AgentMachines.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the AgentMachines.
	// +optional
	Spec AgentMachineSpec `json:"spec,omitempty,omitzero"`
}

// AgentMachineTemplateStatus tells the cluster autoscaler what a node of the template is
// like, so that it can scale from zero.
type AgentMachineTemplateStatus struct {
	// conditions are Paused and PoolObserved.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// capacity of the smallest host in the pool that fits the template.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// nodeInfo is what the nodes have in common.
	// +optional
	NodeInfo NodeInfo `json:"nodeInfo,omitempty,omitzero"`
	// freeAgents is how many hosts in the pool fit the template and are free.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FreeAgents *int32 `json:"freeAgents,omitempty"`
}

// NodeInfo is what the nodes of a template have in common, in the words of Kubernetes.
// +kubebuilder:validation:MinProperties=1
type NodeInfo struct {
	// architecture of the nodes: amd64, arm64, ppc64le or s390x.
	// +optional
	// +kubebuilder:validation:Enum=amd64;arm64;ppc64le;s390x
	Architecture string `json:"architecture,omitempty"`
	// operatingSystem of the nodes: linux.
	// +optional
	// +kubebuilder:validation:Enum=linux
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentmachinetemplates,shortName=agentmt,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=infrastructure-agent"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta1=v1beta1"
// +kubebuilder:printcolumn:name="Free",type="integer",JSONPath=".status.freeAgents",description="Hosts in the pool that fit and are free"
// +kubebuilder:printcolumn:name="CPU",type="string",JSONPath=".status.capacity.cpu",description="CPUs of the smallest host that fits"
// +kubebuilder:printcolumn:name="Memory",type="string",JSONPath=".status.capacity.memory",description="Memory of the smallest host that fits"
// +kubebuilder:printcolumn:name="Arch",type="string",JSONPath=".status.nodeInfo.architecture",description="Architecture of the nodes"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the template was made"

// AgentMachineTemplate is what the AgentMachines of a control plane, MachineDeployment or
// MachineSet are made of. Its template is not changed in place: a changed one gets a new
// name.
type AgentMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what AgentMachines are made of the template.
	// +optional
	Spec AgentMachineTemplateSpec `json:"spec,omitempty,omitzero"`
	// status tells the cluster autoscaler what a node of the template is like.
	// +optional
	Status AgentMachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// GetConditions are the conditions of the template.
func (t *AgentMachineTemplate) GetConditions() []metav1.Condition { return t.Status.Conditions }

// SetConditions sets the conditions of the template.
func (t *AgentMachineTemplate) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// AgentMachineTemplateList is a list of templates.
type AgentMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the templates.
	Items []AgentMachineTemplate `json:"items"`
}
