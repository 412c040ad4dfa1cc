package assisted

import (
	"cmp"
	"encoding/json"
	"time"
)

// Cluster is what the controllers read of a cluster.
type Cluster struct {
	ID                 string    `json:"id"`
	Status             string    `json:"status"`
	StatusInfo         string    `json:"status_info"`
	ValidationsInfo    string    `json:"validations_info"`
	OpenshiftID        string    `json:"openshift_cluster_id"`
	APIVIPs            []Address `json:"api_vips"`
	IngressVIPs        []Address `json:"ingress_vips"`
	MachineNetworks    []Network `json:"machine_networks"`
	ConnectivityGroups string    `json:"connectivity_majority_groups"`
	UserManaged        bool      `json:"user_managed_networking"`
	Overrides          string    `json:"install_config_overrides"`
	ControllerLogsAt   time.Time `json:"controller_logs_collected_at"`
	Platform           *struct {
		Type string `json:"type"`
	} `json:"platform"`
	Progress *struct {
		Total int64 `json:"total_percentage"`
	} `json:"progress"`
	Preparation *struct {
		Status string `json:"status"`
		Reason string `json:"reason"`
	} `json:"last-installation-preparation"`
}

// Address is a virtual address.
type Address struct {
	IP string `json:"ip"`
}

// Network is one of a cluster's networks.
type Network struct {
	CIDR string `json:"cidr"`
}

// InfraEnv is what the controllers read of an infra-env.
type InfraEnv struct {
	ID        string    `json:"id"`
	ClusterID string    `json:"cluster_id"`
	Arch      string    `json:"cpu_architecture"`
	Version   string    `json:"openshift_version"`
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
	InstallerArgs    string        `json:"installer_args"`
	Ignition         string        `json:"ignition_config_overrides"`
	NodeLabels       string        `json:"node_labels"`
	Pool             string        `json:"machine_config_pool_name"`
	Fencing          string        `json:"fencing_credentials"`
	Inventory        string        `json:"inventory"`
	NtpSources       string        `json:"ntp_sources"`
	ValidationsInfo  string        `json:"validations_info"`
	LogsAt           time.Time     `json:"logs_collected_at"`
	EndpointTokenSet bool          `json:"ignition_endpoint_token_set"`
	Progress         *HostProgress `json:"progress"`
	ProgressStages   []any         `json:"progress_stages"`
	Raw              string        `json:"-"` // as it came, to see whether it changed
}

// HostProgress is how far a host is.
type HostProgress struct {
	Stage     string    `json:"current_stage"`
	Percent   int64     `json:"installation_percentage"`
	Info      string    `json:"progress_info"`
	StartedAt time.Time `json:"stage_started_at"`
	UpdatedAt time.Time `json:"stage_updated_at"`
}

// EffectiveRole is what the host will be: the service's suggestion until the user decides.
func (h *Host) EffectiveRole() string { return cmp.Or(h.SuggestedRole, h.Role) }

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

// Ignored are the validations that do not hinder, each kind as a list in a text.
type Ignored struct {
	Cluster string `json:"cluster-validation-ids"`
	Host    string `json:"host-validation-ids"`
}
