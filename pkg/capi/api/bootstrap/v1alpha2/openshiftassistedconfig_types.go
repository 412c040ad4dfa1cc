package v1alpha2

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

	// preBootstrapCommands are run by a shell as root, once, before the kubelet starts for the
	// first time.
	// +optional
	// +listType=atomic
	PreBootstrapCommands []string `json:"preBootstrapCommands,omitempty"`

	// postBootstrapCommands are run by a shell as root, once, after the machine's node is
	// there.
	// +optional
	// +listType=atomic
	PostBootstrapCommands []string `json:"postBootstrapCommands,omitempty"`

	// bootstrapCommandSentinelDir is the directory of the files that keep commands from
	// running again. Default is /var/lib/capoa.
	// +optional
	// +kubebuilder:validation:Pattern=`^/[a-zA-Z0-9_./-]+$`
	BootstrapCommandSentinelDir string `json:"bootstrapCommandSentinelDir,omitempty"`

	// postBootstrapKubeconfigPath is the kubeconfig by which postBootstrapCommands wait for
	// the node. Default is /var/lib/kubelet/kubeconfig.
	// +optional
	// +kubebuilder:validation:Pattern=`^/[a-zA-Z0-9_./-]+$`
	PostBootstrapKubeconfigPath string `json:"postBootstrapKubeconfigPath,omitempty"`

	// nodeRegistration is what the kubelet says of the machine when it registers.
	// +optional
	NodeRegistration bootstrapv1.NodeRegistrationOptions `json:"nodeRegistration,omitempty,omitzero"`
}

// OpenshiftAssistedConfigStatus is what became of a config.
type OpenshiftAssistedConfigStatus struct {
	// conditions of the config.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// initialization is what Cluster API waits for before it starts the machine.
	// +optional
	Initialization OpenshiftAssistedConfigInitializationStatus `json:"initialization,omitempty,omitzero"`
	// dataSecretName is the name of the Secret with the machine's user data.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	DataSecretName string `json:"dataSecretName,omitempty"`
	// observedGeneration is the newest generation that the controller has seen.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// v1beta1Conditions are the conditions in their old form.
	// +optional
	V1Beta1Conditions []bootstrapv1.DeprecatedCondition `json:"v1beta1Conditions,omitempty"`
}

// OpenshiftAssistedConfigInitializationStatus is what Cluster API waits for.
type OpenshiftAssistedConfigInitializationStatus struct {
	// dataSecretCreated is true once the Secret with the machine's user data is there.
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=openshiftassistedconfigs,shortName=oac;oacs,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="bootstrap.cluster.x-k8s.io/v1alpha2 is deprecated, use v1beta1"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.initialization.dataSecretCreated",description="Whether the user data is there"
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
