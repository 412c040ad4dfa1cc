package spec

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

// Import is a cluster that is installed already, by whatever: hosts are added to
// it. The file then says nothing of how a cluster is installed.
type Import struct {
	// The kubeconfig of its administrator, by which a hub reaches it. A REST service takes none.
	Kubeconfig Source `yaml:"kubeconfig,omitempty"`
	// What the cluster calls itself: oc get clusterversion version -o jsonpath='{.spec.clusterID}'. A REST service needs it.
	ClusterID string `yaml:"clusterID,omitempty"`
}

// Imported says whether the cluster is installed already, by something else.
func (c *Cluster) Imported() bool { return c.Spec.Import != nil }

// IPXEScript is what a hub's iPXE script boots.
type IPXEScript string

// The kinds of iPXE script.
const (
	IPXEAlways    IPXEScript = "always"
	IPXEBootOrder IPXEScript = "boot-order"
)

// Values lists the kinds of iPXE script.
func (IPXEScript) Values() []string { return list(IPXEAlways, IPXEBootOrder) }

// IPFamily is a family of addresses.
type IPFamily string

// Values lists the families.
func (IPFamily) Values() []string { return []string{"v4", "v6"} }

// FirmwareMode is a firmware's way to boot, in metal3's words.
type FirmwareMode string

// Values lists the ways of firmware to boot.
func (FirmwareMode) Values() []string { return []string{"UEFI", "UEFISecureBoot", "legacy"} }

// CleaningMode is what metal3 wipes of a machine, in its words.
type CleaningMode string

// Values lists what metal3 wipes.
func (CleaningMode) Values() []string { return []string{"disabled", "metadata"} }
