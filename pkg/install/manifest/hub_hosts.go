package manifest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/hubapi"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// keyToken is where the service reads a host's token for the Ignition endpoint.
const keyToken = "ignition-token"

// hosts makes what single hosts need.
func (h *hub) hosts(plans []install.InfraEnvPlan) (all []HostObjects) {
	booted := map[string]install.InfraEnvPlan{}
	for _, plan := range plans {
		for _, name := range plan.Hosts {
			booted[name] = plan
		}
	}
	for _, host := range sortedHosts(h.cluster) {
		objects := HostObjects{Name: host.Name}
		if h.isMetal3(host) {
			objects.Secrets = h.bmcSecret(host)
			objects.BareMetalHost = h.bareMetalHost(host, booted[host.Name])
		}
		objects.Secrets = slices.Concat(objects.Secrets, h.fencingSecret(host), h.tokenSecret(host))
		if objects.BareMetalHost != nil || len(objects.Secrets) > 0 {
			all = append(all, objects)
		}
	}
	return all
}

// isMetal3 says whether the hub boots a host.
func (h *hub) isMetal3(host *spec.Host) bool {
	return h.cluster.Spec.Boot.Method == spec.BootMetal3 && host.BMC != nil
}

// bmcSecret is the credentials of a host's BMC; none where they are only referred
// to.
func (h *hub) bmcSecret(host *spec.Host) []*unstructured.Unstructured {
	name := BMCSecretName(h.cluster, host)
	if host.BMC.Credentials.SecretRef != nil {
		return nil
	}
	user, password, ok := host.BMC.Credentials.Login()
	switch {
	case !h.secrets:
		h.note("the Secret %s has to hold the username and password of the BMC of %s", name, host.Name)
	case !ok || password.IsZero():
		h.refuseHost(host, "bmc.credentials", "the password stands in a Secret on the hub without the user", "write credentials: {secretRef: {name: NAME}} for a Secret with the keys username and password")
	default:
		return h.secret(name, "Opaque", map[string]string{"username": user, "password": password.Reveal()})
	}
	return nil
}

// fencingSecret is the credentials by which a host is powered off by its peer.
func (h *hub) fencingSecret(host *spec.Host) []*unstructured.Unstructured {
	f, name := host.Fencing, FencingSecretName(h.cluster, host)
	if f == nil {
		return nil
	}
	if f.Credentials.SecretRef != nil {
		h.note("the Secret %s has to hold address and certificateVerification beside username and password: with it %s is powered off by its peer", name, host.Name)
		return nil
	}
	user, password, ok := f.Credentials.Login()
	switch {
	case !h.secrets:
		h.note("the Secret %s has to hold address, username, password and certificateVerification: with it %s is powered off by its peer", name, host.Name)
	case !ok || password.IsZero():
		h.refuseHost(host, "fencing.credentials", "the password stands in a Secret on the hub without the user", "write credentials: {secretRef: {name: NAME}} for a Secret with the keys address, username, password and certificateVerification")
	default:
		return h.secret(name, "Opaque", map[string]string{
			"address": fencingAddress(host), "username": user, "password": password.Reveal(), "certificateVerification": fencingVerification(host),
		})
	}
	return nil
}

// fencingAddress is where a host is powered off: its own field, else its BMC's.
func fencingAddress(host *spec.Host) string {
	if host.Fencing.Address == "" && host.BMC != nil {
		return host.BMC.Address
	}
	return host.Fencing.Address
}

// fencingVerification says whether the certificate there is verified, in the
// service's words.
func fencingVerification(host *spec.Host) string {
	insecure := host.BMC != nil && host.BMC.Insecure
	if host.Fencing.Insecure != nil {
		insecure = *host.Fencing.Insecure
	}
	if insecure {
		return "Disabled"
	}
	return "Enabled"
}

// tokenSecret is the token of a host for the Ignition endpoint; none where it is
// only referred to.
func (h *hub) tokenSecret(host *spec.Host) []*unstructured.Unstructured {
	name := TokenSecretName(h.cluster, host)
	if name == "" {
		return nil
	}
	token := host.IgnitionEndpoint.Token
	switch {
	case token.SecretRef != nil:
		if token.SecretRef.Key != "" && token.SecretRef.Key != keyToken {
			h.refuseHost(host, "ignitionEndpoint.token.secretRef.key", "a hub reads the token from the key "+keyToken+" only", "leave the key out, and keep the token under "+keyToken)
		}
	case !h.secrets:
		h.note("the Secret %s has to hold the token of %s for the Ignition endpoint under %s", name, host.Name, keyToken)
	default:
		return h.secret(name, "Opaque", map[string]string{keyToken: token.Secret().Reveal()})
	}
	return nil
}

// bareMetalHost has the hub boot a machine. What the file says of the host
// stands in annotations, from which the bare-metal-agent controller writes it on
// the Agent again and again.
func (h *hub) bareMetalHost(host *spec.Host, boots install.InfraEnvPlan) *unstructured.Unstructured {
	object := h.object(kindBareMetalHost(), host.Name)
	infraEnv := boots.Name
	if ref := h.cluster.Spec.InfraEnv.Ref; ref != "" {
		infraEnv = h.poolName(ref)
	}
	addLabels(object, map[string]string{hubapi.LabelAgentInfraEnv: infraEnv})
	notes := h.hostAnnotations(host)
	bmc := fields{"address": h.metal3Address(host), "credentialsName": BMCSecretName(h.cluster, host)}
	if host.BMC.Insecure {
		bmc["disableCertificateVerification"] = true
	}
	s := fields{"online": true, "automatedCleaningMode": "disabled", "bmc": bmc}
	metal3Fields(host.BMC.Metal3, s, notes)
	annotate(object, notes)
	put(s, "bootMACAddress", host.Match.MAC)
	if hints := hintFields(host.Disk.Hints); len(hints) > 0 {
		s["rootDeviceHints"] = hints
	}
	if boots.Arch != spec.X86 { // which it is by itself; definitions that come with the service have no such field
		put(s, "architecture", metal3Arch(boots.Arch))
	}
	object.Object["spec"] = s
	return object
}

// poolName is the name of an InfraEnv that exists. A BareMetalHost boots one of
// its own namespace only.
func (h *hub) poolName(ref string) string {
	namespace, name, qualified := strings.Cut(ref, "/")
	if !qualified {
		return ref
	}
	if namespace != h.namespace {
		h.refuse("spec.infraEnv.ref", "stands in the namespace "+namespace+", but BareMetalHosts boot an InfraEnv of their own namespace, "+h.namespace, "ask for the namespace "+namespace+", or boot the machines another way")
	}
	return name
}

// hostAnnotations are what the file says of a host's Agent.
func (h *hub) hostAnnotations(host *spec.Host) map[string]string {
	notes := map[string]string{}
	set := func(name, value string) {
		if value != "" {
			notes[name] = value
		}
	}
	if host.Role != spec.Auto {
		set(hubapi.AnnotationBMACRole, roleWord(host.Role))
	}
	set(hubapi.AnnotationBMACHostname, host.Hostname)
	set(hubapi.AnnotationBMACMachineConfigPool, host.MachineConfigPool)
	set(hubapi.AnnotationBMACInstallerArgs, installerArgs(host))
	set(hubapi.AnnotationBMACIgnitionOverrides, h.hostIgnition(host))
	if late := h.cluster.Spec.InfraEnv; !h.bound && (late.Bind == spec.BindLate || late.Ref != "") {
		set(hubapi.AnnotationBMACClusterReference, h.namespace+"/"+h.cluster.Metadata.Name)
	}
	set(hubapi.AnnotationBMACFencingSecret, FencingSecretName(h.cluster, host))
	maps.Copy(notes, h.nodeLabels(host))
	return notes
}

// installerArgs are the arguments for coreos-installer as the service takes them,
// a JSON list in a text; "" where the file says nothing of them.
func installerArgs(host *spec.Host) string {
	if host.InstallerArgs == nil {
		return ""
	}
	args, err := json.Marshal(host.InstallerArgs)
	if err != nil {
		return "" // texts always encode
	}
	return string(args)
}

// hostIgnition is the Ignition that is merged into the host's own, as JSON.
func (h *hub) hostIgnition(host *spec.Host) string {
	ignition, err := host.Ignition.JSON()
	if err != nil {
		h.refuseHost(host, "ignition", err.Error(), "")
	}
	return ignition
}

// roleWord is a role in the service's word.
func roleWord(role spec.Role) string { return install.RoleWord(install.Role(role)) }

// hintFields are root device hints, in metal3's words, which are the file's.
func hintFields(hints spec.DiskHints) fields {
	out := fields{}
	put(out, "deviceName", hints.DeviceName)
	put(out, "hctl", hints.HCTL)
	put(out, "model", hints.Model)
	put(out, "vendor", hints.Vendor)
	put(out, "serialNumber", hints.SerialNumber)
	if hints.MinSizeGigabytes > 0 {
		out["minSizeGigabytes"] = int64(hints.MinSizeGigabytes)
	}
	put(out, "wwn", hints.WWN)
	put(out, "wwnWithExtension", hints.WWNWithExtension)
	put(out, "wwnVendorExtension", hints.WWNVendorExtension)
	if hints.Rotational != nil {
		out["rotational"] = *hints.Rotational
	}
	return out
}
