package manifest

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// agentClusterInstall is how the cluster is installed. manifests are the
// ConfigMaps of extra manifests, endpointCA the Secret that the Ignition
// endpoint is trusted by.
func (h *hub) agentClusterInstall(manifests []*unstructured.Unstructured, endpointCA string) *unstructured.Unstructured {
	if h.cluster.Imported() {
		return h.importedInstall(endpointCA)
	}
	c, set := h.cluster, h.cluster.Spec
	object := h.object(kindAgentClusterInstall(), c.Metadata.Name)
	annotate(object, h.installAnnotations())
	h.consumer(object)
	s := fields{
		"clusterDeploymentRef":  fields{"name": c.Metadata.Name},
		"imageSetRef":           fields{"name": h.set},
		"networking":            networking(c),
		"provisionRequirements": requirements(c),
	}
	if len(manifests) > 0 {
		var refs []any
		for _, m := range manifests {
			refs = append(refs, fields{"name": m.GetName()})
		}
		s["manifestsConfigMapRefs"] = refs
	}
	putAll(s, "apiVIPs", set.Network.VIPs.API)
	putAll(s, "ingressVIPs", set.Network.VIPs.Ingress)
	if balancer := balancerWord(set.Network.LoadBalancer); balancer != "" {
		s["loadBalancer"] = fields{"type": balancer}
	}
	put(s, "sshPublicKey", c.SSHKey())
	putAll(s, "ntpSources", set.Network.NTP)
	hyperthreading(s, c)
	switch {
	case h.hold != nil:
		s["holdInstallation"] = *h.hold
	case c.Present("spec.hold") || set.Hold:
		s["holdInstallation"] = set.Hold
	}
	if endpoint := h.ignitionEndpoint(endpointCA); endpoint != nil {
		s["ignitionEndpoint"] = endpoint
	}
	if set.DiskEncryption != nil {
		s["diskEncryption"] = diskEncryption(set.DiskEncryption)
	}
	if proxy := proxyFields(set.Proxy); proxy != nil {
		s["proxy"] = proxy
	}
	platform(s, c)
	if set.SchedulableControlPlane != nil {
		s["mastersSchedulable"] = *set.SchedulableControlPlane
	}
	if ref := h.mirrorRef(); ref != nil {
		s["mirrorRegistryRef"] = ref
	}
	object.Object["spec"] = s
	return object
}

// consumer is the label that holds the cluster's tag.
func (h *hub) consumer(object *unstructured.Unstructured) {
	if tags := h.cluster.Metadata.Tags; len(tags) == 1 {
		addLabels(object, map[string]string{hubapi.LabelConsumer: tags[0]})
	}
}

// ignitionEndpoint is where joining machines fetch their Ignition from, nil for
// the cluster's own. ca is the Secret that it is trusted by.
func (h *hub) ignitionEndpoint(ca string) fields {
	endpoint := h.cluster.Spec.IgnitionEndpoint
	if endpoint == nil {
		return nil
	}
	to := fields{"url": endpoint.URL}
	if ca != "" {
		to["caCertificateReference"] = fields{"name": ca, "namespace": h.namespace}
	}
	return to
}

// installAnnotations are what the AgentClusterInstall has no field for.
func (h *hub) installAnnotations() map[string]string {
	notes := map[string]string{}
	overrides, err := h.cluster.InstallConfigOverrides()
	switch {
	case err != nil:
		h.refuse("spec.overrides.installConfig", err.Error(), "")
	case overrides != "":
		notes[hubapi.AnnotationInstallConfigOverrides] = overrides
	}
	if ignored := h.cluster.Spec.IgnoreValidations.Cluster; ignored != nil {
		notes[hubapi.AnnotationIgnoredClusterValidations] = joined(ignored)
	}
	if ignored := h.cluster.Spec.IgnoreValidations.Hosts; ignored != nil {
		notes[hubapi.AnnotationIgnoredHostValidations] = joined(ignored)
	}
	return notes
}

func networking(c *spec.Cluster) fields {
	net, out := c.Spec.Network, fields{}
	if net.Machine != nil {
		out["machineNetwork"] = listOf("cidr", net.Machine)
	}
	if net.Cluster != nil {
		list := []any{}
		for _, network := range net.Cluster {
			entry := fields{"cidr": network.CIDR}
			if network.HostPrefix != 0 {
				entry["hostPrefix"] = int64(network.HostPrefix)
			}
			list = append(list, entry)
		}
		out["clusterNetwork"] = list
	}
	putAll(out, "serviceNetwork", net.Service)
	put(out, "networkType", net.Type)
	switch {
	case net.UserManaged != nil:
		out["userManagedNetworking"] = *net.UserManaged
	case c.SingleNode() || c.Spec.Platform.Type == spec.NoneType || c.Spec.Platform.Type == spec.External:
		// What the webhook would fill in; a hub without it needs it said.
		out["userManagedNetworking"] = true
	}
	return out
}

// requirements are the counts of machines, which the service takes exactly: of
// those that are installed, whatever is added to them.
func requirements(c *spec.Cluster) fields {
	c = c.AtInstall()
	out := fields{"controlPlaneAgents": int64(c.ControlPlaneCount()), "workerAgents": int64(c.WorkerCount())}
	if arbiters := c.ArbiterCount(); arbiters > 0 {
		out["arbiterAgents"] = int64(arbiters)
	}
	return out
}

func balancerWord(balancer spec.LoadBalancer) string {
	switch balancer {
	case spec.ClusterManaged:
		return "ClusterManaged"
	case spec.UserManaged:
		return "UserManaged"
	}
	return ""
}

// hyperthreading sets the pools of the install-config, of which the service
// takes nothing else. A role that is not in a list has it disabled.
func hyperthreading(s fields, c *spec.Cluster) {
	roles := c.Spec.Hyperthreading
	if len(roles) == 0 {
		return
	}
	pool := func(name string, role spec.Role) fields {
		return fields{"name": name, "hyperthreading": hyperthreadingWord(roles, role)}
	}
	s["controlPlane"] = pool("master", spec.ControlPlane)
	s["compute"] = []any{pool("worker", spec.Worker)}
	if c.ArbiterCount() > 0 || slices.Contains(roles, string(spec.Arbiter)) {
		s["arbiter"] = pool("arbiter", spec.Arbiter)
	}
}

// hyperthreadingWord is what the pool of a role says, given the roles that have
// it.
func hyperthreadingWord(roles spec.RoleSet, role spec.Role) string {
	if slices.Contains(roles, spec.AllRoles) || slices.Contains(roles, string(role)) {
		return "Enabled"
	}
	return "Disabled"
}

func diskEncryption(d *spec.DiskEncryption) fields {
	out := fields{}
	put(out, "enableOn", d.On.ServiceWords())
	put(out, "mode", d.Mode)
	if d.Mode == spec.TPM {
		out["mode"] = "tpmv2"
	}
	if servers := tangServers(d.Tang); servers != "" {
		out["tangServers"] = servers
	}
	return out
}

// tangServers is Tang servers as the service takes them, a JSON list in a text.
func tangServers(servers []spec.TangServer) string {
	if len(servers) == 0 {
		return ""
	}
	type server struct {
		URL        string `json:"url"`
		Thumbprint string `json:"thumbprint"`
	}
	list := make([]server, len(servers))
	for i, s := range servers {
		list[i] = server{s.URL, s.Thumbprint}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "" // texts always encode
	}
	return string(text)
}

// platform sets the platform unless the service comes to the same by itself:
// bare metal, where the file does not name it.
func platform(s fields, c *spec.Cluster) {
	p := c.Spec.Platform
	if p.Type == spec.BareMetal && !c.Present("spec.platform") {
		return
	}
	put(s, "platformType", platformWord(p.Type))
	if p.External != nil {
		external := fields{"platformName": p.External.Name}
		put(external, "cloudControllerManager", p.External.CloudControllerManager)
		s["external"] = external
	}
}

func platformWord(p spec.PlatformType) string {
	switch p {
	case spec.BareMetal:
		return "BareMetal"
	case spec.NoneType:
		return "None"
	case spec.VSphere:
		return "VSphere"
	case spec.Nutanix:
		return "Nutanix"
	case spec.External:
		return "External"
	}
	return ""
}
