package install_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// readyHub is a world of a service that asks for approvals and starts by
// itself, in which nothing but the start is left to do.
func readyHub(t *testing.T, c *spec.Cluster) *world {
	t.Helper()
	w := readyWorld(t, c)
	w.hub = true
	for i := range w.observed.Hosts {
		w.observed.Hosts[i].Settings[model.SettingApproved] = model.ValueOf(true)
	}
	return w
}

// What is advised after an install that failed or was cancelled is what the service does.
func TestAdviceAfterTheEnd(t *testing.T) {
	for _, state := range []model.ClusterState{model.ClusterFailed, model.ClusterCancelled} {
		for none, want := range map[bool]string{false: "oaictl reset cluster ", true: "oaictl delete cluster "} {
			w := readyWorld(t, sample(1, 0))
			w.observed.Cluster.State, w.observed.Cluster.NoReset = state, none
			plan := install.Decide(w.desired, &w.observed, model.Memory{}, w.observed.At)
			if !strings.Contains(plan.Next.String(), want) || strings.Contains(plan.Next.String(), "reset cluster") == none {
				t.Errorf("%s, no reset %v: %s", state, none, plan.Next)
			}
		}
	}
}

func actionOf(t *testing.T, plan model.Plan, kind model.Kind) model.Action {
	t.Helper()
	i := slices.IndexFunc(plan.Actions, func(a model.Action) bool { return a.Kind == kind })
	if i < 0 {
		t.Fatalf("no %s in %v; waits %+v, blockers %+v", kind, keys(plan.Actions), plan.Waits, plan.Blockers)
	}
	return plan.Actions[i]
}

// A host is approved in the same write that makes it what the file says, and
// only if the file names it.
func TestApproval(t *testing.T) {
	asked, granted := model.ValueOf(false), model.ValueOf(true)
	for name, test := range map[string]struct {
		approved model.Value // "": the service knows no approval
		change   func(*model.Host, *spec.Cluster)
		want     model.Settings // nil: nothing is written
	}{
		"with role and hostname": {approved: asked, want: model.Settings{
			model.SettingApproved: granted, model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf("cp-0"),
		}},
		"a service that knows none": {want: model.Settings{model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf("cp-0")}},
		"alone where the rest is so": {approved: asked, want: model.Settings{model.SettingApproved: granted}, change: func(h *model.Host, _ *spec.Cluster) {
			h.Settings[model.SettingRole], h.Settings[model.SettingHostname] = model.ValueOf("control-plane"), model.ValueOf("cp-0")
		}},
		"approved by somebody else": {approved: granted, want: model.Settings{model.SettingRole: model.ValueOf("control-plane"), model.SettingHostname: model.ValueOf("cp-0")}},
		"not before its inventory":  {approved: asked, change: func(h *model.Host, _ *spec.Cluster) { h.Inventory = model.Inventory{} }},
		"not while its disk is not found": {approved: asked, change: func(_ *model.Host, c *spec.Cluster) {
			c.Spec.Hosts[0].Disk.Hints.DeviceName = "/dev/none"
		}},
		"not what the file does not name": {approved: asked, change: func(_ *model.Host, c *spec.Cluster) { c.Spec.Hosts[0].Match.MAC = "52:54:00:00:00:99" }},
		"what the file accepts": {approved: asked, want: model.Settings{model.SettingApproved: granted}, change: func(_ *model.Host, c *spec.Cluster) {
			c.Spec.Hosts, c.Spec.AcceptUnknownHosts = nil, true
		}},
		"what the file accepts, before its inventory": {approved: asked, change: func(h *model.Host, c *spec.Cluster) {
			c.Spec.Hosts[0].Match.MAC, c.Spec.AcceptUnknownHosts, h.Inventory = "52:54:00:00:00:99", true, model.Inventory{}
		}},
	} {
		c := sample(1, 0)
		w := readyWorld(t, c)
		h := w.host("host-cp-0")
		h.Settings = model.Settings{}
		if test.approved != "" {
			h.Settings[model.SettingApproved] = test.approved
		}
		if test.change != nil {
			test.change(h, c)
		}
		var got model.Settings
		for _, a := range w.decide().Actions {
			if a.Kind == model.UpdateHost {
				got = a.Settings
			}
		}
		if got.String() != test.want.String() {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// A host that joins an installed cluster is installed by its approval, which is
// therefore the action that says so.
func TestApprovalIsWhatInstallsANewNode(t *testing.T) {
	w := installedWithout(t, sample(3, 1), true)
	w.absent, w.desired.Options.AddNodes = "", true
	for range 20 {
		if err := settle(w); err != nil {
			t.Fatal(err)
		}
		w.pass()
	}
	update, do := slices.IndexFunc(w.writes, func(a model.Action) bool { return a.Kind == model.UpdateHost }), slices.IndexFunc(w.writes, func(a model.Action) bool { return a.Kind == model.InstallHost })
	if update < 0 || do < update || values(w.writes[do].Settings) != "map[approved:true]" || !w.writes[do].Destructive {
		t.Errorf("writes %v", w.writes)
	}
	if plan := w.decide(); plan.Verdict != model.VerdictInstalled || !slices.Equal(plan.Added, []string{"worker-0"}) {
		t.Errorf("%+v", plan)
	}
}

// A held start is waited for, by the name of who holds it.
func TestHold(t *testing.T) {
	for name, test := range map[string]struct {
		file  bool
		other string
		keys  []string
	}{
		"nobody":        {},
		"the file":      {file: true, keys: []string{"cluster/hold"}},
		"somebody else": {other: "argocd", keys: []string{"cluster/hold/other"}},
		"both":          {file: true, other: "argocd", keys: []string{"cluster/hold", "cluster/hold/other"}},
	} {
		c := sample(3, 0)
		w := readyWorld(t, c)
		c.Spec.Hold, w.observed.Cluster.Hold, w.observed.Cluster.Unhold = test.file, test.other, "kubectl patch x"
		plan := w.decide()
		var held []string
		for _, x := range plan.Waits {
			held = append(held, x.Key)
			if x.Who != model.WhoUser || test.other != "" && x.Key != "cluster/hold" && (!strings.Contains(x.For, test.other) || x.Next != "kubectl patch x") {
				t.Errorf("%s: waits %+v", name, x)
			}
		}
		if diff := cmp.Diff(test.keys, held); diff != "" || hasKind(plan, model.StartInstall) != (test.keys == nil) {
			t.Errorf("%s: actions %v, waits %s", name, keys(plan.Actions), diff)
		}
	}
}

// What is counted at the start is what is there.
func TestCountsAtTheStart(t *testing.T) {
	for name, test := range map[string]struct {
		controlPlane, workers int
		missing, strangers    int
		want                  string
	}{
		"all":                   {controlPlane: 3, workers: 2, want: "map[spec.topology.arbiters:0 spec.topology.controlPlane:3 spec.topology.workers:2]"},
		"a worker is missing":   {controlPlane: 3, workers: 2, missing: 1, want: "map[spec.topology.arbiters:0 spec.topology.controlPlane:3 spec.topology.workers:1]"},
		"single node":           {controlPlane: 1, want: "map[spec.topology.arbiters:0 spec.topology.controlPlane:1 spec.topology.workers:0]"},
		"accepted, not counted": {controlPlane: 3, workers: 1, strangers: 2, want: "map[spec.topology.arbiters:0 spec.topology.controlPlane:3 spec.topology.workers:3]"},
	} {
		c := sample(test.controlPlane, test.workers)
		w := readyHub(t, c)
		if test.missing > 0 {
			none := 0
			c.Spec.Topology.Required = spec.Required{Workers: &none, Within: spec.Duration(time.Minute)}
			w.observed.Hosts = w.observed.Hosts[:len(w.observed.Hosts)-test.missing]
			w.observed.At = w.observed.At.Add(time.Hour)
		}
		for i := range test.strangers {
			c.Spec.AcceptUnknownHosts = true
			*c.Spec.Topology.Workers++
			stranger := machine("stranger"+string(rune('0'+i)), "52:54:00:ff:ff:0"+string(rune('0'+i)), 90+i)
			stranger.State, stranger.Settings[model.SettingApproved] = model.HostReady, model.ValueOf(true)
			stranger.Registered = w.observed.At
			w.observed.Hosts = append(w.observed.Hosts, stranger)
		}
		if got := values(actionOf(t, w.decide(), model.StartInstall).Settings); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// How many machines of the control plane there are may change until the install
// starts where the service takes it, and nowhere else.
func TestControlPlaneThatChanges(t *testing.T) {
	for name, test := range map[string]struct {
		registered, file [3]int // control plane, arbiters, workers
		rest             bool
		state            model.ClusterState
		want             string // the change, "" for none
		told             []string
	}{
		"more":                        {registered: [3]int{3, 0, 0}, file: [3]int{5, 0, 0}, want: "spec.topology.controlPlane: 3 → 5"},
		"less":                        {registered: [3]int{5, 0, 1}, file: [3]int{3, 0, 1}, want: "spec.topology.controlPlane: 5 → 3"},
		"no arbiter":                  {registered: [3]int{2, 1, 0}, file: [3]int{3, 0, 0}, want: "spec.topology.arbiters: 1 → 0, spec.topology.controlPlane: 2 → 3"},
		"an arbiter":                  {registered: [3]int{3, 0, 0}, file: [3]int{2, 1, 0}, want: "spec.topology.arbiters: 0 → 1, spec.topology.controlPlane: 3 → 2"},
		"fencing, and no arbiter":     {registered: [3]int{2, 1, 0}, file: [3]int{2, 0, 0}, want: "spec.topology.arbiters: 1 → 0"},
		"workers, which start counts": {registered: [3]int{3, 0, 2}, file: [3]int{3, 0, 1}},
		"to a single node":            {registered: [3]int{3, 0, 0}, file: [3]int{1, 0, 0}, told: []string{"spec.topology.controlPlane is 1 in the file and 3 in the service; it cannot be changed after the cluster was registered"}},
		"from a single node":          {registered: [3]int{1, 0, 0}, file: [3]int{3, 0, 0}, told: []string{"spec.topology.controlPlane is 3 in the file and 1 in the service; it cannot be changed after the cluster was registered"}},
		"over REST":                   {rest: true, registered: [3]int{3, 0, 0}, file: [3]int{5, 0, 0}, told: []string{"spec.topology.controlPlane is 5 in the file and 3 in the service; it cannot be changed after the cluster was registered"}},
		"over REST, an arbiter":       {rest: true, registered: [3]int{3, 0, 0}, file: [3]int{3, 1, 0}},
		"after the start": {registered: [3]int{2, 1, 0}, file: [3]int{3, 0, 0}, state: model.ClusterInstalling, told: []string{
			"spec.topology.arbiters is 0 in the file and 1 in the service; it cannot be changed after the installation was started",
			"spec.topology.controlPlane is 3 in the file and 2 in the service; it cannot be changed after the installation was started",
		}},
	} {
		w := newWorld(&model.Desired{Spec: sample(test.registered[0], test.registered[2])})
		w.hub = !test.rest
		if err := comeToRest(w); err != nil {
			t.Fatal(err)
		}
		have := w.observed.Cluster.Settings
		have[model.SettingArbiters], have[model.SettingWorkers] = model.ValueOf(test.registered[1]), model.ValueOf(test.registered[2])
		if test.rest {
			delete(have, model.SettingArbiters)
			delete(have, model.SettingWorkers)
		}
		c := sample(test.file[0], test.file[2])
		c.Spec.Topology.Arbiters, c.Spec.Network.VIPs = &test.file[1], w.desired.Spec.Spec.Network.VIPs
		w.desired = &model.Desired{Spec: c}
		if test.state != "" {
			w.observed.Cluster.State = test.state
		}
		plan := w.decide()
		var changed, told []string
		for _, a := range plan.Actions {
			for _, x := range a.Changes {
				changed = append(changed, x.Field+": "+x.From+" → "+x.To)
			}
		}
		for _, x := range plan.Warnings {
			told = append(told, x.Message)
		}
		if got := strings.Join(changed, ", "); got != test.want || !slices.Equal(told, test.told) {
			t.Errorf("%s: changes %q, warnings %q", name, got, told)
		}
		if err := comeToRest(w); err != nil {
			t.Errorf("%s: a second look: %v", name, err)
		}
	}
}

// A service that was told to start is not told again; where it does not notice
// that it can, it is helped on, but not at once.
func TestReleasedAndStalled(t *testing.T) {
	for name, test := range map[string]struct {
		released bool
		stalled  time.Duration // how long; 0: not at all
		workers  int           // that the service waits for
		want     model.Kind    // "": a wait
	}{
		"not released":                    {workers: 1, want: model.StartInstall},
		"released":                        {released: true, workers: 1},
		"released, for a worker too many": {released: true, workers: 2, want: model.StartInstall},
		"stalled just now":                {released: true, stalled: 29 * time.Second, workers: 1},
		"stalled":                         {released: true, stalled: 30 * time.Second, workers: 1, want: model.NudgeCluster},
		"stalled, and nothing else said":  {stalled: time.Hour, workers: 1, want: model.NudgeCluster},
	} {
		w := readyHub(t, sample(3, 1))
		w.observed.Cluster.Released = test.released
		w.observed.Cluster.Settings[model.SettingWorkers] = model.ValueOf(test.workers)
		if test.stalled > 0 {
			w.observed.Cluster.Stalled = w.observed.At.Add(-test.stalled)
		}
		plan := w.decide()
		switch {
		case test.want == "" && (len(plan.Actions) > 0 || len(plan.Waits) != 1 || plan.Waits[0].Who != model.WhoService):
			t.Errorf("%s: actions %v, waits %+v", name, keys(plan.Actions), plan.Waits)
		case test.want != "" && (len(plan.Actions) != 1 || plan.Actions[0].Kind != test.want):
			t.Errorf("%s: actions %v, waits %+v", name, keys(plan.Actions), plan.Waits)
		}
	}
}

// A service that a controller tells of the hosts is not told to start while the
// controller may still be at it.
func TestStartWaitsForWhatIsPassedOn(t *testing.T) {
	for name, test := range map[string]struct {
		passesOn bool
		differs  bool
		want     time.Duration // from the first look to the start
	}{
		"passed on":               {passesOn: true, differs: true, want: 5 * time.Second},
		"taken at once":           {differs: true},
		"nothing to be passed on": {passesOn: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := readyHub(t, sample(3, 0))
			w.observed.Cluster.PassesOn = test.passesOn
			if test.differs {
				delete(w.observed.Hosts[1].Settings, model.SettingHostname)
			}
			began, took := time.Now(), time.Duration(-1)
			p := &plane{world: w, still: true, refuse: func(a model.Action) error {
				if a.Kind == model.StartInstall {
					took = time.Since(began)
				}
				return nil
			}}
			_, err := install.New(p, install.WithTimeouts(time.Minute, time.Hour)).Run(t.Context(), w.desired)
			if took < test.want || took > 2*test.want {
				t.Errorf("%s: started after %v (run: %v)", name, took, err)
			}
		})
	}
}

// A cluster that goes on stalling is touched once a minute, and each time it is
// told.
func TestNudgedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := readyHub(t, sample(3, 0))
		var nudged []model.Event
		p := &plane{world: w, still: true}
		w.observed.Cluster.Released = true
		w.observed.Cluster.Stalled = time.Now()
		p.lose = func(a model.Action) error { // no touch helps
			w.observed.Cluster.Stalled = time.Now().Add(-time.Hour)
			return nil
		}
		w.observed.InfraEnvs[0].Image = model.Image{State: model.ImageReady}
		installer := install.New(p, install.WithTimeouts(10*time.Minute, time.Hour), install.WithEvents(func(e model.Event) {
			if e.Reason == string(model.NudgeCluster) {
				nudged = append(nudged, e)
			}
		}))
		_, err := installer.Run(t.Context(), w.desired)
		if model.CodeOf(err) != model.CodeTimeout {
			t.Errorf("ended with %v", err)
		}
		if len(nudged) < 9 || len(nudged) > 10 || !strings.Contains(nudged[0].Message, "every host is in sync") {
			t.Errorf("%d events: %+v", len(nudged), nudged)
		}
	})
}

// That an end cannot be written down makes no installed cluster a failed one.
func TestRecordInstalled(t *testing.T) {
	for name, refuse := range map[string]error{
		"recorded":         nil,
		"refused for good": &model.Fault{Permanent: true, Err: errors.New("forbidden")},
		"refused for now":  &model.Fault{Err: errors.New("conflict")},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&model.Desired{Spec: sample(1, 0)})
			w.hub = true
			var tried, told int
			p := &plane{world: w, refuse: func(a model.Action) error {
				if a.Kind != model.RecordInstalled {
					return nil
				}
				tried++
				return refuse
			}}
			installer := install.New(p, install.WithEvents(func(e model.Event) {
				if e.Reason == string(model.RecordInstalled) {
					told++
				}
			}))
			result, err := installer.Run(t.Context(), w.desired)
			if err != nil || result.Verdict != model.VerdictInstalled || tried == 0 || told != tried {
				t.Errorf("%s: %v, %s, tried %d, told %d", name, err, result.Verdict, tried, told)
			}
			if recorded := !w.observed.Cluster.Unrecorded; recorded != (refuse == nil) {
				t.Errorf("%s: recorded %v", name, recorded)
			}
		})
	}
}

// A hub without Hive's operator takes more hosts as soon as the cluster is installed, while
// nobody has written down that it is: that is an installed cluster all the same, which
// oaictl records.
func TestTakesMoreHostsBeforeItIsRecorded(t *testing.T) {
	w := installedWithout(t, sample(3, 1), true)
	w.observed.Cluster.State, w.observed.Cluster.Unrecorded = model.ClusterAddingHosts, true
	plan := w.decide()
	if len(plan.Actions) == 0 || plan.Actions[0].Kind != model.RecordInstalled || hasKind(plan, model.StartInstall) || hasKind(plan, model.RegisterCluster) {
		t.Fatalf("actions %v", keys(plan.Actions))
	}
	w.observed.Cluster.Unrecorded = false
	if plan := w.decide(); plan.Verdict != model.VerdictInstalled || len(plan.Actions) > 0 {
		t.Errorf("%s: actions %v", plan.Verdict, keys(plan.Actions))
	}
}

// TestDiskThatTheHubChooses: the Agent of a BareMetalHost has its disk from the service, which reads hints in
// its own way. What it does not read, or reads otherwise, blocks; oaictl does not write another choice over it.
func TestDiskThatTheHubChooses(t *testing.T) {
	for name, test := range map[string]struct {
		hints   spec.DiskHints
		changes bool
		says    string
	}{
		"read by both":   {hints: spec.DiskHints{WWN: "0x5001b448b1a00002"}, changes: true},
		"a spelling":     {hints: spec.DiskHints{WWN: "5001B448B1A00002"}, says: `write "0x5001b448b1a00002"`},
		"a letter case":  {hints: spec.DiskHints{Model: "samsung"}, says: `model is "samsung", where /dev/sdb has "SAMSUNG"`},
		"an extension":   {hints: spec.DiskHints{WWNWithExtension: "0x5001b448b1a00002"}, says: "wwnWithExtension is not known to the Assisted Installer"},
		"a link":         {hints: spec.DiskHints{DeviceName: "/dev/disk/by-id/b"}, says: "compares it with /dev/NAME"},
		"more than one":  {hints: spec.DiskHints{MinSizeGigabytes: 480}, says: "the hints fit 2 disks: /dev/sda, /dev/sdb"},
		"a gigabyte out": {hints: spec.DiskHints{MinSizeGigabytes: 481, Model: "SAMSUNG"}, says: "no disk fits the hints"},
	} {
		w := readyHub(t, sample(3, 0))
		w.desired.Spec.Host("cp-1").Disk.Hints = test.hints
		h := w.host("host-cp-1")
		h.DiskByService, h.Disk = true, "a"
		h.Settings[model.SettingDisk] = model.ValueOf("a")
		h.Inventory.Disks = []model.Disk{
			{ID: "a", Path: "/dev/sda", WWN: "0x5001b448b1a00001", SizeBytes: 4e12, Eligible: true},
			{ID: "b", Path: "/dev/sdb", ByID: "/dev/disk/by-id/b", WWN: "0x5001b448b1a00002", Model: "SAMSUNG", SizeBytes: 480_103_981_056, Eligible: true},
		}
		plan := w.decide()
		i := slices.IndexFunc(plan.Blockers, func(b model.Blocker) bool { return b.Reason == "DiskHints" })
		switch {
		case test.changes != slices.Contains(keys(plan.Actions), "host/cp-1/update"):
			t.Errorf("%s: actions %v", name, keys(plan.Actions))
		case test.says == "" && i >= 0, test.says != "" && (i < 0 || !strings.Contains(strings.ReplaceAll(plan.Blockers[i].Message, " (/dev/disk/by-id/b)", ""), test.says)):
			t.Errorf("%s: blockers %+v; want %q", name, plan.Blockers, test.says)
		case test.says != "" && hasKind(plan, model.StartInstall):
			t.Errorf("%s: the install is started all the same", name)
		}
	}
}
