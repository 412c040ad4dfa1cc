package install_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/setting"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestDriftAfterTheStart is told of the cluster, its images and its hosts, once
// each, and nothing is written.
func TestDriftAfterTheStart(t *testing.T) {
	for _, state := range []model.ClusterState{model.ClusterInstalling, model.ClusterInstalled} {
		c := sample(3, 0)
		c.Spec.Network.Defaults.NTP = []string{"old.example.com"}
		c.Spec.Network.MTU, c.Spec.FIPS = 1400, new(bool)
		c.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
		c.Spec.Hosts[1].Labels = map[string]string{"rack": "a"}
		w := readyWorld(t, c)
		w.observed.Cluster.State = state
		if plan := w.decide(); len(plan.Warnings) > 0 {
			t.Errorf("%s: nothing was edited, and yet: %+v", state, plan.Warnings)
		}
		c.Spec.Network.Defaults.NTP = []string{"new.example.com"} // of cluster and image: told once
		fips := true
		c.Spec.Network.MTU, c.Spec.FIPS = 1500, &fips
		c.Spec.Discovery.KernelArgs = []string{"console=ttyS1"}
		c.Spec.Hosts[1].Labels = map[string]string{"rack": "b"}
		plan := w.decide()
		var told []string
		for _, x := range plan.Warnings {
			told = append(told, string(x.Scope)+" "+strings.Fields(x.Message)[0])
		}
		slices.Sort(told)
		want := []string{
			"cluster spec.network.defaults.ntp", "cluster spec.overrides.installConfig", "cluster the",
			"host/cp-1 spec.hosts[cp-1].labels", "infraenv/lab spec.discovery.kernelArgs",
		}
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %q; want %q", state, told, want)
		}
		for _, a := range plan.Actions {
			if !strings.HasPrefix(string(a.Kind), "Save") {
				t.Errorf("%s: %s is written", state, a.Key)
			}
		}
	}
}

// TestImmutableSettingsOfImages are reported where they differ, and not where
// the service does not say what they are: a release given by its digest has no
// version.
func TestImmutableSettingsOfImages(t *testing.T) {
	for name, test := range map[string]struct {
		version model.Value
		told    bool
	}{"the same": {model.ValueOf("4.20.1"), false}, "another": {model.ValueOf("4.19.1"), true}, "not said": {"", false}} {
		w := readyWorld(t, sample(3, 0))
		env := &w.observed.InfraEnvs[0]
		delete(env.Settings, model.SettingVersion)
		if test.version != "" {
			env.Settings[model.SettingVersion] = test.version
		}
		plan := w.decide()
		told := slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool {
			return strings.HasPrefix(string(x.Scope), "infraenv/") && strings.Contains(x.Message, string(model.SettingVersion))
		})
		if told != test.told || !hasKind(plan, model.StartInstall) {
			t.Errorf("%s: %+v", name, plan)
		}
	}
}

// TestRolesWithHyperthreading mean the same without arbiters whether those are
// among them or not.
func TestRolesWithHyperthreading(t *testing.T) {
	one := 1
	for name, test := range map[string]struct {
		roles    spec.RoleSet
		have     spec.RoleSet
		arbiters bool
		same     bool
	}{
		"all there are":          {spec.RoleSet{"control-plane", "worker"}, spec.RoleSet{"all"}, false, true},
		"the other way round":    {spec.RoleSet{"all"}, spec.RoleSet{"control-plane", "worker"}, false, true},
		"with an arbiter":        {spec.RoleSet{"control-plane", "worker"}, spec.RoleSet{"all"}, true, false},
		"one that has not":       {spec.RoleSet{"control-plane"}, spec.RoleSet{"all"}, false, false},
		"an arbiter of nobody's": {spec.RoleSet{"arbiter"}, spec.RoleSet{"none"}, false, true},
	} {
		c := sample(3, 0)
		c.Spec.Hyperthreading = test.roles
		w := readyWorld(t, c)
		if test.arbiters {
			c.Spec.Topology.Arbiters = &one
		}
		w.observed.Cluster.Settings[model.SettingHyperthreading] = model.ValueOf(test.have)
		if differs := hasKind(w.decide(), model.UpdateCluster); differs == test.same {
			t.Errorf("%s: %+v", name, w.decide().Actions)
		}
		w.observed.Cluster.State = model.ClusterInstalling
		told := slices.ContainsFunc(w.decide().Warnings, func(x model.Warning) bool { return strings.Contains(x.Message, string(model.SettingHyperthreading)) })
		if told == test.same {
			t.Errorf("%s, too late: %+v", name, w.decide().Warnings)
		}
	}
}

// TestSettingsOfImagesOnly are never sent to the cluster of a service that does
// not keep them there, and still reach the images.
func TestSettingsOfImagesOnly(t *testing.T) {
	c := sample(3, 0)
	w := readyWorld(t, c)
	w.observed.Cluster.ImageOnly = []model.Setting{model.SettingExtraNTP}
	c.Spec.Network.Defaults.NTP = []string{"ntp.example.com"}
	w.desired.Options.Reimage = true
	if plan := w.decide(); hasKind(plan, model.UpdateCluster) || !hasKind(plan, model.UpdateInfraEnv) {
		t.Errorf("%+v", plan.Actions)
	}
}

// TestLastingSettings warns of what is taken away from a service that goes on with it,
// and of nothing else.
func TestLastingSettings(t *testing.T) {
	proxy := func(http, https, no string) model.Value {
		return model.ValueOf(spec.Proxy{HTTP: spec.ProxyURL(http), HTTPS: spec.ProxyURL(https), No: setting.Commas(no)})
	}
	for name, test := range map[string]struct {
		have model.Settings
		want func(*spec.ClusterSpec)
		told string // who goes on with it, "" for nobody
	}{
		"time servers, none": {model.Settings{model.SettingNTP: model.ValueOf([]string{"a"})}, func(s *spec.ClusterSpec) { s.Network.NTP = []string{} }, "and the service goes on with"},
		"more of them, none": {model.Settings{model.SettingExtraNTP: model.ValueOf([]string{"a"})}, func(s *spec.ClusterSpec) { s.Network.Defaults.NTP = []string{} }, "and the service goes on with"},
		"others":             {model.Settings{model.SettingNTP: model.ValueOf([]string{"a"})}, func(s *spec.ClusterSpec) { s.Network.NTP = []string{"b"} }, ""},
		"no proxy":           {model.Settings{model.SettingProxy: proxy("http://p", "", "")}, func(s *spec.ClusterSpec) { s.Proxy.No = []string{} }, "and the discovery image goes on with"},
		"half a proxy":       {model.Settings{model.SettingProxy: proxy("http://p", "http://p", "x")}, func(s *spec.ClusterSpec) { s.Proxy.HTTP, s.Proxy.No = "http://q", []string{"x"} }, "and the discovery image goes on with"},
		"another proxy":      {model.Settings{model.SettingProxy: proxy("http://p", "", "x")}, func(s *spec.ClusterSpec) { s.Proxy.HTTP, s.Proxy.No = "http://q", []string{"y"} }, ""},
		"arguments, none":    {model.Settings{model.SettingKernelArguments: model.ValueOf([]string{"a"})}, func(s *spec.ClusterSpec) { s.Discovery.KernelArgs = []string{} }, ""},
	} {
		c := sample(3, 0)
		test.want(&c.Spec)
		for _, lasting := range []bool{true, false} {
			w := readyWorld(t, c)
			w.desired.Options.Reimage = true
			maps.Copy(w.observed.InfraEnvs[0].Settings, test.have)
			if lasting {
				w.observed.Cluster.Lasting = []model.Setting{model.SettingProxy, model.SettingExtraNTP, model.SettingNTP}
			}
			plan := w.decide()
			told := slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool {
				return strings.HasPrefix(x.Key, "lasts/") && x.Next != "" && strings.Contains(x.Message, test.told)
			})
			if told != (lasting && test.told != "") || !hasKind(plan, model.UpdateInfraEnv) {
				t.Errorf("%s, lasting %v: warnings %+v, actions %v", name, lasting, plan.Warnings, keys(plan.Actions))
			}
		}
	}
}

// TestRivalThatIsKept stands in the way of what excludes it: the service would have both,
// and refuse every change from then on. Of what it refuses already there is a way back.
func TestRivalThatIsKept(t *testing.T) {
	for key, rival := range map[model.Setting]model.Setting{model.SettingNTP: model.SettingExtraNTP, model.SettingExtraNTP: model.SettingNTP} {
		for name, test := range map[string]struct {
			lasting bool
			image   model.ImageState
			told    bool
		}{"a hub": {true, model.ImageReady, true}, "no hub": {false, model.ImageReady, false}, "refused": {true, model.ImageFailed, false}} {
			c := sample(3, 0)
			only := map[model.Setting]*[]string{model.SettingNTP: &c.Spec.Network.NTP, model.SettingExtraNTP: &c.Spec.Network.Defaults.NTP}
			*only[key] = []string{"b"}
			w := readyWorld(t, c)
			w.desired.Options.Reimage = true
			for _, settings := range []model.Settings{w.observed.Cluster.Settings, w.observed.InfraEnvs[0].Settings} {
				delete(settings, key)
			}
			w.observed.InfraEnvs[0].Settings[rival] = model.ValueOf([]string{"a"})
			w.observed.InfraEnvs[0].Image.State, w.observed.InfraEnvs[0].Owned = test.image, true
			if test.lasting {
				w.observed.Cluster.Lasting = []model.Setting{model.SettingExtraNTP, model.SettingNTP}
				w.observed.Cluster.ImageOnly = []model.Setting{model.SettingExtraNTP}
			}
			plan := w.decide()
			writes := hasKind(plan, model.UpdateInfraEnv) || hasKind(plan, model.UpdateCluster)
			if hasReason(plan, "RivalKept") != test.told || writes == test.told {
				t.Errorf("%s after %s, %s: actions %v, blockers %+v", key, rival, name, keys(plan.Actions), plan.Blockers)
			}
			if test.told && !strings.Contains(plan.Next.String(), "oaictl delete cluster lab") {
				t.Errorf("%s after %s: next %q", key, rival, plan.Next)
			}
		}
	}
}

// TestLastingSettingsOfWhatIsInstalled are no reason to delete a cluster that runs.
func TestLastingSettingsOfWhatIsInstalled(t *testing.T) {
	c := sample(3, 2)
	w := installedWithout(t, c, false)
	w.desired.Options.AddNodes, w.observed.Cluster.State = true, model.ClusterAddingHosts
	w.observed.Cluster.Lasting = []model.Setting{model.SettingExtraNTP, model.SettingNTP}
	w.observed.InfraEnvs[0].Settings[model.SettingNTP] = model.ValueOf([]string{"a"})
	for name, change := range map[string]func(){
		"emptied":    func() { c.Spec.Network.NTP = []string{} },
		"the others": func() { c.Spec.Network.NTP, c.Spec.Network.Defaults.NTP = nil, []string{"b"} },
	} {
		change()
		plan := w.decide()
		var next []string
		for _, x := range plan.Warnings {
			next = append(next, x.Next.String())
		}
		for _, x := range plan.Blockers {
			next = append(next, x.Remedy.String())
		}
		if all := strings.Join(next, "\n"); strings.Count(all, "undo the change") != len(next) || strings.Contains(all, "delete cluster") {
			t.Errorf("%s: %q", name, all)
		}
	}
}

// TestImageThatNobodyHasToBoot may fail, end or still be made.
func TestImageThatNobodyHasToBoot(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	for _, image := range []model.Image{
		{State: model.ImageFailed, Info: "no space"}, {State: model.ImagePending}, {State: model.ImageReady, Expires: w.observed.At},
	} {
		w.observed.InfraEnvs[0].Image = image
		if plan := w.decide(); !hasKind(plan, model.StartInstall) {
			t.Errorf("%+v: actions %v, blockers %+v", image, keys(plan.Actions), plan.Blockers)
		}
	}
	w.observed.InfraEnvs[0].Image = model.Image{State: model.ImageFailed, Info: "no space"}
	w.observed.Hosts = w.observed.Hosts[1:]
	if plan := w.decide(); !hasReason(plan, "ImageFailed") {
		t.Errorf("an image that cp-0 has still to boot failed: %+v", plan)
	}
}

// TestReimageNamesWhoHasToBoot: nobody else will.
func TestReimageNamesWhoHasToBoot(t *testing.T) {
	w := readyWorld(t, sample(3, 0))
	w.desired.Spec.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
	if plan := w.decide(); !hasReason(plan, "NewImageNeeded") || len(plan.Actions) > 0 {
		t.Errorf("without --reimage: %+v", plan)
	}
	w.desired.Options.Reimage = true
	plan := w.decide()
	if !hasKind(plan, model.UpdateInfraEnv) || len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0].Message, "cp-0, cp-1, cp-2") {
		t.Errorf("with --reimage: %v, %+v", keys(plan.Actions), plan.Warnings)
	}
}

// TestLateWorkers count once they were added, and not before.
func TestLateWorkers(t *testing.T) {
	w := readyWorld(t, sample(3, 1))
	w.observed.Cluster.State = model.ClusterAddingHosts
	w.observed.Results = model.Results{NoIngress: true, Kubeconfig: true, Password: true}
	for i := range w.observed.Hosts {
		h := &w.observed.Hosts[i]
		h.State, h.Role = model.HostInstalled, spec.Role(h.Settings[model.SettingRole].Text())
	}
	late := &w.observed.Hosts[3]
	late.Day2 = true
	for state, verdict := range map[model.HostState]model.Verdict{
		model.HostReady: model.VerdictDegraded, model.HostInstalling: model.VerdictDegraded, model.HostAdded: model.VerdictInstalled,
	} {
		late.State = state
		if plan := w.decide(); plan.Verdict != verdict || (verdict == model.VerdictInstalled) != (len(plan.Missing) == 0) {
			t.Errorf("%s: verdict %s (%s), missing %v", state, plan.Verdict, plan.Message, plan.Missing)
		}
	}
}

// TestPlansHoldNoSecrets however they are printed.
func TestPlansHoldNoSecrets(t *testing.T) {
	c := sample(3, 0)
	c.Spec.PullSecret = spec.SourceOf(spec.NewSecret(`{"auths":{"hunter2":{}}}`))
	c.Spec.Proxy = spec.Proxy{HTTP: "http://user:hunter2@proxy.example.com:3128"}
	w := newWorld(&model.Desired{Spec: c, Options: model.Options{ResendSecrets: true}})
	for range 30 {
		plan := w.decide()
		asJSON, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range map[string]string{"%v": fmt.Sprintf("%v", plan), "%+v": fmt.Sprintf("%+v", plan), "%#v": fmt.Sprintf("%#v", plan), "JSON": string(asJSON)} {
			if strings.Contains(text, "hunter2") {
				t.Fatalf("as %s the plan holds a secret: %s", form, text)
			}
		}
		for _, a := range plan.Actions {
			if !strings.HasSuffix(a.Key, "/resend") {
				_ = w.apply(a)
			}
		}
		w.pass()
	}
}

// TestFaultsNameThePlaceInTheFile gives an error the place in the file that it belongs to.
func TestFaultsNameThePlaceInTheFile(t *testing.T) {
	text := `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  baseDomain: example.com
  openshift: {version: "4.20"}
  pullSecret: {env: PULL}
  topology: {controlPlane: 1}
  network: {machine: [192.168.127.0/24]}
  hosts:
    - name: cp-0
      match: {mac: "52:54:00:00:00:00"}
      disk:
        hints: {deviceName: /dev/none}
`
	c, err := spec.Parse(t.Context(), "cluster.yaml", []byte(text), spec.Env{LookupEnv: func(string) (string, bool) { return `{"auths":{"x":{"auth":"dTpw"}}}`, true }})
	if err != nil {
		t.Fatal(err)
	}
	p := &plane{world: newWorld(&model.Desired{Spec: c})}
	synctest.Test(t, func(t *testing.T) {
		_, took, err := runFor(t, p, false)
		if model.CodeOf(err) != model.CodeBlocked || !strings.Contains(err.Error(), "cluster.yaml:14:") || took < 5*time.Minute {
			t.Errorf("Run: %v (code %d) after %s", err, model.CodeOf(err), took)
		}
	})
}
