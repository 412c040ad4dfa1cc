package install_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// growingNodes is the installed cluster of a world as a plane.
type growingNodes struct{ *plane }

// Observe is of install.Nodes.
func (g growingNodes) Observe(context.Context, *model.Desired, *model.Observed) (*model.Spoke, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := g.Spoke.Seen
	seen.Requests = slices.Clone(seen.Requests)
	return &seen, nil
}

// Act is of install.Nodes.
func (g growingNodes) Act(_ context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.Spoke.Apply(a)
}

// Changed is of install.Nodes.
func (growingNodes) Changed() <-chan struct{} { return nil }

// asked is a world, with when approvals were sent.
type asked struct {
	plane
	approvedAt []time.Time
}

// asking is a run that adds a worker and asks for each approval.
func asking(
	t *testing.T, ask func(context.Context, model.RequestVerdict) (bool, error), userTimeout time.Duration, changes ...func(*asked),
) (*asked, install.Result, error) {
	t.Helper()
	p := &asked{plane: plane{World: decidetest.AddsOne(t)}}
	for i := range p.Spoke.Seen.Requests {
		p.Spoke.Seen.Requests[i].Approved = false
	}
	p.Spoke.Approved = map[string]int{}
	p.Desired.Options.Approve = model.ApproveAsk
	// The world's dates are its own: the run goes on from now.
	shift := time.Since(p.Observed.At)
	for i := range p.Observed.Hosts {
		h := &p.Observed.Hosts[i]
		h.Since, h.Rebooted, h.Registered, h.CheckedIn = h.Since.Add(shift), later(h.Rebooted, shift), h.Registered.Add(shift),
			h.CheckedIn.Add(shift)
	}
	for i := range p.Spoke.Seen.Requests {
		p.Spoke.Seen.Requests[i].Created = p.Spoke.Seen.Requests[i].Created.Add(shift)
	}
	for _, change := range changes {
		change(p)
	}
	approved := install.Config{Events: func(e model.Event) {
		if e.Type == model.EventAction && e.Reason == string(model.ApproveRequest) {
			p.approvedAt = append(p.approvedAt, time.Now())
		}
	}}
	result, err := install.New(p, install.Config{Nodes: growingNodes{&p.plane}, Ask: ask}, approved,
		install.Config{Timeout: 6 * time.Hour, UserTimeout: userTimeout}).Run(t.Context(), p.Desired)
	return p, result, err
}

func later(at time.Time, by time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(by)
}

// TestAsksBesideTheLoop: while a person thinks, the loop goes on looking; the answer wakes it.
func TestAsksBesideTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most, asked atomic.Int32
		var answeredAt []time.Time
		p, result, err := asking(t, func(ctx context.Context, v model.RequestVerdict) (bool, error) {
			asked.Add(1)
			most.Store(max(most.Load(), open.Add(1)))
			defer open.Add(-1)
			select {
			case <-time.After(20*time.Minute + 300*time.Millisecond):
				answeredAt = append(answeredAt, time.Now())
				return true, nil
			case <-ctx.Done():
				return false, context.Cause(ctx)
			}
		}, time.Hour)
		if err != nil || result.Verdict != model.VerdictInstalled || !slices.Contains(result.Plan.Ready, "worker-1") {
			t.Fatalf("%v: %+v", err, result.Plan)
		}
		if asked.Load() != 2 || most.Load() != 1 || len(p.Spoke.Approved) != 2 {
			t.Errorf("asked %d times, %d at once; approved %v", asked.Load(), most.Load(), p.Spoke.Approved)
		}
		for i, at := range p.approvedAt {
			if late := at.Sub(answeredAt[i]); late > 200*time.Millisecond {
				t.Errorf("the answer is noticed after %s", late)
			}
		}
		if p.looks < 100 { // at most ten seconds apart, in 40 minutes
			t.Errorf("looked %d times", p.looks)
		}
	})
}

// TestNoAnswer: a question that is open keeps the run from no end, and ends with it.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		_, _, err := asking(t, func(ctx context.Context, _ model.RequestVerdict) (bool, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return false, context.Cause(ctx)
		}, time.Hour)
		if model.FaultOf(err).Code != model.CodeNeedsUser {
			t.Errorf("it ends with %v", err)
		}
		if why := <-ended; why == nil {
			t.Error("the question does not know that it is over")
		}
	})
}

// TestWithdrawn: a question whose request a user has approved is withdrawn, and the next
// one is put; an error is no answer.
func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var withdrawn atomic.Int32
		p, result, err := asking(t, func(ctx context.Context, v model.RequestVerdict) (bool, error) {
			if v.Kind == model.RequestServing {
				return true, nil
			}
			<-ctx.Done()
			withdrawn.Add(1)
			return false, errors.New("nobody needs it")
		}, 0, func(p *asked) {
			began := time.Now()
			p.observe = func(int) error {
				if r := &p.Spoke.Seen.Requests[0]; !r.Approved && time.Since(began) > 5*time.Minute {
					r.Approved, r.Reason = true, "KubectlApprove"
				}
				return nil
			}
		})
		if err != nil || !slices.Contains(result.Plan.Ready, "worker-1") || withdrawn.Load() != 1 {
			t.Fatalf("%v, withdrawn %d: %+v", err, withdrawn.Load(), result.Plan)
		}
		if p.Spoke.Seen.Requests[0].Reason == csr.ApprovedReason {
			t.Error("oaictl has approved it")
		}
	})
}
