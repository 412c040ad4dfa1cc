package fields

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/losses"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/output"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Document is a document, or a part of one, in which formats say fields of cluster.yaml.
type Document string

// The documents. Those of a hub have tables in hubobjects.
const (
	InstallConfig       Document = "install-config"
	InstallOverrides    Document = "install-config-overrides" // fields of one in an annotation, or a parameter
	InstallPlatform     Document = "install-config-platform"  // below the platform's name
	InstallHost         Document = "install-config-host"      // one of platform.baremetal.hosts
	AgentConfig         Document = "agent-config"
	AgentHost           Document = "agent-config-host"     // one of the hosts of agent-config.yaml or nodes-config.yaml
	NodesConfig         Document = "nodes-config"          // of oc adm node-image
	ClusterDeployment   Document = "cluster-deployment"    // its spec
	MetalHost           Document = "bare-metal-host"       // the spec of a BareMetalHost
	ClusterInstance     Document = "cluster-instance"      // its spec
	ClusterInstanceNode Document = "cluster-instance-node" // one of its nodes
	CAPIControlPlane    Document = "capi-control-plane"    // the spec of an OpenshiftAssistedControlPlane
	CAPIBootstrap       Document = "capi-bootstrap"        // the spec of an OpenshiftAssistedConfig
	Parameters          Document = "aicli"
	ParametersHost      Document = "aicli-host" // one of their hosts
)

// row says where documents have a field of cluster.yaml, and how it is read and written there.
// A place is the keys that lead to it; "." is the document itself, of which the field takes
// several keys, and a|b are two words for one key. Without read a value is read as the
// field's type says; without write it is only read. The field of a host begins with a dot.
type row struct {
	field string
	read  func(r *Reader, host int, n *input.Node)
	write func(*output.Writer, *spec.Host) any
	at    map[Document]string
}

// NoHost is the host of what is said of the cluster.
const NoHost = -1

type places = map[Document]string

// whole reads a field of the cluster.
func whole(read func(*Reader, *input.Node)) func(*Reader, int, *input.Node) {
	return func(r *Reader, _ int, n *input.Node) { read(r, n) }
}

// said writes what the cluster says.
func said[T any](value func(*spec.Cluster) T) func(*output.Writer, *spec.Host) any {
	return func(w *output.Writer, _ *spec.Host) any { return value(w.Maker.Cluster) }
}

// table has the fields in the order in which they are read. The last are those of fields.yaml.
var table = sync.OnceValue(func() []row {
	return append([]row{
		{"metadata.name", nil, said(func(c *spec.Cluster) string { return c.Metadata.Name }), places{
			InstallConfig: "metadata.name", ClusterDeployment: "clusterName", ClusterInstance: "clusterName", Parameters: "name|cluster",
		}},
		{"metadata.tags", whole((*Reader).Tag), nil, places{
			ClusterInstance: "extraLabels." + hubapi.KindAgentClusterInstall + "[" + hubapi.LabelConsumer + "]",
		}},
		{"spec.baseDomain", nil, said(func(c *spec.Cluster) string { return c.Spec.BaseDomain }), places{
			InstallConfig: "baseDomain", ClusterDeployment: "baseDomain", ClusterInstance: "baseDomain", CAPIControlPlane: "config.baseDomain",
			Parameters: "base_dns_domain|domain",
		}},
		{"spec.openshift.arch", whole((*Reader).Arch),
			said(func(c *spec.Cluster) string { return clustersettings.KernelArch(c.Spec.OpenShift.Arch) }),
			places{ClusterInstance: "cpuArchitecture", Parameters: "cpu_architecture"}},
		{"spec.pullSecret", whole((*Reader).PullSecret), nil, places{InstallConfig: "pullSecret"}},
		{"spec.sshKeys", whole((*Reader).SSHKeys), said((*spec.Cluster).SSHKey), places{
			InstallConfig: "sshKey", NodesConfig: "sshKey", ClusterInstance: "sshPublicKey", CAPIControlPlane: "config.sshAuthorizedKey",
			CAPIBootstrap: "sshAuthorizedKey",
		}},
		{"spec.registry.trustBundle", whole((*Reader).TrustBundle), said((*spec.Cluster).TrustBundle), places{
			InstallConfig: "additionalTrustBundle", CAPIBootstrap: "additionalTrustBundle",
		}},
		{"spec.registry.mirrors", whole((*Reader).Mirrors), nil, places{InstallConfig: "imageDigestSources"}},
		{"spec.registry.mirrors", whole((*Reader).Mirrors), nil, places{InstallConfig: "imageContentSources"}},
		{"spec.proxy", whole((*Reader).Proxy), said(func(c *spec.Cluster) any { return hubobjects.ProxyFields(c.Spec.Proxy) }), places{
			InstallConfig: "proxy", ClusterInstance: "proxy", CAPIControlPlane: "config.proxy", CAPIBootstrap: "proxy",
		}},
		{"spec.network", whole((*Reader).Networking), networking, places{InstallConfig: "networking"}},
		{"spec.network", whole((*Reader).Networking), siteNetworking, places{ClusterInstance: "."}},
		{"spec.network.vips", whole((*Reader).VIPs), vips, places{InstallPlatform: ".", ClusterInstance: "."}},
		{"spec.network.loadBalancer", whole((*Reader).Balancer),
			said(func(c *spec.Cluster) string { return hubobjects.BalancerWord(c.Spec.Network.LoadBalancer) }),
			places{InstallPlatform: "loadBalancer.type"}},
		{"spec.network.defaults.ntp", nil, ntp, places{AgentConfig: "additionalNTPSources"}},
		{"spec.network.defaults.ntp", nil, siteNTP, places{ClusterInstance: "additionalNTPSources"}},
		{"spec.platform", whole((*Reader).PlatformType), platformType, places{ClusterInstance: "platformType"}},
		{"spec.hold", whole((*Reader).Hold), said(func(c *spec.Cluster) bool { return c.Spec.Hold }), places{
			ClusterInstance: "holdInstallation",
		}},
		{"spec.diskEncryption", whole((*Reader).DiskEncryption), nil, places{CAPIControlPlane: "config.diskEncryption"}},
		{"spec.operators", whole((*Reader).Operators), nil, places{Parameters: "olm_operators"}},
		{"spec.boot.image", whole((*Reader).ImageType), nil, places{Parameters: "image_type"}},
		{"spec.discovery.ignition", whole((*Reader).DiscoveryIgnition), discoveryIgnition, places{
			ClusterInstance: "ignitionConfigOverride", Parameters: "ignition_config_override",
		}},
		{"spec.discovery.networkDelay", whole((*Reader).NetworkDelay), nil, places{Parameters: "network_discovery_delay_seconds"}},
		{"spec.discovery.kernelArgs", whole((*Reader).KernelArguments), nil, nil},
		{".name", nil, hostname, places{InstallHost: "name", ClusterInstanceNode: "hostName"}},
		{".role", (*Reader).Role, role, places{InstallHost: "role", AgentHost: "role"}},
		{".match.mac", (*Reader).MAC, firstMAC, places{
			InstallHost: "bootMACAddress", ClusterInstanceNode: "bootMACAddress", MetalHost: "bootMACAddress", ParametersHost: "mac",
		}},
		{".disk.hints", nil, hints, places{
			InstallHost: "rootDeviceHints", AgentHost: "rootDeviceHints", MetalHost: "rootDeviceHints", ClusterInstanceNode: "rootDeviceHints",
		}},
		{".labels", (*Reader).NodeLabels, labels, places{ClusterInstanceNode: "nodeLabels"}},
		{".installerArgs", (*Reader).InstallerArgs, installerArgs, places{ClusterInstanceNode: "installerArgs"}},
		{".ignition", (*Reader).HostIgnition, hostIgnition, places{ClusterInstanceNode: "ignitionConfigOverride"}},
		{".machineConfigPool", nil, nil, places{
			ClusterInstanceNode: "extraAnnotations." + hubapi.KindBareMetalHost + "[" + hubapi.AnnotationBMACMachineConfigPool + "]",
		}},
	}, sameRows()...)
})

// Fields carries over what a document says of the cluster, or of a host by its number, which is NoHost otherwise.
func (r *Reader) Fields(n *input.Node, document Document, host int) {
	for _, row := range table() {
		if place := row.at[document]; place != "" {
			r.read(row, host, r.placed(n, place))
		}
	}
}

// Field carries over one field of the cluster, or of a host (.role), that stands in n.
func (r *Reader) Field(field string, n *input.Node, host int) {
	all := table()
	i := slices.IndexFunc(all, func(row row) bool { return row.field == field })
	if i < 0 {
		i, all = 0, []row{{field: field}}
	}
	r.read(all[i], host, n)
}

func (r *Reader) read(row row, host int, n *input.Node) {
	name, isHost := strings.CutPrefix(row.field, ".")
	switch {
	case row.read != nil:
		row.read(r, host, n)
	case isHost:
		r.Set(HostField(host, name), n)
	default:
		r.Set(name, n)
	}
}

// placed is what stands at a place of the tables.
func (r *Reader) placed(n *input.Node, place string) *input.Node {
	if place == "." {
		return n
	}
	if words := strings.Split(place, "|"); len(words) > 1 {
		return r.OneWord(n, words...)
	}
	return n.Get(losses.Steps(place)...)
}

// Written is what a document says of the cluster, or of a host.
func Written(w *output.Writer, document Document, host *spec.Host) hubobjects.Fields {
	out := hubobjects.Fields{}
	for _, row := range table() {
		if place := row.at[document]; place != "" && row.write != nil {
			put(out, place, row.write(w, host))
		}
	}
	return out
}

// put sets a value at a place. An empty text or map, or false, is not said.
func put(out hubobjects.Fields, place string, value any) {
	switch value := value.(type) {
	case string:
		if value == "" {
			return
		}
	case bool:
		if !value {
			return
		}
	case hubobjects.Fields:
		if len(value) == 0 {
			return
		}
	case nil:
		return
	}
	if place == "." {
		output.Over(out, value.(hubobjects.Fields))
		return
	}
	steps := losses.Steps(place)
	for i := len(steps) - 1; i >= 0; i-- {
		value = hubobjects.Fields{steps[i]: value}
	}
	output.Over(out, value.(hubobjects.Fields))
}

func networking(w *output.Writer, _ *spec.Host) any {
	fields := hubobjects.Networking(w.Maker.Cluster)
	delete(fields, "userManagedNetworking") // follows from the platform
	return fields
}

// siteNetworking has each service network in a field of its own.
func siteNetworking(w *output.Writer, _ *spec.Host) any {
	fields := hubobjects.Fields{}
	for _, name := range []string{"machineNetwork", "clusterNetwork", "networkType"} {
		if value, said := hubobjects.Networking(w.Maker.Cluster)[name]; said {
			fields[name] = value
		}
	}
	if service := w.Maker.Cluster.Spec.Network.Service; service != nil {
		fields["serviceNetwork"] = hubobjects.ListOf("cidr", service)
	}
	return fields
}

func vips(w *output.Writer, _ *spec.Host) any {
	fields, own := hubobjects.Fields{}, w.Maker.Cluster.Spec.Network.VIPs
	hubobjects.PutAll(fields, "apiVIPs", own.API)
	hubobjects.PutAll(fields, "ingressVIPs", own.Ingress)
	return fields
}

func ntp(w *output.Writer, _ *spec.Host) any {
	switch net := w.Maker.Cluster.Spec.Network; {
	case len(net.NTP) > 0:
		list := hubobjects.AnyList(net.NTP)
		w.Lose("spec.network.ntp", list, "the servers are added to those that DHCP names, instead of being the only ones")
		return list
	case len(net.Defaults.NTP) > 0:
		return hubobjects.AnyList(net.Defaults.NTP)
	}
	return nil
}

// siteNTP says that there are none, too.
func siteNTP(w *output.Writer, _ *spec.Host) any {
	if net := w.Maker.Cluster.Spec.Network; len(net.NTP) == 0 && net.Defaults.NTP != nil {
		return hubobjects.AnyList(net.Defaults.NTP)
	}
	return ntp(w, nil)
}

func platformType(w *output.Writer, _ *spec.Host) any {
	c := w.Maker.Cluster
	if c.Spec.Platform.Type == spec.BareMetal && !c.Present("spec.platform") {
		return nil
	}
	return hubobjects.PlatformWord(c.Spec.Platform.Type)
}

func discoveryIgnition(w *output.Writer, _ *spec.Host) any {
	ignition, err := w.Maker.Cluster.DiscoveryIgnition()
	if err != nil {
		w.Refuse("spec.discovery.ignition", err.Error(), "")
	}
	return ignition
}

func hostname(_ *output.Writer, host *spec.Host) any { return cmp.Or(host.Hostname, host.Name) }

func role(_ *output.Writer, host *spec.Host) any {
	if host.Role == spec.Auto {
		return nil
	}
	return statuses.RoleWord(host.Role)
}

func firstMAC(w *output.Writer, host *spec.Host) any {
	if macs := output.MACsOf(w.Maker.Cluster, host); len(macs) > 0 {
		return macs[0]
	}
	return nil
}

func hints(w *output.Writer, host *spec.Host) any { return w.HintFields(host) }

func labels(_ *output.Writer, host *spec.Host) any { return hubobjects.AnyMap(host.Labels) }

func installerArgs(_ *output.Writer, host *spec.Host) any {
	return string(clustersettings.OfHost(host, "", nil)[model.SettingInstallerArgs])
}

func hostIgnition(w *output.Writer, host *spec.Host) any { return w.HostIgnition(host) }
