package model

import (
	"slices"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"
)

// Host is what the service keeps of a host.
type Host struct {
	PrintedHost
	State, Info string
	InfraEnv    *InfraEnv
	Cluster     *Cluster
	Inv         *Inventory // what Inventory says; nil before it is known
	// Hostname is the one that the user asked for.
	Hostname     string
	ChosenDisk   string
	SkipDisks    []string
	UserPool     bool
	Token        string
	Headers      string
	DiskSpeedMs  int64
	DiskTested   bool
	DiskFailed   bool
	DiskPath     string
	ImageResults map[string]models.ContainerImageAvailability
	Peers        map[string]models.ConnectivityRemoteHost
	Network      Network
	Resolutions  []*models.DomainResolutionResponseDomain
	NTP          []models.NtpSource
	FreeNetworks map[string][]strfmt.IPv4
	APICheck     *models.APIVipConnectivityResponse
	Tang         *models.TangConnectivityResponse
	Checks       Checks
}

// Join binds the host to a cluster.
func (h *Host) Join(c *Cluster) {
	h.Leave()
	h.Cluster, h.ClusterID = c, c.ID
	c.Hosts = append(c.Hosts, h)
}

// TakeOn gives the host the role that every host of such a cluster has: a worker is what is
// added to an installed cluster, and a single node is its own bootstrap host.
func (h *PrintedHost) TakeOn(c *Cluster) {
	switch {
	case c.IsDay2():
		h.Kind, h.Role, h.SuggestedRole, h.MachineConfigPool = KindAddedHost, RoleWorker, RoleWorker, "worker"
	case c.IsSingle():
		h.Role, h.SuggestedRole, h.Bootstrap = RoleMaster, RoleMaster, true
	}
}

// Leave takes the host out of its cluster.
func (h *Host) Leave() {
	if h.Cluster == nil {
		return
	}
	h.Cluster.Hosts = slices.DeleteFunc(h.Cluster.Hosts, func(o *Host) bool { return o == h })
	h.Cluster, h.ClusterID = nil, ""
}

// Forget drops what was known of the machine before it was booted anew.
func (h *Host) Forget() {
	h.Inv, h.Inventory = nil, ""
	h.Progress = &models.HostProgressInfo{}
	h.LogsInfo, h.LogsStartedAt, h.LogsCollectedAt = "", Millis{}, Millis{}
	h.NtpSources, h.NTP = "", nil
	h.ImagesStatus, h.ImageResults = "", nil
	h.MediaStatus = ""
	if h.Cluster == nil || !h.Cluster.IsSingle() {
		h.Bootstrap = false
	}
}

// Release takes the host out of its cluster and forgets what it was there.
func (h *Host) Release() {
	h.Leave()
	h.Forget()
	h.Kind, h.Role, h.SuggestedRole, h.MachineConfigPool, h.Bootstrap = KindHost, RoleAuto, "", "", false
	h.Connectivity, h.Peers, h.Network = "", nil, Network{}
	h.DomainNameResolutions, h.Resolutions = "", nil
	h.FreeAddresses, h.FreeNetworks = "", nil
	h.InstallationDiskID, h.InstallationDiskPath, h.ChosenDisk = "", "", ""
	h.APIVipConnectivity, h.APICheck = "", nil
	h.Checks = Checks{}
}

// EffectiveRole is the host's own role or, while that is open, the one suggested.
func (h *Host) EffectiveRole() string {
	if h.Role == RoleAuto && h.SuggestedRole != "" {
		return h.SuggestedRole
	}
	return h.Role
}

// RoleOpen reports whether no role was chosen for the host.
func (h *Host) RoleOpen() bool { return h.Role == RoleAuto }

// RoleSuggested reports whether the service has suggested a role.
func (h *Host) RoleSuggested() bool { return h.SuggestedRole != RoleAuto && h.SuggestedRole != "" }

// Name is the host name that counts: the user's, else the machine's own, else the id.
func (h *Host) Name() string {
	switch {
	case h.Hostname != "":
		return h.Hostname
	case h.Inv != nil && h.Inv.Hostname != "":
		return h.Inv.Hostname
	}
	return h.ID
}

// Stage is the stage that the host has reached.
func (h *Host) Stage() string {
	if h.Progress == nil {
		return ""
	}
	return string(h.Progress.CurrentStage)
}

// InstallationDisk is the disk that is installed on; nil while it is not known.
func (h *Host) InstallationDisk() *models.Disk {
	if h.Inv == nil {
		return nil
	}
	return h.Inv.FindDisk(h.InstallationDiskID)
}

// HasMAC reports whether the machine has a card of that address.
func (h *Host) HasMAC(mac string) bool {
	if h.Inv == nil {
		return false
	}
	for _, n := range h.Inv.Interfaces {
		if strings.EqualFold(n.MacAddress, mac) {
			return true
		}
	}
	return false
}

// silence is how long a host may be silent before it counts as disconnected.
const silence = 3 * time.Minute

// Connected reports whether the host was heard of lately.
func (h *Host) Connected(now time.Time) bool { return now.Sub(time.Time(h.CheckedInAt)) <= silence }

// PrintedHost is a host as the API prints it.
type PrintedHost struct {
	APIVipConnectivity    string                                                   `json:"api_vip_connectivity,omitempty"`
	Bootstrap             bool                                                     `json:"bootstrap,omitempty"`
	CheckedInAt           Millis                                                   `json:"checked_in_at"`
	ClusterID             string                                                   `json:"cluster_id,omitempty"`
	Connectivity          string                                                   `json:"connectivity,omitempty"`
	CreatedAt             Micros                                                   `json:"created_at"`
	DeletedAt             *Micros                                                  `json:"deleted_at"`
	AgentVersion          string                                                   `json:"discovery_agent_version,omitempty"`
	DisksInfo             string                                                   `json:"disks_info,omitempty"`
	DomainNameResolutions string                                                   `json:"domain_name_resolutions,omitempty"`
	FencingCredentials    string                                                   `json:"fencing_credentials,omitempty"`
	FreeAddresses         string                                                   `json:"free_addresses,omitempty"`
	Href                  string                                                   `json:"href"`
	ID                    string                                                   `json:"id"`
	IgnitionOverrides     string                                                   `json:"ignition_config_overrides,omitempty"`
	EndpointTokenSet      bool                                                     `json:"ignition_endpoint_token_set,omitempty"`
	ImagesStatus          string                                                   `json:"images_status,omitempty"`
	InfraEnvID            string                                                   `json:"infra_env_id,omitempty"`
	InstallationDiskID    string                                                   `json:"installation_disk_id,omitempty"`
	InstallationDiskPath  string                                                   `json:"installation_disk_path,omitempty"`
	InstallerArgs         string                                                   `json:"installer_args,omitempty"`
	InstallerVersion      string                                                   `json:"installer_version,omitempty"`
	Inventory             string                                                   `json:"inventory,omitempty"`
	Kind                  string                                                   `json:"kind"`
	LogsCollectedAt       Millis                                                   `json:"logs_collected_at"`
	LogsInfo              string                                                   `json:"logs_info,omitempty"`
	LogsStartedAt         Millis                                                   `json:"logs_started_at"`
	MachineConfigPool     string                                                   `json:"machine_config_pool_name,omitempty"`
	MediaStatus           string                                                   `json:"media_status,omitempty"`
	NodeLabels            string                                                   `json:"node_labels,omitempty"`
	NtpSources            string                                                   `json:"ntp_sources,omitempty"`
	Progress              *models.HostProgressInfo                                 `json:"progress,omitempty"`
	ProgressStages        []string                                                 `json:"progress_stages"`
	RegisteredAt          Millis                                                   `json:"registered_at"`
	RequestedHostname     string                                                   `json:"requested_hostname,omitempty"`
	Role                  string                                                   `json:"role,omitempty"`
	SkipFormattingDisks   string                                                   `json:"skip_formatting_disks,omitempty"`
	StageStartedAt        Millis                                                   `json:"stage_started_at"`
	StageUpdatedAt        Millis                                                   `json:"stage_updated_at"`
	Status                *string                                                  `json:"status"`
	StatusInfo            *string                                                  `json:"status_info"`
	StatusUpdatedAt       Millis                                                   `json:"status_updated_at"`
	SuggestedRole         string                                                   `json:"suggested_role,omitempty"`
	TangConnectivity      string                                                   `json:"tang_connectivity,omitempty"`
	Timestamp             int64                                                    `json:"timestamp,omitempty"`
	UpdatedAt             Micros                                                   `json:"updated_at"`
	UserName              string                                                   `json:"user_name,omitempty"`
	ValidationsInfo       string                                                   `json:"validations_info,omitempty"`
	NextStepRunner        *models.HostRegistrationResponseAO1NextStepRunnerCommand `json:"next_step_runner_command,omitempty"`
}

// BootsFromDisk reports whether the host's agent runs in a system on its disk, in which the
// cluster's is installed beside it.
func (h *Host) BootsFromDisk() bool {
	return h.Inv != nil && h.Inv.Boot != nil && h.Inv.Boot.DeviceType == models.BootDeviceTypePersistent
}
