package ztp

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/settings"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/source"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// byHubOnly is why the agent-based installer's folder does not carry over what
// only a hub acts on.
const byHubOnly = "only a hub acts on it, and the agent-based installer has none"

// hubOnly carries over of an InfraEnv what only a hub knows. Several InfraEnvs
// agree on it.
func (r *Hub) hubOnly(n, s *source.Node) {
	set := &r.Cluster.Spec.Hub
	r.MeansIf(s.Get("agentLabels", hubapi.LabelCluster), "is the label that oaictl gives all objects of the cluster", r.Cluster.Metadata.Name)
	r.MeansIf(s.Get("ipxeScriptType"), "is the default", "DiscoveryImageAlways")
	r.MeansIf(s.Get("agentApproval", "autoApprove"), "is the default", "false")
	r.Lose(s.Get("agentApproval", "autoApprove"), "oaictl approves the hosts that the file names; for any machine write spec.acceptUnknownHosts: true")
	if r.AgentBased {
		for _, name := range []string{"agentLabels", "ipxeScriptType", "osImageVersion"} {
			r.Rest(s.Get(name), byHubOnly)
		}
		return
	}
	for _, label := range r.MapOf(s.Get("agentLabels")).All() {
		if !label.Taken {
			r.setLabel(&set.AgentLabels, "spec.hub.agentLabels", label)
		}
	}
	if script := s.Get("ipxeScriptType"); script.Peek() == "BootOrderControl" {
		r.Text(script)
		set.IPXE = spec.IPXEBootOrder
		r.From("spec.hub.ipxe", script)
	}
	source.SetText(r.Account, "spec.discovery.osVersion", &r.Cluster.Spec.Discovery.OSVersion, s.Get("osImageVersion"))
	r.InfraEnvNotes(n.Get("metadata", "annotations"), n.Get("metadata", "labels"))
}

// InfraEnvNotes carries annotations of an InfraEnv over, and the labels that they
// speak of.
func (r *Hub) InfraEnvNotes(notes, labels *source.Node) {
	set := &r.Cluster.Spec.Hub
	if keys := notes.Get(hubapi.AnnotationPropagateNodeLabels); keys != nil {
		for key := range strings.SplitSeq(r.Text(keys), ",") {
			if label := labels.Get(strings.TrimSpace(key)); label != nil {
				r.setLabel(&set.NodeLabels, "spec.hub.nodeLabels", label)
			}
		}
	}
	if agent := notes.Get(hubapi.AnnotationEnableIronicAgent); agent.Peek() == "true" {
		r.Text(agent)
		set.Ironic.Agent = true
		r.From("spec.hub.ironic.agent", agent)
	}
	source.SetText(r.Account, "spec.hub.ironic.image", &set.Ironic.Image, notes.Get(hubapi.AnnotationIronicAgentImage))
	if families := notes.Get(hubapi.AnnotationIPFamily); families != nil {
		var list []spec.IPFamily
		for family := range strings.SplitSeq(families.Peek(), ",") {
			list = append(list, spec.IPFamily(strings.TrimSpace(family)))
		}
		if set.Ironic.IPFamilies != nil && !slices.Equal(set.Ironic.IPFamilies, list) {
			r.Second("spec.hub.ironic.ipFamilies", families)
			return
		}
		r.Text(families)
		set.Ironic.IPFamilies = list
		r.From("spec.hub.ironic.ipFamilies", families)
	}
}

// setLabel carries one label over; another value of the same label is told.
func (r *Hub) setLabel(to *map[string]string, field string, label *source.Node) {
	if have, there := (*to)[label.Key]; there && have != label.Peek() {
		r.Second(field+"."+label.Key, label)
		return
	}
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[label.Key] = r.Text(label)
	r.From(field+"."+label.Key, label)
}

// Classifications carries over the labels that Agents get.
func (r *Hub) Classifications(h *Objects) {
	for _, n := range h.classes {
		if r.AgentBased {
			r.Lose(n, byHubOnly)
			continue
		}
		s := r.MapOf(n.Get("spec"))
		var one spec.Classification
		field := "spec.hub.classifications"
		source.SetText(r.Account, field, &one.Label, s.Get("labelKey"))
		source.SetText(r.Account, field, &one.Value, s.Get("labelValue"))
		source.SetText(r.Account, field, &one.Query, s.Get("query"))
		r.ObjectNames(n, "")
		r.Cluster.Spec.Hub.Classifications = append(r.Cluster.Spec.Hub.Classifications, one)
	}
}

// Metal3 carries over how metal3 treats a machine that the hub boots. mode and
// cleaning are its fields, inspect says what of inspection, notes are the
// annotations of its BareMetalHost.
func (r *Hub) Metal3(i int, mode, cleaning, inspect, notes *source.Node) {
	to, field, m := r.Host(i).BMC, settings.HostField(i, "bmc.metal3"), spec.Metal3{}
	if to == nil || r.Cluster.Spec.Boot.Method != spec.BootMetal3 {
		const why = "is how metal3 treats a machine that it boots, which it does not do with this one"
		for _, n := range []*source.Node{mode, cleaning, inspect} {
			r.MeansIf(n, "is the default", "", "UEFI", "disabled")
			r.Lose(n, why)
		}
		return
	}
	r.MeansIf(mode, "is the default", "UEFI")
	if mode != nil && !mode.Taken {
		source.SetText(r.Account, field+".bootMode", &m.BootMode, mode)
	}
	r.MeansIf(cleaning, "is what oaictl asks for itself", "disabled")
	if cleaning != nil && !cleaning.Taken {
		source.SetText(r.Account, field+".cleaning", &m.Cleaning, cleaning)
	}
	r.MeansIf(inspect, "is the default", "")
	if inspect.Peek() == "disabled" {
		r.Text(inspect)
		m.Inspect = new(false)
		r.From(field+".inspect", inspect)
	}
	flag := func(name string, to *bool) {
		if note := notes.Get(name); note.Peek() == "true" {
			r.Text(note)
			*to = true
			r.From(field, note)
		}
	}
	flag(hubapi.AnnotationBMACManageProvisioned, &m.KeepManaged)
	flag(hubapi.AnnotationBMACRemoveOnDelete, &m.RemoveNode)
	if timeout := notes.Get(hubapi.AnnotationBMACDrainTimeout); timeout != nil && m.RemoveNode {
		if drain, err := time.ParseDuration(timeout.Peek()); err == nil {
			r.Text(timeout)
			m.DrainTimeout = spec.Duration(drain)
			r.From(field+".drainTimeout", timeout)
		}
	}
	for _, note := range notes.All() {
		if key, is := strings.CutPrefix(note.Key, hubapi.AnnotationBMACAgentLabelPrefix); is {
			if m.AgentLabels == nil {
				m.AgentLabels = map[string]string{}
			}
			m.AgentLabels[key] = r.Text(note)
			r.From(field+".agentLabels."+key, note)
		}
	}
	if !reflect.ValueOf(m).IsZero() {
		to.Metal3 = &m
	}
}
