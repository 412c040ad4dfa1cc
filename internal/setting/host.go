package setting

import (
	"fmt"
	"math"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// OfHost is what cluster.yaml says of a host, as far as it can be said
// of the machine: disk is the id of the resolved installation disk, keep those
// of the disks to leave alone.
func OfHost(h *spec.Host, disk string, keep []string) model.Settings {
	s := model.Settings{}
	put(s, model.SettingRole, h.Role)
	put(s, model.SettingHostname, h.Hostname)
	put(s, model.SettingDisk, disk)
	if h.Disk.Keep != nil {
		s[model.SettingKeepDisks] = model.ValueOf(keep)
	}
	if h.Labels != nil {
		s[model.SettingLabels] = model.ValueOf(h.Labels)
	}
	put(s, model.SettingPool, h.MachineConfigPool)
	putSlice(s, model.SettingInstallerArgs, h.InstallerArgs)
	if h.Ignition != nil {
		ignition, err := h.Ignition.JSON()
		if err != nil {
			ignition = h.Ignition.Text() // which the service refuses, and says why
		}
		put(s, model.SettingIgnition, ignition)
	}
	if f := h.FencedBy(); f != nil {
		put(s, model.SettingFencing, f.Address)
	}
	if endpoint := h.IgnitionEndpoint; endpoint != nil {
		if endpoint.Token != nil {
			s[model.SettingEndpointToken] = model.ValueOf(TokenSet)
		}
		if endpoint.Headers != nil {
			s[model.SettingEndpointHeaders] = model.ValueOf(endpoint.Headers)
		}
	}
	return s
}

// Secrets are those of a host's settings that the service does not give
// back and that may have become others since they were sent.
func Secrets(s model.Settings) model.Settings {
	out := model.Settings{}
	for _, setting := range []model.Setting{model.SettingFencing, model.SettingEndpointToken, model.SettingEndpointHeaders} {
		if value, set := s[setting]; set {
			out[setting] = value
		}
	}
	return out
}

// hostRule is the drift table of hosts.
func hostRule(setting model.Setting) (Rule, bool) {
	switch setting {
	case model.SettingKeepDisks:
		return Rule{same: sameSet}, true
	case model.SettingIgnition:
		return Rule{same: sameDocument}, true
	case model.SettingFencing, model.SettingEndpointHeaders, model.SettingHostExtra:
		return Rule{same: sameJSON, secret: true, Host: model.KeptHidden}, true
	case model.SettingRole:
		return Rule{same: func(want, have model.Value) bool { return want == have || want.Text() == string(spec.Auto) }}, true
	}
	return Rule{}, false
}

// OfInfraEnv is what cluster.yaml says of the InfraEnv whose machines have the given architecture ("" for the cluster's
// own), except their networks.
func OfInfraEnv(c *spec.Cluster, arch spec.Arch) (model.Settings, error) {
	s, set := model.Settings{}, c.Spec
	if c.Existing() == "" { // else the file does not say it, and it is not compared
		put(s, model.SettingVersion, set.OpenShift.Version)
	}
	put(s, model.SettingArch, arch)
	put(s, model.SettingSSHKeys, c.SSHKey())
	putProxy(s, set.Proxy)
	putSlice(s, model.SettingExtraNTP, set.Network.Defaults.NTP)
	putSlice(s, model.SettingNTP, set.Network.NTP)
	put(s, model.SettingTrustBundle, c.TrustBundle())
	putSlice(s, model.SettingKernelArguments, set.Discovery.KernelArgs)
	put(s, model.SettingImageType, set.Boot.Image)
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		return nil, fmt.Errorf("make the discovery ignition: %w", err)
	}
	put(s, model.SettingDiscoveryIgnition, ignition)
	if delay := time.Duration(set.Discovery.NetworkDelay); delay > 0 {
		s[model.SettingNetworkDelay] = model.ValueOf(int(math.Ceil(delay.Seconds())))
	}
	put(s, model.SettingOSVersion, set.Discovery.OSVersion)
	putMap(s, model.SettingAgentLabels, set.Hub.AgentLabels)
	putMap(s, model.SettingNodeLabels, set.Hub.NodeLabels)
	put(s, model.SettingIPXE, set.Hub.IPXE)
	if i := set.Hub.Ironic; i.Agent || i.Image != "" || i.IPFamilies != nil {
		s[model.SettingIronic] = model.ValueOf(i)
	}
	return s, nil
}

// infraEnvRule is the drift table of what InfraEnvs alone have.
func infraEnvRule(setting model.Setting) (Rule, bool) {
	switch setting {
	case model.SettingTrustBundle:
		return Rule{same: sameLines}, true
	case model.SettingDiscoveryIgnition:
		return Rule{same: sameDocument}, true
	case model.SettingStaticNetworks:
		return Rule{same: sameStaticNetworks}, true
	case model.SettingOSVersion:
		return Rule{same: SameVersion}, true
	case model.SettingIronic:
		return Rule{same: sameIronic}, true
	}
	return Rule{}, false
}

// TokenSet is what can be said of a token: that there is one.
const TokenSet = "set"
