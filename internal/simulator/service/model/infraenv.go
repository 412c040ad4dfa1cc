package model

// InfraEnv is what the service keeps of an infra-env.
type InfraEnv struct {
	PrintedInfraEnv
	PullSecret string
	Static     []StaticHost
	SigningKey []byte // of the image's address
	// ProxyAsked are the fields of the proxy that was last asked for, joined.
	ProxyAsked *string
}

// StaticHost is one machine's network configuration.
type StaticHost struct {
	Map         []MACName `json:"mac_interface_map"`
	NetworkYAML string    `json:"network_yaml"`
	Policy      string    `json:"-"` // the configuration as machines read it
}

// MACName is the name that a configuration gives to a card.
type MACName struct {
	LogicalNIC string `json:"logical_nic_name"`
	MAC        string `json:"mac_address"`
}
