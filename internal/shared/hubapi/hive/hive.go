// Package hive holds the objects of Hive and of its extension for the
// assisted-service: ClusterDeployment and ClusterImageSet of hive.openshift.io/v1,
// as far as an install reads and writes them, and AgentClusterInstall of
// extensions.hive.openshift.io/v1beta1, whole.
//
// A ClusterDeployment that was read into these types must not be written back
// whole, since Hive's has fields for other platforms that are not here.
package hive

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
)

// ClusterDeployment is a cluster.
type ClusterDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              ClusterDeploymentSpec   `json:"spec,omitzero"`
	Status            ClusterDeploymentStatus `json:"status,omitzero"`
}

// ClusterDeploymentSpec is what Hive's webhook lets change in few fields only.
type ClusterDeploymentSpec struct {
	ClusterName        string                 `json:"clusterName"`
	BaseDomain         string                 `json:"baseDomain"`
	Platform           Platform               `json:"platform"`
	PullSecretRef      *hubapi.LocalReference `json:"pullSecretRef,omitempty"`
	ClusterInstallRef  *ClusterInstallRef     `json:"clusterInstallRef,omitempty"`
	ControlPlaneConfig *ControlPlaneConfig    `json:"controlPlaneConfig,omitempty"`
	Installed          *bool                  `json:"installed,omitempty"`
	ClusterMetadata    *ClusterMetadata       `json:"clusterMetadata,omitempty"`
	PreserveOnDelete   bool                   `json:"preserveOnDelete,omitempty"` // late-bound Agents are deleted, not returned to their pool
	PowerState         string                 `json:"powerState,omitempty"`       // does nothing: Hive has no actuator for these machines
}

// Platform is where a cluster runs, as far as it concerns Hive; the platform that
// OpenShift is installed for is AgentClusterInstallSpec.PlatformType.
type Platform struct {
	AgentBareMetal *AgentBareMetal `json:"agentBareMetal,omitempty"`
}

// AgentBareMetal has a selector that must be there and that the service ignores.
type AgentBareMetal struct {
	AgentSelector metav1.LabelSelector `json:"agentSelector"`
}

// ClusterInstallRef names what installs a cluster.
type ClusterInstallRef struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
}

// ControlPlaneConfig is the API's certificates and address.
type ControlPlaneConfig struct {
	ServingCertificates *ServingCertificates `json:"servingCertificates,omitempty"`
	APIURLOverride      string               `json:"apiURLOverride,omitempty"`
	APIServerIPOverride string               `json:"apiServerIPOverride,omitempty"`
}

// ServingCertificates are usually none.
type ServingCertificates struct {
	Default string `json:"default,omitempty"`
}

// ClusterMetadata says which cluster was made, and where its credentials are.
type ClusterMetadata struct {
	ClusterID                string                 `json:"clusterID"`
	InfraID                  string                 `json:"infraID"`
	AdminKubeconfigSecretRef hubapi.LocalReference  `json:"adminKubeconfigSecretRef"`
	AdminPasswordSecretRef   *hubapi.LocalReference `json:"adminPasswordSecretRef,omitempty"`
}

// ClusterDeploymentStatus is written by Hive's operator, where there is one.
type ClusterDeploymentStatus struct {
	Conditions              []hubapi.Condition `json:"conditions,omitempty"`
	InstallStartedTimestamp *metav1.Time       `json:"installStartedTimestamp,omitempty"`
	InstalledTimestamp      *metav1.Time       `json:"installedTimestamp,omitempty"`
	APIURL                  string             `json:"apiURL,omitempty"`
	WebConsoleURL           string             `json:"webConsoleURL,omitempty"`
	InstallVersion          string             `json:"installVersion,omitempty"`
	InstallRestarts         int                `json:"installRestarts,omitempty"`
	PowerState              string             `json:"powerState,omitempty"`
}

// ClusterImageSet is a release that a hub offers. It stands in no namespace.
type ClusterImageSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              ClusterImageSetSpec   `json:"spec,omitzero"`
	Status            ClusterImageSetStatus `json:"status,omitzero"`
}

// ClusterImageSetSpec names the release.
type ClusterImageSetSpec struct {
	ReleaseImage string `json:"releaseImage"`
}

// ClusterImageSetStatus says nothing that an install needs.
type ClusterImageSetStatus struct {
	Conditions []hubapi.Condition `json:"conditions,omitempty"`
}

// ClusterImageSetReference names a ClusterImageSet.
type ClusterImageSetReference struct {
	Name string `json:"name"`
}

// AgentClusterInstall says how a ClusterDeployment is installed.
type AgentClusterInstall struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              AgentClusterInstallSpec   `json:"spec"`
	Status            AgentClusterInstallStatus `json:"status,omitzero"`
}

// AgentClusterInstallSpec is mostly frozen once the installation has started.
type AgentClusterInstallSpec struct {
	ClusterDeploymentRef   hubapi.LocalReference     `json:"clusterDeploymentRef"`
	ImageSetRef            *ClusterImageSetReference `json:"imageSetRef,omitempty"` // can't be changed after creation
	ClusterMetadata        *ClusterMetadata          `json:"clusterMetadata,omitempty"`
	ManifestsConfigMapRefs []ManifestsConfigMapRef   `json:"manifestsConfigMapRefs,omitempty"`
	ManifestsConfigMapRef  *hubapi.LocalReference    `json:"manifestsConfigMapRef,omitempty"`
	Networking             Networking                `json:"networking"`
	SSHPublicKey           string                    `json:"sshPublicKey,omitempty"`
	ProvisionRequirements  ProvisionRequirements     `json:"provisionRequirements"`
	ControlPlane           *MachinePool              `json:"controlPlane,omitempty"`
	Compute                []MachinePool             `json:"compute,omitempty"`
	Arbiter                *MachinePool              `json:"arbiter,omitempty"`
	APIVIPs                []string                  `json:"apiVIPs,omitempty"`
	APIVIP                 string                    `json:"apiVIP,omitempty"`
	IngressVIPs            []string                  `json:"ingressVIPs,omitempty"`
	IngressVIP             string                    `json:"ingressVIP,omitempty"`
	HoldInstallation       bool                      `json:"holdInstallation,omitempty"`
	IgnitionEndpoint       *IgnitionEndpoint         `json:"ignitionEndpoint,omitempty"`
	DiskEncryption         *DiskEncryption           `json:"diskEncryption,omitempty"`
	Proxy                  *hubapi.Proxy             `json:"proxy,omitempty"`
	PlatformType           string                    `json:"platformType,omitempty"` // "" lets the service choose
	External               *ExternalPlatform         `json:"external,omitempty"`
	MastersSchedulable     bool                      `json:"mastersSchedulable,omitempty"`
	MirrorRegistryRef      *hubapi.FullReference     `json:"mirrorRegistryRef,omitempty"`
	LoadBalancer           *LoadBalancer             `json:"loadBalancer,omitempty"`
	NTPSources             []string                  `json:"ntpSources,omitempty"` // exclude additionalNTPSources of the InfraEnv
}

// Values of AgentClusterInstallSpec.PlatformType.
const (
	PlatformBareMetal = "BareMetal"
	PlatformNone      = "None"
	PlatformVSphere   = "VSphere"
	PlatformNutanix   = "Nutanix"
	PlatformExternal  = "External"
)

// ManifestsConfigMapRef names a ConfigMap of manifests.
type ManifestsConfigMapRef struct {
	Name string `json:"name"`
}

// Networking are the networks of a cluster.
type Networking struct {
	MachineNetwork        []MachineNetwork `json:"machineNetwork,omitempty"`
	ClusterNetwork        []ClusterNetwork `json:"clusterNetwork,omitempty"`
	ServiceNetwork        []string         `json:"serviceNetwork,omitempty"`
	NetworkType           string           `json:"networkType,omitempty"`
	UserManagedNetworking *bool            `json:"userManagedNetworking,omitempty"`
}

// MachineNetwork is a network that hosts are in.
type MachineNetwork struct {
	CIDR string `json:"cidr"`
}

// ClusterNetwork is a network of pods.
type ClusterNetwork struct {
	CIDR       string `json:"cidr"`
	HostPrefix int32  `json:"hostPrefix,omitempty"`
}

// ProvisionRequirements are how many hosts have to be there.
type ProvisionRequirements struct {
	ControlPlaneAgents int `json:"controlPlaneAgents"`
	WorkerAgents       int `json:"workerAgents,omitempty"`
	ArbiterAgents      int `json:"arbiterAgents,omitempty"`
}

// MachinePool is a kind of machine.
type MachinePool struct {
	Name           string `json:"name"`
	Hyperthreading string `json:"hyperthreading,omitempty"` // Enabled or Disabled
}

// IgnitionEndpoint is where hosts that are added fetch their Ignition.
type IgnitionEndpoint struct {
	URL                    string                `json:"url,omitempty"`
	CACertificateReference *hubapi.FullReference `json:"caCertificateReference,omitempty"`
}

// DiskEncryption says which hosts' disks are encrypted, and how.
type DiskEncryption struct {
	EnableOn    string `json:"enableOn,omitempty"` // none, all, or some of masters, arbiters and workers, in this order
	Mode        string `json:"mode,omitempty"`
	TangServers string `json:"tangServers,omitempty"` // a JSON list of {url, thumbprint}
}

// ExternalPlatform is given with platform type External.
type ExternalPlatform struct {
	PlatformName           string `json:"platformName,omitempty"`
	CloudControllerManager string `json:"cloudControllerManager,omitempty"`
}

// LoadBalancer says which load balancer has the VIPs.
type LoadBalancer struct {
	Type string `json:"type,omitempty"`
}

// LoadBalancerUserManaged is the LoadBalancer.Type other than ClusterManaged.
const LoadBalancerUserManaged = "UserManaged"

// AgentClusterInstallStatus is how far an installation got. How it ended stands in
// Conditions, never in DebugInfo.
type AgentClusterInstallStatus struct {
	Conditions                   []hubapi.Condition `json:"conditions,omitempty"`
	Progress                     *Progress          `json:"progress,omitempty"`
	ControlPlaneAgentsDiscovered int                `json:"controlPlaneAgentsDiscovered,omitempty"`
	ControlPlaneAgentsReady      int                `json:"controlPlaneAgentsReady,omitempty"`
	WorkerAgentsDiscovered       int                `json:"workerAgentsDiscovered,omitempty"`
	WorkerAgentsReady            int                `json:"workerAgentsReady,omitempty"`
	ConnectivityMajorityGroups   string             `json:"connectivityMajorityGroups,omitempty"`
	MachineNetwork               []MachineNetwork   `json:"machineNetwork,omitempty"`
	DebugInfo                    *DebugInfo         `json:"debugInfo,omitempty"`
	APIVIP                       string             `json:"apiVIP,omitempty"`
	APIVIPs                      []string           `json:"apiVIPs,omitempty"`
	IngressVIP                   string             `json:"ingressVIP,omitempty"`
	IngressVIPs                  []string           `json:"ingressVIPs,omitempty"`
	UserManagedNetworking        *bool              `json:"userManagedNetworking,omitempty"`
	PlatformType                 string             `json:"platformType,omitempty"`
	ValidationsInfo              hubapi.Validations `json:"validationsInfo,omitempty"`
}

// Progress is 0 to 100.
type Progress struct {
	TotalPercentage int64 `json:"totalPercentage"`
}

// DebugInfo is the service's own state of a cluster. The URLs hold tokens.
type DebugInfo struct {
	EventsURL string `json:"eventsURL"`
	LogsURL   string `json:"logsURL"`
	State     string `json:"state,omitempty"`
	StateInfo string `json:"stateInfo,omitempty"`
}
