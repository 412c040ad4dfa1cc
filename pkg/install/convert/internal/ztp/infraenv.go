package ztp

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/hubobjects"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/fields"
	"github.com/oaictl/oaictl/pkg/install/convert/internal/input"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// BootEnv is what an InfraEnv says of the machines that boot it.
type BootEnv struct {
	Name     string
	Arch     spec.Arch
	Selector map[string]string
}

// Selects says whether an object is of the InfraEnv. An empty selector selects nothing.
func (e BootEnv) Selects(labels *input.Node) bool {
	for key, value := range e.Selector {
		if labels.Child(key).Peek() != value || labels.Child(key) == nil {
			return false
		}
	}
	return len(e.Selector) > 0
}

// infraEnv carries an InfraEnv over. Several of them agree, save for the
// architecture and for whose network is whose.
func (r *Hub) infraEnv(h *Objects, n *input.Node) {
	s := r.MapOf(n.Get("spec"))
	r.ObjectNames(n, "")
	env := BootEnv{Name: NameOf(n)}
	r.clusterRef(h, s.Get("clusterRef"))
	if ref := s.Get("pullSecretRef", "name"); ref != nil && len(h.Deployments) > 0 &&
		ref.Peek() == h.Deployments[0].Child("spec").Child("pullSecretRef").Child("name").Peek() {
		r.Means(ref, "is the pull secret of the ClusterDeployment")
	} else {
		r.PullSecretRef(h, ref)
	}
	for _, label := range r.MapOf(s.Get("nmStateConfigLabelSelector", "matchLabels")).All() {
		if env.Selector == nil {
			env.Selector = map[string]string{}
		}
		env.Selector[label.Key] = label.Peek()
		r.Means(label, "joins the InfraEnv with the networks of its hosts")
	}
	r.fields(n, hubobjects.InfraEnvTable(), reading{
		model.SettingAgentLabels: nil, model.SettingIronic: nil, model.SettingIPXE: nil, model.SettingOSVersion: nil,
		model.SettingArch: func(n *input.Node) {
			if n != nil {
				env.Arch = clustersettings.CanonicalWord[spec.Arch](r.Text(n))
				r.envArch(env.Arch, n)
			}
		},
	})
	r.MirrorMap(h, s.Get("mirrorRegistryRef"))
	r.hubOnly(n, s)
	r.Envs = append(r.Envs, env)
}

// clusterRef carries over whether machines are bound from their first boot.
func (r *Hub) clusterRef(h *Objects, n *input.Node) {
	if n == nil {
		r.Cluster.Spec.InfraEnv.Bind = spec.BindLate
		return
	}
	if len(h.Deployments) > 0 {
		r.Reference(n.Get("name"), h.Deployments[0])
		own := h.Deployments[0].Child("metadata").Child("namespace").Peek()
		if at := n.Get("namespace"); at != nil && at.Peek() != own && own != "" {
			r.Wrong(at, fmt.Sprintf("is %s, but the ClusterDeployment stands in %s", at.Peek(), own), "make the namespaces agree")
		} else {
			r.Means(at, "is the namespace of the ClusterDeployment")
		}
	}
}

// envArch carries an architecture over: the cluster's, or multi where images differ.
func (r *Hub) envArch(arch spec.Arch, n *input.Node) {
	to := &r.Cluster.Spec.OpenShift.Arch
	r.From("spec.openshift.arch", n)
	switch {
	case *to == "" && len(r.Envs) == 0:
		*to = arch
	case *to != arch:
		*to = spec.Multi
	}
}

// HubHosts carries over the BareMetalHosts, static networks and Agents of machines.
func (r *Hub) HubHosts(in *input.Input, h *Objects) {
	for _, n := range h.Machines {
		r.hubMachine(h, n)
	}
	for _, n := range h.Networks {
		r.hubNetwork(in, n)
	}
	for _, n := range h.Agents {
		r.hubAgent(n)
	}
}

func (r *Hub) hubNetwork(in *input.Input, n *input.Node) {
	labels := n.Get("metadata", "labels")
	at := slices.IndexFunc(r.Envs, func(e BootEnv) bool { return e.Selects(labels) })
	if at < 0 {
		r.Lose(n, "no InfraEnv selects it by its labels")
		return
	}
	for key := range r.Envs[at].Selector {
		r.Means(labels.Get(key), "joins the network with its InfraEnv")
	}
	s := r.MapOf(n.Get("spec"))
	interfaces := s.Get("interfaces")
	macs := interfaces.Each("macAddress")
	name := n.Get("metadata", "name")
	short := strings.TrimPrefix(name.Peek(), r.Cluster.Metadata.Name+"-")
	i := r.HostWithMAC(macs...)
	if i < 0 {
		i = r.machineNamed(name.Peek(), short, folderOf(in, macs))
	}
	if i < 0 {
		i = r.AddHost(n)
		r.Host(i).Name = r.Text(name)
		if strings.Trim(short, "0123456789") != "" {
			r.Host(i).Name = short
		}
		r.From(fields.HostField(i, "name"), name)
		r.Present[fields.HostField(i, "hostname")] = true // the machine keeps its own
	}
	r.ObjectNames(n, r.Envs[at].Name)
	r.Network(i, interfaces, s.Get("config"))
	r.hostArch(i, r.Envs[at].Arch)
}

// machineNamed is the machine without a network that has one of the names, -1
// for none. A network is named as its machine, which may boot from another
// interface than those of the network.
func (r *Hub) machineNamed(names ...string) int {
	for _, name := range names {
		if i := r.HostNamed(name); i >= 0 && r.Host(i).Net == nil {
			return i
		}
	}
	return -1
}

// hostArch gives a host the architecture of its image, where the cluster has several.
func (r *Hub) hostArch(i int, arch spec.Arch) {
	if h := r.Host(i); r.Cluster.Spec.OpenShift.Arch == spec.Multi && h.Arch == "" {
		h.Arch = arch
	}
}

// byHubOnly is why the agent-based installer does not have what only a hub acts on.
const byHubOnly = "only a hub acts on it, and the agent-based installer has none"

// hubOnly carries over of an InfraEnv what only a hub knows.
func (r *Hub) hubOnly(n, s *input.Node) {
	set := &r.Cluster.Spec.Hub
	r.MeansIf(s.Get("agentLabels", hubapi.LabelCluster), "is the label that oaictl gives all objects of the cluster", r.Cluster.Metadata.Name)
	r.Keys(s, "infra-env")
	if r.AgentBased {
		r.Keys(s, "infra-env-of-a-hub")
		return
	}
	for _, label := range r.MapOf(s.Get("agentLabels")).All() {
		if !label.Taken {
			r.setLabel(&set.AgentLabels, "spec.hub.agentLabels", label)
		}
	}
	script := s.Get("ipxeScriptType")
	if kind, _, _ := hubobjects.Read[spec.IPXEScript](hubobjects.InfraEnvTable(), model.SettingIPXE,
		fields.SpecOf("ipxeScriptType", script)); kind == spec.IPXEBootOrder {
		input.Carry(r.Account, string(model.SettingIPXE), &set.IPXE, script, kind)
	}
	r.Set(string(model.SettingOSVersion), fieldOf(n, hubobjects.InfraEnvTable(), model.SettingOSVersion))
	r.InfraEnvNotes(n.Get("metadata", "annotations"), n.Get("metadata", "labels"))
}

// InfraEnvNotes carries annotations over, and the labels that they speak of.
func (r *Hub) InfraEnvNotes(notes, labels *input.Node) {
	set, table := &r.Cluster.Spec.Hub, hubobjects.InfraEnvTable()
	object := hubobjects.Fields{"metadata": hubobjects.Fields{"annotations": notes.Plain(), "labels": labels.Plain()}}
	propagated, _, _ := hubobjects.Read[map[string]string](table, model.SettingNodeLabels, object)
	r.Text(notes.Get(hubapi.AnnotationPropagateNodeLabels))
	for _, key := range slices.Sorted(maps.Keys(propagated)) {
		if label := labels.Get(key); label != nil {
			r.setLabel(&set.NodeLabels, string(model.SettingNodeLabels), label)
		}
	}
	ironic, _, _ := hubobjects.Read[spec.Ironic](table, model.SettingIronic, object)
	if agent := notes.Get(hubapi.AnnotationEnableIronicAgent); agent.Peek() == "true" {
		r.Text(agent)
		set.Ironic.Agent = true
		r.From("spec.hub.ironic.agent", agent)
	}
	r.Set("spec.hub.ironic.image", notes.Get(hubapi.AnnotationIronicAgentImage))
	input.Carry(r.Account, "spec.hub.ironic.ipFamilies", &set.Ironic.IPFamilies, notes.Get(hubapi.AnnotationIPFamily), ironic.IPFamilies)
}

func (r *Hub) setLabel(to *map[string]string, field string, label *input.Node) {
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
		r.SetIn(field, &one.Label, s.Get("labelKey"))
		r.SetIn(field, &one.Value, s.Get("labelValue"))
		r.SetIn(field, &one.Query, s.Get("query"))
		r.ObjectNames(n, "")
		r.Cluster.Spec.Hub.Classifications = append(r.Cluster.Spec.Hub.Classifications, one)
	}
}

// Metal3 carries over how metal3 treats a machine that the hub boots. mode and
// cleaning are its fields, inspect says what of inspection, notes are the
// annotations of its BareMetalHost.
func (r *Hub) Metal3(i int, mode, cleaning, inspect, notes *input.Node) {
	to, field, m := r.Host(i).BMC, fields.HostField(i, "bmc.metal3"), spec.Metal3{}
	if to == nil || r.Cluster.Spec.Boot.Method != spec.BootMetal3 {
		const why = "is how metal3 treats a machine that it boots, which it does not do with this one"
		for _, n := range []*input.Node{mode, cleaning, inspect} {
			r.MeansIf(n, "is the default", "", "UEFI", "disabled")
			r.Lose(n, why)
		}
		return
	}
	r.MeansIf(mode, "is the default", "UEFI")
	if mode != nil && !mode.Taken {
		r.SetIn(field+".bootMode", &m.BootMode, mode)
	}
	r.MeansIf(cleaning, "is what oaictl asks for itself", "disabled")
	if cleaning != nil && !cleaning.Taken {
		r.SetIn(field+".cleaning", &m.Cleaning, cleaning)
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
