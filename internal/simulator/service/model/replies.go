package model

import "encoding/json"

// The replies to the steps, as far as the service keeps them.
type (
	NTPSource struct {
		Name  string `json:"source_name,omitempty"`
		State string `json:"source_state,omitempty"`
	}
	Resolution struct {
		CNAMEs     []string `json:"cnames"`
		DomainName string   `json:"domain_name"`
		IPv4       []string `json:"ipv4_addresses"`
		IPv6       []string `json:"ipv6_addresses"`
	}
	FreeNetwork struct {
		FreeAddresses []string `json:"free_addresses"`
		Network       string   `json:"network,omitempty"`
	}
	ImageResult struct {
		DownloadRate float64 `json:"download_rate,omitempty"`
		Name         string  `json:"name,omitempty"`
		Result       string  `json:"result,omitempty"`
		SizeBytes    float64 `json:"size_bytes,omitempty"`
		Time         float64 `json:"time,omitempty"`
	}
	DiskSpeedReply struct {
		SyncDuration int64  `json:"io_sync_duration"`
		Path         string `json:"path"`
	}
	APICheckReply struct {
		DownloadError string `json:"download_error,omitempty"`
		Ignition      string `json:"ignition,omitempty"`
		IsSuccess     bool   `json:"is_success,omitempty"`
		URL           string `json:"url,omitempty"`
	}
	TangReply struct {
		IsSuccess bool              `json:"is_success,omitempty"`
		Responses []json.RawMessage `json:"tang_server_response"`
	}
	VipReply struct {
		VIP          string `json:"vip"`
		Type         string `json:"vip_type"`
		Verification string `json:"verification"`
	}
	UpgradeReply struct {
		AgentImage string `json:"agent_image"`
		Result     string `json:"result"`
	}
)
