package nodeplan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/csr"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// asked is a question about one host, w-1, that rebooted ten minutes ago, in a cluster of one
// control plane node; change makes it another one.
func asked(change func(*Question)) Question {
	q := Question{
		Now: now,
		Desired: &model.Desired{Spec: &spec.Cluster{Metadata: spec.Metadata{Name: "lab"},
			Spec: spec.ClusterSpec{BaseDomain: "example.com"}}},
		Observed: &model.Observed{
			At:      now,
			Cluster: &model.Cluster{OpenShiftID: "1111", ClusterRef: model.ClusterRef{Name: "lab"}},
			Hosts: []model.Host{{
				ID: "id-1", Hostname: "w-1", Day2: true, State: model.HostAdded, Role: spec.Worker, Rebooted: now.Add(-10 * time.Minute),
				Progress: model.HostProgress{Stage: "Done"},
			}},
			Spoke: &model.Spoke{
				From: "kubeconfig", ID: "1111", API: "https://api.lab.example.com:6443",
				Nodes: []model.Node{{Name: "cp-0", Ready: true, Created: now.Add(-time.Hour)}},
				Pools: []model.Pool{{Name: "master", Config: "rendered-master"}, {Name: "worker", Config: "rendered-worker"}},
			},
		},
	}
	q.Hosts = []Host{{Name: "w-1", Want: &spec.Host{Name: "w-1", Role: spec.Worker}, Have: &q.Observed.Hosts[0]}}
	if change != nil {
		change(&q)
	}
	return q
}

// joined has the host's node, Ready and configured.
func joined(change func(*Question, *model.Node)) func(*Question) {
	return func(q *Question) {
		q.Observed.Spoke.Nodes = append(q.Observed.Spoke.Nodes, model.Node{
			Name: "w-1", UID: "uid", Created: now.Add(-2 * time.Hour), Ready: true, ReadySince: now.Add(-time.Hour),
			Config: model.NodeConfig{Current: "rendered-worker", Desired: "rendered-worker", State: "Done"},
		})
		q.Observed.Hosts[0].Rebooted = now.Add(-3 * time.Hour)
		if change != nil {
			change(q, &q.Observed.Spoke.Nodes[len(q.Observed.Spoke.Nodes)-1])
		}
	}
}

// said is an answer in short.
func said(a Answer) string {
	var lines []string
	for _, x := range a.Actions {
		lines = append(lines, fmt.Sprintf("do %s %s", x.Kind, x.Name))
	}
	for _, x := range a.Waits {
		lines = append(lines, fmt.Sprintf("wait (%s) for %s", x.Who, x.For))
	}
	for _, x := range a.Blockers {
		lines = append(lines, fmt.Sprintf("blocked (%s): %s: %s", x.Cure, x.Reason, x.Message))
	}
	for _, x := range a.Warnings {
		lines = append(lines, fmt.Sprintf("warn %s: %s", x.Reason, x.Message))
	}
	if len(a.Ready) > 0 {
		lines = append(lines, "ready "+strings.Join(a.Ready, " "))
	}
	return strings.Join(lines, "\n")
}

func TestReached(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Question)
		want   string
	}{
		"it is":       {nil, ""},
		"by its name": {func(q *Question) { q.Observed.Cluster.OpenShiftID = "" }, ""},
		"nobody says so": {func(q *Question) { q.Observed.Spoke.ID, q.Observed.Spoke.API = "", "" },
			"blocked (now): OtherCluster: the kubeconfig kubeconfig is for another cluster: it reaches a cluster without a known ID, but lab is 1111"},
		"another id": {func(q *Question) { q.Observed.Spoke.ID = "2222" },
			"blocked (now): OtherCluster: the kubeconfig kubeconfig is for another cluster: it reaches 2222, but lab is 1111"},
		"another name": {func(q *Question) {
			q.Observed.Cluster.OpenShiftID, q.Observed.Spoke.API = "", "https://api.other.example.com:6443"
		},
			"blocked (now): OtherCluster: the kubeconfig kubeconfig is for another cluster: it reaches api.other.example.com, but lab is api.lab.example.com"},
		"away": {func(q *Question) {
			q.Observed.Spoke.Trouble, q.Observed.Spoke.TroubleKind = "refused", model.TroubleUnreachable
		},
			"wait (service) for the API server of lab to answer: refused"},
		"away for long": {func(q *Question) {
			q.Observed.Spoke.Trouble, q.Observed.Spoke.TroubleKind, q.Observed.Spoke.Since = "refused", model.TroubleUnreachable, now.Add(-time.Hour)
		}, "blocked (person): ClusterUnreachable: the API server of lab has not answered for 1h0m0s: refused"},
		"credentials": {func(q *Question) {
			q.Observed.Spoke.Trouble, q.Observed.Spoke.TroubleKind = "no", model.TroubleCredentials
		},
			"blocked (auth): ClusterAccess: the API server of lab rejects the credentials of kubeconfig: no"},
		"no kubeconfig": {func(q *Question) {
			q.Observed.Spoke.Trouble, q.Observed.Spoke.TroubleKind = "none", model.TroubleNoKubeconfig
		},
			"blocked (now): NoClusterKubeconfig: oaictl cannot see the nodes of lab: none"},
	} {
		t.Run(name, func(t *testing.T) {
			check.Same(t, test.want, said(Reached(asked(test.change))))
		})
	}
}

func TestAhead(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Question)
		want   string
	}{
		"nothing":      {func(q *Question) { q.Hosts[0].Have = nil }, ""},
		"its own node": {joined(nil), ""},
		"name taken": {func(q *Question) { q.Hosts[0].Have, q.Hosts[0].Want.Hostname = nil, "CP-0" },
			"blocked (now): NodeNameTaken: the cluster already has a node cp-0, which is Ready"},
		"pool missing": {func(q *Question) { q.Hosts[0].Want.MachineConfigPool = "gpu" },
			"blocked (now): NoMachineConfigPool: the cluster has no machine config pool gpu, which w-1 would join; it has master, worker"},
		"role without a pool": {func(q *Question) { q.Hosts[0].Want.Role = spec.Arbiter },
			"blocked (now): NoMachineConfigPool: the cluster has no machine config pool arbiter, which w-1 would join; it has master, worker"},
		"no pools at all": {func(q *Question) { q.Hosts[0].Want.MachineConfigPool, q.Observed.Spoke.Pools = "gpu", nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			check.Same(t, test.want, said(Ahead(asked(test.change))))
		})
	}
}

// TestJoin is about nodes without pending requests.
// voting has the host's node be one of the control plane, with a member of etcd that is well.
func voting(change func(*Question, *model.Node)) func(*Question) {
	return joined(func(q *Question, n *model.Node) {
		address := netip.MustParseAddr("192.0.2.7")
		n.Roles, n.Addresses = []string{"master"}, []netip.Addr{address}
		q.Observed.Spoke.Etcd = &model.Etcd{Message: "3 members are available", Members: []model.EtcdMember{{ID: "a1", Address: address}}}
		change(q, n)
	})
}

// linking makes the etcd operator manage members by Machines, and leaves the node without one.
func linking(change func(*model.Spoke)) func(*Question, *model.Node) {
	return func(q *Question, n *model.Node) {
		s := q.Observed.Spoke
		n.ReadySince = now.Add(-time.Minute)
		s.Etcd.Members, s.Etcd.ByMachines = nil, true
		s.Machines = []model.Machine{{Name: "m-cp-0", ControlPlane: true, Phase: "Running", BareMetalHost: "cp-0"}}
		if change != nil {
			change(s)
		}
	}
}

func TestJoin(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Question)
		want   string
	}{
		"boots": {nil, "wait (machine) for w-1 to boot from its disk and join the cluster"},
		"boots for long": {func(q *Question) { q.Observed.Hosts[0].Rebooted = now.Add(-time.Hour) },
			"blocked (person): NodeNotJoined: w-1 rebooted 1h0m0s ago, but has not asked for a certificate"},
		"ready":        {joined(nil), "ready w-1"},
		"another case": {joined(func(q *Question, n *model.Node) { q.Observed.Hosts[0].Hostname = "W-1" }), "ready w-1"},
		"not ready": {joined(func(_ *Question, n *model.Node) {
			n.Ready, n.Message, n.ReadySince = false, "container runtime network not ready", now.Add(-time.Minute)
		}), "wait (machine) for the node w-1 to be Ready: container runtime network not ready"},
		"not ready for long": {joined(func(_ *Question, n *model.Node) { n.Ready, n.Reason = false, "KubeletNotReady" }),
			"blocked (person): NodeNotReady: the node w-1 has not been Ready for 1h0m0s: KubeletNotReady"},
		"no serving certificate yet": {joined(func(q *Question, n *model.Node) {
			n.Created, q.Observed.Hosts[0].Rebooted = now.Add(-time.Minute), now.Add(-2*time.Minute)
		}), "wait (machine) for the kubelet of w-1 to ask for its serving certificate"},
		"config not begun": {joined(func(_ *Question, n *model.Node) { n.Config = model.NodeConfig{} }),
			"wait (service) for w-1 to get its machine config (not begun)"},
		"config of before": {joined(func(_ *Question, n *model.Node) {
			n.Config.Current, n.Config.Desired = "rendered-old", "rendered-old"
		}),
			"wait (service) for w-1 to get its machine config (Done)"},
		"pool paused": {joined(func(q *Question, n *model.Node) { n.Config.State, q.Observed.Spoke.Pools[1].Paused = "Working", true }),
			"warn PoolPaused: oaictl does not wait for the machine config of w-1: its pool worker is paused\nready w-1"},
		"pool degraded": {joined(func(q *Question, n *model.Node) {
			n.Config.State, q.Observed.Spoke.Pools[1].Degraded, q.Observed.Spoke.Pools[1].Message = "Working", true, "render"
		}), "warn PoolDegraded: oaictl does not wait for the machine config of w-1: its pool worker is degraded: render\nready w-1"},
		"config gave up": {joined(func(_ *Question, n *model.Node) { n.Config.State, n.Config.Reason = "Degraded", "disk full" }),
			"blocked (person): NodeDegraded: the machine config daemon of w-1 has stopped with an error: disk full"},
		"no pools": {joined(func(q *Question, n *model.Node) { n.Config, q.Observed.Spoke.Pools = model.NodeConfig{}, nil }), "ready w-1"},
		"a node of before": {joined(func(q *Question, _ *model.Node) { q.Observed.Hosts[0].Rebooted = now.Add(-time.Minute) }),
			"blocked (person): NodeNameTaken: the cluster has a node w-1 that is older than the installation of w-1. While it exists, no certificate is issued for that name"},
		"the service has not noticed": {joined(func(q *Question, _ *model.Node) {
			q.Observed.Hosts[0].State, q.Observed.Hosts[0].Status = model.HostInstalling, "installing-in-progress"
		}),
			"blocked (person): ServiceUnaware: the node w-1 has been Ready for 1h0m0s, but the service still reports the host as installing-in-progress\nready w-1"},
		"etcd has it": {voting(func(*Question, *model.Node) {}), "ready w-1"},
		"etcd rolls out": {voting(func(q *Question, _ *model.Node) {
			q.Observed.Spoke.Etcd.Rolling = "2 nodes are at revision 7"
		}), "wait (service) for the rollout of etcd with its new member: 2 nodes are at revision 7"},
		"etcd does not tell": {voting(func(q *Question, _ *model.Node) {
			q.Observed.Spoke.Etcd.Trouble = "timed out"
		}), "wait (service) for the list of etcd members: timed out"},
		"no member yet": {voting(func(q *Question, n *model.Node) {
			q.Observed.Spoke.Etcd.Members, n.ReadySince = nil, now.Add(-time.Minute)
		}),
			"wait (service) for w-1 to be a healthy member of etcd: 3 members are available"},
		"no member for long": {voting(func(q *Question, _ *model.Node) { q.Observed.Spoke.Etcd.Members = nil }),
			"blocked (person): NoEtcdMember: w-1 is Ready, but it is not a healthy member of etcd: 3 members are available"},
		"another member is ill": {voting(func(q *Question, _ *model.Node) {
			q.Observed.Spoke.Etcd.Members, q.Observed.Spoke.Etcd.Unhealthy = nil, []string{"cp-0"}
		}), "blocked (person): NoEtcdMember: w-1 cannot become a member of etcd while another member is not healthy: cp-0"},
		"no BareMetalHost": {voting(linking(nil)), "do CreateMetalHost w-1"},
		"no Machine": {voting(linking(func(s *model.Spoke) {
			s.BareMetalHosts = []model.BareMetalHost{{Name: "w-1", State: "unmanaged"}}
		})),
			"do CreateMachine w-1"},
		"a BareMetalHost that nobody has seen": {voting(linking(func(s *model.Spoke) {
			s.BareMetalHosts = []model.BareMetalHost{{Name: "w-1"}}
			s.Machines = append(s.Machines, model.Machine{Name: "w-1", BareMetalHost: "w-1"})
		})), "wait (service) for the bare metal operator to process the BareMetalHost w-1"},
		"no addresses": {voting(linking(func(s *model.Spoke) {
			s.BareMetalHosts = []model.BareMetalHost{{Name: "w-1", State: "unmanaged"}}
			s.Machines = append(s.Machines, model.Machine{Name: "w-1", BareMetalHost: "w-1"})
		})), "do ReportHardware w-1"},
		"addresses on their way": {voting(linking(func(s *model.Spoke) {
			s.BareMetalHosts = []model.BareMetalHost{{Name: "w-1", State: "unmanaged",
				Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}}}
			s.Machines = append(s.Machines, model.Machine{Name: "w-1", BareMetalHost: "w-1"})
		})), "wait (service) for the Machine of w-1 to have its addresses"},
		"addresses that never come": {voting(func(q *Question, n *model.Node) {
			linking(func(s *model.Spoke) {
				s.BareMetalHosts = []model.BareMetalHost{{Name: "w-1", State: "unmanaged",
					Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.7")}}}
				s.Machines = append(s.Machines, model.Machine{Name: "w-1", BareMetalHost: "w-1"})
			})(q, n)
			n.ReadySince = now.Add(-time.Hour)
		}), "wait (service) for the Machine of w-1 to have its addresses\nblocked (person): NoEtcdMember: w-1 is Ready, but it is not a healthy member of etcd: 3 members are available"},
		"a BareMetalHost that would be provisioned": {voting(linking(func(s *model.Spoke) {
			s.BareMetalHosts = []model.BareMetalHost{{Name: "w-1", State: "available", BMC: "redfish://bmc"}}
		})), "blocked (person): NoMachine: the BareMetalHost w-1, which matches w-1, has the state available and no consumer: with a Machine for it, the machine could be installed again"},
		"a Machine that has failed": {voting(linking(func(s *model.Spoke) {
			s.BareMetalHosts = []model.BareMetalHost{{Name: "w-1", State: "unmanaged", Consumer: "w-1"}}
			s.Machines = append(s.Machines, model.Machine{Name: "w-1", BareMetalHost: "w-1", Phase: "Failed",
				Error: "can't find created instance"})
		})), "blocked (person): NoMachine: the Machine w-1, which matches w-1, is Failed: can't find created instance"},
		"Machines of another platform": {voting(linking(func(s *model.Spoke) { s.Machines[0].BareMetalHost = "" })),
			"blocked (person): NoMachine: the etcd operator needs a Machine for each node, and no Machine has the address of w-1"},
		"deleting": {joined(func(_ *Question, n *model.Node) { n.Deleting = true }),
			"wait (service) for the deletion of the node w-1 to end"},
	} {
		t.Run(name, func(t *testing.T) {
			check.Same(t, test.want, said(Join(asked(test.change))))
		})
	}
}

// TestMark: what the file says of a node is written as soon as the node is there, and nothing
// else is touched.
func TestMark(t *testing.T) {
	answer := Join(asked(joined(func(q *Question, n *model.Node) {
		n.Ready = false
		n.Labels = map[string]string{"rack": "1", "zone": "a"}
		n.Taints = []spec.Taint{{Key: "gpu", Value: "no", Effect: "NoSchedule"}, {Key: "mine", Effect: "NoExecute"}}
		q.Hosts[0].Want.Labels = map[string]string{"zone": "a", "rack": "2", "gpu": ""}
		q.Hosts[0].Want.Taints = []spec.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}, {Key: "mine", Effect: "NoExecute"}}
		q.Hosts[0].Want.ProviderID = "metal3://x"
	})))
	if len(answer.Actions) != 1 {
		t.Fatalf("got %s", said(answer))
	}
	a := answer.Actions[0]
	want := model.Settings{
		model.SettingLabels:     model.ValueOf(map[string]string{"rack": "2", "gpu": ""}),
		model.SettingTaints:     model.ValueOf([]spec.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}}),
		model.SettingProviderID: model.ValueOf("metal3://x"),
	}
	check.Same(t, want, a.Settings)
	if a.Kind != model.UpdateNode || a.Target != "uid" || a.Scope != "node/w-1" {
		t.Errorf("got %+v", a)
	}
	if same := Join(asked(joined(func(q *Question, n *model.Node) {
		n.ProviderID, q.Hosts[0].Want.ProviderID = "other", "metal3://x"
	}))); said(same) != "warn Drift: the node w-1 has the provider id other, but the file has metal3://x; the provider id of a node cannot be changed\nready w-1" {
		t.Errorf("got %s", said(same))
	}
}

func TestSettle(t *testing.T) {
	for name, test := range map[string]struct {
		before map[string]bool
		since  time.Duration
		want   string
		worse  []string
	}{
		"well before": {map[string]bool{"dns": true, "etcd": true}, time.Minute,
			"wait (service) for the cluster's operators to be as healthy as before: dns (not now)", nil},
		"in trouble before": {map[string]bool{"dns": false, "etcd": true}, time.Minute,
			"warn OperatorDegraded: the operator dns is not healthy. It was not healthy before, as far as oaictl knows, so oaictl does not wait for it: not now", nil},
		"for too long": {map[string]bool{"dns": true, "etcd": true}, time.Hour, "", []string{"dns"}},
	} {
		t.Run(name, func(t *testing.T) {
			answer, worse := Settle(asked(func(q *Question) {
				q.Memory.Operators = test.before
				q.Observed.Spoke.Operators = []model.ClusterOperator{{Name: "dns", Available: true, Degraded: true, Message: "not now"},
					{Name: "etcd", Available: true}}
				q.Observed.Spoke.Nodes = []model.Node{{Name: "w-0", Ready: true, ReadySince: now.Add(-test.since)}}
				q.Hosts = []Host{{Name: "w-0", Have: &model.Host{Hostname: "w-0"}}}
			}))
			if said(answer) != test.want || !slices.Equal(worse, test.worse) {
				t.Errorf("got %s, worse %v", said(answer), worse)
			}
		})
	}
}

// TestKnownTo: what the judge of requests knows about hosts.
func TestKnownTo(t *testing.T) {
	address := netip.MustParseAddr("192.0.2.7")
	q := asked(func(q *Question) {
		q.Observed.Hosts[0].Inventory.Interfaces = []model.Interface{{Addresses: []string{"192.0.2.11/24", "fe80::1/64", "nonsense"}}}
		q.Hosts[0].Want.Net = &spec.HostNet{IP: "192.0.2.12/24", IP6: "auto"}
		q.Hosts[0].Want.Addresses = []string{"192.0.2.13"}
		q.Desired.Options.AllowAddresses = map[string][]netip.Addr{"w-1": {address}}
		q.Desired.Spec.Spec.Network.VIPs.API = []string{"192.0.2.100"}
		q.Observed.Hosts = append(q.Observed.Hosts, model.Host{ID: "id-2", Hostname: "w-2", State: model.HostAdded, Day2: true})
		q.Hosts[0].Have = &q.Observed.Hosts[0]
	})
	got := knownTo(q)
	want := []csr.Host{
		{
			Name: "w-1", Hostname: "w-1", Named: true, Installed: true, Rebooted: now.Add(-10 * time.Minute),
			Addresses: addresses("192.0.2.11", "fe80::1", "192.0.2.12"), Allowed: []netip.Addr{address, netip.MustParseAddr("192.0.2.13")},
		},
		{Name: "w-2", Hostname: "w-2"},
	}
	check.Same(t, want, got.Hosts, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }))
	if !slices.Equal(got.VIPs, []netip.Addr{netip.MustParseAddr("192.0.2.100")}) || len(got.Nodes) != 1 {
		t.Errorf("got %+v", got)
	}
}
