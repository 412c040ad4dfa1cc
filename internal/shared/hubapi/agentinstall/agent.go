// Package agentinstall holds the objects of the API group
// agent-install.openshift.io, version v1beta1: discovery images (InfraEnv), the
// static networks in them (NMStateConfig), the hosts that booted them (Agent) and
// labels by what those hosts are (AgentClassification).
//
// A field that has to be there even if it is empty is always written; a list that the service always sends is left out
// only if it is nil. The CustomResourceDefinitions that the tests use are generated from these types.
//
// +groupName=agent-install.openshift.io
// +versionName=v1beta1
package agentinstall

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
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

// AgentSpec is what a host shall become.
type AgentSpec struct {
	ClusterDeploymentName          *hubapi.Reference     `json:"clusterDeploymentName,omitempty"` // nil is a host of a pool
	Approved                       bool                  `json:"approved"`
	Role                           string                `json:"role"` // "" until the service wrote it
	Hostname                       string                `json:"hostname,omitempty"`
	MachineConfigPool              string                `json:"machineConfigPool,omitempty"`
	InstallationDiskID             string                `json:"installation_disk_id,omitempty"`
	InstallationDiskPath           string                `json:"installation_disk_path,omitempty"`
	InstallerArgs                  string                `json:"installerArgs,omitempty"` // a JSON list
	IgnitionConfigOverrides        string                `json:"ignitionConfigOverrides,omitempty"`
	IgnitionEndpointTokenReference *hubapi.FullReference `json:"ignitionEndpointTokenReference,omitempty"`
	IgnitionEndpointHTTPHeaders    map[string]string     `json:"ignitionEndpointHTTPHeaders,omitempty"`
	NodeLabels                     map[string]string     `json:"nodeLabels,omitempty"`
	FencingCredentialsSecretRef    string                `json:"fencingCredentialsSecretRef,omitempty"`
}

// AgentStatus is what a host is, and how far it got.
type AgentStatus struct {
	Bootstrap bool `json:"bootstrap,omitempty"`
	// +optional
	Role string `json:"role"`
	Kind string `json:"kind,omitempty"`
	// +optional
	Inventory HostInventory `json:"inventory,omitzero"`
	// +optional
	Progress   HostProgress       `json:"progress,omitzero"`
	NTPSources []HostNTPSource    `json:"ntpSources,omitempty"`
	Conditions []hubapi.Condition `json:"conditions,omitempty"`
	// +optional
	DebugInfo          DebugInfo          `json:"debugInfo,omitzero"`
	ValidationsInfo    hubapi.Validations `json:"validationsInfo,omitempty"`
	InstallationDiskID string             `json:"installation_disk_id,omitempty"`
	DeprovisionInfo    *DeprovisionInfo   `json:"deprovision_info,omitempty"`
	CSRStatus          *CSRStatus         `json:"csrStatus,omitempty"`
}

// Values of AgentStatus.Kind.
const (
	AgentKindHost  = "Host"
	AgentKindAdded = "AddToExistingClusterHost"
)

// HostProgress is how far the installation of a host got.
type HostProgress struct {
	CurrentStage           string       `json:"currentStage,omitempty"`
	ProgressStages         []string     `json:"progressStages,omitempty"`
	ProgressInfo           string       `json:"progressInfo,omitempty"`
	InstallationPercentage int64        `json:"installationPercentage,omitempty"`
	StageStartTime         *metav1.Time `json:"stageStartTime,omitempty"`
	StageUpdateTime        *metav1.Time `json:"stageUpdateTime,omitempty"`
}

// HostNTPSource is a time server as the host sees it.
type HostNTPSource struct {
	SourceName  string `json:"sourceName,omitempty"`
	SourceState string `json:"sourceState,omitempty"`
}

// DebugInfo is the service's own state of a host. The URLs hold tokens.
type DebugInfo struct {
	EventsURL string `json:"eventsURL,omitempty"`
	LogsURL   string `json:"logsURL,omitempty"`
	State     string `json:"state,omitempty"`
	StateInfo string `json:"stateInfo,omitempty"`
}

// DeprovisionInfo is the cluster that a host left.
type DeprovisionInfo struct {
	ClusterName      string `json:"cluster_name,omitempty"`
	ClusterNamespace string `json:"cluster_namespace,omitempty"`
	NodeName         string `json:"node_name,omitempty"`
	Message          string `json:"message,omitempty"`
}

// CSRStatus are the certificate requests of a host that the service approved.
type CSRStatus struct {
	ApprovedCSRs        []ApprovedCSR `json:"approvedCSRs,omitempty"`
	LastApprovalAttempt *metav1.Time  `json:"lastApprovalAttempt,omitempty"`
}

// ApprovedCSR is a certificate request that was approved.
type ApprovedCSR struct {
	Name       string      `json:"name"`
	Type       string      `json:"type"`
	ApprovedAt metav1.Time `json:"approvedAt"`
}

// AgentClassification labels the Agents of its namespace by their inventory.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=agentclassifications
type AgentClassification struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`
	// +optional
	Spec AgentClassificationSpec `json:"spec,omitzero"`
	// +optional
	Status AgentClassificationStatus `json:"status,omitzero"`
}

// AgentClassificationSpec is a label and the question that gives it.
type AgentClassificationSpec struct {
	LabelKey   string `json:"labelKey"`
	LabelValue string `json:"labelValue"` // can't be changed
	Query      string `json:"query"`      // jq over Agent.status.inventory that gives one boolean
}

// AgentClassificationStatus counts what the query did.
type AgentClassificationStatus struct {
	MatchedCount int                `json:"matchedCount,omitempty"`
	ErrorCount   int                `json:"errorCount,omitempty"`
	Conditions   []hubapi.Condition `json:"conditions,omitempty"`
}

// HostInventory is what the agent found in a machine.
type HostInventory struct {
	ReportTime   *metav1.Time `json:"reportTime,omitempty"`
	Hostname     string       `json:"hostname,omitempty"`
	BMCAddress   string       `json:"bmcAddress,omitempty"`
	BMCV6Address string       `json:"bmcV6Address,omitempty"`
	// +optional
	Memory HostMemory `json:"memory,omitzero"`
	// +optional
	CPU        HostCPU         `json:"cpu,omitzero"`
	Interfaces []HostInterface `json:"interfaces,omitempty"`
	Disks      []HostDisk      `json:"disks,omitempty"`
	// +optional
	Boot HostBoot `json:"boot,omitzero"`
	// +optional
	SystemVendor HostSystemVendor `json:"systemVendor,omitzero"`
	GPUs         []HostGPU        `json:"gpus,omitempty"`
}

// UnmarshalJSON also reads the text that Trim of hubapi.Texts makes of it.
func (i *HostInventory) UnmarshalJSON(data []byte) error {
	type fields HostInventory
	return hubapi.Unpack(data, (*fields)(i))
}

// HostMemory is in bytes.
type HostMemory struct {
	PhysicalBytes int64 `json:"physicalBytes,omitempty"`
	UsableBytes   int64 `json:"usableBytes,omitempty"`
}

// HostCPU is a machine's processor.
type HostCPU struct {
	Count          int64    `json:"count,omitempty"`
	ClockMegahertz int64    `json:"clockMegahertz,omitempty"`
	Flags          []string `json:"flags,omitempty"`
	ModelName      string   `json:"modelName,omitempty"`
	Architecture   string   `json:"architecture,omitempty"`
}

// HostInterface is a NIC. Addresses are written with their prefix length.
type HostInterface struct {
	// +required
	IPV4Addresses []string `json:"ipV4Addresses,omitzero"`
	// +required
	IPV6Addresses []string `json:"ipV6Addresses,omitzero"`
	// +required
	Flags       []string `json:"flags,omitzero"`
	Name        string   `json:"name,omitempty"`
	MACAddress  string   `json:"macAddress,omitempty"`
	HasCarrier  bool     `json:"hasCarrier,omitempty"`
	MTU         int64    `json:"mtu,omitempty"`
	SpeedMbps   int64    `json:"speedMbps,omitempty"`
	Vendor      string   `json:"vendor,omitempty"`
	Product     string   `json:"product,omitempty"`
	BIOSDevName string   `json:"biosDevName,omitempty"`
	ClientID    string   `json:"clientID,omitempty"`
}

// HostDisk is a disk.
type HostDisk struct {
	ID                      string           `json:"id"`
	Name                    string           `json:"name,omitempty"`
	Path                    string           `json:"path,omitempty"`
	ByPath                  string           `json:"byPath,omitempty"`
	ByID                    string           `json:"byID,omitempty"`
	DriveType               string           `json:"driveType,omitempty"`
	Vendor                  string           `json:"vendor,omitempty"`
	Model                   string           `json:"model,omitempty"`
	Serial                  string           `json:"serial,omitempty"`
	WWN                     string           `json:"wwn,omitempty"`
	HCTL                    string           `json:"hctl,omitempty"`
	SizeBytes               int64            `json:"sizeBytes,omitempty"`
	Bootable                bool             `json:"bootable,omitempty"`
	SMART                   string           `json:"smart,omitempty"`
	InstallationEligibility *DiskEligibility `json:"installationEligibility,omitempty"`
	IOPerf                  *DiskPerformance `json:"ioPerf,omitempty"`
}

// DiskEligibility reports whether a disk can be installed on, and why not.
type DiskEligibility struct {
	Eligible bool `json:"eligible,omitempty"`
	// +required
	NotEligibleReasons []string `json:"notEligibleReasons,omitzero"`
}

// DiskPerformance is how fast a disk is.
type DiskPerformance struct {
	SyncDurationMilliseconds int64 `json:"syncDurationMilliseconds,omitempty"`
}

// HostBoot is how the live system was booted.
type HostBoot struct {
	CurrentBootMode string `json:"currentBootMode,omitempty"`
	PXEInterface    string `json:"pxeInterface,omitempty"`
	DeviceType      string `json:"deviceType,omitempty"`
}

// HostSystemVendor says who made the machine.
type HostSystemVendor struct {
	Manufacturer string `json:"manufacturer,omitempty"`
	ProductName  string `json:"productName,omitempty"`
	SerialNumber string `json:"serialNumber,omitempty"`
	Virtual      bool   `json:"virtual,omitempty"`
}

// HostGPU is a graphics processor.
type HostGPU struct {
	Address  string `json:"address,omitempty"`
	DeviceID string `json:"deviceID,omitempty"`
	Name     string `json:"name,omitempty"`
	Vendor   string `json:"vendor,omitempty"`
	VendorID string `json:"vendorID,omitempty"`
}
