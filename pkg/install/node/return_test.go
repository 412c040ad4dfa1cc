//go:build e2e

package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// pooled is an installed cluster whose hosts came from a pool, of a service that boots them into the
// discovery image where it can.
type pooled struct {
	*leaving
	change func(*model.Observed) // what the service says otherwise
}

func newPooled(t *testing.T, machines bool, returns model.HostReturn) *pooled {
	t.Helper()
	p := &pooled{leaving: newLeaving(t, machines, nil), change: func(*model.Observed) {}}
	for i := range p.records {
		p.records[i].Returns = returns
	}
	return p
}

// Observe is of install.Service.
func (p *pooled) Observe(ctx context.Context, q model.Query, prior *model.Observed) (*model.Observed, error) {
	observed, err := p.leaving.Observe(ctx, q, prior)
	if err == nil {
		p.change(observed)
	}
	return observed, err
}

// returning gives hosts back, once. told is called with each event.
func (p *pooled) returning(ctx context.Context, told func(model.Event), names ...string) (install.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	plane := p.plane()
	defer plane.Close()
	desired := p.removing(func(r *model.Removal) { r.ReturnToPool = true }, names...)
	return install.New(p, install.Config{Nodes: plane, Clock: p.clock, Timeout: -1, UserTimeout: -1, Events: func(e model.Event) {
		p.t.Logf("%s %s %s %s", e.Type, e.Key, e.State, e.Message)
		told(e)
	}}).Run(ctx, desired)
}

// returned runs until the host has gone back, and is about to be booted.
func (p *pooled) returned(name string) {
	p.t.Helper()
	ctx, kill := context.WithCancel(p.t.Context())
	defer kill()
	_, err := p.returning(ctx, func(e model.Event) {
		if e.Type == model.EventProgress && strings.Contains(e.Message, name+" to be booted into the discovery image") {
			kill()
		}
	}, name)
	if err == nil || !slices.Equal(p.given, []string{name}) || !p.hasNode(name) {
		p.t.Fatalf("given back %v: %v", p.given, err)
	}
}

// begin cordons a node as a run without --return-to-pool does, that was left.
func (p *pooled) begin(name string) {
	p.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"oaictl.io/removes-node":%q}},"spec":{"unschedulable":true}}`, name)
	must.Get(p.kube.Client.CoreV1().Nodes().Patch(p.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(p.t)
}

func silent(model.Event) {}

// TestReturns: a host goes back to its pool instead of being forgotten, after its node is deleted; by
// its name and by the service's id.
func TestReturns(t *testing.T) {
	for name, of := range map[string]struct {
		machines bool
		returns  model.HostReturn
		byID     bool
	}{
		"a person boots it":     {false, model.ReturnByPerson, false},
		"the hub boots it":      {false, model.ReturnByHub, true},
		"its Machine goes, too": {true, model.ReturnByService, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, asked := newPooled(t, of.machines, of.returns), "w-0"
			if of.byID {
				asked = p.records[slices.IndexFunc(p.records, func(h model.Host) bool { return h.Hostname == "w-0" })].ID
			}
			result, err := p.returning(t.Context(), silent, asked)
			if err != nil || !slices.Equal(p.given, []string{"w-0"}) || len(p.forgotten) > 0 {
				t.Fatalf("given back %v, forgotten %v: %v", p.given, p.forgotten, err)
			}
			if !strings.Contains(result.Plan.Message, "returned to their pools: w-0") || !slices.Contains(result.Plan.Next.Commands(), "get hosts") {
				t.Errorf("%s; next %s", result.Plan.Message, result.Plan.Next)
			}
			if p.hasNode("w-0") {
				t.Error("the node is left")
			}
		})
	}
}

// TestReturnsRunning: if the service boots a node into the discovery image, the node has to run until then. A second
// run goes on where the first ended, by the name of the node and by the id of the host that has left the cluster. A
// node that is silent for a moment is not deleted.
func TestReturnsRunning(t *testing.T) {
	p := newPooled(t, false, model.ReturnByService)
	i := slices.IndexFunc(p.records, func(h model.Host) bool { return h.Hostname == "w-0" })
	record := p.records[i]
	p.returned("w-0")
	off := make(chan time.Time, 1)
	p.beside(func(ctx context.Context) {
		if p.clock.Sleep(ctx, 5*time.Minute) == nil {
			off <- p.clock.Now()
			p.spoke.PowerOff("w-0")
		}
	})
	var deleted time.Time
	result, err := p.returning(t.Context(), func(e model.Event) {
		if e.Type == model.EventAction && e.Reason == string(model.DeleteNode) {
			deleted = e.Time
		}
	}, record.ID)
	if err != nil || len(p.given) != 1 || p.hasNode("w-0") {
		t.Fatalf("given back %v: %v; waits %+v", p.given, err, result.Plan.Waits)
	}
	if !strings.Contains(result.Plan.Message, "returned to their pools: w-0") || strings.Contains(result.Plan.Next.String(), "switch w-0 off") {
		t.Errorf("%s; next %s", result.Plan.Message, result.Plan.Next)
	}
	if after := deleted.Sub(<-off); after < 3*time.Minute {
		t.Errorf("the node was deleted %s after the machine was off", after)
	}
}

// TestReturnsByHand: where the service has given up to boot it, a person is asked for.
func TestReturnsByHand(t *testing.T) {
	p := newPooled(t, false, model.ReturnByService)
	i := slices.IndexFunc(p.records, func(h model.Host) bool { return h.Hostname == "w-0" })
	record := p.records[i]
	p.returned("w-0")
	givesUp := func(o *model.Observed) {
		record.ClusterID, record.State, record.Status = "", model.HostReleasing, "unbinding-pending-user-action"
		o.Hosts = append(o.Hosts, record)
	}
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	asked := false
	_, err := p.returning(ctx, func(e model.Event) {
		if e.Reason == "StillWaiting" { // which does not keep it from asking for a person later
			p.change = givesUp
		}
		if e.Reason == "Waiting" && strings.Contains(e.Message, "a person to boot w-0") && slices.ContainsFunc(e.Next.Commands(), func(c string) bool { return strings.HasPrefix(c, "download iso") }) {
			asked = true
			kill()
		}
	}, "w-0")
	if err == nil || !asked || !p.hasNode("w-0") {
		t.Errorf("asked %t: %v", asked, err)
	}
}

// TestReturnIsRefused: a host that cannot go back does not, and its node is left alone.
func TestReturnIsRefused(t *testing.T) {
	bound := func(o *model.Observed) {
		o.InfraEnvs = []model.InfraEnv{{ID: "env", Name: "lab", ClusterID: "cluster-1"}}
	}
	noRecord := func(o *model.Observed) {
		o.Hosts = slices.DeleteFunc(o.Hosts, func(h model.Host) bool { return h.Hostname == "w-0" })
	}
	for name, of := range map[string]struct {
		prepare func(*pooled)
		change  func(*model.Observed)
		reason  string
	}{
		"bound":     {func(*pooled) {}, bound, "NoPool"},
		"no record": {func(*pooled) {}, noRecord, "NoRecord"},
		"not Ready": {func(p *pooled) { p.off("w-0") }, func(*model.Observed) {}, "NotReturned"},
		// What runs without --return-to-pool, and was left, does not go back by a guess.
		"begun, no record": {func(p *pooled) { p.begin("w-0") }, noRecord, "NoRecord"},
		"begun, bound":     {func(p *pooled) { p.begin("w-0") }, bound, "NoPool"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPooled(t, false, model.ReturnByService)
			of.prepare(p)
			p.change = of.change
			result, err := p.returning(t.Context(), silent, "w-0")
			if model.FaultOf(err).Code != model.CodeInput || !slices.ContainsFunc(result.Plan.Blockers, func(b model.Blocker) bool { return b.Reason == of.reason }) {
				t.Errorf("%v; %+v", err, result.Plan.Blockers)
			}
			if len(p.given) > 0 || len(p.forgotten) > 0 || !p.hasNode("w-0") {
				t.Errorf("given back %v, forgotten %v", p.given, p.forgotten)
			}
		})
	}
}
