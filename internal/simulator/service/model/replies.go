package model

import "encoding/json"

// The replies of agents to their steps, as far as the service keeps them.

// NTPSource is a time server, and whether it could be used.
type NTPSource struct {
	Name  string `json:"source_name,omitempty"`
	State string `json:"source_state,omitempty"`
}

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

// ImageResult is what became of the pull of an image.
type ImageResult struct {
	DownloadRate float64 `json:"download_rate,omitempty"`
	Name         string  `json:"name,omitempty"`
	Result       string  `json:"result,omitempty"`
	SizeBytes    float64 `json:"size_bytes,omitempty"`
	Time         float64 `json:"time,omitempty"`
}

// DiskSpeedReply is how fast the installation disk is.
type DiskSpeedReply struct {
	SyncDuration int64  `json:"io_sync_duration"`
	Path         string `json:"path"`
}

// APICheckReply is whether an installed cluster hands out its Ignition.
type APICheckReply struct {
	DownloadError string `json:"download_error,omitempty"`
	Ignition      string `json:"ignition,omitempty"`
	IsSuccess     bool   `json:"is_success,omitempty"`
	URL           string `json:"url,omitempty"`
}

// TangReply is whether the Tang servers answered.
type TangReply struct {
	IsSuccess bool              `json:"is_success,omitempty"`
	Responses []json.RawMessage `json:"tang_server_response"`
}

// VipReply is the verdict on a virtual address.
type VipReply struct {
	VIP          string `json:"vip"`
	Type         string `json:"vip_type"`
	Verification string `json:"verification"`
}

// UpgradeReply is what became of the upgrade of an agent.
type UpgradeReply struct {
	AgentImage string `json:"agent_image"`
	Result     string `json:"result"`
}
