package manifest_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/pkg/install/manifest"
	"github.com/oaictl/oaictl/pkg/install/spec"
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
		"spec.network.ntp":                    goes(aci+"ntpSources", env+"ntpSources"),
		"spec.platform.type":                  goes(aci + "platformType"),
		"spec.platform.external":              goes(aci+"external.platformName", aci+"external.cloudControllerManager"),
		"spec.proxy.http":                     goes(aci+"proxy.httpProxy", env+"proxy.httpProxy"),
		"spec.proxy.https":                    goes(aci+"proxy.httpsProxy", env+"proxy.httpsProxy"),
		"spec.proxy.no":                       goes(aci+"proxy.noProxy", env+"proxy.noProxy"),
		"spec.diskEncryption.mode":            goes(aci + "diskEncryption.mode"),
		"spec.diskEncryption.on":              goes(aci + "diskEncryption.enableOn"),
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
		"spec.hosts.hostname":                 bmac(bmacPrefix + "/hostname"),
		"spec.hosts.arch":                     goes("BareMetalHost spec.architecture"),
		"spec.hosts.bmc.address":              goes("BareMetalHost spec.bmc.address"),
		"spec.hosts.bmc.credentials":          goes("BareMetalHost spec.bmc.credentialsName", "Secret data.username", "Secret data.password"),
		"spec.hosts.bmc.system":               goes("BareMetalHost spec.bmc.address"),
		"spec.hosts.bmc.insecure":             goes("BareMetalHost spec.bmc.disableCertificateVerification"),
		"spec.hosts.bmc.ca":                   refused(`boot: {method: metal3}, hosts: [{name: a, match: {mac: "52:54:00:00:00:00"}, bmc: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}, ca: {env: CA}}}]`),
		"spec.hosts.bmc.rebootRunning":        ours("what oaictl may do over Redfish; metal3 boots a machine whatever it runs"),
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

// fieldsOf are the paths of everything that the file may say; what is read from
// somewhere is one field.
func fieldsOf(of reflect.Type, path string) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	switch of {
	case reflect.TypeFor[spec.Source](), reflect.TypeFor[spec.PublicSource](), reflect.TypeFor[spec.Credentials](), reflect.TypeFor[spec.Document]():
		return []string{path}
	}
	var out []string
	if of.Kind() == reflect.Struct {
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
				out = append(out, fieldsOf(of.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
			}
		}
	}
	if out == nil {
		return []string{path}
	}
	return out
}

func allFields() []string { return fieldsOf(reflect.TypeFor[spec.Cluster](), "") }

// ownerOf is the entry of a table that a field belongs to, "" for none.
func ownerOf[T any](table map[string]T, field string) string {
	for field != "" {
		if _, owned := table[field]; owned {
			return field
		}
		field = field[:max(strings.LastIndexByte(field, '.'), 0)]
	}
	return ""
}

// TestEveryFieldHasAPlaceOnAHub: what the file may say stands in an object, is
// refused, or it stands here why not.
func TestEveryFieldHasAPlaceOnAHub(t *testing.T) {
	table, used := places(), map[string]bool{}
	for _, field := range allFields() {
		owner := ownerOf(table, field)
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

const certificate = `-----BEGIN CERTIFICATE-----
MIIBPjCB5aADAgECAgEBMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMTA2xhYjAgFw03
MDAxMDEwMDAwMDBaGA8yMTI2MTEyMTA3MzAyMVowDjEMMAoGA1UEAxMDbGFiMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEouHwqjcdTjDR/qb5ZaKsqsIG4DE+MbyF
ajyh7ttWo8t/znJFqcvGhyqeVlZamflsFM9ES8ejYbbQwRw4zqFfDaMyMDAwDwYD
VR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUErUyWFP3rSg2SfufzBe81vZFj0IwCgYI
KoZIzj0EAwIDSAAwRQIgX18NDV84E49Ny45VBL6f6hvPCC1Vg9Kqdob77NxqvDwC
IQC5mWW3egxjfyAaWWzWYJjcHBrBpszjUUWkvvBf+xt2jQ==
-----END CERTIFICATE-----
`

// testEnv reads variables from a table of the test.
func testEnv() spec.Env {
	env := spec.OSEnv()
	env.LookupEnv = func(name string) (string, bool) {
		text, set := map[string]string{
			"PULL": `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, "BMC": "root:calvin", "TOKEN": "t0ken", "CA": certificate, "KUBECONFIG_OF_OLD": "apiVersion: v1\nkind: Config\n",
		}[name]
		return text, set
	}
	return env
}

func parse(t *testing.T, text string) *spec.Cluster {
	t.Helper()
	c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(text), testEnv())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const head = "apiVersion: oaictl.io/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\n"

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
		text := head + "spec: {" + p.refused
		for key, value := range base {
			text += ", " + key + ": " + value
		}
		_, err := manifest.Hub(parse(t, text+"}\n"), manifest.HubOptions{})
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
	for _, text := range variants() {
		o, err := manifest.Hub(parse(t, text), manifest.HubOptions{Secrets: true})
		if err != nil {
			t.Fatal(err)
		}
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

// filled says whether there is a value at a path, whose last key may hold dots.
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
	for name, text := range variants() {
		golden(t, "hub/"+name+".yaml", render(t, parse(t, text), manifest.HubOptions{Secrets: true}))
	}
}

// indented is a text as a block in YAML.
func indented(text string, spaces int) string {
	pad := strings.Repeat(" ", spaces)
	return pad + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+pad) + "\n"
}

// everyField says something in every field that a hub has a place for, save
// those that exclude each other, which everyOtherField has.
var everyField = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab, tags: [blue]}
spec:
  openshift: {version: "4.20.3", arch: multi, releaseImage: "quay.io/ocp/release:4.20.3-multi"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  hold: true
  sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOCYVeBGUJ2tbCnjASKdddlktTUtKN+qVAobQXfjP/UQ core@example.com]
  topology: {controlPlane: 2, arbiters: 1, workers: 1, required: {workers: 0, within: 60m}}
  network:
    type: OVNKubernetes
    machine: [192.168.127.0/24]
    cluster: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
    service: [172.30.0.0/16]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
    loadBalancer: user-managed
    userManaged: false
    mtu: 1400
    ntp: [ntp.example.com]
    defaults: {gateway: 192.168.127.1, dns: [192.168.127.1], search: [example.com], mtu: 9000}
  platform: {type: baremetal}
  proxy: {http: "http://proxy.example.com:3128", https: "http://user:pass@proxy.example.com:3128", no: [.example.com, 10.0.0.0/8]}
  diskEncryption: {mode: tang, on: [control-plane, worker], tang: [{url: "http://tang.example.com", thumbprint: PLjNyRdGw03zlRoGjQYMahSZGu9}]}
  hyperthreading: [control-plane, arbiter]
  schedulableControlPlane: false
  fips: true
  boot: {method: metal3, image: minimal}
  infraEnv: {bind: late}
  registry:
    mirrors: [{source: quay.io/ocp, mirrors: [mirror.example.com/ocp], insecure: true}]
    trustBundle: |
` + indented(certificate, 6) + `  manifests:
  - {name: 50-x.yaml, folder: openshift, content: "a: b\n"}
  - {name: 60-y.yaml, content: "c: d\n"}
  discovery: {kernelArgs: [console=ttyS0], ignition: {ignition: {version: 3.2.0}}, networkDelay: 30s, osVersion: "4.21"}
  ignitionEndpoint: {url: "https://api-int.lab.example.com:22623/config", ca: {env: CA}}
  hub:
    agentLabels: {zone: a}
    nodeLabels: {example.com/site: north, example.com/row: ""}
    classifications:
    - {label: size, value: Large, query: .cpu.count > 16}
    - {label: gpu, value: "yes", query: (.gpus | length) > 0}
    ironic: {agent: true, image: "quay.io/metal3/ironic-agent:v1", ipFamilies: [v6, v4]}
    ipxe: boot-order
  ignoreValidations: {cluster: [all], hosts: [ntp-synced, mtu-valid]}
  overrides: {installConfig: {publish: External}}
  hosts:
  - name: cp-1
    role: control-plane
    match: {mac: "52:54:00:00:00:01"}
    bmc: {address: 10.0.0.2, system: "1", credentials: {username: root, password: {env: TOKEN}}, insecure: true, metal3: {bootMode: UEFISecureBoot, cleaning: metadata, inspect: false, keepManaged: true, removeNode: true, drainTimeout: 10m, agentLabels: {example.com/shelf: "3"}}}
    net: {ip: 192.168.127.11/24}
  - name: cp-0
    role: control-plane
    match: {mac: "52:54:00:00:00:00"}
    hostname: master-0
    bmc: {address: "idrac-virtualmedia://10.0.0.1/redfish/v1/Systems/System.Embedded.1", credentials: {env: BMC}}
    disk: {hints: {deviceName: /dev/sda, hctl: "0:0:0:0", model: M, vendor: V, serialNumber: S, minSizeGigabytes: 100, wwn: w, wwnWithExtension: we, wwnVendorExtension: wv, rotational: false}}
    net: {ip: 192.168.127.10/24}
    labels: {rack: a, node-role.kubernetes.io/infra: ""}
    machineConfigPool: custom
    installerArgs: ["--append-karg", "a=b"]
    ignition: {ignition: {version: 3.2.0}}
    ignitionEndpoint: {token: {env: TOKEN}, headers: {X-A: "1"}}
  - {name: vote, role: arbiter, match: {mac: "52:54:00:00:00:02"}, arch: arm64, bmc: {address: "http://10.0.0.3/redfish/v1/Systems/2", credentials: {secretRef: {name: vote-bmc}}}}
  - {name: w-0, role: worker, match: {serial: S1, hostname: w, uuid: 11111111-2222-3333-4444-555555555555, bmc: 10.0.0.9}}
`

// everyOtherField says what everyField cannot.
const everyOtherField = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: duo}
spec:
  openshift: {version: "4.20", imageSet: img-4-20, arch: x86_64}
  baseDomain: example.com
  pullSecret: {secretRef: {name: pull}}
  topology: {controlPlane: 2, fencing: true}
  network:
    machine: [192.168.127.0/24]
    defaults: {ntp: [ntp.example.com]}
  platform: none
  diskEncryption: {mode: tpm}
  hyperthreading: none
  boot: {method: metal3}
  hosts:
  - {name: b, role: control-plane, match: {mac: "52:54:00:00:00:01"}, bmc: {address: "redfish-virtualmedia://10.0.0.2/redfish/v1/Systems/1", credentials: {env: BMC}}, fencing: {address: "https://10.0.0.2/redfish/v1/Systems/1", credentials: {env: BMC}, insecure: true}}
  - {name: a, role: control-plane, match: {mac: "52:54:00:00:00:00"}, bmc: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}}, fencing: {}}
`

// external is a cluster on a platform of its own, with machines of an image that
// exists.
const external = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: ext}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {secretRef: {name: pull}}
  network: {machine: [192.168.127.0/24]}
  platform: {type: external, external: {name: oci, cloudControllerManager: External}}
  infraEnv: {ref: pool}
  boot: {method: metal3}
  hosts:
  - {name: a, role: control-plane, match: {mac: "52:54:00:00:00:00"}, bmc: {address: "redfish://[fd00::1]:8443/redfish/v1/Systems/1", credentials: {env: BMC}}}
`

// imported is a cluster that is installed already, to which hosts are added.
const imported = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: old}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  import: {kubeconfig: {env: KUBECONFIG_OF_OLD}, clusterID: 11111111-2222-3333-4444-555555555555}
  discovery: {osVersion: "4.20"}
  ignitionEndpoint: {url: "https://api-int.old.example.com:22623/config/worker", ca: {env: CA}}
  hosts:
  - {name: w-0, match: {mac: "52:54:00:00:00:00"}}
`

// variants are files that say everything, by name.
func variants() map[string]string {
	return map[string]string{"every-field": everyField, "every-other-field": everyOtherField, "external": external, "imported": imported}
}
