package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OpenshiftAssistedConfigStatus is what became of a config.
type OpenshiftAssistedConfigStatus struct {
	// conditions are Ready, DataSecretAvailable, InfraEnvReady, HostValidated,
	// CertificateRequestPending, Deleting and Paused.
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

	// infraEnvRef is the InfraEnv that discovers the machine.
	// +optional
	InfraEnvRef *ObjectReference `json:"infraEnvRef,omitempty"`

	// agentRef is the Agent, that is the host in the service, which the machine
	// registered as.
	// +optional
	AgentRef *ObjectReference `json:"agentRef,omitempty"`

	// observedGeneration is the newest generation that the controller has seen.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// deprecated holds what only older versions of this API show. The controller
	// removes it when it first writes the status.
	// +optional
	Deprecated *OpenshiftAssistedConfigDeprecatedStatus `json:"deprecated,omitempty"`
}

// OpenshiftAssistedConfigInitializationStatus is what Cluster API waits for.
// +kubebuilder:validation:MinProperties=1
type OpenshiftAssistedConfigInitializationStatus struct {
	// dataSecretCreated is true once the Secret with the machine's user data is there.
	// +optional
	DataSecretCreated *bool `json:"dataSecretCreated,omitempty"`
}

// ObjectReference names an object of the service: on a hub its namespace and name, over
// REST its id as the name.
type ObjectReference struct {
	// namespace of the object.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// OpenshiftAssistedConfigDeprecatedStatus holds what older versions of this API show,
// by the contract that they followed.
type OpenshiftAssistedConfigDeprecatedStatus struct {
	// v1beta1 holds what the versions of contract v1beta1 show.
	// +optional
	V1Beta1 *OpenshiftAssistedConfigV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// OpenshiftAssistedConfigV1Beta1DeprecatedStatus holds what the versions of contract
// v1beta1 show.
type OpenshiftAssistedConfigV1Beta1DeprecatedStatus struct {
	// conditions in the old form.
	// +optional
	// +listType=atomic
	Conditions []DeprecatedCondition `json:"conditions,omitempty"`
	// failureReason is the word for why the machine could not be set up.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`
	// failureMessage is the sentence for why the machine could not be set up.
	// +optional
	FailureMessage string `json:"failureMessage,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=openshiftassistedconfigs,shortName=oac;oacs,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=bootstrap-openshift-assisted"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster that the machine belongs to"
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Machine\")].name",description="Machine that the config is for"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether the user data is there and nothing is wrong with the host"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why the config is not ready"
// +kubebuilder:printcolumn:name="Data Secret",type="string",JSONPath=".status.dataSecretName",description="Secret with the user data"
// +kubebuilder:printcolumn:name="InfraEnv",type="string",JSONPath=".status.infraEnvRef.name",description="InfraEnv that discovers the machine",priority=10
// +kubebuilder:printcolumn:name="Host",type="string",JSONPath=".status.agentRef.name",description="Host in the service",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Whether nothing is done for now",priority=10
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What is waited for, or what is wrong",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the config was made"

// OpenshiftAssistedConfig says how one machine is discovered and installed by the
// Assisted Installer.
type OpenshiftAssistedConfig struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says how the machine is discovered and installed.
	// +optional
	Spec OpenshiftAssistedConfigSpec `json:"spec,omitempty,omitzero"`
	// status is what became of the config.
	// +optional
	Status OpenshiftAssistedConfigStatus `json:"status,omitempty,omitzero"`
}

// GetConditions are the conditions of the config.
func (c *OpenshiftAssistedConfig) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions sets the conditions of the config.
func (c *OpenshiftAssistedConfig) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// OpenshiftAssistedConfigList is a list of configs.
type OpenshiftAssistedConfigList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the configs.
	Items []OpenshiftAssistedConfig `json:"items"`
}
