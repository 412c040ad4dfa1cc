package nodes

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/advice"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/names"
)

// memberWithin is how long it may take a Ready node to become a member of etcd.
const memberWithin = 30 * time.Minute

// joinEtcd reports whether a node that etcd is to run on is a member of it, and that member well. On
// a cluster with a Machine API the etcd operator takes no node without a Machine that has its address,
// which nothing makes for a host that somebody has booted.
func (a *asker) joinEtcd(h Host, node *model.Node) bool {
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
		return wait("the members of etcd to be known: " + etcd.Trouble)
	case member != nil && !etcd.Ill(node.Name, node.Addresses) && etcd.Rolling == "":
		return true
	case member != nil && !etcd.Ill(node.Name, node.Addresses):
		return wait("etcd to be rolled out with its new member: " + etcd.Rolling)
	}
	if member == nil && etcd.ByMachines && !a.linked(h, node) {
		return false
	}
	if long := a.Now.Sub(node.ReadySince); long < memberWithin {
		return wait(fmt.Sprintf("%s to be a member of etcd that is well: %s", node.Name, etcd.Message))
	}
	b := model.Blocker{
		Key: key, Scope: scopeOf(h), Reason: "NoEtcdMember", Cure: model.CurePerson, Since: node.ReadySince.Add(memberWithin), Hosts: []string{h.Name},
		Message: fmt.Sprintf("%s is Ready, and no member of etcd that is well: %s", node.Name, etcd.Message),
		Remedy:  "oc describe etcd cluster, and the logs of the etcd operator: oc -n openshift-etcd-operator logs deployment/etcd-operator",
	}
	others := slices.DeleteFunc(slices.Clone(etcd.Unhealthy), func(name string) bool {
		address, _ := netip.ParseAddr(name)
		return name == node.Name || slices.Contains(node.Addresses, address)
	})
	if member == nil && len(others) > 0 {
		b.Message = fmt.Sprintf("%s does not become a member of etcd while another one is not well: %s", node.Name, names.Few(others))
		b.Remedy = advice.Sprintf("see to that one, or put another machine in its place: {replace-node %s}", names.Quoted(others[0]))
	}
	a.block(b)
	return false
}

// linked reports whether a Machine has the node's addresses. Otherwise it does what is next for that:
// a BareMetalHost that is there already, a Machine on it, and the addresses, which a Machine takes
// from the hardware that its host is said to have.
func (a *asker) linked(h Host, node *model.Node) bool {
	if a.spoke.MachineAt(node.Addresses) != nil {
		return true
	}
	key := string(scopeOf(h)) + "/link/"
	act := func(kind model.Kind, what, name, target string) {
		a.act(model.Action{
			Key: key + what, Scope: scopeOf(h), Kind: kind, Name: name, Target: target, Node: node.Name,
			Reason: "the etcd operator takes no node without a Machine that has its address",
		})
	}
	metal := a.metalFor(h, node)
	switch {
	case !slices.ContainsFunc(a.spoke.Machines, func(m model.Machine) bool { return m.ControlPlane && m.BareMetalHost != "" }):
		a.block(model.Blocker{
			Key: key + "none", Scope: scopeOf(h), Reason: "NoMachine", Cure: model.CurePerson, Hosts: []string{h.Name},
			Message: fmt.Sprintf("the etcd operator goes by Machines, and none has the address of %s", node.Name),
			Remedy:  "make a Machine of the control plane for it: oc -n openshift-machine-api get machines",
		})
	case metal == nil:
		act(model.CreateMetalHost, "metal", node.Name, macOf(h, node))
	case !slices.ContainsFunc(a.spoke.Machines, func(m model.Machine) bool { return m.BareMetalHost == metal.Name }):
		act(model.CreateMachine, "machine", node.Name, metal.Name)
	case metal.State == "": // and takes no report yet
		a.wait(model.Wait{
			Key: key + "state", Scope: scopeOf(h), Who: model.WhoService, Since: node.ReadySince,
			For: fmt.Sprintf("the bare metal operator to see the BareMetalHost %s", metal.Name), Next: "oc get clusteroperator baremetal",
		})
	case !slices.ContainsFunc(metal.Addresses, func(x netip.Addr) bool { return slices.Contains(node.Addresses, x) }):
		act(model.ReportHardware, "hardware", metal.Name, metal.UID)
	default:
		a.wait(model.Wait{
			Key: key + "address", Scope: scopeOf(h), Who: model.WhoService, Since: node.ReadySince,
			For: fmt.Sprintf("the Machine of %s to have its addresses", node.Name), Next: "oc -n openshift-machine-api get machines",
		})
	}
	return false
}

// metalFor is the BareMetalHost of a node: of its name, or of its network card, or nil.
func (a *asker) metalFor(h Host, node *model.Node) *model.BareMetalHost {
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
