package model

import "slices"

// ConnectivityReport is an agent's answer to the connectivity-check step.
type ConnectivityReport struct {
	RemoteHosts []RemoteHost `json:"remote_hosts"`
}

// RemoteHost is what a host found out about another one.
type RemoteHost struct {
	HostID string      `json:"host_id,omitempty"`
	L2     []L2Result  `json:"l2_connectivity"`
	L3     []L3Result  `json:"l3_connectivity"`
	MTU    []MTUResult `json:"mtu_report"`
}

// L2Result is what an ARP or neighbour request found.
type L2Result struct {
	OutgoingIP  string `json:"outgoing_ip_address,omitempty"`
	OutgoingNIC string `json:"outgoing_nic,omitempty"`
	RemoteIP    string `json:"remote_ip_address,omitempty"`
	RemoteMAC   string `json:"remote_mac,omitempty"`
	Successful  bool   `json:"successful,omitempty"`
}

// L3Result is what pings found.
type L3Result struct {
	AverageRTT  float64 `json:"average_rtt_ms,omitempty"`
	OutgoingNIC string  `json:"outgoing_nic,omitempty"`
	PacketLoss  float64 `json:"packet_loss_percentage,omitempty"`
	RemoteIP    string  `json:"remote_ip_address,omitempty"`
	Successful  bool    `json:"successful,omitempty"`
}

// MTUResult is whether full packets arrived.
type MTUResult struct {
	Successful  bool   `json:"mtu_successful,omitempty"`
	OutgoingNIC string `json:"outgoing_nic,omitempty"`
	RemoteIP    string `json:"remote_ip_address,omitempty"`
}

// SetConnectivity keeps a host's report.
func (h *Host) SetConnectivity(r ConnectivityReport) {
	printed := InString(r)
	if printed == h.Connectivity {
		return
	}
	h.Connectivity = printed
	h.Peers = make(map[string]RemoteHost, len(r.RemoteHosts))
	for _, remote := range r.RemoteHosts {
		h.Peers[remote.HostID] = remote
	}
}

// Reachability is what groups and collisions are computed from, anew only when it changes.
type Reachability struct {
	Least int
	Hosts []HostReachability
}

// HostReachability is the part of one host.
type HostReachability struct {
	ID, Connectivity, Inventory string
}

// Is tells whether two are the same.
func (r Reachability) Is(other Reachability) bool {
	return r.Least == other.Least && slices.Equal(r.Hosts, other.Hosts)
}

// Majority is which hosts of a cluster can reach most of the others.
type Majority struct {
	// Networks maps a network, or IPv4 and IPv6, to the hosts of its majority.
	Networks map[string][]string
	// L3 maps a host to its addresses that the others reach.
	L3   map[string][]string
	Text string
}

// The replies of agents to their steps, as far as the service keeps them.

// Resolution is what a name was resolved to.
type Resolution struct {
	CNAMEs     []string `json:"cnames"`
	DomainName string   `json:"domain_name"`
	IPv4       []string `json:"ipv4_addresses"`
	IPv6       []string `json:"ipv6_addresses"`
}

// FreeNetwork is a network with the addresses at which nobody answered.
type FreeNetwork struct {
	FreeAddresses []string `json:"free_addresses"`
	Network       string   `json:"network,omitempty"`
}

// VipReply is the verdict on a virtual address.
type VipReply struct {
	VIP          string `json:"vip"`
	Type         string `json:"vip_type"`
	Verification string `json:"verification"`
}
