package setting

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Settings of a cluster; those marked (image) are settings of an InfraEnv as
// well, where a change makes a new image.
const (
	Version       Name = "spec.openshift.version"       // string (image)
	ReleaseImage  Name = "spec.openshift.releaseImage"  // string
	Arch          Name = "spec.openshift.arch"          // string (image)
	ControlPlane  Name = "spec.topology.controlPlane"   // int
	Workers       Name = "spec.topology.workers"        // int, of StartInstall only
	Arbiters      Name = "spec.topology.arbiters"       // int, of StartInstall, and of clusters where Cluster.Changeable has it
	SSHKeys       Name = "spec.sshKeys"                 // string, one key a line (image)
	NetworkType   Name = "spec.network.type"            // string
	MachineNet    Name = "spec.network.machine"         // []string of CIDRs
	ClusterNet    Name = "spec.network.cluster"         // []spec.ClusterNetwork
	ServiceNet    Name = "spec.network.service"         // []string of CIDRs
	APIVIPs       Name = "spec.network.vips.api"        // []string of addresses
	IngressVIPs   Name = "spec.network.vips.ingress"    // []string of addresses
	LoadBalancer  Name = "spec.network.loadBalancer"    // cluster-managed | user-managed
	UserManaged   Name = "spec.network.userManaged"     // bool
	Platform      Name = "spec.platform"                // spec.Platform
	Proxy         Name = "spec.proxy"                   // spec.Proxy (image)
	ExtraNTP      Name = "spec.network.defaults.ntp"    // []string, added to the defaults (image)
	NTP           Name = "spec.network.ntp"             // []string, the only ones (image)
	Hyperthreads  Name = "spec.hyperthreading"          // spec.RoleSet
	SchedulableCP Name = "spec.schedulableControlPlane" // bool
	DiskEncrypt   Name = "spec.diskEncryption"          // spec.DiskEncryption
	Operators     Name = "spec.operators"               // []spec.Operator, sorted
	Bundles       Name = "spec.bundles"                 // []spec.Bundle
	InstallConfig Name = "spec.overrides.installConfig" // JSON document in a string
	PullSecret    Name = "spec.pullSecret"              // the word "resend"; the secret itself is the desired cluster's (image)
	Tags          Name = "metadata.tags"                // []string, besides oaictl's own
	IgnEndpoint   Name = "spec.ignitionEndpoint"        // spec.IgnitionEndpoint
	Ignored       Name = "spec.ignoreValidations"       // spec.IgnoreValidations
	Classified    Name = "spec.hub.classifications"     // []spec.Classification, sorted; of a hub only
)

// OfCluster is what cluster.yaml says of the cluster itself. A field
// that the file leaves out is absent; one that it gives as empty is there.
func OfCluster(c *spec.Cluster) Settings {
	s, set := Settings{}, c.Spec
	if set.Hub.Classifications != nil {
		s[Classified] = ValueOf(SortedClassifications(set.Hub.Classifications))
	}
	if c.OnlyAdds() {
		putSlice(s, Tags, c.Metadata.Tags)
		putPointer(s, IgnEndpoint, set.IgnitionEndpoint)
		return s // the rest says how a cluster is installed
	}
	put(s, Version, set.OpenShift.Version)
	put(s, ReleaseImage, set.OpenShift.ReleaseImage)
	put(s, Arch, set.OpenShift.Arch)
	putPointer(s, ControlPlane, set.Topology.ControlPlane)
	put(s, SSHKeys, c.SSHKey())
	putSlice(s, Tags, c.Metadata.Tags)

	net := set.Network
	put(s, NetworkType, net.Type)
	putSlice(s, MachineNet, net.Machine)
	putSlice(s, ClusterNet, net.Cluster)
	putSlice(s, ServiceNet, net.Service)
	putSlice(s, APIVIPs, net.VIPs.API)
	putSlice(s, IngressVIPs, net.VIPs.Ingress)
	put(s, LoadBalancer, net.LoadBalancer)
	putPointer(s, UserManaged, net.UserManaged)
	putSlice(s, ExtraNTP, net.Defaults.NTP)
	putSlice(s, NTP, net.NTP)

	if set.Platform.Type != "" && (c.Present("spec.platform") || !platformImplied(c)) {
		s[Platform] = ValueOf(set.Platform)
	}
	putProxy(s, set.Proxy)
	if len(set.Hyperthreading) > 0 {
		s[Hyperthreads] = ValueOf(set.Hyperthreading)
	}
	putPointer(s, SchedulableCP, set.SchedulableControlPlane)
	putPointer(s, DiskEncrypt, set.DiskEncryption)
	putPointer(s, IgnEndpoint, set.IgnitionEndpoint)
	if set.Operators != nil {
		operators := append([]spec.Operator{}, set.Operators...)
		slices.SortFunc(operators, func(a, b spec.Operator) int { return cmp.Compare(a.Name, b.Name) })
		for i := range operators {
			if len(operators[i].Properties) == 0 {
				operators[i].Properties = nil
			}
		}
		s[Operators] = ValueOf(operators)
	}
	putSlice(s, Bundles, set.Bundles)
	return s
}

// IgnoredOf is which validations may fail, nil where the file says nothing
// of that.
func IgnoredOf(c *spec.Cluster) Settings {
	list := c.Spec.IgnoreValidations
	if list.Cluster == nil && list.Hosts == nil {
		return nil
	}
	return Settings{Ignored: ValueOf(list)}
}

// platformImplied says whether the service comes to the same platform by
// itself, so that it need not be sent.
func platformImplied(c *spec.Cluster) bool {
	userManaged := c.Spec.Network.UserManaged != nil && *c.Spec.Network.UserManaged
	switch c.Spec.Platform.Type {
	case spec.BareMetal:
		return !c.SingleNode() && !userManaged
	case spec.NoneType:
		return c.SingleNode() || userManaged
	}
	return false
}

// clusterRule is the drift table of clusters.
func clusterRule(setting Name) (Rule, bool) {
	switch setting {
	case Version:
		return Rule{Cluster: Frozen, InfraEnv: Frozen, same: SameVersion}, true
	case ReleaseImage, Arch, ControlPlane:
		return Rule{Cluster: Frozen, InfraEnv: Frozen, same: sameJSON}, true
	case Bundles:
		return Rule{Cluster: Frozen, same: sameBundles}, true
	case SSHKeys:
		return Rule{same: sameLines}, true
	case Tags, ExtraNTP, NTP:
		return Rule{same: sameSet}, true
	case MachineNet, ServiceNet:
		return Rule{same: samePrefixes}, true
	case ClusterNet:
		return Rule{same: sameClusterNetworks}, true
	case APIVIPs, IngressVIPs:
		return Rule{same: sameAddresses}, true
	case Proxy:
		return Rule{same: sameProxy, secret: true}, true
	case Operators:
		return Rule{same: operatorsIncluded}, true
	case InstallConfig:
		return Rule{same: sameDocument}, true
	case Hyperthreads:
		return Rule{same: sameRoles}, true
	case DiskEncrypt:
		return Rule{same: sameEncryption}, true
	case Ignored:
		return Rule{same: sameIgnored}, true
	}
	return Rule{}, false
}

func put[T ~string](s Settings, key Name, value T) {
	if value != "" {
		s[key] = ValueOf(string(value))
	}
}

func putPointer[T any](s Settings, key Name, value *T) {
	if value != nil {
		s[key] = ValueOf(*value)
	}
}

func putSlice[T any](s Settings, key Name, list []T) {
	if list != nil {
		s[key] = ValueOf(list)
	}
}

func putMap(s Settings, key Name, texts map[string]string) {
	if texts != nil {
		s[key] = ValueOf(texts)
	}
}

func putProxy(s Settings, proxy spec.Proxy) {
	if proxy.HTTP != "" || proxy.HTTPS != "" || proxy.No != nil {
		s[Proxy] = ValueOf(proxy)
	}
}
