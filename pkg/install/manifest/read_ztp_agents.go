package manifest

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// byHubOnly is why the agent-based installer's folder does not carry over what
// only a hub acts on.
const byHubOnly = "only a hub acts on it, and the agent-based installer has none"

// hubOnly carries over of an InfraEnv what only a hub knows. Several InfraEnvs
// agree on it.
func (r *reader) hubOnly(n, s *node) {
	set := &r.cluster.Spec.Hub
	r.meansIf(s.get("agentLabels", hubapi.LabelCluster), "is the label that oaictl gives all objects of the cluster", r.cluster.Metadata.Name)
	r.meansIf(s.get("ipxeScriptType"), "is the default", "DiscoveryImageAlways")
	r.meansIf(s.get("agentApproval", "autoApprove"), "is the default", "false")
	r.lose(s.get("agentApproval", "autoApprove"), "oaictl approves the hosts that the file names; for any machine write spec.acceptUnknownHosts: true")
	if r.agentBased {
		for _, name := range []string{"agentLabels", "ipxeScriptType", "osImageVersion"} {
			r.rest(s.get(name), byHubOnly)
		}
		return
	}
	for _, label := range r.mapOf(s.get("agentLabels")).all() {
		if !label.taken {
			r.setLabel(&set.AgentLabels, "spec.hub.agentLabels", label)
		}
	}
	if script := s.get("ipxeScriptType"); script.peek() == "BootOrderControl" {
		r.text(script)
		set.IPXE = spec.IPXEBootOrder
		r.from("spec.hub.ipxe", script)
	}
	setText(r, "spec.discovery.osVersion", &r.cluster.Spec.Discovery.OSVersion, s.get("osImageVersion"))
	r.infraEnvNotes(n.get("metadata", "annotations"), n.get("metadata", "labels"))
}

// infraEnvNotes carries annotations of an InfraEnv over, and the labels that they
// speak of.
func (r *reader) infraEnvNotes(notes, labels *node) {
	set := &r.cluster.Spec.Hub
	if keys := notes.get(hubapi.AnnotationPropagateNodeLabels); keys != nil {
		for key := range strings.SplitSeq(r.text(keys), ",") {
			if label := labels.get(strings.TrimSpace(key)); label != nil {
				r.setLabel(&set.NodeLabels, "spec.hub.nodeLabels", label)
			}
		}
	}
	if agent := notes.get(hubapi.AnnotationEnableIronicAgent); agent.peek() == "true" {
		r.text(agent)
		set.Ironic.Agent = true
		r.from("spec.hub.ironic.agent", agent)
	}
	setText(r, "spec.hub.ironic.image", &set.Ironic.Image, notes.get(hubapi.AnnotationIronicAgentImage))
	if families := notes.get(hubapi.AnnotationIPFamily); families != nil {
		var list []spec.IPFamily
		for family := range strings.SplitSeq(families.peek(), ",") {
			list = append(list, spec.IPFamily(strings.TrimSpace(family)))
		}
		if set.Ironic.IPFamilies != nil && !slices.Equal(set.Ironic.IPFamilies, list) {
			r.second("spec.hub.ironic.ipFamilies", families)
			return
		}
		r.text(families)
		set.Ironic.IPFamilies = list
		r.from("spec.hub.ironic.ipFamilies", families)
	}
}

// setLabel carries one label over; another value of the same label is told.
func (r *reader) setLabel(to *map[string]string, field string, label *node) {
	if have, there := (*to)[label.key]; there && have != label.peek() {
		r.second(field+"."+label.key, label)
		return
	}
	if *to == nil {
		*to = map[string]string{}
	}
	(*to)[label.key] = r.text(label)
	r.from(field+"."+label.key, label)
}

// classifications carries over the labels that Agents get.
func (r *reader) classifications(h *hubInput) {
	for _, n := range h.classes {
		if r.agentBased {
			r.lose(n, byHubOnly)
			continue
		}
		s := r.mapOf(n.get("spec"))
		var one spec.Classification
		field := "spec.hub.classifications"
		setText(r, field, &one.Label, s.get("labelKey"))
		setText(r, field, &one.Value, s.get("labelValue"))
		setText(r, field, &one.Query, s.get("query"))
		r.objectNames(n, "")
		r.cluster.Spec.Hub.Classifications = append(r.cluster.Spec.Hub.Classifications, one)
	}
}

// metal3 carries over how metal3 treats a machine that the hub boots. mode and
// cleaning are its fields, inspect says what of inspection, notes are the
// annotations of its BareMetalHost.
func (r *reader) metal3(i int, mode, cleaning, inspect, notes *node) {
	to, field, m := r.host(i).BMC, hostField(i, "bmc.metal3"), spec.Metal3{}
	if to == nil || r.cluster.Spec.Boot.Method != spec.BootMetal3 {
		const why = "is how metal3 treats a machine that it boots, which it does not do with this one"
		for _, n := range []*node{mode, cleaning, inspect} {
			r.meansIf(n, "is the default", "", "UEFI", "disabled")
			r.lose(n, why)
		}
		return
	}
	r.meansIf(mode, "is the default", "UEFI")
	if mode != nil && !mode.taken {
		setText(r, field+".bootMode", &m.BootMode, mode)
	}
	r.meansIf(cleaning, "is what oaictl asks for itself", "disabled")
	if cleaning != nil && !cleaning.taken {
		setText(r, field+".cleaning", &m.Cleaning, cleaning)
	}
	r.meansIf(inspect, "is the default", "")
	if inspect.peek() == "disabled" {
		r.text(inspect)
		off := false
		m.Inspect = &off
		r.from(field+".inspect", inspect)
	}
	flag := func(name string, to *bool) {
		if note := notes.get(name); note.peek() == "true" {
			r.text(note)
			*to = true
			r.from(field, note)
		}
	}
	flag(hubapi.AnnotationBMACManageProvisioned, &m.KeepManaged)
	flag(hubapi.AnnotationBMACRemoveOnDelete, &m.RemoveNode)
	if timeout := notes.get(hubapi.AnnotationBMACDrainTimeout); timeout != nil && m.RemoveNode {
		if drain, err := time.ParseDuration(timeout.peek()); err == nil {
			r.text(timeout)
			m.DrainTimeout = spec.Duration(drain)
			r.from(field+".drainTimeout", timeout)
		}
	}
	for _, note := range notes.all() {
		if key, is := strings.CutPrefix(note.key, hubapi.AnnotationBMACAgentLabelPrefix); is {
			if m.AgentLabels == nil {
				m.AgentLabels = map[string]string{}
			}
			m.AgentLabels[key] = r.text(note)
			r.from(field+".agentLabels."+key, note)
		}
	}
	if !reflect.ValueOf(m).IsZero() {
		to.Metal3 = &m
	}
}

// importedDeployment carries over that a cluster is installed already. One whose
// metadata has the service's own id was installed by the service: its objects say
// how.
func (r *reader) importedDeployment(h *hubInput, s *node) {
	meta := s.get("clusterMetadata")
	if s.get("installed").peek() != "true" || meta.get("infraID").peek() != "" {
		return
	}
	from := &spec.Import{}
	r.cluster.Spec.Import = from
	r.boolean(s.get("installed"))
	r.from("spec.import", s.get("installed"))
	setText(r, "spec.import.clusterID", &from.ClusterID, meta.get("clusterID"))
	r.means(meta.get("infraID"), "is empty: the service has not called the cluster anything yet")
	name := meta.get("adminKubeconfigSecretRef", "name")
	if name == nil {
		return
	}
	r.text(name)
	r.from("spec.import.kubeconfig", name)
	secret := h.secrets[name.peek()]
	if secret == nil {
		from.Kubeconfig = spec.Source{SecretRef: &spec.SecretRef{Name: name.peek()}}
		return
	}
	h.used[secret] = true
	content := r.secretKey(secret, hubapi.KeyKubeconfig)
	if content == nil {
		r.wrong(name, "the Secret "+name.peek()+" has no key "+hubapi.KeyKubeconfig, "put the kubeconfig there, in data or in stringData")
		return
	}
	from.Kubeconfig = spec.Source{File: r.file("kubeconfig", []byte(r.text(content)))}
}

// importedInstall carries over what the AgentClusterInstall of a cluster that is
// installed already says of the hosts that are added to it.
func (r *reader) importedInstall(h *hubInput, n *node) {
	s := r.mapOf(n.get("spec"))
	r.objectNames(n, "")
	r.reference(s.get("clusterDeploymentRef", "name"), h.deployments[0])
	r.tag(n.get("metadata", "labels", hubapi.LabelConsumer))
	r.sshKeys(s.get("sshPublicKey"))
	r.ignitionEndpoint(h, s.get("ignitionEndpoint"))
	r.proxy(s.get("proxy"))
	r.mirrorMap(h, s.get("mirrorRegistryRef"))
	meta := s.get("clusterMetadata")
	if id := meta.get("clusterID"); id != nil {
		setText(r, "spec.import.clusterID", &r.cluster.Spec.Import.ClusterID, id)
	}
	r.means(meta, "repeats what the ClusterDeployment says")
	r.meansIf(s.get("networking", "userManagedNetworking"), "is written for every cluster that is installed already", "true")
	r.means(s.get("provisionRequirements"), "counts no machines of a cluster that is installed already")
	r.rest(s, "says how a cluster is installed, but this one is installed already")
	r.rest(n.get("metadata", "annotations"), "says how a cluster is installed, but this one is installed already")
}
