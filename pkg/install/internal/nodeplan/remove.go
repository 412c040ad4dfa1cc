package nodeplan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/quorum"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Remove answers what is next for nodes that are taken out of the cluster. Each goes its own
// way; those of the control plane, and Machines of one MachineSet, one after the other. Nothing
// begins while anything is refused, and what has begun goes on.
func Remove(q Question) Answer {
	r := newRemoval(q)
	r.find()
	for _, t := range r.targets {
		r.stages(t)
		r.check(t)
	}
	refused := slices.ContainsFunc(r.targets, func(t *departingNode) bool { return len(t.answer.Blockers) > 0 })
	for _, t := range r.targets {
		if len(t.answer.Blockers) == 0 && len(t.left) > 0 && (t.begun() || !refused) && r.hasTurn(t) {
			t.left[0].do()
		}
	}
	r.gather()
	return r.answer
}

// ToRemove are the names of the nodes that are to be removed, as far as they are there.
func ToRemove(q Question) []string {
	r := newRemoval(q)
	r.find()
	var all []string
	for _, t := range r.targets {
		all = append(all, t.nodeName)
	}
	return all
}

// removal gathers the answer for all nodes that are to be removed.
type removal struct {
	answerBuilder
	targets []*departingNode
}

// newRemoval is of a cluster that may not have been seen yet.
func newRemoval(q Question) *removal {
	r := &removal{answerBuilder: answerBuilder{Question: q, spoke: q.Observed.Spoke}}
	if r.spoke == nil {
		r.spoke = &model.Spoke{}
	}
	return r
}

// departingNode is a node on its way out of the cluster, with all that belongs to it. What is nil is not there, or not any
// more.
type departingNode struct {
	Host
	*answerBuilder // with an answer of its own
	nodeName       string
	node           *model.Node
	machine        *model.Machine
	set            *model.MachineSet // that made the Machine
	metal          *model.BareMetalHost
	drain          *model.NodeDrain
	member         *model.EtcdMember
	power          model.Power    // "" where nothing is known of it
	trouble        string         // of its BMC
	doubt          *model.Blocker // why it is not certain what is meant
	replaced       bool           // what has its name is the host that has taken its place
	left           []stage
}

// stage is a part of the way, which is still to be gone.
type stage struct {
	step model.Step
	do   func()
}

// find finds what there is of each node.
func (r *removal) find() {
	for _, asked := range r.Desired.Options.Remove.Nodes {
		t := r.target(asked)
		same := func(o *departingNode) bool { return o.nodeName == t.nodeName }
		if !slices.ContainsFunc(r.targets, same) {
			r.targets = append(r.targets, t)
		}
	}
	// What has begun comes first: of some there is to be one at a time.
	slices.SortStableFunc(r.targets, func(a, b *departingNode) int { return order(b.begun()) - order(a.begun()) })
}

// ToSwitchOff are the hosts of the file whose machines are switched off once their nodes are gone.
func ToSwitchOff(q Question) []string {
	r := newRemoval(q)
	var hosts []string
	for _, asked := range q.Desired.Options.Remove.Nodes {
		want := r.hostOf(asked).Want
		if want != nil && want.BMC != nil && !want.BMC.Credentials.IsZero() && !q.Desired.Options.Remove.KeepRunning {
			hosts = append(hosts, want.Name)
		}
	}
	return hosts
}

func order(first bool) int {
	if first {
		return 1
	}
	return 0
}

// begun reports whether oaictl has begun to remove the node, or it is on its way out.
func (t *departingNode) begun() bool {
	return t.node == nil || t.node.Leaving || t.node.Deleting || t.machine != nil && (t.machine.Deleting || t.machine.Removes != "")
}

// firstLook reports whether nothing was seen of it before by this loop.
func (t *departingNode) firstLook() bool { return t.Memory.Began.Equal(t.Memory.LastObserved) }

// votes reports whether the node is one that etcd runs on.
func (t *departingNode) votes() bool {
	switch {
	case t.member != nil, t.machine != nil && t.machine.ControlPlane, t.isReplaced() && len(t.secrets()) > 0:
		return true
	case t.node != nil:
		return t.node.Votes()
	case t.Have != nil && t.Have.Role != "" && t.Have.Role != spec.Auto:
		return t.Have.Role == spec.ControlPlane || t.Have.Role == spec.Arbiter
	}
	if t.Want != nil {
		return t.Want.Role == spec.ControlPlane || t.Want.Role == spec.Arbiter
	}
	return t.isReplaced() && t.metal != nil // nothing else is left of it
}

// isArbiter reports whether the node is an arbiter, also once it is gone.
func (t *departingNode) isArbiter() bool {
	return t.node != nil && t.node.Arbiter() || t.node == nil && t.Have != nil && t.Have.Role == spec.Arbiter
}

// found reports whether there is anything of the node, or was when the loop began.
func (t *departingNode) found() bool {
	_, seen := t.Memory.Leaving[t.nodeName]
	if seen || t.node != nil || t.machine != nil || t.metal != nil || t.Have != nil || t.member != nil || t.isReplaced() &&
		len(t.secrets()) > 0 {
		return true
	}
	_, done := t.Memory.Done[t.key("record")]
	return done
}

func (t *departingNode) key(what string) string { return string(t.scope()) + "/" + what }

func (t *departingNode) scope() model.Scope { return model.ScopeNode.Of(t.Name) }

// hasTurn reports whether a node of the control plane is the one that is removed now. The others
// wait: there is never more than one on its way.
func (r *removal) hasTurn(t *departingNode) bool {
	if !t.votes() {
		return true
	}
	for _, other := range r.targets {
		if other == t {
			return true
		}
		if other.votes() && len(other.left) > 0 {
			t.wait(model.Wait{
				Key: t.key("turn"), Scope: t.scope(), Who: model.WhoService,
				For: fmt.Sprintf("%s to be removed before %s: nodes of the control plane are removed one at a time", other.nodeName, t.nodeName),
			})
			return false
		}
	}
	return true
}

// gather puts the answers together. What blocks the removal of one node does not end the others: while they make
// progress, it is only reported.
func (r *removal) gather() {
	for _, t := range r.targets {
		a := &t.answer
		others := slices.ContainsFunc(r.targets, func(o *departingNode) bool {
			return o != t && len(o.answer.Blockers) == 0 && (len(o.answer.Actions) > 0 || len(o.answer.Waits) > 0)
		})
		for i := range a.Blockers {
			if others {
				a.Blockers[i].Cure = model.CurePerson
			}
		}
		r.answer.Actions = append(r.answer.Actions, a.Actions...)
		r.answer.Waits = append(r.answer.Waits, a.Waits...)
		r.answer.Blockers = append(r.answer.Blockers, a.Blockers...)
		r.answer.Warnings = append(r.answer.Warnings, a.Warnings...)
		removed := model.NodeRemoval{Asked: t.Asked, Name: t.Name, Node: t.nodeName, Found: t.found(), InFile: r.inFile(t), Comes: t.comes(),
			Returned: t.wasReturned(), Beside: quorum.Beside(t.spoke, t.nodeName), Votes: t.votes(), Arbiter: t.isArbiter(),
			Dead: t.votes() && t.isDead()}
		if t.node != nil {
			removed.UID = t.node.UID
		}
		for _, s := range t.left {
			removed.Left = append(removed.Left, s.step)
		}
		r.answer.Removals = append(r.answer.Removals, removed)
	}
}

// inFile reports whether the file names the host, and no other machine takes that name.
func (r *removal) inFile(t *departingNode) bool {
	return t.Desired.Options.Remove.ReplacedBy != t.Name && slices.ContainsFunc(r.Hosts,
		func(h Host) bool { return h.Want != nil && h.Want.Name == t.Name })
}

// comes reports whether the machine has not been seen switched off, so that its node may come back.
func (t *departingNode) comes() bool { return t.power != model.PowerIsOff }

// Removed is the report for a person of the nodes that are gone, and of what is left for the person to do.
func Removed(removals []model.NodeRemoval) (message string, next model.Advice) {
	var gone, run, back, named []string
	for _, r := range removals {
		gone = append(gone, r.Node)
		switch {
		case r.Returned:
			back = append(back, r.Node)
		case r.Comes:
			run = append(run, r.Node)
		}
		if r.InFile {
			named = append(named, r.Name)
		}
	}
	message = "removed: " + listtext.ListText(gone)
	var steps []string
	if len(run) > 0 {
		message += "; oaictl has not seen that " + listtext.ListText(run) + " is off"
		steps = append(steps, string(model.Advicef("switch %s off, or wipe the disk: a kubelet that starts again uses its old "+
			"certificate and creates its node again", listtext.ListText(run))))
	}
	if len(back) > 0 {
		message += "; returned to their pools: " + listtext.ListText(back)
		steps = append(steps, string(model.Advicef("boot the discovery image of its pool on %s ({download iso --infra-env POOL}), "+
			"unless the service or a hub does this; {get hosts} shows when the host is in the pool", listtext.ListText(back))))
	}
	if len(named) > 0 {
		steps = append(steps, string(model.Advicef("remove %s from the file: {add-node -f FILE} would add it again", listtext.ListText(named))))
	}
	return message, model.Advice(strings.Join(steps, "; "))
}

// GiveUp is how what has begun is taken back, "" for nothing. A Machine that is being given up cannot
// be kept.
func GiveUp(observed *model.Observed, plan *model.Plan) model.Advice {
	if observed == nil || observed.Spoke == nil {
		return ""
	}
	var cordoned, commands []string
	for _, r := range plan.Removals {
		n, m := observed.Spoke.NodeByName(r.Node), observed.Spoke.MachineOf(r.Node)
		if n == nil || !n.Cordoned || n.Deleting || n.Returns != "" || m != nil && (m.Deleting || observed.Spoke.IsLowered(m)) {
			continue
		}
		cordoned = append(cordoned, listtext.Quoted(n.Name))
		if m != nil && m.Removes != "" {
			commands = append(commands,
				fmt.Sprintf("kubectl -n openshift-machine-api annotate machine %s machine.openshift.io/delete-machine- oaictl.io/removes-node-",
					listtext.Quoted(m.Name)))
		}
		for _, h := range observed.Spoke.BareMetalHosts {
			if h.Removes == n.Name {
				commands = append(commands, fmt.Sprintf("kubectl -n openshift-machine-api annotate baremetalhost %s oaictl.io/removes-node-",
					listtext.Quoted(h.Name)))
			}
		}
		commands = append(commands, fmt.Sprintf("kubectl annotate node %s oaictl.io/removes-node-", listtext.Quoted(n.Name)))
	}
	if len(cordoned) == 0 {
		return ""
	}
	commands = append(commands, "kubectl uncordon "+strings.Join(cordoned, " "))
	return model.Advicef("to keep %s in the cluster: %s", listtext.ListText(cordoned), strings.Join(commands, "; "))
}
