package model

// PrintedCluster is a cluster as the API prints it. Which keys may be absent and
// which print null follows the real service.
type PrintedCluster struct {
	AdditionalNtpSource       string            `json:"additional_ntp_source,omitempty"`
	AMSSubscriptionID         string            `json:"ams_subscription_id,omitempty"`
	APIVipDNSName             string            `json:"api_vip_dns_name,omitempty"`
	APIVips                   []VIP             `json:"api_vips"`
	BaseDNSDomain             string            `json:"base_dns_domain,omitempty"`
	ClusterNetworks           []ClusterNetwork  `json:"cluster_networks"`
	ConnectivityGroups        string            `json:"connectivity_majority_groups,omitempty"`
	ControlPlaneCount         int64             `json:"control_plane_count,omitempty"`
	ControllerLogsCollectedAt Millis            `json:"controller_logs_collected_at"`
	ControllerLogsStartedAt   Millis            `json:"controller_logs_started_at"`
	CPUArchitecture           string            `json:"cpu_architecture,omitempty"`
	CreatedAt                 Micros            `json:"created_at"`
	DeletedAt                 *Micros           `json:"deleted_at"`
	DiskEncryption            *DiskEncryption   `json:"disk_encryption,omitempty"`
	EmailDomain               string            `json:"email_domain,omitempty"`
	EnabledHostCount          int               `json:"enabled_host_count,omitempty"`
	FeatureUsage              string            `json:"feature_usage,omitempty"`
	HighAvailabilityMode      string            `json:"high_availability_mode,omitempty"`
	HostNetworks              []HostNetwork     `json:"host_networks"`
	PrintedHosts              []PrintedHost     `json:"hosts"`
	Href                      string            `json:"href"`
	HTTPProxy                 string            `json:"http_proxy,omitempty"`
	HTTPSProxy                string            `json:"https_proxy,omitempty"`
	Hyperthreading            string            `json:"hyperthreading,omitempty"`
	ID                        string            `json:"id"`
	IgnitionEndpoint          *IgnitionEndpoint `json:"ignition_endpoint,omitempty"`
	IgnoredClusterValidations string            `json:"-"` // shown by themselves only
	IgnoredHostValidations    string            `json:"-"`
	ImageInfo                 imageInfo         `json:"image_info"`
	Imported                  bool              `json:"imported,omitempty"`
	IngressVips               []VIP             `json:"ingress_vips"`
	InstallCompletedAt        Millis            `json:"install_completed_at"`
	InstallConfigOverrides    string            `json:"install_config_overrides,omitempty"`
	InstallStartedAt          Millis            `json:"install_started_at"`
	IPCollisions              string            `json:"ip_collisions,omitempty"`
	Kind                      string            `json:"kind"`
	LastPreparation           LastPreparation   `json:"last-installation-preparation"`
	LoadBalancer              *LoadBalancer     `json:"load_balancer,omitempty"`
	LogsInfo                  string            `json:"logs_info,omitempty"`
	MachineNetworks           []MachineNetwork  `json:"machine_networks"`
	MonitoredOperators        []Operator        `json:"monitored_operators"`
	Name                      string            `json:"name,omitempty"`
	NetworkType               string            `json:"network_type,omitempty"`
	NoProxy                   string            `json:"no_proxy,omitempty"`
	NtpSources                string            `json:"ntp_sources,omitempty"`
	OcpReleaseImage           string            `json:"ocp_release_image,omitempty"`
	OpenshiftClusterID        string            `json:"openshift_cluster_id,omitempty"`
	OpenshiftVersion          string            `json:"openshift_version,omitempty"`
	OperatorBundles           []string          `json:"operator_bundles"`
	OrgID                     string            `json:"org_id,omitempty"`
	OrgSoftTimeoutsEnabled    bool              `json:"org_soft_timeouts_enabled,omitempty"`
	Platform                  *Platform         `json:"platform,omitempty"`
	Progress                  *ClusterProgress  `json:"progress,omitempty"`
	PullSecretSet             bool              `json:"pull_secret_set,omitempty"`
	ReadyHostCount            int               `json:"ready_host_count,omitempty"`
	SchedulableMasters        *bool             `json:"schedulable_masters,omitempty"`
	SchedulableMastersForced  *bool             `json:"schedulable_masters_forced_true,omitempty"`
	ServiceNetworks           []MachineNetwork  `json:"service_networks"`
	SSHPublicKey              string            `json:"ssh_public_key,omitempty"`
	Status                    string            `json:"status"`
	StatusInfo                string            `json:"status_info"`
	StatusUpdatedAt           Millis            `json:"status_updated_at"`
	Tags                      string            `json:"tags,omitempty"`
	TotalHostCount            int               `json:"total_host_count,omitempty"`
	UpdatedAt                 Micros            `json:"updated_at"`
	UserManagedNetworking     *bool             `json:"user_managed_networking,omitempty"`
	UserName                  string            `json:"user_name,omitempty"`
	ValidationsInfo           string            `json:"validations_info,omitempty"`
	VipDHCPAllocation         *bool             `json:"vip_dhcp_allocation,omitempty"`
}

// VIP is a virtual address.
type VIP struct {
	ClusterID    string `json:"cluster_id"`
	IP           string `json:"ip"`
	Verification string `json:"verification,omitempty"`
}

// ClusterNetwork is a network of pods.
type ClusterNetwork struct {
	CIDR       string `json:"cidr"`
	ClusterID  string `json:"cluster_id"`
	HostPrefix int64  `json:"host_prefix"`
}

// MachineNetwork is a machine or a service network: they print alike.
type MachineNetwork struct {
	CIDR      string `json:"cidr"`
	ClusterID string `json:"cluster_id"`
}

// HostNetwork is a network that hosts sit in.
type HostNetwork struct {
	CIDR    string   `json:"cidr"`
	HostIDs []string `json:"host_ids"`
}

// DiskEncryption says which disks are encrypted, and how.
type DiskEncryption struct {
	EnableOn    string `json:"enable_on,omitempty"`
	Mode        string `json:"mode,omitempty"`
	TangServers string `json:"tang_servers,omitempty"`
}

// IgnitionEndpoint is where machines fetch their Ignition, if not from the cluster itself.
type IgnitionEndpoint struct {
	CACertificate string `json:"ca_certificate,omitempty"`
	URL           string `json:"url,omitempty"`
}

type imageInfo struct {
	CreatedAt Micros `json:"created_at"`
	ExpiresAt Millis `json:"expires_at"`
}

// LastPreparation is what became of the last preparation.
type LastPreparation struct {
	Reason string `json:"reason,omitempty"`
	Status string `json:"status,omitempty"`
}

// LoadBalancer says who balances the load.
type LoadBalancer struct {
	Type string `json:"type"`
}

// Platform is what the cluster runs on.
type Platform struct {
	External *ExternalPlatform `json:"external,omitempty"`
	Type     string            `json:"type"`
}

// ExternalPlatform is a platform that OpenShift does not know.
type ExternalPlatform struct {
	CloudControllerManager string `json:"cloud_controller_manager,omitempty"`
	PlatformName           string `json:"platform_name,omitempty"`
}

// ClusterProgress is how far an installation is.
type ClusterProgress struct {
	FinalizingStage          string `json:"finalizing_stage,omitempty"`
	FinalizingPercentage     int    `json:"finalizing_stage_percentage,omitempty"`
	FinalizingStageStartedAt Millis `json:"finalizing_stage_started_at"`
	FinalizingStageTimedOut  bool   `json:"finalizing_stage_timed_out,omitempty"`
	InstallingPercentage     int    `json:"installing_stage_percentage,omitempty"`
	PreparingPercentage      int    `json:"preparing_for_installation_stage_percentage,omitempty"`
	TotalPercentage          int    `json:"total_percentage,omitempty"`
}

// Operator is one entry of monitored_operators.
type Operator struct {
	Bundles          []string `json:"bundles"`
	ClusterID        string   `json:"cluster_id"`
	DependencyOnly   bool     `json:"dependency_only,omitempty"`
	Name             string   `json:"name"`
	Namespace        string   `json:"namespace,omitempty"`
	OperatorType     string   `json:"operator_type"`
	Properties       string   `json:"properties,omitempty"`
	SourceBundles    []string `json:"source_bundles"`
	Status           string   `json:"status,omitempty"`
	StatusInfo       string   `json:"status_info,omitempty"`
	StatusUpdatedAt  Millis   `json:"status_updated_at"`
	SubscriptionName string   `json:"subscription_name,omitempty"`
	TimeoutSeconds   int64    `json:"timeout_seconds"`
	Version          string   `json:"version,omitempty"`
}
