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

	"github.com/oaictl/oaictl/internal/hubapi"
)

// ClusterDeployment is a cluster.
type ClusterDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              ClusterDeploymentSpec   `json:"spec,omitzero"`
	Status            ClusterDeploymentStatus `json:"status,omitzero"`
}

// ClusterDeploymentSpec is what Hive's webhook lets change in few fields only:
// clusterMetadata, installed, preserveOnDelete and others that an install does not
// touch.
type ClusterDeploymentSpec struct {
	// ClusterName and BaseDomain make the API's name, api.<clusterName>.<baseDomain>.
	ClusterName string   `json:"clusterName"`
	BaseDomain  string   `json:"baseDomain"`
	Platform    Platform `json:"platform"`
	// PullSecretRef names the Secret with the key .dockerconfigjson.
	PullSecretRef *hubapi.LocalReference `json:"pullSecretRef,omitempty"`
	// ClusterInstallRef names the AgentClusterInstall. The service ignores
	// ClusterDeployments without it.
	ClusterInstallRef  *ClusterInstallRef  `json:"clusterInstallRef,omitempty"`
	ControlPlaneConfig *ControlPlaneConfig `json:"controlPlaneConfig,omitempty"`
	// Installed is set by Hive's operator, and never goes back to false. nil is
	// nothing said.
	Installed *bool `json:"installed,omitempty"`
	// ClusterMetadata is set by Hive's operator from the AgentClusterInstall's.
	ClusterMetadata *ClusterMetadata `json:"clusterMetadata,omitempty"`
	// PreserveOnDelete has late-bound Agents deleted instead of returned to their
	// pool.
	PreserveOnDelete bool `json:"preserveOnDelete,omitempty"`
	// PowerState does nothing here: Hive has no actuator for these machines.
	PowerState string `json:"powerState,omitempty"`
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
	ClusterID string `json:"clusterID"`
	// InfraID is the service's id of the cluster.
	InfraID string `json:"infraID"`
	// AdminKubeconfigSecretRef names the Secret with the key kubeconfig.
	AdminKubeconfigSecretRef hubapi.LocalReference `json:"adminKubeconfigSecretRef"`
	// AdminPasswordSecretRef names the Secret with the keys username and password.
	AdminPasswordSecretRef *hubapi.LocalReference `json:"adminPasswordSecretRef,omitempty"`
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
	// ReleaseImage is a pull spec.
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

// AgentClusterInstall says how a ClusterDeployment is installed by an
// assisted-service.
type AgentClusterInstall struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              AgentClusterInstallSpec   `json:"spec"`
	Status            AgentClusterInstallStatus `json:"status,omitzero"`
}

// AgentClusterInstallSpec is frozen once the installation has started, but for
// ClusterMetadata and IgnitionEndpoint.
type AgentClusterInstallSpec struct {
	// ClusterDeploymentRef names the cluster, in the same namespace.
	ClusterDeploymentRef hubapi.LocalReference `json:"clusterDeploymentRef"`
	// ImageSetRef is the release. It can't be changed after creation.
	ImageSetRef *ClusterImageSetReference `json:"imageSetRef,omitempty"`
	// ClusterMetadata is written by the service, and by a client only to import a
	// cluster.
	ClusterMetadata *ClusterMetadata `json:"clusterMetadata,omitempty"`
	// ManifestsConfigMapRefs are ConfigMaps whose keys are names of manifest files.
	ManifestsConfigMapRefs []ManifestsConfigMapRef `json:"manifestsConfigMapRefs,omitempty"`
	// ManifestsConfigMapRef is an older form, not read where the list is given.
	ManifestsConfigMapRef *hubapi.LocalReference `json:"manifestsConfigMapRef,omitempty"`
	Networking            Networking             `json:"networking"`
	// SSHPublicKey is for the user core of the nodes.
	SSHPublicKey          string                `json:"sshPublicKey,omitempty"`
	ProvisionRequirements ProvisionRequirements `json:"provisionRequirements"`
	ControlPlane          *MachinePool          `json:"controlPlane,omitempty"`
	Compute               []MachinePool         `json:"compute,omitempty"`
	Arbiter               *MachinePool          `json:"arbiter,omitempty"`
	// APIVIPs and IngressVIPs have at most two addresses, IPv4 first. APIVIP and
	// IngressVIP are older forms that have to be the first of them.
	APIVIPs     []string `json:"apiVIPs,omitempty"`
	APIVIP      string   `json:"apiVIP,omitempty"`
	IngressVIPs []string `json:"ingressVIPs,omitempty"`
	IngressVIP  string   `json:"ingressVIP,omitempty"`
	// HoldInstallation keeps the installation from starting.
	HoldInstallation bool              `json:"holdInstallation,omitempty"`
	IgnitionEndpoint *IgnitionEndpoint `json:"ignitionEndpoint,omitempty"`
	DiskEncryption   *DiskEncryption   `json:"diskEncryption,omitempty"`
	// Proxy is that of the installed cluster.
	Proxy *hubapi.Proxy `json:"proxy,omitempty"`
	// PlatformType is BareMetal, None, VSphere, Nutanix or External; "" lets the
	// service choose.
	PlatformType string            `json:"platformType,omitempty"`
	External     *ExternalPlatform `json:"external,omitempty"`
	// MastersSchedulable lets ordinary pods onto the control plane.
	MastersSchedulable bool `json:"mastersSchedulable,omitempty"`
	// MirrorRegistryRef names the ConfigMap with registries.conf and ca-bundle.crt.
	MirrorRegistryRef *hubapi.FullReference `json:"mirrorRegistryRef,omitempty"`
	LoadBalancer      *LoadBalancer         `json:"loadBalancer,omitempty"`
	// NTPSources are the only time servers of the cluster, and exclude
	// additionalNTPSources of the InfraEnv.
	NTPSources []string `json:"ntpSources,omitempty"`
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
	// MachineNetwork has to be said for a single node and with user-managed
	// networking; otherwise it follows from the VIPs.
	MachineNetwork []MachineNetwork `json:"machineNetwork,omitempty"`
	ClusterNetwork []ClusterNetwork `json:"clusterNetwork,omitempty"`
	ServiceNetwork []string         `json:"serviceNetwork,omitempty"`
	// NetworkType is OpenShiftSDN, OVNKubernetes, CiscoACI, Cilium, Calico or None.
	NetworkType string `json:"networkType,omitempty"`
	// UserManagedNetworking is filled in by a webhook where it is nil.
	UserManagedNetworking *bool `json:"userManagedNetworking,omitempty"`
}

// MachineNetwork is a network that hosts are in.
type MachineNetwork struct {
	CIDR string `json:"cidr"`
}

// ClusterNetwork is a network of pods.
type ClusterNetwork struct {
	CIDR string `json:"cidr"`
	// HostPrefix is the prefix length of each node's part.
	HostPrefix int32 `json:"hostPrefix,omitempty"`
}

// ProvisionRequirements are the exact numbers of hosts with which the installation
// starts.
type ProvisionRequirements struct {
	ControlPlaneAgents int `json:"controlPlaneAgents"`
	WorkerAgents       int `json:"workerAgents,omitempty"`
	ArbiterAgents      int `json:"arbiterAgents,omitempty"`
}

// MachinePool is a kind of machine.
type MachinePool struct {
	// Name is master, worker or arbiter.
	Name string `json:"name"`
	// Hyperthreading is Enabled or Disabled.
	Hyperthreading string `json:"hyperthreading,omitempty"`
}

// IgnitionEndpoint is where hosts that are added fetch their Ignition.
type IgnitionEndpoint struct {
	URL string `json:"url,omitempty"`
	// CACertificateReference names the Secret with the key tls.crt.
	CACertificateReference *hubapi.FullReference `json:"caCertificateReference,omitempty"`
}

// DiskEncryption says which hosts' disks are encrypted, and how.
type DiskEncryption struct {
	// EnableOn is none, all, or some of masters, arbiters and workers, in this order with
	// commas.
	EnableOn string `json:"enableOn,omitempty"`
	// Mode is tpmv2 or tang.
	Mode string `json:"mode,omitempty"`
	// TangServers is a JSON list of {url, thumbprint}.
	TangServers string `json:"tangServers,omitempty"`
}

// ExternalPlatform is given with platform type External.
type ExternalPlatform struct {
	PlatformName string `json:"platformName,omitempty"`
	// CloudControllerManager is "" or External.
	CloudControllerManager string `json:"cloudControllerManager,omitempty"`
}

// LoadBalancer says whose the VIPs are.
type LoadBalancer struct {
	// Type is ClusterManaged or UserManaged.
	Type string `json:"type,omitempty"`
}

// Values of LoadBalancer.Type.
const (
	LoadBalancerClusterManaged = "ClusterManaged"
	LoadBalancerUserManaged    = "UserManaged"
)

// AgentClusterInstallStatus is how far an installation got. How it ended stands in
// Conditions, never in DebugInfo.
type AgentClusterInstallStatus struct {
	Conditions                   []hubapi.Condition `json:"conditions,omitempty"`
	Progress                     *Progress          `json:"progress,omitempty"`
	ControlPlaneAgentsDiscovered int                `json:"controlPlaneAgentsDiscovered,omitempty"`
	ControlPlaneAgentsReady      int                `json:"controlPlaneAgentsReady,omitempty"`
	WorkerAgentsDiscovered       int                `json:"workerAgentsDiscovered,omitempty"`
	WorkerAgentsReady            int                `json:"workerAgentsReady,omitempty"`
	// ConnectivityMajorityGroups is JSON: by network, and by address family, the
	// hosts that reach each other.
	ConnectivityMajorityGroups string           `json:"connectivityMajorityGroups,omitempty"`
	MachineNetwork             []MachineNetwork `json:"machineNetwork,omitempty"`
	// DebugInfo is nil until the service first looked at the cluster.
	DebugInfo             *DebugInfo         `json:"debugInfo,omitempty"`
	APIVIP                string             `json:"apiVIP,omitempty"`
	APIVIPs               []string           `json:"apiVIPs,omitempty"`
	IngressVIP            string             `json:"ingressVIP,omitempty"`
	IngressVIPs           []string           `json:"ingressVIPs,omitempty"`
	UserManagedNetworking *bool              `json:"userManagedNetworking,omitempty"`
	PlatformType          string             `json:"platformType,omitempty"`
	ValidationsInfo       hubapi.Validations `json:"validationsInfo,omitempty"`
}

// Progress is 0 to 100.
type Progress struct {
	TotalPercentage int64 `json:"totalPercentage"`
}

// DebugInfo is the service's own state of a cluster. The URLs hold tokens.
type DebugInfo struct {
	EventsURL string `json:"eventsURL"`
	// LogsURL is "" while there are no logs.
	LogsURL string `json:"logsURL"`
	// State is the service's word, such as adding-hosts, which a cluster that has
	// just been installed reaches at once.
	State     string `json:"state,omitempty"`
	StateInfo string `json:"stateInfo,omitempty"`
}
