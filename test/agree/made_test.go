package agree_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/sample"
)

// Values at the edges of what the parts of a file may be. Some are refused: a choice of those is
// drawn again, since only what is valid has to be taken.
var (
	hostnames = []string{"cp-%d", "cp-%d." + strings.Repeat("a", 48) + ".com", "%d", "n" + strings.Repeat("0", 60) + "-%d", "%d.a.b.c.d.example.com", "CP-%d", "a-.cp-%d"}
	domains   = []string{"example.com", "a.bc", "1.2.3.4.com", "example.c", "xn--bcher-kva.example", "lab.internal", "0.1x"}
	names     = []string{"lab", "l", strings.Repeat("l", 54), strings.Repeat("l", 55), "1", "a--b", "a.b"}
	timeHosts = []string{"", "10.0.0.1", "fd00::1", "ntp.example.com", "NTP.example.com", "n", strings.Repeat("n", 59) + ".com", strings.Repeat("n", 60) + ".com", "a..b", "fe80::1%eth0"}
	noProxies = []string{"*", ".example.com", "example.com,.example.com", "a.com,a.com", "10.0.0.0/8,fd00::/8", "host_name", "Example.COM", "a.com,*", "1.2.3.4", ".10.0.0.1"}
	proxies   = []string{"http://proxy:3128", "http://user:p%40ss@proxy.example.com:3128", "http://[fd00::1]:3128", "http://10.0.0.1", "http://proxy_1.example.com"}
	tags      = []string{"a", "a b", "ü", "a_1"}
	arguments = []string{"", "--append-karg, console=ttyS0", "--append-karg, 'a b'", "--append-karg=a", "-n", "--copy-network", "--append-karg, 'a<b'", "--append-karg, 'a&b'", "--delete-karg, ~", "--save-partlabel, 'data*'"}
	kargs     = []string{"console=ttyS0", "a b", `'a="b c"'`, "rd.luks=0"}
	versions  = []string{"4.20", "4.18", "4.14", "4.21.0"}
	networks  = []string{"", "service: [100.64.0.0/16]", "service: [172.16.0.0/16]", "service: [169.254.64.0/18]", "cluster: [{cidr: 10.200.0.0/16, hostPrefix: 24}]", "cluster: [{cidr: 100.88.0.0/16}]", "mtu: 1400", "type: Cilium"}
	labels    = []string{"", "rack: a", "example.com/rack: ''", "'a b': c", "node-role.kubernetes.io/infra: ''"}
	nets      = []string{"", "net: {ip: 192.168.127.1%d/24}", "net: {ip: 192.168.127.1%d/24, vlan: 5}", "net: {interfaces: [{name: eno1, mac: '52:54:00:00:00:0%[1]d'}], nmstate: {interfaces: [{name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}, {name: ens1f0v0, type: ethernet, state: up}]}}"}
)

// made are clusters of values that a generator chooses: always the same ones.
func made(n int) []input {
	var list []input
	for seed := range n {
		list = append(list, input{name: fmt.Sprintf("made-%d", seed), read: func(t *testing.T) (*spec.Cluster, error) {
			random, tries := rand.New(rand.NewPCG(1, uint64(seed))), 0
			for {
				c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(clusterOf(random)), sample.Env())
				if tries++; err == nil || tries > 2000 {
					return c, err
				}
			}
		}})
	}
	return list
}

func clusterOf(random *rand.Rand) string {
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	hosts, hostname, net := &strings.Builder{}, pick(hostnames), pick(nets)
	for i := range 3 {
		fmt.Fprintf(hosts, "  - name: cp-%d\n    hostname: %s\n    role: control-plane\n    match: {mac: '52:54:00:00:00:0%d'}\n", i, quoted(fmt.Sprintf(hostname, i)), i)
		fmt.Fprintf(hosts, "    labels: {%s}\n    installerArgs: [%s]\n", pick(labels), pick(arguments))
		if net != "" {
			fmt.Fprintf(hosts, "    %s\n", fmt.Sprintf(net, i))
		}
	}
	ntp := ""
	if server := pick(timeHosts); server != "" {
		ntp = ", ntp: [" + quoted(server) + "]"
	}
	return "apiVersion: oaictl.io/v1alpha1\nkind: Cluster\n" +
		"metadata: {name: " + quoted(pick(names)) + ", tags: [" + quoted(pick(tags)) + "]}\n" +
		"spec:\n  openshift: {version: '" + pick(versions) + "'}\n  baseDomain: " + quoted(pick(domains)) + "\n  pullSecret: {env: PULL}\n" +
		"  proxy: {http: '" + pick(proxies) + "', noProxy: '" + pick(noProxies) + "'}\n" +
		"  discovery: {kernelArgs: [" + pick(kargs) + "]}\n" +
		"  network:\n    machine: [192.168.127.0/24]\n    vips: {api: [192.168.127.100], ingress: [192.168.127.101]}\n" +
		"    defaults: {gateway: 192.168.127.1, dns: [192.168.127.1]" + ntp + "}\n    " + pick(networks) + "\n" +
		"  hosts:\n" + hosts.String()
}

func quoted(text string) string { return "'" + text + "'" }
