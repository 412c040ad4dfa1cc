package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// AgentClusterSpec says where the API of a cluster is reached, and from which pool its
// machines are taken.
type AgentClusterSpec struct {
	// controlPlaneEndpoint is where the API of the cluster is reached. Default is the first
	// of the control plane's apiVIPs, else api.NAME.DOMAIN, with port 6443.
	// +optional
	ControlPlaneEndpoint clusterv1.APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// ignitionEndpoint is where machines fetch their Ignition from. Default is what their
	// bootstrap data says.
	// +optional
	IgnitionEndpoint *IgnitionEndpoint `json:"ignitionEndpoint,omitempty"`

	// infraEnvRefs are the InfraEnvs whose hosts are the pool. Default on a hub is every
	// Agent of the namespace that is watched for Agents. Over REST they have to be named.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	InfraEnvRefs []InfraEnvReference `json:"infraEnvRefs,omitempty"`

	// failureDomains divide the pool, by labels of the Agents, into parts that fail
	// together.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []AgentFailureDomain `json:"failureDomains,omitempty"`
}

// IgnitionEndpoint is where machines fetch their Ignition from.
type IgnitionEndpoint struct {
	// url of the server.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// caCertificateReference names a Secret whose key tls.crt holds the certificate that the
	// server is trusted by.
	// +optional
	CACertificateReference *CACertificateReference `json:"caCertificateReference,omitempty"`
}

// CACertificateReference names a Secret with a certificate.
type CACertificateReference struct {
	// namespace of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// InfraEnvReference names an InfraEnv.
type InfraEnvReference struct {
	// name of the InfraEnv, in the namespace that is watched for Agents; over REST its name
	// or id in the service.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// AgentFailureDomain is a part of the pool that fails together, as a rack.
type AgentFailureDomain struct {
	// name by which Machines ask for it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`
	// controlPlane says whether Machines of the control plane may be put there. Default is
	// true.
	// +optional
	ControlPlane *bool `json:"controlPlane,omitempty"`
	// agentLabelSelector selects the Agents of the failure domain. An empty one selects none.
	// +required
	AgentLabelSelector metav1.LabelSelector `json:"agentLabelSelector,omitempty,omitzero"`
}

// AgentClusterStatus is what became of an AgentCluster.
type AgentClusterStatus struct {
	// conditions are Ready, ClusterDeploymentReady and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is what Cluster API waits for before it makes machines.
	// +optional
	Initialization AgentClusterInitializationStatus `json:"initialization,omitempty,omitzero"`

	// clusterDeploymentReference names the ClusterDeployment that hosts are bound to.
	// +optional
	ClusterDeploymentRef ClusterDeploymentReference `json:"clusterDeploymentReference,omitempty,omitzero"`

	// failureDomains are those of the spec that have Agents, or Machines.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`
}

// AgentClusterInitializationStatus is what Cluster API waits for.
// +kubebuilder:validation:MinProperties=1
type AgentClusterInitializationStatus struct {
	// provisioned is true once the endpoint of the cluster is known.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// ClusterDeploymentReference names a ClusterDeployment.
type ClusterDeploymentReference struct {
	// name of the ClusterDeployment; over REST the id of the cluster.
	// +optional
	Name string `json:"name,omitempty"`
	// namespace of the ClusterDeployment.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=infrastructure-agent"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta1=v1beta1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Where the API is reached"
// +kubebuilder:printcolumn:name="Provisioned",type="boolean",JSONPath=".status.initialization.provisioned",description="Whether the endpoint is known"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether nothing is wrong"
// +kubebuilder:printcolumn:name="Deployment",type="string",JSONPath=".status.clusterDeploymentReference.name",description="ClusterDeployment that hosts are bound to",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Whether nothing is done for now",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the AgentCluster was made"

// AgentCluster is the infrastructure of a cluster whose machines are taken from a pool of
// booted hosts.
type AgentCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the API is reached, and from which pool machines are taken.
	// +optional
	Spec AgentClusterSpec `json:"spec,omitempty,omitzero"`
	// status is what became of the AgentCluster.
	// +optional
	Status AgentClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions are the conditions of the AgentCluster.
func (c *AgentCluster) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions sets the conditions of the AgentCluster.
func (c *AgentCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// AgentClusterList is a list of AgentClusters.
type AgentClusterList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the AgentClusters.
	Items []AgentCluster `json:"items"`
}
