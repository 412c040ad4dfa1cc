package model

import "github.com/openshift/assisted-service/models"

// InfraEnv is what the service keeps of an infra-env.
type InfraEnv struct {
	PrintedInfraEnv
	PullSecret string
	Static     []StaticHost
	SigningKey []byte // of the image's address
	// ProxyAsked are the fields of the proxy that was last asked for, joined.
	ProxyAsked *string
}

// PullSecret is what opens image registries, by their names.
type PullSecret struct {
	Auths map[string]struct {
		Auth string `json:"auth"`
	} `json:"auths"`
}

// StaticHost is one machine's network configuration.
type StaticHost struct {
	Map         models.MacInterfaceMap `json:"mac_interface_map"`
	NetworkYAML string                 `json:"network_yaml"`
	Policy      string                 `json:"-"` // the configuration as machines read it
}

// PrintedInfraEnv is an infra-env as the API prints it.
type PrintedInfraEnv struct {
	AdditionalNtpSources   string  `json:"additional_ntp_sources,omitempty"`
	AdditionalTrustBundle  string  `json:"additional_trust_bundle,omitempty"`
	ClusterID              string  `json:"cluster_id,omitempty"`
	CPUArchitecture        string  `json:"cpu_architecture,omitempty"`
	CreatedAt              Micros  `json:"created_at"`
	DownloadURL            string  `json:"download_url,omitempty"`
	EmailDomain            string  `json:"email_domain,omitempty"`
	ExpiresAt              Millis  `json:"expires_at"`
	Href                   string  `json:"href"`
	ID                     string  `json:"id"`
	IgnitionConfigOverride string  `json:"ignition_config_override,omitempty"`
	KernelArguments        *string `json:"kernel_arguments,omitempty"`
	Kind                   string  `json:"kind"`
	Name                   string  `json:"name"`
	NetworkDiscoveryDelay  *int64  `json:"network_discovery_delay_seconds,omitempty"`
	NtpSources             string  `json:"ntp_sources,omitempty"`
	OpenshiftVersion       string  `json:"openshift_version,omitempty"`
	Proxy                  *Proxy  `json:"proxy,omitempty"`
	PullSecretSet          bool    `json:"pull_secret_set,omitempty"`
	RendezvousIP           string  `json:"rendezvous_ip,omitempty"`
	SSHAuthorizedKey       string  `json:"ssh_authorized_key,omitempty"`
	StaticNetworkConfig    string  `json:"static_network_config,omitempty"`
	Type                   string  `json:"type"`
	UpdatedAt              Micros  `json:"updated_at"`
	UserName               string  `json:"user_name,omitempty"`
}

// Proxy prints a field that was emptied as empty.
type Proxy models.Proxy

// Texts are the proxy's fields.
func (p *Proxy) Texts() (plain, secure, none string) {
	if p == nil {
		return "", "", ""
	}
	return Value(p.HTTPProxy), Value(p.HTTPSProxy), Value(p.NoProxy)
}

// None tells that no proxy is used.
func (p *Proxy) None() bool {
	plain, secure, none := p.Texts()
	return plain+secure+none == ""
}

// Value is what a pointer points at, or the zero value.
func Value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
