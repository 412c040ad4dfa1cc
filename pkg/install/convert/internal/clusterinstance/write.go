package clusterinstance

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/objects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/loss"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/target"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// The templates that come with the SiteConfig operator for the Assisted
// Installer, and the namespace that Advanced Cluster Management keeps them in.
const (
	clusterTemplates  = "ai-cluster-templates-v1"
	nodeTemplates     = "ai-node-templates-v1"
	templateNamespace = "open-cluster-management"
)

type writer struct{ *target.Writer }

// Write makes SiteConfig's description of a cluster and the objects
// that it refers to, as one file in the order to apply, and what of the cluster it
// has no place for. The error is about a document in the file that cannot be read,
// or manifests that no ConfigMap takes.
func Write(c *spec.Cluster, secrets bool) ([]target.File, []loss.Loss, error) {
	w := &writer{target.New(c, secrets)}
	w.LoseAll(LostBy())
	all := []*unstructured.Unstructured{w.NamespaceObject()}
	set := w.ImageSet()
	if set != nil {
		all = append(all, set)
	} else if image := c.Spec.OpenShift.ReleaseImage; image != "" {
		w.Lose("spec.openshift.releaseImage", image, "the ClusterImageSet "+w.Set+" says which release is installed")
	}
	all = append(all, w.PullSecret()...)
	manifests := w.ManifestMaps()
	instance, credentials := w.instance(manifests)
	all = append(slices.Concat(all, credentials, manifests, w.classified()), instance)
	if !secrets && c.Spec.PullSecret.SecretRef == nil {
		w.Lose("spec.pullSecret", loss.Plain(c.Spec.PullSecret), "secrets were not asked for; the Secret "+objects.PullSecretName(c)+" has to be there")
	}
	var text strings.Builder
	if err := render.WriteYAML(&text, all); err != nil {
		return nil, nil, err
	}
	w.File("clusterinstance.yaml", secrets, text.String())
	return w.Result()
}

// LostBy says why fields have no place in a ClusterInstance.
func LostBy() map[string]string {
	return loss.ByName(map[string][]string{
		"the hub waits for every machine":                                                 {"spec.topology.required"},
		"SiteConfig boots machines from BareMetalHosts, from the hub's own kind of image": {"spec.boot"},
		"SiteConfig makes an InfraEnv for each node":                                      {"spec.infraEnv"},
		"SiteConfig approves the machines of its nodes":                                   {"spec.acceptUnknownHosts"},
		"metal3 boots a machine whatever it runs":                                         {"spec.hosts.bmc.rebootRunning"},
		"the hub recognises machines by their MAC addresses only":                         target.Recognised(),
		target.RESTOnly: target.Overrides(),
		"ClusterInstance has no field for it": {
			"spec.topology.fencing", "spec.network.loadBalancer", "spec.hyperthreading", "spec.schedulableControlPlane", "spec.operators", "spec.bundles",
			"spec.discovery.kernelArgs", "spec.discovery.networkDelay", "spec.discovery.osVersion", "spec.hub.agentLabels", "spec.hub.ipxe", "spec.ignitionEndpoint",
			"spec.hosts.bmc.ca", "spec.hosts.bmc.insecure", "spec.hosts.disk.keep", "spec.hosts.fencing", "spec.hosts.ignitionEndpoint",
		},
	})
}

// instance is the object itself, and the Secrets with the credentials of
// its nodes.
func (w *writer) instance(manifests []*unstructured.Unstructured) (instance *unstructured.Unstructured, credentials []*unstructured.Unstructured) {
	c, set := w.Maker.Cluster, w.Maker.Cluster.Spec
	object := w.Object("ClusterInstance", c.Metadata.Name)
	object.SetAPIVersion("siteconfig.open-cluster-management.io/v1alpha1")
	s := objects.Fields{
		"clusterName":            c.Metadata.Name,
		"baseDomain":             set.BaseDomain,
		"clusterType":            clusterType(c),
		"clusterImageSetNameRef": w.Set,
		"pullSecretRef":          objects.Fields{"name": objects.PullSecretName(c)},
		"templateRefs":           []any{objects.Fields{"name": clusterTemplates, "namespace": templateNamespace}},
	}
	objects.Put(s, "sshPublicKey", c.SSHKey())
	w.network(s)
	objects.Put(s, "cpuArchitecture", objects.Metal3Arch(set.OpenShift.Arch))
	if set.Platform.Type != spec.BareMetal || c.Present("spec.platform") {
		objects.Put(s, "platformType", objects.PlatformWord(set.Platform.Type))
	}
	if set.Platform.External != nil {
		w.Lose("spec.platform.external", loss.Plain(set.Platform.External), "ClusterInstance has no field for it")
	}
	if set.Hold {
		s["holdInstallation"] = true
	}
	if d := set.DiskEncryption; d != nil {
		s["diskEncryption"] = w.encryption(d)
	}
	if proxy := objects.ProxyFields(set.Proxy); len(proxy) > 0 {
		s["proxy"] = proxy
	}
	objects.Put(s, "installConfigOverrides", w.overrides())
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		w.Refuse("spec.discovery.ignition", err.Error(), "")
	}
	objects.Put(s, "ignitionConfigOverride", ignition)
	if len(manifests) > 0 {
		var refs []any
		for _, m := range manifests {
			refs = append(refs, objects.Fields{"name": m.GetName()})
		}
		s["extraManifestsRefs"] = refs
	}
	w.extras(s)
	w.infraEnv(s)
	nodes := []any{}
	roles := rolesOf(c)
	for i := range set.Hosts {
		node, secrets := w.node(&set.Hosts[i], roles[set.Hosts[i].Name])
		nodes, credentials = append(nodes, node), append(credentials, secrets...)
	}
	s["nodes"] = nodes
	object.Object["spec"] = s
	return object, credentials
}

func clusterType(c *spec.Cluster) string {
	switch {
	case c.SingleNode():
		return "SNO"
	case c.ArbiterCount() > 0:
		return "HighlyAvailableArbiter"
	default:
		return "HighlyAvailable"
	}
}

func (w *writer) network(s objects.Fields) {
	net := w.Maker.Cluster.Spec.Network
	own := objects.Networking(w.Maker.Cluster)
	for _, name := range []string{"machineNetwork", "clusterNetwork", "networkType"} {
		if value, said := own[name]; said {
			s[name] = value
		}
	}
	if net.Service != nil {
		s["serviceNetwork"] = objects.ListOf("cidr", net.Service)
	}
	objects.PutAll(s, "apiVIPs", net.VIPs.API)
	objects.PutAll(s, "ingressVIPs", net.VIPs.Ingress)
	objects.PutAll(s, "additionalNTPSources", net.Defaults.NTP)
	if len(net.NTP) > 0 {
		s["additionalNTPSources"] = objects.AnyList(net.NTP)
		w.Lose("spec.network.ntp", objects.AnyList(net.NTP), "the servers are added to those that DHCP names, instead of being the only ones")
	}
}

// encryption is disk encryption, which SiteConfig knows for all roles at
// once.
func (w *writer) encryption(d *spec.DiskEncryption) objects.Fields {
	out := objects.Fields{"type": "tpm2"}
	if d.Mode == spec.Tang {
		out["type"] = "tang"
		list := []any{}
		for _, server := range d.Tang {
			list = append(list, objects.Fields{"url": server.URL, "thumbprint": server.Thumbprint})
		}
		out["tang"] = list
	}
	switch on := d.On.ServiceWords(); on {
	case "all", "":
	case "none":
		return objects.Fields{"type": "none"}
	default:
		w.Lose("spec.diskEncryption.on", objects.AnyList(d.On), "ClusterInstance encrypts the machines of every role")
	}
	return out
}

// overrides are the file's, with the trust bundle, for which SiteConfig
// has no other place.
func (w *writer) overrides() string {
	c := w.Maker.Cluster
	text, err := c.InstallConfigOverrides()
	if err != nil {
		w.Refuse("spec.overrides.installConfig", err.Error(), "")
		return ""
	}
	bundle := c.TrustBundle()
	if bundle == "" {
		return text
	}
	if len(c.Spec.Registry.Mirrors) == 0 {
		w.Lose("spec.registry.trustBundle", loss.Plain(c.Spec.Registry.TrustBundle), "is trusted by the cluster, but not while machines are discovered")
	}
	own := objects.Fields{"additionalTrustBundle": bundle}
	var theirs objects.Fields
	if text != "" {
		err = json.Unmarshal([]byte(text), &theirs)
	}
	var out []byte
	if err == nil {
		out, err = json.Marshal(target.Over(own, theirs))
	}
	if err != nil {
		w.Refuse("spec.overrides.installConfig", err.Error(), "")
	}
	return string(out)
}

// extras are the label and the annotations of the AgentClusterInstall
// that SiteConfig makes.
func (w *writer) extras(s objects.Fields) {
	c := w.Maker.Cluster
	if len(c.Metadata.Tags) == 1 {
		s["extraLabels"] = objects.Fields{hubapi.KindAgentClusterInstall: objects.Fields{hubapi.LabelConsumer: c.Metadata.Tags[0]}}
	}
	notes := w.InstallAnnotations()
	delete(notes, hubapi.AnnotationInstallConfigOverrides) // stands in installConfigOverrides
	if len(notes) > 0 {
		s["extraAnnotations"] = objects.Fields{hubapi.KindAgentClusterInstall: objects.AnyMap(notes)}
	}
}

// classified are the labels that Agents get, for which a hub has objects of their
// own.
func (w *writer) classified() []*unstructured.Unstructured {
	own := objects.Maker{Refusals: objects.Refusals{Cluster: w.Collector.Cluster}, Namespace: w.Maker.Namespace}
	return own.Classifications()
}

// infraEnv are the labels and annotations of the InfraEnvs that
// SiteConfig makes, beside those of the AgentClusterInstall.
func (w *writer) infraEnv(s objects.Fields) {
	own := objects.Maker{Refusals: objects.Refusals{Cluster: w.Collector.Cluster}}
	env := &unstructured.Unstructured{Object: objects.Fields{}}
	own.HubFields(env)
	extra := func(name string, texts map[string]string) {
		if len(texts) == 0 {
			return
		}
		all, _ := s[name].(objects.Fields)
		if all == nil {
			all = objects.Fields{}
			s[name] = all
		}
		all[hubapi.KindInfraEnv] = objects.AnyMap(texts)
	}
	extra("extraLabels", env.GetLabels())
	extra("extraAnnotations", env.GetAnnotations())
}

// nodeMetal3 is how metal3 treats the machine.
func nodeMetal3(out objects.Fields, host *spec.Host) {
	if host.BMC == nil {
		return
	}
	notes := map[string]string{}
	objects.Metal3Fields(host.BMC.Metal3, out, notes)
	if word := notes[hubapi.AnnotationBMHInspect]; word != "" {
		out["ironicInspect"] = word
		delete(notes, hubapi.AnnotationBMHInspect)
	}
	if pool := host.MachineConfigPool; pool != "" {
		notes[hubapi.AnnotationBMACMachineConfigPool] = pool
	}
	if len(notes) > 0 {
		out["extraAnnotations"] = objects.Fields{hubapi.KindBareMetalHost: objects.AnyMap(notes)}
	}
}

// rolesOf is what each host becomes: what the file says, or, in the order of the
// file, the control plane until it is full, then workers.
func rolesOf(c *spec.Cluster) map[string]spec.Role {
	free := c.ControlPlaneCount()
	for _, host := range c.Spec.Hosts {
		if host.Role == spec.ControlPlane {
			free--
		}
	}
	roles := map[string]spec.Role{}
	for _, host := range c.Spec.Hosts {
		switch {
		case host.Role != spec.Auto && host.Role != "":
			roles[host.Name] = host.Role
		case free > 0:
			roles[host.Name], free = spec.ControlPlane, free-1
		default:
			roles[host.Name] = spec.Worker
		}
	}
	return roles
}

// node is a machine, and the Secret with the credentials of its BMC, by which
// SiteConfig boots it.
func (w *writer) node(host *spec.Host, role spec.Role) (out objects.Fields, credentials []*unstructured.Unstructured) {
	c := w.Maker.Cluster
	out = objects.Fields{
		"hostName":              target.HostnameOf(host),
		"role":                  objects.RoleWord(role),
		"automatedCleaningMode": "disabled",
		"templateRefs":          []any{objects.Fields{"name": nodeTemplates, "namespace": templateNamespace}},
	}
	if role != host.Role {
		w.LoseHost(host, "role", string(host.Role), "a node has a role: it is made "+string(role))
	}
	credentials = w.nodeBMC(out, host)
	objects.Put(out, "bootMACAddress", cmp.Or(append(target.MACsOf(c, host), "")...))
	objects.Put(out, "cpuArchitecture", objects.Metal3Arch(host.Arch))
	if hints := objects.HintFields(host.Disk.Hints); len(hints) > 0 {
		out["rootDeviceHints"] = hints
	}
	config, interfaces, static, err := objects.NMStateOf(c, host)
	switch {
	case err != nil:
		w.RefuseHost(host, "net.nmstate", err.Error(), "")
	case static:
		out["nodeNetwork"] = objects.Fields{"config": config, "interfaces": objects.InterfaceFields(interfaces)}
	}
	if len(host.Labels) > 0 {
		out["nodeLabels"] = objects.AnyMap(host.Labels)
	}
	objects.Put(out, "installerArgs", objects.InstallerArgs(host))
	objects.Put(out, "ignitionConfigOverride", w.HostIgnition(host))
	nodeMetal3(out, host)
	return out, credentials
}

// nodeBMC is how the machine is booted; one that is not said is lost, for every
// node has one.
func (w *writer) nodeBMC(out objects.Fields, host *spec.Host) []*unstructured.Unstructured {
	if host.BMC == nil {
		w.LoseHost(host, "bmc", nil, "is missing: SiteConfig boots every node by its BMC; add bmcAddress and bmcCredentialsName")
		return nil
	}
	name := objects.BMCSecretName(w.Maker.Cluster, host)
	out["bmcAddress"] = w.AddressOrLoss(host)
	out["bmcCredentialsName"] = objects.Fields{"name": name}
	if host.BMC.Credentials.SecretRef != nil {
		return nil
	}
	user, password, known := host.BMC.Credentials.Login()
	if !w.Secrets || !known || password.IsZero() {
		w.LoseHost(host, "bmc.credentials", loss.Plain(host.BMC.Credentials), "secrets were not asked for, or stand on a hub in part; the Secret "+name+" has to be there")
		return nil
	}
	return w.Secret(name, "Opaque", map[string]string{"username": user, "password": password.Reveal()})
}
