package hubobjects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// InfraEnvTable is the settings that an InfraEnv holds. The static networks of its
// machines are in NMStateConfigs, one a machine.
func InfraEnvTable() Table {
	mirrors := inSpec("mirrorRegistryRef")
	ironic := []Path{annotation(hubapi.AnnotationEnableIronicAgent), annotation(hubapi.AnnotationIronicAgentImage),
		annotation(hubapi.AnnotationIPFamily)}
	return Table{
		field(model.SettingArch, architecture(), inSpec("cpuArchitecture")...),
		field(model.SettingSSHKeys, text[string](), inSpec("sshAuthorizedKey")...),
		field(model.SettingProxy, proxies(), inSpec("proxy")...).meaning(spec.Proxy{}),
		field(model.SettingExtraNTP, texts(), inSpec("additionalNTPSources")...),
		field(model.SettingNTP, texts(), inSpec("ntpSources")...),
		field(model.SettingTrustBundle, text[string](), inSpec("additionalTrustBundle")...).with(mirrors),
		field(model.SettingDiscoveryIgnition, text[string](), inSpec("ignitionConfigOverride")...).with(mirrors),
		field(model.SettingImageType, imageType(), inSpec("imageType")...),
		field(model.SettingKernelArguments, kernelArguments(), inSpec("kernelArguments")...).meaning([]string{}),
		field(model.SettingNetworkDelay, orAbsent(jsonForm[int]()), inSpec("networkDiscoveryDelaySeconds")...),
		field(model.SettingOSVersion, text[string](), inSpec("osImageVersion")...),
		row(model.SettingAgentLabels, []Path{inSpec("agentLabels")}, writeAgentLabels, readAgentLabels).meaning(map[string]string{}),
		row(model.SettingNodeLabels, nil, writeNodeLabels, readNodeLabels).meaning(map[string]string{}),
		row(model.SettingIronic, ironic, writeIronic, readIronic),
		field(model.SettingIPXE, word(
			spelling[spec.IPXEScript]{spec.IPXEAlways, "DiscoveryImageAlways"}, spelling[spec.IPXEScript]{spec.IPXEBootOrder, "BootOrderControl"},
		), inSpec("ipxeScriptType")...).meaning(spec.IPXEAlways),
	}
}

// InfraEnv is a discovery image, with the settings of its plan.
func (h *Maker) InfraEnv(plan model.InfraEnvPlan) *unstructured.Unstructured {
	c, late := h.Cluster, h.Cluster.Spec.InfraEnv.Bind == spec.BindLate
	object := h.Object(hubapi.KindInfraEnv, plan.Name)
	pullSecret := PullSecretName(c)
	if host := c.Host(plan.Alone); host != nil {
		pullSecret = cmp.Or(DiscoverySecretName(c, host), pullSecret)
	}
	s := Fields{
		"pullSecretRef":              Fields{"name": pullSecret},
		"nmStateConfigLabelSelector": Fields{"matchLabels": Fields{hubapi.LabelInfraEnv: plan.Name}},
	}
	object.Object["spec"] = s
	if !late {
		s["clusterRef"] = Fields{"name": c.Metadata.Name, "namespace": h.Namespace}
		s["agentLabels"] = Fields{hubapi.LabelCluster: c.Metadata.Name}
	}
	settings := maps.Clone(plan.Settings)
	if settings[model.SettingOSVersion] != "" && !h.Installed && !late {
		delete(settings, model.SettingOSVersion)
		h.addNote("the InfraEnv %s has no osImageVersion, which a hub takes for one of an installed cluster only: oaictl add-node writes it",
			plan.Name)
	}
	if err := InfraEnvTable().Write(object.Object, settings); err != nil {
		h.Refuse("spec", err.Error(), "")
	}
	if ref := h.mirrorRef(); ref != nil {
		s["mirrorRegistryRef"] = ref
	}
	return object
}

// architecture is a CPU architecture, for which agents report the kernel's word.
func architecture() form[string] {
	return form[string]{write: text[string]().write, read: func(content any) (string, error) {
		value, err := as[string](content)
		return string(clustersettings.CanonicalWord[spec.Arch](strings.ToLower(value))), err
	}}
}

func imageType() form[string] {
	return form[string]{
		write: func(v string) any { return v + "-iso" },
		read: func(content any) (string, error) {
			value, err := as[string](content)
			return string(clustersettings.CanonicalWord[spec.ImageType](value)), err
		},
	}
}

// kernelArguments are arguments of the kernel; the service can only append them.
func kernelArguments() form[[]string] {
	return form[[]string]{
		write: func(args []string) any {
			list := make([]any, 0, len(args))
			for _, arg := range args {
				list = append(list, Fields{"operation": "append", "value": arg})
			}
			return list
		},
		read: func(content any) ([]string, error) {
			var other error
			args, err := each(content, func(item Fields) string {
				if operation := textAt(item, "operation"); operation != "" && operation != "append" {
					other = fmt.Errorf("has to append arguments, and not %s %s", operation, textAt(item, "value"))
				}
				return textAt(item, "value")
			})
			return args, cmp.Or(err, other)
		},
	}
}

// writeAgentLabels adds labels to those that oaictl itself puts there.
func writeAgentLabels(object Fields, labels map[string]string) error {
	all, _, _ := unstructured.NestedMap(object, inSpec("agentLabels")...)
	if all == nil {
		all = Fields{}
	}
	maps.Copy(all, AnyMap(labels))
	if len(all) == 0 {
		return nil
	}
	return setAll(object, Fields{"agentLabels": all})
}

func readAgentLabels(object Fields) (map[string]string, bool, error) {
	labels, said, _ := unstructured.NestedStringMap(object, inSpec("agentLabels")...)
	delete(labels, hubapi.LabelCluster) // which oaictl itself puts there
	return labels, said, nil
}

// writeNodeLabels sets the labels that nodes get, and says which labels those are.
func writeNodeLabels(object Fields, labels map[string]string) error {
	if len(labels) == 0 {
		return nil
	}
	mark(object, "labels", labels)
	mark(object, "annotations", map[string]string{hubapi.AnnotationPropagateNodeLabels: joined(slices.Sorted(maps.Keys(labels)))})
	return nil
}

func readNodeLabels(object Fields) (map[string]string, bool, error) {
	labels := map[string]string{}
	for _, key := range clustersettings.Commas(textAt(object, annotation(hubapi.AnnotationPropagateNodeLabels)...)) {
		labels[key] = textAt(object, label(key)...)
	}
	return labels, true, nil
}

func writeIronic(object Fields, ironic spec.Ironic) error {
	notes := map[string]string{}
	if ironic.Agent {
		notes[hubapi.AnnotationEnableIronicAgent] = "true"
	}
	if ironic.Image != "" {
		notes[hubapi.AnnotationIronicAgentImage] = ironic.Image
	}
	if len(ironic.IPFamilies) > 0 {
		var families []string
		for _, family := range ironic.IPFamilies {
			families = append(families, string(family))
		}
		slices.Sort(families) // the hub takes v4,v6 in this order only
		notes[hubapi.AnnotationIPFamily] = joined(families)
	}
	mark(object, "annotations", notes)
	return nil
}

func readIronic(object Fields) (spec.Ironic, bool, error) {
	out := spec.Ironic{
		Agent: textAt(object, annotation(hubapi.AnnotationEnableIronicAgent)...) == "true",
		Image: textAt(object, annotation(hubapi.AnnotationIronicAgentImage)...),
	}
	families := clustersettings.Commas(textAt(object, annotation(hubapi.AnnotationIPFamily)...))
	slices.Sort(families)
	for _, family := range families {
		out.IPFamilies = append(out.IPFamilies, spec.IPFamily(family))
	}
	return out, true, nil
}

// NMStateConfig is the static network of a host; nil for a host that uses DHCP.
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
	mark(object.Object, "labels", map[string]string{hubapi.LabelInfraEnv: infraEnv})
	network := []model.StaticNetwork{{YAML: string(model.ValueOf(config)), MACs: macs}}
	if err := NMStateConfigTable().Write(object.Object, model.Settings{model.SettingStaticNetworks: model.ValueOf(network)}); err != nil {
		h.RefuseHost(host, "net", err.Error(), "")
	}
	return object
}

// NMStateConfigTable is the setting that an NMStateConfig holds: the static network of one
// machine, as a list of one. It is read as JSON, which is YAML too, and quicker to compare.
func NMStateConfigTable() Table {
	return Table{row(model.SettingStaticNetworks, []Path{inSpec("config"), inSpec("interfaces")}, writeNetwork, readNetwork)}
}

func writeNetwork(object Fields, networks []model.StaticNetwork) error {
	for _, network := range networks {
		var config Fields
		document, err := yaml.YAMLToJSON([]byte(network.YAML))
		if err == nil {
			err = json.Unmarshal(document, &config)
		}
		if err != nil {
			return err
		}
		object["spec"] = Fields{"config": config, "interfaces": InterfaceFields(network.MACs)}
	}
	return nil
}

func readNetwork(object Fields) ([]model.StaticNetwork, bool, error) {
	config, configured := at(object, "spec", "config")
	interfaces, named := at(object, "spec", "interfaces")
	if !named {
		interfaces = []any{}
	}
	macs, err := each(interfaces, func(nic Fields) spec.NIC {
		return spec.NIC{Name: textAt(nic, "name"), MAC: textAt(nic, "macAddress")}
	})
	return []model.StaticNetwork{{YAML: string(model.ValueOf(config)), MACs: macs}}, configured || named, err
}

// InterfaceFields are interfaces as NMStateConfig and the agent-based installer have them.
func InterfaceFields(macs []spec.NIC) []any {
	list := make([]any, len(macs))
	for i, mac := range macs {
		list[i] = Fields{"name": mac.Name, "macAddress": mac.MAC}
	}
	return list
}

// NMStateOf is the static network of a host in nmstate; ok is false with DHCP.
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

// Classifications are the labels that Agents get, by the names of the objects.
func (h *Maker) Classifications() []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, one := range h.Cluster.Spec.Hub.Classifications {
		object := h.Object(hubapi.KindAgentClassification, h.Cluster.HubNamespace()+"-"+one.Name())
		object.Object["spec"] = Fields{"labelKey": one.Label, "labelValue": one.Value, "query": one.Query}
		objects = append(objects, object)
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return objects
}

// HubFields sets what a hub alone acts on: labels, annotations, fields of an InfraEnv.
func (h *Maker) HubFields(object *unstructured.Unstructured) {
	settings, _ := clustersettings.OfInfraEnv(h.Cluster, "") // what is wrong is reported where the InfraEnv is made
	maps.DeleteFunc(settings, func(name model.Setting, _ model.Value) bool { return !strings.HasPrefix(string(name), "spec.hub.") })
	_ = InfraEnvTable().Write(object.Object, settings)
}

// Metal3Fields are how metal3 treats a machine: fields and annotations.
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
