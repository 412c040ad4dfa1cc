package spec

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

// good is a cluster with nothing wrong. Every refusal is one edit away from it.
const good = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {file: pull-secret.json}
  network:
    machine: [192.168.10.0/24]
    vips: {api: [192.168.10.5], ingress: [192.168.10.6]}
    defaults: {gateway: 192.168.10.1, dns: [192.168.10.1]}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:01"}}
  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:02"}}
  - name: cp-2
    role: control-plane
    match: {mac: "52:54:00:00:00:03"}
  # more
`

const (
	vips    = "    vips: {api: [192.168.10.5], ingress: [192.168.10.6]}\n"
	machine = "    machine: [192.168.10.0/24]\n"
	cp0     = `  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:01"}}` + "\n"
	cp1     = `  - {name: cp-1, role: control-plane, match: {mac: "52:54:00:00:00:02"}}` + "\n"
	more    = "  # more\n"
	sno     = "  topology: {controlPlane: 1}\n"
)

// edit is what replaces what; pairs of old and new.
type edit []string

func (e edit) apply(t *testing.T, text string) string {
	t.Helper()
	for i := 0; i < len(e); i += 2 {
		if !strings.Contains(text, e[i]) {
			t.Fatalf("the text to edit has no %q", e[i])
		}
		text = strings.Replace(text, e[i], e[i+1], 1)
	}
	return text
}

func TestGoodLoads(t *testing.T) {
	must.Get(parse(t, good, nil))(t)
}

type refusal struct {
	name string
	edit edit
	want string // the only problem, without its file
}

func runRefusals(t *testing.T, cases []refusal, files map[string]string) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(t, c.edit.apply(t, good), files)
			if err == nil {
				t.Fatal("nothing was refused")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != 1 || !strings.Contains(lines[0], c.want) {
				t.Errorf("got %s\nwant one problem with %s", err, c.want)
			}
			if !strings.HasPrefix(lines[0], "cluster.yaml:") {
				t.Errorf("%s has no place", lines[0])
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s repeats a secret", err)
			}
		})
	}
}

func TestRefusesDocuments(t *testing.T) {
	runRefusals(t, []refusal{
		{"the pull secret itself", edit{"{file: pull-secret.json}", "{auths: {registry: {auth: geheim}}}"}, "spec.pullSecret: a secret must not be in the file itself; write its source"},
		{"not YAML", edit{"metadata: {name: lab}", "metadata: {name: lab"}, "is not valid YAML"},
		{"duplicate key", edit{"  baseDomain: example.com\n", "  baseDomain: example.com\n  baseDomain: example.org\n"}, `7:3: the key "baseDomain" appears here a second time, first in line 6`},
		{"second document", edit{more, more + "---\nkind: Cluster\n"}, "a second document starts here"},
		{"another kind", edit{"kind: Cluster", "kind: Pod"}, `kind: is a "Pod", not a Cluster`},
		{"another version", edit{"v1alpha1", "v1"}, `apiVersion: the format version "oaictl.io/v1" is not known`},
		{"no kind", edit{"kind: Cluster\n", ""}, "kind: is missing"},
		{"unknown key", edit{"  baseDomain", "  baseDomian: x\n  baseDomain"}, `6:3: spec.baseDomian: the field "baseDomian" is not known here; did you mean "baseDomain"?`},
		{"misspelt key that has to be there", edit{"  baseDomain", "  basedomain"}, `6:3: spec.basedomain: the field "basedomain" is not known here; did you mean "baseDomain"?`},
		{"key of another place", edit{"  baseDomain", "  mtu: 9000\n  baseDomain"}, "it belongs to spec.network.mtu"},
		{"key of another place in a host", edit{more, "    hints: {model: x}\n"}, "it belongs to spec.hosts[2].disk.hints"},
		{"unknown key like nothing", edit{"{name: lab}", "{name: lab, zzzzzz: 1}"}, "known here: name, tags"},
		{"float version", edit{`"4.20"`, "4.20"}, `5:24: spec.openshift.version: 4.20 without quotes is a number, and the number 4.20 is the same as 4.2; put the version in quotes: version: "4.20"`},
		{"network as text", edit{"machine: [192.168.10.0/24]", "machine: 192.168.10.0/24"}, "spec.network.machine: has to be a list, but is text; write it in brackets, as [ITEM], or put a dash before each item"},
		{"map for list", edit{"machine: [192.168.10.0/24]", "machine: {cidr: 192.168.10.0/24}"}, "has to be a list, but is a map; put a dash before each item"},
		{"number for text", edit{"{name: lab}", "{name: 12}"}, "metadata.name: has to be text, but is a number; put it in quotes"},
		{"text for number", edit{more, "    net: {vlan: ten}\n"}, "spec.hosts[2].net.vlan: has to be a number, but is text"},
		{"text for truth", edit{"  baseDomain", "  schedulableControlPlane: yes\n  baseDomain"}, "write true or false, without quotes"},
		{"text for map", edit{vips, "    vips: 192.168.10.5\n"}, "spec.network.vips: has to be a map, but is text"},
		{"map for list", edit{machine, "    machine: {a: b}\n"}, "spec.network.machine: has to be a list, but is a map"},
		{"empty list entry", edit{more, "  -\n"}, "spec.hosts[3]: is an empty list entry"},
		{"unknown alias", edit{"example.com", "*domain"}, "the alias *domain has no anchor before it"},
		{"unknown tag", edit{"example.com", "!!binary example.com"}, "the tag !!binary means nothing here"},
		{"bad duration", edit{"  baseDomain", "  discovery: {networkDelay: soon}\n  baseDomain"}, `"soon" is not a length of time`},
	}, nil)
}

func TestRefusesIdentity(t *testing.T) {
	runRefusals(t, []refusal{
		{"no name", edit{"{name: lab}", "{}"}, "metadata.name: is missing"},
		{"capital name", edit{"lab", "Lab"}, `write "lab"`},
		{"long name", edit{"lab", strings.Repeat("a", 55)}, "is 55 characters long; use at most 54"},
		{"dotted name", edit{"lab", "lab.one"}, "only platform none allows"},
		{"bad tag", edit{"{name: lab}", `{name: lab, tags: ["a,b"]}`}, "cannot be a tag"},
		{"half of vSphere", edit{"  baseDomain", "  platform: vsphere\n  overrides: {installConfig: {platform: {vsphere: {failureDomains: [{name: a, server: b}]}}}}\n  baseDomain"}, "spec.overrides.installConfig.platform.vsphere.failureDomains: must be set together with the others of this group: vcenters, failureDomains; write all of them, or none"},
		{"half of Nutanix", edit{"  baseDomain", "  platform: nutanix\n  overrides: {installConfig: {platform: {nutanix: {subnetUUIDs: [a]}}}}\n  baseDomain"}, "spec.overrides.installConfig.platform.nutanix.subnetUUIDs: must be set together with the others of this group"},
		{"one character at the end", edit{"baseDomain: example.com", "baseDomain: example.c"}, `the last part of "example.c" is only one character`},
		{"domain like an address", edit{"baseDomain: example.com", "baseDomain: 1.2.3.4.com"}, `"1.2.3.4.com" looks like an IP address`},
		{"no domain", edit{"  baseDomain: example.com\n", ""}, "spec.baseDomain: is missing"},
		{"single label", edit{"example.com", "local"}, "has one part only"},
		{"bad domain", edit{"example.com", "exa_mple.com"}, "is not a DNS domain"},
		{"no version", edit{`{version: "4.20"}`, "{arch: arm64}"}, "spec.openshift.version: is missing"},
		{"old version", edit{"4.20", "3.11"}, "never installed OpenShift 3.11; write a version that the service has"},
		{"ancient version", edit{"4.20", "4.2"}, "never installed OpenShift 4.2"},
		{"leading zero", edit{"4.20", "4.08"}, "is not a version of OpenShift"},
		{"a patch that is none", edit{"4.20", "4.20.2026"}, "is not a version of OpenShift"},
		{"two versions", edit{"4.20", "4.20 4.21"}, "is not a version of OpenShift"},
		{"impossible version", edit{"4.20", "4.99"}, `5:24: spec.openshift.version: there is no OpenShift 4.99; write a version that the service has, such as "4.22"`},
		{"impossible version of 5", edit{"4.20", "5.99.1"}, "there is no OpenShift 5.99.1"},
		{"impossible major", edit{"4.20", "6.0"}, "there is no OpenShift 6.0"},
		{"no version at all", edit{"4.20", "latest"}, "is not a version of OpenShift"},
		{"version with v", edit{"4.20", "v4.20"}, `write "4.20"`},
		{"three digits", edit{"4.20", "4.200"}, "is not a version of OpenShift"},
		{"architecture", edit{`"4.20"`, `"4.20", arch: arm46`}, `did you mean "arm64"?`},
		{"multi version, one architecture", edit{`"4.20"`, `"4.20-multi", arch: arm64`}, "write arch: multi"},
		{"host of another architecture", edit{more, "    arch: arm64\n"}, "is arm64, but the cluster is x86_64"},
		{"release image", edit{`"4.20"`, `"4.20", releaseImage: "https://quay.io/x"`}, "is not the reference of an image"},
		{"platform", edit{"  baseDomain", "  platform: metal\n  baseDomain"}, `spec.platform.type: "metal" is not known here`},
		{"external without name", edit{"  baseDomain", "  platform: external\n  baseDomain", vips, ""}, "spec.platform.external.name: is missing"},
		{"external beside another", edit{"  baseDomain", "  platform: {type: vsphere, external: {name: oci}}\n  baseDomain"}, "is only for platform external"},
		{"cloud controller manager", edit{"  baseDomain", "  platform: {type: external, external: {name: oci, cloudControllerManager: yes please}}\n  baseDomain", vips, ""}, "write External, or leave it out"},
	}, nil)
}

func TestRefusesTopology(t *testing.T) {
	runRefusals(t, []refusal{
		{"no hosts", edit{"  hosts:\n" + cp0 + cp1 + "  - name: cp-2\n    role: control-plane\n    match: {mac: \"52:54:00:00:00:03\"}\n", ""}, "spec.hosts: is missing, so each machine"},
		{"six control planes", edit{"  baseDomain", "  topology: {controlPlane: 6}\n  acceptUnknownHosts: true\n  baseDomain"}, "a cluster cannot have 6 control plane machines"},
		{"five before 4.18", edit{"  baseDomain", "  topology: {controlPlane: 5}\n  acceptUnknownHosts: true\n  baseDomain", "4.20", "4.17"}, "5 control plane machines need OpenShift 4.18, but the version is 4.17"},
		{"single node with worker", edit{"  baseDomain", "  topology: {controlPlane: 1, workers: 1}\n  baseDomain", vips, "", cp0, "", cp1, `  - {name: w, role: worker, match: {serial: "1"}}` + "\n"}, "a single node has no workers"},
		{"single node on bare metal", edit{"  baseDomain", sno + "  platform: baremetal\n  baseDomain", vips, "", cp0, "", cp1, ""}, "a single node cannot have platform baremetal"},
		{"two without vote", edit{cp0, ""}, "two control plane machines need a third vote"},
		{"arbiter and fencing", edit{cp0, "  - {name: a, role: arbiter, match: {serial: a}}\n", "  baseDomain", "  topology: {fencing: true}\n  baseDomain",
			`mac: "52:54:00:00:00:02"}`, `mac: "52:54:00:00:00:02"}, fencing: {address: redfish+https://10.0.0.2/redfish/v1/Systems/1, credentials: {env: BMC}}`, more, "    fencing: {address: redfish+https://10.0.0.3/redfish/v1/Systems/1, credentials: {env: BMC}}\n",
			`{serial: a}}`, `{serial: a}, fencing: {address: https://10.0.0.4/redfish/v1/Systems/1, credentials: {env: BMC}}}`}, "an arbiter or fencing, not both"},
		{"arbiter before 4.19", edit{cp0, "  - {name: a, role: arbiter, match: {serial: a}}\n", "4.20", "4.18"}, "arbiters need OpenShift 4.19"},
		{"arbiter beside three", edit{more, "  - {name: a, role: arbiter, match: {serial: a}}\n"}, "an arbiter needs 2 control plane machines, but there are 3"},
		{"arbiter on none", edit{cp0, "  - {name: a, role: arbiter, match: {serial: a}}\n", "  baseDomain", "  platform: none\n  baseDomain", vips, ""}, "arbiters with platform none need OpenShift 4.22"},
		{"fencing before 4.20", edit{cp0, "", "4.20", "4.19", `mac: "52:54:00:00:00:02"}`, `mac: "52:54:00:00:00:02"}, fencing: {address: redfish+https://10.0.0.2/redfish/v1/Systems/1, credentials: {env: BMC}}`, more, "    fencing: {address: redfish+https://10.0.0.3/redfish/v1/Systems/1, credentials: {env: BMC}}\n"}, "two nodes with fencing need OpenShift 4.20"},
		{"fencing without credentials", edit{cp0, "", `mac: "52:54:00:00:00:02"}`, `mac: "52:54:00:00:00:02"}, fencing: {address: redfish+https://10.0.0.2/redfish/v1/Systems/1, credentials: {env: BMC}}`, more, "    fencing: {address: https://10.0.0.3/redfish/v1/Systems/1}\n"}, "spec.hosts[1].fencing.credentials: is missing"},
		{"fencing with three", edit{more, "    fencing: {address: redfish+https://10.0.0.3/redfish/v1/Systems/1, credentials: {env: BMC}}\n"}, "the topology has no fencing"},
		{"too many of a role", edit{"  baseDomain", "  topology: {controlPlane: 3, workers: 0}\n  baseDomain", more, "  - {name: w, role: worker, match: {serial: w}}\n"}, "spec.topology.workers: the topology has 0, but 1 host has the role worker"},
		{"too few hosts", edit{"  baseDomain", "  topology: {controlPlane: 3, workers: 2}\n  baseDomain"}, "there are 3 hosts, but the topology has 5 machines"},
		{"too many hosts", edit{"  baseDomain", "  topology: {controlPlane: 3, workers: 0}\n  baseDomain", more, "  - {name: w, match: {serial: w}}\n"}, "there are 4 hosts, but the topology has 3 machines"},
		{"required workers", edit{"  baseDomain", "  topology: {required: {workers: 1}}\n  baseDomain"}, "1 of 0 workers cannot be required"},
		{"within alone", edit{"  baseDomain", "  topology: {required: {within: 60m}}\n  baseDomain"}, "write required.workers too"},
	}, nil)
}

func TestRefusesNetworks(t *testing.T) {
	dual := edit{machine, "    machine: [192.168.10.0/24, \"fd10::/64\"]\n    cluster: [{cidr: 10.128.0.0/14}, {cidr: \"fd01::/48\"}]\n    service: [172.30.0.0/16, \"fd02::/112\"]\n"}
	runRefusals(t, []refusal{
		{"no network", edit{machine, "    machine: [here]\n"}, `"here" is not a network`},
		{"host bits", edit{machine, "    machine: [192.168.10.4/24]\n"}, `write "192.168.10.0/24"`},
		{"everything", edit{machine, "    machine: [0.0.0.0/0]\n"}, "includes all addresses"},
		{"overlap", edit{machine, machine + "    service: [192.168.0.0/16]\n"}, "the service network 192.168.0.0/16 overlaps the machine network 192.168.10.0/24"},
		{"overlap with a default", edit{machine, "    machine: [10.130.0.0/24]\n", "[192.168.10.5]", "[10.130.0.5]", "[192.168.10.6]", "[10.130.0.6]"}, "overlaps the default cluster network 10.128.0.0/14"},
		{"overlap in IPv6", append(dual, "fd02::/112", "fd01:0:0:1::/112"), "the service network fd01:0:0:1::/112 overlaps the cluster network fd01::/48"},
		{"host prefix", edit{machine, machine + "    cluster: [{cidr: 10.128.0.0/14, hostPrefix: 26}]\n"}, "/26 is too long"},
		{"host prefix too short", edit{machine, machine + "    cluster: [{cidr: 10.128.0.0/14, hostPrefix: 14}]\n"}, "leaves no space"},
		{"few host parts", edit{machine, machine + "    cluster: [{cidr: 10.128.0.0/22, hostPrefix: 23}]\n"}, "has space for 2 nodes with /23 each, but there are 3"},
		{"dual stack without clusters", edit{machine, "    machine: [192.168.10.0/24, \"fd10::/64\"]\n    service: [172.30.0.0/16, \"fd02::/112\"]\n"}, "spec.network.cluster: is missing: dual stack needs networks of both families here; write one IPv4 and one IPv6 network such as 10.128.0.0/14 and fd01::/48"},
		{"another order", append(dual, `172.30.0.0/16, "fd02::/112"`, `"fd02::/112", 172.30.0.0/16`), "the address families are in another order"},
		{"two services", edit{machine, machine + "    service: [172.30.0.0/16, 172.31.0.0/16]\n"}, "one service network of each family"},
		{"network type", edit{machine, machine + "    type: OVNKubernets\n"}, `did you mean "OVNKubernetes"?`},
		{"another plug-in without its manifests", edit{machine, machine + "    type: Cilium\n"}, "spec.network.type: Cilium needs the manifests of its vendor, and there are none; add them to spec.manifests"},
		{"SDN", edit{machine, machine + "    type: OpenShiftSDN\n"}, "OpenShiftSDN ended with 4.14"},
		{"MTU", edit{machine, machine + "    mtu: 150\n"}, "150 cannot be an MTU"},
		{"zero MTU", edit{machine, machine + "    mtu: 0\n"}, "0 cannot be an MTU"},
		{"gateway", edit{"gateway: 192.168.10.1,", "gateway: 192.168.10.1/24,"}, `write "192.168.10.1", without the prefix length`},
		{"DNS", edit{"dns: [192.168.10.1]", "dns: [ns.example.com]"}, "is not an IP address"},
		{"loopback DNS", edit{"dns: [192.168.10.1]", "dns: [127.0.0.1]"}, "cannot be used here"},
		{"NTP", edit{"dns: [192.168.10.1]", "dns: [192.168.10.1], ntp: [\"a b\"]"}, "is neither an address nor a DNS name"},
		{"NTP in upper case", edit{"dns: [192.168.10.1]", "dns: [192.168.10.1], ntp: [NTP.example.com]"}, "is neither an address nor a DNS name of 2 to 63 characters in lower case"},
		{"NTP with a long name", edit{"dns: [192.168.10.1]", "dns: [192.168.10.1], ntp: [" + strings.Repeat("n", 60) + ".com]"}, "is neither an address nor a DNS name of 2 to 63 characters in lower case"},
		{"join network for nodes", edit{"    machine: [192.168.10.0/24]\n    vips: {api: [192.168.10.5], ingress: [192.168.10.6]}\n    defaults: {gateway: 192.168.10.1, ", "    machine: [100.64.3.0/24]\n    vips: {api: [100.64.3.5], ingress: [100.64.3.6]}\n    defaults: {gateway: 100.64.3.1, "}, "cluster.yaml:9:15: spec.network.machine[0]: the machine network 100.64.3.0/24 overlaps 100.64.0.0/16, which OVN-Kubernetes uses inside the cluster; use another network, or change the network of OVN-Kubernetes with a manifest of kind Network and ovnKubernetesConfig.ipv4.internalJoinSubnet"},
		{"transit network for services", edit{machine, machine + "    service: [100.88.0.0/16]\n"}, "spec.network.service[0]: the service network 100.88.0.0/16 overlaps 100.88.0.0/16, which OVN-Kubernetes uses"},
		{"masquerade network for pods", edit{machine, machine + "    cluster: [{cidr: 169.254.0.0/17}]\n"}, "spec.network.cluster[0].cidr: the cluster network 169.254.0.0/17 overlaps 169.254.0.0/17, which OVN-Kubernetes uses"},
		{"former masquerade network", edit{machine, machine + "    cluster: [{cidr: 169.254.0.0/16}]\n", "4.20", "4.16"}, "overlaps 169.254.169.0/29, which OVN-Kubernetes uses"},
		{"join network in IPv6", append(dual, "fd02::/112", "fd98::/112"), "the service network fd98::/112 overlaps fd98::/64, which OVN-Kubernetes uses"},
		{"transit network in IPv6", append(dual, "fd02::/112", "fd97::/112"), "the service network fd97::/112 overlaps fd97::/64, which OVN-Kubernetes uses"},
		{"masquerade network in IPv6", append(dual, "fd02::/112", "fd69::/112"), "the service network fd69::/112 overlaps fd69::/112, which OVN-Kubernetes uses"},
		{"join network moved onto a default", edit{more, movedJoin("10.128.4.0/24")}, "spec.manifests[0]: the default cluster network 10.128.0.0/14 overlaps 10.128.4.0/24, which OVN-Kubernetes uses"},
		{"two NTP lists", edit{"dns: [192.168.10.1]", "dns: [192.168.10.1], ntp: [a.example.com]", vips, vips + "    ntp: [b.example.com]\n"}, "keep one of the two lists"},
		{"user-managed on bare metal", edit{machine, machine + "    userManaged: true\n", "  baseDomain", "  platform: baremetal\n  baseDomain", vips, ""}, "needs platform none, external or vsphere"},
		{"user-managed false on none", edit{machine, machine + "    userManaged: false\n", "  baseDomain", "  platform: none\n  baseDomain", vips, ""}, "always user-managed"},
		{"load balancer on none", edit{machine, machine + "    loadBalancer: user-managed\n", "  baseDomain", "  platform: none\n  baseDomain", vips, ""}, "needs platform baremetal or vsphere"},
		{"load balancer before 4.16", edit{machine, machine + "    loadBalancer: user-managed\n", "4.20", "4.15"}, "need OpenShift 4.16"},
	}, nil)
}

// movedJoin moves OVN-Kubernetes' join network.
func movedJoin(network string) string {
	return `  manifests:
  - name: cluster-network-03-config.yml
    content: |
      apiVersion: operator.openshift.io/v1
      kind: Network
      metadata: {name: cluster}
      spec: {defaultNetwork: {ovnKubernetesConfig: {ipv4: {internalJoinSubnet: ` + network + `}}}}
`
}

// TestTakesNetworksOfOVN takes networks that OVN-Kubernetes has in other releases only, or that
// the file moves away.
func TestTakesNetworksOfOVN(t *testing.T) {
	nodes := edit{machine, "    machine: [100.64.3.0/24]\n", "192.168.10.5", "100.64.3.5", "192.168.10.6", "100.64.3.6", "gateway: 192.168.10.1", "gateway: 100.64.3.1"}
	patch := "  manifests: [{name: cluster-network-02-config.yml.patch, content: '[{\"op\": \"add\", \"path\": \"/spec/defaultNetwork/ovnKubernetesConfig/ipv4/internalJoinSubnet\", \"value\": \"10.9.0.0/16\"}]'}]\n"
	for name, e := range map[string]edit{
		"moved":                 append(slices.Clone(nodes), more, movedJoin("100.80.0.0/16")),
		"moved by a patch":      append(slices.Clone(nodes), more, patch),
		"another plug-in":       append(slices.Clone(nodes), "  network:\n", "  network:\n    type: Cilium\n", more, "  manifests: [{name: cilium.yaml, content: 'a: b'}]\n"),
		"before zones":          {machine, machine + "    service: [100.88.0.0/16]\n", "4.20", "4.13"},
		"before the larger one": {machine, machine + "    service: [169.254.64.0/18]\n", "4.20", "4.16"},
		"OpenShiftSDN":          append(slices.Clone(nodes), "4.20", "4.11"),
	} {
		check.Do(t, check.Err(parse(t, e.apply(t, good), nil)), name)
	}
}

func TestRefusesVIPs(t *testing.T) {
	runRefusals(t, []refusal{
		{"none on bare metal", edit{vips, ""}, "spec.network.vips: is missing"},
		{"some on none", edit{"  baseDomain", "  platform: none\n  baseDomain"}, "with platform none the cluster has no virtual addresses"},
		{"some on a single node", edit{"  baseDomain", sno + "  baseDomain", cp0, "", cp1, ""}, "a single node has no virtual addresses"},
		{"among the services", edit{machine, "", "[192.168.10.5]", "[172.30.0.5]"}, "172.30.0.5 is in the default service network 172.30.0.0/16, where no machine is"},
		{"among services of the file's own", edit{machine, "    service: [192.168.10.4/31]\n"}, "192.168.10.5 is in the service network 192.168.10.4/31, where no machine is"},
		{"outside", edit{"[192.168.10.5]", "[192.168.11.5]"}, "192.168.11.5 is not in the machine network 192.168.10.0/24"},
		{"broadcast", edit{"[192.168.10.5]", "[192.168.10.255]"}, "the first or last address"},
		{"no address", edit{"[192.168.10.5]", "[api.example.com]"}, "is not an IP address"},
		{"same for both", edit{"[192.168.10.6]", "[192.168.10.5]"}, "192.168.10.5 is already the address of the API"},
		{"another number", edit{"[192.168.10.6]", "[]"}, "there are 1 addresses for the API and 0 for ingress"},
		{"two of a family", edit{"[192.168.10.5]", "[192.168.10.5, 192.168.10.7]", "[192.168.10.6]", "[192.168.10.6, \"fd10::6\"]", machine, "    machine: [192.168.10.0/24, \"fd10::/64\"]\n    cluster: [{cidr: 10.128.0.0/14}, {cidr: \"fd01::/48\"}]\n    service: [172.30.0.0/16, \"fd02::/112\"]\n"}, "one of each address family"},
		{"the gateway's", edit{"[192.168.10.5]", "[192.168.10.1]"}, "192.168.10.1 is the gateway's address"},
		{"a host's", edit{more, "    net: {ip: 192.168.10.5/24}\n"}, "spec.hosts[2].net.ip: 192.168.10.5 is a virtual address of the cluster already"},
	}, nil)
}

func TestTakesVersions(t *testing.T) {
	for _, version := range []string{"4.8", "4.20.3", "4.22.0-rc.4", "4.20.33-multi", "4.21-multi", "4.22.0-0.nightly-2026-05-01-101010", "4.23", "5.0", "5.0.0-rc.3", "5.1.12"} {
		check.Do(t, check.Err(parse(t, edit{"4.20", version}.apply(t, good), nil)), version)
	}
}

// TestNumberOfHosts takes a number of hosts for what was meant.
func TestNumberOfHosts(t *testing.T) {
	text, _, _ := strings.Cut(good, "  hosts:\n")
	_, err := parse(t, text+"  hosts: 3\n", nil)
	want := "spec.hosts: has to be a list, but is a number; list the machines, each as "
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "acceptUnknownHosts: true") {
		t.Errorf("got %v", err)
	}
}
