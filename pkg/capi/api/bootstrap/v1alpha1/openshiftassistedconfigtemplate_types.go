package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// OpenshiftAssistedConfigTemplateSpec says what configs are made of the template.
type OpenshiftAssistedConfigTemplateSpec struct {
	// template is what each config is made of.
	Template OpenshiftAssistedConfigTemplateResource `json:"template"`
}

// OpenshiftAssistedConfigTemplateResource is what each config is made of.
type OpenshiftAssistedConfigTemplateResource struct {
	// metadata holds labels and annotations of the configs.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the configs.
	// +optional
	Spec OpenshiftAssistedConfigSpec `json:"spec,omitempty"`
}

// OpenshiftAssistedConfigTemplateStatus is empty.
type OpenshiftAssistedConfigTemplateStatus struct{}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=openshiftassistedconfigtemplates,shortName=oact;oacts,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="bootstrap.cluster.x-k8s.io/v1alpha1 is deprecated, use v1beta1"

// OpenshiftAssistedConfigTemplate is what the configs of a MachineDeployment or MachineSet
// are made of.
type OpenshiftAssistedConfigTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what configs are made of the template.
	// +optional
	Spec OpenshiftAssistedConfigTemplateSpec `json:"spec,omitempty"`
	// status is empty.
	// +optional
	Status OpenshiftAssistedConfigTemplateStatus `json:"status,omitempty,omitzero"`
}

// +kubebuilder:object:root=true

// OpenshiftAssistedConfigTemplateList is a list of templates.
type OpenshiftAssistedConfigTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OpenshiftAssistedConfigTemplate `json:"items"`
}
