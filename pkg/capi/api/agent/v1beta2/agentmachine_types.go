package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// AgentMachineSpec says which host a machine may be. Candidates are Agents that are
// approved and connected, that pass the validations of the service, and that belong to no cluster.
type AgentMachineSpec struct {
	// agentLabelSelector selects Agents by their labels. Default is any.
	// +optional
	AgentLabelSelector *metav1.LabelSelector `json:"agentLabelSelector,omitempty"`

	// providerID is agent://NAME, with the name of the Agent, once there is one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	ProviderID string `json:"providerID,omitempty"`

	// cpuArchitecture that the host must have: x86_64, arm64 (or aarch64), ppc64le or s390x.
	// Default is any that fits the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	CPUArchitecture string `json:"cpuArchitecture,omitempty"`

	// minCPUs is how many logical CPUs the host must have at least. Default is what the
	// service demands of the machine's role.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinCPUs *int32 `json:"minCPUs,omitempty"`

	// minMemory is how much memory the host must have at least, as 64Gi. Default is what the
	// service demands of the machine's role.
	// +optional
	MinMemory *resource.Quantity `json:"minMemory,omitempty"`

	// minDisk is how large a disk that can be installed on must be at least, as 500G. Default
	// is what the service demands of the machine's role.
	// +optional
	MinDisk *resource.Quantity `json:"minDisk,omitempty"`

	// role that the host must be meant for: an Agent with another role is passed over, one
	// without a role or with auto-assign is not. Default is the Machine's role.
	// +optional
	Role AgentRole `json:"role,omitempty"`

	// spreadConstraints say how the hosts of machines that are alike are spread over the
	// pool.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +kubebuilder:validation:MaxItems=8
	SpreadConstraints []AgentSpreadConstraint `json:"spreadConstraints,omitempty"`
}

// AgentRole is what a host is meant for.
// +kubebuilder:validation:Enum=control-plane;worker;arbiter
type AgentRole string

// The roles of hosts.
const (
	ControlPlaneRole AgentRole = "control-plane"
	WorkerRole       AgentRole = "worker"
	ArbiterRole      AgentRole = "arbiter"
)

// AgentSpreadConstraint says how the hosts of machines that are alike are spread. Alike are
// the machines of one control plane, and those of one MachineDeployment or MachineSet.
type AgentSpreadConstraint struct {
	// topologyKey is a label of Agents whose values are spread over, as
	// topology.kubernetes.io/rack.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey,omitempty"`
	// maxSkew is by how many machines two values of the label may differ. Default is 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxSkew *int32 `json:"maxSkew,omitempty"`
	// whenUnsatisfiable is DoNotSchedule, which waits for a host that fits, or
	// ScheduleAnyway, which takes the host that skews least. Default is ScheduleAnyway.
	// +optional
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable,omitempty"`
}

// AgentMachineStatus is what became of an AgentMachine.
type AgentMachineStatus struct {
	// conditions are Ready, AgentReserved, AgentSpecSynced, AgentValidated,
	// AgentRequirementsMet, Installed, CertificateRequestPending, Deleting and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is what Cluster API waits for before it looks for the node.
	// +optional
	Initialization AgentMachineInitializationStatus `json:"initialization,omitempty,omitzero"`

	// agentRef is the Agent, that is the host in the service, that the machine is.
	// +optional
	AgentRef *AgentReference `json:"agentRef,omitempty"`

	// addresses of the host.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Addresses []clusterv1.MachineAddress `json:"addresses,omitempty"`

	// failureDomain that the host belongs to.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	FailureDomain string `json:"failureDomain,omitempty"`

	// deprecated holds what only older versions of this API show. The controller removes it
	// when it first writes the status.
	// +optional
	Deprecated *AgentMachineDeprecatedStatus `json:"deprecated,omitempty"`
}

// AgentMachineInitializationStatus is what Cluster API waits for.
// +kubebuilder:validation:MinProperties=1
type AgentMachineInitializationStatus struct {
	// provisioned is true once a host is reserved and bound, and its addresses and
	// providerID are known.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// AgentReference names an Agent.
type AgentReference struct {
	// name of the Agent; over REST the id of the host.
	// +optional
	Name string `json:"name,omitempty"`
	// namespace of the Agent; over REST the id of its InfraEnv.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// AgentMachineDeprecatedStatus holds what older versions of this API show, by the contract
// that they followed.
type AgentMachineDeprecatedStatus struct {
	// v1beta1 holds what the versions of contract v1beta1 show.
	// +optional
	V1Beta1 *AgentMachineV1Beta1DeprecatedStatus `json:"v1beta1,omitempty"`
}

// AgentMachineV1Beta1DeprecatedStatus holds what the versions of contract v1beta1 show.
type AgentMachineV1Beta1DeprecatedStatus struct {
	// failureReason is the word for why the machine could not be set up.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`
	// failureMessage is the sentence for why the machine could not be set up.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=agentmachines,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=infrastructure-agent"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta2"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta1=v1beta1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Machine",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Machine\")].name",description="Machine that this is the infrastructure of"
// +kubebuilder:printcolumn:name="Agent",type="string",JSONPath=".status.agentRef.name",description="Host that the machine is"
// +kubebuilder:printcolumn:name="Provisioned",type="boolean",JSONPath=".status.initialization.provisioned",description="Whether a host is bound"
// +kubebuilder:printcolumn:name="Installed",type="string",JSONPath=".status.conditions[?(@.type==\"Installed\")].status",description="Whether the host is installed"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description="Whether nothing is wrong"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason",description="Why the machine is not ready"
// +kubebuilder:printcolumn:name="Failure Domain",type="string",JSONPath=".status.failureDomain",description="Failure domain of the host",priority=10
// +kubebuilder:printcolumn:name="Provider ID",type="string",JSONPath=".spec.providerID",description="Provider id of the node",priority=10
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Whether nothing is done for now",priority=10
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description="What is waited for, or what is wrong",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the AgentMachine was made"

// AgentMachine is a machine that is taken from a pool of booted hosts, and returned to it.
type AgentMachine struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which host the machine may be.
	// +optional
	Spec AgentMachineSpec `json:"spec,omitempty,omitzero"`
	// status is what became of the AgentMachine.
	// +optional
	Status AgentMachineStatus `json:"status,omitempty,omitzero"`
}

// GetConditions are the conditions of the AgentMachine.
func (m *AgentMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions sets the conditions of the AgentMachine.
func (m *AgentMachine) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// AgentMachineList is a list of AgentMachines.
type AgentMachineList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the AgentMachines.
	Items []AgentMachine `json:"items"`
}
