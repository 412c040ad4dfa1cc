package model

// PrintedHost is a host as the API prints it.
type PrintedHost struct {
	APIVipConnectivity    string         `json:"api_vip_connectivity,omitempty"`
	Bootstrap             bool           `json:"bootstrap,omitempty"`
	CheckedInAt           Millis         `json:"checked_in_at"`
	ClusterID             string         `json:"cluster_id,omitempty"`
	ConnectionTimedOut    bool           `json:"connection_timed_out,omitempty"`
	Connectivity          string         `json:"connectivity,omitempty"`
	CreatedAt             Micros         `json:"created_at"`
	DeletedAt             *Micros        `json:"deleted_at"`
	AgentVersion          string         `json:"discovery_agent_version,omitempty"`
	DisksInfo             string         `json:"disks_info,omitempty"`
	DisksToBeFormatted    string         `json:"disks_to_be_formatted,omitempty"`
	DomainNameResolutions string         `json:"domain_name_resolutions,omitempty"`
	FencingCredentials    string         `json:"fencing_credentials,omitempty"`
	FreeAddresses         string         `json:"free_addresses,omitempty"`
	Href                  string         `json:"href"`
	ID                    string         `json:"id"`
	IgnitionOverrides     string         `json:"ignition_config_overrides,omitempty"`
	EndpointTokenSet      bool           `json:"ignition_endpoint_token_set,omitempty"`
	ImagesStatus          string         `json:"images_status,omitempty"`
	InfraEnvID            string         `json:"infra_env_id,omitempty"`
	InstallationDiskID    string         `json:"installation_disk_id,omitempty"`
	InstallationDiskPath  string         `json:"installation_disk_path,omitempty"`
	InstallerArgs         string         `json:"installer_args,omitempty"`
	InstallerVersion      string         `json:"installer_version,omitempty"`
	Inventory             string         `json:"inventory,omitempty"`
	Kind                  string         `json:"kind"`
	LogsCollectedAt       Millis         `json:"logs_collected_at"`
	LogsInfo              string         `json:"logs_info,omitempty"`
	LogsStartedAt         Millis         `json:"logs_started_at"`
	MachineConfigPool     string         `json:"machine_config_pool_name,omitempty"`
	MediaStatus           string         `json:"media_status,omitempty"`
	NodeLabels            string         `json:"node_labels,omitempty"`
	NtpSources            string         `json:"ntp_sources,omitempty"`
	Progress              *HostProgress  `json:"progress,omitempty"`
	ProgressStages        []string       `json:"progress_stages"`
	RegisteredAt          Millis         `json:"registered_at"`
	RequestedHostname     string         `json:"requested_hostname,omitempty"`
	Role                  string         `json:"role,omitempty"`
	SkipFormattingDisks   string         `json:"skip_formatting_disks,omitempty"`
	StageStartedAt        Millis         `json:"stage_started_at"`
	StageUpdatedAt        Millis         `json:"stage_updated_at"`
	Status                *string        `json:"status"`
	StatusInfo            *string        `json:"status_info"`
	StatusUpdatedAt       Millis         `json:"status_updated_at"`
	SuggestedRole         string         `json:"suggested_role,omitempty"`
	TangConnectivity      string         `json:"tang_connectivity,omitempty"`
	Timestamp             int64          `json:"timestamp,omitempty"`
	UpdatedAt             Micros         `json:"updated_at"`
	UserName              string         `json:"user_name,omitempty"`
	ValidationsInfo       string         `json:"validations_info,omitempty"`
	NextStepRunner        *RunnerCommand `json:"next_step_runner_command,omitempty"`
}

// HostProgress is how far a host's installation is.
type HostProgress struct {
	CurrentStage   string `json:"current_stage,omitempty"`
	Percentage     int    `json:"installation_percentage,omitempty"`
	ProgressInfo   string `json:"progress_info,omitempty"`
	StageStartedAt Millis `json:"stage_started_at"`
	StageUpdatedAt Millis `json:"stage_updated_at"`
}

// RunnerCommand tells a freshly registered agent how to run its next-step loop.
type RunnerCommand struct {
	Args    []string `json:"args"`
	Command string   `json:"command,omitempty"`
}
