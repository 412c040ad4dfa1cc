package node_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/pkg/install"
)

// pooled is an installed cluster whose hosts came from a pool, of a service that boots them into the
// discovery image where it can.
type pooled struct {
	*leaving
	given []string // back, by name
}

func newPooled(t *testing.T, machines bool, returns model.HostReturn) *pooled {
	t.Helper()
	p := &pooled{leaving: newLeaving(t, machines, nil)}
	for i := range p.records {
		p.records[i].Returns = returns
	}
	return p
}

// Act is of install.Service: hosts go back to the pool.
func (p *pooled) Act(ctx context.Context, d *install.Desired, a install.Action) error {
	if a.Kind != model.ReturnHost {
		return p.leaving.Act(ctx, d, a)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given = append(p.given, a.Name)
	p.records = slices.DeleteFunc(p.records, func(h install.Host) bool { return h.ID == a.Target })
	return nil
}

func (p *pooled) run(names ...string) (install.Result, error) {
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	plane := p.plane()
	defer plane.Close()
	desired := p.removing(func(r *install.Removal) { r.ReturnToPool = true }, names...)
	return install.New(p, install.WithNodes(plane), install.WithClock(p.clock), install.WithTimeouts(0, 0)).Run(ctx, desired)
}

// TestReturns: a host goes back to its pool instead of being forgotten, after its node is deleted.
func TestReturns(t *testing.T) {
	for name, of := range map[string]struct {
		machines bool
		returns  model.HostReturn
	}{
		"a person boots it":     {false, model.ReturnByPerson},
		"the hub boots it":      {false, model.ReturnByHub},
		"its Machine goes, too": {true, model.ReturnByService},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPooled(t, of.machines, of.returns)
			result, err := p.run("w-0")
			if err != nil || !slices.Equal(p.given, []string{"w-0"}) || len(p.forgotten) > 0 {
				t.Fatalf("given back %v, forgotten %v: %v", p.given, p.forgotten, err)
			}
			if !strings.Contains(result.Plan.Message, "given back to their pools: w-0") || !slices.Contains(result.Plan.Next.Commands(), "get hosts") {
				t.Errorf("%s; next %s", result.Plan.Message, result.Plan.Next)
			}
			if p.hasNode("w-0") {
				t.Error("the node is left")
			}
		})
	}
}

// TestReturnsRunning: where the service boots a node into the discovery image, that has to run until
// then; it goes on where it was left, too.
func TestReturnsRunning(t *testing.T) {
	p := newPooled(t, false, model.ReturnByService)
	ctx, kill := context.WithCancel(t.Context())
	plane := p.plane()
	desired := p.removing(func(r *install.Removal) { r.ReturnToPool = true }, "w-0")
	_, err := install.New(p, install.WithNodes(plane), install.WithClock(p.clock), install.WithTimeouts(0, 0), install.WithEvents(func(e install.Event) {
		if e.Type == model.EventProgress && strings.Contains(e.Message, "w-0 to be booted into the discovery image") {
			kill()
		}
	})).Run(ctx, desired)
	plane.Close()
	if err == nil || !slices.Equal(p.given, []string{"w-0"}) || !p.hasNode("w-0") {
		t.Fatalf("given back %v: %v", p.given, err)
	}
	p.beside(func(ctx context.Context) {
		if p.clock.Sleep(ctx, 5*time.Minute) == nil {
			p.spoke.PowerOff("w-0")
		}
	})
	result, err := p.run("w-0")
	if err != nil || len(p.given) != 1 || p.hasNode("w-0") {
		t.Errorf("given back %v: %v; waits %+v", p.given, err, result.Plan.Waits)
	}
}

// TestReturnIsRefused: a host without a pool does not go back, and its node is left alone.
func TestReturnIsRefused(t *testing.T) {
	for name, of := range map[string]struct {
		change func(*install.Observed)
		reason string
	}{
		"bound": {func(o *install.Observed) {
			o.InfraEnvs = []install.InfraEnv{{ID: "env", Name: "lab", ClusterID: "cluster-1"}}
		}, "NoPool"},
		"no record": {func(o *install.Observed) { o.Hosts = nil }, "NoRecord"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &otherwise{pooled: newPooled(t, false, model.ReturnByService), change: of.change}
			plane := p.plane()
			defer plane.Close()
			desired := p.removing(func(r *install.Removal) { r.ReturnToPool = true }, "w-0")
			result, err := install.New(p, install.WithNodes(plane), install.WithClock(p.clock), install.WithTimeouts(0, 0)).Run(t.Context(), desired)
			if install.CodeOf(err) != install.CodeInput || !slices.ContainsFunc(result.Plan.Blockers, func(b install.Blocker) bool { return b.Reason == of.reason }) {
				t.Errorf("%v; %+v", err, result.Plan.Blockers)
			}
			p.untouched("w-0")
			if len(p.given) > 0 {
				t.Errorf("given back %v", p.given)
			}
		})
	}
}

// otherwise is a service that says something else.
type otherwise struct {
	*pooled
	change func(*install.Observed)
}

// Observe is of install.Service.
func (o *otherwise) Observe(ctx context.Context, q install.Query, prior *install.Observed) (*install.Observed, error) {
	observed, err := o.pooled.Observe(ctx, q, prior)
	if err == nil {
		o.change(observed)
	}
	return observed, err
}
