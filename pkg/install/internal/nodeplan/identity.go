package nodeplan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/internal/shared/quorum"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// target finds what belongs to a name: the host of the file and of the service, its node, Machine, BareMetalHost,
// member of etcd and BMC. What cannot be proven to be of the same machine is left out if nothing would be done to it,
// and is a doubt if something would be.
func (r *removal) target(asked string) *departingNode {
	h := r.hostOf(asked)
	t := &departingNode{Host: h, nodeName: nodeNameOf(h)}
	if back := r.backAs(asked); back != nil && h.Have == nil {
		t.Name, t.Want, t.nodeName = cmp.Or(t.Name, back.Name), nil, back.Name
	}
	own := r.answerBuilder
	own.answer = Answer{}
	t.answerBuilder = &own
	if t.node = r.spoke.NodeByName(t.nodeName); t.node != nil {
		t.nodeName = t.node.Name
	}
	t.Name = cmp.Or(t.Name, t.nodeName)
	t.checkRecord()
	t.checkReplacement()
	t.findMachine()
	t.drain = r.spoke.DrainOf(t.nodeName)
	t.member = t.findMember()
	t.sameAsBefore()
	if state, known := r.Observed.Machines[t.Name]; known && t.Want != nil {
		t.power, t.trouble = state.Power, state.Trouble
	}
	return t
}

// hostOf is the host that is meant by a name: that of the file, an id, or what the service calls
// it. The file's host is known with it only where it was matched: a name alone does not say that
// its BMC is this machine's.
func (r *removal) hostOf(asked string) Host {
	hostname := asked
	var (
		found []Host
		want  *spec.Host // this loop has deleted the record of that host
	)
	for _, h := range r.Hosts {
		switch {
		case h.Have != nil && !h.Have.Unbound() && (h.Name == asked || h.Have.ID == asked):
			h.Asked = asked
			return h
		case h.Have == nil && h.Name == asked: // nothing is known of the machine but its name
			hostname = cmp.Or(h.Want.Hostname, asked)
			if _, done := r.Memory.Done[string(model.ScopeNode.Of(h.Name))+"/record"]; done {
				want = h.Want
			}
		}
	}
	for _, h := range r.Hosts {
		if h.Have != nil && !h.Have.Unbound() && model.NodeName(h.Have.Hostname) == model.NodeName(hostname) {
			found = append(found, h)
		}
	}
	if node := r.spoke.NodeByName(hostname); node != nil && len(found) > 1 {
		found = slices.DeleteFunc(found, func(h Host) bool { return !sameMachine(h.Have, node) })
	}
	for name, seen := range r.Memory.Leaving {
		if len(found) == 0 && seen.Host == asked { // by its id, of a record that is gone
			hostname = name
		}
	}
	out := Host{Asked: asked, hostname: hostname}
	switch len(found) {
	case 0:
		if out.Want = want; want != nil {
			out.Name = want.Name
		}
	case 1:
		out.Have, out.Name = found[0].Have, found[0].Name
		if found[0].Want != nil && found[0].Name == found[0].Want.Name {
			out.Want = found[0].Want
		}
	default:
		for i := range found {
			out.Several = append(out.Several, found[i].Have.ID)
		}
	}
	return out
}

// nodeNameOf is the name of the node that a host has become, or that was asked for, as kubelets
// write it.
func nodeNameOf(h Host) string {
	switch {
	case h.Have != nil && h.Have.Hostname != "":
		return model.NodeName(h.Have.Hostname)
	case h.Want != nil && h.Want.Hostname != "":
		return model.NodeName(h.Want.Hostname)
	}
	return model.NodeName(cmp.Or(h.hostname, h.Asked))
}

// sameMachine reports whether a host of the service can be the machine of a node: by what both
// say of themselves, where they say anything.
func sameMachine(have *model.Host, node *model.Node) bool {
	addresses := addressesOf(have)
	if len(addresses) == 0 && have.Inventory.UUID == "" {
		return true
	}
	return have.Inventory.UUID != "" && strings.EqualFold(have.Inventory.UUID, node.SystemUUID) ||
		slices.ContainsFunc(node.Addresses, func(a netip.Addr) bool { return slices.Contains(addresses, a) })
}

// checkRecord leaves out a record of the service that is not the node's: of a machine that has only
// been discovered. One that is part of the cluster, and another machine, is a doubt.
func (t *departingNode) checkRecord() {
	if t.Have == nil || t.underWay() {
		return
	}
	same := t.node == nil || sameMachine(t.Have, t.node)
	switch {
	case memberState(t.Have.State) && same:
	case memberState(t.Have.State):
		t.doubt = t.refuse("OtherMachine", "other-machine", model.CureOwner,
			fmt.Sprintf("the service's host %s (%s) is not the machine of the node %s: they share no address and no UUID", t.Have.Hostname,
				t.Have.ID, t.nodeName),
			model.Advicef("if the record is for a machine that does not exist any more: {delete host %s}, and run the same command again",
				t.Have.ID))
	case t.node != nil || t.seen().UID != "" || t.isReplaced():
		t.Have, t.Want = nil, nil
	}
}

// newFor is how long a host that was added is the one that has taken another's place.
const newFor = 24 * time.Hour

// checkReplacement decides whether the node with the name of the old one is the new one: it is if the replacement host
// was recently installed under the same name.
func (t *departingNode) checkReplacement() {
	have := t.replacement()
	if have == nil {
		return
	}
	since := cmp.Or(have.Rebooted, have.Since)
	late := have.Day2 && (installing(have) || (have.HasRebooted() || have.State == model.HostAdded) && t.Now.Sub(since) < newFor)
	if late && model.NodeName(have.Hostname) == t.nodeName {
		t.replaced, t.node, t.Have, t.Want = true, nil, nil, nil
	}
}

// replacement is the host that takes the node's place, as the service has it, or nil.
func (t *departingNode) replacement() *model.Host {
	by := t.Desired.Options.Remove.ReplacedBy
	i := slices.IndexFunc(t.Hosts, func(h Host) bool { return by != "" && h.Name == by && h.Have != nil })
	if i < 0 {
		return nil
	}
	return t.Hosts[i].Have
}

// findMachine finds the node's Machine and BareMetalHost. A doubt is what they say against it.
func (t *departingNode) findMachine() {
	if t.replaced {
		return
	}
	t.machine = machineOf(t.spoke, t)
	if m := t.machine; m != nil {
		t.set = t.spoke.MachineSet(m.MachineSet)
		if m.Node != "" && m.Node != t.nodeName {
			t.doubt = t.refuse("MachineOfOtherNode", "other-node", model.CurePerson,
				fmt.Sprintf("the node %s names the Machine %s, but this Machine belongs to the node %s", t.nodeName, m.Name, m.Node),
				"kubectl -n openshift-machine-api get machines -o wide")
			t.machine, t.set = nil, nil
			return
		}
	}
	t.metal = metalOf(t.spoke, t)
	if h := t.metal; h != nil && t.machine != nil && h.Consumer != "" && h.Consumer != t.machine.Name {
		t.doubt = t.refuse("MetalOfOtherMachine", "other-metal", model.CurePerson,
			fmt.Sprintf("the Machine %s names the BareMetalHost %s, but %s uses this BareMetalHost", t.machine.Name, h.Name, h.Consumer),
			"kubectl -n openshift-machine-api get baremetalhosts")
		t.metal = nil
	}
}

// machineOf is the Machine of a node.
func machineOf(s *model.Spoke, t *departingNode) *model.Machine {
	if t.node != nil && t.node.Machine != "" {
		if i := slices.IndexFunc(s.Machines, func(m model.Machine) bool { return m.Name == t.node.Machine }); i >= 0 {
			return &s.Machines[i]
		}
	}
	return s.MachineOf(t.nodeName)
}

// metalOf is the BareMetalHost of a node: that of its Machine, or, once that is gone, the one
// that was marked before. One that another Machine has taken since is not any more.
func metalOf(s *model.Spoke, t *departingNode) *model.BareMetalHost {
	if t.machine != nil {
		return s.HostOfMetal(t.machine.BareMetalHost)
	}
	i := slices.IndexFunc(s.BareMetalHosts, func(h model.BareMetalHost) bool {
		taken := slices.ContainsFunc(s.Machines, func(m model.Machine) bool { return m.Name == h.Consumer })
		return h.Removes == t.nodeName && t.nodeName != "" && !taken
	})
	if i < 0 {
		return nil
	}
	return &s.BareMetalHosts[i]
}

// addresses are those of a node, also once it is gone.
func (t *departingNode) addresses() []netip.Addr {
	if t.node != nil {
		return t.node.Addresses
	}
	all := slices.Clone(t.seen().Addresses)
	if t.Have != nil {
		all = append(all, addressesOf(t.Have)...)
	}
	return all
}

// seen is what is remembered of the node.
func (t *departingNode) seen() model.NodeSeen { return t.Memory.Leaving[t.nodeName] }

// findMember is the node's member of etcd: by its address, or, once the node is gone, by the id that
// it had. An address that another node has is not its any more.
func (t *departingNode) findMember() *model.EtcdMember {
	if t.replaced || t.spoke.Etcd == nil {
		return nil
	}
	if m := quorum.Member(t.spoke, t.node, t.addresses()); m != nil {
		return m
	}
	id := t.seen().Member
	if i := slices.IndexFunc(t.spoke.Etcd.Members, func(m model.EtcdMember) bool { return id != "" && m.ID == id }); i >= 0 {
		return &t.spoke.Etcd.Members[i]
	}
	if orphans := quorum.Orphans(t.spoke); t.node == nil && len(orphans) == 1 && quorum.IsIll(t.spoke.Etcd, t.nodeName, nil) {
		return orphans[0] // the only one that can have that name
	}
	return nil
}

// sameAsBefore compares node and Machine with those that the user has agreed to remove: an object that was made again
// since, under the same name, is another one.
func (t *departingNode) sameAsBefore() {
	agreed, seen := t.Desired.Options.Remove.UIDs[t.nodeName], t.seen().UID
	if t.node == nil || (agreed == "" || agreed == t.node.UID) && (seen == "" || seen == t.node.UID) {
		return
	}
	t.doubt = t.refuse("NodeMadeAnew", "anew", model.CurePerson,
		fmt.Sprintf("the node %s is not the one that was to be removed: a kubelet that started again, or another machine, created it again",
			t.nodeName),
		model.Advicef("if the old machine still runs, switch it off and also remove this node: {remove-node %s}", listtext.Quoted(t.nodeName)))
}
