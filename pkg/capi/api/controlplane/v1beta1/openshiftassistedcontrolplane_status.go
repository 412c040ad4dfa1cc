package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// OpenshiftAssistedControlPlaneStatus is what became of a control plane.
type OpenshiftAssistedControlPlaneStatus struct {
	// conditions are Available, Initialized, KubeconfigAvailable, KubernetesVersionAvailable,
	// EtcdClusterAvailable, CertificatesAvailable, MachinesReady, MachinesUpToDate,
	// RollingOut, ScalingUp, ScalingDown, Remediating, UpgradeAvailable, UpgradeCompleted,
	// Deleting and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is what Cluster API waits for before it goes on.
	// +optional
	Initialization OpenshiftAssistedControlPlaneInitializationStatus `json:"initialization,omitempty,omitzero"`

	// installation is how far the installation is.
	// +optional
	Installation InstallationStatus `json:"installation,omitempty,omitzero"`

	// clusterDeploymentRef is the cluster in the service.
	// +optional
	ClusterDeploymentRef *bootstrapv1.ObjectReference `json:"clusterDeploymentRef,omitempty"`

	// selector of the Machines of the control plane, as text, for the scale subresource.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Selector string `json:"selector,omitempty"`

	// replicas is how many Machines are there and not being deleted.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// readyReplicas is how many of them have the condition Ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
	// availableReplicas is how many of them have the condition Available.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`
	// upToDateReplicas is how many of them have the condition UpToDate.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty"`

	// versions of Kubernetes that the nodes of the control plane run, oldest first, as their
	// kubelets report them.
	// +optional
	// +listType=map
	// +listMapKey=version
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Versions []clusterv1.StatusVersion `json:"versions,omitempty"`
	// version is the oldest of versions.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`
	// distributionVersion is the version of OpenShift that the cluster runs, or ran last.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	DistributionVersion string `json:"distributionVersion,omitempty"`
	// availableUpdates are the versions that the update graph recommends, newest first, 100 at most.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	AvailableUpdates []string `json:"availableUpdates,omitempty"`

	// lastRemediation is the newest replacement of an unhealthy Machine.
	// +optional
	LastRemediation LastRemediationStatus `json:"lastRemediation,omitempty,omitzero"`

	// observedGeneration is the newest generation that the controller has seen.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deprecated holds what only older versions of this API show. The controller removes it
	// when it first writes the status.
	// +optional
	Deprecated *OpenshiftAssistedControlPlaneDeprecatedStatus `json:"deprecated,omitempty"`
}

// OpenshiftAssistedControlPlaneInitializationStatus is what Cluster API waits for.
// +kubebuilder:validation:MinProperties=1
type OpenshiftAssistedControlPlaneInitializationStatus struct {
	// controlPlaneInitialized is true once the API server of the cluster takes requests.
	// +optional
	ControlPlaneInitialized *bool `json:"controlPlaneInitialized,omitempty"`
}

// InstallationStatus is how far an installation is.
// +kubebuilder:validation:MinProperties=1
type InstallationStatus struct {
	// state of the cluster: Draft, Discovering, Blocked, Ready, Preparing, Installing,
	// NeedsUser, Finalizing, Installed, Failed, Cancelled or AddingHosts.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	State string `json:"state,omitempty"`
	// percentage of the installation that is done, 0 to 100. It is written at most twice a
	// minute.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percentage *int32 `json:"percentage,omitempty"`
}

// LastRemediationStatus is the newest replacement of an unhealthy Machine.
type LastRemediationStatus struct {
	// machine is the name of the Machine that was replaced.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Machine string `json:"machine,omitempty"`
	// time at which it was deleted.
	// +required
	Time metav1.Time `json:"time,omitempty,omitzero"`
	// retryCount is how many Machines in a row were replaced that were made for unhealthy
	// ones.
	// +required
	// +kubebuilder:validation:Minimum=0
	RetryCount *int32 `json:"retryCount,omitempty"`
}

// OpenshiftAssistedControlPlaneDeprecatedStatus holds what older versions of this API show,
// by the contract that they followed.
type OpenshiftAssistedControlPlaneDeprecatedStatus struct {
	// v1beta1 holds what the versions of contract v1beta1 show.
	// +optional
	V1Beta1 *OpenshiftAssistedControlPlaneV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// OpenshiftAssistedControlPlaneV1Beta1DeprecatedStatus holds what the versions of contract
// v1beta1 show.
type OpenshiftAssistedControlPlaneV1Beta1DeprecatedStatus struct {
	// conditions in the old form.
	// +optional
	// +listType=atomic
	Conditions []bootstrapv1.DeprecatedCondition `json:"conditions,omitempty"`
	// failureReason is the word for why the control plane could not be set up.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`
	// failureMessage is the sentence for why the control plane could not be set up.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`
	// ready says whether the API server was there.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// unavailableReplicas is how many Machines were missing or not ready.
	// +optional
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`
}
