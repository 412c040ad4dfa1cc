package install_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// story is a rack in which something happens at each look.
type story struct {
	service
	looks *int
	at    map[int]func()
}

func (s story) Observe(ctx context.Context, q model.Query, prior *model.Observed) (*model.Observed, error) {
	if *s.looks++; s.at[*s.looks] != nil {
		s.at[*s.looks]()
	}
	return s.service.Observe(ctx, q, prior)
}

// tale runs an installation in which things happen at the n-th looks.
func tale(t *testing.T, r *rack, machines install.Machines, at map[int]func()) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err := install.New(story{service{r}, new(int), at}, install.WithMachines(machines)).Run(ctx, r.desired)
	return err
}

// TestInsertedWhileItRegistered ejects an image that came into the drive when the
// host had registered already, and nobody looked.
func TestInsertedWhileItRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ready(t, 1, 0)
		x := r.boxes["cp-0"]
		x.power = model.PowerIsOn
		x.fetched = model.Fetched{Requests: 1, Bytes: 1, Last: r.observed.At}
		at := map[int]func(){
			3: func() { x.booted = true; r.pass() },
			9: func() { x.media = imageOf("cp-0") },
		}
		for n := 12; n < 60; n += 3 {
			at[n] = r.pass
		}
		if err := tale(t, r, bmcs{r}, at); err != nil {
			t.Fatal(err)
		}
		if x.media != "" {
			t.Errorf("the image is left in the drive: %+v", *x)
		}
	})
}

// TestAskedWhileItRuns asks the BMC of a host that has registered no more than once,
// unless the host would boot the image again by itself.
func TestAskedWhileItRuns(t *testing.T) {
	for _, stays := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := ready(t, 2, 0) // of which one never comes
			x := r.boxes["cp-0"]
			*x = box{power: model.PowerIsOn, media: imageOf("cp-0"), once: stays, stays: stays, booted: true}
			r.boxes["cp-1"].trouble = model.TroubleBusy
			r.pass()
			before := map[bool]int{false: 1, true: 2}[stays]
			r.boxes["cp-1"].trouble = model.TroubleBusy
			if err := tale(t, r, bmcs{r}, nil); err == nil || r.asked["cp-0"] != before || x.once || x.media == "" {
				t.Errorf("stays %v: %v; asked %d times; %+v", stays, err, r.asked["cp-0"], *x)
			}
		})
	}
}

// slowPower are machines that show seconds later that they were switched.
type slowPower struct {
	bmcs
	told  map[model.Kind]int
	shows time.Duration
	at    time.Time
}

func (s *slowPower) Act(_ context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	if s.told[a.Kind]++; a.Kind == model.PowerOn {
		s.at = time.Now()
		return nil
	}
	return s.tell(a)
}

func (s *slowPower) Observe(ctx context.Context, d *model.Desired, o *model.Observed, ask []string) (map[string]model.MachineState, error) {
	if !s.at.IsZero() && time.Since(s.at) >= s.shows {
		s.switchOn("cp-0")
		s.at = time.Time{}
	}
	return s.bmcs.Observe(ctx, d, o, ask)
}

// TestPowerIsAskedForOnce switches a machine on once, however long its BMC takes to
// show it, and says so where it never does.
func TestPowerIsAskedForOnce(t *testing.T) {
	for shows, want := range map[time.Duration]bool{11 * time.Second: true, 110 * time.Second: true, 24 * time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			r := ready(t, 1, 0)
			s := &slowPower{bmcs: bmcs{r}, told: map[model.Kind]int{}, shows: shows}
			var told []string
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
			defer cancel()
			events := func(e model.Event) { told = append(told, e.Message) }
			_, err := install.New(timed{service{r}}, install.WithMachines(s), install.WithEvents(events)).Run(ctx, r.desired)
			if err == nil || s.told[model.PowerOn] != 1 || s.told[model.SetBootOnce] != 1 {
				t.Errorf("shown after %s: %v; told %v", shows, err, s.told)
			}
			const blocked = "the BMC of cp-0 accepted to switch on cp-0 2 minutes ago, and says that nothing has changed"
			if slices.Contains(told, blocked) == want {
				t.Errorf("shown after %s: %q", shows, told)
			}
		})
	}
}

// inserts are machines whose BMCs answer to an insertion only minutes later.
type inserts struct {
	bmcs
	told  int
	began time.Time
}

func (i *inserts) Act(_ context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	if a.Kind != model.InsertMedia {
		return i.tell(a)
	}
	i.told++
	i.began = time.Now()
	return nil
}

func (i *inserts) Observe(ctx context.Context, d *model.Desired, o *model.Observed, ask []string) (map[string]model.MachineState, error) {
	states, err := i.bmcs.Observe(ctx, d, o, ask)
	if i.began.IsZero() {
		return states, err
	}
	if time.Since(i.began) >= 12*time.Minute {
		i.boxes["cp-0"].media = imageOf("cp-0")
		return i.bmcs.Observe(ctx, d, o, ask)
	}
	states["cp-0"] = model.MachineState{Power: model.PowerIsOff, Inserting: true}
	return states, err
}

// TestSlowInsertionIsWaitedFor inserts an image once where that takes minutes.
func TestSlowInsertionIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := ready(t, 1, 0)
		i := &inserts{bmcs: bmcs{r}}
		var waits []string
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		defer cancel()
		events := func(e model.Event) {
			if e.Type == model.EventWarning || e.State == "blocked" {
				waits = append(waits, e.Message)
			}
		}
		_, err := install.New(timed{service{r}}, install.WithMachines(i), install.WithEvents(events)).Run(ctx, r.desired)
		if model.CodeOf(err) != model.CodeTimeout || i.told != 1 || r.boxes["cp-0"].power != model.PowerIsOn || len(waits) > 0 {
			t.Errorf("%v; told %d times; %+v; %q", err, i.told, *r.boxes["cp-0"], waits)
		}
	})
}
