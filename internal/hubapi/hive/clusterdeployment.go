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
