package convert_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/convert"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// oneNode is a single node cluster in the objects of a hub, save for its machine.
const oneNode = `
apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata: {name: sno}
spec: {baseDomain: example.com, clusterName: sno, pullSecretRef: {name: pull}}
---
apiVersion: extensions.hive.openshift.io/v1beta1
kind: AgentClusterInstall
metadata: {name: sno}
spec:
  clusterDeploymentRef: {name: sno}
  imageSetRef: {name: openshift-v4.20.1}
  networking: {machineNetwork: [{cidr: 10.0.0.0/24}], userManagedNetworking: true}
  provisionRequirements: {controlPlaneAgents: 1}
---
apiVersion: agent-install.openshift.io/v1beta1
kind: InfraEnv
metadata: {name: sno}
spec: {clusterRef: {name: sno}, pullSecretRef: {name: pull}, nmStateConfigLabelSelector: {matchLabels: {env: sno}}}
`

const (
	oneMachine = `
---
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {name: node-0, labels: {infraenvs.agent-install.openshift.io: sno}}
spec: {bootMACAddress: "52:54:00:00:00:01", bmc: {address: redfish-virtualmedia://10.0.0.9/redfish/v1/Systems/1, credentialsName: bmc}}
`
	oneNetwork = `
---
apiVersion: agent-install.openshift.io/v1beta1
kind: NMStateConfig
metadata: {name: node-0, labels: {env: sno}}
spec:
  interfaces: [{name: eth1, macAddress: "52:54:00:00:00:02"}]
  config: {interfaces: [{name: eth1, type: ethernet, state: up}]}
`
	bondNetwork = `
---
apiVersion: agent-install.openshift.io/v1beta1
kind: NMStateConfig
metadata: {name: node-0, labels: {env: sno}}
spec:
  interfaces: [{name: eno1, macAddress: "52:54:00:00:00:02"}, {name: eno2, macAddress: "52:54:00:00:00:03"}]
  config: {interfaces: [{name: bond0, type: bond, state: up, link-aggregation: {mode: active-backup, port: [eno1, eno2]}}]}
`
)

// TestReadJoinsMachine has one machine in two objects, which boots from another
// interface than its network is on.
func TestReadJoinsMachine(t *testing.T) {
	overrides := "kind: AgentClusterInstall\nmetadata: {name: sno, annotations: {agent-install.openshift.io/install-config-overrides: " +
		`'{"platform":{"baremetal":{"hosts":[{"name":"node-0","bootMACAddress":"52:54:00:00:00:01"}]}}}'}}`
	withOverrides := strings.Replace(oneNode, "kind: AgentClusterInstall\nmetadata: {name: sno}", overrides, 1)
	other := strings.Replace(oneNetwork, "name: node-0", "name: static-net", 1)
	folder := func(objects string) memory {
		return memory{"in/cluster-manifests/a.yaml": []byte(objects), "in/hostconfig/node-0/mac_addresses": []byte("52:54:00:00:00:02\n")}
	}
	tests := []struct {
		name  string
		files memory
		macs  []string // of the network
	}{
		{"a BareMetalHost and its network", memory{"in/a.yaml": []byte(oneNode + oneMachine + oneNetwork)}, []string{"52:54:00:00:00:02"}},
		{"ports that only their bond names", memory{"in/a.yaml": []byte(oneNode + oneMachine + bondNetwork)}, []string{"52:54:00:00:00:02", "52:54:00:00:00:03"}},
		{"overrides, a network and a folder", folder(withOverrides + other), []string{"52:54:00:00:00:02"}},
		{"overrides and a folder", folder(withOverrides), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := must.Get(convert.Read(t.Context(), "in", convert.Options{Env: test.files.env()}))(t)
			hosts := load(t, c).Spec.Hosts
			if len(hosts) != 1 || hosts[0].Name != "node-0" || hosts[0].Match.MAC != "52:54:00:00:00:01" {
				t.Fatalf("got\n%s", c.Document)
			}
			var macs []string
			if hosts[0].Net != nil {
				_, known, _ := load(t, c).StaticNetwork(&hosts[0])
				for _, nic := range known {
					macs = append(macs, nic.MAC)
				}
			}
			if !slices.Equal(macs, test.macs) {
				t.Errorf("the network has %v\n%s", macs, c.Document)
			}
		})
	}
}

// TestReadNamespaceOfSecrets has objects without a namespace, and Secrets in two: that
// of the first Secret by its name is the namespace of the others.
func TestReadNamespaceOfSecrets(t *testing.T) {
	secret := func(name, namespace, content string) string {
		return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nstringData: " + content + "\n"
	}
	login := "{username: u, password: p}"
	second := strings.NewReplacer("node-0", "node-1", ":01", ":03", "name: bmc", "name: bmc2", "credentialsName: bmc", "credentialsName: bmc2", "10.0.0.9", "10.0.0.8").Replace(oneMachine)
	objects := oneNode + oneMachine + second + secret("pull", "a", `{.dockerconfigjson: '{"auths":{"a":{"auth":"YTpi"}}}'}`) + secret("bmc", "a", login) + secret("bmc2", "b", login)
	objects = strings.Replace(objects, "controlPlaneAgents: 1", "controlPlaneAgents: 3", 1)
	for range 8 {
		c := must.Get(convert.Read(t.Context(), "in", convert.Options{Env: memory{"in/a.yaml": []byte(objects)}.env(), AcceptUnknownHosts: true}))(t)
		var lost []string
		for _, loss := range c.Losses {
			if strings.HasSuffix(loss.Path, "metadata.namespace") {
				lost = append(lost, loss.Path)
			}
		}
		if want := []string{"a.yaml:Secret/bmc:metadata.namespace", "a.yaml:Secret/bmc2:metadata.namespace"}; !slices.Equal(lost, want) {
			t.Fatalf("lost %v, want %v", lost, want)
		}
	}
}

const aicliThree = `
name: lab
base_dns_domain: example.com
openshift_version: "4.20"
pull_secret: '{"auths":{"a":{"auth":"YTpi"}}}'
api_vip: 10.0.0.5
ingress_vip: 10.0.0.6
machine_networks: [10.0.0.0/24]
hosts: [{name: lab-0}, {name: lab-1}, {name: lab-2}]
static_network_config:
- interfaces: [{name: eth0, type: ethernet, state: up, mac-address: "52:54:00:00:00:01"}]
`

// TestReadAICLINetworkOfSomeHost has a network that is for one of the hosts, and
// nothing says for which.
func TestReadAICLINetworkOfSomeHost(t *testing.T) {
	_, err := convert.Read(t.Context(), "p.yaml", convert.Options{Data: []byte(aicliThree), Env: memory{}.env()})
	var problems *spec.Problems
	if !errors.As(err, &problems) || !strings.Contains(err.Error(), "static_network_config[0]: it is not known which of the hosts this network is for; write the MAC address") {
		t.Fatalf("got %v", err)
	}
	addressed := strings.Replace(aicliThree, "{name: lab-0}, {name: lab-1}, {name: lab-2}", "{name: lab-0, mac: '52:54:00:00:00:01'}, {name: lab-1}, {name: lab-2}", 1)
	c := must.Get(convert.Read(t.Context(), "p.yaml", convert.Options{Data: []byte(addressed), Env: memory{}.env()}))(t)
	if hosts := load(t, c).Spec.Hosts; len(hosts) != 3 || hosts[0].Net == nil {
		t.Errorf("got\n%s", c.Document)
	}
}
