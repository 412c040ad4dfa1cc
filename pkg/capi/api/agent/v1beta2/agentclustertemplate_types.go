package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// AgentClusterTemplateSpec says what AgentClusters are made of the template.
type AgentClusterTemplateSpec struct {
	// template is what each AgentCluster is made of.
	// +required
	Template AgentClusterTemplateResource `json:"template,omitempty,omitzero"`
}

// AgentClusterTemplateResource is what each AgentCluster is made of.
type AgentClusterTemplateResource struct {
	// metadata holds labels and annotations of the AgentClusters.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the AgentClusters.
	// +optional
	Spec AgentClusterSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=infrastructure-agent"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",description="ClusterClass that uses the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the template was made"

// AgentClusterTemplate is what the AgentClusters of a ClusterClass are made of. Its template
// is not changed in place: a changed one gets a new name.
type AgentClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what AgentClusters are made of the template.
	// +optional
	Spec AgentClusterTemplateSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// AgentClusterTemplateList is a list of templates.
type AgentClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the templates.
	Items []AgentClusterTemplate `json:"items"`
}
