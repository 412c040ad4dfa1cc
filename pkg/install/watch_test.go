package install_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// TestImagesThatCannotBePulled: the service prepares without success, since a host cannot pull what it needs, until a
// user cures it after so many attempts.
func TestImagesThatCannotBePulled(t *testing.T) {
	tests := map[string]struct {
		cured    int // after so many attempts; 0: never
		attempts int // at least
		code     model.Code
	}{
		"cured at once":            {cured: 1, attempts: 2},
		"cured while it is waited": {cured: 4, attempts: 5},
		"never cured":              {attempts: 5, code: model.CodeNeedsUser},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{World: decidetest.NewWorld(&model.Desired{Spec: decidetest.Sample(3, 0), Options: model.Options{Run: "run1"}})}
				attempts, preparing := 0, 0
				p.lose = func(a model.Action) error {
					if a.Kind == model.StartInstall {
						attempts++
						p.still, preparing = test.cured == 0 || attempts <= test.cured, 0
						p.Observed.Hosts[1].Validations = nil // measured anew
					}
					return nil
				}
				p.observe = func(int) error {
					if preparing++; p.still && preparing == 6 {
						p.Observed.Hosts[0].State = model.HostReady
					}
					if p.still && preparing == 5 {
						p.Observed.Hosts[0].State = model.HostPreparing // the service shows it a moment later
						c := p.Observed.Cluster
						c.State, c.Preparation.FailedAt = model.ClusterReady, append(c.Preparation.FailedAt, p.Observed.At)
						p.Observed.Hosts[1].Validations = []model.Validation{
							{ID: "container-images-available", Category: "network", Status: "failure",
								Message: "Failed to fetch container images"},
						}
					}
					return nil
				}
				told := 0
				_, err := install.New(p, install.Config{Files: install.Directory(t.TempDir()), Events: func(e model.Event) {
					if e.Reason == "PreparationFailed" && strings.Contains(e.Message, "cp-1: Failed to fetch container images") &&
						e.Next != "" {
						told++
					}
					if e.State == "cured" {
						t.Errorf("an attempt is no cure: %s", e.Message)
					}
				}}).Run(t.Context(), p.Desired)
				if got := codeOf(err); got != test.code || attempts < test.attempts {
					t.Errorf("code %d after %d attempts: %v", got, attempts, err)
				}
				if blocked := test.attempts > 3; blocked != (told > 0) {
					t.Errorf("told %d times what stands in the way", told)
				}
				if test.code != 0 && !strings.Contains(err.Error(), "cannot prepare the installation: cp-1: ") {
					t.Errorf("the end does not say why: %v", err)
				}
			})
		})
	}
}

func codeOf(err error) model.Code {
	if err == nil {
		return 0
	}
	return model.FaultOf(err).Code
}

// TestNothingNew is reported now and then while nothing happens, and in no run in which something does.
func TestNothingNew(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*plane)
		times  int // in the 16 minutes that the run has
		text   string
	}{
		"an install that stands still": {func(p *plane) {
			p.still, p.Observed.Cluster.State = true, model.ClusterPreparing
		}, 3, "nothing new for 5m: waiting for the service to prepare the installation"},
		"something in the way": {func(p *plane) {
			p.still = true
			p.Observed.Hosts[0].State = model.HostDisconnected
		}, 3, "nothing new for 5m: in the way: cp-0 (MAC 52:54:00:00:00:00"},
		"a service that does not answer": {func(p *plane) {
			p.still, p.Observed.Cluster.State = true, model.ClusterPreparing
			p.observe = func(n int) error {
				if n > 2 {
					return &model.Fault{Err: errors.New("connection refused")}
				}
				return nil
			}
		}, 3, "does not answer: connection refused"},
		"hosts that get on": {func(p *plane) {
			p.still, p.Observed.Cluster.State = true, model.ClusterInstalling
			p.observe = func(n int) error {
				h := &p.Observed.Hosts[0]
				h.State, h.Progress.Stage, h.Progress.Info = model.HostInstalling, "Writing image to disk", time.Now().Format("1504")+"%"
				return nil
			}
		}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := decidetest.ReadyWorld(t, decidetest.Sample(3, 0))
				p := &plane{World: w}
				test.change(p)
				var told []string
				var at []time.Duration
				began := time.Now()
				_, err := install.New(p, install.Config{Timeout: 16 * time.Minute, UserTimeout: time.Hour, Events: func(e model.Event) {
					if e.Reason == "NothingNew" {
						told, at = append(told, e.Message), append(at, time.Since(began))
					}
				}}).Run(t.Context(), p.Desired)
				if model.FaultOf(err).Code != model.CodeTimeout {
					t.Fatal(err)
				}
				if len(told) != test.times || test.times > 0 && !strings.Contains(told[0], test.text) {
					t.Errorf("told %q at %v; want %d times %q", told, at, test.times, test.text)
				}
			})
		})
	}
}

// stagesOf is a role's list, as the service gives it.
var controlPlaneStages = []string{
	"Starting installation", "Installing", "Writing image to disk", "Copying registry data to disk", "Rebooting", "Configuring",
	"Joined", "Done",
}

// watched runs on a world that script changes look by look, and gives the
// lines of the event stream.
func watched(t *testing.T, w *decidetest.World, script func(look int, o *model.Observed)) []model.Event {
	t.Helper()
	var events []model.Event
	synctest.Test(t, func(t *testing.T) {
		p := &plane{World: w, still: true}
		p.observe = func(look int) error {
			script(look, &p.Observed)
			return nil
		}
		_, _, _ = runFor(t, p, false, install.Config{Events: func(e model.Event) { events = append(events, e) }})
	})
	return events
}

// lines are the events of some types, short.
func lines(events []model.Event, types ...model.EventType) []string {
	var out []string
	for _, e := range events {
		if slices.Contains(types, e.Type) {
			out = append(out, strings.Join(strings.Fields(fmt.Sprint(e.Host, " ", e.Stage, " ", e.State)), " "))
		}
	}
	return out
}

func installing(t *testing.T) *decidetest.World {
	w := decidetest.ReadyWorld(t, decidetest.Sample(1, 0))
	w.Observed.Cluster.State = model.ClusterInstalling
	h := &w.Observed.Hosts[0]
	h.State, h.Role = model.HostInstalling, spec.ControlPlane
	h.Progress = model.HostProgress{Stage: "Installing", Stages: controlPlaneStages, Percent: 25}
	return w
}

// TestStreamTellsStagesInOrder: none is missed between two looks, what happened first is reported first, and nothing
// twice.
func TestStreamTellsStagesInOrder(t *testing.T) {
	events := watched(t, installing(t), func(look int, o *model.Observed) {
		h := &o.Hosts[0]
		switch look {
		case 2:
			h.Progress.Stage, h.Progress.Percent = "Rebooting", 62
		case 4:
			h.Progress.Stage, h.Progress.Percent, h.State = "Done", 100, model.HostInstalled
			o.Cluster.State = model.ClusterInstalled
		}
	})
	want := []string{
		"Installing", "cp-0 Installing", "cp-0 Installing Installing", // where it is, not how it came there
		"cp-0 Writing image to disk Installing", "cp-0 Rebooting Installing",
		"cp-0 Configuring Installed", "cp-0 Joined Installed", "cp-0 Done Installed", "cp-0 Installed", "Installed", "installed",
	}
	if got := lines(events, model.EventHost, model.EventStage, model.EventRun); !slices.Equal(got, want) {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestStreamOfAnInstalledCluster: a later run does not report it all again.
func TestStreamOfAnInstalledCluster(t *testing.T) {
	w := installing(t)
	w.Observed.Cluster.State = model.ClusterInstalled
	w.Observed.Hosts[0].State, w.Observed.Hosts[0].Progress.Stage = model.HostInstalled, "Done"
	events := watched(t, w, func(int, *model.Observed) {})
	if got := lines(events, model.EventStage); len(got) != 1 {
		t.Errorf("stages %q", got)
	}
	last := events[len(events)-1]
	if last.Type != model.EventRun || last.ExitCode == nil || *last.ExitCode != 0 || last.State != "installed" {
		t.Errorf("the last event is %+v", last)
	}
}

// TestStreamWhenARoleIsDecided: the stage before is searched for in the list of the role that the host has now.
func TestStreamWhenARoleIsDecided(t *testing.T) {
	bootstrap := slices.Insert(slices.Clone(controlPlaneStages), 4, "Waiting for control plane", "Waiting for bootkube",
		"Waiting for controller")
	events := watched(t, installing(t), func(look int, o *model.Observed) {
		h := &o.Hosts[0]
		switch look {
		case 1:
			h.Progress.Stage = "Rebooting"
		case 2:
			h.Progress.Stages = bootstrap
		case 3:
			h.Progress.Stage, o.Cluster.State = "Configuring", model.ClusterFailed
		}
	})
	if got := lines(events, model.EventStage); !slices.Equal(got, []string{"cp-0 Rebooting Installing", "cp-0 Configuring Installing"}) {
		t.Errorf("stages %q", got)
	}
}

// TestStreamOfAnAddedHost reports no stage that the host cannot have gone through, though the service's list for its
// role has it.
func TestStreamOfAnAddedHost(t *testing.T) {
	events := watched(t, installing(t), func(look int, o *model.Observed) {
		h := &o.Hosts[0]
		h.Day2, h.Progress.Stages = true, []string{"Starting installation", "Installing", "Writing image to disk",
			"Waiting for control plane", "Rebooting"}
		switch look {
		case 1:
			h.Progress.Stage = "Installing"
		case 2:
			h.State, h.Progress.Stage = model.HostAdded, "Done"
			o.Cluster.State = model.ClusterFailed
		}
	})
	want := []string{"cp-0 Installing Installing", "cp-0 Writing image to disk Added", "cp-0 Rebooting Added", "cp-0 Done Added"}
	if got := lines(events, model.EventStage); !slices.Equal(got, want) {
		t.Errorf("stages %q, want %q", got, want)
	}
}

// TestPercentNeverGoesBack, even where the service begins anew.
func TestPercentNeverGoesBack(t *testing.T) {
	events := watched(t, installing(t), func(look int, o *model.Observed) {
		o.Cluster.Progress.Percent = []int{0, 5, 40, 12, 41, 66, 60}[min(look, 6)]
		if look > 6 {
			o.Cluster.State = model.ClusterFailed
		}
	})
	before := -1
	for _, e := range events {
		if e.Type != model.EventProgress {
			continue
		}
		if *e.Percent < before || e.View.Percent != *e.Percent {
			t.Errorf("%d%% after %d%%, in the view %d%%", *e.Percent, before, e.View.Percent)
		}
		before = *e.Percent
	}
	if before != 66 {
		t.Errorf("the last percentage is %d", before)
	}
}

// TestStreamOfAHostThatIsTakenAway says so.
func TestStreamOfAHostThatIsTakenAway(t *testing.T) {
	events := watched(t, decidetest.ReadyWorld(t, decidetest.Sample(3, 0)), func(look int, o *model.Observed) {
		o.Cluster.State = model.ClusterDiscovering
		if look == 3 {
			o.Hosts = o.Hosts[1:]
		}
	})
	if got := lines(events, model.EventHost); !slices.Contains(got, "cp-0 Absent") {
		t.Errorf("lines %q", got)
	}
}

// TestStreamLeavesOutThePool: the machines of others are no news.
func TestStreamLeavesOutThePool(t *testing.T) {
	w := installing(t)
	other := decidetest.Machine("other", "52:54:00:ff:ff:ff", 90)
	other.State, other.Status, other.ClusterID, other.Hostname = model.HostUnbound, "known-unbound", "", "other"
	w.Observed.Hosts = append(w.Observed.Hosts, other)
	for _, e := range watched(t, w, func(look int, o *model.Observed) {
		if look > 2 {
			o.Cluster.State = model.ClusterFailed
		}
	}) {
		if e.Host == "other" || e.View != nil && len(e.View.Hosts) != 1 {
			t.Errorf("event %+v", e)
		}
	}
}

// TestStreamOfWhatIsCured says in words which blocker is gone, and reports it again should it come back.
func TestStreamOfWhatIsCured(t *testing.T) {
	began := time.Time{}
	events := watched(t, decidetest.ReadyWorld(t, decidetest.Sample(1, 0)), func(_ int, o *model.Observed) {
		if began.IsZero() {
			began = time.Now()
		}
		o.Cluster.State = model.ClusterDiscovering
		o.Hosts[0].State = model.HostReady
		minute := int(time.Since(began).Minutes())
		if minute%2 == 0 {
			o.Hosts[0].State = model.HostDisconnected
		}
		if minute == 5 {
			o.Cluster.State = model.ClusterFailed
		}
	})
	var told, cured int
	for _, e := range events {
		switch {
		case e.Reason == "HostDisconnected":
			told++
		case e.Reason == "Cured":
			cured++
			if e.Host != "cp-0" || !strings.Contains(e.Message, "does not answer") {
				t.Errorf("cured: %+v", e)
			}
		}
	}
	if told != 3 || cured != 2 { // the third time it was the end
		t.Errorf("told %d times, cured %d times", told, cured)
	}
}

// TestStreamNamesHosts: a host without a hardware inventory is reported once it has one, by its name, and not by an id
// that no reader knows.
func TestStreamNamesHosts(t *testing.T) {
	var known model.Inventory
	events := watched(t, decidetest.ReadyWorld(t, decidetest.Sample(1, 0)), func(look int, o *model.Observed) {
		if len(o.Hosts) == 0 {
			return
		}
		h := &o.Hosts[0]
		o.Cluster.State, h.State = model.ClusterDiscovering, model.HostDiscovering
		switch look {
		case 1:
			known, h.Inventory, h.Hostname = h.Inventory, model.Inventory{}, ""
		case 3:
			h.Inventory = known
		case 5:
			o.Hosts = nil
		}
	})
	if got, want := lines(events, model.EventHost), []string{"cp-0 Discovering", "cp-0 Absent"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
	for _, e := range events {
		if e.Type == model.EventHost && e.State == string(model.HostAbsent) && e.Message != "the service no longer has cp-0" {
			t.Errorf("says %q", e.Message)
		}
	}
}
