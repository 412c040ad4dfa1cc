package hubobjects

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// HostSecrets are the names of the Secrets that an Agent refers to.
type HostSecrets struct {
	Namespace string
	Fencing   string
	Token     string
}

// SecretsOf are the names of the Secrets of a host; none without a host.
func SecretsOf(c *spec.Cluster, host *spec.Host, namespace string) HostSecrets {
	if host == nil {
		return HostSecrets{}
	}
	return HostSecrets{Namespace: namespace, Fencing: FencingSecretName(c, host), Token: TokenSecretName(c, host)}
}

// AgentTable is the settings that an Agent holds. Agents are patched: what is empty is
// written as such.
func AgentTable(secrets HostSecrets) Table {
	return Table{
		field(model.SettingApproved, jsonForm[bool](), inSpec("approved")...).meaning(false),
		field(model.SettingRole, role(), inSpec("role")...).meaning(statuses.Role("")),
		field(model.SettingHostname, jsonForm[string](), inSpec("hostname")...),
		field(model.SettingDisk, jsonForm[string](), inSpec("installation_disk_id")...).orElse(field(model.SettingDisk, jsonForm[string](),
			"status",
			"installation_disk_id")),
		field(model.SettingPool, jsonForm[string](), inSpec("machineConfigPool")...),
		field(model.SettingInstallerArgs, inJSON[[]string]("a JSON list of texts"), inSpec("installerArgs")...),
		field(model.SettingIgnition, jsonForm[string](), inSpec("ignitionConfigOverrides")...),
		field(model.SettingLabels, jsonForm[map[string]string](), inSpec("nodeLabels")...),
		field(model.SettingEndpointHeaders, jsonForm[map[string]string](), inSpec("ignitionEndpointHTTPHeaders")...),
		row(model.SettingEndpointToken, nil, func(object Fields, _ string) error {
			return setNamed(object, secrets.Token, "ignitionEndpointTokenReference", Fields{"name": secrets.Token, "namespace": secrets.Namespace})
		}, func(object Fields) (string, bool, error) {
			return clustersettings.TokenSet, textAt(object, inSpec("ignitionEndpointTokenReference", "name")...) != "", nil
		}),
		row(model.SettingFencing, nil, func(object Fields, _ string) error {
			return setNamed(object, secrets.Fencing, "fencingCredentialsSecretRef", secrets.Fencing)
		}, unknown),
	}
}

// MachineTable is the settings that a BareMetalHost holds for its Agent, in annotations
// that the bare-metal-agent controller reads. It writes them on the Agent again and again.
func MachineTable(secrets HostSecrets) Table {
	return Table{
		field(model.SettingRole, role(), annotation(hubapi.AnnotationBMACRole)...),
		field(model.SettingHostname, jsonForm[string](), annotation(hubapi.AnnotationBMACHostname)...),
		field(model.SettingPool, jsonForm[string](), annotation(hubapi.AnnotationBMACMachineConfigPool)...),
		field(model.SettingInstallerArgs, inJSON[[]string]("a JSON list of texts"), annotation(hubapi.AnnotationBMACInstallerArgs)...),
		field(model.SettingIgnition, jsonForm[string](), annotation(hubapi.AnnotationBMACIgnitionOverrides)...),
		row(model.SettingLabels, nil, func(object Fields, labels map[string]string) error {
			notes := map[string]string{}
			for key, value := range labels {
				notes[hubapi.AnnotationBMACNodeLabelPrefix+key] = value
			}
			mark(object, "annotations", notes)
			return nil
		}, func(Fields) (map[string]string, bool, error) { return nil, false, nil }),
		row(model.SettingFencing, nil, func(object Fields, _ string) error {
			if secrets.Fencing == "" {
				return nil
			}
			return unstructured.SetNestedField(object, secrets.Fencing, annotation(hubapi.AnnotationBMACFencingSecret)...)
		}, unknown),
	}
}

func unknown(Fields) (string, bool, error) { return "", false, nil }

func role() form[spec.Role] {
	return form[spec.Role]{
		write: func(v spec.Role) any { return statuses.RoleWord(v) },
		read: func(content any) (spec.Role, error) {
			word, err := as[string](content)
			return statuses.Role(word), err
		},
	}
}

func setNamed(object Fields, secret, name string, content any) error {
	if secret == "" {
		return nil
	}
	return setAll(object, Fields{name: content})
}

// IsMetal3 reports whether the hub boots a host.
func (h *Maker) IsMetal3(host *spec.Host) bool {
	return h.Cluster.HubBoots(host)
}

// BareMetalHost makes the hub boot a machine, and has the settings of its Agent in annotations.
func (h *Maker) BareMetalHost(host *spec.Host, boots model.InfraEnvPlan) *unstructured.Unstructured {
	object := h.Object(hubapi.KindBareMetalHost, host.Name)
	infraEnv := boots.Name
	if ref := h.Cluster.Spec.InfraEnv.Ref; ref != "" {
		infraEnv = h.poolName(ref)
	}
	mark(object.Object, "labels", map[string]string{hubapi.LabelAgentInfraEnv: infraEnv})
	h.annotateHost(object.Object, host)
	bmc := Fields{"address": h.Metal3Address(host), "credentialsName": BMCSecretName(h.Cluster, host)}
	if host.BMC.Insecure {
		bmc["disableCertificateVerification"] = true
	}
	s := Fields{"online": true, "automatedCleaningMode": "disabled", "bmc": bmc}
	notes := map[string]string{}
	Metal3Fields(host.BMC.Metal3, s, notes)
	mark(object.Object, "annotations", notes)
	Put(s, "bootMACAddress", host.Match.MAC)
	h.PutHints(s, host)
	if boots.Arch != spec.X86 { // which it is by itself; definitions that come with the service have no such field
		Put(s, "architecture", clustersettings.KernelArch(boots.Arch))
	}
	object.Object["spec"] = s
	return object
}

// poolName is the name of an InfraEnv that exists, in the namespace of its BareMetalHosts.
func (h *Maker) poolName(ref string) string {
	namespace, name, qualified := strings.Cut(ref, "/")
	if !qualified {
		return ref
	}
	if namespace != h.Namespace {
		h.Refuse("spec.infraEnv.ref", "stands in the namespace "+namespace+", but BareMetalHosts boot an InfraEnv of their own namespace, "+
			h.Namespace, "ask for the namespace "+namespace+", or boot the machines another way")
	}
	return name
}

func (h *Maker) annotateHost(object Fields, host *spec.Host) {
	settings := clustersettings.OfHost(host, "", nil)
	if host.Role == spec.Auto {
		delete(settings, model.SettingRole)
	}
	h.HostIgnition(host) // is refused where it cannot be read
	if labels := h.nodeLabels(host); len(labels) > 0 {
		settings[model.SettingLabels] = model.ValueOf(labels)
	} else {
		delete(settings, model.SettingLabels)
	}
	if err := MachineTable(SecretsOf(h.Cluster, host, h.Namespace)).Write(object, settings); err != nil {
		h.RefuseHost(host, "", err.Error(), "")
	}
	if late := h.Cluster.Spec.InfraEnv; !h.Bound && (late.Bind == spec.BindLate || late.Ref != "") {
		mark(object, "annotations", map[string]string{hubapi.AnnotationBMACClusterReference: h.Namespace + "/" + h.Cluster.Metadata.Name})
	}
}

// HostIgnition is the Ignition that is merged into the host's own, as JSON.
func (h *Maker) HostIgnition(host *spec.Host) string {
	ignition, err := host.Ignition.JSON()
	if err != nil {
		h.RefuseHost(host, "ignition", err.Error(), "")
	}
	return ignition
}

// HintFields are root device hints, in metal3's words, which are the file's. Hints that the service does not
// read, which chooses the disk by these fields, are refused.
func (h *Maker) HintFields(host *spec.Host) Fields {
	for _, r := range host.Disk.Hints.RefusedByService() {
		h.RefuseHost(host, "disk.hints."+r.Field, r.Message, r.Remedy)
	}
	return hintFields(host.Disk.Hints)
}

func hintFields(hints spec.DiskHints) Fields {
	out, _ := jsonForm[spec.DiskHints]().write(hints).(Fields)
	return out
}

// PutHints sets root device hints that are in the file.
func (h *Maker) PutHints(in Fields, host *spec.Host) {
	if fields := h.HintFields(host); len(fields) > 0 {
		in["rootDeviceHints"] = fields
	}
}

// HintPatch is root device hints as a patch: what the file does not say is taken away.
func HintPatch(hints spec.DiskHints) Fields {
	out := hintFields(hints)
	for _, name := range []string{
		"deviceName", "hctl", "model", "vendor", "serialNumber", "minSizeGigabytes", "wwn", "wwnWithExtension", "wwnVendorExtension",
		"rotational",
	} {
		if _, said := out[name]; !said {
			out[name] = nil
		}
	}
	return out
}

// virtualMedia is metal3's scheme for booting over Redfish from an image that
// the BMC fetches itself, as oaictl's own way over Redfish does.
const virtualMedia = "redfish-virtualmedia"

// systemsPath is where Redfish (DSP0266) has its systems.
const systemsPath = "/redfish/v1/Systems/"

// Metal3Address is the address of a host's BMC as metal3 takes it: a URL with the driver as its scheme and the system
// as its path.
func (h *Maker) Metal3Address(host *spec.Host) string {
	address := host.BMC.Address
	if !strings.Contains(address, "://") {
		address = virtualMedia + "://" + bracketed(address)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		h.RefuseHost(host, "bmc.address", "is no address that metal3 takes",
			"write a URL such as redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1")
		return ""
	}
	switch parsed.Scheme {
	case "https":
		parsed.Scheme = virtualMedia
	case "http":
		parsed.Scheme = virtualMedia + "+http"
	}
	if strings.Trim(parsed.Path, "/") == "" || strings.Trim(parsed.Path, "/") == "redfish/v1" {
		if host.BMC.System == "" {
			h.RefuseHost(host, "bmc.address", "does not name the system, which metal3 does not look for by itself",
				fmt.Sprintf("write it with its path, such as %s://%s%s1, or write bmc.system", virtualMedia, parsed.Host, systemsPath))
			return ""
		}
		parsed.Path = systemsPath + host.BMC.System
	} else if host.BMC.System != "" && !strings.HasSuffix(strings.TrimRight(parsed.Path, "/"), "/"+host.BMC.System) {
		h.RefuseHost(host, "bmc.system", fmt.Sprintf("is %s, but the address names %s", host.BMC.System, parsed.Path), "keep one of them")
	}
	return parsed.String()
}

// bracketed is a host, with or without a port, as a URL has it: IPv6 in brackets.
func bracketed(host string) string {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		return "[" + host + "]"
	}
	return host
}

// nodeLabels are the labels of a host's node that fit annotations, one each. The key
// of an annotation is short where the label's has no domain: the prefix of metal3 counts.
func (h *Maker) nodeLabels(host *spec.Host) map[string]string {
	labels := map[string]string{}
	for key, value := range host.Labels {
		name := hubapi.AnnotationBMACNodeLabelPrefix + key
		if len(validation.IsQualifiedName(strings.ToLower(name))) > 0 {
			h.RefuseHost(host, "labels."+key, "is too long a key for the annotation "+name+", by which a BareMetalHost has labels",
				"use a shorter key, or one with a domain: example.com/"+key)
			continue
		}
		labels[key] = value
	}
	return labels
}

// longHex matches hints of disks that many YAML readers take for a number, however long it
// is, and that the writer takes for text.
var longHex = regexp.MustCompile(`(?m)^( *(?:- )?(?:wwn\w*|serialNumber): )(0x[0-9A-Fa-f]+)$`)

// YAML writes a value so that every YAML reader takes the hints of disks for text.
func YAML(value any) ([]byte, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return longHex.ReplaceAll(text, []byte(`${1}"${2}"`)), nil
}
