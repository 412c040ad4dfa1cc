package render_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/render"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// place says what becomes of a field of cluster.yaml on a hub: fields of objects
// as "Kind path", a refusal, or a reason why it is nowhere.
type place struct {
	at      []string
	refused string // YAML that says something in it, below spec
	why     string
}

func goes(at ...string) place      { return place{at: at} }
func refused(yaml string) place    { return place{refused: yaml} }
func ours(why string) place        { return place{why: why} }
func bmac(annotation string) place { return goes("BareMetalHost metadata.annotations." + annotation) }

const bmacPrefix = "bmac.agent-install.openshift.io"

// places are those of every field; a field that begins with another has the
// other's.
func places() map[string]place {
	const aci, env, onAgent = "AgentClusterInstall spec.", "InfraEnv spec.", "written on the Agent by the plane"
	const ofNode = "of the node once it has joined; no hub keeps it"
	nmstate := goes("NMStateConfig spec.config")
	overrides := goes("AgentClusterInstall metadata.annotations.agent-install.openshift.io/install-config-overrides")
	return map[string]place{
		"apiVersion":                          ours("says which format the file has"),
		"kind":                                ours("says which format the file has"),
		"metadata.name":                       goes("ClusterDeployment spec.clusterName", "AgentClusterInstall metadata.name"),
		"metadata.tags":                       goes("AgentClusterInstall metadata.labels.agentclusterinstalls.agent-install.openshift.io/consumer"),
		"spec.openshift.version":              goes(aci + "imageSetRef.name"),
		"spec.openshift.imageSet":             goes(aci + "imageSetRef.name"),
		"spec.openshift.releaseImage":         goes("ClusterImageSet spec.releaseImage"),
		"spec.openshift.arch":                 goes(env + "cpuArchitecture"),
		"spec.baseDomain":                     goes("ClusterDeployment spec.baseDomain"),
		"spec.pullSecret":                     goes("Secret data..dockerconfigjson", "ClusterDeployment spec.pullSecretRef.name", env+"pullSecretRef.name"),
		"spec.sshKeys":                        goes(aci+"sshPublicKey", env+"sshAuthorizedKey"),
		"spec.topology.controlPlane":          goes(aci + "provisionRequirements.controlPlaneAgents"),
		"spec.topology.workers":               goes(aci + "provisionRequirements.workerAgents"),
		"spec.topology.arbiters":              goes(aci + "provisionRequirements.arbiterAgents"),
		"spec.topology.fencing":               goes("Secret data.certificateVerification"),
		"spec.topology.required":              ours("the plane lowers workerAgents by it when it starts the installation"),
		"spec.network.type":                   goes(aci + "networking.networkType"),
		"spec.network.machine":                goes(aci + "networking.machineNetwork"),
		"spec.network.cluster":                goes(aci + "networking.clusterNetwork"),
		"spec.network.service":                goes(aci + "networking.serviceNetwork"),
		"spec.network.vips.api":               goes(aci + "apiVIPs"),
		"spec.network.vips.ingress":           goes(aci + "ingressVIPs"),
		"spec.network.loadBalancer":           goes(aci + "loadBalancer.type"),
		"spec.network.userManaged":            goes(aci + "networking.userManagedNetworking"),
		"spec.network.mtu":                    overrides,
		"spec.network.defaults":               nmstate,
		"spec.network.defaults.ntp":           goes(env + "additionalNTPSources"),
		"spec.network.defaults.bmc":           goes("BareMetalHost spec.bmc.credentialsName", "BareMetalHost spec.bmc.disableCertificateVerification"),
		"spec.network.ntp":                    goes(aci+"ntpSources", env+"ntpSources"),
		"spec.platform.type":                  goes(aci + "platformType"),
		"spec.platform.external":              goes(aci+"external.platformName", aci+"external.cloudControllerManager"),
		"spec.proxy.http":                     goes(aci+"proxy.httpProxy", env+"proxy.httpProxy"),
		"spec.proxy.https":                    goes(aci+"proxy.httpsProxy", env+"proxy.httpsProxy"),
		"spec.proxy.noProxy":                  goes(aci+"proxy.noProxy", env+"proxy.noProxy"),
		"spec.diskEncryption.mode":            goes(aci + "diskEncryption.mode"),
		"spec.diskEncryption.enableOn":        goes(aci + "diskEncryption.enableOn"),
		"spec.diskEncryption.tang":            goes(aci + "diskEncryption.tangServers"),
		"spec.hyperthreading":                 goes(aci+"controlPlane.hyperthreading", aci+"compute", aci+"arbiter.hyperthreading"),
		"spec.schedulableControlPlane":        goes(aci + "mastersSchedulable"),
		"spec.fips":                           overrides,
		"spec.boot.method":                    goes("BareMetalHost spec.online"),
		"spec.boot.image":                     goes(env + "imageType"),
		"spec.infraEnv.bind":                  goes(env+"clusterRef", "BareMetalHost metadata.annotations."+bmacPrefix+"/cluster-reference"),
		"spec.infraEnv.ref":                   ours("no InfraEnv is made; the plane looks for the one it names"),
		"spec.acceptUnknownHosts":             ours("the plane approves by it"),
		"spec.hold":                           goes(aci + "holdInstallation"),
		"spec.hosts.name":                     goes("NMStateConfig metadata.name", "BareMetalHost metadata.name"),
		"spec.hosts.role":                     bmac(bmacPrefix + "/role"),
		"spec.hosts.match":                    goes("BareMetalHost spec.bootMACAddress"),
		"spec.hosts.match.serial":             ours("the plane finds the Agent by it"),
		"spec.hosts.match.uuid":               ours("the plane finds the Agent by it"),
		"spec.hosts.match.hostname":           ours("the plane finds the Agent by it"),
		"spec.hosts.match.bmc":                ours("the plane finds the Agent by it"),
		"spec.hosts.match.agent":              ours("the plane finds the Agent by it"),
		"spec.hosts.match.infraEnv":           goes("InfraEnv metadata.name"),
		"spec.hosts.discovery.pullSecret":     goes("Secret data..dockerconfigjson", env+"pullSecretRef.name"),
		"spec.hosts.discovery.sshKeys":        goes(env + "sshAuthorizedKey"),
		"spec.hosts.discovery.proxy":          goes(env + "proxy.httpProxy"),
		"spec.hosts.discovery.ntp":            goes(env + "additionalNTPSources"),
		"spec.hosts.discovery.kernelArgs":     goes(env + "kernelArguments"),
		"spec.hosts.discovery.ignition":       goes(env + "ignitionConfigOverride"),
		"spec.hosts.discovery.trustBundle":    goes(env + "additionalTrustBundle"),
		"spec.hosts.discovery.osVersion":      ours("the plane writes it once the cluster is installed"),
		"spec.hosts.discovery.image":          goes(env + "imageType"),
		"spec.hosts.discovery.networkDelay":   goes(env + "networkDiscoveryDelaySeconds"),
		"spec.hosts.hostname":                 bmac(bmacPrefix + "/hostname"),
		"spec.hosts.arch":                     goes("BareMetalHost spec.architecture"),
		"spec.hosts.bmc.address":              goes("BareMetalHost spec.bmc.address"),
		"spec.hosts.bmc.credentials":          goes("BareMetalHost spec.bmc.credentialsName", "Secret data.username", "Secret data.password"),
		"spec.hosts.bmc.system":               goes("BareMetalHost spec.bmc.address"),
		"spec.hosts.bmc.insecure":             goes("BareMetalHost spec.bmc.disableCertificateVerification"),
		"spec.hosts.bmc.ca":                   refused(`boot: {method: metal3}, hosts: [{name: a, match: {mac: "52:54:00:00:00:00"}, bmc: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}, ca: {env: CA}}}]`),
		"spec.hosts.bmc.rebootRunning":        ours("what oaictl may do over Redfish; metal3 also boots a machine that runs something else"),
		"spec.hosts.bmc.metal3.bootMode":      goes("BareMetalHost spec.bootMode"),
		"spec.hosts.bmc.metal3.cleaning":      goes("BareMetalHost spec.automatedCleaningMode"),
		"spec.hosts.bmc.metal3.inspect":       goes("BareMetalHost metadata.annotations.inspect.metal3.io"),
		"spec.hosts.bmc.metal3.keepManaged":   bmac(bmacPrefix + "/allow-provisioned-host-management"),
		"spec.hosts.bmc.metal3.removeNode":    bmac(bmacPrefix + "/remove-agent-and-node-on-delete"),
		"spec.hosts.bmc.metal3.agentLabels":   bmac(bmacPrefix + ".agent-label.example.com/shelf"),
		"spec.hosts.bmc.metal3.drainTimeout":  bmac(bmacPrefix + "/drain-timeout"),
		"spec.hosts.disk.hints":               goes("BareMetalHost spec.rootDeviceHints.deviceName"),
		"spec.hosts.disk.keep":                refused(`hosts: [{name: a, match: {mac: "52:54:00:00:00:00"}, disk: {keep: [/dev/sdb]}}]`),
		"spec.hosts.net":                      goes("NMStateConfig spec.config", "NMStateConfig spec.interfaces"),
		"spec.hosts.labels":                   bmac(bmacPrefix + ".node-label.rack"),
		"spec.hosts.taints":                   ours(ofNode),
		"spec.hosts.addresses":                ours(ofNode),
		"spec.hosts.providerID":               ours(ofNode),
		"spec.hosts.machineConfigPool":        bmac(bmacPrefix + "/machine-config-pool"),
		"spec.hosts.installerArgs":            bmac(bmacPrefix + "/installer-args"),
		"spec.hosts.ignition":                 bmac(bmacPrefix + "/ignition-config-overrides"),
		"spec.hosts.fencing.address":          goes("Secret data.address"),
		"spec.hosts.fencing.credentials":      bmac(bmacPrefix + "/fencing-credentials-secret-name"),
		"spec.hosts.fencing.insecure":         goes("Secret data.certificateVerification"),
		"spec.hosts.ignitionEndpoint.token":   goes("Secret data.ignition-token"),
		"spec.hosts.ignitionEndpoint.headers": ours(onAgent),
		"spec.registry.mirrors":               goes("ConfigMap data.registries.conf", aci+"mirrorRegistryRef.name", env+"mirrorRegistryRef.name", env+"ignitionConfigOverride"),
		"spec.registry.trustBundle":           goes("ConfigMap data.ca-bundle.crt", env+"additionalTrustBundle"),
		"spec.manifests":                      goes("ConfigMap data.50-x.yaml", aci+"manifestsConfigMapRefs"),
		"spec.operators":                      refused(`operators: [{name: lvm}]`),
		"spec.bundles":                        refused(`bundles: [virtualization]`),
		"spec.discovery.kernelArgs":           goes(env + "kernelArguments"),
		"spec.discovery.ignition":             goes(env + "ignitionConfigOverride"),
		"spec.discovery.networkDelay":         goes(env + "networkDiscoveryDelaySeconds"),
		"spec.discovery.osVersion":            goes(env + "osImageVersion"),
		"spec.hub.agentLabels":                goes(env + "agentLabels.zone"),
		"spec.hub.nodeLabels":                 goes("InfraEnv metadata.labels.example.com/site", "InfraEnv metadata.annotations.infraenv.agent-install.openshift.io/propagate-node-labels"),
		"spec.hub.classifications.label":      goes("AgentClassification spec.labelKey", "AgentClassification metadata.name"),
		"spec.hub.classifications.value":      goes("AgentClassification spec.labelValue"),
		"spec.hub.classifications.query":      goes("AgentClassification spec.query"),
		"spec.hub.ironic.agent":               goes("InfraEnv metadata.annotations.infraenv.agent-install.openshift.io/enable-ironic-agent"),
		"spec.hub.ironic.image":               goes("InfraEnv metadata.annotations.infraenv.agent-install.openshift.io/ironic-agent-image-override"),
		"spec.hub.ironic.ipFamilies":          goes("InfraEnv metadata.annotations.infraenv.agent-install.openshift.io/ip-family"),
		"spec.hub.ipxe":                       goes(env + "ipxeScriptType"),
		"spec.import.kubeconfig":              goes("Secret data.kubeconfig", "ClusterDeployment spec.clusterMetadata.adminKubeconfigSecretRef.name", "ClusterDeployment spec.installed"),
		"spec.import.clusterID":               goes("ClusterDeployment spec.clusterMetadata.clusterID", aci+"clusterMetadata.clusterID"),
		"spec.ignitionEndpoint.url":           goes(aci + "ignitionEndpoint.url"),
		"spec.ignitionEndpoint.ca":            goes(aci+"ignitionEndpoint.caCertificateReference.name", "Secret data.tls.crt"),
		"spec.ignoreValidations.cluster":      goes("AgentClusterInstall metadata.annotations.agent-install.openshift.io/ignored-cluster-validations"),
		"spec.ignoreValidations.hosts":        goes("AgentClusterInstall metadata.annotations.agent-install.openshift.io/ignored-host-validations"),
		"spec.overrides.installConfig":        overrides,
		"spec.overrides.infraEnv":             refused(`overrides: {infraEnv: {a: b}}`),
		"spec.overrides.host":                 refused(`overrides: {host: {a: b}}`),
	}
}

// TestEveryFieldHasAPlaceOnAHub: what the file may say stands in an object, is
// refused, or it stands here why not.
func TestEveryFieldHasAPlaceOnAHub(t *testing.T) {
	table, used := places(), map[string]bool{}
	for _, field := range sample.Fields() {
		owner := sample.OwnerOf(table, field)
		used[owner] = true
		if owner == "" {
			t.Errorf("nothing becomes of %s on a hub", field)
		}
	}
	for field := range table {
		if !used[field] {
			t.Errorf("there is no field %s", field)
		}
	}
}

// TestRefusedOnAHub: what a hub cannot say is refused by its name and its line.
func TestRefusedOnAHub(t *testing.T) {
	for field, p := range places() {
		if p.refused == "" {
			continue
		}
		base := map[string]string{
			"openshift": `{version: "4.20"}`, "baseDomain": "example.com", "pullSecret": "{env: PULL}",
			"network": "{machine: [192.168.127.0/24]}", "topology": "{controlPlane: 1}", "acceptUnknownHosts": "true",
		}
		text := sample.Head + "spec: {" + p.refused
		for key, value := range base {
			text += ", " + key + ": " + value
		}
		_, err := render.Hub(sample.Parse(t, text+"}\n"), render.Options{})
		problems, ok := err.(*spec.Problems)
		if !ok {
			t.Errorf("%s is not refused: %v", field, err)
			continue
		}
		named := strings.Replace(field, "spec.hosts.", "spec.hosts[0].", 1)
		if i := slices.IndexFunc(problems.List, func(p spec.Problem) bool { return p.Field == named }); i < 0 {
			t.Errorf("%s is not named: %v", named, err)
		} else if got := problems.List[i]; got.Line != 4 || got.Column == 0 || got.Remedy == "" || len(problems.List) != 1 {
			t.Errorf("%s: no line, no remedy, or more than asked for: %v", named, err)
		}
	}
}

// TestEveryPlaceIsFilled says, for files that say everything, that every place
// that a field has is filled.
func TestEveryPlaceIsFilled(t *testing.T) {
	var objects []*unstructured.Unstructured
	for _, text := range sample.Clusters() {
		o := must.Get(render.Hub(sample.Parse(t, text), render.Options{Secrets: true}))(t)
		objects = append(objects, o.All()...)
	}
	for field, p := range places() {
		for _, at := range p.at {
			kind, path, _ := strings.Cut(at, " ")
			if !slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && filled(o.Object, path) }) {
				t.Errorf("%s: no %s has %s", field, kind, path)
			}
		}
	}
}

// filled reports whether there is a value at a path, whose last key may hold dots.
func filled(in any, path string) bool {
	object, ok := in.(map[string]any)
	if !ok {
		return false
	}
	if value, has := object[path]; has {
		return value != nil && value != ""
	}
	name, rest, more := strings.Cut(path, ".")
	return more && filled(object[name], rest)
}

func TestHubOfEveryField(t *testing.T) {
	for name, text := range sample.Clusters() {
		sample.Golden(t, *update, "hub/"+name+".yaml", rendered(t, sample.Parse(t, text), render.Options{Secrets: true}))
	}
}

// TestEmptyListsOfIgnoredValidations take away what is ignored, and are no silence.
func TestEmptyListsOfIgnoredValidations(t *testing.T) {
	text := rendered(t, sample.Parse(t, sample.External+"  ignoreValidations: {cluster: [], hosts: []}\n"), render.Options{})
	for _, want := range []string{"ignored-cluster-validations: \"\"", "ignored-host-validations: \"\""} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing:\n%s", want, text)
		}
	}
}
