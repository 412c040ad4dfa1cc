package hub

import (
	"encoding/json"
	"time"
)

// restCluster is what the controllers read of a cluster.
type restCluster struct {
	ID                  string           `json:"id"`
	Name                string           `json:"name"`
	Kind                string           `json:"kind"`
	Status              string           `json:"status"`
	StatusInfo          string           `json:"status_info"`
	StatusUpdatedAt     time.Time        `json:"status_updated_at"`
	ValidationsInfo     string           `json:"validations_info"`
	BaseDomain          string           `json:"base_dns_domain"`
	OpenshiftID         string           `json:"openshift_cluster_id"`
	ReleaseImage        string           `json:"ocp_release_image"`
	APIVIPs             []restAddress    `json:"api_vips"`
	IngressVIPs         []restAddress    `json:"ingress_vips"`
	MachineNetworks     []restNetwork    `json:"machine_networks"`
	ClusterNetworks     []restNetwork    `json:"cluster_networks"`
	ServiceNetworks     []restNetwork    `json:"service_networks"`
	NetworkType         string           `json:"network_type"`
	ConnectivityGroups  string           `json:"connectivity_majority_groups"`
	ControlPlaneCount   int64            `json:"control_plane_count"`
	HighAvailability    string           `json:"high_availability_mode"`
	SSHPublicKey        string           `json:"ssh_public_key"`
	Tags                string           `json:"tags"`
	HTTPProxy           string           `json:"http_proxy"`
	HTTPSProxy          string           `json:"https_proxy"`
	NoProxy             string           `json:"no_proxy"`
	NtpSources          string           `json:"ntp_sources"`
	Hyperthreading      string           `json:"hyperthreading"`
	SchedulableMasters  bool             `json:"schedulable_masters"`
	UserManaged         bool             `json:"user_managed_networking"`
	Overrides           string           `json:"install_config_overrides"`
	ControllerLogsAt    time.Time        `json:"controller_logs_collected_at"`
	ControllerLogsBegan time.Time        `json:"controller_logs_started_at"`
	Platform            *restPlatform    `json:"platform"`
	LoadBalancer        *restBalancer    `json:"load_balancer"`
	DiskEncryption      *restEncryption  `json:"disk_encryption"`
	IgnitionEndpoint    *restEndpoint    `json:"ignition_endpoint"`
	Progress            *restProgress    `json:"progress"`
	Preparation         *restPreparation `json:"last-installation-preparation"`
	Hosts               []restHost       `json:"hosts"`
}

type restAddress struct {
	IP string `json:"ip"`
}

type restNetwork struct {
	CIDR       string `json:"cidr"`
	HostPrefix int64  `json:"host_prefix,omitempty"`
}

type restPlatform struct {
	Type     string        `json:"type"`
	External *restExternal `json:"external,omitempty"`
}

type restExternal struct {
	PlatformName           string `json:"platform_name,omitempty"`
	CloudControllerManager string `json:"cloud_controller_manager,omitempty"`
}

type restBalancer struct {
	Type string `json:"type"`
}

type restEncryption struct {
	EnableOn    string `json:"enable_on,omitempty"`
	Mode        string `json:"mode,omitempty"`
	TangServers string `json:"tang_servers,omitempty"`
}

type restEndpoint struct {
	URL           string `json:"url,omitempty"`
	CACertificate string `json:"ca_certificate,omitempty"`
}

type restProgress struct {
	Total int64 `json:"total_percentage"`
}

type restPreparation struct {
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// restInfraEnv is what the controllers read of an infra-env.
type restInfraEnv struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	ClusterID string    `json:"cluster_id"`
	Arch      string    `json:"cpu_architecture"`
	Version   string    `json:"openshift_version"`
	Type      string    `json:"type"`
	URL       string    `json:"download_url"`
	UpdatedAt time.Time `json:"updated_at"`
}

// restHost is what the controllers read of a host.
type restHost struct {
	ID               string            `json:"id"`
	InfraEnvID       string            `json:"infra_env_id"`
	ClusterID        string            `json:"cluster_id"`
	Kind             string            `json:"kind"`
	Status           string            `json:"status"`
	StatusInfo       string            `json:"status_info"`
	Role             string            `json:"role"`
	SuggestedRole    string            `json:"suggested_role"`
	Bootstrap        bool              `json:"bootstrap"`
	Hostname         string            `json:"requested_hostname"`
	DiskID           string            `json:"installation_disk_id"`
	DiskPath         string            `json:"installation_disk_path"`
	InstallerArgs    string            `json:"installer_args"`
	Ignition         string            `json:"ignition_config_overrides"`
	NodeLabels       string            `json:"node_labels"`
	Pool             string            `json:"machine_config_pool_name"`
	Fencing          string            `json:"fencing_credentials"`
	Inventory        string            `json:"inventory"`
	NtpSources       string            `json:"ntp_sources"`
	ValidationsInfo  string            `json:"validations_info"`
	LogsAt           time.Time         `json:"logs_collected_at"`
	CreatedAt        time.Time         `json:"created_at"`
	EndpointTokenSet bool              `json:"ignition_endpoint_token_set"`
	Progress         *restHostProgress `json:"progress"`
	ProgressStages   []string          `json:"progress_stages"`
	ConnectionLost   bool              `json:"connection_timed_out"`
	StageUpdatedAt   time.Time         `json:"stage_updated_at"`
	RegisteredAt     time.Time         `json:"registered_at"`
	DiscoveryAgent   string            `json:"discovery_agent_version"`
	raw              string            // as it came, to see whether it changed
}

type restHostProgress struct {
	Stage     string    `json:"current_stage"`
	Percent   int64     `json:"installation_percentage"`
	Info      string    `json:"progress_info"`
	StartedAt time.Time `json:"stage_started_at"`
	UpdatedAt time.Time `json:"stage_updated_at"`
	TimedOut  bool      `json:"stage_timed_out"`
}

// role is what the host will be: the service's suggestion until the user decides.
func (h *restHost) role() string {
	if h.SuggestedRole != "" {
		return h.SuggestedRole
	}
	return h.Role
}

func (h *restHost) stage() string {
	if h.Progress == nil {
		return ""
	}
	return h.Progress.Stage
}

// check is one validation as the service prints it.
type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// checksOf reads validations_info; nothing where it is empty or unreadable.
func checksOf(text string) map[string][]check {
	var checks map[string][]check
	if text == "" || json.Unmarshal([]byte(text), &checks) != nil {
		return nil
	}
	return checks
}

// restIgnored are the validations that are not to hinder, each kind as a list in a
// text. The service shows them by themselves.
type restIgnored struct {
	Cluster string `json:"cluster-validation-ids"`
	Host    string `json:"host-validation-ids"`
}
