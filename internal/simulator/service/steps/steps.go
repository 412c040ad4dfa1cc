// Package steps has the instructions that the service gives to the agents of hosts.
package steps

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/validate"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

// The steps that an agent can be told to take.
const (
	StepInventory    = "inventory"
	StepConnectivity = "connectivity-check"
	StepFreeAddress  = "free-network-addresses"
	StepNTP          = "ntp-synchronizer"
	StepDomains      = "domain-resolution"
	StepVips         = "verify-vips"
	StepTang         = "tang-connectivity-check"
	StepAPIVip       = "api-vip-connectivity-check"
	StepDiskSpeed    = "installation-disk-speed-check"
	StepImages       = "container-image-availability"
	StepInstall      = "install"
	stepLogs         = "logs-gather"
	stepStop         = "stop-installation"
	StepUpgrade      = "upgrade-agent"
)

// Maker tells agents what to do.
type Maker struct {
	Release  versions.ServiceRelease
	Entropy  io.Reader // of ids
	Patience Patience
}

// For lists what a host has to do in its state.
func (s Maker) For(h *model.Host) []models.Step {
	inventoryStep := func() models.Step { return s.Step(StepInventory, h.ID) }
	switch h.State {
	case model.HostDiscovering:
		if h.Kind == model.KindAddedHost {
			return []models.Step{inventoryStep(), s.ntpStep(h), s.domainStep(h)}
		}
		return []models.Step{inventoryStep()}
	case model.HostInsufficient, model.HostPendingInput, model.HostKnown:
		if h.Kind == model.KindAddedHost {
			return s.day2Steps(h, inventoryStep())
		}
		return s.day1Steps(h, inventoryStep())
	case model.HostDisconnected, model.HostDisconnectedUnbound:
		return []models.Step{inventoryStep()}
	case model.HostDiscoveringUnbound, model.HostInsufficientUnbound, model.HostKnownUnbound:
		return []models.Step{inventoryStep(), s.ntpStep(h)}
	case model.HostPreparing:
		return s.preparationSteps(h)
	case model.HostInstalling:
		return []models.Step{s.installStep(h)}
	case model.HostError, model.HostCancelled:
		return []models.Step{s.logsStep(h), s.Step(stepStop)}
	}
	return nil
}

// day2Steps are those of a host that is to be added. One that waits for an input is not asked for time and names.
func (s Maker) day2Steps(h *model.Host, inv models.Step) []models.Step {
	steps := append(s.connectivityStep(h), s.Step(StepAPIVip, model.InString(IgnitionRequest(h))))
	at := 0
	if h.State == model.HostKnown {
		at = len(steps)
	}
	steps = slices.Insert(steps, at, inv)
	if h.State == model.HostPendingInput {
		return steps
	}
	return append(steps, s.ntpStep(h), s.domainStep(h))
}

func (s Maker) day1Steps(h *model.Host, inv models.Step) []models.Step {
	c := h.Cluster
	var steps []models.Step
	// A host that is known has told enough: its inventory comes later in the list.
	if h.State != model.HostKnown {
		steps = append(steps, inv)
	}
	steps = append(steps, s.connectivityStep(h)...)
	if e := c.DiskEncryption; e != nil && e.Mode == "tang" && validate.SelectsRole(e.EnableOn, h.EffectiveRole()) {
		steps = append(steps, s.Step(StepTang, model.InString(map[string]string{"tang_servers": c.DiskEncryption.TangServers})))
	}
	if networks := ipv4Networks(h); len(networks) > 0 {
		steps = append(steps, s.Step(StepFreeAddress, model.InString(networks)))
	}
	if h.State == model.HostKnown {
		steps = append(steps, inv)
	}
	steps = append(steps, s.ntpStep(h), s.domainStep(h))
	if len(c.APIVips)+len(c.IngressVips) > 0 && !c.UserManaged() && !c.UserBalanced() {
		steps = append(steps, s.Step(StepVips, model.InString(vipQuestions(c))))
	}
	return steps
}

// Step is a step of a kind, with an id of its own.
func (s Maker) Step(kind models.StepType, args ...string) models.Step {
	var b [4]byte
	_, _ = s.Entropy.Read(b[:]) // a deterministic source never fails
	return models.Step{Args: append([]string{}, args...), StepID: string(kind) + "-" + hex.EncodeToString(b[:]), StepType: kind}
}

func (s Maker) ntpStep(h *model.Host) models.Step {
	return s.Step(StepNTP, model.InString(map[string]string{"ntp_source": timeServers(h)}))
}

// timeServers are the cluster's, and only where it names none, those of its hosts' InfraEnvs.
func timeServers(h *model.Host) string {
	if h.Cluster == nil {
		return cmp.Or(h.InfraEnv.NtpSources, h.InfraEnv.AdditionalNtpSources)
	}
	if own := cmp.Or(h.Cluster.NtpSources, h.Cluster.AdditionalNtpSource); own != "" {
		return own
	}
	return strings.Join(h.Cluster.InfraEnvNtpSources(), ",")
}

func (s Maker) domainStep(h *model.Host) models.Step {
	c := h.Cluster
	base := c.Name + "." + c.BaseDNSDomain
	names := []string{"api." + base, "api-int." + base, "console-openshift-console.apps." + base,
		"validateNoWildcardDNS." + base + ".", "validateNoWildcardDNS." + base}
	if !c.IsDay2() {
		registry, _, _ := strings.Cut(c.OcpReleaseImage, "/")
		names = append(names, registry)
	}
	var r models.DomainResolutionRequest
	for _, name := range names {
		r.Domains = append(r.Domains, models.DomainResolutionRequestDomain{DomainName: &name})
	}
	return s.Step(StepDomains, model.InString(r))
}

func (s Maker) connectivityStep(h *model.Host) []models.Step {
	var peers models.ConnectivityCheckParams
	for _, other := range h.Cluster.Hosts {
		if other == h || other.Inv == nil || model.OneOf(other.State, model.HostDiscovering, model.HostDisconnected, model.HostInstalled) &&
			h.Kind != model.KindAddedHost || other.Kind == model.KindAddedHost {
			continue
		}
		p := &models.ConnectivityCheckHost{HostID: strfmt.UUID(other.ID)}
		for i, n := range other.Inv.Interfaces {
			var ips []string
			for _, a := range other.Inv.Addresses {
				if a.NIC == i {
					ips = append(ips, a.Prefix.Addr().String())
				}
			}
			if len(ips) > 0 {
				p.Nics = append(p.Nics, &models.ConnectivityCheckNic{IPAddresses: ips, Mac: strfmt.MAC(n.MacAddress), Name: n.Name})
			}
		}
		peers = append(peers, p)
	}
	if len(peers) == 0 {
		return nil
	}
	return []models.Step{s.Step(StepConnectivity, model.InString(peers))}
}

func ipv4Networks(h *model.Host) []string {
	if h.Inv == nil {
		return nil
	}
	var list []string
	for _, a := range h.Inv.Addresses {
		network := a.Prefix.Masked()
		if network.Addr().Is4() && network.Bits() >= 22 && !slices.Contains(list, network.String()) {
			list = append(list, network.String())
		}
	}
	return list
}

func vipQuestions(c *model.Cluster) (list models.VerifyVipsRequest) {
	for _, v := range c.APIVips {
		list = append(list, &models.VerifyVip{Vip: models.IP(v.IP), VipType: models.VipTypeAPI})
	}
	for _, v := range c.IngressVips {
		list = append(list, &models.VerifyVip{Vip: models.IP(v.IP), VipType: models.VipTypeIngress})
	}
	return list
}

// IgnitionRequest is where a host to be added finds its ignition.
func IgnitionRequest(h *model.Host) models.APIVipConnectivityRequest {
	c, pool := h.Cluster, cmp.Or(h.MachineConfigPool, h.Role)
	var r models.APIVipConnectivityRequest
	if h.Token != "" {
		r.IgnitionEndpointToken = &h.Token
	}
	if h.Headers != "" {
		_ = json.Unmarshal([]byte(h.Headers), &r.RequestHeaders) // it was encoded here
	}
	if e := c.IgnitionEndpoint; e != nil && e.URL != "" {
		r.URL = new(strings.TrimSuffix(e.URL, "/") + "/" + pool)
		if e.CACertificate != "" {
			r.CaCertificate = &e.CACertificate
		}
		return r
	}
	r.URL = new(fmt.Sprintf("http://%s:22624/config/%s", APIAddress(c), pool))
	return r
}

// APIAddress is where the API of an installed cluster is reached.
func APIAddress(c *model.Cluster) string {
	vip := ""
	if len(c.APIVips) > 0 {
		vip = c.APIVips[0].IP
	}
	return cmp.Or(c.APIVipDNSName, vip, "api."+c.Name+"."+c.BaseDNSDomain)
}

// Patience is how long preparations may take.
type Patience struct{ Disk, Images time.Duration }

// StockPatience is the default of the service.
func StockPatience() Patience { return Patience{8 * time.Minute, 16 * time.Minute} }

// Host is how long one machine may prepare.
func (p Patience) Host() time.Duration { return p.Images + time.Minute }

// Cluster is how long all machines may prepare.
func (p Patience) Cluster() time.Duration { return p.Images + 2*time.Minute }

func (s Maker) preparationSteps(h *model.Host) []models.Step {
	if h.Kind == model.KindAddedHost {
		return nil
	}
	var steps []models.Step
	if !h.BootsFromDisk() && (!h.DiskTested || h.DiskPath != h.InstallationDiskID) {
		steps = append(
			steps,
			s.Step(StepDiskSpeed, model.InString(map[string]string{"path": h.InstallationDiskID}), fmt.Sprintf("%.2f", s.Patience.Disk.Seconds())),
		)
	}
	if len(h.ImageResults) == 0 {
		images := payloadOf(h.Cluster)
		steps = append(steps, s.Step(StepImages, model.InString(models.ContainerImageAvailabilityRequest{
			Images:  []string{h.Cluster.OcpReleaseImage, images.MachineConfigOperator, images.MustGather, versions.InstallerImage},
			Timeout: int64(s.Patience.Images.Seconds()),
		})))
	}
	return steps
}

type installRequest struct {
	models.InstallCmdRequest
	HighAvailability string `json:"high_availability_mode,omitempty"`
}

func payloadOf(c *model.Cluster) versions.Payload {
	release, found := versions.ReleaseByURL(c.OcpReleaseImage)
	if !found {
		return versions.Payload{}
	}
	return release.Payload()
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
		images := payloadOf(c)
		r.McoImage, r.MustGatherImage = images.MachineConfigOperator, images.MustGather
		r.OpenshiftVersion = c.OpenshiftVersion
	}
	if h.BootsFromDisk() {
		r.CoreosImage = payloadOf(c).CoreOS
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
