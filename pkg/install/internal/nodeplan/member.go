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
)

// memberWithin is how long it may take a Ready node to become a member of etcd.
const memberWithin = 30 * time.Minute

// joinEtcd reports whether a node that etcd is to run on is a member of it, and that member is healthy. On a cluster
// with a Machine API the etcd operator only accepts a node if a Machine has its address, and no component makes a
// Machine for a host that was booted by hand.
func (a *joins) joinEtcd(h Host, node *model.Node) bool {
	etcd := a.spoke.Etcd
	if etcd == nil || !node.Votes() {
		return true
	}
	if !node.Ready {
		return false
	}
	key := string(scopeOf(h)) + "/etcd"
	wait := func(what string) bool {
		a.wait(model.Wait{Key: key, Scope: scopeOf(h), Who: model.WhoService, Since: node.ReadySince, For: what})
		return false
	}
	member := a.spoke.MemberOf(node.Addresses)
	switch {
	case etcd.Trouble != "":
		return wait("the list of etcd members: " + etcd.Trouble)
	case member != nil && !quorum.IsIll(etcd, node.Name, node.Addresses) && etcd.Rolling == "":
		return true
	case member != nil && !quorum.IsIll(etcd, node.Name, node.Addresses):
		return wait("the rollout of etcd with its new member: " + etcd.Rolling)
	}
	waits, long := len(a.answer.Waits), a.Now.Sub(node.ReadySince)
	linked := member != nil || !etcd.ByMachines || a.linked(h, node)
	switch waited := len(a.answer.Waits) > waits; {
	case !linked && (!waited || long < memberWithin):
		return false
	case long < memberWithin:
		return wait(fmt.Sprintf("%s to be a healthy member of etcd: %s", node.Name, etcd.Message))
	}
	b := model.Blocker{
		Key: key, Scope: scopeOf(h), Reason: "NoEtcdMember", Cure: model.CurePerson, Since: node.ReadySince.Add(memberWithin),
		Hosts:   []string{h.Name},
		Message: fmt.Sprintf("%s is Ready, but it is not a healthy member of etcd: %s", node.Name, etcd.Message),
		Remedy: "kubectl describe etcd cluster, and the logs of the etcd operator: kubectl -n openshift-etcd-operator logs " +
			"deployment/etcd-operator",
	}
	if others := a.illBeside(); member == nil && len(others) > 0 {
		b.Message = fmt.Sprintf("%s cannot become a member of etcd while another member is not healthy: %s",
			node.Name, listtext.ListText(others))
		b.Remedy = model.Advicef("repair that member; if its machine is lost: {replace-node %s}", listtext.Quoted(others[0]))
	}
	a.block(b)
	return false
}

// illBeside are the members that are not well, by their nodes, without those of hosts that join.
func (a *joins) illBeside() []string {
	return slices.DeleteFunc(slices.Clone(a.spoke.Etcd.Unhealthy), func(name string) bool {
		joins := slices.ContainsFunc(a.Hosts, func(h Host) bool { return h.Have != nil && model.NodeName(h.Have.Hostname) == name })
		return joins || a.spoke.NodeByName(name) == nil
	})
}

// linked reports whether a Machine has the node's addresses. If not, it takes the next step towards that: a
// BareMetalHost, unless there is one already; a Machine on it; and a report of its hardware, from which the Machine
// takes the addresses.
func (a *joins) linked(h Host, node *model.Node) bool {
	if slices.ContainsFunc(a.spoke.Machines, func(m model.Machine) bool {
		return m.MachineSet == "" && !m.Deleting && m.Phase != "Failed" && len(node.Addresses) > 0 && slices.Contains(m.Addresses,
			node.Addresses[0])
	}) {
		return true
	}
	key := string(scopeOf(h)) + "/link/"
	act := func(kind model.Kind, what, name, target string) {
		a.act(model.Action{
			Key: key + what, Scope: scopeOf(h), Kind: kind, Name: name, Target: target, Node: node.Name,
			Reason: "the etcd operator only accepts a node if a Machine has its address",
		})
	}
	metal := a.metalFor(h, node)
	machine := -1
	if metal != nil {
		machine = slices.IndexFunc(a.spoke.Machines, func(m model.Machine) bool { return m.BareMetalHost == metal.Name })
	}
	block := func(what, message string) {
		a.block(model.Blocker{
			Key: key + what, Scope: scopeOf(h), Reason: "NoMachine", Cure: model.CurePerson, Hosts: []string{h.Name}, Message: message,
			Remedy: "the etcd operator accepts the node when a control plane Machine has its address: kubectl -n openshift-machine-api get " +
				"machines,baremetalhosts",
		})
	}
	switch {
	case !slices.ContainsFunc(a.spoke.Machines, func(m model.Machine) bool { return m.ControlPlane && m.BareMetalHost != "" }):
		block("none", fmt.Sprintf("the etcd operator needs a Machine for each node, and no Machine has the address of %s", node.Name))
	case metal == nil:
		act(model.CreateMetalHost, "metal", node.Name, macOf(h, node))
	case !isSpare(metal, machine):
		block("metal", fmt.Sprintf("the BareMetalHost %s, which matches %s, has the state %s and %s: with a Machine for it, the machine "+
			"could be installed again", metal.Name, node.Name, cmp.Or(metal.State, "new"), cmp.Or(metal.Consumer, "no consumer")))
	case machine >= 0 && (a.spoke.Machines[machine].Deleting || a.spoke.Machines[machine].Phase == "Failed"):
		m := &a.spoke.Machines[machine]
		block("failed", fmt.Sprintf("the Machine %s, which matches %s, is %s: %s", m.Name, node.Name, m.Phase,
			cmp.Or(m.Error, "it does not say why")))
	case machine < 0:
		act(model.CreateMachine, "machine", node.Name, metal.Name)
	case metal.State == "": // and takes no report yet
		a.wait(model.Wait{
			Key: key + "state", Scope: scopeOf(h), Who: model.WhoService, Since: node.ReadySince,
			For: fmt.Sprintf("the bare metal operator to process the BareMetalHost %s", metal.Name), Next: "kubectl get clusteroperator baremetal",
		})
	case !slices.ContainsFunc(metal.Addresses, func(x netip.Addr) bool { return slices.Contains(node.Addresses, x) }):
		act(model.ReportHardware, "hardware", metal.Name, metal.UID)
	default:
		a.wait(model.Wait{
			Key: key + "address", Scope: scopeOf(h), Who: model.WhoService, Since: node.ReadySince,
			For: fmt.Sprintf("the Machine of %s to have its addresses", node.Name), Next: "kubectl -n openshift-machine-api get machines",
		})
	}
	return false
}

// isSpare reports whether a Machine on a BareMetalHost leaves the physical machine alone: its BMC is not known to the
// operator, or it was installed before the operator saw it; and no other Machine has it.
func isSpare(metal *model.BareMetalHost, machine int) bool {
	installed := metal.BMC == "" || metal.External && (metal.State == "externally provisioned" || metal.State == "unmanaged")
	return !metal.Deleting && installed && (metal.Consumer == "" || machine >= 0)
}

// metalFor is the BareMetalHost of a node: of its name, or of its network card, or nil.
func (a *joins) metalFor(h Host, node *model.Node) *model.BareMetalHost {
	if metal := a.spoke.HostOfMetal(node.Name); metal != nil {
		return metal
	}
	for i := range a.spoke.BareMetalHosts {
		mac := a.spoke.BareMetalHosts[i].MAC
		has := slices.ContainsFunc(h.Have.Inventory.Interfaces, func(c model.Interface) bool { return strings.EqualFold(c.MAC, mac) })
		if mac != "" && has {
			return &a.spoke.BareMetalHosts[i]
		}
	}
	return nil
}

// macOf is the network card by which a host has its node's address, or, where that is not known, its
// first.
func macOf(h Host, node *model.Node) string {
	first := ""
	for _, i := range h.Have.Inventory.Interfaces {
		if slices.ContainsFunc(addresses(i.Addresses...), func(x netip.Addr) bool { return slices.Contains(node.Addresses, x) }) {
			return i.MAC
		}
		if first == "" {
			first = i.MAC
		}
	}
	return first
}
