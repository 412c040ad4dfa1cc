package nodes

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/names"
)

// fewestMembers is how many members etcd keeps at least: with fewer, the loss of one more is the
// loss of the cluster.
const fewestMembers = 3

// quorum is why a node that etcd runs on is not taken out, nil where it may be. It holds until the
// node is on its way out for good: what is left to do then puts nothing at risk.
func (r *removal) quorum(t *leaving) *model.Blocker {
	if !t.votes() || t.node == nil || t.node.Deleting || t.machine != nil && t.machine.Deleting {
		return nil
	}
	b := &model.Blocker{Key: t.key("quorum"), Scope: t.scope(), Reason: "EtcdQuorum", Cure: model.CureNow, Hosts: []string{t.Name}}
	if t.begun() {
		b.Cure = model.CurePerson
	}
	switch etcd, others := r.spoke.Etcd, r.otherVoters(); {
	case len(others) == 0:
		b.Message, b.Remedy = t.nodeName+" is the only node of the control plane: without it there is no cluster", advice.Command("delete cluster", r.Desired.Spec.Metadata.Name)
		b.Cure = model.CureNow
	case t.node.Arbiter():
		b.Message = t.nodeName + " is the arbiter, without which etcd cannot lose a node"
		b.Remedy, b.Cure = advice.Command("replace-node", names.Quoted(t.Asked)), model.CureNow
	case etcd == nil || etcd.Trouble != "":
		b.Message = "the members of etcd are not known, so that no node of the control plane is removed"
		if etcd != nil {
			b.Message += ": " + etcd.Trouble
		}
		b.Remedy = "oc get etcd cluster -o yaml"
	default:
		r.enough(t, etcd, others, b)
	}
	if b.Message == "" {
		return nil
	}
	return b
}

// enough says in a blocker why the members that stay are not enough.
func (r *removal) enough(t *leaving, etcd *model.Etcd, others []*model.Node, b *model.Blocker) {
	stay := slices.DeleteFunc(slices.Clone(etcd.Members), func(m model.EtcdMember) bool {
		return slices.ContainsFunc(r.targets, func(o *leaving) bool { return slices.Contains(r.addresses(o), m.Address) })
	})
	if len(stay) < fewestMembers {
		b.Message = fmt.Sprintf("without %s etcd would have %s, and needs %d to do without one", r.namesOfVoters(), names.Counted(len(stay), "member"), fewestMembers)
		b.Remedy, b.Cure = advice.Sprintf("put another machine in its place: {replace-node %s}", names.Quoted(t.Asked)), model.CureNow
		return
	}
	var ill []string
	for _, name := range etcd.Unhealthy {
		address, _ := netip.ParseAddr(name)
		if name != t.nodeName && !slices.Contains(r.addresses(t), address) {
			ill = append(ill, "the etcd member "+name+" is not healthy")
		}
	}
	for _, n := range others {
		switch {
		case n.Deleting:
			ill = append(ill, n.Name+" is being deleted")
		case !n.Ready:
			ill = append(ill, n.Name+" is not Ready")
		case n.Cordoned:
			ill = append(ill, n.Name+" is cordoned")
		}
	}
	for i := range r.spoke.Machines {
		if m := &r.spoke.Machines[i]; m.ControlPlane && m.Deleting && !r.isLeaving(m) {
			ill = append(ill, "the Machine "+m.Name+" is being deleted")
		}
	}
	if len(ill) > 0 {
		b.Message = fmt.Sprintf("%s is not removed while the rest of the control plane is not well: %s", t.nodeName, names.Few(ill))
		b.Remedy = "see to that first, then run the same command again"
	}
}

// otherVoters are the nodes that etcd runs on and that stay.
func (r *removal) otherVoters() []*model.Node {
	var stay []*model.Node
	for i := range r.spoke.Nodes {
		n := &r.spoke.Nodes[i]
		if n.Votes() && !slices.ContainsFunc(r.targets, func(o *leaving) bool { return o.node == n }) {
			stay = append(stay, n)
		}
	}
	return stay
}

func (r *removal) namesOfVoters() string {
	var all []string
	for _, t := range r.targets {
		if t.votes() {
			all = append(all, t.nodeName)
		}
	}
	return names.Few(all)
}

// operatorTakesMember reports whether the etcd operator takes the node's member away by itself:
// where it goes by Machines, and others are as many as the cluster was installed with.
func (t *leaving) operatorTakesMember() bool {
	e := t.spoke.Etcd
	return e != nil && e.ByMachines && e.Desired > 0 && t.machine != nil && len(e.Members) > e.Desired
}

// memberText is what becomes of the node's member of etcd.
func (t *leaving) memberText() string {
	switch {
	case t.member == nil:
		return ""
	case t.operatorTakesMember():
		return "wait for the etcd operator to take the member of " + t.nodeName + " away"
	}
	return "wait for somebody to take the member of " + t.nodeName + " out of etcd: " + t.memberCommand().String()
}

// memberCommand takes the node's member out of etcd, in the pod of another one. oaictl does not:
// a mistake in it ends the cluster.
func (t *leaving) memberCommand() model.Advice {
	in := "NODE"
	for i := range t.spoke.Nodes {
		if n := &t.spoke.Nodes[i]; n.Votes() && n.Ready && n.Name != t.nodeName && t.spoke.MemberOf(n.Addresses) != nil {
			in = names.Quoted(n.Name)
			break
		}
	}
	return advice.Sprintf("oc -n openshift-etcd rsh etcd-%s etcdctl member remove %s", in, names.Quoted(t.member.ID))
}

// awaitMember waits for the node's member to be taken out of etcd.
func (t *leaving) awaitMember() {
	if t.operatorTakesMember() {
		t.wait(model.Wait{
			Key: t.key("member"), Scope: t.scope(), Who: model.WhoService,
			For: fmt.Sprintf("the etcd operator to take the member %s of %s away", t.member.ID, t.nodeName),
		})
		return
	}
	t.wait(model.Wait{
		Key: t.key("member"), Scope: t.scope(), Who: model.WhoUser, Next: t.memberCommand(),
		For: fmt.Sprintf("somebody to take the member %s of %s (%s) out of etcd", t.member.ID, t.nodeName, t.member.Address),
	})
}
