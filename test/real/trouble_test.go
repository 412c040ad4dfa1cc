//go:build e2e

package real

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/oaictl/oaictl/internal/shared/hubapi"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// scene reads a scenario of the examples.
func scene(t testing.TB, name string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(filepath.Join("..", "..", "examples", "scenarios", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTrouble installs with trouble of the machines, on every backend, with the same
// end.
func TestTrouble(t *testing.T) {
	for name, test := range map[string]struct {
		example string
		code    model.Code // 0: installed
		says    string
	}{
		"unknown-host-appears": {"compact", model.CodeNeedsUser, "52:54:00:ba:dd:01"},
		"host-never-boots":     {"compact", model.CodeNeedsUser, "cp-1"},
		"disk-too-small":       {"compact", model.CodeNeedsUser, "disk"},
		"image-pull-failure":   {"compact", model.CodeNeedsUser, "cp-1: Failed to fetch container images"},
		"duplicate-hostname":   {"compact", 0, ""},
		"boots-iso-again":      {"compact", 0, ""},
		"control-plane-lost":   {"compact", model.CodeFailed, "cp-1"},
		"worker-lost":          {"ha-workers", model.CodeFailed, "worker-1"},
	} {
		part(t, name, func(t *testing.T) {
			same(t, backends(t), func(t *testing.T, b backend) fixture.Trace {
				x := b.open(t, fixture.Example(t, test.example), scene(t, name))
				a := x.start(t, false).once(t.Context(), t)
				if a.trace.Code != int(test.code) || !strings.Contains(a.says(), test.says) {
					t.Fatalf("ends with code %d, not %d with %q: %s", a.trace.Code, test.code, test.says, a.says())
				}
				if name == "unknown-host-appears" {
					x.leftAlone(t, "52:54:00:ba:dd:01")
				}
				if advised := strings.Contains(model.FaultOf(a.err).Next.String(), "oaictl delete cluster "); test.code == model.CodeFailed && advised != x.hub {
					t.Errorf("what is to be typed next: %s", model.FaultOf(a.err).Next) // a hub resets nothing
				}
				if name == "image-pull-failure" {
					a.trace.Cluster, a.trace.Hosts = nil, nil // a hub's operator goes on trying by itself
				}
				return a.trace
			})
		})
	}
}

// leftAlone checks that nothing was done to a machine: no install was asked for, and on a
// hub its Agent is not approved.
func (x *site) leftAlone(t testing.TB, mac string) {
	t.Helper()
	for _, c := range x.Written() {
		if strings.HasSuffix(c.Path, "/actions/install") {
			t.Errorf("an install was asked for: %v", c)
		}
	}
	if !x.hub {
		return
	}
	list, err := x.client.Resource(hubapi.Resource(hubapi.KindAgent)).Namespace(x.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	strangers := 0
	for _, agent := range list.Items {
		interfaces, _, _ := unstructured.NestedSlice(agent.Object, "status", "inventory", "interfaces")
		for _, i := range interfaces {
			fields, _ := i.(map[string]any)
			if address, _ := fields["macAddress"].(string); !strings.EqualFold(address, mac) {
				continue
			}
			strangers++
			if approved, _, _ := unstructured.NestedBool(agent.Object, "spec", "approved"); approved {
				t.Error("the machine that the file does not name was approved")
			}
		}
	}
	if strangers != 1 {
		t.Errorf("%d Agents of the machine that the file does not name", strangers)
	}
}

// TestDegraded installs a cluster in which an operator fails that the cluster can do without. A hub installs no
// operators with a cluster.
func TestDegraded(t *testing.T) {
	begins(t)
	fails := &scenario.Scenario{Name: "operator-fails", Hosts: []scenario.Rule{{Do: scenario.DoOperatorsTimeout, Args: scenario.Args{"operators": []string{"nmstate"}}}}}
	x := overREST(t).open(t, singleNodeWithOperator(t), fails)
	r := x.start(t, false)
	a := r.once(t.Context(), t)
	if a.trace.Code != int(model.CodeDegraded) || !strings.Contains(a.says(), "nmstate") {
		t.Fatalf("ends with code %d, not %d with the operator's name: %s", a.trace.Code, model.CodeDegraded, a.says())
	}
	r.Forget()
	if again := r.once(t.Context(), t); again.trace.Code != int(model.CodeDegraded) || len(r.Written()) > 0 {
		t.Errorf("the second run ends with code %d; writes %v", again.trace.Code, r.Written())
	}
}

// singleNodeWithOperator is a single node with an operator on top.
func singleNodeWithOperator(t testing.TB) *spec.Cluster {
	t.Helper()
	return fixture.Example(t, "sno", "  hosts:  ", "  operators: [{name: nmstate}]\n  hosts:  ")
}

// TestCancel cancels an install that a run waits for: while it is prepared, which takes
// the cluster back to where it can be installed, and while machines are installed, after
// which it is reset. The run ends and says so, and another run installs. A hub takes no
// cancellation.
func TestCancel(t *testing.T) {
	for phase, test := range map[model.ClusterState]struct{ next string }{
		model.ClusterPreparing:  {"the same command again"},
		model.ClusterInstalling: {"reset"},
	} {
		part(t, string(phase), func(t *testing.T) {
			x := overREST(t).open(t, fixture.Example(t, "compact"), nil)
			r := x.start(t, false)
			r.hear = append(r.hear, x.cancelAt(t, phase))
			a := r.once(t.Context(), t)
			if a.trace.Code != int(model.CodeFailed) || !strings.Contains(a.err.Error(), "cancel") || !strings.Contains(model.FaultOf(a.err).Next.String(), test.next) {
				t.Fatalf("ends with code %d, not %d, cancelled, with a next command to %s: %s", a.trace.Code, model.CodeFailed, test.next, a.says())
			}
			if phase == model.ClusterInstalling {
				x.does(t, "reset", "cluster", x.cluster.Metadata.Name, "--yes")
			}
			r.hear = nil
			if again := r.once(t.Context(), t); again.err != nil || again.result.Verdict != model.VerdictInstalled {
				t.Fatalf("another run: %s", again.says())
			}
		})
	}
}

// cancelAt cancels the install once, as soon as the run knows that it has come so far:
// from its own install call on it is prepared.
func (x *site) cancelAt(t testing.TB, phase model.ClusterState) func(model.Event) {
	t.Helper()
	var once sync.Once
	return func(e model.Event) {
		started := e.Type == model.EventAction && e.Reason == string(model.StartInstall) && e.State == "done"
		if phase == model.ClusterPreparing && started || phase != model.ClusterPreparing && e.Key == "cluster/state" && e.State == string(phase) {
			once.Do(func() {
				if code, said := x.command(t, "cancel", "cluster", x.cluster.Metadata.Name, "--yes"); code != 0 {
					t.Errorf("cancel: exit code %d\n%s", code, said)
				}
			})
		}
	}
}
