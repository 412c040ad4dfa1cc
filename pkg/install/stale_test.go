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

// forgetful is a plane whose service does not answer for some looks: it gives
// its last picture then, which lacks what was written since.
type forgetful struct {
	*plane
	last   *model.Observed
	wrote  bool
	silent int // looks after a write that are not answered
	left   int
}

func (f *forgetful) Observe(ctx context.Context, query model.Query, prior *model.Observed) (*model.Observed, error) {
	if f.wrote {
		f.wrote, f.left = false, f.silent
	}
	if f.left > 0 && f.last != nil {
		f.left--
		old := *f.last
		old.At, old.Stale = time.Now(), "connection refused"
		return &old, nil
	}
	var err error
	f.last, err = f.plane.Observe(ctx, query, prior)
	return f.last, err
}

func (f *forgetful) Act(ctx context.Context, desired *model.Desired, a model.Action) error {
	f.mu.Lock()
	f.wrote = true
	f.mu.Unlock()
	return f.plane.Act(ctx, desired, a)
}

// TestNothingIsWrittenOnAnOldPicture lets the service fall silent after every
// write: an old picture would have it written again.
func TestNothingIsWrittenOnAnOldPicture(t *testing.T) {
	for _, silent := range []int{1, 5, 100} {
		synctest.Test(t, func(t *testing.T) {
			p := &forgetful{plane: &plane{world: newWorld(&model.Desired{Spec: sample(3, 1), Options: model.Options{Run: "run1"}})}, silent: silent}
			if _, err := install.New(p, install.WithTimeouts(0, 0)).Run(t.Context(), p.desired); err != nil {
				t.Fatalf("silent for %d looks: %v", silent, err)
			}
			kinds := map[model.Kind]int{}
			for _, a := range p.writes {
				kinds[a.Kind]++
			}
			for _, kind := range []model.Kind{model.RegisterCluster, model.RegisterInfraEnv, model.StartInstall} {
				if kinds[kind] != 1 {
					t.Errorf("silent for %d looks: %s was written %d times", silent, kind, kinds[kind])
				}
			}
		})
	}
}

// TestSilenceEndsAsTimedOut says of a service that fell silent for good that
// nothing is known, not that the install failed.
func TestSilenceEndsAsTimedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{world: newWorld(&model.Desired{Spec: sample(1, 0)})}
		p.answersOnly(3)
		_, err := install.New(p).Run(t.Context(), p.desired)
		if model.CodeOf(err) != model.CodeTimeout || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("Run: %v (code %d)", err, model.CodeOf(err))
		}
	})
}

// answersOnly answers so many looks and no more.
func (p *plane) answersOnly(looks int) {
	p.observe = func(n int) error {
		if n > looks {
			return &model.Fault{Err: errors.New("connection refused")}
		}
		return nil
	}
}

// TestAnOldPictureDecidesNothing holds Decide itself to it, for drivers of
// other kinds.
func TestAnOldPictureDecidesNothing(t *testing.T) {
	w := newWorld(&model.Desired{Spec: sample(3, 0)})
	observed := w.observed
	observed.Stale = "connection refused"
	plan := install.Decide(w.desired, &observed, model.Memory{}, observed.At)
	if len(plan.Actions) > 0 || plan.Verdict != model.VerdictWaiting || len(plan.Waits) != 1 {
		t.Errorf("plan %+v", plan)
	}
}
