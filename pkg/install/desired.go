package install

import (
	"cmp"
	"fmt"
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
	if endpoint := set.IgnitionEndpoint; endpoint != nil {
		value := IgnitionEndpoint{URL: endpoint.URL}
		if endpoint.CA != nil {
			value.CA = endpoint.CA.Text()
		}
		s[SetIgnEndpoint] = ValueOf(value)
	}
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
// have the given architecture ("" for the cluster's own).
func infraEnvSettings(c *spec.Cluster, arch spec.Arch, networks []StaticNetwork) (Settings, error) {
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
	if len(networks) > 0 {
		s[SetStaticNetwork] = ValueOf(networks)
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

// everyHost adds what the file says of every host in the service's own words.
func everyHost(c *spec.Cluster, s Settings) Settings {
	if extra := c.Spec.Overrides.Host; len(extra) > 0 {
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

// intendedImage is an InfraEnv that the file asks for.
type intendedImage struct {
	name     string
	arch     spec.Arch
	settings Settings
	hosts    []string // names of the hosts that boot it
}

// intendedImages are the InfraEnvs of a cluster: one, or one for each CPU
// architecture where the cluster's is multi.
func intendedImages(c *spec.Cluster) ([]intendedImage, error) {
	byArch := map[spec.Arch][]*spec.Host{}
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		arch := imageArch(c, host.Arch)
		byArch[arch] = append(byArch[arch], host)
	}
	if len(byArch) == 0 {
		byArch[imageArch(c, "")] = nil
	}
	arches := make([]spec.Arch, 0, len(byArch))
	for arch := range byArch {
		arches = append(arches, arch)
	}
	slices.SortFunc(arches, func(a, b spec.Arch) int { // x86_64 first, whatever else there is
		return cmp.Or(cmp.Compare(bit(b == spec.X86), bit(a == spec.X86)), cmp.Compare(a, b))
	})

	images := make([]intendedImage, 0, len(arches))
	for i, arch := range arches {
		image := intendedImage{name: c.Metadata.Name, arch: arch}
		if i > 0 {
			image.name = fmt.Sprintf("%s-%d", c.Metadata.Name, i+1)
		}
		var networks []StaticNetwork
		for _, host := range byArch[arch] {
			image.hosts = append(image.hosts, host.Name)
			if yaml, macs, ok := c.StaticNetwork(host); ok {
				network := StaticNetwork{YAML: yaml}
				for _, mac := range macs {
					network.MACs = append(network.MACs, MACInterface{MAC: normaliseMAC(mac.MAC), Name: mac.LogicalName})
				}
				networks = append(networks, network)
			}
		}
		slices.SortFunc(networks, func(a, b StaticNetwork) int { return cmp.Compare(firstMAC(a), firstMAC(b)) })
		var err error
		if image.settings, err = infraEnvSettings(c, arch, networks); err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	return images, nil
}

// imageArch is the architecture of the image that a host boots: its own in a
// cluster of several, otherwise the cluster's.
func imageArch(c *spec.Cluster, host spec.Arch) spec.Arch {
	arch := c.Spec.OpenShift.Arch
	if arch == spec.Multi {
		return cmp.Or(host, spec.X86)
	}
	return arch
}

func firstMAC(n StaticNetwork) string {
	if len(n.MACs) == 0 {
		return n.YAML
	}
	return n.MACs[0].MAC
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
