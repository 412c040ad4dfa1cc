package assisted

import (
	"encoding/json"
	"time"
)

// Cluster is what the controllers read of a cluster.
type Cluster struct {
	ID                  string       `json:"id"`
	Name                string       `json:"name"`
	Kind                string       `json:"kind"`
	Status              string       `json:"status"`
	StatusInfo          string       `json:"status_info"`
	StatusUpdatedAt     time.Time    `json:"status_updated_at"`
	ValidationsInfo     string       `json:"validations_info"`
	BaseDomain          string       `json:"base_dns_domain"`
	OpenshiftID         string       `json:"openshift_cluster_id"`
	ReleaseImage        string       `json:"ocp_release_image"`
	APIVIPs             []Address    `json:"api_vips"`
	IngressVIPs         []Address    `json:"ingress_vips"`
	MachineNetworks     []Network    `json:"machine_networks"`
	ClusterNetworks     []Network    `json:"cluster_networks"`
	ServiceNetworks     []Network    `json:"service_networks"`
	NetworkType         string       `json:"network_type"`
	ConnectivityGroups  string       `json:"connectivity_majority_groups"`
	ControlPlaneCount   int64        `json:"control_plane_count"`
	HighAvailability    string       `json:"high_availability_mode"`
	SSHPublicKey        string       `json:"ssh_public_key"`
	Tags                string       `json:"tags"`
	HTTPProxy           string       `json:"http_proxy"`
	HTTPSProxy          string       `json:"https_proxy"`
	NoProxy             string       `json:"no_proxy"`
	NtpSources          string       `json:"ntp_sources"`
	Hyperthreading      string       `json:"hyperthreading"`
	SchedulableMasters  bool         `json:"schedulable_masters"`
	UserManaged         bool         `json:"user_managed_networking"`
	Overrides           string       `json:"install_config_overrides"`
	ControllerLogsAt    time.Time    `json:"controller_logs_collected_at"`
	ControllerLogsBegan time.Time    `json:"controller_logs_started_at"`
	Platform            *Platform    `json:"platform"`
	LoadBalancer        *Balancer    `json:"load_balancer"`
	DiskEncryption      *Encryption  `json:"disk_encryption"`
	IgnitionEndpoint    *Endpoint    `json:"ignition_endpoint"`
	Progress            *Progress    `json:"progress"`
	Preparation         *Preparation `json:"last-installation-preparation"`
	Hosts               []Host       `json:"hosts"`
}

// Address is a virtual address.
type Address struct {
	IP string `json:"ip"`
}

// Network is one of a cluster's networks.
type Network struct {
	CIDR       string `json:"cidr"`
	HostPrefix int64  `json:"host_prefix,omitempty"`
}

// Platform is what a cluster runs on.
type Platform struct {
	Type     string    `json:"type"`
	External *External `json:"external,omitempty"`
}

// External is a platform that OpenShift does not know.
type External struct {
	PlatformName           string `json:"platform_name,omitempty"`
	CloudControllerManager string `json:"cloud_controller_manager,omitempty"`
}

// Balancer says who balances the load.
type Balancer struct {
	Type string `json:"type"`
}

// Encryption says which disks are encrypted, and how.
type Encryption struct {
	EnableOn    string `json:"enable_on,omitempty"`
	Mode        string `json:"mode,omitempty"`
	TangServers string `json:"tang_servers,omitempty"`
}

// Endpoint is where machines fetch their Ignition.
type Endpoint struct {
	URL           string `json:"url,omitempty"`
	CACertificate string `json:"ca_certificate,omitempty"`
}

// Progress is how far a cluster is.
type Progress struct {
	Total int64 `json:"total_percentage"`
}

// Preparation is what became of the last preparation.
type Preparation struct {
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// InfraEnv is what the controllers read of an infra-env.
type InfraEnv struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	ClusterID string    `json:"cluster_id"`
	Arch      string    `json:"cpu_architecture"`
	Version   string    `json:"openshift_version"`
	Type      string    `json:"type"`
	URL       string    `json:"download_url"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Host is what the controllers read of a host.
type Host struct {
	ID               string        `json:"id"`
	InfraEnvID       string        `json:"infra_env_id"`
	ClusterID        string        `json:"cluster_id"`
	Kind             string        `json:"kind"`
	Status           string        `json:"status"`
	StatusInfo       string        `json:"status_info"`
	Role             string        `json:"role"`
	SuggestedRole    string        `json:"suggested_role"`
	Bootstrap        bool          `json:"bootstrap"`
	Hostname         string        `json:"requested_hostname"`
	DiskID           string        `json:"installation_disk_id"`
	DiskPath         string        `json:"installation_disk_path"`
	InstallerArgs    string        `json:"installer_args"`
	Ignition         string        `json:"ignition_config_overrides"`
	NodeLabels       string        `json:"node_labels"`
	Pool             string        `json:"machine_config_pool_name"`
	Fencing          string        `json:"fencing_credentials"`
	Inventory        string        `json:"inventory"`
	NtpSources       string        `json:"ntp_sources"`
	ValidationsInfo  string        `json:"validations_info"`
	LogsAt           time.Time     `json:"logs_collected_at"`
	CreatedAt        time.Time     `json:"created_at"`
	EndpointTokenSet bool          `json:"ignition_endpoint_token_set"`
	Progress         *HostProgress `json:"progress"`
	ProgressStages   []string      `json:"progress_stages"`
	ConnectionLost   bool          `json:"connection_timed_out"`
	StageUpdatedAt   time.Time     `json:"stage_updated_at"`
	RegisteredAt     time.Time     `json:"registered_at"`
	DiscoveryAgent   string        `json:"discovery_agent_version"`
	Raw              string        `json:"-"` // as it came, to see whether it changed
}

// HostProgress is how far a host is.
type HostProgress struct {
	Stage     string    `json:"current_stage"`
	Percent   int64     `json:"installation_percentage"`
	Info      string    `json:"progress_info"`
	StartedAt time.Time `json:"stage_started_at"`
	UpdatedAt time.Time `json:"stage_updated_at"`
	TimedOut  bool      `json:"stage_timed_out"`
}

// EffectiveRole is what the host will be: the service's suggestion until the user decides.
func (h *Host) EffectiveRole() string {
	if h.SuggestedRole != "" {
		return h.SuggestedRole
	}
	return h.Role
}

// Stage is the stage that the host has reached.
func (h *Host) Stage() string {
	if h.Progress == nil {
		return ""
	}
	return h.Progress.Stage
}

// Check is one validation as the service prints it.
type Check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// ChecksOf reads validations_info; nothing where it is empty or unreadable.
func ChecksOf(text string) map[string][]Check {
	var checks map[string][]Check
	if text == "" || json.Unmarshal([]byte(text), &checks) != nil {
		return nil
	}
	return checks
}

// Ignored are the validations that are not to hinder, each kind as a list in a
// text. The service shows them by themselves.
type Ignored struct {
	Cluster string `json:"cluster-validation-ids"`
	Host    string `json:"host-validation-ids"`
}
