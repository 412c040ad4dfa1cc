package v1beta1

// NetworkSpec is what a cluster's networks are.
type NetworkSpec struct {
	// apiVIPs are the virtual addresses of the API: one, or one of each family.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	APIVIPs []string `json:"apiVIPs,omitempty" same:"spec.network.vips.api"`

	// ingressVIPs are the virtual addresses of ingress, as many as apiVIPs.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	IngressVIPs []string `json:"ingressVIPs,omitempty" same:"spec.network.vips.ingress"`

	// networkType is the cluster network plug-in. Default is OVNKubernetes.
	// +optional
	// +kubebuilder:validation:Enum=OVNKubernetes;Calico;Cilium;CiscoACI;OpenShiftSDN;None
	NetworkType string `json:"networkType,omitempty" same:"spec.network.type"`

	// machineNetwork are the networks that the machines stand in: one, or one of each family.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	MachineNetwork []MachineNetworkEntry `json:"machineNetwork,omitempty"`

	// clusterNetwork are the networks that pods get their addresses from. Default is
	// spec.clusterNetwork.pods of the Cluster, else 10.128.0.0/14.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ClusterNetwork []ClusterNetworkEntry `json:"clusterNetwork,omitempty"`

	// serviceNetwork are the networks that services get their addresses from. Default is
	// spec.clusterNetwork.services of the Cluster, else 172.30.0.0/16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	ServiceNetwork []string `json:"serviceNetwork,omitempty" same:"spec.network.service"`

	// userManagedNetworking says whether DNS, addresses and load balancing are provided
	// outside of the cluster. Platform None implies it.
	// +optional
	UserManagedNetworking *bool `json:"userManagedNetworking,omitempty" same:"spec.network.userManaged"`

	// loadBalancer says who balances the load over the machines.
	// +optional
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`

	// mtu of the pod network, with OVNKubernetes.
	// +optional
	// +kubebuilder:validation:Minimum=576
	// +kubebuilder:validation:Maximum=65535
	MTU int32 `json:"mtu,omitempty" same:"spec.network.mtu"`

	// ntpSources are the only NTP servers to use, instead of those that DHCP names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	NTPSources []string `json:"ntpSources,omitempty" same:"spec.network.ntp"`

	// additionalNTPSources are NTP servers in addition to those that DHCP names. They are
	// added to those of every OpenshiftAssistedConfig.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	AdditionalNTPSources []string `json:"additionalNTPSources,omitempty" same:"spec.network.defaults.ntp"`
}

// MachineNetworkEntry is a network that machines stand in.
type MachineNetworkEntry struct {
	// cidr is the network, as 192.168.127.0/24.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"cidr,omitempty" same:"spec.network.machine[]"`
}

// ClusterNetworkEntry is a network that pods get their addresses from.
type ClusterNetworkEntry struct {
	// cidr is the network, as 10.128.0.0/14.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"cidr,omitempty" same:"spec.network.cluster[].cidr"`
	// hostPrefix is the prefix length of the part that each node gets. Default is 23 for
	// IPv4 and 64 for IPv6.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	HostPrefix int32 `json:"hostPrefix,omitempty" same:"spec.network.cluster[].hostPrefix"`
}

// LoadBalancer says who balances the load over the machines.
type LoadBalancer struct {
	// type is ClusterManaged or UserManaged.
	// +required
	Type LoadBalancerType `json:"type,omitempty" same:"spec.network.loadBalancer"`
}

// LoadBalancerType is who balances the load over the machines.
// +kubebuilder:validation:Enum=ClusterManaged;UserManaged
type LoadBalancerType string

// The kinds of load balancer.
const (
	ClusterManagedLoadBalancer LoadBalancerType = "ClusterManaged"
	UserManagedLoadBalancer    LoadBalancerType = "UserManaged"
)
