package nodeplan

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/quorum"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// fewestMembers is how many members etcd keeps at least: with fewer, the loss of one more is the
// loss of the cluster.
const fewestMembers = 3

// quorum is why a node that etcd runs on is not removed, nil where it may be. It is checked for as long as the node or
// its member is there: no matter who began the removal, and how, the members that stay have to be enough.
func (r *removal) quorum(t *departingNode) *model.Blocker {
	if !t.votes() || t.node == nil && t.machine == nil && t.member == nil {
		return nil
	}
	b := t.refuse("EtcdQuorum", "quorum", model.CureNow, "", "")
	if t.begun() && t.seen().UID != "" {
		b.Cure = model.CurePerson
	}
	switch etcd, others := r.spoke.Etcd, r.otherVoters(); {
	case len(others) == 0:
		b.Reason, b.Remedy, b.Cure = "LastControlPlane", model.Command("delete cluster", r.Desired.Spec.Metadata.Name), model.CureNow
		b.Message = t.nodeName + " is the only node of the control plane: the cluster cannot run without it"
		if len(r.targets) > 1 {
			b.Message = "no node of the control plane would remain: the cluster cannot run without one"
		}
	case t.node != nil && t.node.Arbiter() && !t.isReplaced() && !slices.ContainsFunc(others, (*model.Node).Arbiter):
		b.Reason = "LastArbiter"
		b.Message = t.nodeName + " is the arbiter: without it, etcd does not survive the loss of a node"
		b.Remedy, b.Cure = replaceCommand(t), model.CureNow
	case etcd == nil || etcd.Trouble != "":
		b.Reason = "EtcdUnknown"
		b.Message = "the members of etcd are not known, so oaictl removes no node of the control plane"
		if etcd != nil {
			b.Message += ": " + etcd.Trouble
		}
		b.Remedy = "kubectl get etcd cluster -o yaml"
	default:
		r.enough(t, etcd, others, b)
	}
	if b.Message == "" {
		return nil
	}
	return b
}

// enough says in a blocker why the members that stay are not enough. Only members count whose nodes
// are there: one without a node may be on its way out, too.
func (r *removal) enough(t *departingNode, etcd *model.Etcd, others []*model.Node, b *model.Blocker) {
	stay, orphans := 0, r.orphansOfNobody()
	for _, n := range others {
		if r.spoke.MemberOf(n.Addresses) != nil {
			stay++
		}
	}
	ill := r.illOthers(t, etcd, others)
	switch needed := t.needed(etcd); {
	case t.member == nil && len(orphans) > 0:
		b.Reason = "EtcdUnknown"
		b.Message = fmt.Sprintf("oaictl cannot tell which member of etcd belongs to %s; these members of etcd belong to no node: %s",
			t.nodeName, listtext.ListText(orphans))
		b.Remedy = "kubectl -n openshift-etcd get configmap etcd-endpoints -o yaml, and find out which machines these members ran on; " +
			"first remove from etcd the members whose machines do not exist any more"
		return
	case len(ill) > 0:
		b.Reason = "ControlPlaneNotWell"
		b.Message = fmt.Sprintf("%s is not removed while the rest of the control plane is not healthy: %s", t.nodeName, listtext.ListText(ill))
		b.Remedy = "repair the control plane first, then run the same command again"
	case stay < needed:
		if stay+1 < needed { // which one more does not cure
			b.Reason = "EtcdTooSmall"
		}
		b.Message = fmt.Sprintf("without %s, etcd would have "+
			"%s, but it needs %d", r.namesOfVoters(), listtext.CountText(stay, "member"), needed)
		if needed == fewestMembers {
			b.Message += " to survive the loss of one"
		}
		b.Remedy, b.Cure = "replace it with another machine: "+replaceCommand(t), model.CureNow
		if t.isReplaced() {
			b.Remedy = "if the majority of members is lost, follow OpenShift's documentation of disaster recovery"
		}
	}
}

func replaceCommand(t *departingNode) model.Advice {
	return model.Command("replace-node", listtext.Quoted(t.Asked), "-f FILE --with HOST")
}

// needed is how many members have to stay. A removed member that is not well does not count: without it etcd keeps what
// it has, as long as that is a majority. A user who gives up such a member, or replaces it, must have said so, until
// its node is gone, too.
func (t *departingNode) needed(etcd *model.Etcd) int {
	if t.member == nil {
		return 1 // etcd loses nothing
	}
	givenUp := t.isDead() && (t.isReplaced() || t.node == nil)
	return quorum.Leave{Members: len(etcd.Members), Ill: givenUp, Fewest: fewestMembers}.Needs()
}

// isReplaced reports whether another host takes the place of the node.
func (t *departingNode) isReplaced() bool { return t.Desired.Options.Remove.ReplacedBy != "" }

// isDead reports whether the node's member of etcd is not well, or was taken out before a node that
// is not Ready.
func (t *departingNode) isDead() bool {
	e := t.spoke.Etcd
	switch {
	case e == nil || e.Trouble != "":
		return false
	case t.member != nil:
		return quorum.IsIll(e, t.nodeName, t.addresses())
	}
	return t.node == nil || !t.node.Ready
}

// illOthers is what is not well of the rest of the control plane.
func (r *removal) illOthers(t *departingNode, etcd *model.Etcd, others []*model.Node) []string {
	var ill []string
	for _, name := range quorum.IllBeside(etcd, t.nodeName, t.addresses()) {
		ill = append(ill, "the etcd member "+name+" is not healthy")
	}
	for _, n := range others {
		if trouble := quorum.Trouble(n); trouble != "" {
			ill = append(ill, n.Name+" "+trouble)
		}
	}
	for i := range r.spoke.Machines {
		if m := &r.spoke.Machines[i]; m.ControlPlane && m.Deleting && !r.isLeaving(m) {
			ill = append(ill, "the Machine "+m.Name+" is being deleted")
		}
	}
	return ill
}

// otherVoters are the nodes that etcd runs on and that stay.
func (r *removal) otherVoters() []*model.Node {
	var stay []*model.Node
	for i := range r.spoke.Nodes {
		n := &r.spoke.Nodes[i]
		if n.Votes() && !slices.ContainsFunc(r.targets, func(o *departingNode) bool { return o.node == n }) {
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
	return listtext.ListText(all)
}

// operatorTakesMember reports whether the etcd operator removes the node's member by itself: if it manages members by
// Machines, and there are as many others as the cluster was installed with. It removes a member that is not well as
// soon as its Machine is being deleted, or if it has neither Machine nor node.
func (t *departingNode) operatorTakesMember() bool {
	e := t.spoke.Etcd
	if e == nil || t.machine == nil {
		return t.node == nil && t.isDead() && quorum.ByOperator(e, e.Desired)
	}
	if t.isDead() || t.goesLast() {
		return quorum.ByOperator(e, len(e.Members))
	}
	return quorum.ByOperator(e, len(e.Members)-1)
}

// goesLast reports whether the host that takes the node's place joins before it goes, since its
// member of etcd is well.
func (t *departingNode) goesLast() bool { return t.isReplaced() && t.member != nil && !t.isDead() }

// memberText is what becomes of the node's member of etcd.
func (t *departingNode) memberText() string {
	switch {
	case t.member == nil:
		return ""
	case t.operatorTakesMember():
		return "wait for the etcd operator to remove the member of " + t.nodeName
	}
	command := quorum.Remove(t.spoke, t.nodeName, t.member.ID)
	return "wait for a person to remove the member of " + t.nodeName + " from etcd: " + command.String()
}

// awaitMember waits for the node's member to be taken out of etcd.
func (t steps) awaitMember() {
	if t.operatorTakesMember() {
		t.wait(model.Wait{
			Key: t.key("member"), Scope: t.scope(), Who: model.WhoService,
			For:  fmt.Sprintf("the etcd operator to remove the member %s of %s", t.member.ID, t.nodeName),
			Next: "kubectl get clusteroperator etcd",
		})
		return
	}
	t.wait(model.Wait{
		Key: t.key("member"), Scope: t.scope(), Who: model.WhoUser, Next: quorum.Remove(t.spoke, t.nodeName, t.member.ID),
		For: fmt.Sprintf("a person to remove the member %s of %s (%s) from etcd", t.member.ID, t.nodeName, t.member.Address),
	})
}
