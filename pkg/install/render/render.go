// Package render makes the objects that describe a cluster to a hub (Hive's and the
// Assisted Installer's custom resources) out of a cluster.yaml.
//
// [Hub] is the one place where a cluster.yaml becomes a hub's objects: what is
// rendered for GitOps and what the hub plane applies is the same. What a hub has no
// place for is never dropped: Hub refuses it by name and line.
package render

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Options say how the objects of a cluster are made.
type Options struct {
	// Namespace that they stand in; "" for [NamespaceOf] the cluster.
	Namespace string
	// ImageSet is the ClusterImageSet to refer to; "" for
	// spec.openshift.imageSet, else our own where spec.openshift.releaseImage is
	// given, else the one that is by custom named after the version,
	// openshift-v<version>.
	ImageSet string
	// Hold is AgentClusterInstall.spec.holdInstallation; nil for spec.hold.
	Hold *bool
	// Secrets says that Secrets are made, with their contents. Otherwise they are
	// only referred to.
	Secrets bool
	// Installed says that the cluster is installed, so that InfraEnvs bound to it
	// may name the version of their live system, once they are there: the hub takes
	// it not with their creation.
	Installed bool
	// Later says that the workers of a single node are among its hosts, which a hub
	// takes only once it is installed.
	Later bool
	// InfraEnvs say which hosts boot which image; nil for what
	// install.InfraEnvPlans makes of the file alone.
	InfraEnvs []model.InfraEnvPlan
	// Bound says that the InfraEnv which the hosts boot is bound to the cluster. BareMetalHosts do not name the cluster
	// then: the service refuses those that do. Otherwise an InfraEnv that spec.infraEnv.ref names counts as a pool.
	Bound bool
	// Labels and Annotations are put on every object in the namespace, beside oaictl's own.
	Labels, Annotations map[string]string
}

// Objects are the objects of a cluster on a hub.
type Objects struct {
	// Namespace is the namespace itself. It has our label only where it is named
	// after the cluster, and so is the cluster's own.
	Namespace *unstructured.Unstructured
	// ImageSet is the ClusterImageSet; nil unless it is made by us.
	ImageSet *unstructured.Unstructured
	// Cluster is, in the order to apply: Secrets, ConfigMaps, AgentClassifications,
	// ClusterDeployment, AgentClusterInstall.
	Cluster []*unstructured.Unstructured
	// InfraEnvs are the discovery images; empty where spec.infraEnv.ref names one
	// that exists.
	InfraEnvs []InfraEnv
	// Hosts are what single hosts need, in the order of their names: only those
	// that need something.
	Hosts []Host
	// Notes are what has to be known of the objects, and what they need that is
	// not among them. Each is one sentence.
	Notes []string
}

// InfraEnv are an InfraEnv and the networks of its hosts, which are to be
// there first, or the image is made twice.
type InfraEnv struct {
	// Name of the InfraEnv.
	Name string
	// Secrets with its own pull secret, where it serves a host alone that says one.
	Secrets []*unstructured.Unstructured
	// NMStateConfigs of its hosts that have a static network, in the order of
	// their names.
	NMStateConfigs []*unstructured.Unstructured
	// InfraEnv itself.
	InfraEnv *unstructured.Unstructured
}

// Host are what a single host needs. An Agent is made by the service, so it is not among them.
type Host struct {
	// Name of the host in the file.
	Name string
	// Secrets with the credentials of its BMC, for fencing, and its token for the
	// Ignition endpoint.
	Secrets []*unstructured.Unstructured
	// BareMetalHost, where spec.boot.method is metal3 and the host has a bmc; nil
	// otherwise.
	BareMetalHost *unstructured.Unstructured
}

// Hub makes the objects that describe a cluster to a hub. A setting of the file that a hub has no field for is an
// error, a *spec.Problems that names each such field with its place in the file. Settings that only oaictl itself uses
// (how hosts are recognised, which may be installed) need no field on the hub and are not refused.
func Hub(c *spec.Cluster, o Options) (*Objects, error) {
	if !o.Later {
		c = c.AtInstall()
	}
	if o.Namespace == "" {
		o.Namespace = c.HubNamespace()
	}
	if o.InfraEnvs == nil && c.Spec.InfraEnv.Ref == "" {
		plans, err := install.InfraEnvPlans(c, nil)
		if err != nil {
			return nil, fmt.Errorf("plan the InfraEnvs of cluster %s: %w", c.Metadata.Name, err)
		}
		o.InfraEnvs = plans
	}
	h := &maker{hubobjects.Maker{
		Refusals: hubobjects.Refusals{Cluster: c}, Namespace: o.Namespace, Set: o.ImageSet, Hold: o.Hold,
		Secrets: o.Secrets, Installed: o.Installed, Bound: o.Bound, Labels: o.Labels, Annotations: o.Annotations,
	}}
	h.refuseAll()
	out := &Objects{Namespace: h.NamespaceObject()}
	out.ImageSet = h.ImageSet()
	out.Cluster = h.clusterObjects()
	out.InfraEnvs = h.infraEnvs(o.InfraEnvs)
	out.Hosts = h.hosts(o.InfraEnvs)
	if err := h.Err(); err != nil {
		return nil, err
	}
	out.Notes = h.Notes
	return out, nil
}

// maker makes a hub's objects, and refuses what it has no place for.
type maker struct{ hubobjects.Maker }

// All is every object in the order to apply.
func (o *Objects) All() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range []*unstructured.Unstructured{o.Namespace, o.ImageSet} {
		if object != nil {
			all = append(all, object)
		}
	}
	all = append(all, o.Cluster...)
	for _, env := range o.InfraEnvs {
		all = append(slices.Concat(all, env.Secrets, env.NMStateConfigs), env.InfraEnv)
	}
	for _, host := range o.Hosts {
		all = append(all, host.Secrets...)
		if host.BareMetalHost != nil {
			all = append(all, host.BareMetalHost)
		}
	}
	return all
}

// clusterObjects makes what belongs to the cluster as a whole.
func (h *maker) clusterObjects() []*unstructured.Unstructured {
	all := slices.Concat(h.PullSecret(), h.AdminKubeconfig())
	endpointCA, secret := h.EndpointCA()
	maps := h.ManifestMaps()
	all = slices.Concat(all, secret, maps, h.MirrorMap(), h.Classifications())
	return append(all, h.ClusterDeployment(), h.AgentClusterInstall(maps, endpointCA))
}

// hosts makes what single hosts need.
func (h *maker) hosts(plans []model.InfraEnvPlan) (all []Host) {
	booted := map[string]model.InfraEnvPlan{}
	for _, plan := range plans {
		for _, name := range plan.Hosts {
			booted[name] = plan
		}
	}
	for _, host := range hubobjects.SortedHosts(h.Cluster) {
		of := Host{Name: host.Name}
		if h.IsMetal3(host) {
			of.Secrets = h.BMCSecret(host)
			of.BareMetalHost = h.BareMetalHost(host, booted[host.Name])
		}
		of.Secrets = slices.Concat(of.Secrets, h.FencingSecret(host), h.TokenSecret(host))
		if of.BareMetalHost != nil || len(of.Secrets) > 0 {
			all = append(all, of)
		}
	}
	return all
}

// infraEnvs makes the discovery images and the networks of their hosts; none
// where the file uses one that exists.
func (h *maker) infraEnvs(plans []model.InfraEnvPlan) (all []InfraEnv) {
	if h.Cluster.Spec.InfraEnv.Ref != "" {
		return nil
	}
	for _, plan := range plans {
		env := InfraEnv{Name: plan.Name, InfraEnv: h.InfraEnv(plan)}
		if host := h.Cluster.Host(plan.Alone); host != nil {
			env.Secrets = h.DiscoverySecret(host)
		}
		for _, name := range slices.Sorted(slices.Values(plan.Hosts)) {
			if host := h.Cluster.Host(name); host != nil {
				if config := h.NMStateConfig(plan.Name, host); config != nil {
					env.NMStateConfigs = append(env.NMStateConfigs, config)
				}
			}
		}
		all = append(all, env)
	}
	return all
}

// WriteYAML writes all objects as one YAML stream, in the order of All, each with its
// fields in alphabetical order: equal objects make equal bytes. Secrets are
// written as they are.
func (o *Objects) WriteYAML(w io.Writer) error {
	for _, object := range o.All() {
		text, err := hubobjects.YAML(object.Object)
		if err != nil {
			return fmt.Errorf("write the %s %s as YAML: %w", object.GetKind(), object.GetName(), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return fmt.Errorf("write the %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// refuseAll refuses what no object has a place for, and what the webhooks of the
// hub refuse.
func (h *maker) refuseAll() {
	h.refuseCluster()
	h.refusePool()
	h.refuseNetworking()
	h.refusePasswords()
	for i := range h.Cluster.Spec.Hosts {
		h.refuseHostFields(&h.Cluster.Spec.Hosts[i])
	}
	h.noteHints()
}

// noteHints adds a note about hints that are in no object. The Agent that has the disk is made by the service.
func (h *maker) noteHints() {
	var hosts []string
	for _, host := range hubobjects.SortedHosts(h.Cluster) {
		if host.Disk.Hints != (spec.DiskHints{}) && !h.IsMetal3(host) {
			hosts = append(hosts, host.Name)
		}
	}
	if len(hosts) > 0 {
		h.Notes = append(h.Notes, "no object has the disk hints of "+strings.Join(hosts, ", ")+
			": oaictl reads them, and writes the disk on its Agent")
	}
}

func (h *maker) refuseCluster() {
	c, s := h.Cluster, h.Cluster.Spec
	const byHand = "leave it out, or install through the REST service (--backend rest)"
	if len(c.Metadata.Tags) > 1 {
		h.Refuse("metadata.tags", fmt.Sprintf("a hub keeps one tag of a cluster, not %d", len(c.Metadata.Tags)), "keep one")
	} else if len(c.Metadata.Tags) == 1 && len(validation.IsValidLabelValue(c.Metadata.Tags[0])) > 0 {
		h.Refuse("metadata.tags[0]", fmt.Sprintf("a hub keeps the tag as a label, which %q cannot be", c.Metadata.Tags[0]),
			"use letters, digits, dashes, dots and underscores")
	}
	if errs := validation.IsDNS1123Label(h.Namespace); len(errs) > 0 {
		h.Refuse("metadata.name", fmt.Sprintf("%q cannot be the name of a namespace", h.Namespace), "ask for another namespace")
	}
	if len(s.Operators) > 0 {
		h.Refuse("spec.operators", "a hub installs no operators with a cluster",
			"leave them out and subscribe to them with spec.manifests, or install through the REST service (--backend rest)")
	}
	if len(s.Bundles) > 0 {
		h.Refuse("spec.bundles", "a hub installs no bundles of operators with a cluster",
			"leave them out and subscribe to the operators with spec.manifests, or install through the REST service (--backend rest)")
	}
	if len(s.Overrides.InfraEnv) > 0 {
		h.Refuse("spec.overrides.infraEnv", "is in the words of the REST service, which a hub does not take", byHand)
	}
	if len(s.Overrides.Host) > 0 {
		h.Refuse("spec.overrides.host", "is in the words of the REST service, which a hub does not take", byHand)
	}
	h.refuseDisconnected("spec.boot.image", s.Boot.Image)
}

func (h *maker) refuseDisconnected(field string, image spec.ImageType) {
	if image == spec.ImageDisconnected {
		h.Refuse(field, "a hub makes no disconnected image", "write full or minimal")
	}
}

// refusePool refuses what belongs to an image that is not ours to make.
func (h *maker) refusePool() {
	s := h.Cluster.Spec
	if s.InfraEnv.Ref == "" {
		return
	}
	fields := map[string]bool{
		"spec.discovery.kernelArgs":   len(s.Discovery.KernelArgs) > 0,
		"spec.discovery.ignition":     s.Discovery.Ignition.Text() != "",
		"spec.discovery.networkDelay": s.Discovery.NetworkDelay != 0,
		"spec.boot.image":             s.Boot.Image != "",
	}
	for i := range s.Hosts {
		fields[h.Cluster.HostField(&s.Hosts[i], "net")] = s.Hosts[i].Net != nil
	}
	for field, said := range fields {
		if said {
			h.Refuse(field, "is a matter of the InfraEnv "+s.InfraEnv.Ref+", which exists already and is not changed",
				"leave it out, or leave spec.infraEnv.ref out to have an InfraEnv made")
		}
	}
}

// refuseNetworking refuses what the webhook of AgentClusterInstall does: each
// platform has its networking.
func (h *maker) refuseNetworking() {
	c := h.Cluster
	managed, p := c.Spec.Network.UserManaged, c.Spec.Platform.Type
	if c.SingleNode() && p == spec.BareMetal {
		h.Refuse("spec.platform", "a hub takes no single node with platform baremetal", "write platform: none, or leave it out")
	}
	if managed == nil || c.OnlyAdds() {
		return
	}
	switch p {
	case spec.NoneType, spec.External:
		if !*managed {
			h.Refuse("spec.network.userManaged", fmt.Sprintf("with platform %s the network is always user-managed", p), "leave it out")
		}
	case spec.BareMetal, spec.Nutanix:
		if *managed {
			h.Refuse("spec.network.userManaged", fmt.Sprintf("a hub takes no user-managed network with platform %s", p),
				"leave it out, or write platform: none")
		}
	}
	if arch := c.Spec.OpenShift.Arch; !*managed && (arch == spec.Power || arch == spec.Z) {
		h.Refuse("spec.network.userManaged", fmt.Sprintf("the network of %s machines is always user-managed", arch), "leave it out")
	}
}

// refusePasswords refuses passwords that objects have in plain text, unless
// secrets are asked for.
func (h *maker) refusePasswords() {
	if h.Secrets {
		return
	}
	h.refusePassword("spec.proxy", h.Cluster.Spec.Proxy)
	for i := range h.Cluster.Spec.Hosts {
		if host := &h.Cluster.Spec.Hosts[i]; host.Discovery != nil && host.Discovery.Proxy != nil {
			h.refusePassword(h.Cluster.HostField(host, "discovery.proxy"), *host.Discovery.Proxy)
		}
	}
}

func (h *maker) refusePassword(field string, proxy spec.Proxy) {
	for name, address := range map[string]spec.ProxyURL{".http": proxy.HTTP, ".https": proxy.HTTPS} {
		if parsed, err := url.Parse(address.Reveal()); err != nil || parsed.User != nil {
			h.Refuse(field+name, "holds a user or a password, which the objects of a hub have in plain text",
				"ask for secrets, or use a proxy without a password")
		}
	}
}

func (h *maker) refuseHostFields(host *spec.Host) {
	if len(host.Disk.Keep) > 0 {
		h.RefuseHost(host, "disk.keep", "a hub cannot keep disks from being wiped",
			"detach these disks, or install through the REST service (--backend rest)")
	}
	if host.Discovery != nil {
		h.refuseDisconnected(h.Cluster.HostField(host, "discovery.image"), host.Discovery.Image)
	}
	if !h.IsMetal3(host) {
		return
	}
	if host.Match.MAC == "" {
		h.RefuseHost(host, "match.mac", "is missing: a BareMetalHost is the Agent with its MAC address",
			"write the MAC address of one of the machine's interfaces")
	}
	h.refuseLongLabels(host)
	if host.BMC.CA != nil {
		h.RefuseHost(host, "bmc.ca", "a BareMetalHost has no place for the certificate of its BMC",
			"have the hub's Ironic trust it, and leave it out; or write insecure: true")
	}
}

// refuseLongLabels refuses labels of an Agent whose keys are too long for the
// annotation that they stand in.
func (h *maker) refuseLongLabels(host *spec.Host) {
	if host.BMC.Metal3 == nil {
		return
	}
	for key := range host.BMC.Metal3.AgentLabels {
		name := hubapi.AnnotationBMACAgentLabelPrefix + key
		if len(validation.IsQualifiedName(strings.ToLower(name))) > 0 {
			h.RefuseHost(host, "bmc.metal3.agentLabels."+key, "is too long a key for the annotation "+name+
				", by which a BareMetalHost has labels of its Agent", "use a shorter key, or one with a domain: example.com/"+key)
		}
	}
}
