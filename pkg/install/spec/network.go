package spec

// Network is the cluster's networks and what its hosts' networks share.
type Network struct {
	// Cluster network plug-in. Default is OVNKubernetes.
	Type NetworkType `yaml:"type,omitempty"`
	// Networks that the machines stand in, as CIDRs: one, or one IPv4 and one IPv6 for dual stack. The first decides the primary family.
	Machine []string `yaml:"machine,omitempty"`
	// Networks that pods get their addresses from.
	Cluster []ClusterNetwork `yaml:"cluster,omitempty"`
	// Networks that services get their addresses from, as CIDRs.
	Service []string `yaml:"service,omitempty"`
	// Virtual addresses of the API and of ingress.
	VIPs VIPs `yaml:"vips,omitempty"`
	// Who balances the load over the machines.
	LoadBalancer LoadBalancer `yaml:"loadBalancer,omitempty"`
	// Whether DNS, addresses and load balancing are provided outside of the cluster. Implied by platform none.
	UserManaged *bool `yaml:"userManaged,omitempty"`
	// MTU of the pod network, with OVN-Kubernetes. Goes into a manifest for the cluster network operator, cluster-network-03-config.yml.
	MTU int `yaml:"mtu,omitempty"`
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
	// Bond of hosts with a static network, its ports by the names in their interfaces. Hosts with a bond, interface or mac of their own do not take it.
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
