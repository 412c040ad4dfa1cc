package model

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
