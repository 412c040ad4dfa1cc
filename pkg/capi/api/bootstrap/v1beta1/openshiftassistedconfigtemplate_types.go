package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// OpenshiftAssistedConfigTemplateSpec says what configs are made of the template.
type OpenshiftAssistedConfigTemplateSpec struct {
	// template is what each config is made of.
	// +required
	Template OpenshiftAssistedConfigTemplateResource `json:"template,omitempty,omitzero"`
}

// OpenshiftAssistedConfigTemplateResource is what each config is made of.
type OpenshiftAssistedConfigTemplateResource struct {
	// metadata holds labels and annotations of the configs.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the configs.
	// +optional
	Spec OpenshiftAssistedConfigSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=openshiftassistedconfigtemplates,shortName=oact;oacts,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=bootstrap-openshift-assisted"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",description="ClusterClass that uses the template"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Cluster\")].name",description="Cluster that uses the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the template was made"

// OpenshiftAssistedConfigTemplate is what the configs of a MachineDeployment or
// MachineSet are made of. Its template is not changed in place: a changed one gets a new
// name.
type OpenshiftAssistedConfigTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what configs are made of the template.
	// +optional
	Spec OpenshiftAssistedConfigTemplateSpec `json:"spec,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// OpenshiftAssistedConfigTemplateList is a list of templates.
type OpenshiftAssistedConfigTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the templates.
	Items []OpenshiftAssistedConfigTemplate `json:"items"`
}
