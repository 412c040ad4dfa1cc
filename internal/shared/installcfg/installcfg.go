// Package installcfg has the install-config as the service writes and reads it.
// The order of keys, the names of types and even the types without a name are the
// service's, since its refusals show them.
package installcfg

// InstallerConfigBaremetal is a whole install-config.
type InstallerConfigBaremetal struct {
	APIVersion string `json:"apiVersion"`
	BaseDomain string `json:"baseDomain"`
	Proxy      *Proxy `json:"proxy,omitempty"`
	Networking struct {
		NetworkType    string           `json:"networkType"`
		ClusterNetwork []ClusterNetwork `json:"clusterNetwork"`
		MachineNetwork []MachineNetwork `json:"machineNetwork,omitempty"`
		ServiceNetwork []string         `json:"serviceNetwork"`
	} `json:"networking"`
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Compute []struct {
		Hyperthreading string `json:"hyperthreading,omitempty"`
		Name           string `json:"name"`
		Replicas       int    `json:"replicas"`
	} `json:"compute"`
	ControlPlane struct {
		Hyperthreading string   `json:"hyperthreading,omitempty"`
		Name           string   `json:"name"`
		Replicas       int      `json:"replicas"`
		Fencing        *Fencing `json:"fencing,omitempty"`
	} `json:"controlPlane"`
	Arbiter               *Pool                `json:"arbiter,omitempty"`
	Platform              Platform             `json:"platform"`
	BootstrapInPlace      *BootstrapInPlace    `json:"bootstrapInPlace,omitempty"`
	FIPS                  bool                 `json:"fips"`
	CPUPartitioningMode   string               `json:"cpuPartitioningMode,omitempty"`
	PullSecret            string               `json:"pullSecret"`
	SSHKey                string               `json:"sshKey"`
	AdditionalTrustBundle string               `json:"additionalTrustBundle,omitempty"`
	TrustBundlePolicy     string               `json:"additionalTrustBundlePolicy,omitempty"`
	ImageContentSources   []ImageContentSource `json:"imageContentSources,omitempty"`
	ImageDigestSources    []ImageDigestSource  `json:"imageDigestSources,omitempty"`
	Capabilities          *Capabilities        `json:"capabilities,omitempty"`
	FeatureSet            string               `json:"featureSet,omitempty"`
	FeatureGates          []string             `json:"featureGates,omitempty"`
	OSImageStream         string               `json:"osImageStream,omitempty"`
}

// Pool is one role's machines.
type Pool = struct {
	Hyperthreading string `json:"hyperthreading,omitempty"`
	Name           string `json:"name"`
	Replicas       int    `json:"replicas"`
}

// Proxy is how nodes reach the outside.
type Proxy struct {
	HTTPProxy  string `json:"httpProxy,omitempty"`
	HTTPSProxy string `json:"httpsProxy,omitempty"`
	NoProxy    string `json:"noProxy,omitempty"`
}

// ClusterNetwork is a network of pods.
type ClusterNetwork struct {
	Cidr       string `json:"cidr"`
	HostPrefix int    `json:"hostPrefix"`
}

// MachineNetwork is a network of nodes.
type MachineNetwork struct {
	Cidr string `json:"cidr"`
}

// Fencing is how the nodes of a pair switch each other off.
type Fencing struct {
	Credentials []FencingCredential `json:"credentials,omitempty"`
}

// FencingCredential opens one node's BMC.
type FencingCredential struct {
	Hostname                string `json:"hostname,omitempty"`
	MacAddress              string `json:"macAddress,omitempty"`
	Address                 string `json:"address"`
	Username                string `json:"username"`
	Password                string `json:"password"`
	CertificateVerification string `json:"certificateVerification,omitempty"`
}

// Platform has one platform's settings.
type Platform struct {
	Baremetal *BareMetalInstallConfigPlatform `json:"baremetal,omitempty"`
	None      *PlatformNone                   `json:"none,omitempty"`
	Vsphere   *VsphereInstallConfigPlatform   `json:"vsphere,omitempty"`
	Nutanix   *NutanixInstallConfigPlatform   `json:"nutanix,omitempty"`
	External  *ExternalInstallConfigPlatform  `json:"external,omitempty"`
}

// PlatformNone has no settings.
type PlatformNone struct{}

// BareMetalInstallConfigPlatform is for machines of metal.
type BareMetalInstallConfigPlatform struct {
	ProvisioningNetwork          string        `json:"provisioningNetwork"`
	APIVIPs                      []string      `json:"apiVIPs,omitempty"`
	DeprecatedAPIVIP             string        `json:"apiVIP,omitempty"`
	IngressVIPs                  []string      `json:"ingressVIPs,omitempty"`
	DeprecatedIngressVIP         string        `json:"ingressVIP,omitempty"`
	Hosts                        []Host        `json:"hosts"`
	ClusterOSImage               string        `json:"clusterOSImage,omitempty"`
	ClusterProvisioningIP        string        `json:"clusterProvisioningIP,omitempty"`
	ProvisioningNetworkInterface string        `json:"provisioningNetworkInterface,omitempty"`
	ProvisioningNetworkCIDR      *string       `json:"provisioningNetworkCIDR,omitempty"`
	ProvisioningDHCPRange        string        `json:"provisioningDHCPRange,omitempty"`
	AdditionalNTPServers         []string      `json:"additionalNTPServers,omitempty"`
	LoadBalancer                 *LoadBalancer `json:"loadBalancer,omitempty"`
}

// LoadBalancer says which component balances the load of the API.
type LoadBalancer struct {
	Type string `json:"type,omitempty"`
}

// Host is one machine.
type Host struct {
	Name            string `json:"name"`
	Role            string `json:"role"`
	BootMACAddress  string `json:"bootMACAddress"`
	BootMode        string `json:"bootMode"`
	BMC             BMC    `json:"bmc"`
	HardwareProfile string `json:"hardwareProfile"`
}

// BMC is where a machine's power is switched.
type BMC struct {
	Username                       string `json:"username"`
	Password                       string `json:"password"`
	Address                        string `json:"address"`
	DisableCertificateVerification bool   `json:"disableCertificateVerification"`
}

// VsphereInstallConfigPlatform is for vSphere.
type VsphereInstallConfigPlatform struct {
	DeprecatedVCenter          string                 `json:"vCenter,omitempty"`
	DeprecatedUsername         string                 `json:"username,omitempty"`
	DeprecatedPassword         string                 `json:"password,omitempty"`
	DeprecatedDatacenter       string                 `json:"datacenter,omitempty"`
	DeprecatedDefaultDatastore string                 `json:"defaultDatastore,omitempty"`
	DeprecatedFolder           string                 `json:"folder,omitempty"`
	DeprecatedNetwork          string                 `json:"network,omitempty"`
	DeprecatedCluster          string                 `json:"cluster,omitempty"`
	DeprecatedAPIVIP           string                 `json:"apiVIP,omitempty"`
	DeprecatedIngressVIP       string                 `json:"ingressVIP,omitempty"`
	IngressVIPs                []string               `json:"ingressVIPs,omitempty"`
	APIVIPs                    []string               `json:"apiVIPs,omitempty"`
	FailureDomains             []VsphereFailureDomain `json:"failureDomains,omitempty"`
	VCenters                   []VsphereVCenter       `json:"vcenters,omitempty"`
	LoadBalancer               *LoadBalancer          `json:"loadBalancer,omitempty"`
}

// VsphereFailureDomain is a region and zone of vSphere.
type VsphereFailureDomain struct {
	Name     string                       `json:"name"`
	Region   string                       `json:"region"`
	Server   string                       `json:"server"`
	Topology VsphereFailureDomainTopology `json:"topology"`
	Zone     string                       `json:"zone"`
}

// VsphereFailureDomainTopology is where in vSphere a zone lies.
type VsphereFailureDomainTopology struct {
	ComputeCluster string   `json:"computeCluster"`
	Datacenter     string   `json:"datacenter"`
	Datastore      string   `json:"datastore"`
	Folder         string   `json:"folder,omitempty"`
	Networks       []string `json:"networks,omitempty"`
	ResourcePool   string   `json:"resourcePool,omitempty"`
}

// VsphereVCenter is a vCenter and how it is opened.
type VsphereVCenter struct {
	Datacenters []string `json:"datacenters"`
	Password    string   `json:"password"`
	Port        int32    `json:"port,omitempty"`
	Server      string   `json:"server"`
	Username    string   `json:"user"`
}

// NutanixInstallConfigPlatform is for Nutanix.
type NutanixInstallConfigPlatform struct {
	APIVIPs              []string              `json:"apiVIPs,omitempty"`
	DeprecatedAPIVIP     string                `json:"apiVIP,omitempty"`
	IngressVIPs          []string              `json:"ingressVIPs,omitempty"`
	DeprecatedIngressVIP string                `json:"ingressVIP,omitempty"`
	PrismCentral         NutanixPrismCentral   `json:"prismCentral"`
	PrismElements        []NutanixPrismElement `json:"prismElements"`
	SubnetUUIDs          []string              `json:"subnetUUIDs"`
}

// NutanixPrismCentral is a Prism Central and how it is opened.
type NutanixPrismCentral struct {
	Endpoint NutanixEndpoint `json:"endpoint"`
	Username string          `json:"username"`
	Password string          `json:"password"`
}

// NutanixEndpoint is an address.
type NutanixEndpoint struct {
	Address string `json:"address"`
	Port    int32  `json:"port"`
}

// NutanixPrismElement is a Prism Element.
type NutanixPrismElement struct {
	Endpoint NutanixEndpoint `json:"endpoint"`
	UUID     string          `json:"uuid"`
	Name     string          `json:"name"`
}

// ExternalInstallConfigPlatform has keys without names for JSON in the service, too.
type ExternalInstallConfigPlatform struct {
	PlatformName           string
	CloudControllerManager string
}

// BootstrapInPlace is for a single node.
type BootstrapInPlace struct {
	InstallationDisk string `json:"installationDisk,omitempty"`
}

// ImageContentSource is where images can be had, as older versions say it.
type ImageContentSource struct {
	Mirrors []string `json:"mirrors"`
	Source  string   `json:"source"`
}

// ImageDigestSource is where images can be had.
type ImageDigestSource struct {
	Source  string   `json:"source"`
	Mirrors []string `json:"mirrors,omitempty"`
}

// Capabilities are the parts of OpenShift that are installed.
type Capabilities struct {
	BaselineCapabilitySet         string   `json:"baselineCapabilitySet,omitempty"`
	AdditionalEnabledCapabilities []string `json:"additionalEnabledCapabilities,omitempty"`
}
