package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// OpenshiftAssistedConfigSpec says how a machine is discovered and installed.
type OpenshiftAssistedConfigSpec struct {
	// proxy is how the discovery image and the installer reach the outside.
	// +optional
	Proxy *bootstrapv1.Proxy `json:"proxy,omitempty"`

	// pullSecretRef names a Secret with the credentials of the image registries.
	// +optional
	PullSecretRef *corev1.LocalObjectReference `json:"pullSecretRef,omitempty"`

	// additionalNTPSources are NTP servers, by name or address, in addition to those that
	// DHCP names.
	// +optional
	AdditionalNTPSources []string `json:"additionalNTPSources,omitempty"`

	// sshAuthorizedKey holds public keys that may log in as user core while the machine is
	// discovered.
	// +optional
	SSHAuthorizedKey string `json:"sshAuthorizedKey,omitempty"`

	// nmStateConfigLabelSelector selects the NMStateConfigs that hold static networks.
	// +optional
	NMStateConfigLabelSelector metav1.LabelSelector `json:"nmStateConfigLabelSelector,omitempty,omitzero"`

	// cpuArchitecture of the machine. Default is that of the cluster, else x86_64.
	// +optional
	CPUArchitecture string `json:"cpuArchitecture,omitempty"`

	// kernelArguments are the changes to the kernel arguments of the installed system.
	// +optional
	KernelArguments []bootstrapv1.KernelArgument `json:"kernelArguments,omitempty"`

	// additionalTrustBundle holds certificates (PEM) that the machine trusts besides the
	// well-known ones.
	// +optional
	AdditionalTrustBundle string `json:"additionalTrustBundle,omitempty"`

	// osImageVersion is the OpenShift version whose live system discovers the machine.
	// +optional
	OSImageVersion string `json:"osImageVersion,omitempty"`

	// nodeRegistration is what the kubelet says of the machine when it registers.
	// +optional
	NodeRegistration NodeRegistrationOptions `json:"nodeRegistration,omitempty,omitzero"`
}

// NodeRegistrationOptions is what the kubelet says of a machine when it registers.
type NodeRegistrationOptions struct {
	// name of the node, as $METADATA_NAME.
	// +optional
	Name string `json:"name,omitempty"`
	// kubeletExtraLabels are labels that the kubelet sets on its node, each as key=value.
	// +optional
	KubeletExtraLabels []string `json:"kubeletExtraLabels,omitempty"`
}

// OpenshiftAssistedConfigStatus is what became of a config.
type OpenshiftAssistedConfigStatus struct {
	// infraEnvRef is the InfraEnv that discovers the machine.
	// +optional
	InfraEnvRef *corev1.ObjectReference `json:"infraEnvRef,omitempty"`
	// agentRef is the Agent that the machine registered as.
	// +optional
	AgentRef *corev1.LocalObjectReference `json:"agentRef,omitempty"`
	// ready says whether the Secret with the machine's user data is there.
	// +optional
	Ready bool `json:"ready"`
	// dataSecretName is the name of the Secret with the machine's user data.
	// +optional
	DataSecretName *string `json:"dataSecretName,omitempty"`
	// failureReason is the word for why the machine could not be set up.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`
	// failureMessage is the sentence for why the machine could not be set up.
	// +optional
	FailureMessage string `json:"failureMessage,omitempty"`
	// observedGeneration is the newest generation that the controller has seen.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions of the config.
	// +optional
	Conditions []bootstrapv1.DeprecatedCondition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=openshiftassistedconfigs,shortName=oac;oacs,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="bootstrap.cluster.x-k8s.io/v1alpha1 is deprecated, use v1beta1"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="Whether the user data is there"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the config was made"

// OpenshiftAssistedConfig says how one machine is discovered and installed by the Assisted
// Installer.
type OpenshiftAssistedConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says how the machine is discovered and installed.
	// +optional
	Spec OpenshiftAssistedConfigSpec `json:"spec,omitempty"`
	// status is what became of the config.
	// +optional
	Status OpenshiftAssistedConfigStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// OpenshiftAssistedConfigList is a list of configs.
type OpenshiftAssistedConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OpenshiftAssistedConfig `json:"items"`
}
