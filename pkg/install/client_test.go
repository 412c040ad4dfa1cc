package install_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// records is a backend of a few hosts and InfraEnvs that records what was deleted.
type records struct {
	install.Backend
	hosts   map[string][]model.Host // by InfraEnv
	kept    string                  // an InfraEnv that the service keeps
	deleted []string
	image   string
	part    int // bytes after which a download of the image breaks
}

func (r *records) ListInfraEnvs(context.Context, string) ([]model.InfraEnv, error) {
	return []model.InfraEnv{{ID: "gone"}, {ID: "e1"}, {ID: "e2"}}, nil
}

func (r *records) ListHosts(_ context.Context, env string) ([]model.Host, error) {
	if env == "gone" {
		return nil, &model.Fault{Code: model.CodeNotFound, Err: errors.New("none")}
	}
	return r.hosts[env], nil
}

func (r *records) ClusterByNameOrID(_ context.Context, text string) (model.ClusterRef, error) {
	return model.ClusterRef{}, &model.Fault{Code: model.CodeNotFound, Op: "find cluster", On: text, Err: errors.New("none")}
}

func (r *records) DeleteCluster(_ context.Context, id string, _ install.DeleteOptions) error {
	r.deleted = append(r.deleted, id)
	return nil
}

func (r *records) DeleteInfraEnv(_ context.Context, id string, _ install.DeleteOptions) error {
	if id == r.kept {
		return &model.Fault{Code: model.CodeFailure, Status: 400, Err: errors.New("hosts belong to it")}
	}
	r.deleted = append(r.deleted, id)
	return nil
}

func (r *records) DownloadISOURL(context.Context, string) (string, time.Time, error) {
	return "http://images/e1", time.Time{}, nil
}

func (r *records) OpenISO(_ context.Context, _ string, offset int64) (io.ReadCloser, int64, error) {
	rest := r.image[offset:]
	return io.NopCloser(strings.NewReader(rest[:min(r.part, len(rest))])), int64(len(r.image)), nil
}

func rackOfTwo() *records {
	nic := model.Inventory{Interfaces: []model.Interface{{MAC: "52:54:00:00:00:0A"}}}
	return &records{hosts: map[string][]model.Host{
		"e1": {{ID: "h1", Hostname: "node-1", Inventory: nic}, {ID: "h2", Hostname: "twin"}},
		"e2": {{ID: "h3", Hostname: "twin", ClusterID: "c9"}},
	}}
}

// A cluster's own InfraEnvs go after it; one that the service keeps is named with its hosts, except a pool, which
// stays.
func TestClientDeletes(t *testing.T) {
	service := rackOfTwo()
	client := install.New(service)
	found := &install.Found{Ref: model.ClusterRef{ID: "c1"}, Observed: &model.Observed{InfraEnvs: []model.InfraEnv{
		{ID: "e3", Owned: true, ClusterID: "c1"}, {ID: "others"}, {ID: "e1", Name: "pool", Owned: true, ClusterID: "c1"},
	}}}
	service.kept = "e1"
	gone, err := client.Delete(t.Context(), found, install.DeleteOptions{})
	if len(gone) != 1 || gone[0].ID != "e3" || !slices.Equal(service.deleted, []string{"c1", "e3"}) {
		t.Errorf("gone %v, deleted %v", gone, service.deleted)
	}
	if err == nil || err.Error() != "delete InfraEnv pool: it still has 2 hosts: node-1, twin" ||
		model.FaultOf(err).Next != "{delete host node-1}; {delete host twin}" {
		t.Errorf("%v, next %s", err, model.FaultOf(err).Next)
	}
	found.Observed.InfraEnvs[2].ClusterID = ""
	if gone, err := client.Delete(t.Context(), found, install.DeleteOptions{}); err != nil || len(gone) != 1 {
		t.Errorf("a pool: gone %v, %v", gone, err)
	}
}

// A service that has no more than a loop needs refuses every other verb.
func TestClientOfALoop(t *testing.T) {
	client := install.New(&labService{})
	_, listed := client.ListClusters(t.Context())
	_, found := client.FindHost(t.Context(), install.Target{}, "node-1")
	for _, err := range []error{listed, found, client.DeleteCluster(t.Context(), "c1", install.DeleteOptions{}),
		client.ReleaseCluster(t.Context(), "c1")} {
		if model.FaultOf(err).Code != model.CodeUsage {
			t.Errorf("%v", err)
		}
	}
}

// What is wrong with a cluster.yaml is wrong input, in each command.
func TestCodeOfAWrongFile(t *testing.T) {
	_, err := spec.Load(t.Context(), "nowhere/cluster.yaml", spec.OSEnv())
	if code := model.FaultOf(err).Code; code != model.CodeInput {
		t.Errorf("code %d: %v", code, err)
	}
	check.Equal(t, model.FaultOf(errors.New("other")).Code, model.CodeFailure, "another error: code")
}

// What to type next names the kubeconfig where the results are, as a shell reads it.
func TestNextNamesTheFolderOfResults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "the results")
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0), Options: model.Options{Run: "run1"}})}
		client := install.New(p, install.Config{Files: install.Directory(dir)})
		result := must.Get(client.Run(t.Context(), p.Desired))(t)
		want := "kubectl --kubeconfig '" + filepath.Join(dir, p.Desired.Spec.Metadata.Name, "auth", "kubeconfig") + "' get nodes"
		again, _, err := client.Plan(t.Context(), p.Desired)
		if err != nil || result.Plan.Next.String() != want || again.Next.String() != want {
			t.Errorf("next %q, and in a plan %q, %v; want %q", result.Plan.Next, again.Next, err, want)
		}
	})
}

// service is the rack's world as a service plane that gives it out as it is.
type service struct {
	*decidetest.Rack
	before func() // before each look
}

func (s service) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	s.before()
	o := s.Observed
	return &o, nil
}

func (s service) Act(_ context.Context, _ *model.Desired, a model.Action) error {
	return s.Apply(a)
}

func (s service) Credential(context.Context, string, string) ([]byte, error) { return nil, nil }

// bmcs is the rack as a machines plane.
type bmcs struct {
	*decidetest.Rack
	before func()                   // before each look; nil: nothing
	act    func(model.Action) error // nil: what a machine does
}

func (b bmcs) Observe(_ context.Context, _ *model.Desired, observed *model.Observed, ask []string) (map[string]model.MachineState, error) {
	if b.before != nil {
		b.before()
	}
	states, err := b.Look(ask)
	for name, state := range states {
		if last := &state.Fetch.Last; !last.IsZero() {
			*last = last.Add(time.Since(observed.At)) // a media server has the time of the machine that it runs on
		}
		states[name] = state
	}
	return states, err
}

func (b bmcs) Act(_ context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	if b.act != nil {
		return b.act(a)
	}
	return b.Tell(a)
}

// install runs an installation for so long at most, with something before each look at the service.
func (b bmcs) install(t *testing.T, within time.Duration, before func()) (events []model.Event, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	listen := install.Config{Events: func(e model.Event) { events = append(events, e) }}
	_, err = install.New(service{b.Rack, before}, install.Config{Machines: b}, listen).Run(ctx, b.Desired)
	return events, err
}

// timed runs an installation on the run's own clock.
func (b bmcs) timed(t *testing.T, within time.Duration) ([]model.Event, error) {
	t.Helper()
	return b.install(t, within, func() { b.Observed.At = time.Now() })
}

// ever is longer than any run lasts.
const ever = 1000 * time.Hour

// withReason is the first event with a reason, nil if there is none.
func withReason(events []model.Event, reason string) *model.Event {
	for i := range events {
		if events[i].Reason == reason {
			return &events[i]
		}
	}
	return nil
}

// TestInsertedWhileItRegistered ejects an image that came into the drive when the
// host had registered already, and no look had shown it.
func TestInsertedWhileItRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := decidetest.ReadyRack(t, 1, 0)
		x := r.Boxes["cp-0"]
		x.Power = model.PowerIsOn
		x.Fetched = model.Fetched{Requests: 1, Bytes: 1, Last: r.Observed.At}
		at := map[int]func(){
			3: func() { x.Booted = true; r.Pass() },
			9: func() { x.Media = decidetest.ImageOf("cp-0") },
		}
		for n := 12; n < 60; n += 3 {
			at[n] = r.Pass
		}
		looks := 0
		must.Get(bmcs{Rack: r}.install(t, time.Hour, func() {
			if looks++; at[looks] != nil {
				at[looks]()
			}
		}))(t)
		if x.Media != "" {
			t.Errorf("the image is left in the drive: %+v", *x)
		}
	})
}

// TestAskedWhileItRuns asks the BMC of a host that has registered no more than once,
// unless the host would boot the image again by itself.
func TestAskedWhileItRuns(t *testing.T) {
	for _, stays := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := decidetest.ReadyRack(t, 2, 0) // one of them never comes
			x := r.Boxes["cp-0"]
			*x = decidetest.Box{Power: model.PowerIsOn, Media: decidetest.ImageOf("cp-0"), Once: stays, Stays: stays, Booted: true}
			r.Boxes["cp-1"].Trouble = model.TroubleBusy
			r.Pass()
			before := map[bool]int{false: 1, true: 2}[stays]
			r.Boxes["cp-1"].Trouble = model.TroubleBusy
			if _, err := (bmcs{Rack: r}).install(t, time.Hour, func() {}); err == nil || r.Asked["cp-0"] != before || x.Once ||
				x.Media == "" {
				t.Errorf("stays %v: %v; asked %d times; %+v", stays, err, r.Asked["cp-0"], *x)
			}
		})
	}
}

// TestPowerIsAskedForOnce switches a machine on once, however long its BMC takes to
// show it, and says so where it never does.
func TestPowerIsAskedForOnce(t *testing.T) {
	for shows, want := range map[time.Duration]bool{11 * time.Second: true, 110 * time.Second: true, 24 * time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			r := decidetest.ReadyRack(t, 1, 0)
			told := map[model.Kind]int{}
			var on time.Time // when it was switched on
			events, err := bmcs{Rack: r, before: func() {
				if !on.IsZero() && time.Since(on) >= shows {
					r.SwitchOn("cp-0")
					on = time.Time{}
				}
			}, act: func(a model.Action) error {
				if told[a.Kind]++; a.Kind == model.PowerOn {
					on = time.Now()
					return nil
				}
				return r.Tell(a)
			}}.timed(t, 8*time.Minute)
			if err == nil || told[model.PowerOn] != 1 || told[model.SetBootOnce] != 1 {
				t.Errorf("shown after %s: %v; told %v", shows, err, told)
			}
			const blocked = "the BMC of cp-0 accepted to switch on cp-0 2 minutes ago, but reports that nothing has changed"
			if slices.ContainsFunc(events, func(e model.Event) bool { return e.Message == blocked }) == want {
				t.Errorf("shown after %s: %+v", shows, events)
			}
		})
	}
}

// TestSlowInsertionIsWaitedFor inserts an image once where that takes minutes.
func TestSlowInsertionIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := decidetest.ReadyRack(t, 1, 0)
		x, told := r.Boxes["cp-0"], 0
		var began time.Time
		inserts := func() bool { return !began.IsZero() && time.Since(began) < 12*time.Minute }
		x.Seen = func(s *model.MachineState) {
			if inserts() {
				*s = model.MachineState{Power: model.PowerIsOff, Inserting: true}
			}
		}
		events, err := bmcs{Rack: r, before: func() {
			if !began.IsZero() && !inserts() {
				x.Media = decidetest.ImageOf("cp-0")
			}
		}, act: func(a model.Action) error {
			if a.Kind != model.InsertMedia {
				return r.Tell(a)
			}
			told++
			began = time.Now()
			return nil
		}}.timed(t, 15*time.Minute)
		waits := slices.ContainsFunc(events, func(e model.Event) bool { return e.Type == model.EventWarning || e.State == "blocked" })
		if model.FaultOf(err).Code != model.CodeTimeout || told != 1 || x.Power != model.PowerIsOn || waits {
			t.Errorf("%v; told %d times; %+v; %+v", err, told, *x, events)
		}
	})
}

// TestPatience ends runs whose machine does not get on, and says how far it got.
func TestPatience(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*decidetest.Rack, *decidetest.Box)
		reason string
		text   string
	}{
		"not fetched": {func(_ *decidetest.Rack, x *decidetest.Box) {
			x.Power, x.Media = model.PowerIsOn, decidetest.ImageOf("cp-0")
		}, "MediaNotFetched",
			"cp-0: its BMC has not fetched the image in 10 minutes: is http://192.0.2.1:8080 reachable from the BMC?"},
		"found and not read": {func(_ *decidetest.Rack, x *decidetest.Box) {
			x.Power, x.Media, x.Fetched = model.PowerIsOn, decidetest.ImageOf("cp-0"), model.Fetched{Requests: 1, Size: 110e6}
		}, "MediaNotFetched", "cp-0: its BMC has found the image, but the machine has not read it in 10 minutes"},
		"not registered": {func(_ *decidetest.Rack, x *decidetest.Box) {
			x.Power, x.Media, x.Fetched = model.PowerIsOn, decidetest.ImageOf("cp-0"), model.Fetched{Requests: 5, Bytes: 90e6, Size: 110e6}
		}, "AgentNotCalled", "cp-0: it was switched on 30 minutes ago, 90 MB of 110 MB fetched, but its agent has not called the service"},
		"running": {func(_ *decidetest.Rack, x *decidetest.Box) {
			x.Power, x.Other = model.PowerIsOn, true
		}, "RunningMachine", "is on, but it does not run"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := decidetest.ReadyRack(t, 1, 0)
				test.change(r, r.Boxes["cp-0"])
				begun := time.Now()
				events, err := bmcs{Rack: r}.timed(t, ever)
				first := withReason(events, test.reason)
				if model.FaultOf(err).Code != model.CodeNeedsUser || first == nil || !strings.Contains(first.Message, test.text) {
					t.Fatalf("%v; first event %+v", err, first)
				}
				if len(r.Writes) > 2 || strings.Contains(err.Error(), ".iso") {
					t.Errorf("writes %v; %v", decidetest.Keys(r.Writes), err)
				}
				t.Logf("told after %s: %s", first.Time.Sub(begun), first.Message)
			})
		})
	}
}

// TestPatienceThroughTrouble counts on while a BMC does not answer: that is no
// new boot.
func TestPatienceThroughTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := decidetest.ReadyRack(t, 1, 0)
		r.Boxes["cp-0"].Power, r.Boxes["cp-0"].Media = model.PowerIsOn, decidetest.ImageOf("cp-0")
		begun := time.Now()
		events, err := bmcs{Rack: r, before: func() {
			r.Boxes["cp-0"].Trouble = ""
			if since := time.Since(begun); since > 3*time.Minute && since < 6*time.Minute {
				r.Boxes["cp-0"].Trouble = model.TroubleUnreachable
			}
		}}.timed(t, ever)
		told, cured := withReason(events, "MediaNotFetched"), withReason(events, "Cured")
		if model.FaultOf(err).Code != model.CodeNeedsUser || told == nil || told.Time.Sub(begun).Round(time.Minute) != 10*time.Minute ||
			cured == nil || cured.Time.Sub(begun).Truncate(time.Minute) != 6*time.Minute {
			t.Errorf("told %+v, cured %+v: %v", told, cured, err)
		}
	})
}

// TestStillReading bears a machine that reads its image slowly.
func TestStillReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := decidetest.ReadyRack(t, 1, 0)
		x := r.Boxes["cp-0"]
		x.Power, x.Media = model.PowerIsOn, decidetest.ImageOf("cp-0")
		events, err := bmcs{Rack: r, before: func() { // it has read more at each look
			x.Fetched.Requests++
			x.Fetched.Bytes += 1 << 20
		}}.timed(t, 80*time.Minute)
		blocked := withReason(events, "AgentNotCalled") != nil || withReason(events, "MediaNotFetched") != nil
		if blocked || model.FaultOf(err).Code != model.CodeTimeout {
			t.Errorf("blocked %v: %v", blocked, err)
		}
	})
}

// TestUselessBMC ends a run over a BMC that lies or refuses with the name of the
// host, and not at once.
func TestUselessBMC(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		text string
	}{
		"lies": {nil, "times to insert the discovery image into the virtual drive of cp-0, but reports that nothing has changed"},
		"refuses": {errors.New("its BMC refuses the image"),
			"could not insert the discovery image into the virtual drive of cp-0: its BMC refuses the image"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := decidetest.ReadyRack(t, 1, 0)
				told := map[model.Kind]int{}
				_, err := bmcs{Rack: r, act: func(a model.Action) error {
					told[a.Kind]++
					return test.err
				}}.timed(t, ever)
				if model.FaultOf(err).Code != model.CodeNeedsUser || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%v", err)
				}
				if told[model.InsertMedia] < 3 || len(told) != 1 {
					t.Errorf("told %v", told)
				}
			})
		})
	}
}

// TestWhySaysWhoAsksTheBMC: a look that writes nothing does not learn what a BMC answers, and says which command does.
func TestWhySaysWhoAsksTheBMC(t *testing.T) {
	for _, test := range []struct {
		box  decidetest.Box
		want string
	}{
		{decidetest.Box{Power: model.PowerIsOff}, "insert the discovery image into the virtual drive of cp-0"},
		{decidetest.Box{Power: model.PowerIsOff, Media: decidetest.ImageOf("cp-0"), Once: true}, "switch on cp-0"},
	} {
		r := decidetest.ReadyRack(t, 1, 0)
		r.Boxes["cp-0"] = &test.box
		plan, _, err := install.New(service{r, func() {}}, install.Config{Machines: bmcs{Rack: r}}).Explain(t.Context(), r.Desired,
			&r.Observed, "")
		want := "cp-0 to be booted: create cluster still has to " + test.want + ", and shows the answer of its BMC"
		if err != nil || len(plan.Waits) != 1 || plan.Waits[0].For != want || plan.Waits[0].Next != "{create cluster -f FILE}" {
			t.Errorf("want %q: %v, %+v", want, err, plan.Waits)
		}
		if plan, _, _ = r.Plan(); len(plan.Waits) != 0 || len(plan.Actions) != 1 {
			t.Errorf("create is told to wait: %+v", plan)
		}
	}
}

// TestLoopOfOnesOwn installs by a loop that keeps its memory as JSON between any two
// steps, as one does that is started anew for each.
func TestLoopOfOnesOwn(t *testing.T) {
	p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 1), Options: model.Options{Run: "run1"}})}
	refused := 0
	p.refuse = func(a model.Action) error {
		if a.Kind == model.RegisterInfraEnv && refused < 2 {
			refused++
			return &model.Fault{Err: context.DeadlineExceeded}
		}
		return nil
	}
	installer := install.New(p)
	var kept []byte
	for range 200 {
		var memory model.Memory
		if err := json.Unmarshal(append([]byte(nil), kept...), &memory); kept != nil && err != nil {
			t.Fatal(err)
		}
		observed, err := installer.Observe(t.Context(), p.Desired, nil)
		if err != nil {
			t.Fatal(err)
		}
		memory.Seen(observed, time.Now())
		plan := install.Decide(p.Desired, observed, memory, observed.At)
		memory.Decided(plan)
		acted := false
		for _, a := range plan.Actions {
			err := installer.Act(t.Context(), p.Desired, observed, a)
			memory.Note(a, err, observed.At.Add(time.Duration(refused)*-time.Minute)) // so that its backoff is over
			acted = acted || err == nil
		}
		if kept, err = json.Marshal(memory); err != nil {
			t.Fatal(err)
		}
		if ended, err := plan.Ended(); ended && !acted {
			if err != nil || refused != 2 || p.Count(model.RegisterCluster) != 1 || p.Count(model.StartInstall) != 1 {
				t.Errorf("%v; refused %d times; wrote %v", err, refused, decidetest.Keys(p.Writes))
			}
			return
		}
	}
	t.Errorf("the cluster is %s", p.Observed.Cluster.State)
}

// A service that reports no changes is observed from time to time.
func TestNothingIsToldByAServiceThatIsAsked(t *testing.T) {
	w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
	if changed := install.New(&plane{World: w}).Changed(w.Desired, &w.Observed); changed != nil {
		t.Error("there is something to wait for")
	}
}
