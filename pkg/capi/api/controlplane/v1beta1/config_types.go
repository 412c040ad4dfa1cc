package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
)

// The tag same is the path of the field of cluster.yaml that has the same value. The providers copy it by this path.

// OpenshiftAssistedControlPlaneConfigSpec says what a cluster is. Most of it counts until
// the installation starts; what may be changed later is said with the field.
type OpenshiftAssistedControlPlaneConfigSpec struct {
	// clusterName is the first part of the cluster's DNS names, api.NAME.DOMAIN. Default is
	// the name of the Cluster. It cannot be changed once the service knows the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=54
	ClusterName string `json:"clusterName,omitempty"`

	// baseDomain is the DNS domain that the cluster's name is put before, as example.com. An
	// OpenshiftAssistedControlPlane needs it; in a template it may come by a patch. It cannot
	// be changed once the service knows the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	BaseDomain string `json:"baseDomain,omitempty" same:"spec.baseDomain"`

	// pullSecretRef names a Secret of type kubernetes.io/dockerconfigjson in the same
	// namespace, with the credentials of the image registries. Default is an empty one, which
	// is enough for OKD.
	// +optional
	PullSecretRef *corev1.LocalObjectReference `json:"pullSecretRef,omitempty"`

	// sshAuthorizedKey holds public keys, one a line, that may log in as user core of
	// installed machines.
	// +optional
	SSHAuthorizedKey string `json:"sshAuthorizedKey,omitempty"`

	// releaseImage is the release image to install, by digest, as
	// quay.io/openshift-release-dev/ocp-release@sha256:… Default is that of
	// distributionVersion, whose digest is looked up.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ReleaseImage string `json:"releaseImage,omitempty" same:"spec.openshift.releaseImage"`

	// imageSetRef names the ClusterImageSet of a hub to install. Default is one that is made
	// for the release image.
	// +optional
	ImageSetRef *corev1.LocalObjectReference `json:"imageSetRef,omitempty"`

	// cpuArchitecture of the cluster: x86_64, arm64 (or aarch64), ppc64le, s390x, or multi
	// for machines of several. Default is that of the machines.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	CPUArchitecture string `json:"cpuArchitecture,omitempty"`

	// platform is the infrastructure that the cluster integrates with. Default is BareMetal
	// where there are virtual addresses, and otherwise None.
	// +optional
	Platform Platform `json:"platform,omitempty,omitzero"`

	NetworkSpec `json:",inline"`

	// proxy is the HTTP proxy of the cluster.
	// +optional
	Proxy *bootstrapv1.Proxy `json:"proxy,omitempty"`

	// diskEncryption is the encryption of the disks that the cluster is installed on.
	// +optional
	DiskEncryption *DiskEncryption `json:"diskEncryption,omitempty"`

	// hyperthreading says on which machines hyperthreading is used. Default is all.
	// +optional
	Hyperthreading RoleSet `json:"hyperthreading,omitempty" same:"spec.hyperthreading[]"`

	// mastersSchedulable says whether ordinary workloads may run on control plane machines.
	// They always may with fewer than two workers.
	// +optional
	MastersSchedulable *bool `json:"mastersSchedulable,omitempty" same:"spec.schedulableControlPlane"`

	// fips says whether the cluster runs in FIPS mode.
	// +optional
	FIPS *bool `json:"fips,omitempty" same:"spec.fips"`

	// arbiterReplicas is how many arbiters the cluster has: small machines that are the third
	// vote beside two control plane machines. Their Machines come of a MachineDeployment
	// whose template gives them the label oaictl.io/role: arbiter. Default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	ArbiterReplicas *int32 `json:"arbiterReplicas,omitempty"`

	// fencing says how two control plane machines without an arbiter power each other off.
	// +optional
	Fencing *Fencing `json:"fencing,omitempty"`

	// workerWait is how long workers that are not required are waited for once the control
	// plane's hosts are ready, as 30m. Then the installation starts with those that are
	// ready, and the others join it later. Default is 10m.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^-?([0-9]+([.][0-9]+)?(h|m|s|ms|us|ns))+$|^0$')",message="write a duration, as 10m or 1h30m"
	WorkerWait *metav1.Duration `json:"workerWait,omitempty"`

	// requiredWorkers is how many workers have to be ready for the installation to start.
	// Default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RequiredWorkers *int32 `json:"requiredWorkers,omitempty"`

	// holdInstallation says whether everything is made ready and the installation is not
	// started. It may be changed at any time.
	// +optional
	HoldInstallation bool `json:"holdInstallation,omitempty"`

	// imageRegistryRef names a ConfigMap in the same namespace with registries.conf and
	// ca-bundle.crt: mirrors, and the certificates of their registries.
	// +optional
	ImageRegistryRef *corev1.LocalObjectReference `json:"imageRegistryRef,omitempty"`

	// mirrors stand in for registries, in addition to those of imageRegistryRef.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Mirrors []Mirror `json:"mirrors,omitempty"`

	// additionalTrustBundle holds certificates (PEM) that the cluster trusts besides the
	// well-known ones.
	// +optional
	AdditionalTrustBundle string `json:"additionalTrustBundle,omitempty"`

	// manifestsConfigMapRefs name ConfigMaps in the same namespace whose values are further
	// manifests, by file name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ManifestsConfigMapRefs []ManifestsConfigMapReference `json:"manifestsConfigMapRefs,omitempty"`

	// capabilities are the optional components of OpenShift that are enabled.
	// +optional
	Capabilities Capabilities `json:"capabilities,omitempty,omitzero"`

	// operators are installed with the cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Operators []Operator `json:"operators,omitempty"`

	// bundles of operators are installed with the cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Bundles []Bundle `json:"bundles,omitempty"`

	// ignitionEndpoint is where machines fetch their Ignition from that join the cluster.
	// Default is the cluster's own machine config server.
	// +optional
	IgnitionEndpoint *IgnitionEndpoint `json:"ignitionEndpoint,omitempty"`

	// ignoreValidations are checks of the service that may fail.
	// +optional
	IgnoreValidations IgnoreValidations `json:"ignoreValidations,omitempty,omitzero"`

	// installConfigOverrides are fields of install-config.yaml as JSON text, merged deeply
	// over the generated one; lists are replaced.
	// +optional
	InstallConfigOverrides string `json:"installConfigOverrides,omitempty"`

	// tags that the service keeps with the cluster, where it is reached over REST.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Tags []string `json:"tags,omitempty" same:"metadata.tags"`
}

// PlatformType is an infrastructure that a cluster integrates with.
// +kubebuilder:validation:Enum=BareMetal;None;VSphere;Nutanix;External
type PlatformType string

// The platforms that the service installs.
const (
	BareMetalPlatform PlatformType = "BareMetal"
	NonePlatform      PlatformType = "None"
	VSpherePlatform   PlatformType = "VSphere"
	NutanixPlatform   PlatformType = "Nutanix"
	ExternalPlatform  PlatformType = "External"
)

// Platform is the infrastructure that a cluster integrates with.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="has(self.external) == (has(self.type) && self.type == 'External')",message="external is for type External, which needs it: set both or neither"
type Platform struct {
	// type of infrastructure.
	// +required
	Type PlatformType `json:"type,omitempty"`
	// external holds the details of type External.
	// +optional
	External *ExternalPlatformSpec `json:"external,omitempty"`
}

// ExternalPlatformSpec describes an infrastructure that OpenShift has no built-in
// integration for.
type ExternalPlatformSpec struct {
	// platformName is the name of the infrastructure, as oci.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PlatformName string `json:"platformName,omitempty" same:"spec.platform.external.name"`
	// cloudControllerManager is External if a cloud controller manager will be installed.
	// Default is none.
	// +optional
	// +kubebuilder:validation:Enum=External
	CloudControllerManager string `json:"cloudControllerManager,omitempty" same:"spec.platform.external.cloudControllerManager"`
}

// RoleSet is a set of roles, in the words of the service.
// +kubebuilder:validation:Enum=none;all;masters;arbiters;workers;"masters,arbiters";"masters,workers";"arbiters,workers";"masters,arbiters,workers"
type RoleSet string

// DiskEncryption is LUKS encryption of installation disks.
type DiskEncryption struct {
	// enableOn says on which machines. Default is none.
	// +optional
	EnableOn RoleSet `json:"enableOn,omitempty"`
	// mode is where the key is kept: tpmv2 for the machine's TPM 2.0, tang for Tang servers.
	// +optional
	// +kubebuilder:validation:Enum=tpmv2;tang
	Mode string `json:"mode,omitempty"`
	// tangServers are the servers for mode tang, as JSON text:
	// [{"url":"http://tang.example.com:7500","thumbprint":"…"}].
	// +optional
	TangServers string `json:"tangServers,omitempty"`
}

// Fencing says how two control plane machines power each other off by their BMCs.
type Fencing struct {
	// credentials of the BMCs, by machine. A machine that is not among them is fenced by
	// what its BareMetalHost says of its BMC.
	// +optional
	// +listType=map
	// +listMapKey=hostname
	// +kubebuilder:validation:MaxItems=2
	Credentials []FencingCredentials `json:"credentials,omitempty"`
}

// FencingCredentials are those of a machine's BMC.
type FencingCredentials struct {
	// hostname of the machine.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Hostname string `json:"hostname,omitempty"`
	// secretRef names a Secret in the same namespace with the keys address (as
	// redfish+https://10.0.0.1/redfish/v1/Systems/1), username and password.
	// +required
	SecretRef corev1.LocalObjectReference `json:"secretRef,omitempty,omitzero"`
	// disableCertificateVerification says whether the BMC's certificate is not verified.
	// +optional
	DisableCertificateVerification bool `json:"disableCertificateVerification,omitempty"`
}

// Mirror stands in for a registry or a part of one.
type Mirror struct {
	// source is what is mirrored, as it is written in image references, as
	// quay.io/openshift-release-dev/ocp-release.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Source string `json:"source,omitempty"`
	// mirrors are where to pull from, in order of preference.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Mirrors []string `json:"mirrors,omitempty"`
	// insecure says whether the mirrors are reached without verified TLS while hosts are
	// discovered.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
}

// ManifestsConfigMapReference names a ConfigMap with manifests.
type ManifestsConfigMapReference struct {
	// name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// Capabilities are the optional components of OpenShift that are enabled.
type Capabilities struct {
	// baselineCapability is the set to start from: None, vCurrent, or that of a version, as
	// v4.14. Default is None on platform BareMetal, and otherwise vCurrent.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	BaselineCapability string `json:"baselineCapability,omitempty"`
	// additionalEnabledCapabilities are enabled in addition. Default on platform BareMetal is
	// what a cluster there needs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	AdditionalEnabledCapabilities []string `json:"additionalEnabledCapabilities,omitempty"`
}

// Operator is an operator to install with the cluster.
type Operator struct {
	// name by which the service knows it, as lvm, cnv, odf or mce.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// properties of the operator as JSON text, passed on as they are.
	// +optional
	Properties string `json:"properties,omitempty"`
}

// Bundle is a set of operators.
type Bundle struct {
	// name of the bundle, as virtualization or openshift-ai.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty" same:"spec.bundles[].id"`
	// optional are those of the bundle's optional operators that are wanted too.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Optional []string `json:"optional,omitempty" same:"spec.bundles[].optional"`
}

// IgnitionEndpoint is where joining machines fetch their Ignition from.
type IgnitionEndpoint struct {
	// url of the server, as https://api-int.lab.example.com:22623/config.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// caCertificateRef names a Secret in the same namespace whose key tls.crt holds the
	// certificate that the server is trusted by.
	// +optional
	CACertificateRef *corev1.LocalObjectReference `json:"caCertificateRef,omitempty"`
}

// IgnoreValidations are checks of the service that may fail.
type IgnoreValidations struct {
	// cluster are ids of cluster validations, or all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Cluster []string `json:"cluster,omitempty" same:"spec.ignoreValidations.cluster"`
	// hosts are ids of host validations, or all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	Hosts []string `json:"hosts,omitempty" same:"spec.ignoreValidations.hosts"`
}
