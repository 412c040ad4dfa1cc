package agentinstall

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
	// +optional
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
