package infraenv_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/internal/ignitionsize"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func planNames(plans []model.InfraEnvPlan) string {
	texts := make([]string, 0, len(plans))
	for _, p := range plans {
		texts = append(texts, p.Name+"="+strings.Join(p.Hosts, ","))
	}
	return strings.Join(texts, " ")
}

// An InfraEnv that serves one host stands beside those that hosts share, by any name.
func TestInfraEnvsOfSingleHosts(t *testing.T) {
	every := map[string]string{"cp-0": "a", "cp-1": "b", "cp-2": "c"}
	for name, test := range map[string]struct {
		own     map[string]string
		accepts bool
		have    []model.InfraEnv
		want    string
	}{
		"one beside the others":                   {own: map[string]string{"cp-1": "b"}, want: "lab=cp-0,cp-2 b=cp-1"},
		"of every host":                           {own: every, want: "a=cp-0 b=cp-1 c=cp-2"},
		"and one for hosts that the file accepts": {own: every, accepts: true, want: "lab= a=cp-0 b=cp-1 c=cp-2"},
		"called as if it were shared": {
			own: map[string]string{"cp-0": "lab", "cp-1": "lab-2"}, have: []model.InfraEnv{{Name: "lab"}, {Name: "lab-2"}},
			want: "lab-3=cp-2 lab=cp-0 lab-2=cp-1",
		},
	} {
		c := decidetest.WithOwn(decidetest.Sample(3, 0), test.own)
		c.Spec.AcceptUnknownHosts = test.accepts
		plans, err := infraenv.Plans(c, test.have)
		if got := planNames(plans); err != nil || got != test.want {
			t.Errorf("%s: got %s, want %s (%v)", name, got, test.want, err)
		}
	}
}

// Such an InfraEnv has the architecture and the network of its host, and no other's.
func TestSettingsOfTheInfraEnvOfOneHost(t *testing.T) {
	c := decidetest.WithOwn(decidetest.Sample(3, 0), map[string]string{"cp-1": "b"})
	c.Spec.OpenShift.Arch = spec.Multi
	for i := range c.Spec.Hosts {
		c.Spec.Hosts[i].Net = &spec.HostNet{IP: "192.168.127.1" + string(rune('0'+i)) + "/24", MAC: "52:54:00:00:00:0" +
			string(rune('0'+i))}
	}
	c.Host("cp-1").Arch = spec.ARM
	plans, err := infraenv.Plans(c, nil)
	if err != nil || len(plans) != 2 {
		t.Fatalf("%s (%v)", planNames(plans), err)
	}
	for i, want := range []string{"52:54:00:00:00:00 52:54:00:00:00:02", "52:54:00:00:00:01"} {
		var networks []model.StaticNetwork
		must.Do(t, plans[i].Settings[model.SettingStaticNetworks].Decode(&networks))
		macs := make([]string, 0, len(networks))
		for _, n := range networks {
			macs = append(macs, clustersettings.FirstMAC(n))
		}
		if got := strings.Join(macs, " "); got != want {
			t.Errorf("%s has the networks of %s, want %s", plans[i].Name, got, want)
		}
	}
	if plans[0].Arch != spec.X86 || plans[1].Arch != spec.ARM || plans[1].Settings[model.SettingArch].Text() != "arm64" {
		t.Errorf("architectures %s and %s", plans[0].Arch, plans[1].Arch)
	}
}

// Hosts of a pool make no InfraEnv; one is there for the others.
func TestInfraEnvsBesideReservedHosts(t *testing.T) {
	for want, reserved := range map[string][]string{
		"lab=cp-0,cp-1,cp-2": {}, "lab=cp-0,cp-2": {"cp-1"}, "": {"cp-0", "cp-1", "cp-2"},
	} {
		plans, err := infraenv.Plans(decidetest.WithReserved(decidetest.Sample(3, 0), reserved...), nil)
		if got := planNames(plans); err != nil || got != want {
			t.Errorf("%v: got %q, want %q (%v)", reserved, got, want, err)
		}
	}
}

// staticCluster has n hosts with static addresses, the even ones on a bond with
// a VLAN where bonds are asked for.
func staticCluster(n int, bonds bool) *spec.Cluster {
	c := decidetest.Sample(3, n-3)
	c.Spec.Network.Defaults.DNS = []string{"10.20.0.1", "10.20.0.2"}
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		host.Match.MAC = mac(0, i)
		host.Net = &spec.HostNet{IP: fmt.Sprintf("10.%d.%d.%d/16", 20+i/60000, i/250%250, 4+i%250), Gateway: "10.20.0.1"}
		if bonds && i%2 == 0 {
			host.Net.VLAN, host.Net.Bond = 100, &spec.Bond{Mode: "802.3ad", Ports: []string{mac(1, i), mac(2, i)}}
		}
	}
	return c
}

func mac(kind, i int) string {
	x := uint32(i) * 2654435761 // no two alike, and in no order
	return fmt.Sprintf("52:%02x:%02x:%02x:%02x:%02x", kind, x>>24, x>>16&0xff, x>>8&0xff, x&0xff)
}

func plansOf(t testing.TB, c *spec.Cluster, have []model.InfraEnv) []model.InfraEnvPlan {
	t.Helper()
	return must.Get(infraenv.Plans(c, have))(t)
}

// whose maps every host to the name of the InfraEnv that it boots from.
func whose(plans []model.InfraEnvPlan) map[string]string {
	envs := map[string]string{}
	for _, p := range plans {
		for _, host := range p.Hosts {
			envs[host] = p.Name
		}
	}
	return envs
}

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

// made are the InfraEnvs of plans, as a service that made them shows them.
func made(plans ...model.InfraEnvPlan) []model.InfraEnv {
	var envs []model.InfraEnv
	for _, p := range plans {
		envs = append(envs, model.InfraEnv{ID: "id-" + p.Name, Name: p.Name, Owned: true, Settings: maps.Clone(p.Settings)})
	}
	return envs
}

// Hosts with networks that do not fit into one InfraEnv are spread over several: none is too large, and all but the
// last are well filled.
func TestSplit(t *testing.T) {
	t.Parallel()
	const room = 256 << 10
	for name, test := range map[string]struct {
		hosts    int
		bonds    bool
		from, to int // InfraEnvs
	}{
		"few":        {hosts: 5, from: 1, to: 1},
		"hundreds":   {hosts: 500, from: 1, to: 1},
		"thousands":  {hosts: 6000, from: 2, to: 8},
		"with bonds": {hosts: 3000, bonds: true, from: 2, to: 8},
	} {
		c := staticCluster(test.hosts, test.bonds)
		plans := plansOf(t, c, nil)
		if len(plans) < test.from || len(plans) > test.to {
			t.Errorf("%s: %d InfraEnvs", name, len(plans))
		}
		seen := 0
		for i, p := range plans {
			want := "lab"
			if i > 0 {
				want = fmt.Sprintf("lab-%d", i+1)
			}
			var networks []model.StaticNetwork
			if err := p.Settings[model.SettingStaticNetworks].Decode(&networks); err != nil || p.Name != want ||
				len(networks) != len(p.Hosts) {
				t.Errorf("%s: %s has %d hosts and %d networks: %v", name, p.Name, len(p.Hosts), len(networks), err)
			}
			size := sizeOf(networks)
			if size > room*9/10 || i < len(plans)-1 && size < room*7/10 {
				t.Errorf("%s: %s takes %d bytes", name, p.Name, size)
			}
			t.Logf("%s: %s holds %d hosts in %d bytes", name, p.Name, len(p.Hosts), size)
			seen += len(p.Hosts)
		}
		if seen != test.hosts || len(whose(plans)) != test.hosts {
			t.Errorf("%s: %d hosts in all", name, seen)
		}
	}
}

// Whichever InfraEnvs a crash has left, the rest is made as it would have been.
func TestSplitGoesOn(t *testing.T) {
	t.Parallel()
	c := staticCluster(2600, true)
	fresh := plansOf(t, c, nil)
	if len(fresh) < 3 {
		t.Fatalf("only %d InfraEnvs", len(fresh))
	}
	for left := range 1 << len(fresh) {
		var there []model.InfraEnvPlan
		for i, p := range fresh {
			if left&(1<<i) != 0 {
				there = append(there, p)
			}
		}
		if diff := cmp.Diff(whose(fresh), whose(plansOf(t, c, made(there...)))); diff != "" {
			t.Fatalf("%0*b is there: %.500s", len(fresh), left, diff)
		}
	}
}

// A host that has its InfraEnv keeps it, wherever others are added or taken away.
func TestSplitMovesNoHost(t *testing.T) {
	t.Parallel()
	c := staticCluster(4000, true)
	before := plansOf(t, c, nil)
	hosts := c.Spec.Hosts
	more := staticCluster(4600, true).Spec.Hosts[4000:]
	for name, now := range map[string][]spec.Host{
		"added at the end":           slices.Concat(hosts, more),
		"added at the beginning":     slices.Concat(hosts[:3], more, hosts[3:]),
		"one added":                  slices.Concat(hosts[:3], more[:1], hosts[3:]),
		"most taken away":            hosts[:100],
		"those of the first and new": slices.Concat(hosts[3500:], more),
	} {
		c.Spec.Hosts = now
		plans := plansOf(t, c, made(before...))
		was, is := whose(before), whose(plans)
		for _, h := range now {
			if was[h.Name] != "" && was[h.Name] != is[h.Name] {
				t.Fatalf("%s: %s was in %s and is in %s", name, h.Name, was[h.Name], is[h.Name])
			}
			if is[h.Name] == "" {
				t.Fatalf("%s: %s is in none", name, h.Name)
			}
		}
		if diff := cmp.Diff(is, whose(plansOf(t, c, made(plans...)))); diff != "" {
			t.Errorf("%s: another plan once they are made: %.500s", name, diff)
		}
	}
}

// One more host goes where there is room, and a full InfraEnv stays as it is.
func TestOneMoreHost(t *testing.T) {
	t.Parallel()
	c := staticCluster(3000, false)
	before := plansOf(t, c, nil)
	c.Spec.Hosts = append(c.Spec.Hosts, staticCluster(3001, false).Spec.Hosts[3000])
	plans := plansOf(t, c, made(before...))
	last := before[len(before)-1].Name
	if got := whose(plans)["worker-2997"]; got != last || len(plans) != len(before) {
		t.Errorf("the new host is in %s of %d; %s had room", got, len(plans), last)
	}
	if before[0].Settings.String() != plans[0].Settings.String() {
		t.Error("the full InfraEnv is another one")
	}
}

// Hosts of several architectures never share an InfraEnv.
func TestSplitOfArchitectures(t *testing.T) {
	t.Parallel()
	c := staticCluster(2400, true)
	c.Spec.OpenShift.Arch = spec.Multi
	for i := range c.Spec.Hosts {
		if i%3 == 0 {
			c.Spec.Hosts[i].Arch = spec.ARM
		}
	}
	plans := plansOf(t, c, nil)
	arches := map[spec.Arch]int{}
	for _, p := range plans {
		arches[p.Arch]++
	}
	if plans[0].Arch != spec.X86 || arches[spec.X86] < 2 || arches[spec.ARM] < 1 {
		t.Errorf("%v", arches)
	}
	was, arm := whose(plans), map[string]bool{}
	for _, h := range c.Spec.Hosts {
		arm[h.Name] = h.Arch == spec.ARM
	}
	for i := range plans { // one after the other is missing
		have := made(slices.Delete(slices.Clone(plans), i, i+1)...)
		again := plansOf(t, c, have)
		for name, env := range whose(again) {
			if was[name] != plans[i].Name && was[name] != env {
				t.Fatalf("without %s: %s was in %s and is in %s", plans[i].Name, name, was[name], env)
			}
		}
		for _, p := range again {
			for _, name := range p.Hosts {
				if arm[name] != (p.Arch == spec.ARM) {
					t.Fatalf("%s boots an image for %s", name, p.Arch)
				}
			}
		}
	}
}

// FuzzStaticNetworkSize has any text for a network: there is always a size, and
// more text never makes it less than nothing.
func FuzzStaticNetworkSize(f *testing.F) {
	f.Add("interfaces:\n- name: eth0\n  type: ethernet\n", "eth0", "52:54:00:00:00:01")
	f.Add(`{"interfaces":[{"name":"eth0","ipv6":{"address":[{"ip":"fd10::1"}]}}]}`, "", "")
	f.Add("a: [b, {c: \"d:e\"}]\n# f\n- g", "h", "i")
	f.Fuzz(func(t *testing.T, document, name, address string) {
		network := model.StaticNetwork{YAML: document, MACs: []spec.NIC{{MAC: address, Name: name}}}
		one := sizeOf([]model.StaticNetwork{network})
		if two := sizeOf([]model.StaticNetwork{network, network}); one <= 0 || two < one {
			t.Errorf("one takes %d bytes, two take %d", one, two)
		}
	})
}

// BenchmarkInfraEnvPlans4000 measures the networks of 4,000 hosts.
func BenchmarkInfraEnvPlans4000(b *testing.B) {
	const bound = time.Second
	c := staticCluster(4000, true)
	for _, have := range []string{"none", "all"} {
		b.Run(have, func(b *testing.B) {
			var envs []model.InfraEnv
			if have == "all" {
				envs = made(plansOf(b, c, nil)...)
			}
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				plansOf(b, c, envs)
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			if median := took[len(took)/2]; median > bound {
				b.Errorf("4,000 hosts take %s; the bound is %s", median, bound)
			}
		})
	}
}

// TestHeldBy: of several InfraEnvs of one architecture, one is for the hosts whose networks it holds, or, like them, for
// none.
func TestHeldBy(t *testing.T) {
	settings := func(yaml string) model.Settings {
		if yaml == "" {
			return model.Settings{}
		}
		return model.Settings{model.SettingStaticNetworks: model.ValueOf([]model.StaticNetwork{{YAML: yaml}})}
	}
	for name, test := range map[string]struct {
		want, have string
		held       bool
	}{
		"neither has networks": {"", "", true},
		"only the plan":        {"a: 1", "", false},
		"only the InfraEnv":    {"", "a: 1", false},
		"the same":             {"a: 1", "a: 1", true},
		"others":               {"a: 1", "b: 1", false},
	} {
		plan := model.InfraEnvPlan{Name: "lab", Settings: settings(test.want)}
		got := infraenv.HeldBy(&plan, &model.InfraEnv{Settings: settings(test.have)}, []model.InfraEnvPlan{plan, {Name: "lab-2"}})
		if got != test.held {
			t.Errorf("%s: held %v", name, got)
		}
	}
}
