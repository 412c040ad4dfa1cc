//go:build e2e

package real

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
	"github.com/oaictl/oaictl/test/fixture"
)

// topologies are the clusters that are installed: every example, and what else a file
// can ask for.
func topologies(t *testing.T) map[string]func(testing.TB) *spec.Cluster {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*", "cluster.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("examples: %v (%v)", files, err)
	}
	out := map[string]func(testing.TB) *spec.Cluster{
		"fencing": fencedPair, "five-control-planes": fiveControlPlanes, "late-binding": lateBinding, "user-load-balancer": userLoadBalancer,
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		out[name] = func(t testing.TB) *spec.Cluster { return fixture.Example(t, name) }
	}
	return out
}

// TestInstall installs every cluster on every backend, with machines that boot at once:
// with the same verdict, the same states of the cluster one after the other, the same
// stages and end of every host, and the same kinds of actions. A second run writes
// nothing.
func TestInstall(t *testing.T) {
	for name, file := range topologies(t) {
		part(t, name, func(t *testing.T) {
			all := backends(t)
			if name == "compact" && all[0].simulated() {
				all = append(all, bare())
			}
			same(t, all, func(t *testing.T, b backend) fixture.Trace { return b.installs(t, name, file(t), false) })
		})
	}
}

// TestInstallLate does so with machines that boot after the service has checked the empty cluster again and again. With
// the simulated service there are only a few of them, since it need not prove the same for each.
func TestInstallLate(t *testing.T) {
	simulated := map[string][]string{"rest": {"compact", "static-network", "arbiter"}, "hub": {"compact"}}
	for name, file := range topologies(t) {
		for _, b := range backends(t) {
			if b.simulated() && !slices.Contains(simulated[b.name], name) {
				continue
			}
			part(t, name+"/"+b.name, func(t *testing.T) {
				b.installs(t, name, file(t), true)
			})
		}
	}
}

// installs brings a cluster to its end, and runs once more.
func (b backend) installs(t *testing.T, name string, cluster *spec.Cluster, late bool) fixture.Trace {
	t.Helper()
	b.differs(t, name)
	if name == "redfish" && !b.simulated() && os.Getenv("OAICTL_REAL_IMAGES") == "" && b.images == "" {
		t.Skip("machines with a BMC boot the discovery image itself: set OAICTL_REAL_IMAGES=1 if the service has an image service, or OAICTL_REAL_IMAGE_SERVICE")
	}
	x := b.open(t, cluster, nil)
	first := x.start(t, late).installs(t)
	if x.simulated() && !slices.Contains(first.trace.Cluster, string(model.ClusterPreparing)) {
		t.Errorf("it was not seen to be prepared: %v", first.trace.Cluster)
	}
	return first.trace
}

// fencedPair is a cluster of two machines that can power each other off.
func fencedPair(t testing.TB) *spec.Cluster {
	t.Helper()
	return fixture.Example(t, "arbiter", "    controlPlane: 2\n    arbiters: 1\n", "    controlPlane: 2\n    workers: 0\n    fencing: true\n",
		"role: control-plane\n", "role: control-plane\n    fencing: {address: \"redfish+https://192.0.2.1/redfish/v1/Systems/1\", credentials: {file: ../shared/bmc-password}}\n",
		"  - name: arbiter-0\n    role: arbiter\n    match: {mac: \"52:54:00:00:07:20\"}\n", "")
}

// fiveControlPlanes is a cluster that survives the loss of two machines.
func fiveControlPlanes(t testing.TB) *spec.Cluster {
	t.Helper()
	return fixture.Example(t, "ha-workers", "    controlPlane: 3\n    workers: 2\n", "    controlPlane: 5\n    workers: 0\n",
		"name: worker-0\n    role: worker\n", "name: cp-3\n    role: control-plane\n", "name: worker-1\n    role: worker\n", "name: cp-4\n    role: control-plane\n")
}

// lateBinding is a cluster whose machines are a pool first.
func lateBinding(t testing.TB) *spec.Cluster {
	t.Helper()
	return fixture.Example(t, "compact", "  hosts:  ", "  infraEnv: {bind: late}\n  hosts:  ")
}

// userLoadBalancer is a cluster whose virtual addresses are a load balancer's.
func userLoadBalancer(t testing.TB) *spec.Cluster {
	t.Helper()
	return fixture.Example(t, "compact", "    vips:  ", "    loadBalancer: user-managed\n    vips:  ")
}
