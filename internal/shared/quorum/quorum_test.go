package quorum_test

import (
	"net/netip"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/internal/shared/quorum"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestNeeds: remove-node keeps three members where one that is well goes, and Cluster API two.
func TestNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		leave quorum.Leave
		want  int
	}{
		"one of three, well":                    {quorum.Leave{Members: 3, Fewest: 3}, 3},
		"one of three, ill":                     {quorum.Leave{Members: 3, Fewest: 3, Ill: true}, 2},
		"one of four, well":                     {quorum.Leave{Members: 4, Fewest: 3}, 3},
		"one of four, ill":                      {quorum.Leave{Members: 4, Fewest: 3, Ill: true}, 3},
		"one of five, ill":                      {quorum.Leave{Members: 5, Fewest: 3, Ill: true}, 3},
		"one of six, well":                      {quorum.Leave{Members: 6, Fewest: 3}, 3},
		"one of seven, well":                    {quorum.Leave{Members: 7, Fewest: 3}, 4},
		"Cluster API, one of two, well":         {quorum.Leave{Members: 2, Fewest: 2}, 2},
		"Cluster API, one of three, well":       {quorum.Leave{Members: 3, Fewest: 2}, 2},
		"Cluster API, one of four, well":        {quorum.Leave{Members: 4, Fewest: 2}, 2},
		"Cluster API, one of four, off before":  {quorum.Leave{Members: 4, Fewest: 2, Early: true}, 3},
		"Cluster API, one of three, off before": {quorum.Leave{Members: 3, Fewest: 2, Early: true}, 2},
		"the only one":                          {quorum.Leave{Members: 1, Fewest: 2}, 2},
	} {
		if got := test.leave.Needs(); got != test.want {
			t.Errorf("%s: %d others, want %d", name, got, test.want)
		}
	}
}

func TestByOperator(t *testing.T) {
	for name, test := range map[string]struct {
		etcd *model.Etcd
		stay int
		want bool
	}{
		"as many stay as were installed":  {&model.Etcd{ByMachines: true, Desired: 3}, 3, true},
		"fewer stay":                      {&model.Etcd{ByMachines: true, Desired: 3}, 2, false},
		"it does not go by Machines":      {&model.Etcd{Desired: 3}, 5, false},
		"how many were installed unknown": {&model.Etcd{ByMachines: true}, 5, false},
		"nothing is known":                {nil, 5, false},
	} {
		check.Equal(t, quorum.ByOperator(test.etcd, test.stay), test.want, name)
	}
}

// TestMembersAndTheirNodes: a member belongs to the node at its address, else to none. A person removes it in the pod
// of another member that is well.
func TestMembersAndTheirNodes(t *testing.T) {
	at := func(last byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, last}) }
	node := func(name string, last byte) model.Node {
		return model.Node{Name: name, Ready: true, Roles: []string{"master"}, Addresses: []netip.Addr{at(last)}}
	}
	s := &model.Spoke{
		Nodes: []model.Node{node("cp-0", 10), node("cp-1", 11), node("cp-2", 12)},
		Etcd:  &model.Etcd{Members: []model.EtcdMember{{ID: "a", Address: at(10)}, {ID: "b", Address: at(11)}, {ID: "c", Address: at(13)}}},
	}
	if orphans := quorum.Orphans(s); len(orphans) != 1 || orphans[0].ID != "c" {
		t.Errorf("of no node are %v", orphans)
	}
	if m := quorum.Member(s, &s.Nodes[1], nil); m == nil || m.ID != "b" {
		t.Errorf("cp-1 has %v", m)
	}
	if m := quorum.Member(s, nil, []netip.Addr{at(11), at(13)}); m == nil || m.ID != "c" {
		t.Errorf("a node that is gone has %v", m)
	}
	if m := quorum.Member(s, nil, []netip.Addr{at(11)}); m != nil {
		t.Errorf("a node whose address another one has by now has %v", m)
	}
	remove := func(want string) {
		t.Helper()
		check.Equal(t, quorum.Remove(s, "cp-0", "a").String(), "oc -n openshift-etcd rsh etcd-"+want+" etcdctl member remove a", "it is removed by")
	}
	remove("cp-1")
	s.Etcd.Unhealthy = []string{"cp-1"}
	remove("NODE") // cp-2 has no member
	if m := quorum.Orphans(&model.Spoke{}); m != nil {
		t.Errorf("without etcd: %v", m)
	}
}

func TestTrouble(t *testing.T) {
	for want, n := range map[string]model.Node{
		"":                 {Ready: true},
		"is not Ready":     {Cordoned: true},
		"is cordoned":      {Ready: true, Cordoned: true},
		"is being deleted": {Deleting: true},
	} {
		check.Equal(t, quorum.Trouble(&n), want, n)
	}
}
