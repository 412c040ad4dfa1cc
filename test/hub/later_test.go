package hub

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/oaictl/oaictl/internal/simulator"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/hubapi"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// optionalWorker is a cluster whose second worker is not required.
func optionalWorker(t testing.TB, bind string) *spec.Cluster {
	t.Helper()
	return exampleWith(t, "ha-workers", "    workers: 2\n", "    workers: 2\n    required: {workers: 1, within: 5m}\n", "  hosts:\n", "  infraEnv: {bind: "+bind+"}\n  hosts:\n")
}

// singleWithWorker is a single node with a worker, which has a static network and
// is added later.
func singleWithWorker(t testing.TB, bind string) *spec.Cluster {
	t.Helper()
	const worker = `  - name: worker-0
    role: worker
    net: {mac: "52:54:00:00:01:10", ip: 192.168.127.50/24, gateway: 192.168.127.1, dns: [192.168.127.1]}
`
	return exampleWith(t, "sno", "  hosts:", "  topology: {required: {workers: 0}}\n  infraEnv: {bind: "+bind+"}\n  hosts:", "  - name: cp-0\n", worker+"  - name: cp-0\n")
}

// exampleWith is the cluster of an example, with texts of it replaced.
func exampleWith(t testing.TB, name string, changes ...string) *spec.Cluster {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", name, "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	shared, err := filepath.Abs(filepath.Join("..", "..", "examples", "shared"))
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(strings.NewReplacer(changes...).Replace(string(text)), "../shared", shared)
	cluster, err := spec.Parse(t.Context(), filepath.Join(t.TempDir(), "cluster.yaml"), []byte(changed), spec.OSEnv())
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// TestAddNode installs a cluster without a worker that is not required, with hosts
// that are bound to it early or late, and adds the worker afterwards; a second run
// of either writes nothing.
func TestAddNode(t *testing.T) {
	missing := &scenario.Scenario{Name: "late", Hosts: []scenario.Rule{{Match: scenario.Match{Name: "worker-1"}, Do: scenario.DoNeverBoot}}}
	addsNode(t, "worker-1", optionalWorker, missing)
}

// TestAddNodeToSingleNode does so with a worker of a single node, which no service
// takes until the node is installed.
func TestAddNodeToSingleNode(t *testing.T) {
	addsNode(t, "worker-0", singleWithWorker, nil)
}

func addsNode(t *testing.T, worker string, file func(t testing.TB, bind string) *spec.Cluster, missing *scenario.Scenario) {
	for _, bind := range []string{"early", "late"} {
		t.Run(bind, func(t *testing.T) {
			t.Parallel()
			all := backends()
			if bind == "early" {
				all = append(all, bare())
			}
			same(t, all, func(t *testing.T, b backend) trace {
				x := b.open(t, setup{cluster: file(t, bind), scenario: missing})
				dir := t.TempDir()
				first := x.run(t, dir)
				if first.err != nil || first.result.Verdict != install.VerdictInstalled {
					t.Fatalf("verdict %q: %v\n%s", first.result.Verdict, first.err, first.story())
				}
				x.bootLate(t)
				more := &install.Desired{Spec: x.cluster, Options: install.Options{Run: "run-2", AddNodes: true}}
				added := x.runDesired(t, more, dir)
				if added.err != nil || added.trace.Hosts[worker].Last != string(install.HostAdded) {
					t.Fatalf("add-node: %v; %s %v\n%s", added.err, worker, added.trace.Hosts[worker], added.story())
				}
				x.forget()
				if again := x.runDesired(t, more, dir); again.err != nil || len(x.written()) > 0 {
					t.Errorf("add-node, again: %v; writes %v", again.err, x.written())
				}
				if again := x.run(t, dir); again.err != nil || len(x.written()) > 0 {
					t.Errorf("create cluster, again: %v; writes %v", again.err, x.written())
				}
				both := first.trace
				both.Hosts[worker], both.Later = added.trace.Hosts[worker], added.trace.Kinds
				return both
			})
		})
	}
}

// bootLate switches the machines on that are not part of the cluster.
func (x *site) bootLate(t *testing.T) {
	t.Helper()
	go func() {
		err := simulator.Boot(t.Context(), simulator.BootConfig{ServiceURL: x.service.URL(), Clock: x.time, Seed: 1, Cluster: x.cluster, Day: host.Day2, KubeAPI: x.hub})
		if err != nil && t.Context().Err() == nil {
			t.Errorf("the machines of day 2: %v", err)
		}
	}()
}

// TestDelete deletes a cluster that is installed, and one that is being installed.
// Nothing of it is left, a second deletion finds nothing, and what others have
// stays.
func TestDelete(t *testing.T) {
	for _, b := range backends() {
		for _, when := range []install.ClusterState{install.ClusterInstalling, install.ClusterInstalled} {
			t.Run(b.name+" "+string(when), func(t *testing.T) {
				t.Parallel()
				x := b.open(t, setup{cluster: example(t, "sno")})
				untouched := func() {}
				if x.hub {
					untouched = x.strangers(t)
				}
				plane := x.plane(t)
				cluster := x.reach(t, plane, when)
				if canceller, ok := plane.(interface {
					CancelInstall(context.Context, string) error
				}); ok && !x.hub && when == install.ClusterInstalling {
					if err := canceller.CancelInstall(t.Context(), cluster); err != nil { // the hub's operator does that by itself
						t.Fatal(err)
					}
				}
				if err := plane.DeleteCluster(t.Context(), cluster); err != nil {
					t.Fatalf("%v (next: %s)", err, install.NextOf(err))
				}
				if left := x.named(t, "/v2/clusters", x.cluster.Metadata.Name); len(left) > 0 {
					t.Errorf("the service still has %v", left)
				}
				if x.hub {
					x.nothingLeft(t)
					if err := plane.DeleteCluster(t.Context(), cluster); err != nil {
						t.Errorf("a second time: %v", err)
					}
				}
				untouched()
			})
		}
	}
}

// nothingLeft checks that a hub has no object of the cluster.
func (x *site) nothingLeft(t testing.TB) {
	t.Helper()
	for _, kind := range hubKinds() {
		if left := x.ours(t, kind); len(left) > 0 {
			t.Errorf("%d %s are left", len(left), kind.Resource)
		}
	}
}

// hubKinds are the kinds of objects that a cluster is made of.
func hubKinds() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		hubapi.ClusterDeployments(), hubapi.AgentClusterInstalls(), hubapi.InfraEnvs(), hubapi.NMStateConfigs(), hubapi.Agents(), hubapi.Secrets(), hubapi.ConfigMaps(),
	}
}

// reach installs until the cluster is in a state, and returns its id.
func (x *site) reach(t testing.TB, plane remote, state install.ClusterState) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a := x.runIn(ctx, t, plane, &install.Desired{Spec: x.cluster, Options: install.Options{Run: "run-1"}}, t.TempDir(), install.WithEvents(func(e install.Event) {
		if e.Key == "cluster/state" && e.State == string(state) {
			stop()
		}
	}))
	if a.result.Observed == nil || a.result.Observed.Cluster == nil {
		t.Fatalf("there is no cluster: %v", a.err)
	}
	return a.result.Observed.Cluster.ID
}
