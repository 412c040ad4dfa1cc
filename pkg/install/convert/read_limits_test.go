package convert_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/installcfg"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestReadTakesWhatTheServiceTakes: what of an install-config the service does not take
// becomes a manifest or is told, in every format that has one.
func TestReadTakesWhatTheServiceTakes(t *testing.T) {
	const mirrors = `[{source: quay.io/a, mirrors: [m.example.com/a]}, {source: quay.io/b, mirrors: [m.example.com/b], sourcePolicy: NeverContactSource}]`
	const mtu = `clusterNetworkMTU: 1400, `
	const ovn = `ovnKubernetesConfig: {ipv4: {internalJoinSubnet: 100.66.0.0/16}}`
	inputs := map[string]memory{
		"agent": {
			"in/install-config.yaml": []byte(strings.Replace(installConfig, "networking: {", "networking: {"+mtu+ovn+", ", 1) + "imageDigestSources: " + mirrors + "\nfeatureGates: [A=true]\n"),
			"in/agent-config.yaml":   []byte(agentConfig),
		},
		"aicli": {
			"in/params.yml": []byte("cluster: c\nbase_dns_domain: example.com\nsno: true\npull_secret: '{\"auths\":{\"a\":{\"auth\":\"YTpi\"}}}'\nmachine_networks: [10.0.0.0/24]\n" +
				"hosts: [{name: a, mac: '52:54:00:00:00:01'}]\ninstallconfig: {networking: {" + mtu + ovn + "}, imageDigestSources: " + mirrors + ", featureGates: [A=true], publish: Internal}\n"),
		},
	}
	for name, files := range inputs {
		t.Run(name, func(t *testing.T) {
			path := "in"
			if name == "aicli" {
				path = "in/params.yml"
			}
			c := must.Get(convert.Read(t.Context(), path, convert.Options{Env: files.env(), Version: "4.20"}))(t)
			cluster := load(t, c)
			if found := installcfg.Check(cluster.Spec.Overrides.InstallConfig); found != nil || cluster.Spec.Overrides.InstallConfig["featureGates"] == nil {
				t.Errorf("overrides %v: %v", cluster.Spec.Overrides.InstallConfig, found)
			}
			manifests := map[string]string{}
			for _, m := range cluster.ManifestFiles() {
				manifests[string(m.Folder)+"/"+m.Name] += m.Content
			}
			network, sets := manifests["manifests/cluster-network-03-config.yml"], manifests["manifests/image-digest-mirror-set.yaml"]
			for _, want := range []string{"internalJoinSubnet: 100.66.0.0/16", "mtu: 1400", "name: cluster"} {
				if !strings.Contains(network, want) {
					t.Errorf("%q is not in the network's manifest:\n%s", want, network)
				}
			}
			for _, want := range []string{"mirrorSourcePolicy: NeverContactSource", "source: quay.io/a", "name: image-digest-mirror"} {
				if !strings.Contains(sets, want) {
					t.Errorf("%q is not in the mirrors' manifest:\n%s", want, sets)
				}
			}
			if name == "aicli" && !strings.Contains(report(t, c), "installconfig.publish = \"Internal\"\n  the service does not take it") {
				t.Error(report(t, c))
			}
		})
	}
}

// TestReadMirrorPolicyOfOldRelease: before OpenShift 4.14 no manifest says it.
func TestReadMirrorPolicyOfOldRelease(t *testing.T) {
	files := memory{
		"in/install-config.yaml": []byte(installConfig + "imageContentSources: [{source: quay.io/b, mirrors: [m.example.com/b], sourcePolicy: NeverContactSource}]\n"),
		"in/agent-config.yaml":   []byte(agentConfig),
	}
	c := must.Get(convert.Read(t.Context(), "in", convert.Options{Env: files.env(), Version: "4.13"}))(t)
	if got := fmt.Sprint(c.Losses); !strings.Contains(got, "imageContentSources[0].sourcePolicy NeverContactSource") || len(c.Files) != 1 {
		t.Errorf("%s, files %v", got, len(c.Files))
	}
}

// TestReadRefusesTwoHostsOfOneName: they are two machines, and not one said twice.
func TestReadRefusesTwoHostsOfOneName(t *testing.T) {
	const second = `, {hostname: %s, interfaces: [{name: e, macAddress: '52:54:00:00:00:0%d'}]}]`
	for name, test := range map[string]struct {
		hostname string
		mac      int
		want     string
	}{
		"name":    {"a", 2, "hosts[1]: has the name a, which the host at in/agent-config.yaml:3:"},
		"address": {"b", 1, "hosts[1]: has the MAC address 52:54:00:00:00:01, which the host at in/agent-config.yaml:3:"},
	} {
		files := memory{
			"in/install-config.yaml": []byte(strings.Replace(installConfig, "controlPlane: {replicas: 1}", "controlPlane: {replicas: 3}", 1)),
			"in/agent-config.yaml":   []byte(strings.Replace(agentConfig, "]}]\n", "]}"+fmt.Sprintf(second, test.hostname, test.mac)+"\n", 1)),
		}
		_, err := convert.Read(t.Context(), "in", convert.Options{Env: files.env(), Version: "4.20"})
		check.Says(t, err, test.want, name)
	}
}

// TestReadNodesConfig makes a document of kind Nodes.
func TestReadNodesConfig(t *testing.T) {
	const config = `cpuArchitecture: x86_64
sshKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICGWL164oOK4IOTO4qXAuQs9bPlEoREU34KyD+O3MT6u a"
bootArtifactsBaseURL: http://192.0.2.1/
unheardOf: 1
hosts:
- hostname: worker-8
  rootDeviceHints: {deviceName: /dev/vda}
  interfaces: [{name: eth0, macAddress: "52:54:00:00:00:08"}]
  networkConfig:
    interfaces: [{name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.8, prefix-length: 24}]}}]
- interfaces: [{name: eth0, macAddress: "52:54:00:00:00:09"}]
`
	files := memory{"in/nodes-config.yaml": []byte(config)}
	c := must.Get(convert.Read(t.Context(), "in/nodes-config.yaml", convert.Options{Env: files.env(), Name: "lab.example.com"}))(t)
	env := files.env()
	env.Nodes = true
	nodes, err := spec.Parse(t.Context(), "nodes.yaml", c.Document, env)
	if err != nil {
		t.Fatalf("%v\n%s", err, c.Document)
	}
	if nodes.Existing() != "lab.example.com" || len(nodes.Spec.Hosts) != 2 || nodes.Spec.Hosts[0].Role != spec.Worker || nodes.Spec.Hosts[1].Arch != spec.X86 || nodes.SSHKey() == "" {
		t.Errorf("%s", c.Document)
	}
	if fmt.Sprint(c.Losses) != "[{unheardOf 1 a document of kind Nodes has no place for it, and oc adm node-image knows no such key}]" {
		t.Error(c.Losses)
	}
	if c.Format != convert.FormatNodes || !c.Cluster.OnlyAdds() {
		t.Error(c.Format)
	}
	if _, err = convert.Read(t.Context(), "in/nodes-config.yaml", convert.Options{Env: files.env()}); err == nil || !strings.Contains(err.Error(), "does not say which cluster") {
		t.Error(err)
	}
}

// TestReadKernelNames: a host of an installer that provisions machines itself says one
// address, and its network names interfaces as the machine does.
func TestReadKernelNames(t *testing.T) {
	const hosts = `platform: {baremetal: {apiVIPs: [10.0.0.5], ingressVIPs: [10.0.0.6], hosts: [{name: a, role: master, bootMACAddress: '52:54:00:00:00:01', bootMode: legacy, hardwareProfile: default,
  networkConfig: {interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: false}}, {name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, slaves: [eno2, eno3]}}, {name: eno2, type: ethernet, state: up}]}},
  {name: b, role: master, bootMACAddress: '52:54:00:00:00:02'}, {name: c, role: master, bootMACAddress: '52:54:00:00:00:03'}]}}`
	files := memory{"in/install-config.yaml": []byte(strings.NewReplacer("platform: {none: {}}", hosts, "replicas: 1", "replicas: 3").Replace(installConfig))}
	c := must.Get(convert.Read(t.Context(), "in/install-config.yaml", convert.Options{Env: files.env(), Version: "4.20"}))(t)
	cluster := load(t, c)
	text, nics, _ := cluster.StaticNetwork(&cluster.Spec.Hosts[0])
	if fmt.Sprint(nics) != "[{boot 52:54:00:00:00:01}]" || !strings.Contains(text, "port") || strings.Contains(string(c.Document), "slaves") || len(c.Losses) > 0 {
		t.Errorf("%v %v\n%s", nics, c.Losses, text)
	}
}

// TestReadSiteConfig reads the SiteConfig of before ClusterInstance with its only cluster.
func TestReadSiteConfig(t *testing.T) {
	const site = `apiVersion: ran.openshift.io/v1
kind: SiteConfig
metadata: {name: west, namespace: west}
spec:
  baseDomain: example.com
  pullSecretRef: {name: pull}
  clusterImageSetNameRef: openshift-4.20
  sshPublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICGWL164oOK4IOTO4qXAuQs9bPlEoREU34KyD+O3MT6u a"
  clusters:
  - clusterName: west-1
    clusterLabels: {common: "true"}
    machineNetwork: [{cidr: 192.0.2.0/24}]
    serviceNetwork: [172.30.0.0/16]
    nodes:
    - {hostName: west-1-a, role: master, bootMACAddress: "52:54:00:00:00:01", cpuset: "0-1", nodeNetwork: {interfaces: [{name: eno1, macAddress: "52:54:00:00:00:01"}]}}
`
	c, err := convert.Read(t.Context(), "site.yaml", convert.Options{Data: []byte(site), Env: memory{}.env(), Version: "4.20"})
	if err != nil {
		t.Fatal(err)
	}
	cluster := load(t, c)
	lost := []string{}
	for _, loss := range c.Losses {
		lost = append(lost, loss.Path)
	}
	if cluster.Metadata.Name != "west-1" || cluster.Spec.BaseDomain != "example.com" || len(cluster.Spec.Hosts) != 1 || len(cluster.Spec.SSHKeys) != 1 ||
		fmt.Sprint(lost) != "[metadata.namespace spec.clusters[0].clusterLabels spec.clusters[0].nodes[0].cpuset]" {
		t.Errorf("%v\n%s", lost, c.Document)
	}
	_, err = convert.Read(t.Context(), "site.yaml", convert.Options{Data: []byte(site + "  - clusterName: west-2\n"), Env: memory{}.env()})
	check.Says(t, err, "has 2 clusters; keep one of them in each file")
}

// TestReadRefusesHostedClusters: HyperShift's objects are refused by what they are, alone
// and beside a hub's objects.
func TestReadRefusesHostedClusters(t *testing.T) {
	const hosted = "apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\nmetadata: {name: a}\n"
	for _, text := range []string{hosted, fmt.Sprintf(deployment, "a", "a") + "---\n" + install + "---\n" + hosted} {
		_, err := convert.Read(t.Context(), "a.yaml", convert.Options{Data: []byte(text), Env: memory{}.env()})
		if err == nil || !strings.Contains(err.Error(), `kind: the kind "NodePool" is of a hosted cluster`) || !strings.Contains(err.Error(), "create it with HyperShift") {
			t.Error(err)
		}
	}
}
