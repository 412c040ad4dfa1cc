package spec

import "strings"

// The values that a document may have in its fields apiVersion and kind.
const (
	APIVersion = "oaictl.io/v1alpha1"
	Kind       = "Cluster"
	KindNodes  = "Nodes" // hosts for a cluster that is installed already
)

// Cluster is one OpenShift cluster to be installed on bare metal.
type Cluster struct {
	// Version of this format. Always "oaictl.io/v1alpha1".
	APIVersion string `yaml:"apiVersion"`
	// Kind of this document. Always "Cluster".
	Kind string `yaml:"kind"`
	// Name and tags of the cluster.
	Metadata Metadata `yaml:"metadata"`
	// What the cluster shall be.
	Spec ClusterSpec `yaml:"spec"`

	source   *source
	indexes  []int  // in the file, of the hosts that [Cluster.AtInstall] left
	nodes    bool   // it is of kind Nodes
	existing string // the cluster that such a document names
}

// Metadata names a cluster.
type Metadata struct {
	// Name of the cluster and first part of its DNS names: api.NAME.DOMAIN. At most 54 characters, a DNS label; dots only with platform none.
	Name string `yaml:"name"`
	// Tags that the service keeps with the cluster, next to the one that oaictl sets itself.
	Tags []string `yaml:"tags,omitempty"`
}

// The tag when:"install" marks a field that says how a cluster is installed. A file with spec.import must not have it.

// ClusterSpec is what a cluster shall be.
type ClusterSpec struct {
	// Which OpenShift is installed.
	OpenShift OpenShift `yaml:"openshift"`
	// DNS domain that the cluster's name is put before, for example example.com. At least two labels.
	BaseDomain string `yaml:"baseDomain"`
	// Credentials of the image registries, the JSON file from console.redhat.com.
	PullSecret Source `yaml:"pullSecret"`
	// Public keys that may log in as user core, during discovery and afterwards.
	SSHKeys []PublicSource `yaml:"sshKeys,omitempty"`
	// How many machines of which role. Derived from the roles of the hosts where it is left out.
	Topology Topology `yaml:"topology,omitempty"`
	// Networks, virtual addresses and what the hosts' networks have in common.
	Network Network `yaml:"network,omitempty"`
	// Infrastructure that the cluster integrates with. Default is baremetal, and none for a single node.
	Platform Platform `yaml:"platform,omitempty" when:"install"`
	// HTTP proxy of hosts and cluster.
	Proxy Proxy `yaml:"proxy,omitempty"`
	// Encryption of the disks that the cluster is installed on.
	DiskEncryption *DiskEncryption `yaml:"diskEncryption,omitempty" when:"install"`
	// Roles whose machines use hyperthreading: all, none, or a list of control-plane, worker and arbiter.
	Hyperthreading RoleSet `yaml:"hyperthreading,omitempty" when:"install"`
	// Whether ordinary workloads may run on control plane machines. Always so with fewer than two workers.
	SchedulableControlPlane *bool `yaml:"schedulableControlPlane,omitempty" when:"install"`
	// Whether the cluster runs in FIPS mode. Goes into the install-config.
	FIPS *bool `yaml:"fips,omitempty" when:"install"`
	// How the hosts get to boot the discovery image, and which one.
	Boot Boot `yaml:"boot,omitempty"`
	// How hosts and cluster are brought together.
	InfraEnv InfraEnv `yaml:"infraEnv,omitempty"`
	// Whether machines that this file does not name may be installed, and so wiped. Required where there is no hosts list.
	AcceptUnknownHosts bool `yaml:"acceptUnknownHosts,omitempty"`
	// Whether the installation is held: everything is made ready, and it is started only once this is false or left out.
	Hold bool `yaml:"hold,omitempty" when:"install"`
	// The machines, one by one.
	Hosts []Host `yaml:"hosts,omitempty"`
	// Mirror registries and the certificates to trust.
	Registry Registry `yaml:"registry,omitempty"`
	// Extra manifests: files and folders (of *.yaml, *.yml, *.json), or objects with more detail.
	Manifests []ManifestSource `yaml:"manifests,omitempty" when:"install"`
	// Operators to install with the cluster.
	Operators []Operator `yaml:"operators,omitempty" when:"install"`
	// Bundles of operators to install with the cluster, such as virtualization or openshift-ai.
	Bundles []Bundle `yaml:"bundles,omitempty" when:"install"`
	// Additions to the discovery image.
	Discovery Discovery `yaml:"discovery,omitempty"`
	// Where joining machines fetch their Ignition from, if not from the cluster's own machine config server.
	IgnitionEndpoint *IgnitionEndpoint `yaml:"ignitionEndpoint,omitempty"`
	// A cluster that is installed already, by something else: oaictl add-node adds the hosts to it.
	Import *Import `yaml:"import,omitempty"`
	// What only a hub knows. Refused with a REST service.
	Hub Hub `yaml:"hub,omitempty"`
	// Validations of the service that shall not hold up the installation.
	IgnoreValidations IgnoreValidations `yaml:"ignoreValidations,omitempty" when:"install"`
	// Fields passed on as they are, for what this format has no word for. They win over everything else.
	Overrides Overrides `yaml:"overrides,omitempty"`
}

// OpenShift says which OpenShift is installed.
type OpenShift struct {
	// Version as quoted text: "4.20" for the newest 4.20.z, or "4.20.3" for exactly that.
	Version string `yaml:"version,omitempty"`
	// CPU architecture. With multi the hosts may differ. Default is the service's, x86_64.
	Arch Arch `yaml:"arch,omitempty"`
	// Release image to install, for example from a mirror; the service has to know it.
	ReleaseImage string `yaml:"releaseImage,omitempty"`
	// ClusterImageSet on a hub. Not used with a REST service.
	ImageSet string `yaml:"imageSet,omitempty"`
}

// Topology says how many machines of which role a cluster has.
type Topology struct {
	// Control plane machines: 1 (single node), 2 (with an arbiter or fencing), 3, 4 or 5.
	ControlPlane *int `yaml:"controlPlane,omitempty" when:"install"`
	// Worker machines. A single node has none when it is installed: with required.workers 0 they are added afterwards.
	Workers *int `yaml:"workers,omitempty"`
	// Arbiter machines: a small third vote beside two control plane machines.
	Arbiters *int `yaml:"arbiters,omitempty" when:"install"`
	// Two control plane machines that power each other off through their BMCs, without an arbiter.
	Fencing bool `yaml:"fencing,omitempty" when:"install"`
	// How many workers have to be there for the installation to count as complete.
	Required Required `yaml:"required,omitempty" when:"install"`
}

// Required tells required workers from optional ones.
type Required struct {
	// Workers that have to join. The others may come later and hold nothing up. Default is all of them.
	Workers *int `yaml:"workers,omitempty"`
	// How long to wait for workers that are not required, for example 60m.
	Within Duration `yaml:"within,omitempty"`
}

// Platform is the infrastructure that a cluster integrates with. A plain word is its type.
type Platform struct {
	// Kind of infrastructure.
	Type PlatformType `yaml:"type,omitempty" json:"type,omitempty"`
	// Details of platform external.
	External *ExternalPlatform `yaml:"external,omitempty" json:"external,omitempty"`
}

// onOracleCloud reports whether the platform is Oracle's cloud, which starts machines from the minimal image only.
func (p *Platform) onOracleCloud() bool {
	return p.Type == External && p.External != nil && p.External.Name == "oci"
}

// ExternalPlatform describes an infrastructure that OpenShift has no built-in
// integration for.
type ExternalPlatform struct {
	// Name of the infrastructure, for example oci.
	Name string `yaml:"name" json:"name"`
	// External if a cloud controller manager will be installed, otherwise empty.
	CloudControllerManager string `yaml:"cloudControllerManager,omitempty" json:"cloudControllerManager,omitempty"`
}

// Proxy is the HTTP proxy of hosts and cluster.
type Proxy struct {
	// Proxy for http:// addresses.
	HTTP ProxyURL `yaml:"http,omitempty"`
	// Proxy for https:// addresses.
	HTTPS ProxyURL `yaml:"https,omitempty"`
	// Host names, .domains, addresses and networks that are reached without the proxy. A list, or text with commas. Its
	// former key, no, is taken as well; tools for YAML 1.1 make false of that.
	No StringList `yaml:"noProxy,omitempty" former:"no"`
}

// DiskEncryption is LUKS encryption of installation disks.
type DiskEncryption struct {
	// Where the key is kept: tpm for the machine's TPM 2.0, tang for Tang servers.
	Mode EncryptionMode `yaml:"mode" json:"mode"`
	// Roles whose machines are encrypted: all, none, or a list of control-plane, worker and arbiter. Default is all.
	On RoleSet `yaml:"enableOn,omitempty" former:"on" json:"on,omitempty"`
	// Tang servers, for mode tang.
	Tang []TangServer `yaml:"tang,omitempty" json:"tang,omitempty"`
}

// TangServer is a key server for disk encryption.
type TangServer struct {
	// Address of the server, for example http://tang.example.com:7500.
	URL string `yaml:"url" json:"url"`
	// Thumbprint of the server's signing key, as `tang-show-keys` prints it.
	Thumbprint string `yaml:"thumbprint" json:"thumbprint"`
}

// Boot says how hosts get to boot the discovery image.
type Boot struct {
	// How the image gets to the machines.
	Method BootMethod `yaml:"method,omitempty"`
	// Which image: full carries everything, minimal fetches its root file system at boot. Default is the service's.
	Image ImageType `yaml:"image,omitempty"`
}

// InfraEnv says how hosts and cluster are brought together.
type InfraEnv struct {
	// early: hosts belong to the cluster from their first boot. late: hosts register in a pool and are bound to the cluster later.
	Bind BindMode `yaml:"bind,omitempty"`
	// Name or id of an InfraEnv that exists already, whose hosts are to be used.
	Ref string `yaml:"ref,omitempty"`
}

// Registry is about where images come from.
type Registry struct {
	// Mirrors to pull from instead of the source, by digest.
	Mirrors []Mirror `yaml:"mirrors,omitempty"`
	// Certificates (PEM) to trust besides the well-known ones.
	TrustBundle *PublicSource `yaml:"trustBundle,omitempty"`
}

// Mirror stands in for a registry or a part of one.
type Mirror struct {
	// What is mirrored, as it is written in image references, for example quay.io/openshift-release-dev/ocp-release.
	Source string `yaml:"source"`
	// Where to pull from, in order of preference.
	Mirrors []string `yaml:"mirrors"`
	// Whether the mirrors are reached without verified TLS while hosts are discovered.
	Insecure bool `yaml:"insecure,omitempty"`
}

// ManifestSource is an extra manifest, or a folder of them. A plain string is its path.
type ManifestSource struct {
	// File, or folder whose *.yaml, *.yml and *.json files are taken.
	Path string `yaml:"path,omitempty"`
	// Folder on the installation side. Default is openshift for what stands in a folder of that name, otherwise manifests.
	Folder ManifestFolder `yaml:"folder,omitempty"`
	// File name of a manifest that stands inline.
	Name string `yaml:"name,omitempty"`
	// Text of a manifest that stands inline.
	Content string `yaml:"content,omitempty"`
}

// Operator is an operator to install with the cluster.
type Operator struct {
	// Name by which the service knows it, for example lvm, cnv, odf, mce.
	Name string `yaml:"name" json:"name"`
	// Properties of the operator, passed on as they are.
	Properties map[string]any `yaml:"properties,omitempty" json:"properties,omitzero"`
}

// Bundle is a set of operators. A plain word is its id.
type Bundle struct {
	// Id of the bundle, for example virtualization or openshift-ai.
	ID string `yaml:"id" json:"id"`
	// Those of the bundle's optional operators that are wanted too.
	Optional []string `yaml:"optional,omitempty" json:"optional,omitempty"`
}

// Discovery holds additions to the discovery image.
type Discovery struct {
	// Kernel arguments that are appended when the discovery image boots.
	KernelArgs []string `yaml:"kernelArgs,omitempty"`
	// Ignition that is merged into the discovery image's own.
	Ignition *Document `yaml:"ignition,omitempty"`
	// How long a booted host waits for its network before it is discovered, for example 30s.
	NetworkDelay Duration `yaml:"networkDelay,omitempty"`
	// OpenShift version whose live system is booted, for machines of a pool (infraEnv.bind: late) and for those that
	// are added to an installed cluster. Default is the cluster's own.
	OSVersion string `yaml:"osVersion,omitempty"`
}

// IgnitionEndpoint is where joining machines fetch their Ignition from.
type IgnitionEndpoint struct {
	// Address of the machine config server, for example https://api-int.lab.example.com:22623/config.
	URL string `yaml:"url"`
	// Certificate (PEM) that the server is trusted by.
	CA *PublicSource `yaml:"ca,omitempty"`
}

// IgnoreValidations names checks of the service that may fail.
type IgnoreValidations struct {
	// Ids of cluster validations, or all.
	Cluster []string `yaml:"cluster,omitempty" json:"cluster,omitzero"`
	// Ids of host validations, or all.
	Hosts []string `yaml:"hosts,omitempty" json:"hosts,omitzero"`
}

// Overrides are passed on as they are.
type Overrides struct {
	// Fields of install-config.yaml, merged deeply over the generated one; lists are replaced.
	InstallConfig map[string]any `yaml:"installConfig,omitempty" when:"install"`
	// Fields of the service's InfraEnv request, in the service's own words.
	InfraEnv map[string]any `yaml:"infraEnv,omitempty"`
	// Fields of the service's host request, in the service's own words, for every host.
	Host map[string]any `yaml:"host,omitempty"`
}

// Hub holds what only a hub knows: labels and checks of its Agents, and what its
// Ironic and its iPXE script do. A REST service has none of it.
type Hub struct {
	// Labels that the Agent of every machine gets when it registers.
	AgentLabels map[string]string `yaml:"agentLabels,omitempty"`
	// Labels of the node of every machine, beside those that its host has.
	NodeLabels map[string]string `yaml:"nodeLabels,omitempty"`
	// Labels that Agents get for what their machine is. They concern every Agent of the namespace.
	Classifications []Classification `yaml:"classifications,omitempty"`
	// Ironic's agent in the discovery image, by which metal3 looks after machines.
	Ironic Ironic `yaml:"ironic,omitempty"`
	// What the hub's iPXE script boots: always the discovery image, or the disk unless the machine is to be discovered. Default is always.
	IPXE IPXEScript `yaml:"ipxe,omitempty"`
}

// Classification is a label that Agents get for what their machine is.
type Classification struct {
	// Name of the label, behind agentclassification.agent-install.openshift.io/.
	Label string `yaml:"label" json:"label"`
	// Value of the label.
	Value string `yaml:"value" json:"value"`
	// Question in the language of jq to the Agent's inventory, answered by true or false, for example ".cpu.count > 16".
	Query string `yaml:"query" json:"query"`
}

// Ironic is Ironic's agent in the discovery image.
type Ironic struct {
	// Whether the image has Ironic's agent in any case. Otherwise the hub puts it there where it boots machines with metal3.
	Agent bool `yaml:"agent,omitempty" json:"agent,omitempty"`
	// Container image of the agent. Default is that of the hub's release.
	Image string `yaml:"image,omitempty" json:"image,omitempty"`
	// Families of addresses by which the agent is reached: v4, v6 or both. Default is what the hub finds out.
	IPFamilies []IPFamily `yaml:"ipFamilies,omitempty" json:"ipFamilies,omitempty"`
}

// Metal3 is how a hub treats a machine that it boots.
type Metal3 struct {
	// Firmware that the machine boots with. Default is UEFI.
	BootMode FirmwareMode `yaml:"bootMode,omitempty"`
	// What metal3 wipes before and after the machine is used: disabled for nothing, which is the default, or metadata for partition tables.
	Cleaning CleaningMode `yaml:"cleaning,omitempty"`
	// Whether metal3 looks at the hardware before the machine is used. Default is the hub's.
	Inspect *bool `yaml:"inspect,omitempty"`
	// Whether metal3 goes on to look after the machine once it is installed, instead of letting go of it.
	KeepManaged bool `yaml:"keepManaged,omitempty"`
	// Whether Agent and node go when the BareMetalHost is deleted, after the node was drained.
	RemoveNode bool `yaml:"removeNode,omitempty"`
	// How long a node that is removed is drained, for example 10m.
	DrainTimeout Duration `yaml:"drainTimeout,omitempty"`
	// Labels of the machine's Agent, beside those of spec.hub.agentLabels.
	AgentLabels map[string]string `yaml:"agentLabels,omitempty"`
}

// Import is a cluster that was installed by other means: hosts are added to it. The file then says nothing of how a
// cluster is installed.
type Import struct {
	// The kubeconfig of its administrator, by which a hub reaches it. A REST service takes none.
	Kubeconfig Source `yaml:"kubeconfig,omitempty"`
	// What the cluster calls itself: kubectl get clusterversion version -o jsonpath='{.spec.clusterID}'. A REST service needs it.
	ClusterID string `yaml:"clusterID,omitempty"`
}

// Imported reports whether the cluster was installed by other means, and the service has to import it.
func (c *Cluster) Imported() bool { return c.Spec.Import != nil }

// IPXEScript is what a hub's iPXE script boots.
type IPXEScript string

// The kinds of iPXE script.
const (
	IPXEAlways    IPXEScript = "always"
	IPXEBootOrder IPXEScript = "boot-order"
)

// IPFamily is a family of addresses.
type IPFamily string

// FirmwareMode is a firmware's way to boot, in metal3's words.
type FirmwareMode string

// CleaningMode is what metal3 wipes of a machine, in its words.
type CleaningMode string

// HubNamespace is the namespace in which a hub has the cluster's objects where no other is asked for: the cluster's name,
// with dashes for dots, which a namespace cannot have (RFC 1123 label).
func (c *Cluster) HubNamespace() string { return strings.ReplaceAll(c.Metadata.Name, ".", "-") }
