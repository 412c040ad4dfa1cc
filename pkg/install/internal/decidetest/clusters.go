package decidetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// InstalledWithout is a world whose cluster is installed, all but the last
// worker, which is not required and has never been switched on.
func InstalledWithout(t *testing.T, c *spec.Cluster, hub bool) *World {
	t.Helper()
	none := 0
	c.Spec.Topology.Required = spec.Required{Workers: &none, Within: spec.Duration(time.Minute)}
	w := NewWorld(&model.Desired{Spec: c})
	w.Hub = hub
	w.Absent = c.Spec.Hosts[len(c.Spec.Hosts)-1].Name
	for range 40 {
		w.Rest(t)
		if w.Decide().Verdict == model.VerdictInstalled {
			w.Writes = nil
			return w
		}
		w.Pass()
	}
	t.Fatalf("never installed: %+v", w.Decide())
	return nil
}

// AnyGrowing is some state in which a cluster may be when nodes are added to it.
func AnyGrowing(t *testing.T, random *rand.Rand) *World {
	c := AnyCluster(random)
	if len(c.Spec.Hosts) == *c.Spec.Topology.ControlPlane {
		*c.Spec.Topology.Workers = 1
		c.Spec.Hosts = append(c.Spec.Hosts, spec.Host{Name: "worker-0", Role: spec.Worker, Match: spec.Match{MAC: "52:54:00:00:01:00"}})
	}
	for i := range c.Spec.Hosts {
		c.Spec.Hosts[i].Disk.Hints.DeviceName = "" // one that fits no disk would never get as far
	}
	w := InstalledWithout(t, c, random.IntN(2) == 0)
	w.Absent, w.Desired.Options.AddNodes = "", true
	if random.IntN(3) == 0 {
		c.Spec.Hosts = append(c.Spec.Hosts, spec.Host{Name: "more", Hostname: "more", Match: spec.Match{MAC: "52:54:00:00:02:00"}})
	}
	if random.IntN(4) == 0 { // lost in the install
		w.Observed.Hosts[random.IntN(len(w.Observed.Hosts))].State = model.HostFailed
	}
	for range random.IntN(8) {
		for _, a := range w.Decide().Actions {
			if random.IntN(4) > 0 {
				_ = w.Apply(a)
			}
		}
		w.Pass()
	}
	for i := range w.Observed.Hosts {
		if h := &w.Observed.Hosts[i]; h.Day2 && random.IntN(3) == 0 {
			states := []model.HostState{
				model.HostDiscovering, model.HostDisconnected, model.HostBlocked, model.HostReady, model.HostInstalling,
				model.HostNeedsUser,
				model.HostResetting, model.HostFailed, model.HostCancelled, model.HostUnknown, model.HostAdded,
			}
			h.State = states[random.IntN(len(states))]
		}
	}
	if random.IntN(3) == 0 {
		stranger := Machine("stranger", "52:54:00:ff:ff:ff", 90)
		stranger.Day2, stranger.State = true, model.HostReady
		if w.Hub {
			stranger.Settings[model.SettingApproved] = model.ValueOf(false)
		}
		if random.IntN(3) == 0 {
			stranger.Inventory = model.Inventory{}
		}
		w.Observed.Hosts = append(w.Observed.Hosts, stranger)
	}
	w.Writes = nil
	return w
}

// ReadyHub is a world of a service that asks for approvals and starts by
// itself, in which nothing but the start is left to do.
func ReadyHub(t *testing.T, c *spec.Cluster) *World {
	t.Helper()
	w := ReadyWorld(t, c)
	w.Hub = true
	for i := range w.Observed.Hosts {
		w.Observed.Hosts[i].Settings[model.SettingApproved] = model.ValueOf(true)
	}
	return w
}

// NodesOf is a file of kind Nodes, completed with the cluster lab as its service has it.
func NodesOf(t *testing.T, hosts ...spec.Host) *spec.Cluster {
	t.Helper()
	return GivenBy(t, nil, hosts...)
}

// GivenBy is the same by flags, which words name; nil for a file.
func GivenBy(t *testing.T, words map[string]string, hosts ...spec.Host) *spec.Cluster {
	t.Helper()
	for i := range hosts {
		if hosts[i].Match == (spec.Match{}) {
			hosts[i].Match.MAC = fmt.Sprintf("52:54:00:00:05:%02x", i)
		}
	}
	n := &spec.Nodes{Spec: spec.NodesSpec{Cluster: "lab", Hosts: hosts}}
	n.Spec.Network.Defaults = spec.NetworkDefaults{Gateway: "192.168.127.1", DNS: []string{"192.168.127.1"}}
	c, err := n.Resolve(t.Context(), ".", spec.Env{}, words)
	if err != nil {
		t.Fatal(err)
	}
	at, err := c.AddedTo(spec.Target{Name: "lab", BaseDomain: "example.com", Version: "4.20.3"})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Grown is an installed cluster, lab, whose file is not given any more, but one of kind
// Nodes.
func Grown(t *testing.T, hub bool, hosts ...spec.Host) *World {
	t.Helper()
	w := InstalledWithout(t, Sample(3, 1), hub)
	w.Absent, w.Desired = "", &model.Desired{Spec: NodesOf(t, hosts...), Options: model.Options{AddNodes: true}}
	w.Observed.Cluster.Unrecorded = false
	return w
}

// WithOwn gives hosts InfraEnvs of their own, by the names of the hosts.
func WithOwn(c *spec.Cluster, envs map[string]string) *spec.Cluster {
	for host, env := range envs {
		c.Host(host).Match = spec.Match{InfraEnv: env}
	}
	return c
}

// ReadyWorld is a world in which nothing but the install call is left to do.
func ReadyWorld(t *testing.T, c *spec.Cluster) *World {
	t.Helper()
	w := NewWorld(&model.Desired{Spec: c})
	for range 40 {
		plan := w.Decide()
		if HasKind(plan, model.StartInstall) {
			w.Writes = nil
			return w
		}
		w.Do(t, plan.Actions...)
		if len(plan.Actions) == 0 {
			w.Pass()
		}
	}
	t.Fatalf("never ready: %+v", w.Decide())
	return nil
}

// WithReserved makes hosts of a pool of these hosts.
func WithReserved(c *spec.Cluster, hosts ...string) *spec.Cluster {
	for _, name := range hosts {
		h := c.Host(name)
		h.Match, h.Hostname = spec.Match{Agent: "pool/host-" + name}, ""
	}
	return c
}

// AddsOne is an installed cluster whose last worker is added and about to ask.
func AddsOne(t *testing.T) *World {
	t.Helper()
	w := InstalledWithout(t, Sample(3, 2), false)
	w.Absent, w.Desired.Options.AddNodes, w.Spoke = "", true, NewSpoke()
	for range 60 {
		w.Rest(t)
		if w.Decide().Verdict == model.VerdictInstalled || len(w.Spoke.Seen.Requests) > 0 {
			return w
		}
		w.Pass()
	}
	t.Fatalf("no client asks: %+v", w.Decide())
	return nil
}
