// Package model is what the simulated service keeps of clusters, hosts and infra-envs,
// and what follows from that alone. It decides nothing and writes no event.
package model

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openshift/assisted-service/models"
)

// Cluster is what the service keeps of a cluster: what it prints, and what it does not.
type Cluster struct {
	PrintedCluster
	PullSecret string
	UISettings string
	// Hosts are the hosts bound to the cluster, in the order in which they came.
	Hosts []*Host
	// Deleted are those that were, by infra-env id/host id, as they were then.
	Deleted map[string]*Host
	// Manifests are the user's and the service's own, by folder/name.
	Manifests map[string]Manifest
	// Objects are the files made when the installation starts, by file name.
	Objects map[string][]byte
	Logs    map[string][]byte
	// Credentials is made when the installation starts.
	Credentials *Credentials
	IngressCert string
	// PreparedAt is when the current preparation began.
	PreparedAt time.Time
	Checks     Checks
	Groups     Majority
	Collisions map[string][]string
	Reached    []string // what groups and collisions were computed from
	// Before is the cluster as the tick that is running found it.
	Before struct {
		State      string
		Groups     Majority
		Collisions map[string][]string
		Searched   bool // for collisions
		Machine    []MachineNetwork
	}
	// Uses are the features that the cluster makes use of, OperatorUses those that are operators.
	Uses         map[string]models.Usage
	OperatorUses map[string]bool
}

// Manifest is a file that goes into the cluster.
type Manifest struct {
	Content []byte
	System  bool
}

// Credentials are a cluster's authority, its administrator's certificate, and the console password.
type Credentials struct {
	CA, Cert, Key []byte // PEM
	Password      string
	// Server is the URL of its API server; empty is that of its name, which does not resolve.
	Server string
}

// IsSingle tells a single node.
func (c *Cluster) IsSingle() bool { return c.ControlPlaneCount == 1 }

// IsDay2 tells a cluster that is installed and takes more hosts.
func (c *Cluster) IsDay2() bool { return c.Kind == KindAddHosts }

// UserManaged says that the user brings load balancer and DNS.
func (c *Cluster) UserManaged() bool { return Value(c.UserManagedNetworking) }

// UserBalanced says that the user brings the load balancer alone.
func (c *Cluster) UserBalanced() bool {
	return c.LoadBalancer != nil && c.LoadBalancer.Type == "user-managed"
}

// Patches are the manifests that change those of the installer by the cluster's settings, by name.
func (c *Cluster) Patches() map[string]string {
	patches := map[string]string{}
	if Value(c.SchedulableMasters) || Value(c.SchedulableMastersForced) {
		patches["cluster-scheduler-02-config.yml.patch_ai_set_masters_schedulable"] =
			"- op: replace\n  path: /spec/mastersSchedulable\n  value: true\n"
	}
	return patches
}

// ForceWorkloads notes whether ordinary workloads have to run on control plane machines, even if the user does not ask for it.
func (c *Cluster) ForceWorkloads(forced bool) { c.SchedulableMastersForced = &forced }

// OnOracleCloud reports whether the platform is Oracle's.
func (c *Cluster) OnOracleCloud() bool {
	return c.Platform != nil && c.Platform.External != nil && Value(c.Platform.External.PlatformName) == "oci"
}

// PlatformType is the type of the platform; empty where none is chosen.
func (c *Cluster) PlatformType() string {
	if c.Platform == nil {
		return ""
	}
	return string(*c.Platform.Type)
}

// AllocatesVips reports whether the virtual addresses are leased by DHCP.
func (c *Cluster) AllocatesVips() bool { return c.VipDHCPAllocation != nil && *c.VipDHCPAllocation }

// VipAt is the virtual address that decides on the machine network at a place.
func (c *Cluster) VipAt(i int) string {
	for _, list := range [][]VIP{c.APIVips, c.IngressVips} {
		if i < len(list) && list[i].IP != "" {
			return list[i].IP
		}
	}
	return ""
}

// CIDRs are the networks of each kind.
func (c *Cluster) CIDRs() (machine, clusterNets, services []string) {
	for _, n := range c.ClusterNetworks {
		clusterNets = append(clusterNets, n.CIDR)
	}
	return cidrs(c.MachineNetworks), clusterNets, cidrs(c.ServiceNetworks)
}

func cidrs(networks []MachineNetwork) (list []string) {
	for _, n := range networks {
		list = append(list, n.CIDR)
	}
	return list
}

// HasOperator reports whether the cluster will have an operator.
func (c *Cluster) HasOperator(name string) bool {
	return slices.ContainsFunc(c.MonitoredOperators, func(o Operator) bool { return o.Name == name })
}

// OperatorNames lists the OLM operators that the cluster will have.
func (c *Cluster) OperatorNames() []string {
	var names []string
	for _, o := range c.MonitoredOperators {
		if o.OperatorType == models.OperatorTypeOlm {
			names = append(names, o.Name)
		}
	}
	return names
}

// Hostnames counts the cluster's hosts by name.
func (c *Cluster) Hostnames() map[string]int {
	names := make(map[string]int, len(c.Hosts))
	for _, h := range c.Hosts {
		names[h.Name()]++
	}
	return names
}

// InfraEnvs lists the infra-envs that the cluster's machines came from.
func (c *Cluster) InfraEnvs() []*InfraEnv {
	var list []*InfraEnv
	for _, h := range c.Hosts {
		if !slices.Contains(list, h.InfraEnv) {
			list = append(list, h.InfraEnv)
		}
	}
	return list
}

// InfraEnvNtpSources lists the additional time servers of the cluster's infra-envs.
func (c *Cluster) InfraEnvNtpSources() []string {
	var lists []string
	for _, e := range c.InfraEnvs() {
		lists = append(lists, e.AdditionalNtpSources)
	}
	return Names(strings.Join(lists, ","))
}

// RecordUse notes that the cluster makes use of a feature, or no longer does.
func (c *Cluster) RecordUse(on bool, name string, data map[string]any) {
	uses := maps.Clone(c.Uses) // what was printed may still be read
	if uses == nil {
		uses = map[string]models.Usage{}
	}
	delete(uses, name)
	if on {
		id := strings.ToUpper(strings.NewReplacer(" ", "_", ".", "").Replace(name))
		uses[name] = models.Usage{Data: data, ID: id, Name: name}
	}
	c.Uses, c.FeatureUsage = uses, InString(uses)
}

// MakesUseOf reports whether the cluster was said to make use of a feature.
func (c *Cluster) MakesUseOf(name string) bool {
	_, used := c.Uses[name]
	return used
}

// ResetRoles takes back the roles that were suggested to the cluster's hosts.
func (c *Cluster) ResetRoles() {
	for _, h := range c.Hosts {
		if h.RoleOpen() {
			h.SuggestedRole = RoleAuto
		}
	}
}

// PrintedCluster is a cluster as the API prints it, with absent keys and nulls as the real service.
type PrintedCluster struct {
	AdditionalNtpSource       string                             `json:"additional_ntp_source,omitempty"`
	AMSSubscriptionID         string                             `json:"ams_subscription_id,omitempty"`
	APIVipDNSName             string                             `json:"api_vip_dns_name,omitempty"`
	APIVips                   []VIP                              `json:"api_vips"`
	BaseDNSDomain             string                             `json:"base_dns_domain,omitempty"`
	ClusterNetworks           []ClusterNetwork                   `json:"cluster_networks"`
	ConnectivityGroups        string                             `json:"connectivity_majority_groups,omitempty"`
	ControlPlaneCount         int64                              `json:"control_plane_count,omitempty"`
	ControllerLogsCollectedAt Millis                             `json:"controller_logs_collected_at"`
	ControllerLogsStartedAt   Millis                             `json:"controller_logs_started_at"`
	CPUArchitecture           string                             `json:"cpu_architecture,omitempty"`
	CreatedAt                 Micros                             `json:"created_at"`
	DeletedAt                 *Micros                            `json:"deleted_at"`
	DiskEncryption            *DiskEncryption                    `json:"disk_encryption,omitempty"`
	EmailDomain               string                             `json:"email_domain,omitempty"`
	EnabledHostCount          int                                `json:"enabled_host_count,omitempty"`
	FeatureUsage              string                             `json:"feature_usage,omitempty"`
	HighAvailabilityMode      string                             `json:"high_availability_mode,omitempty"`
	HostNetworks              []*models.HostNetwork              `json:"host_networks"`
	PrintedHosts              []PrintedHost                      `json:"hosts"`
	Href                      string                             `json:"href"`
	HTTPProxy                 string                             `json:"http_proxy,omitempty"`
	HTTPSProxy                string                             `json:"https_proxy,omitempty"`
	Hyperthreading            string                             `json:"hyperthreading,omitempty"`
	ID                        string                             `json:"id"`
	IgnitionEndpoint          *IgnitionEndpoint                  `json:"ignition_endpoint,omitempty"`
	IgnoredClusterValidations string                             `json:"-"` // shown by themselves only
	IgnoredHostValidations    string                             `json:"-"`
	ImageInfo                 imageInfo                          `json:"image_info"`
	Imported                  bool                               `json:"imported,omitempty"`
	IngressVips               []VIP                              `json:"ingress_vips"`
	InstallCompletedAt        Millis                             `json:"install_completed_at"`
	InstallConfigOverrides    string                             `json:"install_config_overrides,omitempty"`
	InstallStartedAt          Millis                             `json:"install_started_at"`
	IPCollisions              string                             `json:"ip_collisions,omitempty"`
	Kind                      string                             `json:"kind"`
	LastPreparation           models.LastInstallationPreparation `json:"last-installation-preparation"`
	LoadBalancer              *models.LoadBalancer               `json:"load_balancer,omitempty"`
	LogsInfo                  string                             `json:"logs_info,omitempty"`
	MachineNetworks           []MachineNetwork                   `json:"machine_networks"`
	MonitoredOperators        []Operator                         `json:"monitored_operators"`
	Name                      string                             `json:"name,omitempty"`
	NetworkType               string                             `json:"network_type,omitempty"`
	NoProxy                   string                             `json:"no_proxy,omitempty"`
	NtpSources                string                             `json:"ntp_sources,omitempty"`
	OcpReleaseImage           string                             `json:"ocp_release_image,omitempty"`
	OpenshiftClusterID        string                             `json:"openshift_cluster_id,omitempty"`
	OpenshiftVersion          string                             `json:"openshift_version,omitempty"`
	OperatorBundles           []string                           `json:"operator_bundles"`
	OrgSoftTimeoutsEnabled    bool                               `json:"org_soft_timeouts_enabled,omitempty"`
	Platform                  *models.Platform                   `json:"platform,omitempty"`
	Progress                  *models.ClusterProgressInfo        `json:"progress,omitempty"`
	PullSecretSet             bool                               `json:"pull_secret_set,omitempty"`
	ReadyHostCount            int                                `json:"ready_host_count,omitempty"`
	SchedulableMasters        *bool                              `json:"schedulable_masters,omitempty"`
	SchedulableMastersForced  *bool                              `json:"schedulable_masters_forced_true,omitempty"`
	ServiceNetworks           []MachineNetwork                   `json:"service_networks"`
	SSHPublicKey              string                             `json:"ssh_public_key,omitempty"`
	Status                    string                             `json:"status"`
	StatusInfo                string                             `json:"status_info"`
	StatusUpdatedAt           Millis                             `json:"status_updated_at"`
	Tags                      string                             `json:"tags,omitempty"`
	TotalHostCount            int                                `json:"total_host_count,omitempty"`
	UpdatedAt                 Micros                             `json:"updated_at"`
	UserManagedNetworking     *bool                              `json:"user_managed_networking,omitempty"`
	UserName                  string                             `json:"user_name,omitempty"`
	ValidationsInfo           string                             `json:"validations_info,omitempty"`
	VipDHCPAllocation         *bool                              `json:"vip_dhcp_allocation,omitempty"`
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

// Operator is one entry of monitored_operators.
type Operator struct {
	models.MonitoredOperator
	SourceBundles []string `json:"source_bundles"`
}
