package nodeplan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// installStarted reports whether the installation of a host has begun: from then on the cluster itself may know its machine,
// since a hub's service registers it there.
func installStarted(h *model.Host) bool {
	switch {
	case h == nil:
		return false
	case h.HasRebooted():
		return true
	}
	return h.State == model.HostPreparing || h.State == model.HostInstalling || h.State == model.HostNeedsUser
}

// machineIsFree holds a host whose machine the cluster has already under another name: by a
// MAC address or by its BMC.
func (a *obstacles) machineIsFree(h Host) {
	if installStarted(h.Have) {
		return
	}
	for i := range a.spoke.BareMetalHosts {
		m := &a.spoke.BareMetalHosts[i]
		field, what := a.sameMachine(h, m)
		if what == "" || a.isOwnMetal(h, m) {
			continue
		}
		owner, next := a.ownerOf(m)
		b := model.Blocker{
			Key: string(scopeOf(h)) + "/machine/" + m.Name, Scope: scopeOf(h), Reason: "MachineTaken", Cure: model.CureNow,
			Field: "spec.hosts[" + h.Name + "]." + field, Hosts: []string{h.Name},
			Message: fmt.Sprintf("%s has %s, the same as %s of the cluster: it is the same machine", h.Name, what, owner),
			Remedy:  anew(a.Desired, next),
		}
		if m.Deleting {
			b.Cure, b.Remedy = model.CurePerson, "wait until it is gone: kubectl get baremetalhosts -n openshift-machine-api"
		}
		a.block(b)
	}
	a.recordIsFree(h)
}

// anew is what to do about a host whose machine is part of the cluster already; next frees the machine.
func anew(desired *model.Desired, next model.Advice) model.Advice {
	return model.Advice("correct what "+desired.Source()+" contains for this host, or, to install this machine again: ") + next
}

// sameMachine is by which field a host is the machine of a BareMetalHost, and what they have in
// common; "" for nothing. Of the cards that a machine reports only the one that a BareMetalHost
// boots from counts: those of management controllers and of hypervisors are alike on many.
func (a *obstacles) sameMachine(h Host, m *model.BareMetalHost) (field, what string) {
	boots := clustersettings.MAC(m.MAC)
	if h.Want != nil {
		for _, mac := range a.Desired.Spec.MACsOf(h.Want) {
			if mac == boots || a.isCardOf(m, mac) {
				return macField(h.Want, mac), "the MAC address " + mac
			}
		}
		if bmc := h.Want.BMC; bmc != nil && bmc.Address != "" && a.sameBMC(m, bmc.Address, bmc.System) {
			return "bmc.address", "the BMC " + bmc.Address
		}
		if bmc := h.Want.Match.BMC; bmc != "" && a.sameBMC(m, bmc, "") {
			return "match.bmc", "the BMC " + bmc
		}
	}
	if h.Have == nil || boots == "" {
		return "", ""
	}
	for _, card := range h.Have.Inventory.Interfaces {
		if clustersettings.MAC(card.MAC) == boots {
			return "match", "the MAC address " + boots
		}
	}
	return "", ""
}

func macField(h *spec.Host, mac string) string {
	if clustersettings.MAC(h.Match.MAC) == mac {
		return "match.mac"
	}
	return "net"
}

// isCardOf reports whether a card is one that the inspection of this machine alone has found.
func (a *obstacles) isCardOf(m *model.BareMetalHost, mac string) bool {
	has := func(o model.BareMetalHost) bool {
		return slices.ContainsFunc(o.MACs, func(card string) bool { return clustersettings.MAC(card) == mac })
	}
	if !has(*m) {
		return false
	}
	return !slices.ContainsFunc(a.spoke.BareMetalHosts, func(o model.BareMetalHost) bool { return o.Name != m.Name && has(o) })
}

// sameBMC reports whether a BMC, and the system behind it, are those of a BareMetalHost. Where
// one of them names no system, the BMC has to be of that machine alone.
func (a *obstacles) sameBMC(m *model.BareMetalHost, address, system string) bool {
	if m.BMC == "" {
		return false
	}
	endpoint, id := (&spec.BMC{Address: address, System: system}).Controller()
	switch other, otherID := (&spec.BMC{Address: m.BMC}).Controller(); {
	case other != endpoint:
		return false
	case otherID != "" && id != "":
		return otherID == id
	}
	return !slices.ContainsFunc(a.spoke.BareMetalHosts, func(o model.BareMetalHost) bool {
		at, _ := (&spec.BMC{Address: o.BMC}).Controller()
		return o.Name != m.Name && o.BMC != "" && at == endpoint
	})
}

// isOwnMetal reports whether a BareMetalHost was made for the host that is added: it has its
// name, and is no node.
func (a *obstacles) isOwnMetal(h Host, m *model.BareMetalHost) bool {
	return (m.Name == model.NodeName(h.Name) || m.Name == model.NodeName(hostnameOf(h))) && a.nodeOfMetal(m) == ""
}

// nodeOfMetal is the node that a BareMetalHost is, "" for none.
func (a *obstacles) nodeOfMetal(m *model.BareMetalHost) string {
	for i := range a.spoke.Machines {
		if machine := &a.spoke.Machines[i]; machine.Node != "" && (machine.Name == m.Consumer || machine.BareMetalHost == m.Name) {
			return machine.Node
		}
	}
	return ""
}

// ownerOf is the owner of a BareMetalHost, and the advice how to take it from that owner.
func (a *obstacles) ownerOf(m *model.BareMetalHost) (owner string, next model.Advice) {
	if node := a.nodeOfMetal(m); node != "" {
		owner = "the node " + node
		if node != m.Name {
			owner += " (BareMetalHost " + m.Name + ")"
		}
		return owner, a.removal(node)
	}
	owner, next = "the BareMetalHost "+m.Name, model.Advicef("kubectl delete baremetalhost -n openshift-machine-api %s",
		listtext.Quoted(m.Name))
	if m.Consumer != "" {
		owner += " (Machine " + m.Consumer + ")"
		next = model.Advicef("kubectl delete machine -n openshift-machine-api %s", listtext.Quoted(m.Consumer))
	}
	return owner, next
}

func (a *obstacles) removal(node string) model.Advice {
	return model.Command("remove-node", listtext.Quoted(node), "--cluster", listtext.Quoted(a.Desired.Spec.Metadata.Name))
}

// recordIsFree holds a host whose card the service has seen in a machine of the cluster that is
// another host.
func (a *obstacles) recordIsFree(h Host) {
	if h.Want == nil {
		return
	}
	for i := range a.Observed.Hosts {
		other := &a.Observed.Hosts[i]
		if h.Have != nil && other.ID == h.Have.ID || other.State != model.HostAdded && other.State != model.HostInstalled &&
			!other.HasRebooted() {
			continue
		}
		for _, mac := range a.Desired.Spec.MACsOf(h.Want) {
			if a.cardOfRecord(other, mac) {
				a.block(Recorded(a.Desired, h.Want, other, macField(h.Want, mac)))
				break
			}
		}
	}
}

// cardOfRecord reports whether a card is one that this machine alone reports.
func (a *obstacles) cardOfRecord(of *model.Host, mac string) bool {
	has := func(o *model.Host) bool {
		return slices.ContainsFunc(o.Inventory.Interfaces, func(card model.Interface) bool { return clustersettings.MAC(card.MAC) == mac })
	}
	if !has(of) {
		return false
	}
	for i := range a.Observed.Hosts {
		if o := &a.Observed.Hosts[i]; o.ID != of.ID && has(o) {
			return false
		}
	}
	return true
}

// Recorded is the blocker of a host of the file whose machine the service has installed for this
// cluster under another name.
func Recorded(desired *model.Desired, want *spec.Host, have *model.Host, field string) model.Blocker {
	scope := model.ScopeNode.Of(want.Name)
	return model.Blocker{
		Key: string(scope) + "/record/" + have.ID, Scope: scope, Reason: "MachineTaken", Cure: model.CureNow,
		Field: "spec.hosts[" + want.Name + "]." + field, Hosts: []string{want.Name},
		Message: fmt.Sprintf("%s describes %s with values that match %s, a machine that is already installed in this cluster",
			desired.Source(), want.Name,
			have.Label()),
		Remedy: anew(desired, model.Command("remove-node", listtext.Quoted(have.DisplayName()), "--cluster",
			listtext.Quoted(desired.Spec.Metadata.Name))),
	}
}

// addressesAreFree holds a host that is given an address that a node has, or the cluster itself.
func (a *obstacles) addressesAreFree(h Host) {
	if h.Want == nil || installStarted(h.Have) {
		return
	}
	for _, address := range a.Desired.Spec.StaticAddressesOf(h.Want) {
		owner := a.holderOf(h, address)
		if owner == "" {
			a.mayBeTaken(h, address)
			continue
		}
		a.block(model.Blocker{
			Key: string(scopeOf(h)) + "/address/" + address.String(), Scope: scopeOf(h), Reason: "AddressTaken", Cure: model.CureNow,
			Field: "spec.hosts[" + h.Name + "].net", Hosts: []string{h.Name},
			Message: fmt.Sprintf("%s has the address %s in its settings, but this address belongs to %s", h.Name, address, owner),
			Remedy:  "give the host an unused address",
		})
	}
}

// holderOf is what has an address in the cluster, "" if nothing has it.
func (a *obstacles) holderOf(h Host, address netip.Addr) string {
	for i := range a.spoke.Nodes {
		if n := &a.spoke.Nodes[i]; slices.Contains(n.Addresses, address) && n.Name != model.NodeName(hostnameOf(h)) {
			return "the node " + n.Name
		}
	}
	if slices.Contains(a.spoke.VIPs, address) {
		return "the virtual addresses of the cluster"
	}
	for _, network := range a.spoke.Networks {
		if network.Contains(address) {
			return fmt.Sprintf("the cluster's own network %s", network)
		}
	}
	return ""
}

// mayBeTaken warns of an address that a machine had when it was inspected: it may have another
// one by now.
func (a *obstacles) mayBeTaken(h Host, address netip.Addr) {
	for i := range a.spoke.BareMetalHosts {
		m := &a.spoke.BareMetalHosts[i]
		if !slices.Contains(m.Addresses, address) || a.isOwnMetal(h, m) {
			continue
		}
		a.warn(model.Warning{
			Key: string(scopeOf(h)) + "/address/" + address.String(), Scope: scopeOf(h), Reason: "AddressTaken",
			Message: fmt.Sprintf("%s has the address %s in its settings, but the BareMetalHost %s of the cluster had this address "+
				"when it was inspected",
				h.Name, address,
				m.Name),
			Next: "make sure that only one of the two machines has it",
		})
	}
}

// hostnameOf is what a host will be called as a node.
func hostnameOf(h Host) string {
	switch {
	case h.Want != nil && h.Want.Hostname != "": // which it is given
		return h.Want.Hostname
	case h.Have != nil:
		return cmp.Or(h.Have.Hostname, h.Name)
	}
	return h.Name
}
