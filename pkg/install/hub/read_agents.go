package hub

import (
	"maps"
	"slices"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/internal/hubapi/agentinstall"
	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// classified are the labels that the AgentClassifications of a cluster give.
func (at *place) classified(cluster string) (setting.Value, error) {
	out := []setting.Classification{}
	for _, u := range at.store(agentClassifications()).all() {
		if u.GetLabels()[hubapi.LabelCluster] != cluster || u.GetDeletionTimestamp() != nil {
			continue
		}
		wire, err := read[agentinstall.AgentClassification](u)
		if err != nil {
			return "", err
		}
		out = append(out, setting.Classification{Label: wire.Spec.LabelKey, Value: wire.Spec.LabelValue, Query: wire.Spec.Query})
	}
	setting.SortClassifications(out)
	return setting.ValueOf(out), nil
}

// agentSettings are what an InfraEnv says of its Agents and of what looks after
// their machines.
func agentSettings(s install.Settings, wire *agentinstall.InfraEnv) {
	notes := wire.Annotations
	text(s, setting.OSVersion, wire.Spec.OSImageVersion)
	labels := maps.Clone(wire.Spec.AgentLabels)
	delete(labels, hubapi.LabelCluster) // which oaictl itself puts there
	if labels == nil {
		labels = map[string]string{}
	}
	s[setting.AgentLabels] = setting.ValueOf(labels)
	nodes := map[string]string{}
	for _, key := range list(notes[hubapi.AnnotationPropagateNodeLabels]) {
		nodes[key] = wire.Labels[key]
	}
	s[setting.NodeLabels] = setting.ValueOf(nodes)
	families := list(notes[hubapi.AnnotationIPFamily])
	slices.Sort(families)
	s[setting.Ironic] = setting.ValueOf(setting.IronicValue{
		Agent: notes[hubapi.AnnotationEnableIronicAgent] == "true", Image: notes[hubapi.AnnotationIronicAgentImage], IPFamilies: families,
	})
	switch wire.Spec.IPXEScriptType {
	case agentinstall.IPXEBootOrderControl:
		s[setting.IPXE] = setting.ValueOf(spec.IPXEBootOrder)
	case agentinstall.IPXEDiscoveryAlways, "":
		s[setting.IPXE] = setting.ValueOf(spec.IPXEAlways)
	}
}
