package objects

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// InfraEnv is a discovery image.
func (h *Maker) InfraEnv(plan install.InfraEnvPlan) *unstructured.Unstructured {
	c, set := h.Cluster, h.Cluster.Spec
	object := h.Object(hubapi.KindInfraEnv, plan.Name)
	s := Fields{
		"pullSecretRef":              Fields{"name": PullSecretName(c)},
		"nmStateConfigLabelSelector": Fields{"matchLabels": Fields{hubapi.LabelInfraEnv: plan.Name}},
	}
	if set.InfraEnv.Bind != spec.BindLate {
		s["clusterRef"] = Fields{"name": c.Metadata.Name, "namespace": h.Namespace}
		s["agentLabels"] = Fields{hubapi.LabelCluster: c.Metadata.Name}
	}
	Put(s, "sshAuthorizedKey", c.SSHKey())
	if proxy := ProxyFields(set.Proxy); proxy != nil {
		s["proxy"] = proxy
	}
	PutAll(s, "additionalNTPSources", set.Network.Defaults.NTP)
	PutAll(s, "ntpSources", set.Network.NTP)
	Put(s, "cpuArchitecture", plan.Arch)
	Put(s, "additionalTrustBundle", c.TrustBundle())
	ignition, err := c.DiscoveryIgnition()
	if err != nil {
		h.Refuse("spec.discovery.ignition", err.Error(), "")
	}
	Put(s, "ignitionConfigOverride", ignition)
	if set.Boot.Image != "" {
		s["imageType"] = string(set.Boot.Image) + "-iso"
	}
	if args := set.Discovery.KernelArgs; args != nil {
		list := []any{}
		for _, arg := range args {
			list = append(list, Fields{"operation": "append", "value": arg})
		}
		s["kernelArguments"] = list
	}
	if delay := time.Duration(set.Discovery.NetworkDelay); delay > 0 {
		s["networkDiscoveryDelaySeconds"] = int64(math.Ceil(delay.Seconds()))
	}
	if ref := h.mirrorRef(); ref != nil {
		s["mirrorRegistryRef"] = ref
	}
	if h.Installed || set.InfraEnv.Bind == spec.BindLate {
		Put(s, "osImageVersion", set.Discovery.OSVersion)
	} else if set.Discovery.OSVersion != "" {
		h.note("the InfraEnv %s has no osImageVersion, which a hub takes for one of an installed cluster only: oaictl add-node writes it", plan.Name)
	}
	h.HubFields(object, s)
	object.Object["spec"] = s
	return object
}

// NMStateConfig is the static network of a host, found by the InfraEnv by its
// label; nil for a host that uses DHCP.
func (h *Maker) NMStateConfig(infraEnv string, host *spec.Host) *unstructured.Unstructured {
	config, macs, ok, err := NMStateOf(h.Cluster, host)
	if err != nil {
		h.RefuseHost(host, "net.nmstate", err.Error(), "")
		return nil
	}
	if !ok {
		return nil
	}
	object := h.Object(hubapi.KindNMStateConfig, NMStateConfigName(h.Cluster, host.Name))
	addLabels(object, map[string]string{hubapi.LabelInfraEnv: infraEnv})
	object.Object["spec"] = Fields{"config": config, "interfaces": InterfaceFields(macs)}
	return object
}

// InterfaceFields are the names of interfaces and their MAC addresses as both
// NMStateConfig and the agent-based installer have them.
func InterfaceFields(macs []spec.NIC) []any {
	list := make([]any, len(macs))
	for i, mac := range macs {
		list[i] = Fields{"name": mac.Name, "macAddress": mac.MAC}
	}
	return list
}

// NMStateOf is the static network of a host as an nmstate document. ok is false
// for a host that uses DHCP.
func NMStateOf(c *spec.Cluster, host *spec.Host) (config Fields, macs []spec.NIC, ok bool, err error) {
	text, macs, ok := c.StaticNetwork(host)
	if !ok {
		return nil, nil, false, nil
	}
	var document []byte
	if host.Net.NMState != nil {
		var own string
		own, err = host.Net.NMState.JSON()
		document = []byte(own)
	} else {
		document, err = yaml.YAMLToJSON([]byte(text))
	}
	if err == nil {
		err = json.Unmarshal(document, &config)
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("the network of %s cannot be read: %w", host.Name, err)
	}
	return config, macs, true, nil
}

// Classifications are the labels that Agents get for what their machine is, in
// the order of the objects' names.
func (h *Maker) Classifications() []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, one := range h.Cluster.Spec.Hub.Classifications {
		object := h.Object(hubapi.KindAgentClassification, NamespaceOf(h.Cluster)+"-"+one.Name())
		object.Object["spec"] = Fields{"labelKey": one.Label, "labelValue": one.Value, "query": one.Query}
		objects = append(objects, object)
	}
	slices.SortFunc(objects, byName)
	return objects
}

// HubFields are the fields and annotations of an InfraEnv by which a hub treats
// the machines that boot it.
func (h *Maker) HubFields(object *unstructured.Unstructured, s Fields) {
	set, notes := h.Cluster.Spec.Hub, map[string]string{}
	labels := map[string]string{}
	if agents, ok := s["agentLabels"].(Fields); ok {
		for key, value := range agents {
			labels[key], _ = value.(string)
		}
	}
	maps.Copy(labels, set.AgentLabels)
	if len(labels) > 0 {
		s["agentLabels"] = AnyMap(labels)
	}
	if len(set.NodeLabels) > 0 {
		addLabels(object, set.NodeLabels)
		notes[hubapi.AnnotationPropagateNodeLabels] = joined(slices.Sorted(maps.Keys(set.NodeLabels)))
	}
	Put(s, "ipxeScriptType", ipxeWord(set.IPXE))
	if set.Ironic.Agent {
		notes[hubapi.AnnotationEnableIronicAgent] = "true"
	}
	if set.Ironic.Image != "" {
		notes[hubapi.AnnotationIronicAgentImage] = set.Ironic.Image
	}
	if families := set.Ironic.IPFamilies; len(families) > 0 {
		var words []string
		for _, family := range families {
			words = append(words, string(family))
		}
		slices.Sort(words) // the hub takes v4,v6 in this order only
		notes[hubapi.AnnotationIPFamily] = joined(words)
	}
	annotate(object, notes)
}

// ipxeWord is what an iPXE script boots, in the word of InfraEnv.
func ipxeWord(script spec.IPXEScript) string {
	switch script {
	case spec.IPXEAlways:
		return "DiscoveryImageAlways"
	case spec.IPXEBootOrder:
		return "BootOrderControl"
	}
	return ""
}

// Metal3Fields are how metal3 treats a machine: fields of its BareMetalHost, and
// annotations.
func Metal3Fields(m *spec.Metal3, s Fields, notes map[string]string) {
	if m == nil {
		return
	}
	Put(s, "bootMode", m.BootMode)
	Put(s, "automatedCleaningMode", m.Cleaning)
	if m.Inspect != nil && !*m.Inspect {
		notes[hubapi.AnnotationBMHInspect] = "disabled"
	}
	if m.KeepManaged {
		notes[hubapi.AnnotationBMACManageProvisioned] = "true"
	}
	if m.RemoveNode {
		notes[hubapi.AnnotationBMACRemoveOnDelete] = "true"
	}
	if m.DrainTimeout > 0 {
		notes[hubapi.AnnotationBMACDrainTimeout] = m.DrainTimeout.String()
	}
	for key, value := range m.AgentLabels {
		notes[hubapi.AnnotationBMACAgentLabelPrefix+key] = value
	}
}
