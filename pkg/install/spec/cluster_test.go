package spec

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
)

func TestPositionAndPresence(t *testing.T) {
	c := must.Get(parse(t, edit{vips, vips + "    ntp: []\n"}.apply(t, good), nil))(t)
	for field, want := range map[string][2]int{
		"spec.baseDomain":          {6, 15}, // the value of a scalar
		"spec.network.vips":        {10, 5}, // the key of anything else
		"spec.network.vips.api[0]": {10, 18},
		"spec.hosts[2]":            {16, 5},
		"spec.hosts[2].disk.hints": {16, 5}, // the nearest there is
		"spec.hosts[0].match.mac":  {14, 52},
		"spec.platform.type":       {4, 1},
		"spec.hosts[7].name":       {13, 3},
		"nothing":                  {1, 1},
	} {
		file, line, col := c.Position(field)
		if file != "cluster.yaml" || line != want[0] || col != want[1] {
			t.Errorf("%s is at %s:%d:%d, want %d:%d", field, file, line, col, want[0], want[1])
		}
	}
	for field, want := range map[string]bool{
		"spec.network.ntp": true, "spec.network.service": false, "spec.platform.type": false, "spec.topology": false, "spec.hosts[0].role": true, "spec.hosts[0].hostname": false,
	} {
		if c.Present(field) != want {
			t.Errorf("Present(%s) is %t", field, !want)
		}
	}
	if c.Spec.Network.NTP == nil || c.Spec.Network.Service != nil {
		t.Error("an empty list and no list are not told apart")
	}
}

func TestDefaults(t *testing.T) {
	text := edit{
		`{version: "4.20"}`, `{version: "4.20", arch: aarch64}`,
		cp1, "  - {name: cp-1, role: master, net: {ip: 192.168.10.8/24, mac: 52-54-00-00-00-0B}}\n",
		more, "  - {name: worker-0, hostname: \"\", bmc: {address: \"https://10.0.0.7:8443/redfish/v1/Systems/1\", credentials: {env: BMC}}}\n  hyperthreading: masters, workers\n  diskEncryption: {mode: tpmv2}\n",
	}.apply(t, good)
	c := must.Get(parse(t, text, nil))(t)
	s := c.Spec
	got := []any{s.OpenShift.Arch, s.Platform.Type, s.Boot.Method, s.InfraEnv.Bind, c.ControlPlaneCount(), c.WorkerCount(), c.ArbiterCount(), c.RequiredWorkers(),
		s.Hosts[0].Hostname, s.Hosts[1].Role, s.Hosts[1].Match.MAC, s.Hosts[3].Role, s.Hosts[3].Hostname, s.Hosts[3].Match.BMC, s.Hyperthreading.ServiceWords(), s.DiskEncryption.Mode, s.DiskEncryption.On.ServiceWords()}
	want := []any{ARM, BareMetal, bootISO, BindEarly, 3, 1, 0, 1, "cp-0", ControlPlane, "52:54:00:00:00:0b", Auto, "", "10.0.0.7", "masters,workers", TPM, "all"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	before := *s.Topology.Workers
	c.Default()
	if *c.Spec.Topology.Workers != before || c.Present("spec.topology.workers") {
		t.Error("Default is not the same the second time")
	}
}

// A cluster powers its nodes off by redfish+https://HOST/PATH alone: see getFencingConfig of the
// cluster-etcd-operator, and fence_redfish, which speaks HTTPS with every scheme.
func TestTwoNodesWithFencing(t *testing.T) {
	const systems = "/redfish/v1/Systems/"
	for _, c := range []struct{ name, bmc, fencing, want string }{
		{"a scheme of metal3", "address: \"idrac-virtualmedia://10.0.0.2" + systems + "System.Embedded.1\"", "", "redfish+https://10.0.0.2" + systems + "System.Embedded.1"},
		{"a scheme of metal3 with TLS", "address: \"ilo5-virtualmedia+https://10.0.0.2" + systems + "1\"", "", "ilo5-virtualmedia+https://10.0.0.2" + systems + "1"},
		{"Redfish without a transport", "address: \"redfish://10.0.0.2:8443" + systems + "1\"", "", "redfish+https://10.0.0.2:8443" + systems + "1"},
		{"HTTPS", "address: \"https://10.0.0.2" + systems + "1\"", "", "https://10.0.0.2" + systems + "1"},
		{"an address and its system", "address: 10.0.0.2, system: abc", "", "redfish+https://10.0.0.2" + systems + "abc"},
		{"an IPv6 address and its system", "address: \"fd00::2\", system: " + systems + "abc", "", "redfish+https://[fd00::2]" + systems + "abc"},
		{"a path", "address: \"redfish://10.0.0.2" + systems + "1/\"", "", "redfish+https://10.0.0.2" + systems + "1/"},
		{"another system", "address: \"https://10.0.0.2" + systems + "1\", system: \"2\"", "", "redfish+https://10.0.0.2" + systems + "2"},
		{"its own address", "address: 10.0.0.2", "address: \"redfish://10.0.0.9" + systems + "1\"", "redfish+https://10.0.0.9" + systems + "1"},
		{"an address alone", "address: 10.0.0.2", "", ": spec.hosts[0].fencing.address: is taken from bmc.address, 10.0.0.2, which does not contain the system"},
		{"no system", "address: \"idrac-virtualmedia://10.0.0.2/\"", "", ": spec.hosts[0].fencing.address: is taken from bmc.address, idrac-virtualmedia://10.0.0.2/, which does not contain the system"},
		{"without TLS", "address: \"redfish+http://10.0.0.2" + systems + "1\"", "", "which is an address without TLS, but a cluster only uses HTTPS"},
		{"its own address alone", "address: 10.0.0.2", "address: 10.0.0.9", ": spec.hosts[0].fencing.address: does not contain the system"},
		{"no address of a BMC", "address: \"no such\"", "", ": spec.hosts[0].bmc.address: is not the address of a BMC"},
		{"a Secret on a hub", "address: 10.0.0.2", "credentials: {secretRef: {name: fence}}", "10.0.0.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := edit{
				cp0, "",
				`mac: "52:54:00:00:00:02"}`, `mac: "52:54:00:00:00:02"}, bmc: {` + c.bmc + `, credentials: {env: BMC}, insecure: true}, fencing: {` + c.fencing + `}`,
				more, "    fencing: {address: \"redfish+https://10.0.0.3" + systems + "1\", credentials: {env: BMC}}\n",
			}.apply(t, good)
			cluster, err := parse(t, text, nil)
			if err != nil {
				if strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			f := cluster.Spec.Hosts[0].Fencing
			user, _, _ := f.Credentials.Login()
			if !cluster.Spec.Topology.Fencing || f.Address != c.want || user != "admin" && f.Credentials.SecretRef == nil || !valueOf(f.Insecure) {
				t.Errorf("got %+v, want the address %s", f, c.want)
			}
		})
	}
}

// A cluster that is made in Go goes through the same checks, without places.
func TestResolve(t *testing.T) {
	c := &Cluster{APIVersion: APIVersion, Kind: Kind, Metadata: Metadata{Name: "lab"}, Spec: ClusterSpec{
		OpenShift: OpenShift{Version: "4.20"}, BaseDomain: "example.com", PullSecret: NewSecret(goodPullSecret).Source(),
		Hosts: []Host{{Name: "cp-0", Match: Match{Serial: "1"}, BMC: &BMC{Address: "10.0.0.1", Credentials: CredentialsOf("root", NewSecret("hunter2"))}}},
	}}
	must.Do(t, c.Resolve(t.Context(), ".", Env{}))
	if !c.SingleNode() || c.Spec.Platform.Type != NoneType || c.PullSecret().Reveal() != goodPullSecret {
		t.Errorf("got %+v", c.Spec.Topology)
	}
	if !c.Present("spec.baseDomain") || c.Present("spec.topology") || !c.Present("spec.hosts[0].match.serial") {
		t.Error("what is present is not what was set")
	}
	bad := &Cluster{APIVersion: APIVersion, Kind: Kind, Metadata: Metadata{Name: "lab"}, Spec: ClusterSpec{
		OpenShift: OpenShift{Version: "4.20"}, BaseDomain: "example", PullSecret: Source{File: "x"}, AcceptUnknownHosts: true, Network: Network{VIPs: VIPs{API: []string{"1.2.3.4"}, Ingress: []string{"1.2.3.5"}}},
	}}
	err := bad.Resolve(t.Context(), ".", Env{})
	want := "spec.pullSecret: there is no access to files\nspec.baseDomain: \"example\" has one part only; use a domain of at least two parts, such as example.com"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestInstallConfigOverrides(t *testing.T) {
	for _, c := range []struct{ name, add, want string }{
		{"nothing", "", ""},
		{"all", `  fips: true
  registry: {mirrors: [{source: quay.io/a, mirrors: [m.io/a, n.io/a]}]}
  overrides: {installConfig: {networking: {networkType: Calico}, cpuPartitioningMode: AllNodes}}
`, `{"cpuPartitioningMode":"AllNodes","fips":true,"imageDigestSources":[{"mirrors":["m.io/a","n.io/a"],"source":"quay.io/a"}],"networking":{"networkType":"Calico"}}`},
		{"override wins", "  fips: true\n  overrides: {installConfig: {fips: false, networking: {networkType: Calico}}}\n", `{"fips":false,"networking":{"networkType":"Calico"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := edit{"  baseDomain", c.add + "  baseDomain"}.apply(t, good)
			if c.want != "" {
				text = edit{vips, vips + "    mtu: 1400\n"}.apply(t, text)
			}
			cluster := must.Get(parse(t, text, nil))(t)
			check.Equal(t, must.Get(cluster.InstallConfigOverrides())(t), c.want)
		})
	}
}

// Oracle's cloud starts machines from the minimal image, which is the default there.
func TestImageOfOracleCloud(t *testing.T) {
	platform := edit{vips + "", ""}
	for add, want := range map[string]ImageType{"": ImageMinimal, "  boot: {image: minimal}\n": ImageMinimal, "  boot: {image: full}\n": ""} {
		text := edit{"  baseDomain", "  platform: {type: external, external: {name: oci}}\n" + add + "  baseDomain"}.apply(t, platform.apply(t, good))
		cluster, err := parse(t, text, nil)
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "platform external oci only works with the minimal image")):
			t.Errorf("%q: %v", add, err)
		case want != "" && err != nil:
			t.Errorf("%q: %v", add, err)
		case want != "" && cluster.Spec.Boot.Image != want:
			t.Errorf("%q: image %s", add, cluster.Spec.Boot.Image)
		}
	}
}

// The MTU of the pod network is a manifest for the cluster network operator; a
// network that is not OpenShift's own has another configuration.
func TestPodNetworkMTU(t *testing.T) {
	for _, c := range []struct{ add, want, problem string }{
		{"    mtu: 1400\n", "apiVersion: operator.openshift.io/v1\nkind: Network\nmetadata:\n  name: cluster\nspec:\n  defaultNetwork:\n    ovnKubernetesConfig:\n      mtu: 1400\n", ""},
		{"    mtu: 1400\n    type: Calico\n", "", "it cannot be set for the network type Calico"},
	} {
		cluster, err := parse(t, edit{vips, vips + c.add}.apply(t, good), nil)
		if c.problem != "" {
			check.Says(t, err, c.problem, c.add)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		files := cluster.ManifestFiles()
		if len(files) != 1 || files[0].Folder != FolderManifests || files[0].Name != "cluster-network-03-config.yml" || files[0].Content != c.want {
			t.Errorf("manifests %+v", files)
		}
	}
}

func TestDiscoveryIgnition(t *testing.T) {
	mirrors := "  registry: {mirrors: [{source: quay.io/a, mirrors: [m.io/a], insecure: true}]}\n"
	conf := "data:text/plain;charset=utf-8;base64,dW5xdWFsaWZpZWQtc2VhcmNoLXJlZ2lzdHJpZXMgPSBbXQoKW1tyZWdpc3RyeV1dCnByZWZpeCA9ICIiCmxvY2F0aW9uID0gInF1YXkuaW8vYSIKbWlycm9yLWJ5LWRpZ2VzdC1vbmx5ID0gZmFsc2UKCiAgW1tyZWdpc3RyeS5taXJyb3JdXQogIGxvY2F0aW9uID0gIm0uaW8vYSIKICBpbnNlY3VyZSA9IHRydWUK"
	for _, c := range []struct{ name, add, want string }{
		{"nothing", "", ""},
		{"mirrors", mirrors, `{"ignition":{"version":"3.1.0"},"storage":{"files":[{"contents":{"source":"` + conf + `"},"mode":420,"overwrite":true,"path":"/etc/containers/registries.conf"}]}}`},
		{"document", "  discovery: {ignition: {ignition: {version: 3.2.0}}}\n", `{"ignition":{"version":"3.2.0"}}`},
		{"both", mirrors + "  discovery: {ignition: {file: d.ign}}\n", `{"ignition":{"version":"3.2.0"},"passwd":{},"storage":{"files":[{"path":"/etc/containers/registries.conf"},{"path":"/b"}]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := must.Get(parse(t, edit{"  baseDomain", c.add + "  baseDomain"}.apply(t, good), map[string]string{
				"d.ign": `{"ignition":{"version":"3.2.0"},"passwd":{},"storage":{"files":[{"path":"/etc/containers/registries.conf"},{"path":"/b"}]}}`,
			}))(t)
			check.Equal(t, must.Get(cluster.DiscoveryIgnition())(t), c.want)
		})
	}
}

// TestFormerKeys takes the keys that fields had before, and gives their fields the new names.
func TestFormerKeys(t *testing.T) {
	text := edit{"  baseDomain", "  proxy: {http: \"http://proxy:3128\", no: [a.com]}\n  diskEncryption: {mode: tpm, on: [worker]}\n  baseDomain"}.apply(t, good)
	c := must.Get(parse(t, text, nil))(t)
	if !slices.Equal(c.Spec.Proxy.No, StringList{"a.com"}) || !slices.Equal(c.Spec.DiskEncryption.On, RoleSet{"worker"}) {
		t.Errorf("got %v and %v", c.Spec.Proxy.No, c.Spec.DiskEncryption.On)
	}
	if !c.Present("spec.proxy.noProxy") || !c.Present("spec.diskEncryption.enableOn") || c.Present("spec.proxy.no") {
		t.Error("the fields do not have their new names")
	}
}
