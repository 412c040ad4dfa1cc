package model_test

import (
	"net/netip"
	"testing"

	"github.com/oaictl/oaictl/internal/shared/check"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// TestSpokeFinds objects of the installed cluster by their names, and nothing where there is none.
func TestSpokeFinds(t *testing.T) {
	s := &model.Spoke{
		Pools: []model.Pool{{Name: "master"}, {Name: "worker"}},
		Machines: []model.Machine{
			{Name: "other", Node: "w-0", Removes: "w-2"}, {Name: "marked", Removes: "w-1"}, {Name: "makes", Removes: "w-3"},
		},
	}
	check.Equal(t, s.Pool("worker"), &s.Pools[1], "the pool")
	check.Equal(t, s.Pool("gpu"), nil, "no pool")
	check.Equal(t, s.MachineOf("w-0"), &s.Machines[0], "the Machine that has the node")
	check.Equal(t, s.MachineOf("w-3"), &s.Machines[2], "the Machine that is marked")
	check.Equal(t, s.MachineOf("w-2"), nil, "the Machine of another node")
	check.Equal(t, s.MemberOf([]netip.Addr{netip.MustParseAddr("192.0.2.1")}), nil, "a member of no etcd")
}
