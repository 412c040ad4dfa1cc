package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install/internal/decide"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/internal/infraenv"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestImmutableSettingsOfImages are reported where they differ, and not where
// the service does not say what they are: a release given by its digest has no
// version.
func TestImmutableSettingsOfImages(t *testing.T) {
	for name, test := range map[string]struct {
		version model.Value
		told    bool
	}{"the same": {model.ValueOf("4.20.1"), false}, "another": {model.ValueOf("4.19.1"), true}, "not said": {"", false}} {
		w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		env := &w.Observed.InfraEnvs[0]
		delete(env.Settings, model.SettingVersion)
		if test.version != "" {
			env.Settings[model.SettingVersion] = test.version
		}
		plan := w.Decide()
		told := slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool {
			return strings.HasPrefix(string(x.Scope), "infraenv/") && strings.Contains(x.Message, string(model.SettingVersion))
		})
		if told != test.told || !decidetest.HasKind(plan, model.StartInstall) {
			t.Errorf("%s: %+v", name, plan)
		}
	}
}

// TestSettingsOfImagesOnly are never sent to the cluster of a service that does
// not keep them there, and still reach the images.
func TestSettingsOfImagesOnly(t *testing.T) {
	c := decidetest.Sample(3, 0)
	w := decidetest.ReadyWorld(t, c)
	w.Observed.Cluster.ImageOnly = []model.Setting{model.SettingExtraNTP}
	c.Spec.Network.Defaults.NTP = []string{"ntp.example.com"}
	w.Desired.Options.Reimage = true
	if plan := w.Decide(); decidetest.HasKind(plan, model.UpdateCluster) || !decidetest.HasKind(plan, model.UpdateInfraEnv) {
		t.Errorf("%+v", plan.Actions)
	}
}

// TestLastingSettings warns of what is taken away from a service that goes on with it,
// and of nothing else.
func TestLastingSettings(t *testing.T) {
	proxy := func(http, https, no string) model.Value {
		return model.ValueOf(spec.Proxy{HTTP: spec.ProxyURL(http), HTTPS: spec.ProxyURL(https), No: clustersettings.Commas(no)})
	}
	for name, test := range map[string]struct {
		have model.Settings
		want func(*spec.ClusterSpec)
		told string // what goes on with it, "" for none
	}{
		"time servers, none": {model.Settings{model.SettingNTP: model.ValueOf([]string{"a"})},
			func(s *spec.ClusterSpec) { s.Network.NTP = []string{} }, "but the service still uses"},
		"more of them, none": {model.Settings{model.SettingExtraNTP: model.ValueOf([]string{"a"})},
			func(s *spec.ClusterSpec) { s.Network.Defaults.NTP = []string{} }, "but the service still uses"},
		"others": {model.Settings{model.SettingNTP: model.ValueOf([]string{"a"})},
			func(s *spec.ClusterSpec) { s.Network.NTP = []string{"b"} }, ""},
		"no proxy": {model.Settings{model.SettingProxy: proxy("http://p", "", "")},
			func(s *spec.ClusterSpec) { s.Proxy.No = []string{} }, "but the discovery image still uses"},
		"half a proxy": {model.Settings{model.SettingProxy: proxy("http://p", "http://p", "x")},
			func(s *spec.ClusterSpec) { s.Proxy.HTTP, s.Proxy.No = "http://q", []string{"x"} }, "but the discovery image still uses"},
		"another proxy": {model.Settings{model.SettingProxy: proxy("http://p", "", "x")}, func(s *spec.ClusterSpec) {
			s.Proxy.HTTP, s.Proxy.No = "http://q", []string{"y"}
		}, ""},
		"arguments, none": {model.Settings{model.SettingKernelArguments: model.ValueOf([]string{"a"})},
			func(s *spec.ClusterSpec) { s.Discovery.KernelArgs = []string{} }, ""},
	} {
		c := decidetest.Sample(3, 0)
		test.want(&c.Spec)
		for _, lasting := range []bool{true, false} {
			w := decidetest.ReadyWorld(t, c)
			w.Desired.Options.Reimage = true
			maps.Copy(w.Observed.InfraEnvs[0].Settings, test.have)
			if lasting {
				w.Observed.Cluster.Lasting = []model.Setting{model.SettingProxy, model.SettingExtraNTP, model.SettingNTP}
			}
			plan := w.Decide()
			told := slices.ContainsFunc(plan.Warnings, func(x model.Warning) bool {
				return strings.HasPrefix(x.Key, "lasts/") && x.Next != "" && strings.Contains(x.Message, test.told)
			})
			if told != (lasting && test.told != "") || !decidetest.HasKind(plan, model.UpdateInfraEnv) {
				t.Errorf("%s, lasting %v: warnings %+v, actions %v", name, lasting, plan.Warnings, decidetest.Keys(plan.Actions))
			}
		}
	}
}

// TestRivalThatIsKept blocks the setting that excludes it: the service would have both, and refuse every change from
// then on. If the service refuses both already, there is a way back.
func TestRivalThatIsKept(t *testing.T) {
	for key, rival := range map[model.Setting]model.Setting{model.SettingNTP: model.SettingExtraNTP,
		model.SettingExtraNTP: model.SettingNTP} {
		for name, test := range map[string]struct {
			lasting bool
			image   model.ImageState
			told    bool
		}{"a hub": {true, model.ImageReady, true}, "no hub": {false, model.ImageReady, false},
			"refused": {true, model.ImageFailed, false}} {
			c := decidetest.Sample(3, 0)
			only := map[model.Setting]*[]string{model.SettingNTP: &c.Spec.Network.NTP, model.SettingExtraNTP: &c.Spec.Network.Defaults.NTP}
			*only[key] = []string{"b"}
			w := decidetest.ReadyWorld(t, c)
			w.Desired.Options.Reimage = true
			for _, settings := range []model.Settings{w.Observed.Cluster.Settings, w.Observed.InfraEnvs[0].Settings} {
				delete(settings, key)
			}
			w.Observed.InfraEnvs[0].Settings[rival] = model.ValueOf([]string{"a"})
			w.Observed.InfraEnvs[0].Image.State, w.Observed.InfraEnvs[0].Owned = test.image, true
			if test.lasting {
				w.Observed.Cluster.Lasting = []model.Setting{model.SettingExtraNTP, model.SettingNTP}
				w.Observed.Cluster.ImageOnly = []model.Setting{model.SettingExtraNTP}
			}
			plan := w.Decide()
			writes := decidetest.HasKind(plan, model.UpdateInfraEnv) || decidetest.HasKind(plan, model.UpdateCluster)
			if decidetest.HasReason(plan, "RivalKept") != test.told || writes == test.told {
				t.Errorf("%s after %s, %s: actions %v, blockers %+v", key, rival, name, decidetest.Keys(plan.Actions), plan.Blockers)
			}
			if test.told && !strings.Contains(plan.Next.String(), "oaictl delete cluster lab") {
				t.Errorf("%s after %s: next %q", key, rival, plan.Next)
			}
		}
	}
}

// TestLastingSettingsOfWhatIsInstalled are no reason to delete a cluster that runs.
func TestLastingSettingsOfWhatIsInstalled(t *testing.T) {
	c := decidetest.Sample(3, 2)
	w := decidetest.InstalledWithout(t, c, false)
	w.Desired.Options.AddNodes, w.Observed.Cluster.State = true, model.ClusterAddingHosts
	w.Observed.Cluster.Lasting = []model.Setting{model.SettingExtraNTP, model.SettingNTP}
	w.Observed.InfraEnvs[0].Settings[model.SettingNTP] = model.ValueOf([]string{"a"})
	for name, change := range map[string]func(){
		"emptied":    func() { c.Spec.Network.NTP = []string{} },
		"the others": func() { c.Spec.Network.NTP, c.Spec.Network.Defaults.NTP = nil, []string{"b"} },
	} {
		change()
		plan := w.Decide()
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

// TestImageThatNoHostHasToBoot may fail, end or still be made.
func TestImageThatNoHostHasToBoot(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	for _, image := range []model.Image{
		{State: model.ImageFailed, Info: "no space"}, {State: model.ImagePending}, {State: model.ImageReady, Expires: w.Observed.At},
	} {
		w.Observed.InfraEnvs[0].Image = image
		if plan := w.Decide(); !decidetest.HasKind(plan, model.StartInstall) {
			t.Errorf("%+v: actions %v, blockers %+v", image, decidetest.Keys(plan.Actions), plan.Blockers)
		}
	}
	w.Observed.InfraEnvs[0].Image = model.Image{State: model.ImageFailed, Info: "no space"}
	w.Observed.Hosts = w.Observed.Hosts[1:]
	if plan := w.Decide(); !decidetest.HasReason(plan, "ImageFailed") {
		t.Errorf("an image that cp-0 has still to boot failed: %+v", plan)
	}
}

// TestReimageNamesWhoHasToBoot: no other host has to.
func TestReimageNamesWhoHasToBoot(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Desired.Spec.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
	if plan := w.Decide(); !decidetest.HasReason(plan, "NewImageNeeded") || len(plan.Actions) > 0 {
		t.Errorf("without --reimage: %+v", plan)
	}
	w.Desired.Options.Reimage = true
	plan := w.Decide()
	if !decidetest.HasKind(plan, model.UpdateInfraEnv) || len(plan.Warnings) != 1 ||
		!strings.Contains(plan.Warnings[0].Message, "cp-0, cp-1, cp-2") {
		t.Errorf("with --reimage: %v, %+v", decidetest.Keys(plan.Actions), plan.Warnings)
	}
}

// TestSharedNodeLabels are not a host's own where it has labels of its own, and
// changing them makes no new image.
func TestSharedNodeLabels(t *testing.T) {
	c := decidetest.Sample(1, 0)
	c.Spec.Hub.NodeLabels, c.Spec.Hosts[0].Labels = map[string]string{"site": "north"}, map[string]string{"rack": "a"}
	w := decidetest.ReadyWorld(t, c)
	check.Equal(t, w.Observed.Hosts[0].Settings[model.SettingLabels], model.ValueOf(map[string]string{"rack": "a"}), "labels")
	c.Spec.Hub.NodeLabels = map[string]string{"site": "south"}
	if plan := w.Decide(); len(plan.Blockers) > 0 || !slices.Equal(decidetest.Keys(plan.Actions), []string{"infraenv/lab/update"}) {
		t.Errorf("plan %+v", plan)
	}
	c.Spec.Hub.AgentLabels = map[string]string{"zone": "a"}
	if plan := w.Decide(); !decidetest.HasReason(plan, "NewImageNeeded") {
		t.Errorf("plan %+v", plan)
	}
}

// TestHostsThatRunAnOldImage are waited for by name, until each has booted the
// new one, and neither written to nor installed before.
func TestHostsThatRunAnOldImage(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Desired.Spec.Spec.Discovery.KernelArgs = []string{"console=ttyS0"}
	w.Desired.Spec.Spec.Hosts[0].Labels = map[string]string{"rack": "a"}
	w.Desired.Options.Reimage = true
	w.Rest(t)
	w.Desired.Options.Reimage = false // another run, without that option
	for left := 3; left > 0; left-- {
		plan := w.Decide()
		if len(plan.Actions) > 0 || plan.Verdict != model.VerdictWaiting {
			t.Fatalf("%d hosts run the old image: %s, %v", left, plan.Verdict, decidetest.Keys(plan.Actions))
		}
		var named []string
		for _, wait := range plan.Waits {
			if strings.Contains(wait.For, "still runs the old one") && wait.Who == model.WhoUser && wait.Next != "" &&
				wait.Since.Equal(w.Observed.InfraEnvs[0].Image.Created) {
				named = append(named, string(wait.Scope))
			}
		}
		if want := []string{"host/cp-0", "host/cp-1", "host/cp-2"}[:left]; !slices.Equal(named, want) {
			t.Fatalf("named %v, want %v", named, want)
		}
		w.Observed.At = w.Observed.At.Add(time.Minute)
		w.Observed.Hosts[left-1].Registered = w.Observed.At
	}
	w.Rest(t)
	if w.Count(model.UpdateHost) != 1 || w.Count(model.StartInstall) != 1 || w.Count(model.UpdateInfraEnv) != 1 {
		t.Errorf("wrote %v", decidetest.Keys(w.Writes))
	}
}

// TestOldImagesThatDoNotMatter are images of hosts of others, and of hosts about which nothing is known.
func TestOldImagesThatDoNotMatter(t *testing.T) {
	later := decidetest.Start().Add(100 * time.Hour)
	for name, change := range map[string]func(*model.Observed){
		"somebody else's":   func(o *model.Observed) { o.InfraEnvs[0].Owned, o.InfraEnvs[0].Image.Created = false, later },
		"image not dated":   func(o *model.Observed) { o.InfraEnvs[0].Image.Created = time.Time{} },
		"hosts not dated":   func(o *model.Observed) { o.InfraEnvs[0].Image.Created = later; undated(o) },
		"same moment":       func(o *model.Observed) { o.InfraEnvs[0].Image.Created = o.Hosts[0].Registered },
		"InfraEnv unlisted": func(o *model.Observed) { o.InfraEnvs[0].ID, o.InfraEnvs[0].Image.Created = "other", later },
	} {
		w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
		change(&w.Observed)
		if plan := w.Decide(); !decidetest.HasKind(plan, model.StartInstall) {
			t.Errorf("%s: %v, waits %+v", name, decidetest.Keys(plan.Actions), plan.Waits)
		}
	}
}

func undated(o *model.Observed) {
	for i := range o.Hosts {
		o.Hosts[i].Registered = time.Time{}
	}
}

// TestUnnamedHostsThatRunAnOldImage are waited for as well, and not bound.
func TestUnnamedHostsThatRunAnOldImage(t *testing.T) {
	c := decidetest.Sample(3, 0)
	c.Spec.AcceptUnknownHosts, c.Spec.InfraEnv.Bind = true, spec.BindLate
	c.Spec.Hosts = c.Spec.Hosts[:2]
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	w.Rest(t)
	w.Pass()
	stranger := decidetest.Machine("stranger", "52:54:00:ff:00:01", 7)
	stranger.State, stranger.Status, stranger.ClusterID, stranger.InfraEnvID = model.HostUnbound, "known-unbound", "",
		w.Observed.InfraEnvs[0].ID
	stranger.Registered = w.Observed.At
	w.Observed.Hosts = append(w.Observed.Hosts, stranger)
	w.Observed.InfraEnvs[0].Image.Created = w.Observed.At.Add(time.Second)
	if plan := w.Decide(); decidetest.HasKind(plan, model.BindHost) {
		t.Errorf("bound before it booted the new image: %v", decidetest.Keys(plan.Actions))
	}
	w.Observed.Hosts[2].Registered = w.Observed.At.Add(time.Minute)
	if plan := w.Decide(); !decidetest.HasKind(plan, model.BindHost) {
		t.Errorf("not bound after: %v, waits %+v", decidetest.Keys(plan.Actions), plan.Waits)
	}
	w.Observed.Hosts[2].Registered = w.Observed.At
	w.Observed.Hosts[2].State, w.Observed.Hosts[2].Status, w.Observed.Hosts[2].ClusterID = model.HostReady, "known", "cluster-1"
	plan := w.Decide()
	if !slices.ContainsFunc(plan.Waits, func(wait model.Wait) bool { return wait.Key == "host/host-stranger/new-image" }) {
		t.Errorf("nobody waits for it: %+v", plan.Waits)
	}
}

// TestPullSecretIsInTheImage: sending it again makes a new one, which hosts that
// have booted would have to boot.
func TestPullSecretIsInTheImage(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	w.Desired.Options.ResendSecrets = true
	plan := w.Decide()
	if decidetest.HasKind(plan, model.UpdateInfraEnv) || !decidetest.HasKind(plan, model.UpdateCluster) || len(plan.Warnings) != 1 ||
		!strings.Contains(plan.Warnings[0].Message, "cp-0, cp-1, cp-2") {
		t.Errorf("without --reimage: %v, %+v", decidetest.Keys(plan.Actions), plan.Warnings)
	}
	w.Desired.Options.Reimage = true
	if plan := w.Decide(); !decidetest.HasKind(plan, model.UpdateInfraEnv) || len(plan.Warnings) > 0 {
		t.Errorf("with --reimage: %v, %+v", decidetest.Keys(plan.Actions), plan.Warnings)
	}
}

const ownDiscovery = `apiVersion: oaictl.io/v1alpha1
kind: Cluster
metadata: {name: lab}
spec:
  openshift: {version: "4.20"}
  baseDomain: example.com
  pullSecret: {env: PULL}
  network: {machine: [192.168.127.0/24], vips: {api: [192.168.127.100], ingress: [192.168.127.101]}, defaults: {ntp: [ntp.example.com]}}
  discovery: {kernelArgs: [shared=1], networkDelay: 10s}
  hosts:
  - {name: cp-0, role: control-plane, match: {mac: "52:54:00:00:00:00"}}
  - {name: cp-1, role: control-plane, match: {infraEnv: b}}
  - {name: cp-2, role: control-plane, match: {infraEnv: c}, discovery: {kernelArgs: [own=1], image: minimal, ntp: [near.example.com]}}
`

func parsed(t *testing.T, text string) *spec.Cluster {
	t.Helper()
	env := spec.OSEnv()
	env.LookupEnv = func(string) (string, bool) { return `{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}`, true }
	return must.Get(spec.Parse(t.Context(), "cluster.yaml", []byte(text), env))(t)
}

// The image that serves one host has what that says of it, under the host's own fields, and else
// what the cluster says.
func TestSettingsOfOneImage(t *testing.T) {
	w := decidetest.NewWorld(&model.Desired{Spec: parsed(t, ownDiscovery)})
	w.Rest(t)
	for name, want := range map[string]string{
		"lab": "spec.discovery.kernelArgs: shared=1, spec.discovery.networkDelay: 10, spec.network.defaults.ntp: ntp.example.com, spec.openshift.version: 4.20",
		"b":   "spec.discovery.kernelArgs: shared=1, spec.discovery.networkDelay: 10, spec.network.defaults.ntp: ntp.example.com, spec.openshift.version: 4.20",
		"c":   "spec.discovery.networkDelay: 10, spec.hosts[cp-2].discovery.image: minimal, spec.hosts[cp-2].discovery.kernelArgs: own=1, spec.hosts[cp-2].discovery.ntp: near.example.com, spec.openshift.version: 4.20",
	} {
		var got []string
		for _, a := range w.Writes {
			if a.Kind != model.RegisterInfraEnv || a.Name != name {
				continue
			}
			for _, c := range a.Changes {
				got = append(got, c.Field+": "+c.To)
			}
		}
		check.Equal(t, strings.Join(got, ", "), want, name)
	}
}

// What changes of one image is written to that alone, and what of the cluster to those that have
// nothing of their own.
func TestOneImageChanges(t *testing.T) {
	for name, test := range map[string]struct {
		change [2]string
		booted bool
		writes string
		field  string // the field of the blocker
	}{
		"nothing":                  {},
		"of one image":             {change: [2]string{"own=1", "own=2"}, writes: "infraenv/c/update"},
		"of one image, and booted": {change: [2]string{"own=1", "own=2"}, booted: true, field: "spec.hosts[cp-2].discovery.kernelArgs"},
		"of all others":            {change: [2]string{"shared=1", "shared=2"}, writes: "infraenv/lab/update infraenv/b/update"},
		"of all, as none has it own": {change: [2]string{"networkDelay: 10s", "networkDelay: 20s"},
			writes: "infraenv/lab/update infraenv/b/update infraenv/c/update"},
	} {
		w := decidetest.NewWorld(&model.Desired{Spec: parsed(t, ownDiscovery)})
		w.Desired.Spec.Spec.Hold = true
		w.Dark = func(string) bool { return !test.booted }
		w.Live(t, 3)
		w.Desired = &model.Desired{Spec: parsed(t, strings.Replace(ownDiscovery, test.change[0], test.change[1], 1))}
		plan := w.Decide()
		field := ""
		if len(plan.Blockers) > 0 {
			field = plan.Blockers[0].Field
		}
		if got := strings.Join(decidetest.Keys(plan.Actions), " "); got != test.writes || field != test.field {
			t.Errorf("%s: actions %s, blockers %+v", name, got, plan.Blockers)
		}
	}
}

// Once the cluster is installed, such a difference is reported under the host's field, and once.
func TestOneImageDrifts(t *testing.T) {
	c := parsed(t, ownDiscovery)
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	w.Live(t, 40)
	if plan := w.Decide(); plan.Verdict != model.VerdictInstalled || len(plan.Warnings) > 0 {
		t.Fatalf("%s, warnings %+v", plan.Verdict, plan.Warnings)
	}
	w.InfraEnv("infraenv-c").Settings[model.SettingKernelArguments] = model.ValueOf([]string{"theirs=1"})
	w.InfraEnv("infraenv-b").Settings[model.SettingKernelArguments] = model.ValueOf([]string{"theirs=2"})
	var told []string
	for _, x := range w.Decide().Warnings {
		told = append(told, x.Message)
	}
	want := "spec.discovery.kernelArgs is shared=1 in the file and theirs=2 in the service; it cannot be changed after the installation was started\n" +
		"spec.hosts[cp-2].discovery.kernelArgs is own=1 in the file and theirs=1 in the service; it cannot be changed after the installation was started"
	if got := strings.Join(told, "\n"); got != want {
		t.Errorf("told\n%s\nwant\n%s", got, want)
	}
}

// wide is a cluster of ten hosts with so many routes that a few hosts fill an InfraEnv.
func wide() *spec.Cluster {
	c := decidetest.Sample(3, 7)
	for i := range c.Spec.Hosts {
		net := &spec.HostNet{IP: fmt.Sprintf("10.20.0.%d/16", 4+i), DNS: []string{"10.20.0.1"}}
		for j := range 1500 {
			x := uint32(1500*i+j) * 2654435761 // no two alike, and in no order
			destination := fmt.Sprintf("fd%02x:%04x:%02x::/64", x>>24, x>>8&0xffff, x&0xff)
			net.Routes = append(net.Routes, spec.Route{Destination: destination, Gateway: "fd10::1"})
		}
		c.Spec.Hosts[i].Net = net
	}
	return c
}

// TestDecideRegistersEverySplit: where the hosts need several InfraEnvs, each is registered, and each host boots its own.
func TestDecideRegistersEverySplit(t *testing.T) {
	t.Parallel()
	c := wide()
	w := decidetest.NewWorld(&model.Desired{Spec: c})
	w.Rest(t)
	plans := must.Get(infraenv.Plans(c, nil))(t)
	if got := w.Count(model.RegisterInfraEnv); got != len(plans) || len(w.Observed.InfraEnvs) != len(plans) || len(plans) < 2 {
		t.Errorf("%d InfraEnvs were registered, %d are planned", got, len(plans))
	}
	plans = must.Get(infraenv.Plans(c, w.Observed.InfraEnvs))(t)
	for _, name := range []string{"cp-0", "worker-6"} {
		env, known := decide.NewSnapshot(w.Desired, &w.Observed).InfraEnv(name)
		if !known || !slices.ContainsFunc(plans, func(p model.InfraEnvPlan) bool {
			return p.Name == env.Name && slices.Contains(p.Hosts, name)
		}) {
			t.Errorf("%s boots %q", name, env.Name)
		}
	}
	first, last := plans[0], plans[len(plans)-1]
	if slices.Contains(first.Hosts, "worker-6") || slices.Contains(last.Hosts, "cp-0") {
		t.Errorf("both hosts are in one of %d InfraEnvs", len(plans))
	}
}

// A node that is added to a cluster of several InfraEnvs boots the image that has its
// network.
func TestAddingANodeToASplitCluster(t *testing.T) {
	t.Parallel()
	w := decidetest.InstalledWithout(t, wide(), false)
	before := len(w.Observed.InfraEnvs)
	if before < 2 {
		t.Fatalf("%d InfraEnvs", before)
	}
	w.Absent, w.Desired.Options.AddNodes = "", true
	w.Live(t, 12)
	plan := w.Decide()
	if plan.Verdict != model.VerdictInstalled || !slices.Equal(plan.Added, []string{"worker-6"}) {
		t.Errorf("%s: %s", plan.Verdict, plan.Message)
	}
	if len(w.Observed.InfraEnvs) != before || w.Count(model.UpdateInfraEnv) != 0 {
		t.Errorf("writes %v", decidetest.Keys(w.Writes))
	}
}
