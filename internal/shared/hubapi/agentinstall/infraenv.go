package agentinstall

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
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
	PullSecretRef              hubapi.LocalReference `json:"pullSecretRef"`
	ClusterRef                 *hubapi.Reference     `json:"clusterRef,omitempty"` // can't be changed later
	SSHAuthorizedKey           string                `json:"sshAuthorizedKey,omitempty"`
	Proxy                      *hubapi.Proxy         `json:"proxy,omitempty"`
	AdditionalNTPSources       []string              `json:"additionalNTPSources,omitempty"`
	NTPSources                 []string              `json:"ntpSources,omitempty"` // exclude AdditionalNTPSources
	NMStateConfigLabelSelector *metav1.LabelSelector `json:"nmStateConfigLabelSelector,omitempty"`
	AgentLabels                map[string]string     `json:"agentLabels,omitempty"`
	IgnitionConfigOverride     string                `json:"ignitionConfigOverride,omitempty"` // JSON
	// +kubebuilder:default=x86_64
	CPUArchitecture string `json:"cpuArchitecture,omitempty"`
	ImageType       string `json:"imageType,omitempty"`
	// +kubebuilder:default=DiscoveryImageAlways
	// +kubebuilder:validation:Enum="";DiscoveryImageAlways;BootOrderControl
	IPXEScriptType        string           `json:"ipxeScriptType,omitempty"`
	KernelArguments       []KernelArgument `json:"kernelArguments,omitempty"`
	AdditionalTrustBundle string           `json:"additionalTrustBundle,omitempty"`
	// for InfraEnvs without ClusterRef, or of an installed cluster
	OSImageVersion    string                `json:"osImageVersion,omitempty"`
	MirrorRegistryRef *hubapi.FullReference `json:"mirrorRegistryRef,omitempty"`
	AgentApproval     *AgentApproval        `json:"agentApproval,omitempty"`
	// +kubebuilder:validation:Minimum=0
	NetworkDiscoveryDelaySeconds *int64 `json:"networkDiscoveryDelaySeconds,omitempty"`
}

// IPXEBootOrderControl is a value of InfraEnvSpec.IPXEScriptType.
const IPXEBootOrderControl = "BootOrderControl"

// KernelArgument is a change of the live system's kernel command line.
type KernelArgument struct {
	// +kubebuilder:validation:Enum=append;replace;delete
	Operation string `json:"operation,omitempty"`
	// +kubebuilder:validation:Pattern=`^(?:(?:[^ \t\n\r"]+)|(?:"[^"]*"))+$`
	Value string `json:"value,omitempty"`
}

// AgentApproval reports whether hosts have to be approved.
type AgentApproval struct {
	// +kubebuilder:default=false
	AutoApprove bool `json:"autoApprove,omitempty"`
}

// InfraEnvStatus is what became of an image. ISODownloadURL holds a token.
type InfraEnvStatus struct {
	ISODownloadURL     string                `json:"isoDownloadURL,omitempty"`
	CreatedTime        *metav1.Time          `json:"createdTime,omitempty"`
	Conditions         []hubapi.Condition    `json:"conditions,omitempty"`
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

// InfraEnvDebugInfo are URLs for debugging. They hold tokens.
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

// NMStateConfigSpec is a network and the NICs that identify its host.
type NMStateConfigSpec struct {
	// +kubebuilder:validation:MinItems=1
	Interfaces []Interface `json:"interfaces,omitempty"`
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Config Network `json:"config,omitzero"`
}

// Interface says which NIC is meant by a name.
type Interface struct {
	Name string `json:"name"`
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
