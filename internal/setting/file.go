package setting

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// OfCluster is what cluster.yaml says of the cluster itself. A field
// that the file leaves out is absent; one that it gives as empty is there.
func OfCluster(c *spec.Cluster) Settings {
	s, set := Settings{}, c.Spec
	if set.Hub.Classifications != nil {
		s[Classified] = ValueOf(SortedClassifications(set.Hub.Classifications))
	}
	if c.Imported() {
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
		s[Operators] = ValueOf(operatorChoices(set.Operators))
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

func operatorChoices(operators []spec.Operator) []OperatorChoice {
	out := []OperatorChoice{}
	for _, o := range operators {
		choice := OperatorChoice{Name: o.Name}
		if len(o.Properties) > 0 {
			choice.Properties = string(ValueOf(o.Properties))
		}
		out = append(out, choice)
	}
	slices.SortFunc(out, func(a, b OperatorChoice) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
