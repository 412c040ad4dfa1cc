package agentinstall

import (
	"encoding/json"

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
	ClusterRef *hubapi.Reference `json:"clusterRef,omitempty"`
	// SSHAuthorizedKey is for the user core of the live system.
	SSHAuthorizedKey string `json:"sshAuthorizedKey,omitempty"`
	// Proxy is used by the live system, not by the installed cluster.
	Proxy *hubapi.Proxy `json:"proxy,omitempty"`
	// AdditionalNTPSources are used beside those that the live system has.
	AdditionalNTPSources []string `json:"additionalNTPSources,omitempty"`
	// NTPSources are used instead of them. Only one of the two may be given.
	NTPSources []string `json:"ntpSources,omitempty"`
	// NMStateConfigLabelSelector picks the NMStateConfigs; an empty one picks none.
	NMStateConfigLabelSelector *metav1.LabelSelector `json:"nmStateConfigLabelSelector,omitempty"`
	// AgentLabels are put on Agents when they are made.
	AgentLabels map[string]string `json:"agentLabels,omitempty"`
	// IgnitionConfigOverride is JSON, merged into the live system's Ignition.
	IgnitionConfigOverride string `json:"ignitionConfigOverride,omitempty"`
	// CPUArchitecture can't be changed later.
	// +kubebuilder:default=x86_64
	CPUArchitecture string `json:"cpuArchitecture,omitempty"`
	// ImageType is full-iso or minimal-iso.
	ImageType string `json:"imageType,omitempty"`
	// IPXEScriptType says what a host gets that boots from the network again.
	// +kubebuilder:default=DiscoveryImageAlways
	// +kubebuilder:validation:Enum="";DiscoveryImageAlways;BootOrderControl
	IPXEScriptType string `json:"ipxeScriptType,omitempty"`
	// KernelArguments change those of the live system.
	KernelArguments []KernelArgument `json:"kernelArguments,omitempty"`
	// AdditionalTrustBundle is PEM, trusted by the live system.
	AdditionalTrustBundle string `json:"additionalTrustBundle,omitempty"`
	// OSImageVersion picks one of the service's live images, for InfraEnvs without
	// ClusterRef or with one of an installed cluster.
	OSImageVersion string `json:"osImageVersion,omitempty"`
	// MirrorRegistryRef names the ConfigMap with registries.conf and ca-bundle.crt.
	MirrorRegistryRef *hubapi.FullReference `json:"mirrorRegistryRef,omitempty"`
	// AgentApproval says whether hosts still have to be approved.
	AgentApproval *AgentApproval `json:"agentApproval,omitempty"`
	// NetworkDiscoveryDelaySeconds is how long the live system waits for its
	// network, in seconds.
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
	// +kubebuilder:validation:Enum=append;replace;delete
	Operation string `json:"operation,omitempty"`
	// Value has no blanks outside of double quotes.
	// +kubebuilder:validation:Pattern=`^(?:(?:[^ \t\n\r"]+)|(?:"[^"]*"))+$`
	Value string `json:"value,omitempty"`
}

// AgentApproval says whether hosts have to be approved.
type AgentApproval struct {
	// AutoApprove makes Agents approved: for networks where nobody else boots.
	// +kubebuilder:default=false
	AutoApprove bool `json:"autoApprove,omitempty"`
}

// InfraEnvStatus is what became of an image.
type InfraEnvStatus struct {
	// ISODownloadURL holds a token.
	ISODownloadURL string `json:"isoDownloadURL,omitempty"`
	// CreatedTime moves whenever the image is made anew.
	CreatedTime *metav1.Time `json:"createdTime,omitempty"`
	// Conditions hold ImageCreated.
	Conditions []hubapi.Condition `json:"conditions,omitempty"`
	// AgentLabelSelector picks the Agents of the image.
	AgentLabelSelector *metav1.LabelSelector `json:"agentLabelSelector,omitempty"`
	BootArtifacts      *BootArtifacts        `json:"bootArtifacts,omitempty"`
	DebugInfo          *InfraEnvDebugInfo    `json:"debugInfo,omitempty"`
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
	EventsURL                string `json:"eventsURL"`
	StaticNetworkDownloadURL string `json:"staticNetworkDownloadURL,omitempty"`
}

// NMStateConfig is the static network of one host, in the images of the InfraEnvs
// whose selector picks its labels.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nmstateconfigs
type NMStateConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +optional
	Spec NMStateConfigSpec `json:"spec,omitzero"`
}

// NMStateConfigSpec is a network and the NICs that tell its host.
type NMStateConfigSpec struct {
	// Interfaces map the names in Config to MAC addresses.
	// +kubebuilder:validation:MinItems=1
	Interfaces []Interface `json:"interfaces,omitempty"`
	// Config is the desired state of nmstate, an object of any fields.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config Network `json:"config,omitzero"`
}

// Interface says which NIC is meant by a name.
type Interface struct {
	Name string `json:"name"`
	// MACAddress is written with colons.
	// +kubebuilder:validation:Pattern=`^([0-9A-Fa-f]{2}[:]){5}([0-9A-Fa-f]{2})$`
	MACAddress string `json:"macAddress"`
}

// Network is an object of nmstate. Its fields are not oaictl's business here.
type Network map[string]any

// UnmarshalJSON keeps whole numbers whole, which a plain map of any would turn
// into floating point and a MTU into 9e+03.
func (n *Network) UnmarshalJSON(data []byte) error {
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	*n = whole(fields).(map[string]any)
	return nil
}

func whole(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
		return v
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
		return v
	case float64:
		if n := int64(v); float64(n) == v {
			return n
		}
	}
	return value
}
