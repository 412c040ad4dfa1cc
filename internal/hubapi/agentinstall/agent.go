package agentinstall

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/hubapi"
)

// Agent is a host that booted an InfraEnv's image. The service makes it, and names
// it by the host's UUID.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=agents
type Agent struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +optional
	Spec AgentSpec `json:"spec,omitzero"`
	// +optional
	Status AgentStatus `json:"status,omitzero"`
}

// AgentSpec is what a host shall become. Most of it is taken only before the
// installation.
type AgentSpec struct {
	// ClusterDeploymentName binds the host; nil is a host of a pool.
	// +optional
	ClusterDeploymentName *hubapi.Reference `json:"clusterDeploymentName,omitempty"`
	// Approved has to be true before the host is installed.
	Approved bool `json:"approved"`
	// Role is master, worker, arbiter or auto-assign, "" until the service wrote it.
	Role string `json:"role"`
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// MachineConfigPool is the pool that the node joins.
	// +optional
	MachineConfigPool string `json:"machineConfigPool,omitempty"`
	// InstallationDiskID is the id of a disk of the inventory.
	// +optional
	InstallationDiskID string `json:"installation_disk_id,omitempty"`
	// InstallationDiskPath names the disk by its path instead. Only one of the two
	// may be given.
	// +optional
	InstallationDiskPath string `json:"installation_disk_path,omitempty"`
	// InstallerArgs is a JSON list of arguments to coreos-installer.
	// +optional
	InstallerArgs string `json:"installerArgs,omitempty"`
	// IgnitionConfigOverrides is JSON, merged into the Ignition of the installed
	// host.
	// +optional
	IgnitionConfigOverrides string `json:"ignitionConfigOverrides,omitempty"`
	// IgnitionEndpointTokenReference names the Secret with the key ignition-token.
	// +optional
	IgnitionEndpointTokenReference *hubapi.FullReference `json:"ignitionEndpointTokenReference,omitempty"`
	// IgnitionEndpointHTTPHeaders are sent when the Ignition is fetched.
	// +optional
	IgnitionEndpointHTTPHeaders map[string]string `json:"ignitionEndpointHTTPHeaders,omitempty"`
	// NodeLabels are put on the host's Node.
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// FencingCredentialsSecretRef is the name of the Secret by which the host is powered off
	// by its peer.
	// +optional
	FencingCredentialsSecretRef string `json:"fencingCredentialsSecretRef,omitempty"`
}

// AgentStatus is what a host is, and how far it got.
type AgentStatus struct {
	// Bootstrap is the control plane host that the others start from.
	// +optional
	Bootstrap bool `json:"bootstrap,omitempty"`
	// +optional
	Role string `json:"role"`
	// Kind is Host, or AddToExistingClusterHost for one that is added to an
	// installed cluster.
	// +optional
	Kind string `json:"kind,omitempty"`
	// +optional
	Inventory HostInventory `json:"inventory,omitzero"`
	// +optional
	Progress HostProgress `json:"progress,omitzero"`
	// +optional
	NTPSources []HostNTPSource `json:"ntpSources,omitempty"`
	// +optional
	Conditions []hubapi.Condition `json:"conditions,omitempty"`
	// +optional
	DebugInfo DebugInfo `json:"debugInfo,omitzero"`
	// +optional
	ValidationsInfo hubapi.Validations `json:"validationsInfo,omitempty"`
	// InstallationDiskID is the disk that the service will write to.
	// +optional
	InstallationDiskID string `json:"installation_disk_id,omitempty"`
	// DeprovisionInfo remembers the cluster that the host was last bound to.
	// +optional
	DeprovisionInfo *DeprovisionInfo `json:"deprovision_info,omitempty"`
	// CSRStatus are the certificate requests that the service approved.
	// +optional
	CSRStatus *CSRStatus `json:"csrStatus,omitempty"`
}

// Values of AgentStatus.Kind.
const (
	AgentKindHost  = "Host"
	AgentKindAdded = "AddToExistingClusterHost"
)

// HostProgress is how far the installation of a host got.
type HostProgress struct {
	// +optional
	CurrentStage string `json:"currentStage,omitempty"`
	// ProgressStages are all stages of the host in their order.
	// +optional
	ProgressStages []string `json:"progressStages,omitempty"`
	// +optional
	ProgressInfo string `json:"progressInfo,omitempty"`
	// InstallationPercentage is 0 to 100.
	// +optional
	InstallationPercentage int64 `json:"installationPercentage,omitempty"`
	// +optional
	StageStartTime *metav1.Time `json:"stageStartTime,omitempty"`
	// +optional
	StageUpdateTime *metav1.Time `json:"stageUpdateTime,omitempty"`
}

// HostNTPSource is a time server as the host sees it.
type HostNTPSource struct {
	// +optional
	SourceName string `json:"sourceName,omitempty"`
	// SourceState is synced, combined, not_combined, error, variable or unreachable.
	// +optional
	SourceState string `json:"sourceState,omitempty"`
}

// DebugInfo is the service's own state of a host. The URLs hold tokens.
type DebugInfo struct {
	// +optional
	EventsURL string `json:"eventsURL,omitempty"`
	// +optional
	LogsURL string `json:"logsURL,omitempty"`
	// State is the service's word, such as known.
	// +optional
	State string `json:"state,omitempty"`
	// +optional
	StateInfo string `json:"stateInfo,omitempty"`
}

// DeprovisionInfo is the cluster that a host left.
type DeprovisionInfo struct {
	// +optional
	ClusterName string `json:"cluster_name,omitempty"`
	// +optional
	ClusterNamespace string `json:"cluster_namespace,omitempty"`
	// +optional
	NodeName string `json:"node_name,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
}

// CSRStatus are the certificate requests of a host that the service approved.
type CSRStatus struct {
	// +optional
	ApprovedCSRs []ApprovedCSR `json:"approvedCSRs,omitempty"`
	// +optional
	LastApprovalAttempt *metav1.Time `json:"lastApprovalAttempt,omitempty"`
}

// ApprovedCSR is a certificate request that was approved.
type ApprovedCSR struct {
	Name string `json:"name"`
	// Type is client or serving.
	Type       string      `json:"type"`
	ApprovedAt metav1.Time `json:"approvedAt"`
}
