package service

// wireCluster is a cluster as the API prints it. Which keys may be absent and
// which print null follows the real service.
type wireCluster struct {
	AdditionalNtpSource       string            `json:"additional_ntp_source,omitempty"`
	AMSSubscriptionID         string            `json:"ams_subscription_id,omitempty"`
	APIVipDNSName             string            `json:"api_vip_dns_name,omitempty"`
	APIVips                   []vip             `json:"api_vips"`
	BaseDNSDomain             string            `json:"base_dns_domain,omitempty"`
	ClusterNetworks           []clusterNetwork  `json:"cluster_networks"`
	ConnectivityGroups        string            `json:"connectivity_majority_groups,omitempty"`
	ControlPlaneCount         int64             `json:"control_plane_count,omitempty"`
	ControllerLogsCollectedAt millis            `json:"controller_logs_collected_at"`
	ControllerLogsStartedAt   millis            `json:"controller_logs_started_at"`
	CPUArchitecture           string            `json:"cpu_architecture,omitempty"`
	CreatedAt                 micros            `json:"created_at"`
	DeletedAt                 *micros           `json:"deleted_at"`
	DiskEncryption            *diskEncryption   `json:"disk_encryption,omitempty"`
	EmailDomain               string            `json:"email_domain,omitempty"`
	EnabledHostCount          int               `json:"enabled_host_count,omitempty"`
	FeatureUsage              string            `json:"feature_usage,omitempty"`
	HighAvailabilityMode      string            `json:"high_availability_mode,omitempty"`
	HostNetworks              []hostNetwork     `json:"host_networks"`
	Hosts                     []wireHost        `json:"hosts"`
	Href                      string            `json:"href"`
	HTTPProxy                 string            `json:"http_proxy,omitempty"`
	HTTPSProxy                string            `json:"https_proxy,omitempty"`
	Hyperthreading            string            `json:"hyperthreading,omitempty"`
	ID                        string            `json:"id"`
	IgnitionEndpoint          *ignitionEndpoint `json:"ignition_endpoint,omitempty"`
	IgnoredClusterValidations string            `json:"-"` // shown by themselves only
	IgnoredHostValidations    string            `json:"-"`
	ImageInfo                 imageInfo         `json:"image_info"`
	Imported                  bool              `json:"imported,omitempty"`
	IngressVips               []vip             `json:"ingress_vips"`
	InstallCompletedAt        millis            `json:"install_completed_at"`
	InstallConfigOverrides    string            `json:"install_config_overrides,omitempty"`
	InstallStartedAt          millis            `json:"install_started_at"`
	IPCollisions              string            `json:"ip_collisions,omitempty"`
	Kind                      string            `json:"kind"`
	LastPreparation           lastPreparation   `json:"last-installation-preparation"`
	LoadBalancer              *loadBalancer     `json:"load_balancer,omitempty"`
	LogsInfo                  string            `json:"logs_info,omitempty"`
	MachineNetworks           []machineNetwork  `json:"machine_networks"`
	MonitoredOperators        []operator        `json:"monitored_operators"`
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
	Platform                  *platform         `json:"platform,omitempty"`
	Progress                  *clusterProgress  `json:"progress,omitempty"`
	PullSecretSet             bool              `json:"pull_secret_set,omitempty"`
	ReadyHostCount            int               `json:"ready_host_count,omitempty"`
	SchedulableMasters        *bool             `json:"schedulable_masters,omitempty"`
	SchedulableMastersForced  *bool             `json:"schedulable_masters_forced_true,omitempty"`
	ServiceNetworks           []machineNetwork  `json:"service_networks"`
	SSHPublicKey              string            `json:"ssh_public_key,omitempty"`
	Status                    string            `json:"status"`
	StatusInfo                string            `json:"status_info"`
	StatusUpdatedAt           millis            `json:"status_updated_at"`
	Tags                      string            `json:"tags,omitempty"`
	TotalHostCount            int               `json:"total_host_count,omitempty"`
	UpdatedAt                 micros            `json:"updated_at"`
	UserManagedNetworking     *bool             `json:"user_managed_networking,omitempty"`
	UserName                  string            `json:"user_name,omitempty"`
	ValidationsInfo           string            `json:"validations_info,omitempty"`
	VipDHCPAllocation         *bool             `json:"vip_dhcp_allocation,omitempty"`
}

type vip struct {
	ClusterID    string `json:"cluster_id"`
	IP           string `json:"ip"`
	Verification string `json:"verification,omitempty"`
}

type clusterNetwork struct {
	CIDR       string `json:"cidr"`
	ClusterID  string `json:"cluster_id"`
	HostPrefix int64  `json:"host_prefix"`
}

// machineNetwork is a machine or a service network: they print alike.
type machineNetwork struct {
	CIDR      string `json:"cidr"`
	ClusterID string `json:"cluster_id"`
}

type hostNetwork struct {
	CIDR    string   `json:"cidr"`
	HostIDs []string `json:"host_ids"`
}

type diskEncryption struct {
	EnableOn    string `json:"enable_on,omitempty"`
	Mode        string `json:"mode,omitempty"`
	TangServers string `json:"tang_servers,omitempty"`
}

type ignitionEndpoint struct {
	CACertificate string `json:"ca_certificate,omitempty"`
	URL           string `json:"url,omitempty"`
}

type imageInfo struct {
	CreatedAt micros `json:"created_at"`
	ExpiresAt millis `json:"expires_at"`
}

type lastPreparation struct {
	Reason string `json:"reason,omitempty"`
	Status string `json:"status,omitempty"`
}

type loadBalancer struct {
	Type string `json:"type"`
}

type platform struct {
	External *externalPlatform `json:"external,omitempty"`
	Type     string            `json:"type"`
}

type externalPlatform struct {
	CloudControllerManager string `json:"cloud_controller_manager,omitempty"`
	PlatformName           string `json:"platform_name,omitempty"`
}

type clusterProgress struct {
	FinalizingStage          string `json:"finalizing_stage,omitempty"`
	FinalizingPercentage     int    `json:"finalizing_stage_percentage,omitempty"`
	FinalizingStageStartedAt millis `json:"finalizing_stage_started_at"`
	FinalizingStageTimedOut  bool   `json:"finalizing_stage_timed_out,omitempty"`
	InstallingPercentage     int    `json:"installing_stage_percentage,omitempty"`
	PreparingPercentage      int    `json:"preparing_for_installation_stage_percentage,omitempty"`
	TotalPercentage          int    `json:"total_percentage,omitempty"`
}

// operator is one entry of monitored_operators.
type operator struct {
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
	StatusUpdatedAt  millis   `json:"status_updated_at"`
	SubscriptionName string   `json:"subscription_name,omitempty"`
	TimeoutSeconds   int64    `json:"timeout_seconds"`
	Version          string   `json:"version,omitempty"`
}
