package setting

import (
	"fmt"
	"math"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

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
	put(s, Version, set.OpenShift.Version)
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
