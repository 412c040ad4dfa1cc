package agentinstall

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// InfraEnv is a discovery image.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=infraenvs
type InfraEnv struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +optional
	Spec InfraEnvSpec `json:"spec,omitzero"`
	// +optional
	Status InfraEnvStatus `json:"status,omitzero"`
}

// InfraEnvSpec is what an image shall hold. Almost any change makes a new image.
type InfraEnvSpec struct {
	// PullSecretRef names the Secret with the key .dockerconfigjson.
	PullSecretRef hubapi.LocalReference `json:"pullSecretRef"`
	// ClusterRef binds every host that boots the image to a ClusterDeployment. It
	// can't be changed, added or removed later.
	// +optional
	ClusterRef *hubapi.Reference `json:"clusterRef,omitempty"`
	// SSHAuthorizedKey is for the user core of the live system.
	// +optional
	SSHAuthorizedKey string `json:"sshAuthorizedKey,omitempty"`
	// Proxy is used by the live system, not by the installed cluster.
	// +optional
	Proxy *hubapi.Proxy `json:"proxy,omitempty"`
	// AdditionalNTPSources are used beside those that the live system has.
	// +optional
	AdditionalNTPSources []string `json:"additionalNTPSources,omitempty"`
	// NTPSources are used instead of them. Only one of the two may be given.
	// +optional
	NTPSources []string `json:"ntpSources,omitempty"`
	// NMStateConfigLabelSelector picks the NMStateConfigs; an empty one picks none.
	// +optional
	NMStateConfigLabelSelector *metav1.LabelSelector `json:"nmStateConfigLabelSelector,omitempty"`
	// AgentLabels are put on Agents when they are made.
	// +optional
	AgentLabels map[string]string `json:"agentLabels,omitempty"`
	// IgnitionConfigOverride is JSON, merged into the live system's Ignition.
	// +optional
	IgnitionConfigOverride string `json:"ignitionConfigOverride,omitempty"`
	// CPUArchitecture can't be changed later.
	// +optional
	// +kubebuilder:default=x86_64
	CPUArchitecture string `json:"cpuArchitecture,omitempty"`
	// ImageType is full-iso or minimal-iso.
	// +optional
	ImageType string `json:"imageType,omitempty"`
	// IPXEScriptType says what a host gets that boots from the network again.
	// +optional
	// +kubebuilder:default=DiscoveryImageAlways
	// +kubebuilder:validation:Enum="";DiscoveryImageAlways;BootOrderControl
	IPXEScriptType string `json:"ipxeScriptType,omitempty"`
	// KernelArguments change those of the live system.
	// +optional
	KernelArguments []KernelArgument `json:"kernelArguments,omitempty"`
	// AdditionalTrustBundle is PEM, trusted by the live system.
	// +optional
	AdditionalTrustBundle string `json:"additionalTrustBundle,omitempty"`
	// OSImageVersion picks one of the service's live images, for InfraEnvs without
	// ClusterRef or with one of an installed cluster.
	// +optional
	OSImageVersion string `json:"osImageVersion,omitempty"`
	// MirrorRegistryRef names the ConfigMap with registries.conf and ca-bundle.crt.
	// +optional
	MirrorRegistryRef *hubapi.FullReference `json:"mirrorRegistryRef,omitempty"`
	// AgentApproval says whether hosts still have to be approved.
	// +optional
	AgentApproval *AgentApproval `json:"agentApproval,omitempty"`
	// NetworkDiscoveryDelaySeconds is how long the live system waits for its
	// network, in seconds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NetworkDiscoveryDelaySeconds *int64 `json:"networkDiscoveryDelaySeconds,omitempty"`
}

// Values of InfraEnvSpec.IPXEScriptType.
const (
	// IPXEDiscoveryAlways boots the live system each time.
	IPXEDiscoveryAlways = "DiscoveryImageAlways"
	// IPXEBootOrderControl boots the disk of a host that shall not be discovered.
	IPXEBootOrderControl = "BootOrderControl"
)

// KernelArgument is a change of the live system's kernel command line.
type KernelArgument struct {
	// +optional
	// +kubebuilder:validation:Enum=append;replace;delete
	Operation string `json:"operation,omitempty"`
	// Value has no blanks outside of double quotes.
	// +optional
	// +kubebuilder:validation:Pattern=`^(?:(?:[^ \t\n\r"]+)|(?:"[^"]*"))+$`
	Value string `json:"value,omitempty"`
}

// AgentApproval says whether hosts have to be approved.
type AgentApproval struct {
	// AutoApprove makes Agents approved: for networks where nobody else boots.
	// +optional
	// +kubebuilder:default=false
	AutoApprove bool `json:"autoApprove,omitempty"`
}

// InfraEnvStatus is what became of an image.
type InfraEnvStatus struct {
	// ISODownloadURL holds a token.
	// +optional
	ISODownloadURL string `json:"isoDownloadURL,omitempty"`
	// CreatedTime moves whenever the image is made anew.
	// +optional
	CreatedTime *metav1.Time `json:"createdTime,omitempty"`
	// Conditions hold ImageCreated.
	// +optional
	Conditions []hubapi.Condition `json:"conditions,omitempty"`
	// AgentLabelSelector picks the Agents of the image.
	// +optional
	AgentLabelSelector *metav1.LabelSelector `json:"agentLabelSelector,omitempty"`
	// +optional
	BootArtifacts *BootArtifacts `json:"bootArtifacts,omitempty"`
	// +optional
	DebugInfo *InfraEnvDebugInfo `json:"debugInfo,omitempty"`
}

// BootArtifacts are the URLs of a boot without ISO. They hold tokens.
type BootArtifacts struct {
	// +optional
	InitrdURL string `json:"initrd"`
	// +optional
	RootfsURL string `json:"rootfs"`
	// +optional
	KernelURL string `json:"kernel"`
	// +optional
	IPXEScriptURL string `json:"ipxeScript"`
	// +optional
	DiscoveryIgnitionURL string `json:"discoveryIgnitionURL"`
}

// InfraEnvDebugInfo are URLs for whoever looks into trouble. They hold tokens.
type InfraEnvDebugInfo struct {
	// +optional
	EventsURL string `json:"eventsURL"`
	// +optional
	StaticNetworkDownloadURL string `json:"staticNetworkDownloadURL,omitempty"`
}
