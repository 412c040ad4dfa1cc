package install_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/internal/decidetest"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestEndsOfRemoval are those of whole runs.
func TestEndsOfRemoval(t *testing.T) {
	for name, test := range map[string]struct {
		world func() *decidetest.Shrinking
		code  model.Code
		says  []string
		next  string
	}{
		"removed": {func() *decidetest.Shrinking { return decidetest.NewShrinking(3, 2, true, "worker-1") }, 0, nil, ""},
		"drained too slowly": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, true, "worker-1")
			w.Held["shop/db-worker-1"] = true
			w.Desired.Options.Remove.Drain.Timeout = 10 * time.Minute
			return w
		}, model.CodeTimeout, []string{"worker-1 was not drained in 10m0s", "shop/db-worker-1 is protected by the PodDisruptionBudget db since 0"},
			"kubectl uncordon worker-1"},
		"nobody removes the member": {
			func() *decidetest.Shrinking { return decidetest.NewShrinking(4, 0, false, "cp-3") }, model.CodeNeedsUser,
			[]string{"a person to remove the member a3 of cp-3 (192.168.127.13) from etcd"},
			"oc -n openshift-etcd rsh etcd-cp-0 etcdctl member remove a3",
		},
		"a BMC that does not answer": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 2, false, "worker-1")
			w.WithBMC("worker-1")
			w.Trouble["worker-1"] = "no route to host"
			return w
		}, model.CodeNeedsUser, []string{"worker-1 cannot be switched off: no route to host"}, "--keep-running"},
		"two, and one is held": {func() *decidetest.Shrinking {
			w := decidetest.NewShrinking(3, 3, true, "worker-1", "worker-2")
			w.Held["shop/db-worker-1"] = true
			w.Desired.Options.Remove.Drain.Timeout = 2 * time.Minute
			return w
		}, model.CodeTimeout, []string{"worker-1 was not drained in 2m0s"}, "kubectl uncordon worker-1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := test.world()
				p := &shrinkingPlane{Shrinking: w}
				result, err := install.New(p, install.Config{Nodes: shrinkingNodes{p}, Machines: shrinkingMachines{p},
					Timeout: -1, UserTimeout: time.Hour}).Run(t.Context(), w.Desired)
				if result.ExitCode != int(test.code) {
					t.Fatalf("code %d: %v; did %s", result.ExitCode, err, w.Kinds())
				}
				for _, text := range test.says {
					check.Contains(t, err.Error(), text, err)
				}
				if next := model.FaultOf(err).Next.String(); !strings.Contains(next, test.next) {
					t.Errorf("next %s; want %s", next, test.next)
				}
				if name == "two, and one is held" && w.Node("worker-2") != nil {
					t.Errorf("worker-2 is not removed: %s", w.Kinds())
				}
			})
		})
	}
}

// shrinkingPlane is the model as a service plane. The planes of a run act side by side.
type shrinkingPlane struct {
	*decidetest.Shrinking
	mu sync.Mutex
}

func (p *shrinkingPlane) Observe(context.Context, model.Query, *model.Observed) (*model.Observed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.At = time.Now()
	if err := p.Pass(); err != nil {
		return nil, err
	}
	o := p.Observed()
	o.At, o.Spoke, o.Machines = time.Now(), nil, nil
	return o, nil
}

func (p *shrinkingPlane) Act(_ context.Context, _ *model.Desired, a model.Action) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Apply(a)
}

func (p *shrinkingPlane) Credential(context.Context, string, string) ([]byte, error) {
	return nil, errors.New("the service has none")
}

// shrinkingNodes is the nodes plane, shrinkingMachines the machines plane.
type (
	shrinkingNodes    struct{ *shrinkingPlane }
	shrinkingMachines struct{ *shrinkingPlane }
)

func (p shrinkingNodes) Observe(context.Context, *model.Desired, *model.Observed) (*model.Spoke, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Observed().Spoke, nil
}

func (p shrinkingNodes) Act(ctx context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	return p.shrinkingPlane.Act(ctx, nil, a)
}

func (p shrinkingNodes) Changed() <-chan struct{} { return nil }

func (p shrinkingMachines) Observe(
	_ context.Context, _ *model.Desired, _ *model.Observed, ask []string,
) (map[string]model.MachineState, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]model.MachineState{}
	for _, name := range ask {
		out[name] = model.MachineState{Power: p.Power[name], Trouble: p.Trouble[name]}
	}
	return out, nil
}

func (p shrinkingMachines) Act(ctx context.Context, _ *model.Desired, _ *model.Observed, a model.Action) error {
	return p.shrinkingPlane.Act(ctx, nil, a)
}
