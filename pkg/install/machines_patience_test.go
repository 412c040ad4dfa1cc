package install_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// timed is a rack whose clock is the run's.
type timed struct{ service }

func (s timed) Observe(ctx context.Context, q model.Query, prior *model.Observed) (*model.Observed, error) {
	s.observed.At = time.Now()
	return s.service.Observe(ctx, q, prior)
}

// TestPatience ends runs whose machine does not get on, and says how far it got.
func TestPatience(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*rack, *box)
		reason string
		text   string
	}{
		"not fetched": {func(_ *rack, x *box) { x.power, x.media = model.PowerIsOn, imageOf("cp-0") }, "MediaNotFetched",
			"cp-0: its BMC has not fetched the image in 10 minutes: is http://192.0.2.1:8080 reachable from the BMC?"},
		"found and not read": {func(_ *rack, x *box) {
			x.power, x.media, x.fetched = model.PowerIsOn, imageOf("cp-0"), model.Fetched{Requests: 1, Size: 110e6}
		}, "MediaNotFetched", "cp-0: its BMC has found the image, but the machine has read nothing of it in 10 minutes"},
		"not registered": {func(_ *rack, x *box) {
			x.power, x.media, x.fetched = model.PowerIsOn, imageOf("cp-0"), model.Fetched{Requests: 5, Bytes: 90e6, Size: 110e6}
		}, "AgentNotCalled", "cp-0: it was switched on 30 minutes ago, 90 MB of 110 MB fetched, but its agent has not called the service"},
		"running": {func(_ *rack, x *box) { x.power, x.other = model.PowerIsOn, true }, "RunningMachine", "is on and runs something"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := ready(t, 1, 0)
				test.change(r, r.boxes["cp-0"])
				var first *model.Event
				begun := time.Now()
				events := func(e model.Event) {
					if e.Reason == test.reason && first == nil {
						first = &e
					}
				}
				_, err := install.New(timed{service{r}}, install.WithMachines(bmcs{r}), install.WithEvents(events)).Run(t.Context(), r.desired)
				if model.CodeOf(err) != model.CodeNeedsUser || first == nil || !strings.Contains(first.Message, test.text) {
					t.Fatalf("%v; first event %+v", err, first)
				}
				if len(r.writes) > 2 || strings.Contains(err.Error(), ".iso") {
					t.Errorf("writes %v; %v", keys(r.writes), err)
				}
				t.Logf("told after %s: %s", first.Time.Sub(begun), first.Message)
			})
		})
	}
}

// falters is a machines plane whose BMCs do not answer between two moments.
type falters struct {
	bmcs
	begun time.Time
}

func (f falters) Observe(ctx context.Context, d *model.Desired, o *model.Observed, ask []string) (map[string]model.MachineState, error) {
	f.boxes["cp-0"].trouble = ""
	if since := time.Since(f.begun); since > 3*time.Minute && since < 6*time.Minute {
		f.boxes["cp-0"].trouble = model.TroubleUnreachable
	}
	return f.bmcs.Observe(ctx, d, o, ask)
}

// TestPatienceThroughTrouble counts on while a BMC does not answer: that is no
// new boot.
func TestPatienceThroughTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ready(t, 1, 0)
		r.boxes["cp-0"].power, r.boxes["cp-0"].media = model.PowerIsOn, imageOf("cp-0")
		begun := time.Now()
		var told, cured time.Duration
		events := func(e model.Event) {
			switch {
			case e.Reason == "MediaNotFetched" && told == 0:
				told = e.Time.Sub(begun)
			case e.Reason == "Cured" && cured == 0:
				cured = e.Time.Sub(begun)
			}
		}
		_, err := install.New(timed{service{r}}, install.WithMachines(falters{bmcs{r}, begun}), install.WithEvents(events)).Run(t.Context(), r.desired)
		if model.CodeOf(err) != model.CodeNeedsUser || told.Round(time.Minute) != 10*time.Minute || cured.Truncate(time.Minute) != 6*time.Minute {
			t.Errorf("told after %s, cured after %s: %v", told, cured, err)
		}
	})
}

// TestStillReading bears a machine that reads its image slowly.
func TestStillReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ready(t, 1, 0)
		x := r.boxes["cp-0"]
		x.power, x.media = model.PowerIsOn, imageOf("cp-0")
		ctx, cancel := context.WithTimeout(t.Context(), 80*time.Minute)
		defer cancel()
		blocked := false
		events := func(e model.Event) {
			blocked = blocked || e.Reason == "AgentNotCalled" || e.Reason == "MediaNotFetched"
		}
		looks := readsOn{bmcs{r}, x}
		_, err := install.New(timed{service{r}}, install.WithMachines(looks), install.WithEvents(events)).Run(ctx, r.desired)
		if blocked || model.CodeOf(err) != model.CodeTimeout {
			t.Errorf("blocked %v: %v", blocked, err)
		}
	})
}

// readsOn is a machine that has read more at each look.
type readsOn struct {
	bmcs
	x *box
}

func (r readsOn) Observe(ctx context.Context, d *model.Desired, o *model.Observed, ask []string) (map[string]model.MachineState, error) {
	r.x.fetched.Requests++
	r.x.fetched.Bytes += 1 << 20
	return r.bmcs.Observe(ctx, d, o, ask)
}

// liar is a machines plane whose BMCs accept what they are told and do nothing,
// or refuse it.
type liar struct {
	bmcs
	err  error
	told map[model.Kind]int
}

func (l *liar) Act(_ context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	l.told[a.Kind]++
	return l.err
}

// TestUselessBMC ends a run over a BMC that lies or refuses with the name of the
// host, and not at once.
func TestUselessBMC(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		text string
	}{
		"lies":    {nil, "times to insert the discovery image into the virtual drive of cp-0, and says that nothing has changed"},
		"refuses": {errors.New("its BMC refuses the image"), "could not insert the discovery image into the virtual drive of cp-0: its BMC refuses the image"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := ready(t, 1, 0)
				l := &liar{bmcs: bmcs{r}, err: test.err, told: map[model.Kind]int{}}
				_, err := install.New(timed{service{r}}, install.WithMachines(l)).Run(t.Context(), r.desired)
				if model.CodeOf(err) != model.CodeNeedsUser || !strings.Contains(err.Error(), test.text) {
					t.Errorf("%v", err)
				}
				if l.told[model.InsertMedia] < 3 || len(l.told) != 1 {
					t.Errorf("told %v", l.told)
				}
			})
		})
	}
}
