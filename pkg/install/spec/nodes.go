package spec

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// Nodes are hosts that are added to a cluster that is installed already. Its fields mean
// what they mean in a Cluster, and have the same paths.
type Nodes struct {
	// Version of this format. Always "oaictl.io/v1alpha1".
	APIVersion string `yaml:"apiVersion"`
	// Kind of this document. Always "Nodes".
	Kind string `yaml:"kind"`
	// Which hosts are added to which cluster.
	Spec NodesSpec `yaml:"spec"`
}

// NodesSpec is which hosts are added to which cluster, and what they lean on.
type NodesSpec struct {
	// The cluster that the hosts are added to, as the service knows it: its name, its name and domain such as
	// lab.example.com, or its id. On a hub the id is NAMESPACE/NAME.
	Cluster string `yaml:"cluster"`
	// The machines, one by one.
	Hosts []Host `yaml:"hosts"`
	// Credentials of the image registries, the JSON file from console.redhat.com. Needed where the service has no
	// discovery image of the cluster that the hosts can boot.
	PullSecret Source `yaml:"pullSecret,omitempty"`
	// Public keys that may log in as user core during discovery. Default is what the discovery image has.
	SSHKeys []PublicSource `yaml:"sshKeys,omitempty"`
	// What the hosts' networks have in common, and their time servers.
	Network NodesNetwork `yaml:"network,omitempty"`
	// HTTP proxy of the hosts during discovery.
	Proxy Proxy `yaml:"proxy,omitempty"`
	// How the hosts get to boot the discovery image, and which one.
	Boot Boot `yaml:"boot,omitempty"`
	// Which InfraEnv the hosts boot, where it is not the cluster's own: ref names a pool. None is made here, so bind: late is refused.
	InfraEnv InfraEnv `yaml:"infraEnv,omitempty"`
	// Mirror registries and the certificates to trust, during discovery.
	Registry Registry `yaml:"registry,omitempty"`
	// Additions to the discovery image.
	Discovery Discovery `yaml:"discovery,omitempty"`
	// Fields passed on as they are, for what this format has no word for. They win over everything else.
	Overrides NodesOverrides `yaml:"overrides,omitempty"`
}

// NodesNetwork is what the networks of added hosts share.
type NodesNetwork struct {
	// What hosts' networks have in common.
	Defaults NetworkDefaults `yaml:"defaults,omitempty"`
	// The only NTP servers to use, instead of those that DHCP names. For additional ones use defaults.ntp.
	NTP []string `yaml:"ntp,omitempty"`
}

// NodesOverrides are passed on as they are.
type NodesOverrides struct {
	// Fields of the service's InfraEnv request, in the service's own words.
	InfraEnv map[string]any `yaml:"infraEnv,omitempty"`
	// Fields of the service's host request, in the service's own words, for every host.
	Host map[string]any `yaml:"host,omitempty"`
}

// cluster is the same as a Cluster that has nothing else.
func (n *Nodes) cluster() *Cluster {
	s := &n.Spec
	return &Cluster{APIVersion: n.APIVersion, Kind: n.Kind, existing: s.Cluster, nodes: true, Spec: ClusterSpec{
		Hosts: s.Hosts, PullSecret: s.PullSecret, SSHKeys: s.SSHKeys, Network: Network{Defaults: s.Network.Defaults, NTP: s.Network.NTP},
		Proxy: s.Proxy, Boot: s.Boot, InfraEnv: s.InfraEnv, Registry: s.Registry, Discovery: s.Discovery,
		Overrides: Overrides{InfraEnv: s.Overrides.InfraEnv, Host: s.Overrides.Host},
	}}
}

// Resolve makes of nodes that were put together in Go what [Load] makes of a document
// of that kind, apiVersion and kind left out or not: it fills in, reads, relative to dir,
// and checks them. The nodes are not for use afterwards.
//
// words are what a person has said the fields by, such as "--mac" for
// spec.hosts[0].match.mac, or for all that stands below spec.hosts[0].match; nil for
// none. They name it where something is wrong: [Problem.Word].
func (n *Nodes) Resolve(ctx context.Context, dir string, env Env, words map[string]string) (*Cluster, error) {
	n.APIVersion, n.Kind = cmp.Or(n.APIVersion, APIVersion), cmp.Or(n.Kind, KindNodes)
	c := n.cluster()
	c.source = &source{dir: dir, words: words, positions: map[string]yamltree.Position{}}
	recordPresent(c.source.positions, reflect.ValueOf(n).Elem())
	if err := c.Resolve(ctx, dir, env); err != nil {
		return nil, err
	}
	return c, nil
}

// Existing is the cluster that the hosts are added to, as a document of kind Nodes names
// it: by its name, its name and domain, or its id. It is empty for a document of kind
// Cluster, which says what its cluster is.
func (c *Cluster) Existing() string { return c.existing }

// ByFlags reports whether hosts were given by flags, as the words of [Nodes.Resolve] name them: there is no file.
func (c *Cluster) ByFlags() bool { return c.source != nil && len(c.source.words) > 0 }

// OnlyAdds reports whether the document has nothing of a cluster but the hosts that are
// added to it, once it is installed: the cluster was imported, or the document is of kind
// Nodes.
func (c *Cluster) OnlyAdds() bool { return c.nodes || c.Imported() }

// Target is what a service says of a cluster that hosts are added to.
type Target struct {
	// Name and BaseDomain are the cluster's.
	Name, BaseDomain string
	// Version of OpenShift that a new discovery image is made for: "" for the service's
	// own choice.
	Version string
	// Arch is the CPU architecture of the cluster, Multi for a release for several; "" if
	// the service does not say it.
	Arch Arch
}

// AddedTo is a document of kind Nodes with the cluster that it names, as it was found in
// the service. The error is a *Problems that says which hosts cannot be part of it. A
// document of kind Cluster is returned as it is: it names its cluster itself.
func (c *Cluster) AddedTo(t Target) (*Cluster, error) {
	if !c.nodes {
		return c, nil
	}
	found := *c
	found.Metadata.Name, found.Spec.BaseDomain = t.Name, t.BaseDomain
	found.Spec.OpenShift = OpenShift{Version: t.Version, Arch: t.Arch}
	problems := &Problems{}
	check := newChecker(&found, problems, nil)
	for i := range c.Spec.Hosts {
		switch arch := c.Spec.Hosts[i].Arch; {
		case arch == "":
		case t.Arch == "":
			found.Spec.OpenShift.Arch = Multi // each its own image
		case t.Arch != Multi && t.Arch != arch:
			check.Report(hostField(i, "arch"), fmt.Sprintf("is %s, but the cluster is %s", arch, t.Arch),
				"add machines of its architecture; for other architectures, the cluster needs a multi-architecture release")
		}
	}
	if err := problems.sorted(); err != nil {
		return nil, err
	}
	return &found, nil
}

// nodes checks what a document of kind Nodes has in place of a cluster.
func (k *checker) nodes() {
	c := k.cluster
	k.Required("apiVersion", c.APIVersion, "write apiVersion: "+APIVersion)
	k.Required("kind", c.Kind, "write kind: "+KindNodes)
	const field = "spec.cluster"
	if k.Required(field, c.existing, "write the name of the cluster, its name and domain such as lab.example.com, or its id") &&
		!isClusterName(c.existing) {
		k.Report(field, fmt.Sprintf("%q cannot be the name or the id of a cluster", c.existing), values.LowerRemedy(c.existing, isClusterName))
	}
	k.ReportIf(len(c.Spec.Hosts) == 0, "spec.hosts", "is missing, so there is nothing to add to the cluster",
		"list the hosts to add")
	k.ReportIf(c.Spec.InfraEnv.Bind == BindLate, "spec.infraEnv.bind",
		"cannot make a pool: added hosts boot the discovery image of their cluster",
		"omit it, or write infraEnv: {ref: NAME} to boot them from an InfraEnv that is not bound to a cluster")
	for i := range c.Spec.Hosts {
		k.ReportIf(c.Spec.Hosts[i].Arch == Multi, hostField(i, "arch"), oneArch, "")
	}
}

// isClusterName reports whether text can be what a service calls a cluster. On a hub that
// may have its namespace before it.
func isClusterName(text string) bool {
	parts := strings.Split(text, "/")
	return len(parts) <= 2 && !slices.ContainsFunc(parts, func(part string) bool { return !values.IsDomain(part) })
}

// Adding is the document with one of its hosts alone, for the installed cluster that it describes or
// names: what a document of kind Nodes with that host would be. nil where it has no such host.
func (c *Cluster) Adding(host string) *Cluster {
	i := slices.IndexFunc(c.Spec.Hosts, func(h Host) bool { return h.Name == host })
	if i < 0 {
		return nil
	}
	only := *c
	only.nodes, only.existing = true, cmp.Or(c.existing, c.Metadata.Name+"."+c.Spec.BaseDomain)
	only.Spec.Hosts, only.Spec.AcceptUnknownHosts, only.Spec.Topology = c.Spec.Hosts[i:i+1:i+1], false, Topology{}
	only.defaultTopology()
	if c.source != nil {
		own := *c.source
		own.positions, own.origins = ofOneHost(c.source.positions, i), ofOneHost(c.source.origins, i)
		only.source = &own
	}
	return &only
}

// ofOneHost is what is known of fields where one host is the only one.
func ofOneHost[T any](known map[string]T, i int) map[string]T {
	own := map[string]T{}
	from := fmt.Sprintf("spec.hosts[%d]", i)
	for field, value := range known {
		if rest, is := strings.CutPrefix(field, from); is {
			own["spec.hosts[0]"+rest] = value
		} else if !strings.HasPrefix(field, "spec.hosts[") {
			own[field] = value
		}
	}
	return own
}
