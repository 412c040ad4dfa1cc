package steps

import (
	"slices"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/versions"
	"github.com/openshift/assisted-service/models"
)

type installRequest struct {
	models.InstallCmdRequest
	HighAvailability string `json:"high_availability_mode,omitempty"`
}

func payloadImages(c *model.Cluster) (mco, mustGather string) {
	release, found := versions.ReleaseByURL(c.OcpReleaseImage)
	if !found {
		return "", ""
	}
	p := release.Payload()
	return p.MachineConfigOperator, p.MustGather
}

func (s Maker) installStep(h *model.Host) models.Step {
	c := h.Cluster
	role := models.HostRole(h.Role)
	if h.Bootstrap {
		role = model.RoleBootstrap
	}
	r := installRequest{InstallCmdRequest: models.InstallCmdRequest{
		BootDevice: &h.InstallationDiskID, CheckCvo: new(false), ClusterID: new(strfmt.UUID(c.ID)), ControlPlaneCount: c.ControlPlaneCount,
		ControllerImage: new(versions.ControllerImage), DisksToFormat: disksToFormat(h), EnableSkipMcoReboot: c.OpenshiftVersion != "",
		HostID: new(strfmt.UUID(h.ID)), InfraEnvID: new(strfmt.UUID(h.InfraEnvID)), InstallerArgs: InstallerArgs(h),
		InstallerImage: new(versions.InstallerImage), NotifyNumReboots: true, Role: &role,
	}}
	if !s.Release.Has(countsSince) {
		r.ControlPlaneCount, r.HighAvailability = 0, c.HighAvailabilityMode
	}
	if h.Kind != model.KindAddedHost {
		r.McoImage, r.MustGatherImage = payloadImages(c)
		r.OpenshiftVersion = c.OpenshiftVersion
	}
	if c.HTTPProxy != "" || c.HTTPSProxy != "" {
		r.Proxy = &models.Proxy{NoProxy: new(directlyReachedByInstaller(c))}
		if c.HTTPProxy != "" {
			r.Proxy.HTTPProxy = &c.HTTPProxy
		}
		if c.HTTPSProxy != "" {
			r.Proxy.HTTPSProxy = &c.HTTPSProxy
		}
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
	if a, in := h.Inv.InAny(h.Cluster.MachineNetworks); in {
		i = a.NIC
	} else if r := h.Inv.DefaultRoute(); r != nil {
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

func (s Maker) logsStep(h *model.Host) models.Step {
	r := models.LogsGatherCmdRequest{
		Bootstrap: &h.Bootstrap, ClusterID: new(strfmt.UUID(h.ClusterID)), HostID: new(strfmt.UUID(h.ID)),
		InfraEnvID: new(strfmt.UUID(h.InfraEnvID)), InstallerGather: true,
	}
	if h.Bootstrap && h.Cluster != nil {
		for _, other := range h.Cluster.Hosts {
			if other == h || other.Role != model.RoleMaster || other.Inv == nil {
				continue
			}
			for _, a := range other.Inv.Addresses {
				r.MasterIps = append(r.MasterIps, a.Prefix.Addr().String())
			}
		}
		slices.Sort(r.MasterIps)
	}
	return s.Step(stepLogs, model.InString(r))
}

// countsSince is the release that tells the installer the count of control plane machines, not just one or more.
const countsSince = "2.14"
