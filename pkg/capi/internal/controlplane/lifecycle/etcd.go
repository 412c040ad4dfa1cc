package lifecycle

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/quorum"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// MemberAnnotation is on a Machine that is being deleted: the id of its member of etcd, by which that is
// known when its node is gone.
const MemberAnnotation = "oaictl.io/etcd-member"

// Operators by which a control plane serves.
const (
	operatorAPI  = "kube-apiserver"
	operatorEtcd = "etcd"
)

// unreachable says why nothing is known of the installed cluster; "" where it is.
func (q *Question) unreachable() string {
	switch {
	case q.Spoke == nil:
		return "the installed cluster has not been read yet"
	case q.Spoke.Trouble != "":
		return "the installed cluster cannot be reached: " + q.Spoke.Trouble
	}
	return ""
}

// unknown says why the members of etcd are not known; "" where they are.
func (q *Question) unknown() string {
	if why := q.unreachable(); why != "" {
		return why
	}
	switch etcd := q.Spoke.Etcd; {
	case etcd == nil:
		return "the members of etcd are not known"
	case etcd.Trouble != "":
		return "the members of etcd are not known: " + etcd.Trouble
	}
	return ""
}

// node is the node of a Machine in the cluster; nil where it has none, or none any more.
func (q *Question) node(m *Machine) *model.Node { return q.Spoke.NodeByName(nodeName(m)) }

// nodeName is the name that the node of a Machine has or had; "" where it is not known.
func nodeName(m *Machine) string {
	switch {
	case m.Status.NodeRef.Name != "":
		return m.Status.NodeRef.Name
	case m.Host != nil:
		return m.Host.Hostname
	}
	return ""
}

// addresses are those of a Machine.
func addresses(m *Machine) []netip.Addr {
	var all []netip.Addr
	for _, a := range m.Status.Addresses {
		if a.Type != clusterv1.MachineInternalIP && a.Type != clusterv1.MachineExternalIP {
			continue
		}
		if address, err := netip.ParseAddr(a.Address); err == nil {
			all = append(all, address.Unmap())
		}
	}
	if m.Host != nil {
		for _, i := range m.Host.Inventory.Interfaces {
			for _, text := range i.Addresses {
				if prefix, err := netip.ParsePrefix(text); err == nil {
					all = append(all, prefix.Addr().Unmap())
				}
			}
		}
	}
	return all
}

// member is the member of etcd of a Machine; nil where it has none. For a Machine without a node it is the recorded
// member, else one at an address of the Machine that no node has.
func (q *Question) member(m *Machine) *model.EtcdMember {
	members, id := q.Spoke.Etcd.Members, m.Annotations[MemberAnnotation]
	if i := slices.IndexFunc(members, func(member model.EtcdMember) bool { return id != "" && member.ID == id }); i >= 0 {
		return &members[i]
	}
	return quorum.Member(q.Spoke, q.node(m), addresses(m))
}

// isIll reports whether the etcd operator says that a Machine's member is not well.
func (q *Question) isIll(m *Machine, member *model.EtcdMember) bool {
	return member != nil && quorum.IsIll(q.Spoke.Etcd, nodeName(m), []netip.Addr{member.Address})
}

// votes counts the members of etcd, and those of them that are well. A member that has not started does not vote yet.
// The member of a machine that is gone is not well, even if the operator has not noticed that.
func (q *Question) votes() (all, well int) {
	etcd := q.Spoke.Etcd
	all, well = len(etcd.Members), len(etcd.Members)
	for _, name := range etcd.Unhealthy {
		if !isStarting(etcd, name) {
			well--
		}
	}
	return all, well - q.unseen()
}

// unseen counts the members of machines that are gone, as far as the operator does not report yet that they are not
// well.
func (q *Question) unseen() int {
	etcd, count := q.Spoke.Etcd, 0
	for _, member := range q.orphans() {
		if !quorum.IsIll(etcd, "", []netip.Addr{member.Address}) {
			count++
		}
	}
	for _, name := range etcd.Unhealthy {
		_, err := netip.ParseAddr(name)
		owned := slices.ContainsFunc(q.Machines, func(m Machine) bool { return nodeName(&m) == name })
		if err != nil && !owned && q.Spoke.NodeByName(name) == nil {
			count-- // it is named by a node that is gone, too
		}
	}
	return max(0, count)
}

// isStarting reports whether the etcd operator names a member that was added and has not started: by its
// address, which it does not list yet.
func isStarting(etcd *model.Etcd, name string) bool {
	address, err := netip.ParseAddr(name)
	return err == nil && !slices.ContainsFunc(etcd.Members, func(m model.EtcdMember) bool { return m.Address == address.Unmap() })
}

// fewestLeft is the smallest number of members that may be left when a healthy one is removed.
const fewestLeft = 2

// loses says why etcd cannot do without the member of a Machine, once those that leave before it have gone; ""
// where it can: most of the members that stay are well.
func (q *Question) loses(m *Machine) string { return q.losesAfter(q.ahead(m), m) }

// losesAfter is loses where some Machines leave before. With a member that is not well nothing is lost.
func (q *Question) losesAfter(ahead []*Machine, m *Machine) string {
	all, well := q.votes()
	if well < quorum.Majority(all) {
		return fmt.Sprintf("%d of %s of etcd are healthy, which is not a majority: follow OpenShift's documentation of disaster recovery",
			well, listtext.CountText(all, "member"))
	}
	if member := q.member(m); member != nil && !q.isIll(m, member) {
		if why := q.losesVote(ahead, m, member, all, well); why != "" {
			return why
		}
	}
	if !q.servesWithout(append(slices.Clone(ahead), m)) {
		return fmt.Sprintf("without %s%s no node of the control plane would be Ready", m.Name, afterThem(ahead))
	}
	return ""
}

// losesVote says why etcd cannot do without a member that is well; "" where it can. Members of Machines that leave
// before count as such that stay and are not well: until a member is out, its machine may be off already.
func (q *Question) losesVote(ahead []*Machine, m *Machine, member *model.EtcdMember, all, well int) string {
	for _, other := range ahead {
		if own := q.member(other); own != nil && !q.isIll(other, own) {
			well--
		}
	}
	leave := quorum.Leave{Members: all, Fewest: fewestLeft, Early: q.goesOff(ahead, m, member)}
	all, well = all-1, well-1
	switch now, then := quorum.Majority(all+1), quorum.Majority(all); {
	case well >= leave.Needs():
		return ""
	case well < then:
		return fmt.Sprintf("without %s%s etcd would have %s of which %d are healthy, but it needs %d",
			m.Name, afterThem(ahead), listtext.CountText(all, "member"), well, then)
	case well < now && leave.Early:
		return fmt.Sprintf("until the etcd operator has removed the member of %s%s, etcd would have %s of which %d are "+
			"healthy, but it needs %d",
			m.Name, afterThem(ahead), listtext.CountText(all+1, "member"), well, now)
	}
	return fmt.Sprintf("without %s etcd would have %s, which is not enough: another member must join first",
		m.Name, listtext.CountText(all, "member"))
}

// afterThem says which Machines leave before another one, in brackets.
func afterThem(ahead []*Machine) string {
	var leave []string
	for _, m := range ahead {
		leave = append(leave, m.Name)
	}
	if len(leave) == 0 {
		return ""
	}
	return " (after " + listtext.ListText(leave) + ")"
}

// servesWithout reports whether the node of another Machine than these, or of none, serves as control plane.
func (q *Question) servesWithout(machines []*Machine) bool {
	return slices.ContainsFunc(q.Spoke.Nodes, func(n model.Node) bool {
		return n.ControlPlane() && n.Ready && !n.Deleting &&
			!slices.ContainsFunc(machines, func(m *Machine) bool { return n.Name == nodeName(m) })
	})
}

// ahead are the Machines that leave before m: of those that are being deleted, one after the other, all that etcd can
// do without. If m is not being deleted, these are all of them.
func (q *Question) ahead(m *Machine) []*Machine {
	leaving := q.which(func(other *Machine) bool {
		return other.Name != m.Name && !other.DeletionTimestamp.IsZero() && (m.DeletionTimestamp.IsZero() || q.leavesSooner(other, m) < 0)
	})
	slices.SortFunc(leaving, q.leavesSooner)
	var ahead []*Machine
	for _, other := range leaving {
		if !isHooked(other) || q.losesAfter(ahead, other) == "" {
			ahead = append(ahead, other)
		}
	}
	return ahead
}

// leavesSooner orders Machines that are being deleted: first those that were released, then those with a node that is
// gone or being deleted, then those that were deleted first.
func (q *Question) leavesSooner(a, b *Machine) int {
	rank := func(m *Machine) int {
		switch node := q.node(m); {
		case !isHooked(m):
			return 0
		case node == nil, node.Deleting:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.DeletionTimestamp.Compare(b.DeletionTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// isHooked reports whether a Machine that is being deleted is still held.
func isHooked(m *Machine) bool {
	_, is := m.Annotations[HookAnnotation]
	return is
}

// awaitsAnother reports whether a Machine is to go, and etcd cannot do without it until another one has joined.
func (q *Question) awaitsAnother(m *Machine) bool {
	return (!m.DeletionTimestamp.IsZero() || IsUnhealthy(m.Machine)) && q.loses(m) != ""
}

// orphans are the members of etcd that belong to no node and no Machine: what is left of a machine that is
// gone.
func (q *Question) orphans() []*model.EtcdMember {
	return slices.DeleteFunc(quorum.Orphans(q.Spoke), func(member *model.EtcdMember) bool {
		return slices.ContainsFunc(q.Machines, func(m Machine) bool {
			return m.Annotations[MemberAnnotation] == member.ID || slices.Contains(addresses(&m), member.Address)
		})
	})
}

// unmade says what a Machine still lacks to be a part of the control plane; "" where it is one.
func (q *Question) unmade(m *Machine) string {
	node := q.node(m)
	switch {
	case node == nil:
		return fmt.Sprintf("Machine %s is being created: it has no node yet", m.Name)
	case q.member(m) == nil && !node.Ready:
		return fmt.Sprintf("Machine %s is being created: its node %s is not Ready yet", m.Name, node.Name)
	case q.member(m) == nil:
		return fmt.Sprintf("Machine %s is being created: its node %s is not a member of etcd yet", m.Name, node.Name)
	}
	return ""
}

// unsettled says what is not well, or is on its way, of the control plane beside one Machine, which may be
// nil.
func (q *Question) unsettled(beside *Machine) []string {
	var texts []string
	own := ""
	if beside != nil {
		own = nodeName(beside)
	}
	for _, m := range q.living() {
		if beside == nil || m.Name != beside.Name {
			if text := q.unmade(m); text != "" {
				texts = append(texts, text)
			}
		}
	}
	// Such a node is drained, or does not get well, and stays until another one is there.
	awaiting := func(name string) bool {
		return slices.ContainsFunc(q.Machines, func(m Machine) bool { return nodeName(&m) == name && q.awaitsAnother(&m) })
	}
	for i := range q.Spoke.Nodes {
		n := &q.Spoke.Nodes[i]
		if !n.Votes() || n.Name == own || q.Spoke.MemberOfNode(n) == nil || awaiting(n.Name) {
			continue
		}
		if trouble := quorum.Trouble(n); trouble != "" {
			texts = append(texts, "node "+n.Name+" "+trouble)
		}
	}
	return append(texts, q.sick(beside)...)
}

// sick says which members of etcd are not well, beside that of a Machine, which may be nil, and what is the
// matter with the operators of the control plane.
func (q *Question) sick(beside *Machine) []string {
	var texts []string
	etcd := q.Spoke.Etcd
	var own []netip.Addr
	name := ""
	if beside != nil {
		name = nodeName(beside)
		if member := q.member(beside); member != nil {
			own = append(own, member.Address)
		}
	}
	for _, ill := range quorum.IllBeside(etcd, name, own) {
		text := "the etcd member " + ill + " is not healthy"
		if isStarting(etcd, ill) {
			text = "the etcd member at " + ill + " has not started yet"
		}
		texts = append(texts, text)
	}
	if etcd.Rolling != "" {
		texts = append(texts, "etcd is being rolled out: "+etcd.Rolling)
	}
	for i := range q.Spoke.Operators {
		o := &q.Spoke.Operators[i]
		if !o.Available && (o.Name == operatorAPI || o.Name == operatorEtcd) {
			texts = append(texts, strings.TrimSuffix("the operator "+o.Name+" is not available: "+o.Message, ": "))
		}
	}
	return texts
}

// updating says that the machine config operator is at work on the control plane; "" where it is not.
func (q *Question) updating() string {
	if pool := q.Spoke.Pool("master"); pool != nil && pool.Updating {
		return "the machine config operator is updating the control plane"
	}
	return ""
}
