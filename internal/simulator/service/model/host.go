package model

import (
	"slices"
	"strings"
	"time"

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
	Peers        map[string]RemoteHost
	Resolutions  []Resolution
	NTP          []models.NtpSource
	FreeNetworks map[string][]string
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
	h.Progress = &HostProgress{}
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
	h.Connectivity, h.Peers = "", nil
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

// RoleOpen tells whether nobody has chosen a role for the host.
func (h *Host) RoleOpen() bool { return h.Role == RoleAuto }

// RoleSuggested tells whether the service has suggested a role.
func (h *Host) RoleSuggested() bool { return h.SuggestedRole != RoleAuto && h.SuggestedRole != "" }

// Name is the host name that counts: the user's, else the machine's own, else
// the id.
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
	return h.Progress.CurrentStage
}

// HasMAC tells whether the machine has a card of that address.
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

// Connected tells whether the host was heard of lately.
func (h *Host) Connected(now time.Time) bool {
	return now.Sub(time.Time(h.CheckedInAt)) <= silence
}
