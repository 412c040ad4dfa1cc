package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestImageOfAddedNodes is the one that the cluster was installed with, but where that
// cannot serve.
func TestImageOfAddedNodes(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *decidetest.World, c *spec.Cluster)
		made   string // the InfraEnv that is registered
		writes string // keys of all that is written
	}{
		"serves":  {change: func(*decidetest.World, *spec.Cluster) {}},
		"deleted": {func(w *decidetest.World, _ *spec.Cluster) { w.Observed.InfraEnvs = nil }, "lab", "infraenv/lab/register"},
		"of another architecture": {func(w *decidetest.World, c *spec.Cluster) {
			c.Spec.OpenShift.Arch = spec.X86
			w.Observed.InfraEnvs[0].Settings[model.SettingArch] = model.ValueOf("arm64")
		}, "lab-2", "infraenv/lab-2/register"},
		"of another version": {func(w *decidetest.World, c *spec.Cluster) {
			c.Spec.Discovery.OSVersion = "4.22"
		}, "lab-2", "infraenv/lab-2/register"},
		"of a cluster that was updated since": {func(w *decidetest.World, _ *spec.Cluster) {
			w.Spoke, w.Observed.Cluster.Version = decidetest.NewSpoke(), ""
			w.Spoke.Seen.Version = "4.21.3"
		}, "lab-2", "infraenv/lab-2/register"},
		"of the same version": {change: func(w *decidetest.World, c *spec.Cluster) { c.Spec.Discovery.OSVersion = "4.20" }},
		"holds a machine that was lost in the install": {func(w *decidetest.World, _ *spec.Cluster) {
			w.Host("host-worker-0").State = model.HostFailed
		}, "lab-2", "infraenv/lab-2/register"},
		"lacks the network of the new machine": {func(_ *decidetest.World, c *spec.Cluster) {
			c.Spec.Hosts[4].Net = &spec.HostNet{IP: "192.168.127.50/24", DNS: []string{"192.168.127.1"}}
		}, "", "infraenv/lab/update"},
	} {
		t.Run(name, func(t *testing.T) {
			c := decidetest.Sample(3, 2)
			w := decidetest.InstalledWithout(t, c, false)
			w.Desired.Options.AddNodes, w.Observed.Cluster.State = true, model.ClusterAddingHosts
			if w.Observed.InfraEnvs[0].Settings[model.SettingArch] == "" {
				w.Observed.InfraEnvs[0].Settings[model.SettingArch] = model.ValueOf("x86_64")
			}
			test.change(w, c)
			plan := w.Decide()
			var made string
			for _, a := range plan.Actions {
				if a.Kind == model.RegisterInfraEnv {
					made = a.Name
				}
			}
			if made != test.made || strings.Join(decidetest.Keys(plan.Actions), " ") != test.writes || len(plan.Blockers) > 0 {
				t.Errorf("actions %v, blockers %+v; want %q", decidetest.Keys(plan.Actions), plan.Blockers, test.writes)
			}
		})
	}
}

// TestLiveSystemOfLaterHosts: the version of the live system is for those that are
// added, not for those that the cluster is installed with.
func TestLiveSystemOfLaterHosts(t *testing.T) {
	c := decidetest.Sample(3, 2)
	c.Spec.Discovery.OSVersion = "4.21"
	w := decidetest.InstalledWithout(t, c, false)
	for _, env := range w.Observed.InfraEnvs {
		if env.Settings[model.SettingOSVersion] != "" || env.Settings[model.SettingVersion].Text() != "4.20" {
			t.Errorf("installed from %s", env.Settings)
		}
	}
	w.Absent, w.Desired.Options.AddNodes = "", true
	w.Observed.Cluster.State = model.ClusterAddingHosts
	w.Rest(t)
	if i := slices.IndexFunc(w.Writes, func(a model.Action) bool { return a.Kind == model.RegisterInfraEnv }); i < 0 ||
		w.Writes[i].Settings[model.SettingOSVersion].Text() != "4.21" {
		t.Errorf("writes %v", decidetest.Keys(w.Writes))
	}
}

// TestNodesKeepNetworks: the networks of machines that another file has added, and that
// may have yet to boot, stay in the image; those of its own hosts are the file's.
func TestNodesKeepNetworks(t *testing.T) {
	static := func(name, mac, ip string) spec.Host {
		return spec.Host{Name: name, Match: spec.Match{MAC: mac}, Net: &spec.HostNet{IP: ip + "/24"}}
	}
	w := decidetest.Grown(t, false, static("w-5", "52:54:00:00:05:05", "192.168.127.55"))
	w.Dark = func(string) bool { return true }
	networks := func() string {
		t.Helper()
		w.Rest(t)
		var all []model.StaticNetwork
		must.Do(t, w.Observed.InfraEnvs[0].Settings[model.SettingStaticNetworks].Decode(&all))
		var texts []string
		for _, n := range all {
			for _, ip := range []string{"192.168.127.55", "192.168.127.56", "192.168.127.65"} {
				if strings.Contains(n.YAML, ip) {
					texts = append(texts, ip)
				}
			}
		}
		slices.Sort(texts)
		return fmt.Sprint(len(all), texts)
	}
	check.Equal(t, networks(), "1 [192.168.127.55]", "of w-5")
	w.Desired.Spec = decidetest.NodesOf(t, static("w-6", "52:54:00:00:05:06", "192.168.127.56"))
	check.Equal(t, networks(), "2 [192.168.127.55 192.168.127.56]", "of w-6")
	w.Desired.Spec = decidetest.NodesOf(t, static("w-5", "52:54:00:00:05:05", "192.168.127.65"))
	check.Equal(t, networks(), "2 [192.168.127.56 192.168.127.65]", "of w-5 with another address")
	if plan := w.Decide(); len(plan.Actions) > 0 {
		t.Errorf("there is more to do: %v", decidetest.Keys(plan.Actions))
	}
}

// The machine is waited for by the name of its own image, once that is there.
func TestWaitForTheHostOfAnInfraEnv(t *testing.T) {
	w := decidetest.NewWorld(&model.Desired{Spec: decidetest.WithOwn(decidetest.Sample(3, 0), map[string]string{"cp-1": "b"})})
	w.Dark = func(string) bool { return true }
	w.Live(t, 2)
	w.InfraEnv("infraenv-b").Image.State = model.ImagePending
	waits := func(host string) string {
		for _, x := range w.Decide().Waits {
			if x.Key == "host/"+host+"/register" {
				return x.Next.String()
			}
		}
		return ""
	}
	if shared, own := waits("cp-0"), waits("cp-1"); shared != "oaictl download iso lab" || own != "" {
		t.Errorf("shared %q, own %q", shared, own)
	}
	w.InfraEnv("infraenv-b").Image.State = model.ImageReady
	check.Equal(t, waits("cp-1"), "oaictl download iso --infra-env b", "own")
	env, found := decide.NewSnapshot(w.Desired, &w.Observed).InfraEnv("cp-1")
	if !found || env.Name != "b" {
		t.Errorf("cp-1 boots %q", env.Name)
	}
}

// A host that is added boots its own image, which is made for it, and kept.
func TestAddingTheHostOfAnInfraEnv(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(w *decidetest.World)
		writes  string // keys of what is written first
		blocked string
	}{
		"made for it": {writes: "infraenv/b/register"},
		"made for it, of the version that is asked for": {writes: "infraenv/b/register", change: func(w *decidetest.World) {
			w.Desired.Spec.Spec.Discovery.OSVersion = "4.22"
		}},
		"there, with another live system": {writes: "infraenv/b/update", change: func(w *decidetest.World) {
			w.Has("b")
			w.Desired.Spec.Spec.Discovery.OSVersion = "4.22"
		}},
		"there, with the same": {change: func(w *decidetest.World) {
			w.Has("b")
			w.Desired.Spec.Spec.Discovery.OSVersion = "4.20"
		}},
		"there, of the minor version, which is all that a service keeps": {change: func(w *decidetest.World) {
			w.Has("b")
			w.Desired.Spec.Spec.OpenShift.Version = "4.20.5"
		}},
		"there, of another architecture": {blocked: "InfraEnvUnfit", change: func(w *decidetest.World) {
			w.Has("b").Settings[model.SettingArch] = model.ValueOf("arm64")
			w.Desired.Spec.Spec.OpenShift.Arch = spec.X86
		}},
	} {
		w := decidetest.InstalledWithout(t, decidetest.Sample(3, 2), false)
		decidetest.WithOwn(w.Desired.Spec, map[string]string{"worker-1": "b"})
		w.Desired.Options.AddNodes, w.Observed.Cluster.State = true, model.ClusterAddingHosts
		if test.change != nil {
			test.change(w)
		}
		plan := w.Decide()
		blocked := ""
		if len(plan.Blockers) > 0 {
			blocked = plan.Blockers[0].Reason
		}
		if got := strings.Join(decidetest.Keys(plan.Actions), " "); got != test.writes || blocked != test.blocked {
			t.Errorf("%s: actions %s, blockers %+v", name, got, plan.Blockers)
			continue
		}
		if w.Absent = ""; blocked != "" {
			continue
		}
		w.Live(t, 20)
		if end := w.Decide(); end.Verdict != model.VerdictInstalled || !slices.Equal(end.Added, []string{"worker-1"}) ||
			w.Host("host-worker-1").InfraEnvID != "infraenv-b" {
			t.Errorf("%s: %+v", name, end)
		}
	}
}
