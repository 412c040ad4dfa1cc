package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	agentv1 "github.com/oaictl/oaictl/pkg/capi/api/agent/v1beta2"
)

// AgentClusterSpec says where the API of a cluster is reached.
type AgentClusterSpec struct {
	// ignitionEndpoint is where machines fetch their Ignition from.
	// +optional
	IgnitionEndpoint *IgnitionEndpoint `json:"ignitionEndpoint,omitempty"`
	// controlPlaneEndpoint is where the API of the cluster is reached.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`
}

// APIEndpoint is where an API is reached.
type APIEndpoint struct {
	// host name or address.
	// +optional
	Host string `json:"host,omitempty"`
	// port of the API.
	// +optional
	Port int32 `json:"port,omitempty"`
}

// IgnitionEndpoint is where machines fetch their Ignition from.
type IgnitionEndpoint struct {
	// url of the server.
	// +optional
	URL string `json:"url,omitempty"`
	// caCertificateReference names a Secret with the certificate that the server is trusted
	// by.
	// +optional
	CACertificateReference *agentv1.CACertificateReference `json:"caCertificateReference,omitempty"`
}

// AgentClusterStatus is what became of an AgentCluster.
type AgentClusterStatus struct {
	// ready says whether the endpoint of the cluster is known.
	// +optional
	Ready bool `json:"ready"`
	// clusterDeploymentReference names the ClusterDeployment that hosts are bound to.
	// +optional
	ClusterDeploymentRef agentv1.ClusterDeploymentReference `json:"clusterDeploymentReference,omitempty,omitzero"`
	// conditions of the AgentCluster.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// failureDomains that machines can be put into.
	// +optional
	// +listType=map
	// +listMapKey=name
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="Whether the endpoint is known"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the AgentCluster was made"

// AgentCluster is the infrastructure of a cluster whose machines are taken from a pool of
// booted hosts.
type AgentCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the API of the cluster is reached.
	// +optional
	Spec AgentClusterSpec `json:"spec,omitempty"`
	// status is what became of the AgentCluster.
	// +optional
	Status AgentClusterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// AgentClusterList is a list of AgentClusters.
type AgentClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AgentCluster `json:"items"`
}
