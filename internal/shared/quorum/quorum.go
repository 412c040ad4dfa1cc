// Package quorum says when a member of etcd may leave an installed cluster, and how it leaves. It is the one rule of
// remove-node, replace-node and the control planes of Cluster API. It decides by what was observed, and asks nothing.
package quorum

import (
	"net/netip"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Majority is how many of so many members have to be well for etcd to serve.
func Majority(members int) int { return members/2 + 1 }

// Leave is a member of etcd that is to leave.
type Leave struct {
	Members int  // of etcd, with this one
	Ill     bool // it is not well, so that etcd loses no vote with it
	Fewest  int  // others that have to stay where it is well
	Early   bool // its machine may be off while it is still a member
}

// Needs is how many other members have to stay and be well, so that etcd serves without it.
func (l Leave) Needs() int {
	if l.Ill {
		return Majority(l.Members)
	}
	if !l.Early {
		l.Members--
	}
	return max(l.Fewest, Majority(l.Members))
}

// ByOperator reports whether the etcd operator takes a member away once its Machine is deleted: that is so where at least as
// many members stay as the cluster was installed with.
func ByOperator(etcd *model.Etcd, stay int) bool {
	return etcd != nil && etcd.ByMachines && etcd.Desired > 0 && stay >= etcd.Desired
}

// Remove is the command by which a person takes a member out of etcd, in the pod of another member than that of the node.
// A program does not call it: a mistake in it ends the cluster.
func Remove(s *model.Spoke, node, id string) model.Advice {
	return model.Advicef("oc -n openshift-etcd rsh etcd-%s etcdctl member remove %s", Beside(s, node), listtext.Quoted(id))
}

// Beside is the name of another node, quoted for a command, that is Ready and has a member of etcd that is well; NODE without.
func Beside(s *model.Spoke, node string) string {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Votes() && n.Ready && n.Name != node && s.MemberOf(n.Addresses) != nil && !IsIll(s.Etcd, n.Name, n.Addresses) {
			return listtext.Quoted(n.Name)
		}
	}
	return "NODE"
}

// IsIll reports whether the etcd operator says that the member of a node is not well, or the one at some addresses.
func IsIll(etcd *model.Etcd, node string, addresses []netip.Addr) bool {
	return len(IllBeside(etcd, node, addresses)) < len(etcd.Unhealthy)
}

// IllBeside are the other members that are not well: by the names of their nodes, or by their addresses until they have started.
func IllBeside(etcd *model.Etcd, node string, addresses []netip.Addr) []string {
	return slices.DeleteFunc(slices.Clone(etcd.Unhealthy), func(name string) bool {
		address, err := netip.ParseAddr(name)
		return name == node || err == nil && slices.Contains(addresses, address.Unmap())
	})
}

// Trouble says why no other member than that of a node may leave: the node "is not Ready", for example. "" for a node that is well.
func Trouble(n *model.Node) string {
	switch {
	case n.Deleting:
		return "is being deleted"
	case !n.Ready:
		return "is not Ready"
	case n.Cordoned:
		return "is cordoned"
	}
	return ""
}

// Member is the member of etcd of a node; nil without one. Where the node is gone, it is the one at its last addresses that
// no other node has.
func Member(s *model.Spoke, node *model.Node, last []netip.Addr) *model.EtcdMember {
	if node != nil {
		return s.MemberOfNode(node)
	}
	orphans := Orphans(s)
	if i := slices.IndexFunc(orphans, func(m *model.EtcdMember) bool { return slices.Contains(last, m.Address) }); i >= 0 {
		return orphans[i]
	}
	return nil
}

// Orphans are the members of etcd that no node has the address of.
func Orphans(s *model.Spoke) []*model.EtcdMember {
	if s.Etcd == nil {
		return nil
	}
	var all []*model.EtcdMember
	for i := range s.Etcd.Members {
		m := &s.Etcd.Members[i]
		if !slices.ContainsFunc(s.Nodes, func(n model.Node) bool { return slices.Contains(n.Addresses, m.Address) }) {
			all = append(all, m)
		}
	}
	return all
}
