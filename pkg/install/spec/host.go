package spec

// Host is one machine.
type Host struct {
	// Name of the host in this file, in messages, and its hostname where none is given.
	Name string `yaml:"name"`
	// What the machine becomes.
	Role Role `yaml:"role,omitempty"`
	// By what the machine is recognised. All that is given has to fit, exactly.
	Match Match `yaml:"match,omitempty"`
	// What the InfraEnv that serves the host alone (match.infraEnv) has in place of the cluster's.
	Discovery *HostDiscovery `yaml:"discovery,omitempty"`
	// Hostname to set. Default is the name, except for a host of a pool (match.agent), which keeps its own; the empty text
	// leaves the machine the one it has.
	Hostname string `yaml:"hostname,omitempty"`
	// CPU architecture, where the cluster's is multi.
	Arch Arch `yaml:"arch,omitempty"`
	// The machine's management controller.
	BMC *BMC `yaml:"bmc,omitempty"`
	// Disk to install on, and disks to leave alone.
	Disk Disk `yaml:"disk,omitempty"`
	// Static network. Left out, the host uses DHCP.
	Net *HostNet `yaml:"net,omitempty"`
	// Labels of the node.
	Labels map[string]string `yaml:"labels,omitempty"`
	// Taints of the node.
	Taints []Taint `yaml:"taints,omitempty"`
	// Addresses that the node may have beside those of its inventory and network, for example after they moved to
	// br-ex; its serving certificate is approved for them.
	Addresses []string `yaml:"addresses,omitempty"`
	// Provider id of the node, for Cluster API; set once, a node that has another one is left alone, and that is
	// reported.
	ProviderID string `yaml:"providerID,omitempty"`
	// Machine config pool that the node joins, if not that of its role.
	MachineConfigPool string `yaml:"machineConfigPool,omitempty"`
	// Arguments for coreos-installer.
	InstallerArgs []string `yaml:"installerArgs,omitempty"`
	// Ignition that is merged into the host's own.
	Ignition *Document `yaml:"ignition,omitempty"`
	// How the machine is powered off by its peer, in a two-node cluster with fencing.
	Fencing *Fencing `yaml:"fencing,omitempty"`
	// What the host shows to the Ignition endpoint of the cluster.
	IgnitionEndpoint *HostIgnitionEndpoint `yaml:"ignitionEndpoint,omitempty"`
}

// Taint keeps pods that do not tolerate it away from a node.
type Taint struct {
	// Key of the taint, written as that of a label, for example example.com/dedicated.
	Key string `yaml:"key" json:"key"`
	// Value of the taint.
	Value string `yaml:"value,omitempty" json:"value,omitempty"`
	// What becomes of pods that do not tolerate it. With NoSchedule no more of them come, with PreferNoSchedule only
	// where there is no room elsewhere; with NoExecute those that are there have to go, too.
	Effect TaintEffect `yaml:"effect" json:"effect"`
}

// Match is how a machine is recognised.
type Match struct {
	// MAC address of any of its interfaces.
	MAC string `yaml:"mac,omitempty"`
	// Serial number of the system.
	Serial string `yaml:"serial,omitempty"`
	// UUID of the system, which is also the host's id in the service.
	UUID string `yaml:"uuid,omitempty"`
	// Hostname that the machine has by itself. Exactly; a prefix never matches.
	Hostname string `yaml:"hostname,omitempty"`
	// IP address of its management controller.
	BMC string `yaml:"bmc,omitempty"`
	// Name of an InfraEnv that serves this host alone: the host is the one machine that registers from its image. It is made under this name.
	InfraEnv string `yaml:"infraEnv,omitempty"`
	// Host of a pool that is reserved for this one, as POOL/HOST: the namespace and the name of its Agent on a hub;
	// with a REST service the name or id of its InfraEnv and its own id. It is bound to the cluster, and keeps what
	// others have set on it and this file does not say. On a hub it has to be approved by hand or by another
	// controller.
	Agent string `yaml:"agent,omitempty"`
}

// HostDiscovery is what the InfraEnv of one host has in place of the cluster's. What is left
// out is the cluster's.
type HostDiscovery struct {
	// Credentials of the image registries. Default is spec.pullSecret.
	PullSecret Source `yaml:"pullSecret,omitempty"`
	// Public keys that may log in as user core during discovery. Default is spec.sshKeys.
	SSHKeys []PublicSource `yaml:"sshKeys,omitempty"`
	// HTTP proxy during discovery. Default is spec.proxy.
	Proxy *Proxy `yaml:"proxy,omitempty"`
	// NTP servers: the only ones where spec.network.ntp is given, which is the default then, otherwise in addition to
	// those that DHCP names, in place of network.defaults.ntp.
	NTP []string `yaml:"ntp,omitempty"`
	// Kernel arguments that are appended when the discovery image boots. Default is spec.discovery.kernelArgs.
	KernelArgs []string `yaml:"kernelArgs,omitempty"`
	// Ignition that is merged into the discovery image's own. Default is spec.discovery.ignition.
	Ignition *Document `yaml:"ignition,omitempty"`
	// Certificates (PEM) to trust besides the well-known ones. Default is spec.registry.trustBundle.
	TrustBundle *PublicSource `yaml:"trustBundle,omitempty"`
	// OpenShift version whose live system is booted, for a host that is added to an installed cluster. Default is spec.discovery.osVersion.
	OSVersion string `yaml:"osVersion,omitempty"`
	// Which image: full carries everything, minimal fetches its root file system at boot. Default is spec.boot.image.
	Image ImageType `yaml:"image,omitempty"`
	// How long the host waits for its network before it is discovered, for example 30s. Default is spec.discovery.networkDelay.
	NetworkDelay Duration `yaml:"networkDelay,omitempty"`
}

// BMC is a machine's management controller.
type BMC struct {
	// Address: an IP, a host name, or a URL such as https://10.0.0.1/redfish/v1/Systems/1.
	Address string `yaml:"address"`
	// User and password. Default is network.defaults.bmc.credentials.
	Credentials Credentials `yaml:"credentials,omitempty"`
	// Id of the system, where the controller looks after several.
	System string `yaml:"system,omitempty"`
	// Whether the controller's certificate is not verified. Default is network.defaults.bmc.insecure.
	Insecure bool `yaml:"insecure,omitempty"`
	// Certificate (PEM) that the controller is trusted by.
	CA *PublicSource `yaml:"ca,omitempty"`
	// Whether the machine may be rebooted although it runs something: by default one that is on, and has not booted
	// this cluster's image, is left alone.
	RebootRunning bool `yaml:"rebootRunning,omitempty"`
	// How the hub treats the machine, with boot.method metal3.
	Metal3 *Metal3 `yaml:"metal3,omitempty"`
}

// Disk says which disk is installed on and which are left alone.
type Disk struct {
	// What the disk to install on has to be like. All that is given has to fit, and exactly one disk.
	Hints DiskHints `yaml:"hints,omitempty"`
	// Disks whose content is kept: device paths such as /dev/disk/by-id/wwn-0x5000c500a0b1c2d3.
	Keep []string `yaml:"keep,omitempty"`
}

// DiskHints are the root device hints of metal3.
type DiskHints struct {
	// Path of the device, for example /dev/sda or /dev/disk/by-path/pci-0000:01:00.0-nvme-1. Another link, such as one
	// by-id, is known where oaictl chooses the disk, not with boot.method metal3.
	DeviceName string `yaml:"deviceName,omitempty" json:"deviceName,omitempty"`
	// SCSI address, host:channel:target:lun.
	HCTL string `yaml:"hctl,omitempty" json:"hctl,omitempty"`
	// Part of the model. With boot.method metal3 its letter case counts, as for the vendor and the serial number.
	Model string `yaml:"model,omitempty" json:"model,omitempty"`
	// Part of the vendor.
	Vendor string `yaml:"vendor,omitempty" json:"vendor,omitempty"`
	// Serial number.
	SerialNumber string `yaml:"serialNumber,omitempty" json:"serialNumber,omitempty"`
	// Smallest size, in gigabytes of 1,000,000,000 bytes, as disks are sold.
	MinSizeGigabytes int `yaml:"minSizeGigabytes,omitempty" json:"minSizeGigabytes,omitempty"`
	// World-wide name. With boot.method metal3 as the machine reports it: 0x, and letters in lower case.
	WWN string `yaml:"wwn,omitempty" json:"wwn,omitempty"`
	// World-wide name with the vendor's extension. Not known with boot.method metal3.
	WWNWithExtension string `yaml:"wwnWithExtension,omitempty" json:"wwnWithExtension,omitempty"`
	// The vendor's extension of the world-wide name. Not known with boot.method metal3.
	WWNVendorExtension string `yaml:"wwnVendorExtension,omitempty" json:"wwnVendorExtension,omitempty"`
	// Whether the disk rotates.
	Rotational *bool `yaml:"rotational,omitempty" json:"rotational,omitempty"`
}

// Fencing is how a machine is powered off by its peer.
type Fencing struct {
	// Redfish address, for example redfish+https://10.0.0.1/redfish/v1/Systems/1. Default is bmc.address.
	Address string `yaml:"address,omitempty"`
	// User and password. Default is bmc.credentials.
	Credentials Credentials `yaml:"credentials,omitempty"`
	// Whether the controller's certificate is not verified. Default is bmc.insecure.
	Insecure *bool `yaml:"insecure,omitempty"`
}

// HostIgnitionEndpoint is what a host shows to the Ignition endpoint.
type HostIgnitionEndpoint struct {
	// Bearer token.
	Token *Source `yaml:"token,omitempty"`
	// HTTP headers.
	Headers map[string]string `yaml:"headers,omitempty"`
}

// Network is the cluster's networks and what its hosts' networks share.
type Network struct {
	// Cluster network plug-in. Default is OVNKubernetes.
	Type NetworkType `yaml:"type,omitempty" when:"install"`
	// Networks that the machines stand in, as CIDRs: one, or one IPv4 and one IPv6 for dual stack. The first decides the primary family.
	Machine []string `yaml:"machine,omitempty" when:"install"`
	// Networks that pods get their addresses from.
	Cluster []ClusterNetwork `yaml:"cluster,omitempty" when:"install"`
	// Networks that services get their addresses from, as CIDRs.
	Service []string `yaml:"service,omitempty" when:"install"`
	// Virtual addresses of the API and of ingress.
	VIPs VIPs `yaml:"vips,omitempty" when:"install"`
	// Who balances the load over the machines.
	LoadBalancer LoadBalancer `yaml:"loadBalancer,omitempty" when:"install"`
	// Whether DNS, addresses and load balancing are provided outside of the cluster. Implied by platform none.
	UserManaged *bool `yaml:"userManaged,omitempty" when:"install"`
	// MTU of the pod network, with OVN-Kubernetes. Goes into a manifest for the cluster network operator, cluster-network-03-config.yml.
	MTU int `yaml:"mtu,omitempty" when:"install"`
	// What hosts' networks have in common.
	Defaults NetworkDefaults `yaml:"defaults,omitempty"`
	// The only NTP servers to use, instead of those that DHCP names. For additional ones use defaults.ntp.
	NTP []string `yaml:"ntp,omitempty"`
}

// ClusterNetwork is a network that pods get their addresses from.
type ClusterNetwork struct {
	// The network, for example 10.128.0.0/14.
	CIDR string `yaml:"cidr" json:"cidr"`
	// Prefix length of the part that each node gets. Default is 23 for IPv4 and 64 for IPv6.
	HostPrefix int `yaml:"hostPrefix,omitempty" json:"hostPrefix,omitempty"`
}

// VIPs are addresses that move between machines.
type VIPs struct {
	// Address of the API: one, or one of each family.
	API []string `yaml:"api,omitempty"`
	// Address of ingress, as many as for the API.
	Ingress []string `yaml:"ingress,omitempty"`
}

// NetworkDefaults are taken by every host that says nothing else.
type NetworkDefaults struct {
	// IPv4 default gateway (or IPv6, for hosts with IPv6 only).
	Gateway string `yaml:"gateway,omitempty"`
	// IPv6 default gateway.
	Gateway6 string `yaml:"gateway6,omitempty"`
	// DNS servers.
	DNS []string `yaml:"dns,omitempty"`
	// DNS search domains.
	Search []string `yaml:"search,omitempty"`
	// NTP servers in addition to those that DHCP names.
	NTP []string `yaml:"ntp,omitempty"`
	// MTU of the hosts' interfaces.
	MTU int `yaml:"mtu,omitempty"`
	// Bond of hosts with a static network, its ports by the names in their interfaces. Hosts with a bond, interface or
	// mac of their own do not take it.
	Bond *Bond `yaml:"bond,omitempty"`
	// VLAN id, 1 to 4094, of the addresses of hosts with a static network.
	VLAN int `yaml:"vlan,omitempty"`
	// What hosts' BMCs have in common.
	BMC BMCDefaults `yaml:"bmc,omitempty"`
}

// BMCDefaults are taken by the bmc of every host that says nothing else.
type BMCDefaults struct {
	// User and password.
	Credentials Credentials `yaml:"credentials,omitempty"`
	// Whether the controllers' certificates are not verified.
	Insecure bool `yaml:"insecure,omitempty"`
}

// HostNet is a host's static network, in the short form or as nmstate.
type HostNet struct {
	// IPv4 address with prefix length, for example 192.168.10.11/24, or dhcp.
	IP string `yaml:"ip,omitempty"`
	// IPv6 address with prefix length, or auto for router advertisement and DHCPv6.
	IP6 string `yaml:"ip6,omitempty"`
	// IPv4 default gateway (IPv6 where the host has only that). Default is network.defaults.gateway.
	Gateway string `yaml:"gateway,omitempty"`
	// IPv6 default gateway. Default is network.defaults.gateway6.
	Gateway6 string `yaml:"gateway6,omitempty"`
	// DNS servers. Default is network.defaults.dns, where an address is static.
	DNS []string `yaml:"dns,omitempty"`
	// DNS search domains. Default is network.defaults.search, where an address is static.
	Search []string `yaml:"search,omitempty"`
	// Name for the network interface, where there is no bond. Default is the only one of interfaces, otherwise nic0.
	Interface string `yaml:"interface,omitempty"`
	// MAC address of that interface. Default is match.mac.
	MAC string `yaml:"mac,omitempty"`
	// Names and MAC addresses of the interfaces that a bond, or nmstate, speaks of.
	Interfaces []NIC `yaml:"interfaces,omitempty"`
	// Several interfaces used as one. Default is network.defaults.bond, where no single interface is named.
	Bond *Bond `yaml:"bond,omitempty"`
	// VLAN id, 1 to 4094, if the address belongs to a tagged network. Default is network.defaults.vlan, which 0 switches off.
	VLAN int `yaml:"vlan,omitempty"`
	// Further routes.
	Routes []Route `yaml:"routes,omitempty"`
	// MTU of the interfaces. Default is network.defaults.mtu.
	MTU int `yaml:"mtu,omitempty"`
	// The whole network in nmstate's own words, instead of the short form. Interface names are tied to machines by mac-address or interfaces.
	NMState *Document `yaml:"nmstate,omitempty"`
}

// NIC ties a name to a MAC address.
type NIC struct {
	// Name that the interface has in this file. The service replaces it by the machine's own.
	Name string `yaml:"name" json:"name"`
	// MAC address.
	MAC string `yaml:"mac" json:"mac"`
}

// Bond is several interfaces used as one.
type Bond struct {
	// Interfaces of the bond: names from interfaces, or MAC addresses.
	Ports []string `yaml:"ports"`
	// How the ports share the work. lacp is 802.3ad. Default is active-backup.
	Mode BondMode `yaml:"mode,omitempty"`
	// Name of the bond. Default is bond0.
	Name string `yaml:"name,omitempty"`
	// Options of the kernel's bonding driver, for example miimon. Default is miimon 100.
	Options map[string]string `yaml:"options,omitempty"`
}

// Route is a static route.
type Route struct {
	// Network that is reached, as CIDR.
	Destination string `yaml:"destination"`
	// Address of the next hop.
	Gateway string `yaml:"gateway"`
	// Metric; the smallest wins.
	Metric int `yaml:"metric,omitempty"`
}
