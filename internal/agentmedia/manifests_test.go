package agentmedia

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/hubapi/hive"
	"github.com/oaictl/oaictl/internal/shared/release"
	"github.com/oaictl/oaictl/internal/simulator/auth"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const fullInstallYAML = `apiVersion: extensions.hive.openshift.io/v1beta1
kind: AgentClusterInstall
metadata:
  annotations:
    agent-install.openshift.io/install-config-overrides: '{"networking":{"clusterNetworkMTU":9000}}'
  labels:
    agentclusterinstalls.agent-install.openshift.io/consumer: installer
  name: lab
spec:
  apiVIPs: [192.168.127.240, "fd00::240"]
  ingressVIP: 192.168.127.241
  clusterDeploymentRef: {name: lab}
  compute:
  - {name: worker, hyperthreading: Disabled}
  controlPlane: {name: master, hyperthreading: Enabled}
  diskEncryption: {enableOn: all, mode: tang, tangServers: '[{"url":"http://tang.example.com","thumbprint":"abc"}]'}
  external: {platformName: oci, cloudControllerManager: External}
  holdInstallation: true
  loadBalancer: {type: UserManaged}
  mastersSchedulable: true
  networking:
    clusterNetwork:
    - {cidr: 10.128.0.0/14, hostPrefix: 23}
    machineNetwork:
    - cidr: 192.168.127.0/24
    - cidr: fd00::/64
    networkType: OVNKubernetes
    serviceNetwork: [172.30.0.0/16]
    userManagedNetworking: false
  ntpSources: [ntp.example.com]
  platformType: External
  provisionRequirements: {controlPlaneAgents: 3, workerAgents: 2}
  proxy: {httpProxy: "http://proxy:3128", httpsProxy: "http://proxy:3129", noProxy: ".example.com"}
  sshPublicKey: |
    ssh-ed25519 AAAA core
`

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestClusterRequest(t *testing.T) {
	m := newMedium(t, auth.None)
	m.put("agent-cluster-install.yaml", fullInstallYAML)
	m.put("operators.yaml", "- name: lvm\n- name: mce\n  properties: '{\"a\": 1}'\n")
	client := m.client()
	client.Release = func(_ context.Context, _ string, _ release.Options) (release.Info, error) {
		return release.Info{Version: "4.20.33", Arch: []string{"arm64", "x86_64"}}, nil
	}
	_, _ = client.RegisterCluster(t.Context()) // the simulated service may refuse so many things at once
	made := m.wire.made()
	if len(made) == 0 {
		t.Fatalf("nothing was asked for: %v", m.told)
	}
	want := decode(t, `{
		"name": "lab", "base_dns_domain": "example.com", "openshift_version": "4.20.33", "cpu_architecture": "multi",
		"ocp_release_image": "quay.io/openshift-release-dev/ocp-release:4.20.33-x86_64", "pull_secret": "", "tags": "oaictl,oaictl_run_R,installer",
		"api_vips": [{"ip": "192.168.127.240"}, {"ip": "fd00::240"}], "ingress_vips": [{"ip": "192.168.127.241"}],
		"cluster_networks": [{"cidr": "10.128.0.0/14", "host_prefix": 23}], "service_networks": [{"cidr": "172.30.0.0/16"}],
		"machine_networks": [{"cidr": "192.168.127.0/24"}, {"cidr": "fd00::/64"}], "network_type": "OVNKubernetes", "user_managed_networking": false,
		"platform": {"type": "external", "external": {"platform_name": "oci", "cloud_controller_manager": "External"}},
		"high_availability_mode": "Full", "hyperthreading": "masters", "schedulable_masters": true, "ssh_public_key": "ssh-ed25519 AAAA core",
		"http_proxy": "http://proxy:3128", "https_proxy": "http://proxy:3129", "no_proxy": ".example.com", "ntp_sources": "ntp.example.com",
		"load_balancer": {"type": "user-managed"}, "olm_operators": [{"name": "lvm"}, {"name": "mce", "properties": "{\"a\":1}"}],
		"disk_encryption": {"enable_on": "all", "mode": "tang", "tang_servers": "[{\"url\":\"http://tang.example.com\",\"thumbprint\":\"abc\"}]"}
	}`)
	want["pull_secret"] = pullSecret
	tags, _ := made[0].Body["tags"].(string)
	made[0].Body["tags"] = regexp.MustCompile(`,oaictl_run_[A-Z2-7]{26},`).ReplaceAllString(tags, ",oaictl_run_R,") // another in every run
	if diff := cmp.Diff(write{"POST", "/clusters", want}, made[0]); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	if said := "warning: " + m.env.AgentClusterInstall + ": spec.holdInstallation has no effect in agent-based media"; len(m.told) == 0 || m.told[0] != said {
		t.Errorf("told %v, want %q first", m.told, said)
	}
}

func TestInfraEnvRequest(t *testing.T) {
	m := newMedium(t, auth.None)
	m.put("infraenv.yaml", infraEnvYAML)
	m.edit("infraenv.yaml", "  cpuArchitecture: x86_64\n", `  cpuArchitecture: aarch64
  additionalNTPSources: [a.example.com, b.example.com]
  additionalTrustBundle: "-----BEGIN CERTIFICATE-----"
  ignitionConfigOverride: '{"ignition":{"version":"3.2.0"}}'
  kernelArguments:
  - {operation: append, value: "audit=0"}
  - {value: "console=ttyS0"}
  networkDiscoveryDelaySeconds: 30
  proxy: {httpProxy: "http://proxy:3128", noProxy: "x,y"}
  sshAuthorizedKey: ssh-ed25519 AAAA core
`)
	m.put("nmstateconfig.yaml", `apiVersion: agent-install.openshift.io/v1beta1
kind: NMStateConfig
metadata: {name: m-0, labels: {infraenvs.agent-install.openshift.io: lab}}
spec:
  config:
    interfaces:
    - {name: eth0, type: ethernet, mtu: 9000}
  interfaces:
  - {name: eth0, macAddress: "52:54:00:AA:00:01"}
---
# a comment between documents
---
apiVersion: agent-install.openshift.io/v1beta1
kind: NMStateConfig
metadata: {name: m-1, labels: {infraenvs.agent-install.openshift.io: lab}}
spec:
  config: {interfaces: [{name: eth0, type: ethernet}]}
  interfaces:
  - {name: eth0, macAddress: "52:54:00:aa:00:02"}
`)
	m.reset(map[string]string{"IMAGE_TYPE_ISO": "minimal-iso"})
	_, _ = m.client().RegisterInfraEnv(t.Context()) // the certificate is invalid
	made := m.wire.made()
	if len(made) != 1 {
		t.Fatalf("asked for %v", made)
	}
	want := decode(t, `{
		"name": "lab", "pull_secret": "", "image_type": "minimal-iso", "cpu_architecture": "arm64", "ssh_authorized_key": "ssh-ed25519 AAAA core",
		"additional_ntp_sources": "a.example.com,b.example.com", "additional_trust_bundle": "-----BEGIN CERTIFICATE-----",
		"ignition_config_override": "{\"ignition\":{\"version\":\"3.2.0\"}}", "network_discovery_delay_seconds": 30,
		"kernel_arguments": [{"operation": "append", "value": "audit=0"}, {"operation": "append", "value": "console=ttyS0"}],
		"proxy": {"http_proxy": "http://proxy:3128", "https_proxy": "", "no_proxy": "x,y"},
		"static_network_config": [
			{"network_yaml": "interfaces:\n- mtu: 9000\n  name: eth0\n  type: ethernet\n", "mac_interface_map": [{"mac_address": "52:54:00:AA:00:01", "logical_nic_name": "eth0"}]},
			{"network_yaml": "interfaces:\n- name: eth0\n  type: ethernet\n", "mac_interface_map": [{"mac_address": "52:54:00:aa:00:02", "logical_nic_name": "eth0"}]}
		]
	}`)
	want["pull_secret"] = pullSecret
	if diff := cmp.Diff(write{"POST", "/infra-envs", want}, made[0]); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
}

// TestUnusedOfTheInfraEnv has each field that goes nowhere named, and no other.
func TestUnusedOfTheInfraEnv(t *testing.T) {
	m := newMedium(t, auth.None)
	m.edit("infraenv.yaml", "  pullSecretRef", `  agentLabels: {rack: a}
  imageType: minimal-iso
  ipxeScriptType: BootOrderControl
  mirrorRegistryRef: {name: mirror, namespace: x}
  osImageVersion: "4.19"
  pullSecretRef`)
	m.must((*Client).RegisterInfraEnv, "registered")
	var want []string
	for _, field := range []string{"osImageVersion", "imageType", "ipxeScriptType", "agentLabels", "mirrorRegistryRef"} {
		want = append(want, "warning: "+m.env.InfraEnv+": spec."+field+" has no effect in agent-based media")
	}
	if diff := cmp.Diff(want, m.told[:min(len(want), len(m.told))]); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestPullSecretInData(t *testing.T) {
	m := newMedium(t, auth.None)
	m.put("pull-secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: kubernetes.io/dockerconfigjson\ndata:\n  .dockerconfigjson: "+base64.StdEncoding.EncodeToString([]byte(pullSecret))+"\n")
	m.must((*Client).RegisterCluster, "registered")
	if made := m.wire.made(); made[0].Body["pull_secret"] != pullSecret {
		t.Errorf("sent %v", made[0].Body["pull_secret"])
	}
}

// TestInfraEnvVersion: the manifest names no version of the live image, and the client
// chooses none, the cluster's neither.
func TestInfraEnvVersion(t *testing.T) {
	m := newMedium(t, auth.None)
	m.must((*Client).RegisterCluster, "registered")
	m.must((*Client).RegisterInfraEnv, "registered")
	made := m.wire.made()
	if last := made[len(made)-1]; last.Body["cluster_id"] == nil || last.Body["openshift_version"] != nil {
		t.Errorf("asked for %v", last)
	}
}

// TestHyperthreading has what the service's own client makes of the pools: once one is
// named, the others go without, and so does one that says nothing, since no API server
// fills that in.
func TestHyperthreading(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", `{"controlPlane":{"name":"master"}}`: "none",
		`{"controlPlane":{"hyperthreading":"Enabled"}}`:                                                                            "masters",
		`{"controlPlane":{"hyperthreading":"Disabled"}}`:                                                                           "none",
		`{"compute":[{"name":"worker","hyperthreading":"Disabled"}]}`:                                                              "none",
		`{"controlPlane":{"hyperthreading":"Disabled"},"compute":[{"name":"worker","hyperthreading":"Disabled"}]}`:                 "none",
		`{"controlPlane":{"hyperthreading":"Disabled"},"arbiter":{"name":"arbiter"}}`:                                              "none",
		`{"arbiter":{"hyperthreading":"Enabled"},"provisionRequirements":{"arbiterAgents":1}}`:                                     "arbiters",
		`{"compute":[{"name":"worker","hyperthreading":"Enabled"}],"provisionRequirements":{"arbiterAgents":1}}`:                   "workers",
		`{"compute":[{"name":"infra","hyperthreading":"Disabled"},{"name":"worker"}],"controlPlane":{"hyperthreading":"Enabled"}}`: "masters",
	} {
		var roles spec.RoleSet
		if value := clusterSettings(t, text)[model.SettingHyperthreading]; value != "" {
			if err := value.Decode(&roles); err != nil {
				t.Fatal(err)
			}
		}
		if got := roles.ServiceWords(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// clusterSettings are the settings of an AgentClusterInstall on a medium, given its spec.
func clusterSettings(t *testing.T, text string) model.Settings {
	t.Helper()
	m := clusterManifests{install: new(hive.AgentClusterInstall), imageSet: new(hive.ClusterImageSet)}
	if err := json.Unmarshal([]byte(text), &m.install.Spec); err != nil {
		t.Fatal(err)
	}
	settings, err := m.settings(release.Info{})
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func TestPlatforms(t *testing.T) {
	for word, want := range map[string]string{"BareMetal": "baremetal", "None": "none", "VSphere": "vsphere", "Nutanix": "nutanix", "External": "external"} {
		var got spec.Platform
		if err := clusterSettings(t, `{"platformType":"`+word+`"}`)[model.SettingPlatform].Decode(&got); err != nil || string(got.Type) != want {
			t.Errorf("%s is sent as %q (%v)", word, got.Type, err)
		}
	}
}
