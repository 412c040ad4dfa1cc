package spec

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// nodes is a document of kind Nodes with nothing wrong.
const nodes = `apiVersion: oaictl.io/v1alpha1
kind: Nodes
spec:
  cluster: lab.example.com
  network: {defaults: {gateway: 192.168.10.1, dns: [192.168.10.1]}}
  hosts:
  - name: w-5
    hostname: w-5.example.com
    match: {mac: "52:54:00:00:00:15"}
    net: {ip: 192.168.10.15/24}
    labels: {rack: b}
    taints: [{key: example.com/disks, value: many, effect: NoSchedule}, {key: slow, effect: PreferNoSchedule}]
    addresses: [192.168.10.25, "2001:DB8::0:15"]
    providerID: metal3://machines/w-5
  - {name: cp-3, role: master, bmc: {address: 10.0.0.4, credentials: {env: BMC}}}
  - {name: vote, role: arbiter, match: {serial: S1}, arch: aarch64}
  # more
`

func parseAny(t *testing.T, text string) (*Cluster, error) {
	t.Helper()
	env := world(map[string]string{"pull-secret.json": goodPullSecret, "p": "hunter2"})
	env.Nodes = true
	return Parse(t.Context(), "nodes.yaml", []byte(text), env)
}

// TestNodes: a document of kind Nodes becomes a cluster with only what is added, with the places of its fields.
func TestNodes(t *testing.T) {
	c := must.Get(parseAny(t, nodes))(t)
	got := []any{c.Existing(), c.OnlyAdds(), c.Imported(), c.Kind, c.Metadata.Name, c.SingleNode(), c.ControlPlaneCount(), c.ArbiterCount(), c.WorkerCount(), c.AtInstall() == c, c.Spec.Boot.Method, c.Spec.InfraEnv.Bind}
	want := []any{"lab.example.com", true, false, KindNodes, "", false, 1, 1, 1, true, bootISO, BindEarly}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w5, cp3 := c.Spec.Hosts[0], c.Spec.Hosts[1]
	wantTaints := []Taint{{"example.com/disks", "many", "NoSchedule"}, {"slow", "", "PreferNoSchedule"}}
	if diff := cmp.Diff(wantTaints, w5.Taints); diff != "" || w5.ProviderID != "metal3://machines/w-5" {
		t.Errorf("w-5 is %+v", w5)
	}
	if diff := cmp.Diff([]string{"192.168.10.25", "2001:db8::15"}, w5.Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	if user, _, ok := cp3.BMC.Credentials.Login(); !ok || user != "admin" || cp3.Match.BMC != "10.0.0.4" || cp3.Role != ControlPlane {
		t.Errorf("cp-3 is %+v", cp3)
	}
	if _, macs, ok := c.StaticNetwork(&c.Spec.Hosts[0]); !ok || len(macs) != 1 {
		t.Error("w-5 has no static network")
	}
	for field, want := range map[string]int{"spec.cluster": 4, "spec.hosts[0].taints[1].key": 12, c.HostField(&c.Spec.Hosts[2], "arch"): 16, "metadata.name": 1} {
		if file, line, _ := c.Position(field); file != "nodes.yaml" || line != want {
			t.Errorf("%s is at %s:%d, not %d", field, file, line, want)
		}
	}
	if !c.PullSecret().IsZero() || c.Present("spec.pullSecret") {
		t.Error("there is a pull secret")
	}
}

// TestNodesLeanOn: what hosts lean on stands where it stands in a Cluster.
func TestNodesLeanOn(t *testing.T) {
	c := must.Get(parseAny(t, edit{more, `  pullSecret: {file: pull-secret.json}
  sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOCYVeBGUJ2tbCnjASKdddlktTUtKN+qVAobQXfjP/UQ]
  proxy: {http: "http://proxy.example.com:3128"}
  boot: {image: minimal}
  infraEnv: {ref: pool}
  registry: {mirrors: [{source: quay.io/a, mirrors: [m.io/a]}]}
  discovery: {kernelArgs: [console=ttyS0]}
  overrides: {infraEnv: {a: b}, host: {c: d}}
`, "network: {", "network: {ntp: [ntp.example.com], "}.apply(t, nodes)))(t)
	s := c.Spec
	check.Contains(t, must.Get(c.DiscoveryIgnition())(t), "registries.conf", "the mirrors are not in the discovery Ignition")
	if c.PullSecret().Reveal() != goodPullSecret || c.SSHKey() == "" || s.Proxy.HTTP == "" || s.Boot.Image != ImageMinimal || s.InfraEnv.Ref != "pool" ||
		len(s.Discovery.KernelArgs) != 1 || s.Overrides.InfraEnv["a"] != "b" || s.Overrides.Host["c"] != "d" || len(s.Network.NTP) != 1 || s.Network.Defaults.Gateway == "" {
		t.Errorf("something is lost of %+v", s)
	}
}

// TestNodesAreCarriedOver: every field of a document of kind Nodes stands at the same path
// in the Cluster that it becomes.
func TestNodesAreCarriedOver(t *testing.T) {
	seen := 0
	var each func(n *Nodes, v reflect.Value, path string)
	each = func(n *Nodes, v reflect.Value, path string) {
		if strings.HasPrefix(v.Type().Name(), "Nodes") {
			for field, below := range v.Fields() {
				each(n, below, values.Join(path, fieldKey(field)))
			}
			return
		}
		fill(v)
		if path == "spec.cluster" {
			return
		}
		seen++
		got := reflect.ValueOf(n.cluster()).Elem()
		for key := range strings.SplitSeq(path, ".") {
			below, _, found := fieldByKey(got, key)
			if !found {
				t.Fatalf("a Cluster has no %s", path)
			}
			got = below
		}
		if v.IsZero() || !reflect.DeepEqual(got.Interface(), v.Interface()) {
			t.Errorf("%s is %v, and was %v", path, got, v)
		}
	}
	n := &Nodes{}
	each(n, reflect.ValueOf(n).Elem(), "")
	if seen < 13 {
		t.Errorf("only %d fields were seen", seen)
	}
}

// fill gives a field some value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]any{"a": "b"}))
	case reflect.Struct:
		fill(v.Field(0))
	default:
		panic(v.Kind())
	}
}

func TestRefusesNodes(t *testing.T) {
	var all []refusal
	for name, c := range map[string]struct {
		edit edit
		want string
	}{
		"no cluster":            {edit{"  cluster: lab.example.com\n", ""}, "3:1: spec.cluster: is missing; write the name of the cluster"},
		"cluster in capitals":   {edit{"lab.example.com", "Lab"}, `4:12: spec.cluster: "Lab" cannot be the name or the id of a cluster; write "lab"`},
		"cluster and what?":     {edit{"lab.example.com", "a/b/c"}, "cannot be the name or the id of a cluster"},
		"no hosts":              {edit{nodes[strings.Index(nodes, "  hosts:"):], ""}, "spec.hosts: is missing, so there is nothing to add to the cluster"},
		"an empty list":         {edit{nodes[strings.Index(nodes, "  hosts:"):], "  hosts: []\n"}, "6:3: spec.hosts: is missing"},
		"no match":              {edit{`    match: {mac: "52:54:00:00:00:15"}` + "\n", "", "    net: {ip: 192.168.10.15/24}\n", ""}, "spec.hosts[0].match: is missing, so oaictl cannot identify the machine"},
		"another version":       {edit{"v1alpha1", "v2"}, `1:13: apiVersion: the format version "oaictl.io/v2" is not known; write apiVersion: oaictl.io/v1alpha1 and kind: Cluster, or kind: Nodes`},
		"another kind":          {edit{"kind: Nodes", "kind: Node"}, `2:7: kind: is a "Node", not a Cluster or Nodes`},
		"no kind":               {edit{"kind: Nodes\n", ""}, "1:1: kind: is missing; write kind: Nodes"},
		"unknown key":           {edit{"  cluster:", "  clutser: x\n  cluster:"}, `4:3: spec.clutser: the field "clutser" is not known here; did you mean "cluster"?`},
		"a name":                {edit{"spec:\n", "metadata: {name: lab}\nspec:\n"}, "3:1: metadata: describes a Cluster, but hosts are added to an existing one; give the name of the cluster as spec.cluster"},
		"how it is installed":   {edit{"  hosts:", "  openshift: {version: 4.20}\n  hosts:"}, "6:3: spec.openshift: describes a Cluster, but hosts are added to an existing one; leave it out"},
		"a network of it":       {edit{"network: {", "network: {machine: [192.168.10.0/24], "}, "5:13: spec.network.machine: describes a Cluster"},
		"key of another place":  {edit{"  cluster:", "  gateway: 1.2.3.4\n  cluster:"}, "it belongs to spec.hosts.net.gateway"},
		"fencing":               {edit{"bmc: {address: 10", "fencing: {}, bmc: {address: 10"}, "spec.hosts[1].fencing: says how a cluster is installed"},
		"every architecture":    {edit{"aarch64", "multi"}, "spec.hosts[2].arch: a machine has one architecture"},
		"default gateway":       {edit{"gateway: 192.168.10.1", "gateway: 192.168.20.1"}, "spec.network.defaults.gateway: the gateway 192.168.20.1 is not in the subnet"},
		"redfish without a BMC": {edit{more, "  boot: {method: redfish}\n", "  - {name: vote, role: arbiter, match: {serial: S1}, arch: aarch64}\n", ""}, "spec.hosts[0].bmc: is missing, but boot.method is redfish"},
		"taint without a key":   {edit{"key: slow, ", ""}, "12:74: spec.hosts[0].taints[1].key: is missing"},
		"key of a taint":        {edit{"key: slow", "key: slow disks"}, `12:79: spec.hosts[0].taints[1].key: "slow disks" cannot be the key of a taint`},
		"value of a taint":      {edit{"value: many", "value: very many"}, `12:46: spec.hosts[0].taints[0].value: "very many" cannot be the value of a taint`},
		"taint without effect":  {edit{", effect: PreferNoSchedule", ""}, "spec.hosts[0].taints[1].effect: is missing; write NoSchedule, PreferNoSchedule or NoExecute"},
		"effect of a taint":     {edit{"PreferNoSchedule", "PreferNoScheduel"}, `spec.hosts[0].taints[1].effect: "PreferNoScheduel" is not known here; did you mean "PreferNoSchedule"?`},
		"taint twice":           {edit{"key: slow, effect: Prefer", "key: example.com/disks, effect: "}, "12:74: spec.hosts[0].taints[1]: example.com/disks:NoSchedule appears here twice"},
		"no address":            {edit{"192.168.10.25", "192.168.10"}, `13:17: spec.hosts[0].addresses[0]: "192.168.10" is not an IP address`},
		"address with a length": {edit{"192.168.10.25", "192.168.10.25/24"}, `write "192.168.10.25", without the prefix length`},
		"address of a link":     {edit{`"2001:DB8::0:15"`, `"fe80::1"`}, `spec.hosts[0].addresses[1]: "fe80::1" is a link-local address`},
		"address with a zone":   {edit{`"2001:DB8::0:15"`, `"2001:db8::15%eth0"`}, "is a link-local address"},
		"loopback":              {edit{"192.168.10.25", "127.0.0.1"}, `"127.0.0.1" cannot be used here`},
		"address twice":         {edit{"192.168.10.25", `"2001:db8::15"`}, "13:33: spec.hosts[0].addresses[1]: 2001:db8::15 appears here twice"},
		"address of another":    {edit{more, `  - {name: w-6, match: {serial: S2}, addresses: [192.168.10.15]}` + "\n"}, "17:50: spec.hosts[3].addresses[0]: 192.168.10.15 is the address of host w-5 already"},
		"both may have it":      {edit{more, `  - {name: w-6, match: {serial: S2}, addresses: ["2001:db8::15"]}` + "\n"}, "spec.hosts[3].addresses[0]: 2001:db8::15 is the address of host w-5 already"},
		"provider id":           {edit{"metal3://machines/w-5", "metal3 w-5"}, `14:17: spec.hosts[0].providerID: "metal3 w-5" cannot be a provider id`},
		"provider id twice":     {edit{more, `  - {name: w-6, match: {serial: S2}, providerID: "metal3://machines/w-5"}` + "\n"}, "the provider id metal3://machines/w-5 belongs to host w-5 already"},
	} {
		all = append(all, refusal{name, c.edit, c.want})
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseAny(t, c.edit.apply(t, nodes))
			if err == nil {
				t.Fatal("nothing was refused")
			}
			if lines := strings.Split(err.Error(), "\n"); len(lines) != 1 || !strings.HasPrefix(lines[0], "nodes.yaml:") || !strings.Contains(lines[0], c.want) {
				t.Errorf("got %s\nwant one problem with %s", err, c.want)
			}
		})
	}
}

// TestOneAddressOfItsOwn: an address of the host's own network may be said again.
func TestOneAddressOfItsOwn(t *testing.T) {
	check.Do(t, check.Err(parseAny(t, edit{"addresses: [192.168.10.25", "addresses: [192.168.10.15"}.apply(t, nodes))))
	_, err := parse(t, edit{more, "    addresses: [192.168.10.5]\n"}.apply(t, good), nil)
	check.Says(t, err, "spec.hosts[2].addresses[0]: 192.168.10.5 is a virtual address of the cluster already", "of a Cluster")
}

// TestKindsWanted: what takes a Cluster says what to do with Nodes, and what takes both
// reads a Cluster as ever.
func TestKindsWanted(t *testing.T) {
	_, err := parse(t, nodes, nil)
	const want = "cluster.yaml:2:7: kind: is \"Nodes\", for hosts that are added to an installed cluster; here it must be a Cluster; add the hosts with `oaictl add-node -f cluster.yaml`, or give the file of a Cluster"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	c, err := parseAny(t, good)
	if err != nil || c.OnlyAdds() || c.Existing() != "" || c.Metadata.Name != "lab" {
		t.Errorf("a Cluster: %+v, %v", c, err)
	}
	check.Says(t, check.Err(parseAny(t, edit{"kind: Cluster\n", ""}.apply(t, good))), "kind: is missing; write kind: Cluster", "a Cluster without its kind")
	env := world(map[string]string{"nodes.yaml": nodes})
	env.Nodes = true
	if c, err := Load(t.Context(), "nodes.yaml", env); err != nil || c.Existing() != "lab.example.com" || c.File() != "nodes.yaml" {
		t.Errorf("from a file: %v", err)
	}
	env.Nodes = false
	check.Says(t, check.Err(Load(t.Context(), "nodes.yaml", env)), "`oaictl add-node -f nodes.yaml`", "from a file")
	imported, err := parse(t, imported, map[string]string{"kubeconfig": "apiVersion: v1\nkind: Config\n"})
	if err != nil || !imported.OnlyAdds() || !imported.Imported() || imported.Existing() != "" {
		t.Errorf("an imported cluster: %v", err)
	}
}

// TestAddedTo completes what hosts are added to, and leaves the document as it is.
func TestAddedTo(t *testing.T) {
	for name, test := range map[string]struct {
		target  Target
		arch    Arch
		problem string
	}{
		"of several":     {Target{"lab", "example.com", "4.20.3", Multi}, Multi, ""},
		"not known":      {Target{"lab", "example.com", "", ""}, Multi, ""},
		"of another one": {Target{"lab", "example.com", "4.20.3", X86}, "", "nodes.yaml:16:60: spec.hosts[2].arch: is arm64, but the cluster is x86_64"},
	} {
		t.Run(name, func(t *testing.T) {
			c := must.Get(parseAny(t, nodes))(t)
			at, err := c.AddedTo(test.target)
			if test.problem != "" {
				if problems, is := errors.AsType[*Problems](err); !is || len(problems.List) != 1 || !strings.HasPrefix(err.Error(), test.problem) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if at.Metadata.Name != "lab" || at.Spec.BaseDomain != "example.com" || at.Spec.OpenShift.Version != test.target.Version || at.Spec.OpenShift.Arch != test.arch || at.Existing() != "lab.example.com" || !at.OnlyAdds() {
				t.Errorf("got %+v", at)
			}
			if field := at.HostField(&at.Spec.Hosts[1], "bmc"); field != "spec.hosts[1].bmc" || c.Metadata.Name != "" || c.Spec.OpenShift.Arch != "" {
				t.Errorf("%s, and the document is %+v", field, c.Metadata)
			}
		})
	}
	c := must.Get(parse(t, good, nil))(t)
	check.Equal(t, must.Get(c.AddedTo(Target{Name: "other"}))(t), c, "a Cluster became")
}

// said is how a person says a single host by flags.
func said() map[string]string {
	const host = "spec.hosts[0]."
	return map[string]string{
		"spec.cluster": "--cluster", host + "name": "--name", host + "match": "--mac", host + "bmc": "--bmc", host + "bmc.credentials": "--bmc-password-file",
		host + "bmc.credentials.username": "--bmc-user", host + "disk": "--disk", host + "role": "--role", host + "labels": "--label", host + "taints": "--taint", host + "net": "--static-ip", host + "net.gateway": "--gateway",
	}
}

// TestNodesOfWords: nodes that are made in Go are checked as those in a file are, and problems are reported in the
// words that a person has used.
func TestNodesOfWords(t *testing.T) {
	resolve := func(ctx context.Context, change func(*NodesSpec)) (*Cluster, error) {
		n := &Nodes{Spec: NodesSpec{Cluster: "lab", Hosts: []Host{{
			Name: "w-5", Role: "worker", Match: Match{MAC: "52-54-00-00-00-15"}, BMC: &BMC{Address: "10.0.0.4", Credentials: Credentials{Username: "root", Password: &Source{File: "p"}}},
			Disk: Disk{Hints: DiskHints{DeviceName: "/dev/sda"}}, Labels: map[string]string{"rack": "b"}, Taints: []Taint{{Key: "slow", Effect: "NoSchedule"}},
		}}}}
		change(&n.Spec)
		return n.Resolve(ctx, ".", world(map[string]string{"p": "hunter2"}), said())
	}
	c := must.Get(resolve(t.Context(), func(*NodesSpec) {}))(t)
	user, password, _ := c.Spec.Hosts[0].BMC.Credentials.Login()
	if c.Existing() != "lab" || !c.OnlyAdds() || c.Kind != KindNodes || c.APIVersion != APIVersion || c.Spec.Hosts[0].Match.MAC != "52:54:00:00:00:15" || c.Spec.Boot.Method != BootRedfish || user != "root" || password.Reveal() != "hunter2" {
		t.Errorf("got %+v", c.Spec)
	}
	check.Equal(t, c.Problem("spec.hosts[0].labels.rack", "is strange", ""), (Problem{Field: "spec.hosts[0].labels.rack", Message: "is strange", Word: "--label"}), "a later problem is")
	if !c.Present("spec.cluster") || !c.Present("spec.hosts[0].match.mac") || c.Present("spec.pullSecret") || c.File() != "" {
		t.Error("what is present is not what was said")
	}
	for name, test := range map[string]struct {
		change func(*NodesSpec)
		want   string // all problems
	}{
		"no cluster": {func(s *NodesSpec) { s.Cluster = "" }, "--cluster: is missing; give --cluster"},
		"no name":    {func(s *NodesSpec) { s.Hosts[0].Name = "" }, "--name: is missing; give --name"},
		"no match":   {func(s *NodesSpec) { s.Hosts[0].Match, s.Hosts[0].BMC = Match{}, nil }, "--mac: is missing, so oaictl cannot identify the machine of this host; give --mac"},
		"MAC":        {func(s *NodesSpec) { s.Hosts[0].Match.MAC = "15" }, `--mac: "15" is not a MAC address; write it as "52:54:00:12:34:56"`},
		"role":       {func(s *NodesSpec) { s.Hosts[0].Role = "workr" }, `--role: "workr" is not known here; did you mean "worker"?`},
		"label":      {func(s *NodesSpec) { s.Hosts[0].Labels["rack"] = "a b" }, `--label: "a b" cannot be the value of a label; use at most 63 letters, digits, dashes, dots and underscores`},
		"taint":      {func(s *NodesSpec) { s.Hosts[0].Taints[0].Effect = "Never" }, `--taint: "Never" is not known here; it is one of NoSchedule, PreferNoSchedule, NoExecute`},
		"disk":       {func(s *NodesSpec) { s.Hosts[0].Disk.Hints.DeviceName = "sda" }, `--disk: "sda" is not the path of a device; write "/dev/sda"`},
		"password":   {func(s *NodesSpec) { s.Hosts[0].BMC.Credentials.Password.File = "q" }, "--bmc-password-file: the file q cannot be read: file does not exist"},
		"no login":   {func(s *NodesSpec) { s.Hosts[0].BMC.Credentials = Credentials{} }, "--bmc-password-file: is missing: oaictl cannot log in to the BMC of host w-5; give --bmc-password-file"},
		"two things": {func(s *NodesSpec) { s.Hosts[0].Net = &HostNet{IP: "192.168.10.15/24"}; s.Cluster = "L" },
			`--cluster: "L" cannot be the name or the id of a cluster; write "l"` + "\n" +
				"--gateway: is missing: host w-5 has a static address and needs a default route; give --gateway\n" +
				"--static-ip: is missing: host w-5 has a static address and needs DNS servers; write dns here, or in the net of each host"},
		"not said by a flag": {func(s *NodesSpec) { s.Boot.Method = "carrier pigeon" }, `spec.boot.method: "carrier pigeon" is not known here; it is one of redfish, metal3, ipxe, iso, none`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := resolve(t.Context(), test.change); err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := resolve(ctx, func(*NodesSpec) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("the context is done, and the error is %v", err)
	}
}

func TestTaintSet(t *testing.T) {
	for text, want := range map[string]Taint{
		"a=b:NoSchedule": {"a", "b", "NoSchedule"}, "example.com/a:NoExecute": {"example.com/a", "", "NoExecute"}, "a=:X": {"a", "", "X"},
		"a": {}, "a=b": {}, ":NoSchedule": {}, "a:": {}, "": {},
	} {
		var got Taint
		err := got.Set(text)
		if got != want || (err == nil) != (want != Taint{}) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
}

func TestDiskHintsSet(t *testing.T) {
	yes, no := true, false
	for text, want := range map[string]DiskHints{
		"/dev/sda":                  {DeviceName: "/dev/sda"},
		"/dev/disk/by-path/a=b,c":   {DeviceName: "/dev/disk/by-path/a=b,c"},
		"wwn=0x5":                   {WWN: "0x5"},
		"rotational=true, hctl=0:0": {Rotational: &yes, HCTL: "0:0"},
		"model=INTEL SSD,minSizeGigabytes=200,rotational=false": {Model: "INTEL SSD", MinSizeGigabytes: 200, Rotational: &no},
	} {
		var got DiskHints
		err := got.Set(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":                       "is neither a device nor a hint",
		"sda":                    `"sda" is neither a device nor a hint; write /dev/NAME, or HINT=VALUE`,
		"wnw=0x5":                `there is no hint "wnw" for a disk; did you mean "wwn"?`,
		"minSizeGigabytes=large": "minSizeGigabytes=large: is not a number",
		"rotational=2":           "is neither true nor false",
		"model=a,model=b":        "the hint model appears here twice",
	} {
		check.Says(t, new(DiskHints).Set(text), want, text)
	}
}
