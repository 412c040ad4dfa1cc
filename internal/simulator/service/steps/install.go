package steps

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
)

type installRequest struct {
	BootDevice        string        `json:"boot_device"`
	CheckCvo          bool          `json:"check_cvo"`
	ClusterID         string        `json:"cluster_id"`
	ControlPlaneCount int64         `json:"control_plane_count,omitempty"`
	ControllerImage   string        `json:"controller_image"`
	CoreosImage       string        `json:"coreos_image,omitempty"`
	DisksToFormat     []string      `json:"disks_to_format"`
	HighAvailability  string        `json:"high_availability_mode,omitempty"`
	SkipMCOReboot     bool          `json:"enable_skip_mco_reboot,omitempty"`
	HostID            string        `json:"host_id"`
	InfraEnvID        string        `json:"infra_env_id"`
	InstallerArgs     string        `json:"installer_args,omitempty"`
	InstallerImage    string        `json:"installer_image"`
	MCOImage          string        `json:"mco_image,omitempty"`
	MustGatherImage   string        `json:"must_gather_image,omitempty"`
	NotifyReboots     bool          `json:"notify_num_reboots"`
	OpenshiftVersion  string        `json:"openshift_version,omitempty"`
	Proxy             *installProxy `json:"proxy,omitempty"`
	Role              string        `json:"role"`
	ServiceIPs        []string      `json:"service_ips"`
}

type installProxy struct {
	HTTPProxy  string `json:"http_proxy,omitempty"`
	HTTPSProxy string `json:"https_proxy,omitempty"`
	NoProxy    string `json:"no_proxy,omitempty"`
}

// payloadImages are the two images of the cluster's release that agents pull.
func payloadImages(c *model.Cluster) (mco, mustGather string) {
	release, found := versions.ReleaseByURL(c.OcpReleaseImage)
	if !found {
		return "", ""
	}
	p := release.Payload()
	return p.MachineConfigOperator, p.MustGather
}

func (s Maker) installStep(h *model.Host) Step {
	c := h.Cluster
	r := installRequest{
		BootDevice: h.InstallationDiskID, ClusterID: c.ID, ControlPlaneCount: c.ControlPlaneCount,
		ControllerImage: versions.ControllerImage, DisksToFormat: disksToFormat(h), SkipMCOReboot: c.OpenshiftVersion != "",
		HostID: h.ID, InfraEnvID: h.InfraEnvID, InstallerArgs: InstallerArgs(h), InstallerImage: versions.InstallerImage,
		NotifyReboots: true, Role: h.Role,
	}
	if !s.Release.Has(countsSince) {
		r.ControlPlaneCount, r.HighAvailability = 0, c.HighAvailabilityMode
	}
	if h.Bootstrap {
		r.Role = model.RoleBootstrap
	}
	if h.Kind != model.KindAddedHost {
		r.MCOImage, r.MustGatherImage = payloadImages(c)
		r.OpenshiftVersion = c.OpenshiftVersion
	}
	if c.HTTPProxy != "" || c.HTTPSProxy != "" {
		r.Proxy = &installProxy{HTTPProxy: c.HTTPProxy, HTTPSProxy: c.HTTPSProxy, NoProxy: directlyReachedByInstaller(c)}
	}
	h.InstallerVersion = versions.InstallerImage
	return s.Step(StepInstall, model.InString(r))
}

// directlyReachedByInstaller is what needs no proxy: the user's list and the installer's own.
func directlyReachedByInstaller(c *model.Cluster) string {
	asked := strings.TrimSpace(c.NoProxy)
	if asked == "*" {
		return asked
	}
	own := []string{"127.0.0.1", "localhost", ".svc", ".cluster.local", "api-int." + c.Name + "." + c.BaseDNSDomain}
	var list []string
	for _, part := range append(strings.Split(asked, ","), own...) {
		if part != "" && !slices.Contains(list, part) {
			list = append(list, part)
		}
	}
	return strings.Join(list, ",")
}

// disksToFormat lists the other bootable disks, which are wiped so that the machine boots the right one.
func disksToFormat(h *model.Host) []string {
	list := []string{}
	if h.Inv == nil {
		return list
	}
	for _, d := range h.Inv.Disks {
		id := model.DiskID(d)
		if d.Bootable && !d.Removable && !d.IsInstallationMedia && id != h.InstallationDiskID && !slices.Contains(h.SkipDisks, id) {
			list = append(list, id)
		}
	}
	return list
}

// InstallerArgs are coreos-installer's flags: the user's own, and the network's after the reboot.
func InstallerArgs(h *model.Host) string {
	args := model.StringList(h.InstallerArgs)
	if len(h.InfraEnv.Static) > 0 {
		if !slices.Contains(args, "--copy-network") {
			args = append(args, "--copy-network")
		}
		return model.InString(args)
	}
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "ip=") }) {
		return model.InString(args)
	}
	if karg := ipArgument(h); karg != "" {
		args = append(args, "--append-karg", karg)
	}
	if len(args) == 0 {
		return ""
	}
	return model.InString(args)
}

// ipArgument has the initrd configure the machine network's card, by its MAC since names may differ.
func ipArgument(h *model.Host) string {
	if h.Inv == nil || h.Cluster.Imported { // an imported cluster's networks are not known
		return ""
	}
	i := -1
	for _, n := range h.Cluster.MachineNetworks {
		network, err := netip.ParsePrefix(n.CIDR)
		if err != nil {
			continue
		}
		if a, in := h.Inv.In(network); in {
			i = a.NIC
			break
		}
	}
	if i < 0 {
		r := h.Inv.DefaultRoute()
		if r == nil {
			return ""
		}
		i = slices.IndexFunc(h.Inv.Interfaces, func(n *models.Interface) bool { return n.Name == r.Interface })
	}
	if i < 0 {
		return ""
	}
	n := h.Inv.Interfaces[i]
	mac := strings.ReplaceAll(strings.ToLower(n.MacAddress), ":", "-")
	switch {
	case len(n.IPV4Addresses) > 0 && len(n.IPV6Addresses) > 0:
		return "ip=" + mac + ":dhcp,dhcp6"
	case len(n.IPV6Addresses) > 0:
		return "ip=" + mac + ":dhcp6"
	}
	return "ip=" + mac + ":dhcp"
}

type logsRequest struct {
	Bootstrap       bool     `json:"bootstrap"`
	ClusterID       string   `json:"cluster_id"`
	HostID          string   `json:"host_id"`
	InfraEnvID      string   `json:"infra_env_id"`
	InstallerGather bool     `json:"installer_gather"`
	MasterIPs       []string `json:"master_ips"`
}

func (s Maker) logsStep(h *model.Host) Step {
	r := logsRequest{Bootstrap: h.Bootstrap, ClusterID: h.ClusterID, HostID: h.ID, InfraEnvID: h.InfraEnvID, InstallerGather: true}
	if h.Bootstrap && h.Cluster != nil {
		for _, other := range h.Cluster.Hosts {
			if other == h || other.Role != model.RoleMaster || other.Inv == nil {
				continue
			}
			for _, a := range other.Inv.Addresses {
				r.MasterIPs = append(r.MasterIPs, a.Prefix.Addr().String())
			}
		}
		slices.Sort(r.MasterIPs)
	}
	return s.Step(stepLogs, model.InString(r))
}

// countsSince is the release that tells the installer the count of control plane machines, not just one or more.
const countsSince = "2.14"
