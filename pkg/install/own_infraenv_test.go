package install_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// withOwn gives hosts InfraEnvs of their own, by the names of the hosts.
func withOwn(c *spec.Cluster, envs map[string]string) *spec.Cluster {
	for host, env := range envs {
		c.Host(host).Match = spec.Match{InfraEnv: env}
	}
	return c
}

func planNames(plans []model.InfraEnvPlan) string {
	texts := make([]string, 0, len(plans))
	for _, p := range plans {
		texts = append(texts, p.Name+"="+strings.Join(p.Hosts, ","))
	}
	return strings.Join(texts, " ")
}

// An InfraEnv that serves one host stands beside those that hosts share, whatever it is called.
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
			own: map[string]string{"cp-0": "lab", "cp-1": "lab-2"}, have: []model.InfraEnv{{Name: "lab"}, {Name: "lab-2"}}, want: "lab-3=cp-2 lab=cp-0 lab-2=cp-1",
		},
	} {
		c := withOwn(sample(3, 0), test.own)
		c.Spec.AcceptUnknownHosts = test.accepts
		plans, err := install.InfraEnvPlans(c, test.have)
		if got := planNames(plans); err != nil || got != test.want {
			t.Errorf("%s: got %s, want %s (%v)", name, got, test.want, err)
		}
	}
}

// Such an InfraEnv has the architecture and the network of its host, and no other's.
func TestSettingsOfTheInfraEnvOfOneHost(t *testing.T) {
	c := withOwn(sample(3, 0), map[string]string{"cp-1": "b"})
	c.Spec.OpenShift.Arch = spec.Multi
	for i := range c.Spec.Hosts {
		c.Spec.Hosts[i].Net = &spec.HostNet{IP: "192.168.127.1" + string(rune('0'+i)) + "/24", MAC: "52:54:00:00:00:0" + string(rune('0'+i))}
	}
	c.Host("cp-1").Arch = spec.ARM
	plans, err := install.InfraEnvPlans(c, nil)
	if err != nil || len(plans) != 2 {
		t.Fatalf("%s (%v)", planNames(plans), err)
	}
	for i, want := range []string{"52:54:00:00:00:00 52:54:00:00:00:02", "52:54:00:00:00:01"} {
		var networks []model.StaticNetwork
		if err := plans[i].Settings[model.SettingStaticNetworks].Decode(&networks); err != nil {
			t.Fatal(err)
		}
		macs := make([]string, 0, len(networks))
		for _, n := range networks {
			macs = append(macs, setting.FirstMAC(n))
		}
		if got := strings.Join(macs, " "); got != want {
			t.Errorf("%s has the networks of %s, want %s", plans[i].Name, got, want)
		}
	}
	if plans[0].Arch != spec.X86 || plans[1].Arch != spec.ARM || plans[1].Settings[model.SettingArch].Text() != "arm64" {
		t.Errorf("architectures %s and %s", plans[0].Arch, plans[1].Arch)
	}
}

// A host is whatever machine registers from its InfraEnv, and only one.
func TestHostByItsInfraEnv(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *world)
		reason string // of the blocker, "" for none
		starts bool
	}{
		"its machine": {starts: true},
		"that and its MAC address": {starts: true, change: func(w *world) {
			w.desired.Spec.Host("cp-1").Match.MAC = "52:54:00:00:09:01"
		}},
		"another MAC address": {reason: "UnknownHost", change: func(w *world) {
			w.desired.Spec.Host("cp-1").Match.MAC = "52:54:00:00:00:77"
		}},
		"a second machine": {reason: "AmbiguousHost", change: func(w *world) {
			second := machine("second", "52:54:00:00:00:78", 7)
			second.InfraEnvID, second.State = "infraenv-b", model.HostReady
			w.observed.Hosts = append(w.observed.Hosts, second)
		}},
		"a machine of the shared image": {reason: "UnknownHost", change: func(w *world) {
			w.host("host-cp-1").InfraEnvID = "infraenv-lab"
		}},
		"the machine of another host": {reason: "AmbiguousHost", change: func(w *world) {
			w.observed.Hosts[slices.IndexFunc(w.observed.Hosts, func(h model.Host) bool { return h.ID == "host-cp-1" })].Inventory.Interfaces[0].MAC = "52:54:00:00:00:00"
		}},
	} {
		w := readyWorld(t, withOwn(sample(3, 0), map[string]string{"cp-1": "b"}))
		if test.change != nil {
			test.change(w)
		}
		plan := w.decide()
		reason := ""
		if len(plan.Blockers) > 0 {
			reason = plan.Blockers[0].Reason
		}
		if reason != test.reason || hasKind(plan, model.StartInstall) != test.starts {
			t.Errorf("%s: actions %v, blockers %+v", name, keys(plan.Actions), plan.Blockers)
		}
	}
}

// The machine is waited for by the name of its own image, once that is there.
func TestWaitForTheHostOfAnInfraEnv(t *testing.T) {
	w := newWorld(&model.Desired{Spec: withOwn(sample(3, 0), map[string]string{"cp-1": "b"})})
	w.dark = func(string) bool { return true }
	for range 2 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	w.infraEnv("infraenv-b").Image.State = model.ImagePending
	waits := func(host string) string {
		for _, x := range w.decide().Waits {
			if x.Key == "host/"+host+"/register" {
				return x.Next.String()
			}
		}
		return ""
	}
	if shared, own := waits("cp-0"), waits("cp-1"); shared != "oaictl download iso lab" || own != "" {
		t.Errorf("shared %q, own %q", shared, own)
	}
	w.infraEnv("infraenv-b").Image.State = model.ImageReady
	if own := waits("cp-1"); own != "oaictl download iso --infra-env b" {
		t.Errorf("own %q", own)
	}
	env, found := install.NewSnapshot(w.desired, &w.observed).InfraEnv("cp-1")
	if !found || env.Name != "b" {
		t.Errorf("cp-1 boots %q", env.Name)
	}
}

// A host that is added boots its own image, which is made for it, and kept.
func TestAddingTheHostOfAnInfraEnv(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(w *world)
		writes  string // keys of what is written first
		blocked string
	}{
		"made for it": {writes: "infraenv/b/register"},
		"made for it, of the version that is asked for": {writes: "infraenv/b/register", change: func(w *world) {
			w.desired.Spec.Spec.Discovery.OSVersion = "4.22"
		}},
		"there, with another live system": {writes: "infraenv/b/update", change: func(w *world) {
			w.has("b")
			w.desired.Spec.Spec.Discovery.OSVersion = "4.22"
		}},
		"there, with the same": {change: func(w *world) {
			w.has("b")
			w.desired.Spec.Spec.Discovery.OSVersion = "4.20"
		}},
		"there, of the minor version, which is all that a service keeps": {change: func(w *world) {
			w.has("b")
			w.desired.Spec.Spec.OpenShift.Version = "4.20.5"
		}},
		"there, of another architecture": {blocked: "InfraEnvUnfit", change: func(w *world) {
			w.has("b").Settings[model.SettingArch] = model.ValueOf("arm64")
			w.desired.Spec.Spec.OpenShift.Arch = spec.X86
		}},
	} {
		w := installedWithout(t, sample(3, 2), false)
		withOwn(w.desired.Spec, map[string]string{"worker-1": "b"})
		w.desired.Options.AddNodes, w.observed.Cluster.State = true, model.ClusterAddingHosts
		if test.change != nil {
			test.change(w)
		}
		plan := w.decide()
		blocked := ""
		if len(plan.Blockers) > 0 {
			blocked = plan.Blockers[0].Reason
		}
		if got := strings.Join(keys(plan.Actions), " "); got != test.writes || blocked != test.blocked {
			t.Errorf("%s: actions %s, blockers %+v", name, got, plan.Blockers)
			continue
		}
		if w.absent = ""; blocked != "" {
			continue
		}
		for range 20 {
			if err := settle(w); err != nil {
				t.Fatal(err)
			}
			w.pass()
		}
		if end := w.decide(); end.Verdict != model.VerdictInstalled || !slices.Equal(end.Added, []string{"worker-1"}) || w.host("host-worker-1").InfraEnvID != "infraenv-b" {
			t.Errorf("%s: %+v", name, end)
		}
	}
}

// has is an InfraEnv of the cluster from before its installation.
func (w *world) has(name string) *model.InfraEnv {
	env := *w.infraEnv("infraenv-lab")
	env.ID, env.Name, env.Settings = "infraenv-"+name, name, model.Settings{model.SettingVersion: model.ValueOf("4.20")}
	w.observed.InfraEnvs = append(w.observed.InfraEnvs, env)
	return &w.observed.InfraEnvs[len(w.observed.InfraEnvs)-1]
}
