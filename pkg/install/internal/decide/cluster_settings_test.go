package decide_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestManifestsThatTheFileDoesNotName are removed where it says that there are none.
func TestManifestsThatTheFileDoesNotName(t *testing.T) {
	for name, test := range map[string]struct {
		says   []spec.ManifestSource
		theirs bool
		writes string
		warns  bool
	}{
		"says nothing":          {},
		"says none":             {says: []spec.ManifestSource{}, writes: "cluster/manifest/openshift/50-x.yaml/remove"},
		"names another":         {says: []spec.ManifestSource{{}}, warns: true},
		"of somebody's cluster": {says: []spec.ManifestSource{}, theirs: true},
	} {
		w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		w.Observed.Cluster.Manifests = map[string]string{"openshift/50-x.yaml": "sum"}
		w.Observed.Cluster.Owned = !test.theirs
		w.Desired.Spec.Spec.Manifests = test.says
		plan := w.Decide()
		var writes []string
		for _, a := range plan.Actions {
			if a.Kind == model.RemoveManifest {
				writes = append(writes, a.Key)
			}
		}
		warned := slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool {
			return strings.Contains(x.Message, "openshift/50-x.yaml")
		})
		if strings.Join(writes, " ") != test.writes || warned != test.warns {
			t.Errorf("%s: writes %v, warnings %+v", name, writes, plan.Warnings)
		}
		w.Do(t, plan.Actions...)
		if again := w.Decide(); decidetest.HasKind(again, model.RemoveManifest) {
			t.Errorf("%s: removed again", name)
		}
	}
}

// owner says what becomes of a field of cluster.yaml: it is sent as a setting,
// which is compared with what the service gives back, or there is a reason why
// not.
type owner struct {
	setting model.Setting
	why     string
}

func sent(setting model.Setting) owner { return owner{setting: setting} }

func local(why string) owner { return owner{why: why} }

// owners are those of every field; a field that begins with another has the
// other's.
func owners() map[string]owner {
	decides := "oaictl decides by it, the service is not told"
	const ofNode = "of the node once it has joined; no service keeps it"
	net := sent(model.SettingStaticNetworks)
	return map[string]owner{
		"apiVersion":                        local("says which format the file has"),
		"kind":                              local("says which format the file has"),
		"metadata.name":                     local("the cluster is found by it; another name is another cluster"),
		"metadata.tags":                     sent(model.SettingTags),
		"spec.openshift.version":            sent(model.SettingVersion),
		"spec.openshift.arch":               sent(model.SettingArch),
		"spec.openshift.releaseImage":       sent(model.SettingReleaseImage),
		"spec.openshift.imageSet":           local("for a hub; the REST service has none"),
		"spec.baseDomain":                   local("the cluster is found by it; another domain is another cluster"),
		"spec.pullSecret":                   local("sent at registration and with --resend-secrets; not given back"),
		"spec.sshKeys":                      sent(model.SettingSSHKeys),
		"spec.topology.controlPlane":        sent(model.SettingControlPlane),
		"spec.topology.workers":             local(decides),
		"spec.topology.arbiters":            local(decides),
		"spec.topology.fencing":             local(decides),
		"spec.topology.required":            local(decides),
		"spec.network.type":                 sent(model.SettingNetworkType),
		"spec.network.machine":              sent(model.SettingMachineNetworks),
		"spec.network.cluster":              sent(model.SettingClusterNetworks),
		"spec.network.service":              sent(model.SettingServiceNetworks),
		"spec.network.vips.api":             sent(model.SettingAPIVIPs),
		"spec.network.vips.ingress":         sent(model.SettingIngressVIPs),
		"spec.network.loadBalancer":         sent(model.SettingLoadBalancer),
		"spec.network.userManaged":          sent(model.SettingUserManaged),
		"spec.network.mtu":                  sent(model.SettingInstallConfigOverrides),
		"spec.network.defaults":             net,
		"spec.network.defaults.bmc":         local("for the hosts' controllers, as bmc of each"),
		"spec.network.defaults.ntp":         sent(model.SettingExtraNTP),
		"spec.network.ntp":                  sent(model.SettingNTP),
		"spec.platform":                     sent(model.SettingPlatform),
		"spec.proxy":                        sent(model.SettingProxy),
		"spec.diskEncryption":               sent(model.SettingDiskEncryption),
		"spec.hyperthreading":               sent(model.SettingHyperthreading),
		"spec.schedulableControlPlane":      sent(model.SettingSchedulableControlPlane),
		"spec.fips":                         sent(model.SettingInstallConfigOverrides),
		"spec.boot.method":                  local(decides),
		"spec.boot.image":                   sent(model.SettingImageType),
		"spec.infraEnv":                     local(decides),
		"spec.acceptUnknownHosts":           local(decides),
		"spec.hold":                         local(decides),
		"spec.hosts.name":                   local(decides),
		"spec.hosts.match":                  local(decides),
		"spec.hosts.discovery.pullSecret":   local("sent at registration and with --resend-secrets; not given back"),
		"spec.hosts.discovery.sshKeys":      sent(model.SettingSSHKeys),
		"spec.hosts.discovery.proxy":        sent(model.SettingProxy),
		"spec.hosts.discovery.ntp":          sent(model.SettingExtraNTP),
		"spec.hosts.discovery.kernelArgs":   sent(model.SettingKernelArguments),
		"spec.hosts.discovery.ignition":     sent(model.SettingDiscoveryIgnition),
		"spec.hosts.discovery.trustBundle":  sent(model.SettingTrustBundle),
		"spec.hosts.discovery.osVersion":    sent(model.SettingOSVersion),
		"spec.hosts.discovery.image":        sent(model.SettingImageType),
		"spec.hosts.discovery.networkDelay": sent(model.SettingNetworkDelay),
		"spec.hosts.role":                   sent(model.SettingRole),
		"spec.hosts.hostname":               sent(model.SettingHostname),
		"spec.hosts.arch":                   local("says which InfraEnv the host boots"),
		"spec.hosts.bmc":                    local("for the machine's controller; credentials go into fencing where that has none"),
		"spec.hosts.bmc.metal3":             local("said when a hub is given the machine; a BareMetalHost that is there is the hub's"),
		"spec.hosts.disk.hints":             sent(model.SettingDisk),
		"spec.hosts.disk.keep":              sent(model.SettingKeepDisks),
		"spec.hosts.net":                    net,
		"spec.hosts.labels":                 sent(model.SettingLabels),
		"spec.hosts.taints":                 local(ofNode),
		"spec.hosts.addresses":              local(ofNode),
		"spec.hosts.providerID":             local(ofNode),
		"spec.hosts.machineConfigPool":      sent(model.SettingPool),
		"spec.hosts.installerArgs":          sent(model.SettingInstallerArgs),
		"spec.hosts.ignition":               sent(model.SettingIgnition),
		"spec.hosts.fencing.address":        sent(model.SettingFencing),
		"spec.hosts.fencing.credentials":    local("sent with the address and with --resend-secrets; not given back"),
		"spec.hosts.fencing.insecure":       local("sent with the address and with --resend-secrets; not given back"),
		"spec.hosts.ignitionEndpoint.token": sent(model.SettingEndpointToken),
		"spec.hosts.ignitionEndpoint":       sent(model.SettingEndpointHeaders),
		"spec.registry.mirrors":             sent(model.SettingInstallConfigOverrides),
		"spec.registry.trustBundle":         sent(model.SettingTrustBundle),
		"spec.manifests":                    local("uploaded one by one, compared by content"),
		"spec.operators":                    sent(model.SettingOperators),
		"spec.bundles":                      sent(model.SettingBundles),
		"spec.discovery.kernelArgs":         sent(model.SettingKernelArguments),
		"spec.discovery.ignition":           sent(model.SettingDiscoveryIgnition),
		"spec.discovery.networkDelay":       sent(model.SettingNetworkDelay),
		"spec.discovery.osVersion":          sent(model.SettingOSVersion),
		"spec.hub.agentLabels":              sent(model.SettingAgentLabels),
		"spec.hub.nodeLabels":               sent(model.SettingNodeLabels),
		"spec.hub.classifications":          sent(model.SettingClassifications),
		"spec.hub.ironic":                   sent(model.SettingIronic),
		"spec.hub.ipxe":                     sent(model.SettingIPXE),
		"spec.import":                       local("the service is told of the cluster by it, once; it gives nothing of it back"),
		"spec.ignitionEndpoint":             sent(model.SettingIgnitionEndpoint),
		"spec.ignoreValidations":            sent(model.SettingIgnoredValidations),
		"spec.overrides.installConfig":      sent(model.SettingInstallConfigOverrides),
		"spec.overrides.infraEnv":           local("sent at registration in the service's own words, in which it gives nothing back"),
		"spec.overrides.host":               sent(model.SettingHostExtra),
	}
}

// fields are the paths of everything that the file may say; what is read from
// somewhere is one field.
func fields(of reflect.Type, path string) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	switch of {
	case reflect.TypeFor[spec.Source](), reflect.TypeFor[spec.PublicSource](), reflect.TypeFor[spec.Credentials](),
		reflect.TypeFor[spec.Document]():
		return []string{path}
	}
	var out []string
	if of.Kind() == reflect.Struct {
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("yaml"), ","); name != "" && name != "-" {
				out = append(out, fields(of.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
			}
		}
	}
	if out == nil {
		return []string{path}
	}
	return out
}

// TestEveryFieldHasAnOwner: what the file may say is sent and compared, or it
// stands here why not.
func TestEveryFieldHasAnOwner(t *testing.T) {
	left, used := owners(), map[string]bool{}
	for _, field := range fields(reflect.TypeFor[spec.Cluster](), "") {
		path := field
		for path != "" {
			if _, owned := left[path]; owned {
				break
			}
			path = path[:max(strings.LastIndexByte(path, '.'), 0)]
		}
		used[path] = true
		if path == "" {
			t.Errorf("nothing becomes of %s", field)
		}
	}
	for path := range left {
		if !used[path] {
			t.Errorf("there is no field %s", path)
		}
	}
}

// everything says something in every field that is sent.
const everything = `
apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab, tags: [blue]}
spec:
  openshift: {version: "4.20.3", arch: x86_64, releaseImage: quay.io/ocp/release:4.20.3}
  baseDomain: example.com
  pullSecret: {env: PULL}
  sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOCYVeBGUJ2tbCnjASKdddlktTUtKN+qVAobQXfjP/UQ core@example.com]
  topology: {controlPlane: 2, fencing: true}
  network:
    type: OVNKubernetes
    machine: [192.168.127.0/24]
    cluster: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
    service: [172.30.0.0/16]
    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}
    loadBalancer: user-managed
    userManaged: false
    mtu: 1400
    NTP
  platform: {type: baremetal}
  proxy: {http: "http://proxy.example.com:3128"}
  diskEncryption: {mode: tpm}
  hyperthreading: all
  schedulableControlPlane: true
  fips: true
  boot: {image: minimal}
  registry:
    mirrors: [{source: quay.io/ocp, mirrors: [mirror.example.com/ocp]}]
    trustBundle: |
      -----BEGIN CERTIFICATE-----
      MIIBPjCB5aADAgECAgEBMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMTA2xhYjAgFw03
      MDAxMDEwMDAwMDBaGA8yMTI2MTEyMTA3MzAyMVowDjEMMAoGA1UEAxMDbGFiMFkw
      EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEouHwqjcdTjDR/qb5ZaKsqsIG4DE+MbyF
      ajyh7ttWo8t/znJFqcvGhyqeVlZamflsFM9ES8ejYbbQwRw4zqFfDaMyMDAwDwYD
      VR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUErUyWFP3rSg2SfufzBe81vZFj0IwCgYI
      KoZIzj0EAwIDSAAwRQIgX18NDV84E49Ny45VBL6f6hvPCC1Vg9Kqdob77NxqvDwC
      IQC5mWW3egxjfyAaWWzWYJjcHBrBpszjUUWkvvBf+xt2jQ==
      -----END CERTIFICATE-----
  manifests: [{name: 50-x.yaml, folder: openshift, content: "a: b\n"}]
  operators: [{name: lvm}]
  bundles: [{id: virtualization, optional: [mtv]}]
  discovery: {kernelArgs: [console=ttyS0], ignition: {ignition: {version: 3.2.0}}, networkDelay: 30s, osVersion: "4.21"}
  infraEnv: {bind: late}
  hub: {agentLabels: {zone: a}, nodeLabels: {site: north}, classifications: [{label: size, value: large, query: .cpu.count > 16}], ironic: {agent: true}, ipxe: boot-order}
  ignitionEndpoint: {url: "https://api-int.lab.example.com:22623/config"}
  ignoreValidations: {hosts: [ntp-synced]}
  overrides: {installConfig: {cpuPartitioningMode: None}, host: {new_field: true}}
  hosts:
  - name: cp-0
    role: control-plane
    match: {mac: "52:54:00:00:00:00"}
    disk: {hints: {deviceName: /dev/sda}, keep: [/dev/nvme0n1]}
    net: {ip: 192.168.127.10/24, gateway: 192.168.127.1, dns: [192.168.127.1]}
    labels: {rack: a}
    machineConfigPool: master
    installerArgs: ["--append-karg", "a=b"]
    ignition: {ignition: {version: 3.2.0}}
    fencing: {address: "https://10.0.0.1/redfish/v1/Systems/1", credentials: {env: BMC}}
    ignitionEndpoint: {token: {env: TOKEN}, headers: {X-A: "1"}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:01"}, fencing: {address: "https://10.0.0.2/redfish/v1/Systems/1", credentials: {env: BMC}}}
`

// TestEveryOwnedFieldIsSent says, for a file that says everything, that every
// setting that owns a field is written by the time of the install call.
func TestEveryOwnedFieldIsSent(t *testing.T) {
	env := spec.OSEnv()
	env.LookupEnv = func(name string) (string, bool) {
		text, set := map[string]string{"PULL": `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, "BMC": "root:calvin",
			"TOKEN": "t0ken"}[name]
		return text, set
	}
	written := map[model.Setting]bool{}
	for _, ntp := range []string{"ntp: [ntp.example.com]", "defaults: {ntp: [ntp.example.com]}"} { // one or the other
		c := must.Get(spec.Parse(t.Context(), "cluster.yaml", []byte(strings.Replace(everything, "NTP", ntp, 1)), env))(t)
		w := decidetest.NewWorld(&model.Desired{Spec: c})
		w.Live(t, 10)
		if w.Count(model.StartInstall) != 1 {
			t.Fatalf("not installed: %v, then %+v", decidetest.Keys(w.Writes), w.Decide())
		}
		for _, a := range w.Writes {
			for setting := range a.Settings {
				written[setting] = true
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(owners())) {
		if setting := owners()[path].setting; setting != "" && !written[setting] {
			t.Errorf("%s, by which %s is sent, was not written", setting, path)
		}
	}
}

// TestWhatIsNotGivenBack is sent when a host is configured first, along with
// the rest, and not by every run; and again for --resend-secrets.
func TestWhatIsNotGivenBack(t *testing.T) {
	w := decidetest.ReadyWorld(t, fenced())
	w.Observed.Cluster.State = model.ClusterDiscovering
	for i := range w.Observed.Hosts {
		w.Observed.Hosts[i].Settings = model.Settings{}
	}
	w.Rest(t)
	if w.Count(model.UpdateHost) != 2 || len(w.Writes) != 2 {
		t.Fatalf("wrote %v", decidetest.Keys(w.Writes))
	}
	for _, a := range w.Writes {
		for _, setting := range []model.Setting{model.SettingRole, model.SettingFencing, model.SettingEndpointToken,
			model.SettingEndpointHeaders, model.SettingHostExtra} {
			if a.Settings[setting] == "" {
				t.Errorf("%s: %s was not sent", a.Key, setting)
			}
		}
		if text := fmt.Sprintf("%+v %s", a.Changes, a.Settings); strings.Contains(text, "hidden") || strings.Contains(text, "t0ken") {
			t.Errorf("%s shows a secret: %s", a.Key, text)
		}
	}
	w.Writes = nil
	if err := w.Settle(); err != nil || len(w.Writes) > 0 {
		t.Errorf("a second run writes %v (%v)", decidetest.Keys(w.Writes), err)
	}
	w.Desired.Options.ResendSecrets = true
	sent := 0
	for _, a := range w.Decide().Actions {
		if a.Kind == model.UpdateHost && a.Settings[model.SettingFencing] != "" && a.Settings[model.SettingEndpointToken] != "" &&
			a.Settings[model.SettingEndpointHeaders] != "" {
			sent++
		}
	}
	if sent != 2 {
		t.Errorf("--resend-secrets sends those of %d hosts", sent)
	}
}
