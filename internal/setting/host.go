package setting

import (
	"fmt"
	"math"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Settings of a host, relative to its entry in spec.hosts.
const (
	Role      Name = "role"       // Role
	Hostname  Name = "hostname"   // string
	Disk      Name = "disk.hints" // inventory id of the installation disk
	KeepDisks Name = "disk.keep"  // []string of inventory ids that are not formatted
	Labels    Name = "labels"     // map[string]string
	// Taints and ProviderID are of nodes alone: no service keeps them.
	Taints     Name = "taints"            // list of key, value, effect
	ProviderID Name = "providerID"        // string
	Pool       Name = "machineConfigPool" // string
	Args       Name = "installerArgs"     // []string
	Ignition   Name = "ignition"          // Ignition JSON in a string
	Fencing    Name = "fencing"           // secret; only its address is compared, where the service gives that back
	// EndpointToken is the word "set": the service says only whether there
	// is a token, which itself is the desired cluster's.
	EndpointToken   Name = "ignitionEndpoint.token"
	EndpointHeaders Name = "ignitionEndpoint.headers" // map[string]string; not given back
	// HostExtra is a JSON object in the service's own words, the same for
	// every host; not given back as it was sent.
	HostExtra Name = "spec.overrides.host"
	// Approved is a bool: the host may take part in an installation. A plane
	// whose service asks for that gives it back for every host; where it is not
	// given back it is never sent.
	Approved Name = "approved"
)

// OfHost is what cluster.yaml says of a host, as far as it can be said
// of the machine: disk is the id of the resolved installation disk, keep those
// of the disks to leave alone.
func OfHost(h *spec.Host, disk string, keep []string) Settings {
	s := Settings{}
	put(s, Role, h.Role)
	put(s, Hostname, h.Hostname)
	put(s, Disk, disk)
	if h.Disk.Keep != nil {
		s[KeepDisks] = ValueOf(keep)
	}
	if h.Labels != nil {
		s[Labels] = ValueOf(h.Labels)
	}
	put(s, Pool, h.MachineConfigPool)
	putSlice(s, Args, h.InstallerArgs)
	if h.Ignition != nil {
		ignition, err := h.Ignition.JSON()
		if err != nil {
			ignition = h.Ignition.Text() // which the service refuses, and says why
		}
		put(s, Ignition, ignition)
	}
	if f := h.FencedBy(); f != nil {
		put(s, Fencing, f.Address)
	}
	if endpoint := h.IgnitionEndpoint; endpoint != nil {
		if endpoint.Token != nil {
			s[EndpointToken] = ValueOf(TokenSet)
		}
		if endpoint.Headers != nil {
			s[EndpointHeaders] = ValueOf(endpoint.Headers)
		}
	}
	return s
}

// TokenSet is what can be said of a token: that there is one.
const TokenSet = "set"

// Secrets are those of a host's settings that the service does not give
// back and that may have become others since they were sent.
func Secrets(s Settings) Settings {
	out := Settings{}
	for _, setting := range []Name{Fencing, EndpointToken, EndpointHeaders} {
		if value, set := s[setting]; set {
			out[setting] = value
		}
	}
	return out
}

// hostRule is the drift table of hosts.
func hostRule(setting Name) (Rule, bool) {
	switch setting {
	case KeepDisks:
		return Rule{same: sameSet}, true
	case Ignition:
		return Rule{same: sameDocument}, true
	case Fencing, EndpointHeaders, HostExtra:
		return Rule{same: sameJSON, secret: true, Host: Hidden}, true
	case Role:
		return Rule{same: func(want, have Value) bool { return want == have || want.Text() == string(spec.Auto) }}, true
	}
	return Rule{}, false
}

// Settings of an InfraEnv only.
const (
	TrustBundle    Name = "spec.registry.trustBundle"   // PEM
	KernelArgs     Name = "spec.discovery.kernelArgs"   // []string
	DiscIgnition   Name = "spec.discovery.ignition"     // Ignition JSON in a string
	ImageType      Name = "spec.boot.image"             // full | minimal
	NetworkDelay   Name = "spec.discovery.networkDelay" // int, seconds
	StaticNetworks Name = "spec.hosts[].net"            // []StaticNetwork, sorted by first MAC
	OSVersion      Name = "spec.discovery.osVersion"    // string; takes the place of Version
	AgentLabels    Name = "spec.hub.agentLabels"        // map[string]string; of a hub only, as those below
	NodeLabels     Name = "spec.hub.nodeLabels"         // map[string]string
	Ironic         Name = "spec.hub.ironic"             // spec.Ironic
	IPXE           Name = "spec.hub.ipxe"               // always | boot-order
)

// OfInfraEnv is what cluster.yaml says of the InfraEnv whose machines
// have the given architecture ("" for the cluster's own), but for their networks.
func OfInfraEnv(c *spec.Cluster, arch spec.Arch) (Settings, error) {
	s, set := Settings{}, c.Spec
	if c.Existing() == "" { // else the file does not say it, and it is not compared
		put(s, Version, set.OpenShift.Version)
	}
	put(s, Arch, arch)
	put(s, SSHKeys, c.SSHKey())
	putProxy(s, set.Proxy)
	putSlice(s, ExtraNTP, set.Network.Defaults.NTP)
	putSlice(s, NTP, set.Network.NTP)
	put(s, TrustBundle, c.TrustBundle())
	putSlice(s, KernelArgs, set.Discovery.KernelArgs)
	put(s, ImageType, set.Boot.Image)
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		return nil, fmt.Errorf("make the discovery ignition: %w", err)
	}
	put(s, DiscIgnition, ignition)
	if delay := time.Duration(set.Discovery.NetworkDelay); delay > 0 {
		s[NetworkDelay] = ValueOf(int(math.Ceil(delay.Seconds())))
	}
	put(s, OSVersion, set.Discovery.OSVersion)
	putMap(s, AgentLabels, set.Hub.AgentLabels)
	putMap(s, NodeLabels, set.Hub.NodeLabels)
	put(s, IPXE, set.Hub.IPXE)
	if i := set.Hub.Ironic; i.Agent || i.Image != "" || i.IPFamilies != nil {
		s[Ironic] = ValueOf(i)
	}
	return s, nil
}

// infraEnvRule is the drift table of what InfraEnvs alone have.
func infraEnvRule(setting Name) (Rule, bool) {
	switch setting {
	case TrustBundle:
		return Rule{same: sameLines}, true
	case DiscIgnition:
		return Rule{same: sameDocument}, true
	case StaticNetworks:
		return Rule{same: sameStaticNetworks}, true
	case OSVersion:
		return Rule{same: SameVersion}, true
	case Ironic:
		return Rule{same: sameIronic}, true
	}
	return Rule{}, false
}
