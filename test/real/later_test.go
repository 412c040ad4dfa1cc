//go:build e2e

package real

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/must"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// optionalWorker is a cluster whose second worker is not required.
func (b backend) optionalWorker(t testing.TB, bind string) *spec.Cluster {
	t.Helper()
	within := "5m"
	if !b.simulated() {
		within = "20s" // of real time, in which the other machines have long come
	}
	return fixture.Example(t, "ha-workers", "    workers: 2\n", "    workers: 2\n    required: {workers: 1, within: "+within+"}\n", "  hosts:\n", "  infraEnv: {bind: "+bind+"}\n  hosts:\n")
}

// singleWithWorker is a single node with a worker, which has a static network and is
// added later.
func (b backend) singleWithWorker(t testing.TB, bind string) *spec.Cluster {
	t.Helper()
	const worker = `  - name: worker-0
    role: worker
    net: {mac: "52:54:00:00:01:10", ip: 192.168.127.50/24, gateway: 192.168.127.1, dns: [192.168.127.1]}
`
	return fixture.Example(t, "sno", "  hosts:", "  topology: {required: {workers: 0}}\n  infraEnv: {bind: "+bind+"}\n  hosts:", "  - name: cp-0\n", worker+"  - name: cp-0\n")
}

// TestAddNode installs a cluster without a worker that is not required, with hosts that
// are bound to it early or late, and adds the worker afterwards; a second run of either
// writes nothing.
func TestAddNode(t *testing.T) {
	missing := &scenario.Scenario{Name: "late", Hosts: []scenario.Rule{{Match: scenario.Match{Name: "worker-1"}, Do: scenario.DoNeverBoot}}}
	addsNode(t, "worker-1", backend.optionalWorker, missing)
}

// TestAddNodeToSingleNode does so with a worker of a single node, which no service takes
// until the node is installed.
func TestAddNodeToSingleNode(t *testing.T) {
	addsNode(t, "worker-0", backend.singleWithWorker, nil)
}

func addsNode(t *testing.T, worker string, file func(backend, testing.TB, string) *spec.Cluster, missing *scenario.Scenario) {
	for _, bind := range []string{"early", "late"} {
		part(t, bind, func(t *testing.T) {
			all := backends(t)
			if bind == "early" && all[0].simulated() {
				all = append(all, bare())
			}
			same(t, all, func(t *testing.T, b backend) fixture.Trace {
				if b.hub && !b.simulated() {
					t.Skip("the service behind a hub asks the cluster itself whether a node has joined, and that of these machines has no API")
				}
				x := b.open(t, file(b, t, bind), missing)
				r := x.start(t, false)
				first := r.once(t.Context(), t)
				if first.err != nil || first.result.Verdict != model.VerdictInstalled {
					t.Fatalf("create cluster: %s", first.says())
				}
				x.scenario = nil
				x.boot(t, host.Day2, now(), nil)
				r.nodes = true
				added := r.once(t.Context(), t)
				if added.err != nil || added.trace.Hosts[worker].Last != string(model.HostAdded) {
					t.Fatalf("add-node: %s %v\n%s", worker, added.trace.Hosts[worker], added.says())
				}
				r.writesNothing(t)
				r.nodes = false
				r.writesNothing(t)
				for _, stage := range joining() {
					if told := slices.Contains(added.trace.Hosts[worker].Stages, stage); told != b.hub && b.simulated() {
						t.Errorf("that %s is %s is told: %t", worker, stage, told)
					}
				}
				both := first.trace
				both.Hosts[worker], both.Later = withoutJoining(added.trace.Hosts[worker]), added.trace.Kinds
				return both
			})
		})
	}
}

// joining are the stages in which the node of an added host joins: the service behind a hub follows them, and any other
// says that the host is done once it has rebooted.
func joining() []string { return []string{"Waiting for ignition", "Configuring", "Joined"} }

// withoutJoining is the way of an added host without those stages.
func withoutJoining(way fixture.HostTrace) fixture.HostTrace {
	way.Stages = slices.DeleteFunc(slices.Clone(way.Stages), func(stage string) bool {
		return slices.Contains(joining(), stage)
	})
	return way
}

// TestPool installs machines of a pool that was there before, and that the file refers
// to. The pool outlives the cluster.
func TestPool(t *testing.T) {
	begins(t)
	x := overREST(t).open(t, fixture.Example(t, "compact"), nil)
	pool := x.cluster.Metadata.Name + "-pool"
	x.cluster.Spec.InfraEnv = spec.InfraEnv{Bind: spec.BindLate, Ref: pool}
	must.Get(x.wire.do(t.Context(), http.MethodPost, "/v2/infra-envs", map[string]any{
		"name": pool, "openshift_version": x.cluster.Spec.OpenShift.Version, "pull_secret": x.cluster.PullSecret().Reveal(), "cpu_architecture": "x86_64",
	}, nil))(t)
	x.start(t, false).installs(t)
	x.does(t, "delete", "cluster", x.cluster.Metadata.Name, "--yes")
	if left, err := x.wire.named(t.Context(), "/v2/infra-envs", pool); err != nil || len(left) != 1 {
		t.Errorf("the pool after the cluster's end: %v (%v)", left, err)
	}
}

// TestDelete deletes a cluster that is installed, and one that is being installed. Nothing
// of it is left, and a second deletion finds nothing.
func TestDelete(t *testing.T) {
	for _, when := range []model.ClusterState{model.ClusterReady, model.ClusterInstalling, model.ClusterInstalled} {
		for _, b := range backends(t) {
			part(t, string(when)+"/"+b.name, func(t *testing.T) {
				x := b.open(t, fixture.Example(t, "compact"), nil)
				name := x.cluster.Metadata.Name
				x.reach(t, when)
				if !x.hub && when == model.ClusterInstalling { // a hub's operator does that by itself
					x.does(t, "cancel", "cluster", name, "--yes")
				}
				x.does(t, "delete", "cluster", name, "--yes")
				for _, path := range []string{"/v2/clusters", "/v2/infra-envs"} {
					if left, err := x.named(t.Context(), path); err != nil || len(left) > 0 {
						t.Errorf("%s: the service still has %v (%v)", path, left, err)
					}
				}
				if x.hub {
					x.nothingLeft(t)
				}
				if code, said := x.command(t, "delete", "cluster", name, "--yes"); code != int(model.CodeNotFound) || !strings.Contains(said, name) {
					t.Errorf("a second time: exit code %d\n%s", code, said)
				}
			})
		}
	}
}

// reach installs until the cluster is in a state.
func (x *site) reach(t testing.TB, state model.ClusterState) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reached := false
	r := x.start(t, false)
	r.hear = append(r.hear, func(e model.Event) {
		// A hub goes on to take more hosts by itself.
		further := state == model.ClusterInstalled && e.State == string(model.ClusterAddingHosts)
		if e.Key == "cluster/state" && (further || e.State == string(state)) {
			reached = true
			stop()
		}
	})
	if a := r.once(ctx, t); !reached {
		t.Fatalf("it is never %s: %s", state, a.says())
	}
}
