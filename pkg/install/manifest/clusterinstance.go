package manifest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// kindClusterInstance is SiteConfig's kind for a whole cluster.
func kindClusterInstance() schema.GroupVersionKind {
	return kindOf("siteconfig.open-cluster-management.io", "v1alpha1", "ClusterInstance")
}

// The templates that come with the SiteConfig operator for the Assisted
// Installer, and the namespace that Advanced Cluster Management keeps them in.
const (
	clusterTemplates  = "ai-cluster-templates-v1"
	nodeTemplates     = "ai-node-templates-v1"
	templateNamespace = "open-cluster-management"
)

// writeClusterInstance makes SiteConfig's description of a cluster and the objects
// that it refers to, as one file in the order to apply, and what of the cluster it
// has no place for. The error is about a document in the file that cannot be read,
// or manifests that no ConfigMap takes.
func writeClusterInstance(c *spec.Cluster, secrets bool) ([]File, []Loss, error) {
	w := newWriter(c, secrets)
	w.loseAll(lostByClusterInstance())
	objects := []*unstructured.Unstructured{w.namespaceObject()}
	set := w.imageSet()
	if set != nil {
		objects = append(objects, set)
	} else if image := c.Spec.OpenShift.ReleaseImage; image != "" {
		w.lose("spec.openshift.releaseImage", image, "the ClusterImageSet "+w.set+" says which release is installed")
	}
	objects = append(objects, w.pullSecret()...)
	manifests := w.manifestMaps()
	instance, credentials := w.clusterInstance(manifests)
	objects = append(slices.Concat(objects, credentials, manifests, w.classified()), instance)
	if !secrets && c.Spec.PullSecret.SecretRef == nil {
		w.lose("spec.pullSecret", plainOf(c.Spec.PullSecret), "secrets were not asked for; the Secret "+PullSecretName(c)+" has to be there")
	}
	var text strings.Builder
	if err := WriteYAML(&text, objects); err != nil {
		return nil, nil, err
	}
	w.file("clusterinstance.yaml", secrets, text.String())
	return w.result()
}

// lostByClusterInstance says why fields have no place in a ClusterInstance.
func lostByClusterInstance() map[string]string {
	const (
		none       = "ClusterInstance has no field for it"
		rest       = "is in the words of the REST service"
		recognised = "the hub recognises machines by their MAC addresses only"
	)
	return map[string]string{
		"spec.topology.required":       "the hub waits for every machine",
		"spec.topology.fencing":        none,
		"spec.network.loadBalancer":    none,
		"spec.boot":                    "SiteConfig boots machines from BareMetalHosts, from the hub's own kind of image",
		"spec.infraEnv":                "SiteConfig makes an InfraEnv for each node",
		"spec.acceptUnknownHosts":      "SiteConfig approves the machines of its nodes",
		"spec.hyperthreading":          none,
		"spec.schedulableControlPlane": none,
		"spec.operators":               none,
		"spec.bundles":                 none,
		"spec.discovery.kernelArgs":    none,
		"spec.discovery.networkDelay":  none,
		"spec.discovery.osVersion":     none,
		"spec.hub.agentLabels":         none,
		"spec.hub.ipxe":                none,
		"spec.ignitionEndpoint":        none,
		"spec.overrides.infraEnv":      rest,
		"spec.overrides.host":          rest,
		"spec.hosts.match.serial":      recognised,
		"spec.hosts.match.uuid":        recognised,
		"spec.hosts.match.hostname":    recognised,
		"spec.hosts.match.bmc":         recognised,
		"spec.hosts.bmc.ca":            none,
		"spec.hosts.bmc.insecure":      none,
		"spec.hosts.bmc.rebootRunning": "metal3 boots a machine whatever it runs",
		"spec.hosts.disk.keep":         none,
		"spec.hosts.fencing":           none,
		"spec.hosts.ignitionEndpoint":  none,
	}
}

// clusterInstance is the object itself, and the Secrets with the credentials of
// its nodes.
func (w *writer) clusterInstance(manifests []*unstructured.Unstructured) (instance *unstructured.Unstructured, credentials []*unstructured.Unstructured) {
	c, set := w.hub.cluster, w.hub.cluster.Spec
	object := w.object(kindClusterInstance(), c.Metadata.Name)
	s := fields{
		"clusterName":            c.Metadata.Name,
		"baseDomain":             set.BaseDomain,
		"clusterType":            clusterType(c),
		"clusterImageSetNameRef": w.set,
		"pullSecretRef":          fields{"name": PullSecretName(c)},
		"templateRefs":           []any{fields{"name": clusterTemplates, "namespace": templateNamespace}},
	}
	put(s, "sshPublicKey", c.SSHKey())
	w.instanceNetwork(s)
	put(s, "cpuArchitecture", metal3Arch(set.OpenShift.Arch))
	if set.Platform.Type != spec.BareMetal || c.Present("spec.platform") {
		put(s, "platformType", platformWord(set.Platform.Type))
	}
	if set.Platform.External != nil {
		w.lose("spec.platform.external", plainOf(set.Platform.External), "ClusterInstance has no field for it")
	}
	if set.Hold {
		s["holdInstallation"] = true
	}
	if d := set.DiskEncryption; d != nil {
		s["diskEncryption"] = w.instanceEncryption(d)
	}
	if proxy := proxyFields(set.Proxy); len(proxy) > 0 {
		s["proxy"] = proxy
	}
	put(s, "installConfigOverrides", w.instanceOverrides())
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		w.refuse("spec.discovery.ignition", err.Error(), "")
	}
	put(s, "ignitionConfigOverride", ignition)
	if len(manifests) > 0 {
		var refs []any
		for _, m := range manifests {
			refs = append(refs, fields{"name": m.GetName()})
		}
		s["extraManifestsRefs"] = refs
	}
	w.instanceExtras(s)
	w.instanceInfraEnv(s)
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

func (w *writer) instanceNetwork(s fields) {
	net := w.hub.cluster.Spec.Network
	own := networking(w.hub.cluster)
	for _, name := range []string{"machineNetwork", "clusterNetwork", "networkType"} {
		if value, said := own[name]; said {
			s[name] = value
		}
	}
	if net.Service != nil {
		s["serviceNetwork"] = listOf("cidr", net.Service)
	}
	putAll(s, "apiVIPs", net.VIPs.API)
	putAll(s, "ingressVIPs", net.VIPs.Ingress)
	putAll(s, "additionalNTPSources", net.Defaults.NTP)
	if len(net.NTP) > 0 {
		s["additionalNTPSources"] = anyList(net.NTP)
		w.lose("spec.network.ntp", anyList(net.NTP), "the servers are added to those that DHCP names, instead of being the only ones")
	}
}

// instanceEncryption is disk encryption, which SiteConfig knows for all roles at
// once.
func (w *writer) instanceEncryption(d *spec.DiskEncryption) fields {
	out := fields{"type": "tpm2"}
	if d.Mode == spec.Tang {
		out["type"] = "tang"
		list := []any{}
		for _, server := range d.Tang {
			list = append(list, fields{"url": server.URL, "thumbprint": server.Thumbprint})
		}
		out["tang"] = list
	}
	switch on := d.On.ServiceWords(); on {
	case "all", "":
	case "none":
		return fields{"type": "none"}
	default:
		w.lose("spec.diskEncryption.on", anyList(d.On), "ClusterInstance encrypts the machines of every role")
	}
	return out
}

// instanceOverrides are the file's, with the trust bundle, for which SiteConfig
// has no other place.
func (w *writer) instanceOverrides() string {
	c := w.hub.cluster
	text, err := c.InstallConfigOverrides()
	if err != nil {
		w.refuse("spec.overrides.installConfig", err.Error(), "")
		return ""
	}
	bundle := c.TrustBundle()
	if bundle == "" {
		return text
	}
	if len(c.Spec.Registry.Mirrors) == 0 {
		w.lose("spec.registry.trustBundle", plainOf(c.Spec.Registry.TrustBundle), "is trusted by the cluster, but not while machines are discovered")
	}
	own := fields{"additionalTrustBundle": bundle}
	var theirs fields
	if text != "" {
		err = json.Unmarshal([]byte(text), &theirs)
	}
	var out []byte
	if err == nil {
		out, err = json.Marshal(over(own, theirs))
	}
	if err != nil {
		w.refuse("spec.overrides.installConfig", err.Error(), "")
	}
	return string(out)
}

// instanceExtras are the label and the annotations of the AgentClusterInstall
// that SiteConfig makes.
func (w *writer) instanceExtras(s fields) {
	c := w.hub.cluster
	if len(c.Metadata.Tags) == 1 {
		s["extraLabels"] = fields{kindAgentClusterInstall().Kind: fields{hubapi.LabelConsumer: c.Metadata.Tags[0]}}
	}
	notes := w.installAnnotations()
	delete(notes, hubapi.AnnotationInstallConfigOverrides) // stands in installConfigOverrides
	if len(notes) > 0 {
		s["extraAnnotations"] = fields{kindAgentClusterInstall().Kind: anyMap(notes)}
	}
}

// classified are the labels that Agents get, for which a hub has objects of their
// own.
func (w *writer) classified() []*unstructured.Unstructured {
	own := hub{refusals: refusals{cluster: w.losses.cluster}, namespace: w.hub.namespace}
	return own.classifications()
}

// instanceInfraEnv are the labels and annotations of the InfraEnvs that
// SiteConfig makes, beside those of the AgentClusterInstall.
func (w *writer) instanceInfraEnv(s fields) {
	own := hub{refusals: refusals{cluster: w.losses.cluster}}
	env := &unstructured.Unstructured{Object: fields{}}
	own.hubFields(env, fields{})
	extra := func(name string, texts map[string]string) {
		if len(texts) == 0 {
			return
		}
		all, _ := s[name].(fields)
		if all == nil {
			all = fields{}
			s[name] = all
		}
		all[kindInfraEnv().Kind] = anyMap(texts)
	}
	extra("extraLabels", env.GetLabels())
	extra("extraAnnotations", env.GetAnnotations())
}

// nodeMetal3 is how metal3 treats the machine.
func nodeMetal3(out fields, host *spec.Host) {
	if host.BMC == nil {
		return
	}
	notes := map[string]string{}
	metal3Fields(host.BMC.Metal3, out, notes)
	if word := notes[hubapi.AnnotationBMHInspect]; word != "" {
		out["ironicInspect"] = word
		delete(notes, hubapi.AnnotationBMHInspect)
	}
	if pool := host.MachineConfigPool; pool != "" {
		notes[hubapi.AnnotationBMACMachineConfigPool] = pool
	}
	if len(notes) > 0 {
		out["extraAnnotations"] = fields{kindBareMetalHost().Kind: anyMap(notes)}
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
func (w *writer) node(host *spec.Host, role spec.Role) (out fields, credentials []*unstructured.Unstructured) {
	c := w.hub.cluster
	out = fields{
		"hostName":              hostnameOf(host),
		"role":                  roleWord(role),
		"automatedCleaningMode": "disabled",
		"templateRefs":          []any{fields{"name": nodeTemplates, "namespace": templateNamespace}},
	}
	if role != host.Role {
		w.loseHost(host, "role", string(host.Role), "a node has a role: it is made "+string(role))
	}
	credentials = w.nodeBMC(out, host)
	put(out, "bootMACAddress", cmp.Or(append(macsOf(c, host), "")...))
	put(out, "cpuArchitecture", metal3Arch(host.Arch))
	if hints := hintFields(host.Disk.Hints); len(hints) > 0 {
		out["rootDeviceHints"] = hints
	}
	config, interfaces, static, err := nmstateOf(c, host)
	switch {
	case err != nil:
		w.refuseHost(host, "net.nmstate", err.Error(), "")
	case static:
		out["nodeNetwork"] = fields{"config": config, "interfaces": interfaceFields(interfaces)}
	}
	if len(host.Labels) > 0 {
		out["nodeLabels"] = anyMap(host.Labels)
	}
	put(out, "installerArgs", installerArgs(host))
	put(out, "ignitionConfigOverride", w.hostIgnition(host))
	nodeMetal3(out, host)
	return out, credentials
}

// nodeBMC is how the machine is booted; one that is not said is lost, for every
// node has one.
func (w *writer) nodeBMC(out fields, host *spec.Host) []*unstructured.Unstructured {
	if host.BMC == nil {
		w.loseHost(host, "bmc", nil, "is missing: SiteConfig boots every node by its BMC; add bmcAddress and bmcCredentialsName")
		return nil
	}
	name := BMCSecretName(w.hub.cluster, host)
	out["bmcAddress"] = w.addressOrLoss(host)
	out["bmcCredentialsName"] = fields{"name": name}
	if host.BMC.Credentials.SecretRef != nil {
		return nil
	}
	user, password, known := host.BMC.Credentials.Login()
	if !w.secrets || !known || password.IsZero() {
		w.loseHost(host, "bmc.credentials", plainOf(host.BMC.Credentials), "secrets were not asked for, or stand on a hub in part; the Secret "+name+" has to be there")
		return nil
	}
	return w.secret(name, "Opaque", map[string]string{"username": user, "password": password.Reveal()})
}
