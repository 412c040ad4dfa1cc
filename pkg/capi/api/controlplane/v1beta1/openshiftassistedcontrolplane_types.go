package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// OpenshiftAssistedControlPlaneSpec says what the cluster is and how its control plane is
// installed and kept.
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || self.replicas in [1, 3, 4, 5] || self.replicas == 2 && (self.config.?arbiterReplicas.orValue(0) > 0 || has(self.config.fencing))",fieldPath=".replicas",message="a control plane has 1, 3, 4 or 5 machines, or 2 with config.arbiterReplicas: 1 or config.fencing"
type OpenshiftAssistedControlPlaneSpec struct {
	// replicas is the number of control plane machines: 1 (single node), 2 (with an arbiter
	// or fencing), 3, 4 or 5. Default is 3, as in an install-config.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// version of Kubernetes, as v1.33.4. A topology sets it, and with workers it names the
	// commit that kubelets report, as v1.33.4+6ec2f6f. Where it is set beside
	// distributionVersion, both have to be of one release. Left out, it follows from
	// distributionVersion.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Version string `json:"version,omitempty"`

	// distributionVersion is the whole version of OpenShift or OKD, as 4.20.3. 4.14.0 is the
	// oldest that is installed. A newer one upgrades the cluster in place, without replacing
	// a Machine.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	DistributionVersion string `json:"distributionVersion,omitempty"`

	// machineTemplate says what the Machines of the control plane are like.
	// +required
	MachineTemplate OpenshiftAssistedControlPlaneMachineTemplate `json:"machineTemplate,omitempty,omitzero"`

	// openshiftAssistedConfigSpec is the spec of the OpenshiftAssistedConfigs of the control
	// plane.
	// +optional
	OpenshiftAssistedConfigSpec bootstrapv1.OpenshiftAssistedConfigSpec `json:"openshiftAssistedConfigSpec,omitempty,omitzero"`

	// config says what the cluster is.
	// +required
	Config OpenshiftAssistedControlPlaneConfigSpec `json:"config,omitempty,omitzero"`

	// rollout says when Machines are replaced because what they are made of has changed.
	// +optional
	Rollout RolloutSpec `json:"rollout,omitempty,omitzero"`

	// remediation says how unhealthy Machines of the control plane are replaced.
	// +optional
	Remediation RemediationSpec `json:"remediation,omitempty,omitzero"`

	// upgrade says which upgrades may be taken, and how.
	// +optional
	Upgrade UpgradeSpec `json:"upgrade,omitempty,omitzero"`
}

// OpenshiftAssistedControlPlaneMachineTemplate says what the Machines of the control plane
// are like.
type OpenshiftAssistedControlPlaneMachineTemplate struct {
	// metadata holds labels and annotations of the Machines, and of the objects that they
	// refer to. Changes are applied in place.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	// spec of the Machines.
	// +required
	Spec OpenshiftAssistedControlPlaneMachineTemplateSpec `json:"spec,omitempty,omitzero"`
}

// OpenshiftAssistedControlPlaneMachineTemplateSpec is what the Machines of the control plane
// have in common.
type OpenshiftAssistedControlPlaneMachineTemplateSpec struct {
	// infrastructureRef is the template of the infrastructure provider that the machines are
	// made of, in the same namespace.
	// +required
	InfrastructureRef clusterv1.ContractVersionedObjectReference `json:"infrastructureRef,omitempty,omitzero"`

	OpenshiftAssistedControlPlaneMachineSettings `json:",inline"`
}

// OpenshiftAssistedControlPlaneMachineSettings are the settings of Machines that are
// applied in place, without replacing any.
type OpenshiftAssistedControlPlaneMachineSettings struct {
	// readinessGates are further conditions that count for whether a Machine is ready.
	// +optional
	// +listType=map
	// +listMapKey=conditionType
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	ReadinessGates []clusterv1.MachineReadinessGate `json:"readinessGates,omitempty"`

	// deletion says for how long a Machine that is deleted is drained.
	// +optional
	Deletion MachineDeletionSpec `json:"deletion,omitempty,omitzero"`

	// taints of the nodes, which Cluster API looks after.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Taints []clusterv1.MachineTaint `json:"taints,omitempty"`

	// minReadySeconds is how long a node has to be ready for its Machine to count as
	// available. Default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
}

// MachineDeletionSpec says for how long a Machine that is deleted is drained.
// +kubebuilder:validation:MinProperties=1
type MachineDeletionSpec struct {
	// nodeDrainTimeoutSeconds is how long a node is drained, in seconds. 0, the default, is
	// without limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDrainTimeoutSeconds *int32 `json:"nodeDrainTimeoutSeconds,omitempty"`
	// nodeVolumeDetachTimeoutSeconds is how long the volumes of a node are waited for, in
	// seconds. 0, the default, is without limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeVolumeDetachTimeoutSeconds *int32 `json:"nodeVolumeDetachTimeoutSeconds,omitempty"`
	// nodeDeletionTimeoutSeconds is for how long Cluster API tries to delete the Node, in
	// seconds. 0 is without limit. Default is 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	NodeDeletionTimeoutSeconds *int32 `json:"nodeDeletionTimeoutSeconds,omitempty"`
}

// RolloutStrategyType says when Machines are replaced because what they are made of has
// changed.
// +kubebuilder:validation:Enum=OnDelete;RollingUpdate
type RolloutStrategyType string

// The strategies of a rollout.
const (
	// OnDeleteStrategy replaces no Machine: the condition UpToDate of a Machine reports that it
	// differs, and its successor is made by the new template.
	OnDeleteStrategy RolloutStrategyType = "OnDelete"
	// RollingUpdateStrategy replaces Machines that differ, one after the other. That
	// installs their hosts anew.
	RollingUpdateStrategy RolloutStrategyType = "RollingUpdate"
)

// RolloutSpec says when Machines are replaced because what they are made of has changed.
// +kubebuilder:validation:MinProperties=1
type RolloutSpec struct {
	// after is a moment, as 2026-03-09T09:00:00Z, once which every Machine that was made
	// before it is replaced, one after the other.
	// +optional
	After metav1.Time `json:"after,omitempty,omitzero"`
	// strategy says how Machines are replaced.
	// +optional
	Strategy RolloutStrategy `json:"strategy,omitempty,omitzero"`
}

// RolloutStrategy says how Machines are replaced.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.rollingUpdate) || self.type == 'RollingUpdate'",message="rollingUpdate has a meaning with type RollingUpdate only: set type to RollingUpdate, or remove rollingUpdate"
type RolloutStrategy struct {
	// type is OnDelete, which replaces no Machine by itself, or RollingUpdate, which
	// installs the hosts of changed Machines anew. Default is OnDelete.
	// +required
	Type RolloutStrategyType `json:"type,omitempty"`
	// rollingUpdate is how Machines are replaced with type RollingUpdate.
	// +optional
	RollingUpdate RollingUpdate `json:"rollingUpdate,omitempty,omitzero"`
}

// RollingUpdate is how Machines are replaced one after the other.
// +kubebuilder:validation:MinProperties=1
type RollingUpdate struct {
	// maxSurge is how many Machines may be there in addition: 1 makes the new Machine first,
	// 0 deletes the old one first, for where there is no further host. Default is 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// RemediationSpec says how unhealthy Machines of the control plane are replaced.
// +kubebuilder:validation:MinProperties=1
type RemediationSpec struct {
	// maxRetry is how often a Machine that was made for an unhealthy one is itself
	// replaced. Left out, there is no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRetry *int32 `json:"maxRetry,omitempty"`
	// retryPeriodSeconds is how long to wait before that is done, in seconds. Default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RetryPeriodSeconds *int32 `json:"retryPeriodSeconds,omitempty"`
	// minHealthyPeriodSeconds is after which time a failure is taken for a new one, and
	// counting starts anew, in seconds. Default is 3600.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinHealthyPeriodSeconds *int32 `json:"minHealthyPeriodSeconds,omitempty"`
}

// UpgradeSpec says which upgrades may be taken, and how.
// +kubebuilder:validation:MinProperties=1
type UpgradeSpec struct {
	// channel of the update graph, as stable-4.20. Left out, the cluster's stays.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Channel string `json:"channel,omitempty"`
	// acceptConditional says whether a version may be taken that the update graph
	// recommends under conditions only, and not for this cluster. Default is false.
	// +optional
	AcceptConditional *bool `json:"acceptConditional,omitempty"`
	// acknowledge lists the gates of the ConfigMap openshift-config-managed/admin-gates that
	// are acknowledged, as ack-4.19-kube-1.33-api-removals-in-4.20.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Acknowledge []string `json:"acknowledge,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=openshiftassistedcontrolplanes,shortName=oacp;oacps,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:metadata:labels="cluster.x-k8s.io/provider=control-plane-openshift-assisted"
// +kubebuilder:metadata:labels="cluster.x-k8s.io/v1beta2=v1beta1"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type==\"Available\")].status",description="Whether the control plane serves the cluster"
// +kubebuilder:printcolumn:name="Install",type="string",JSONPath=".status.installation.state",description="How far the installation is"
// +kubebuilder:printcolumn:name="Percent",type="integer",JSONPath=".status.installation.percentage",description="How far the installation is, in percent"
// +kubebuilder:printcolumn:name="Desired",type="integer",JSONPath=".spec.replicas",description="Machines that are wanted"
// +kubebuilder:printcolumn:name="Current",type="integer",JSONPath=".status.replicas",description="Machines that are there"
// +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas",description="Machines that are ready"
// +kubebuilder:printcolumn:name="Up-to-date",type="integer",JSONPath=".status.upToDateReplicas",description="Machines that are as the template says"
// +kubebuilder:printcolumn:name="Initialized",type="boolean",JSONPath=".status.initialization.controlPlaneInitialized",description="Whether the API server takes requests"
// +kubebuilder:printcolumn:name="OpenShift",type="string",JSONPath=".status.distributionVersion",description="Version that runs"
// +kubebuilder:printcolumn:name="Wanted",type="string",JSONPath=".spec.distributionVersion",description="Version that is wanted"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Whether nothing is done for now",priority=10
// +kubebuilder:printcolumn:name="Kubernetes",type="string",JSONPath=".status.version",description="Version of Kubernetes that runs",priority=10
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Available\")].message",description="What is waited for, or what is wrong",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since the control plane was made"
// +kubebuilder:validation:XValidation:rule="!oldSelf.?status.?initialization.?controlPlaneInitialized.orValue(false) || (self.?spec.?replicas.orValue(3) == 1) == (oldSelf.?spec.?replicas.orValue(3) == 1)",message="a single node stays one, and a control plane of several machines never becomes a single node: put the old spec.replicas back, or install another cluster"
// +kubebuilder:validation:XValidation:rule="has(self.spec) && has(self.spec.config) && has(self.spec.config.baseDomain)",message="spec.config.baseDomain is missing: write the DNS domain of the cluster, for example example.com"

// OpenshiftAssistedControlPlane is an OpenShift cluster with its control plane, installed
// by the Assisted Installer.
type OpenshiftAssistedControlPlane struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the cluster is and how its control plane is installed and kept.
	// +required
	Spec OpenshiftAssistedControlPlaneSpec `json:"spec,omitempty,omitzero"`
	// status is what became of the control plane.
	// +optional
	Status OpenshiftAssistedControlPlaneStatus `json:"status,omitempty,omitzero"`
}

// GetConditions are the conditions of the control plane.
func (c *OpenshiftAssistedControlPlane) GetConditions() []metav1.Condition {
	return c.Status.Conditions
}

// SetConditions sets the conditions of the control plane.
func (c *OpenshiftAssistedControlPlane) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// +kubebuilder:object:root=true

// OpenshiftAssistedControlPlaneList is a list of control planes.
type OpenshiftAssistedControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list's metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the control planes.
	Items []OpenshiftAssistedControlPlane `json:"items"`
}
