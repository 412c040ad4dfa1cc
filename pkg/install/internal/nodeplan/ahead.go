package nodeplan

import (
	"fmt"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Ahead answers what would keep hosts from becoming nodes, before they boot anything: a name,
// a machine or an address that the cluster has already, a machine config pool that does not
// exist, a config that they could not fetch, or by which they could not encrypt their disks.
func Ahead(q Question) Answer {
	a := &obstacles{newAsker(q)}
	for _, h := range q.Hosts {
		a.nameIsFree(h)
		a.machineIsFree(h)
		a.addressesAreFree(h)
		a.poolExists(h)
	}
	a.configIsServed(q.Hosts)
	a.disksUnlock(q.Hosts)
	return a.answer
}

// obstacles finds what would keep hosts from becoming nodes.
type obstacles struct{ *answerBuilder }

// ReasonRegisteredAgain is the reason of a warning or a blocker: the machine of a node has registered
// with the service once more. Its new record is never installed, since that would wipe a node.
const ReasonRegisteredAgain = "RegisteredAgain"

// Again reports hosts that are nodes of the cluster already, and have registered with the service once more, under new
// ids. A host with a Ready node is as the file wants it, and no other host waits for it.
func Again(q Question) (again []Host, answer Answer) {
	a := &obstacles{newAsker(q)}
	for _, h := range q.Hosts {
		node := a.nodeAgain(h)
		if node == nil {
			continue
		}
		again = append(again, h)
		key, remove := string(scopeOf(h))+"/again", model.Command("delete host", h.Have.ID)
		if node.Ready {
			a.warn(model.Warning{
				Key: key, Scope: scopeOf(h), Reason: ReasonRegisteredAgain,
				Message: fmt.Sprintf("%s is the node %s of the cluster, which is Ready. Its machine has registered with the service again, as "+
					"the host %s: oaictl does nothing with this host",
					h.Name, node.Name, h.Have.ID),
				Next: "if it runs from its disk, delete the new record in the service: " + remove,
			})
			continue
		}
		a.block(model.Blocker{
			Key: key, Scope: scopeOf(h), Reason: ReasonRegisteredAgain, Cure: model.CureNow, Hosts: []string{h.Name},
			Message: fmt.Sprintf("%s is the node %s of the cluster, which is not Ready: its machine has registered with the service "+
				"again, as the host %s",
				h.Name, node.Name, h.Have.ID),
			Remedy: "boot it from its disk, and delete the new record in the service: " + remove,
		})
	}
	return again, a.answer
}

// nodeAgain is the node that the machine of a host is for certain, which is to be installed by the
// service's record; nil for none.
func (a *obstacles) nodeAgain(h Host) *model.Node {
	if h.Have == nil || installStarted(h.Have) || memberState(h.Have.State) {
		return nil
	}
	node := a.spoke.NodeByName(hostnameOf(h))
	if node == nil || h.Have.Inventory.UUID == "" && len(addressesOf(h.Have)) == 0 || !sameMachine(h.Have, node) {
		return nil
	}
	return node
}

// nameIsFree holds a host that would become a node of a name that is taken: while that node is
// there, its requests for certificates are not approved.
func (a *obstacles) nameIsFree(h Host) {
	node := a.spoke.NodeByName(hostnameOf(h))
	if node == nil || h.Have != nil && h.Have.HasRebooted() {
		return
	}
	command := model.Command("remove-node", listtext.Quoted(node.Name), "--cluster", listtext.Quoted(a.Desired.Spec.Metadata.Name))
	if node.Votes() {
		command = model.Command("replace-node", listtext.Quoted(node.Name), "-f FILE --with", listtext.Quoted(h.Name))
	}
	state := "not Ready"
	if node.Ready {
		state = "Ready"
	}
	a.block(model.Blocker{
		Key: string(scopeOf(h)) + "/name", Scope: scopeOf(h), Reason: "NodeNameTaken", Cure: model.CureNow,
		Field: "spec.hosts[" + h.Name + "].hostname", Hosts: []string{h.Name},
		Message: fmt.Sprintf("the cluster already has a node %s, which is %s", node.Name, state),
		Remedy:  "give the host another hostname, or, if this machine takes its place: " + command,
	})
}

// poolExists holds a host whose machine config pool the cluster does not have.
func (a *obstacles) poolExists(h Host) {
	name := pool(h)
	if len(a.spoke.Pools) == 0 || a.spoke.Pool(name) != nil {
		return
	}
	have := make([]string, 0, len(a.spoke.Pools))
	for _, p := range a.spoke.Pools {
		have = append(have, p.Name)
	}
	field := "role"
	if h.Want != nil && h.Want.MachineConfigPool != "" {
		field = "machineConfigPool"
	}
	a.block(model.Blocker{
		Key: string(scopeOf(h)) + "/pool", Scope: scopeOf(h), Reason: "NoMachineConfigPool", Cure: model.CureNow,
		Field: "spec.hosts[" + h.Name + "]." + field, Hosts: []string{h.Name},
		Message: fmt.Sprintf("the cluster has no machine config pool %s, which %s would join; it has %s",
			name, h.Name, listtext.ListText(have)),
		Remedy: model.Advicef("create the pool, or name one of %s", strings.Join(have, ", ")),
	})
}
