package objects

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// AgentClusterInstall is how the cluster is installed. manifests are the
// ConfigMaps of extra manifests, endpointCA the Secret that the Ignition
// endpoint is trusted by.
func (h *Maker) AgentClusterInstall(manifests []*unstructured.Unstructured, endpointCA string) *unstructured.Unstructured {
	if h.Cluster.Imported() {
		return h.importedInstall(endpointCA)
	}
	c, set := h.Cluster, h.Cluster.Spec
	object := h.Object(hubapi.KindAgentClusterInstall, c.Metadata.Name)
	annotate(object, h.InstallAnnotations())
	h.consumer(object)
	s := Fields{
		"clusterDeploymentRef":  Fields{"name": c.Metadata.Name},
		"imageSetRef":           Fields{"name": h.Set},
		"networking":            Networking(c),
		"provisionRequirements": requirements(c),
	}
	if len(manifests) > 0 {
		var refs []any
		for _, m := range manifests {
			refs = append(refs, Fields{"name": m.GetName()})
		}
		s["manifestsConfigMapRefs"] = refs
	}
	PutAll(s, "apiVIPs", set.Network.VIPs.API)
	PutAll(s, "ingressVIPs", set.Network.VIPs.Ingress)
	if balancer := BalancerWord(set.Network.LoadBalancer); balancer != "" {
		s["loadBalancer"] = Fields{"type": balancer}
	}
	Put(s, "sshPublicKey", c.SSHKey())
	PutAll(s, "ntpSources", set.Network.NTP)
	hyperthreading(s, c)
	switch {
	case h.Hold != nil:
		s["holdInstallation"] = *h.Hold
	case c.Present("spec.hold") || set.Hold:
		s["holdInstallation"] = set.Hold
	}
	if endpoint := h.ignitionEndpoint(endpointCA); endpoint != nil {
		s["ignitionEndpoint"] = endpoint
	}
	if set.DiskEncryption != nil {
		s["diskEncryption"] = diskEncryption(set.DiskEncryption)
	}
	if proxy := ProxyFields(set.Proxy); proxy != nil {
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
func (h *Maker) consumer(object *unstructured.Unstructured) {
	if tags := h.Cluster.Metadata.Tags; len(tags) == 1 {
		addLabels(object, map[string]string{hubapi.LabelConsumer: tags[0]})
	}
}

// ignitionEndpoint is where joining machines fetch their Ignition from, nil for
// the cluster's own. ca is the Secret that it is trusted by.
func (h *Maker) ignitionEndpoint(ca string) Fields {
	endpoint := h.Cluster.Spec.IgnitionEndpoint
	if endpoint == nil {
		return nil
	}
	to := Fields{"url": endpoint.URL}
	if ca != "" {
		to["caCertificateReference"] = Fields{"name": ca, "namespace": h.Namespace}
	}
	return to
}

// InstallAnnotations are what the AgentClusterInstall has no field for.
func (h *Maker) InstallAnnotations() map[string]string {
	notes := map[string]string{}
	overrides, err := h.Cluster.InstallConfigOverrides()
	switch {
	case err != nil:
		h.Refuse("spec.overrides.installConfig", err.Error(), "")
	case overrides != "":
		notes[hubapi.AnnotationInstallConfigOverrides] = overrides
	}
	if ignored := h.Cluster.Spec.IgnoreValidations.Cluster; ignored != nil {
		notes[hubapi.AnnotationIgnoredClusterValidations] = joined(ignored)
	}
	if ignored := h.Cluster.Spec.IgnoreValidations.Hosts; ignored != nil {
		notes[hubapi.AnnotationIgnoredHostValidations] = joined(ignored)
	}
	return notes
}

// requirements are the counts of machines, which the service takes exactly: of
// those that are installed, whatever is added to them.
func requirements(c *spec.Cluster) Fields {
	c = c.AtInstall()
	out := Fields{"controlPlaneAgents": int64(c.ControlPlaneCount()), "workerAgents": int64(c.WorkerCount())}
	if arbiters := c.ArbiterCount(); arbiters > 0 {
		out["arbiterAgents"] = int64(arbiters)
	}
	return out
}

// hyperthreading sets the pools of the install-config, of which the service
// takes nothing else. A role that is not in a list has it disabled.
func hyperthreading(s Fields, c *spec.Cluster) {
	roles := c.Spec.Hyperthreading
	if len(roles) == 0 {
		return
	}
	pool := func(name string, role spec.Role) Fields {
		return Fields{"name": name, "hyperthreading": HyperthreadingWord(roles, role)}
	}
	s["controlPlane"] = pool("master", spec.ControlPlane)
	s["compute"] = []any{pool("worker", spec.Worker)}
	if c.ArbiterCount() > 0 || slices.Contains(roles, string(spec.Arbiter)) {
		s["arbiter"] = pool("arbiter", spec.Arbiter)
	}
}

// HyperthreadingWord is what the pool of a role says, given the roles that have
// it.
func HyperthreadingWord(roles spec.RoleSet, role spec.Role) string {
	if slices.Contains(roles, spec.AllRoles) || slices.Contains(roles, string(role)) {
		return "Enabled"
	}
	return "Disabled"
}

func diskEncryption(d *spec.DiskEncryption) Fields {
	out := Fields{}
	Put(out, "enableOn", d.On.ServiceWords())
	Put(out, "mode", d.Mode)
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

// Networking is the networks of a cluster.
func Networking(c *spec.Cluster) Fields {
	net, out := c.Spec.Network, Fields{}
	if net.Machine != nil {
		out["machineNetwork"] = ListOf("cidr", net.Machine)
	}
	if net.Cluster != nil {
		list := []any{}
		for _, network := range net.Cluster {
			entry := Fields{"cidr": network.CIDR}
			if network.HostPrefix != 0 {
				entry["hostPrefix"] = int64(network.HostPrefix)
			}
			list = append(list, entry)
		}
		out["clusterNetwork"] = list
	}
	PutAll(out, "serviceNetwork", net.Service)
	Put(out, "networkType", net.Type)
	switch {
	case net.UserManaged != nil:
		out["userManagedNetworking"] = *net.UserManaged
	case c.SingleNode() || c.Spec.Platform.Type == spec.NoneType || c.Spec.Platform.Type == spec.External:
		// What the webhook would fill in; a hub without it needs it said.
		out["userManagedNetworking"] = true
	}
	return out
}

// BalancerWord is who balances the load, in the service's word.
func BalancerWord(balancer spec.LoadBalancer) string {
	switch balancer {
	case spec.ClusterManaged:
		return "ClusterManaged"
	case spec.UserManaged:
		return "UserManaged"
	}
	return ""
}

// platform sets the platform unless the service comes to the same by itself:
// bare metal, where the file does not name it.
func platform(s Fields, c *spec.Cluster) {
	p := c.Spec.Platform
	if p.Type == spec.BareMetal && !c.Present("spec.platform") {
		return
	}
	Put(s, "platformType", PlatformWord(p.Type))
	if p.External != nil {
		external := Fields{"platformName": p.External.Name}
		Put(external, "cloudControllerManager", p.External.CloudControllerManager)
		s["external"] = external
	}
}

// PlatformWord is a platform in the service's word.
func PlatformWord(p spec.PlatformType) string {
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
