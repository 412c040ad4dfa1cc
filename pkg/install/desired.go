package install

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// clusterSettings is what cluster.yaml says of the cluster itself. A field
// that the file leaves out is absent; one that it gives as empty is there.
func clusterSettings(c *spec.Cluster) Settings {
	s, set := Settings{}, c.Spec
	if set.Hub.Classifications != nil {
		s[SetClassified] = ValueOf(classifications(set.Hub.Classifications))
	}
	if c.Imported() {
		putList(s, SetTags, c.Metadata.Tags)
		putEndpoint(s, set.IgnitionEndpoint)
		return s // the rest says how a cluster is installed
	}
	put(s, SetVersion, set.OpenShift.Version)
	put(s, SetReleaseImage, set.OpenShift.ReleaseImage)
	put(s, SetArch, set.OpenShift.Arch)
	putPointer(s, SetControlPlane, set.Topology.ControlPlane)
	put(s, SetSSHKeys, c.SSHKey())
	putList(s, SetTags, c.Metadata.Tags)

	net := set.Network
	put(s, SetNetworkType, net.Type)
	putList(s, SetMachineNet, net.Machine)
	if net.Cluster != nil {
		s[SetClusterNet] = ValueOf(clusterNetworks(net.Cluster))
	}
	putList(s, SetServiceNet, net.Service)
	putList(s, SetAPIVIPs, net.VIPs.API)
	putList(s, SetIngressVIPs, net.VIPs.Ingress)
	put(s, SetLoadBalancer, net.LoadBalancer)
	putPointer(s, SetUserManaged, net.UserManaged)
	putList(s, SetExtraNTP, net.Defaults.NTP)
	putList(s, SetNTP, net.NTP)

	if set.Platform.Type != "" && (c.Present("spec.platform") || !platformImplied(c)) {
		platform := Platform{Type: string(set.Platform.Type)}
		if external := set.Platform.External; external != nil {
			platform.ExternalName, platform.CloudControllerManager = external.Name, external.CloudControllerManager
		}
		s[SetPlatform] = ValueOf(platform)
	}
	putProxy(s, set.Proxy)
	put(s, SetHyperthreads, set.Hyperthreading.ServiceWords())
	putPointer(s, SetSchedulableCP, set.SchedulableControlPlane)
	if set.DiskEncryption != nil {
		s[SetDiskEncrypt] = ValueOf(diskEncryption(set.DiskEncryption))
	}
	putEndpoint(s, set.IgnitionEndpoint)
	if set.Operators != nil {
		s[SetOperators] = ValueOf(operatorChoices(set.Operators))
	}
	if set.Bundles != nil {
		bundles := []BundleChoice{}
		for _, bundle := range set.Bundles {
			bundles = append(bundles, BundleChoice{ID: bundle.ID, Optional: bundle.Optional})
		}
		s[SetBundles] = ValueOf(bundles)
	}
	return s
}

// ignoredSettings is which validations may fail, nil where the file says nothing
// of that.
func ignoredSettings(c *spec.Cluster) Settings {
	list := c.Spec.IgnoreValidations
	if list.Cluster == nil && list.Hosts == nil {
		return nil
	}
	return Settings{SetIgnored: ValueOf(IgnoredValidations{Cluster: list.Cluster, Hosts: list.Hosts})}
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

// infraEnvSettings is what cluster.yaml says of the InfraEnv whose machines
// have the given architecture ("" for the cluster's own), but for their networks.
func infraEnvSettings(c *spec.Cluster, arch spec.Arch) (Settings, error) {
	s, set := Settings{}, c.Spec
	put(s, SetVersion, set.OpenShift.Version)
	put(s, SetArch, arch)
	put(s, SetSSHKeys, c.SSHKey())
	putProxy(s, set.Proxy)
	putList(s, SetExtraNTP, set.Network.Defaults.NTP)
	putList(s, SetNTP, set.Network.NTP)
	put(s, SetTrustBundle, c.TrustBundle())
	putList(s, SetKernelArgs, set.Discovery.KernelArgs)
	put(s, SetImageType, set.Boot.Image)
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		return nil, fmt.Errorf("make the discovery ignition: %w", err)
	}
	put(s, SetDiscIgnition, ignition)
	if delay := time.Duration(set.Discovery.NetworkDelay); delay > 0 {
		s[SetNetworkDelay] = ValueOf(int(math.Ceil(delay.Seconds())))
	}
	put(s, SetOSVersion, set.Discovery.OSVersion)
	putMap(s, SetAgentLabels, set.Hub.AgentLabels)
	putMap(s, SetNodeLabels, set.Hub.NodeLabels)
	put(s, SetIPXE, set.Hub.IPXE)
	if i := set.Hub.Ironic; i.Agent || i.Image != "" || i.IPFamilies != nil {
		ironic := Ironic{Agent: i.Agent, Image: i.Image}
		for _, family := range i.IPFamilies {
			ironic.IPFamilies = append(ironic.IPFamilies, string(family))
		}
		s[SetIronic] = ValueOf(ironic)
	}
	return s, nil
}

// hostSettings is what cluster.yaml says of a host, as far as it can be said
// of the machine: disk is the id of the resolved installation disk, keep those
// of the disks to leave alone.
func hostSettings(h *spec.Host, disk string, keep []string) Settings {
	s := Settings{}
	put(s, SetRole, h.Role)
	put(s, SetHostname, h.Hostname)
	put(s, SetDisk, disk)
	if h.Disk.Keep != nil {
		s[SetKeepDisks] = ValueOf(keep)
	}
	if h.Labels != nil {
		s[SetLabels] = ValueOf(h.Labels)
	}
	put(s, SetPool, h.MachineConfigPool)
	putList(s, SetArgs, h.InstallerArgs)
	if h.Ignition != nil {
		ignition, err := h.Ignition.JSON()
		if err != nil {
			ignition = h.Ignition.Text() // which the service refuses, and says why
		}
		put(s, SetIgnition, ignition)
	}
	if h.Fencing != nil {
		address := h.Fencing.Address
		if address == "" && h.BMC != nil {
			address = h.BMC.Address
		}
		put(s, SetFencing, address)
	}
	if endpoint := h.IgnitionEndpoint; endpoint != nil {
		if endpoint.Token != nil {
			s[SetEndpointToken] = ValueOf(tokenSet)
		}
		if endpoint.Headers != nil {
			s[SetEndpointHeaders] = ValueOf(endpoint.Headers)
		}
	}
	return s
}

// tokenSet is what can be said of a token: that there is one.
const tokenSet = "set"

// ofHost are the settings of a host of the file as the service would hold them of
// its machine, and what the file says of every host in the service's own words.
func (p *planner) ofHost(want *spec.Host, have *Host, disk string, keep []string) Settings {
	s := hostSettings(want, disk, keep)
	if want.Labels != nil && len(have.Inherited) > 0 {
		own := maps.Clone(want.Labels)
		maps.DeleteFunc(own, func(key, value string) bool {
			inherited, does := have.Inherited[key]
			return does && inherited == value
		})
		s[SetLabels] = ValueOf(own)
	}
	if extra := p.spec.Spec.Overrides.Host; len(extra) > 0 {
		s[SetHostExtra] = ValueOf(extra)
	}
	return s
}

// secretSettings are those of a host's settings that the service does not give
// back and that may have become others since they were sent.
func secretSettings(s Settings) Settings {
	out := Settings{}
	for _, setting := range []Setting{SetFencing, SetEndpointToken, SetEndpointHeaders} {
		if value, set := s[setting]; set {
			out[setting] = value
		}
	}
	return out
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func put[T ~string](s Settings, key Setting, value T) {
	if value != "" {
		s[key] = ValueOf(string(value))
	}
}

func putPointer[T any](s Settings, key Setting, value *T) {
	if value != nil {
		s[key] = ValueOf(*value)
	}
}

func putList(s Settings, key Setting, list []string) {
	if list != nil {
		s[key] = ValueOf(list)
	}
}

func putMap(s Settings, key Setting, texts map[string]string) {
	if texts != nil {
		s[key] = ValueOf(texts)
	}
}

func putEndpoint(s Settings, endpoint *spec.IgnitionEndpoint) {
	if endpoint == nil {
		return
	}
	value := IgnitionEndpoint{URL: endpoint.URL}
	if endpoint.CA != nil {
		value.CA = endpoint.CA.Text()
	}
	s[SetIgnEndpoint] = ValueOf(value)
}

func classifications(list []spec.Classification) []Classification {
	out := []Classification{}
	for _, c := range list {
		out = append(out, Classification{Label: c.Label, Value: c.Value, Query: c.Query})
	}
	SortClassifications(out)
	return out
}

// SortClassifications brings classifications into the order in which they are
// compared.
func SortClassifications(list []Classification) {
	slices.SortFunc(list, func(a, b Classification) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Value, b.Value))
	})
}

func putProxy(s Settings, proxy spec.Proxy) {
	if proxy.HTTP != "" || proxy.HTTPS != "" || proxy.No != nil {
		s[SetProxy] = ValueOf(Proxy{HTTP: proxy.HTTP.Reveal(), HTTPS: proxy.HTTPS.Reveal(), No: strings.Join(proxy.No, ",")})
	}
}

func clusterNetworks(networks []spec.ClusterNetwork) []ClusterNetwork {
	out := []ClusterNetwork{}
	for _, n := range networks {
		out = append(out, ClusterNetwork{CIDR: n.CIDR, HostPrefix: n.HostPrefix})
	}
	return out
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

func diskEncryption(d *spec.DiskEncryption) DiskEncryption {
	out := DiskEncryption{On: d.On.ServiceWords(), Mode: string(d.Mode)}
	if d.Mode == spec.TPM {
		out.Mode = "tpmv2"
	}
	for _, server := range d.Tang {
		out.Tang = append(out.Tang, Tang{URL: server.URL, Thumbprint: server.Thumbprint})
	}
	return out
}
