package rest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/ignitionsize"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/pkg/iso/nmstate"
)

// sizeOf is how many bytes the networks of an InfraEnv take, compressed, of its
// Ignition at most.
func sizeOf(networks []model.StaticNetwork) int {
	// What a policy takes more than profiles where there are too few hosts to learn from.
	const policyRoom = 256
	p := &ignitionsize.Packing{}
	for i := range networks {
		p.Add(ignitionsize.Profiles(i, &networks[i]))
	}
	return p.Compressed() + policyRoom
}

// networksOf are the static networks of clusters whose hosts are alike except for their addresses.
func networksOf(t *testing.T, n int, network string) []model.StaticNetwork {
	t.Helper()
	var file strings.Builder
	file.WriteString("apiVersion: oaictl.io/v1alpha1\nkind: Cluster\nmetadata: {name: lab}\nspec:\n  baseDomain: example.com\n  openshift: {version: \"4.20\"}\n  pullSecret: {env: PULL}\n  network: {vips: {api: [10.20.0.2], ingress: [10.20.0.3]}}\n  hosts:\n")
	for i := range n {
		x := uint32(i) * 2654435761
		mac := func(kind int) string {
			return fmt.Sprintf("52:%02x:%02x:%02x:%02x:%02x", kind, x>>24, x>>16&0xff, x>>8&0xff, x&0xff)
		}
		role := "worker"
		if i < 3 {
			role = "control-plane"
		}
		at := strings.NewReplacer("IP4", fmt.Sprintf("10.20.%d.%d", i/250, 4+i%250), "IP6", fmt.Sprintf("fd10::%x", i+16), "MAC1", mac(1), "MAC2", mac(2))
		fmt.Fprintf(&file, "  - name: host-%d\n    role: %s\n    match: {mac: \"%s\"}\n    net: %s\n", i, role, mac(1), at.Replace(network))
	}
	env := spec.OSEnv()
	env.LookupEnv = func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, true }
	c := must.Get(spec.Parse(t.Context(), "cluster.yaml", []byte(file.String()), env))(t)
	plans := must.Get(install.InfraEnvPlans(c, nil))(t)
	var all []model.StaticNetwork
	for _, plan := range plans {
		var networks []model.StaticNetwork
		must.Do(t, plan.Settings[model.SettingStaticNetworks].Decode(&networks))
		all = append(all, networks...)
	}
	return all
}

// ignitionSize is how much the files of hosts take of a discovery Ignition,
// compressed as the service does it.
func ignitionSize(hosts []map[string]string) int {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	for i, files := range hosts {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(zip, `{"path":"/etc/assisted/network/host%d/%s","mode":384,"overwrite":true,"user":{"name":"root"},"contents":{"source":"data:text/plain;charset=utf-8;base64,%s"}},`,
				i, name, base64.StdEncoding.EncodeToString([]byte(files[name])))
		}
	}
	_ = zip.Close()
	return out.Len()
}

func pairs(n model.StaticNetwork) string {
	var text strings.Builder
	for _, m := range n.MACs {
		text.WriteString(m.MAC + "=" + m.Name + "\n")
	}
	return text.String()
}

// keyfilesOf are the profiles of a host, which services write up to OpenShift 4.17.
func keyfilesOf(t *testing.T, n model.StaticNetwork) map[string]string {
	t.Helper()
	state := must.Get(nmstate.Parse("host", []byte(n.YAML)))(t)
	macs, files := map[string]string{}, map[string]string{"mac_interface.ini": pairs(n)}
	for _, m := range n.MACs {
		macs[m.Name] = m.MAC
	}
	keyfiles := must.Get(state.Keyfiles(macs))(t)
	for _, k := range keyfiles {
		files[k.Name] = strings.Replace(string(k.Content), "[connection]\n", "[connection]\nautoconnect=true\nautoconnect-priority=1\n", 1)
	}
	return files
}

// policyOf is the policy of a host, which services write from OpenShift 4.18 on:
// the document with its interfaces' names captured by MAC address.
func policyOf(place int, n model.StaticNetwork) map[string]string {
	text, state := "capture:\n", n.YAML
	for i, m := range n.MACs {
		text += fmt.Sprintf("  iface%d: interfaces.mac-address == \"%s\"\n", i, strings.ToUpper(m.MAC))
		state = strings.ReplaceAll(state, m.Name, fmt.Sprintf("\"{{ capture.iface%d.interfaces.0.name }}\"", i))
	}
	text += "\ndesiredState:\n  " + strings.ReplaceAll(state, "\n", "\n  ")
	return map[string]string{"mac_interface.ini": pairs(n), fmt.Sprintf("ymlFile%d.yml", place): text}
}

// TestStaticNetworkSize holds the estimate by which hosts are spread over
// InfraEnvs against what services write: it is never too small, and never half
// as large again.
func TestStaticNetworkSize(t *testing.T) {
	for name, network := range map[string]string{
		"address":  `{ip: IP4/16, gateway: 10.20.0.1, dns: [10.20.0.1]}`,
		"dual":     `{ip: IP4/16, ip6: "IP6/64", gateway: 10.20.0.1, gateway6: "fd10::1", dns: [10.20.0.1, "fd10::1"], search: [example.com]}`,
		"VLAN":     `{ip: IP4/16, gateway: 10.20.0.1, dns: [10.20.0.1], vlan: 100, mtu: 9000, interfaces: [{name: eno1, mac: "MAC1"}]}`,
		"bond":     `{ip: IP4/16, gateway: 10.20.0.1, dns: [10.20.0.1], bond: {mode: lacp, ports: ["MAC1", "MAC2"]}}`,
		"all":      `{ip: IP4/16, gateway: 10.20.0.1, dns: [10.20.0.1], vlan: 100, mtu: 9000, bond: {mode: lacp, ports: ["MAC1", "MAC2"]}, routes: [{destination: 10.0.0.0/8, gateway: 10.20.255.254}]}`,
		"JSON":     `{nmstate: {interfaces: [{name: eth0, type: ethernet, state: up, mac-address: "MAC1", ipv4: {enabled: true, dhcp: false, address: [{ip: IP4, prefix-length: 16}]}}]}}`,
		"bridge":   `{nmstate: {interfaces: [{name: eth0, type: ethernet, state: up, mac-address: "MAC1"}, {name: br0, type: linux-bridge, state: up, bridge: {port: [{name: eth0}]}, ipv4: {enabled: true, dhcp: false, address: [{ip: IP4, prefix-length: 16}]}}]}}`,
		"two ways": `{nmstate: {interfaces: [{name: eth0, type: ethernet, state: up, mac-address: "MAC1", ipv4: {enabled: true, dhcp: true}}, {name: eth1, type: ethernet, state: up, mac-address: "MAC2", ipv4: {enabled: true, dhcp: false, address: [{ip: IP4, prefix-length: 16}]}}]}}`,
	} {
		for _, n := range []int{5, 100, 500} {
			networks := networksOf(t, n, network)
			var keyfiles, policies []map[string]string
			for i, network := range networks {
				keyfiles, policies = append(keyfiles, keyfilesOf(t, network)), append(policies, policyOf(i, network))
			}
			estimate, profiles, policy := sizeOf(networks), ignitionSize(keyfiles), ignitionSize(policies)
			t.Logf("%s, %d hosts: estimated %d, as profiles %d, as policies %d", name, n, estimate, profiles, policy)
			if larger := max(profiles, policy); len(networks) != n || estimate < larger || 2*estimate > 3*larger {
				t.Errorf("%s, %d hosts: estimated %d; it takes %d as profiles, %d as policies", name, n, estimate, profiles, policy)
			}
		}
	}
}
