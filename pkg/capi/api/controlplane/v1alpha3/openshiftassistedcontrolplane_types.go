package v1alpha3

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1alpha2 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1alpha2"
	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	controlplanev1 "github.com/oaictl/oaictl/pkg/capi/api/controlplane/v1beta1"
)

// OpenshiftAssistedControlPlaneSpec says what the cluster is and how its control plane is
// installed.
type OpenshiftAssistedControlPlaneSpec struct {
	// config says what the cluster is.
	// +optional
	Config OpenshiftAssistedControlPlaneConfigSpec `json:"config,omitempty"`
	// machineTemplate says what the Machines of the control plane are like.
	MachineTemplate OpenshiftAssistedControlPlaneMachineTemplate `json:"machineTemplate"`
	// openshiftAssistedConfigSpec is the spec of the OpenshiftAssistedConfigs of the control
	// plane.
	// +optional
	OpenshiftAssistedConfigSpec bootstrapv1alpha2.OpenshiftAssistedConfigSpec `json:"openshiftAssistedConfigSpec,omitempty"`
	// replicas is the number of control plane machines.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// distributionVersion is the version of OpenShift or OKD, as 4.20.3.
	DistributionVersion string `json:"distributionVersion"`
}

// OpenshiftAssistedControlPlaneMachineTemplate says what the Machines of the control plane
// are like.
type OpenshiftAssistedControlPlaneMachineTemplate struct {
	// metadata holds labels and annotations of the Machines.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// infrastructureRef is the template that the machines are made of.
	InfrastructureRef clusterv1.ContractVersionedObjectReference `json:"infrastructureRef"`
	// deletion says for how long a Machine that is deleted is drained.
	// +optional
	Deletion controlplanev1.MachineDeletionSpec `json:"deletion,omitempty,omitzero"`
}

// OpenshiftAssistedControlPlaneConfigSpec says what a cluster is.
type OpenshiftAssistedControlPlaneConfigSpec struct {
	// apiVIPs are the virtual addresses of the API: one, or one of each family.
	// +kubebuilder:validation:MaxItems=2
	// +optional
	APIVIPs []string `json:"apiVIPs,omitempty"`
	// ingressVIPs are the virtual addresses of ingress, as many as apiVIPs.
	// +kubebuilder:validation:MaxItems=2
	// +optional
	IngressVIPs []string `json:"ingressVIPs,omitempty"`
	// manifestsConfigMapRefs name ConfigMaps with further manifests.
	// +optional
	ManifestsConfigMapRefs []controlplanev1.ManifestsConfigMapReference `json:"manifestsConfigMapRefs,omitempty"`
	// diskEncryption is the encryption of the disks that the cluster is installed on.
	// +optional
	DiskEncryption *DiskEncryption `json:"diskEncryption,omitempty"`
	// proxy is the HTTP proxy of the cluster.
	// +optional
	Proxy *bootstrapv1.Proxy `json:"proxy,omitempty"`
	// mastersSchedulable says whether ordinary workloads may run on control plane machines.
	// +optional
	MastersSchedulable bool `json:"mastersSchedulable,omitempty"`
	// sshAuthorizedKey holds public keys that may log in as user core of installed machines.
	// +optional
	SSHAuthorizedKey string `json:"sshAuthorizedKey,omitempty"`
	// clusterName is the first part of the cluster's DNS names. Default is the name of the
	// Cluster.
	// +optional
	ClusterName string `json:"clusterName,omitempty"`
	// baseDomain is the DNS domain that the cluster's name is put before.
	BaseDomain string `json:"baseDomain"`
	// pullSecretRef names a Secret with the credentials of the image registries.
	// +optional
	PullSecretRef *corev1.LocalObjectReference `json:"pullSecretRef,omitempty"`
	// imageRegistryRef names a ConfigMap with registries.conf and ca-bundle.crt.
	// +optional
	ImageRegistryRef *corev1.LocalObjectReference `json:"imageRegistryRef,omitempty"`
	// capabilities are the optional components of OpenShift that are enabled.
	// +optional
	Capabilities controlplanev1.Capabilities `json:"capabilities,omitempty,omitzero"`
}

// DiskEncryption is LUKS encryption of installation disks.
type DiskEncryption struct {
	// enableOn says on which machines. Default is none.
	// +optional
	EnableOn controlplanev1.RoleSet `json:"enableOn,omitempty"`
	// mode is where the key is kept: tpmv2 or tang.
	// +optional
	// +kubebuilder:validation:Enum=tpmv2;tang
	Mode string `json:"mode,omitempty"`
	// tangServers are the servers for mode tang, as JSON text.
	// +optional
	TangServers string `json:"tangServers,omitempty"`
}

// OpenshiftAssistedControlPlaneStatus is what became of a control plane.
type OpenshiftAssistedControlPlaneStatus struct {
	// conditions of the control plane.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// initialization is what Cluster API waits for before it goes on.
	// +optional
	Initialization controlplanev1.OpenshiftAssistedControlPlaneInitializationStatus `json:"initialization,omitempty,omitzero"`
	// selector of the Machines of the control plane, as text.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Selector string `json:"selector,omitempty"`
	// replicas is how many Machines are there and not being deleted.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// readyReplicas is how many of them are ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
	// availableReplicas is how many of them are available.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`
	// upToDateReplicas is how many of them are as the template says.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`
	// version of Kubernetes that the control plane runs.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
	// distributionVersion is the version of OpenShift that the cluster runs.
	// +optional
	DistributionVersion string `json:"distributionVersion,omitempty"`
	// observedGeneration is the newest generation that the controller has seen.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=openshiftassistedcontrolplanes,shortName=oacp;oacps,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:deprecatedversion:warning="controlplane.cluster.x-k8s.io/v1alpha3 is deprecated, use v1beta1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Initialized",type="boolean",JSONPath=".status.initialization.controlPlaneInitialized",description="Whether the API server takes requests"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Machines that are wanted",priority=10
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".status.replicas",description="Machines that are there"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Machines that are ready"
// +kubebuilder:printcolumn:name="Up-To-Date",type="integer",JSONPath=".status.upToDateReplicas",description="Machines that are as the template says"
// +kubebuilder:printcolumn:name="Available",type="integer",JSONPath=".status.availableReplicas",description="Machines that are available"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the control plane was made"
// +kubebuilder:printcolumn:name="Distribution Version",type="string",JSONPath=".spec.distributionVersion",description="Version of OpenShift that is wanted"

// OpenshiftAssistedControlPlane is an OpenShift cluster with its control plane, installed by
// the Assisted Installer.
type OpenshiftAssistedControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the cluster is and how its control plane is installed.
	// +optional
	Spec OpenshiftAssistedControlPlaneSpec `json:"spec,omitempty"`
	// status is what became of the control plane.
	// +optional
	Status OpenshiftAssistedControlPlaneStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// OpenshiftAssistedControlPlaneList is a list of control planes.
type OpenshiftAssistedControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OpenshiftAssistedControlPlane `json:"items"`
}
