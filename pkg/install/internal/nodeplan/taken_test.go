package nodeplan

import (
	"net/netip"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// metal is a host w-9 that has not registered, to be added to a cluster with the node w-0 of a Machine, the worker m-1
// that is no node yet, and a BareMetalHost that no Machine uses.
func metal(change func(*Question, *spec.Host)) Question {
	return asked(func(q *Question) {
		want := &spec.Host{Name: "w-9", Hostname: "w-9", Role: spec.Worker, Match: spec.Match{MAC: "52:54:00:00:09:09"}}
		s := q.Observed.Spoke
		s.MachineAPI = true
		s.Nodes = append(s.Nodes, model.Node{Name: "w-0", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}})
		s.VIPs = []netip.Addr{netip.MustParseAddr("192.0.2.100")}
		s.Networks = []netip.Prefix{netip.MustParsePrefix("10.128.0.0/14")}
		s.Machines = []model.Machine{{Name: "m-0", Node: "w-0", BareMetalHost: "rack-0"}, {Name: "m-1", BareMetalHost: "rack-1"}}
		s.BareMetalHosts = []model.BareMetalHost{
			{Name: "rack-0", MAC: "52:54:00:00:00:10", BMC: "redfish-virtualmedia://10.0.0.10/redfish/v1/Systems/1", Consumer: "m-0",
				MACs: []string{"52:54:00:00:00:10", "52:54:00:00:01:10", "02:00:00:00:00:01"}},
			{Name: "rack-1", MAC: "52:54:00:00:00:11", BMC: "redfish-virtualmedia+http://10.0.0.1:8000/redfish/v1/Systems/a",
				Consumer: "m-1", MACs: []string{"02:00:00:00:00:01"}, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.11")}},
			{Name: "w-9", BMC: "redfish-virtualmedia+http://10.0.0.1:8000/redfish/v1/Systems/b"},
		}
		change(q, want)
		for i := range q.Hosts {
			q.Hosts[i].Name, q.Hosts[i].Want = "w-9", want
		}
	})
}

// fresh says that the host has not registered.
func fresh(q *Question) { q.Hosts[0].Have, q.Observed.Hosts = nil, nil }

func TestTaken(t *testing.T) {
	const node = "the same as the node w-0 (BareMetalHost rack-0) of the cluster: it is the same machine"
	blocked := func(what string) string { return "blocked (now): MachineTaken: w-9 has " + what }
	for name, test := range map[string]struct {
		change func(*Question, *spec.Host)
		want   string
	}{
		"nothing in common": {func(q *Question, h *spec.Host) { fresh(q) }, ""},
		"boots from its card": {func(q *Question, h *spec.Host) { fresh(q); h.Match.MAC = "52-54-00-00-00-10" },
			blocked("the MAC address 52:54:00:00:00:10, ") + node},
		"another card of it": {func(q *Question, h *spec.Host) {
			fresh(q)
			h.Net = &spec.HostNet{IP: "192.0.2.19/24", Interface: "a", MAC: "52:54:00:00:01:10"}
		}, blocked("the MAC address 52:54:00:00:01:10, ") + node},
		"a card that several have": {func(q *Question, h *spec.Host) { fresh(q); h.Match.MAC = "02:00:00:00:00:01" }, ""},
		"its BMC": {func(q *Question, h *spec.Host) {
			fresh(q)
			h.BMC = &spec.BMC{Address: "10.0.0.10"}
		}, blocked("the BMC 10.0.0.10, ") + node},
		"its BMC, as recognised": {func(q *Question, h *spec.Host) {
			fresh(q)
			h.Match = spec.Match{BMC: "10.0.0.10"}
		}, blocked("the BMC 10.0.0.10, ") + node},
		"another system of a BMC": {func(q *Question, h *spec.Host) {
			fresh(q)
			h.BMC = &spec.BMC{Address: "http://10.0.0.1:8000/redfish/v1/Systems/c"}
		}, ""},
		"the same system": {func(q *Question, h *spec.Host) {
			fresh(q)
			h.BMC = &spec.BMC{Address: "http://10.0.0.1:8000", System: "a"}
		}, blocked("the BMC http://10.0.0.1:8000, the same as the BareMetalHost rack-1 (Machine m-1) of the cluster: it is the same machine")},
		"made for it": {func(q *Question, h *spec.Host) {
			fresh(q)
			h.BMC = &spec.BMC{Address: "http://10.0.0.1:8000/redfish/v1/Systems/b"}
		}, ""},
		"a BMC of several, without a system": {func(q *Question, h *spec.Host) {
			fresh(q)
			h.BMC = &spec.BMC{Address: "http://10.0.0.1:8000"}
		}, ""},
		"being deleted": {func(q *Question, h *spec.Host) {
			fresh(q)
			h.Match.MAC, q.Observed.Spoke.BareMetalHosts[1].Deleting = "52:54:00:00:00:11", true
		}, "blocked (person): MachineTaken: w-9 has the MAC address 52:54:00:00:00:11, the same as the BareMetalHost rack-1 (Machine m-1) of the cluster: it is the same machine"},
		"registered": {func(q *Question, h *spec.Host) {
			h.Match = spec.Match{Serial: "7"}
			q.Observed.Hosts[0] = model.Host{ID: "id-1", Hostname: "localhost", Day2: true, State: model.HostReady,
				Inventory: model.Inventory{Known: true,
					Interfaces: []model.Interface{{MAC: "02:00:00:00:00:01"}, {MAC: "52:54:00:00:00:10"}}}}
		}, blocked("the MAC address 52:54:00:00:00:10, ") + node},
		"installing": {func(q *Question, h *spec.Host) { // a hub has registered it in the cluster
			h.Match.MAC = "52:54:00:00:00:11"
			q.Observed.Hosts[0] = model.Host{ID: "id-1", Day2: true, State: model.HostInstalling}
		}, ""},
		"recorded as another": {func(q *Question, h *spec.Host) {
			q.Hosts[0].Have = nil
			q.Observed.Hosts[0] = model.Host{ID: "id-1", Hostname: "cp-7", State: model.HostInstalled,
				Inventory: model.Inventory{Known: true, Interfaces: []model.Interface{{MAC: "52:54:00:00:09:09"}}}}
		}, "blocked (now): MachineTaken: the file describes w-9 with values that match cp-7 (MAC 52:54:00:00:09:09), a machine that is already installed in this cluster"},
		"recorded, and lost": {func(q *Question, h *spec.Host) {
			q.Hosts[0].Have = nil
			q.Observed.Hosts[0] = model.Host{ID: "id-1", Hostname: "cp-7", State: model.HostFailed,
				Inventory: model.Inventory{Known: true, Interfaces: []model.Interface{{MAC: "52:54:00:00:09:09"}}}}
		}, ""},
		"address of a node": {func(q *Question, h *spec.Host) { fresh(q); h.Net = &spec.HostNet{IP: "192.0.2.10/24"} },
			"blocked (now): AddressTaken: w-9 has the address 192.0.2.10 in its settings, but this address belongs to the node w-0"},
		"virtual address": {func(q *Question, h *spec.Host) { fresh(q); h.Net = &spec.HostNet{IP: "192.0.2.100/24"} },
			"blocked (now): AddressTaken: w-9 has the address 192.0.2.100 in its settings, but this address belongs to the virtual addresses of the cluster"},
		"address of a pod": {func(q *Question, h *spec.Host) { fresh(q); h.Net = &spec.HostNet{IP: "10.129.0.7/24"} },
			"blocked (now): AddressTaken: w-9 has the address 10.129.0.7 in its settings, but this address belongs to the cluster's own network 10.128.0.0/14"},
		"address that was seen": {func(q *Question, h *spec.Host) { fresh(q); h.Net = &spec.HostNet{IP: "192.0.2.11/24"} },
			"warn AddressTaken: w-9 has the address 192.0.2.11 in its settings, but the BareMetalHost rack-1 of the cluster had this address when it was inspected"},
		"its own address": {func(q *Question, h *spec.Host) { h.Net = &spec.HostNet{IP: "192.0.2.10/24"} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			check.Same(t, test.want, said(Ahead(metal(test.change))))
		})
	}
}

// TestTakenAdvice: what to type is for the node, the Machine or the BareMetalHost that is there.
func TestTakenAdvice(t *testing.T) {
	for mac, want := range map[string]string{
		"52:54:00:00:00:10": "correct what the file contains for this host, or, to install this machine again: oaictl remove-node w-0 --cluster lab",
		"52:54:00:00:00:11": "correct what the file contains for this host, or, to install this machine again: kubectl delete machine -n openshift-machine-api m-1",
		"52:54:00:00:00:12": "correct what the file contains for this host, or, to install this machine again: kubectl delete baremetalhost -n openshift-machine-api 'spare;1'",
	} {
		answer := Ahead(metal(func(q *Question, h *spec.Host) {
			fresh(q)
			h.Match.MAC = mac
			q.Observed.Spoke.BareMetalHosts = append(q.Observed.Spoke.BareMetalHosts,
				model.BareMetalHost{Name: "spare;1", MAC: "52:54:00:00:00:12"})
		}))
		if len(answer.Blockers) != 1 || answer.Blockers[0].Remedy.String() != want ||
			answer.Blockers[0].Field != "spec.hosts[w-9].match.mac" {
			t.Errorf("%s: %+v", mac, answer.Blockers)
		}
	}
}
