package objects

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// ClassificationName is the name of the AgentClassification that gives a label.
func ClassificationName(c *spec.Cluster, one spec.Classification) string {
	return NamespaceOf(c) + "-" + spec.ClassificationName(one)
}

// Classifications are the labels that Agents get for what their machine is, in
// the order of the objects' names.
func (h *Maker) Classifications() []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, one := range h.Cluster.Spec.Hub.Classifications {
		object := h.Object(kindAgentClassification(), ClassificationName(h.Cluster, one))
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
