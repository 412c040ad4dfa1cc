package csr

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/oaictl/oaictl/pkg/install/model"
)

const authenticatedGroup = "system:authenticated"

// serving settles a serving request, of a new Node or an old one. What can never become right is checked before what is
// still missing, and a person is asked only if all the rest fits.
func (a *pendingRequest) serving() {
	found := first(
		a.subject, a.byItself, a.servingUsages, a.onlyNames, a.nothingElse, a.usualKey, a.fitsHost,
		a.ownNames, a.ownAddresses, a.hasNode, a.provenNode, a.signed, a.knownAddresses,
	)
	if found == nil {
		found = &finding{model.RequestApprove, model.ReasonProven,
			fmt.Sprintf("for %s, with key %s, all of the host %s", a.claim.shown(), a.verdict.Key, quoted(a.host.Name))}
	}
	setVerdict(a.verdict, *found)
}

func (a *pendingRequest) byItself() *finding {
	if a.Username != a.claim.Subject.CommonName {
		return refused(model.ReasonUnexpectedRequester, "it was made by %s, but its common name is %s", quoted(a.Username),
			quoted(a.claim.Subject.CommonName))
	}
	if !same(a.Groups, nodesGroup, authenticatedGroup) {
		return refused(model.ReasonUnexpectedRequester, "the groups of its requester are %s, but the groups of a Node are %q and %q",
			quotedAll(a.Groups),
			nodesGroup, authenticatedGroup)
	}
	return nil
}

func (a *pendingRequest) servingUsages() *finding { return a.usages(usageServer) }

// onlyNames holds the alternative names to DNS names and IP addresses.
func (a *pendingRequest) onlyNames() *finding {
	switch n := a.claim.sans; {
	case n == 0:
		return refused(model.ReasonNoSAN, "it requests no DNS name and no address")
	case n > maxSANs:
		return refused(model.ReasonTooLarge, "it requests %d names, but a kubelet requests at most %d", n, maxSANs)
	case n != len(a.claim.DNSNames)+len(a.claim.IPAddresses):
		return refused(model.ReasonUnexpectedSAN, "it requests %s, but a kubelet only requests DNS names and addresses", a.claim.shown())
	}
	return nil
}

// ownNames checks that each DNS name belongs to the host. A name that another host or Node has, too, proves nothing,
// even where this host has it. The host's own name stays its own, even if others claim it.
func (a *pendingRequest) ownNames() *finding {
	node := a.verdict.Node
	for _, asked := range a.claim.DNSNames {
		if asked == node {
			continue
		}
		if other, ok := a.another(a.judge.names[asked]); ok {
			return refused(model.ReasonForeignDNSName, "it requests the name %s, which belongs to %s", quoted(asked), other)
		}
		if !slices.ContainsFunc(a.host.Names, func(own string) bool { return model.NodeName(own) == asked }) {
			return refused(model.ReasonUnknownDNSName, "it requests the name %s, but the names of the host are %s", quoted(asked),
				quotedAll(slices.Concat([]string{node}, a.host.Names)))
		}
	}
	return nil
}

// ownAddresses refuses addresses that cannot be the host's alone. There is no exception for what the host has in its
// inventory: it reports that itself, and might report a neighbour's address. There is none for what a person has
// allowed either: that answer was given before the request was there, about an address that was not known. With a
// certificate for the address of another machine, a Node is trusted as that machine. A user who still wants it can
// approve the request by hand.
func (a *pendingRequest) ownAddresses() *finding {
	for _, address := range a.claim.addresses() {
		var found *finding
		other, foreign := a.another(a.holders[address])
		switch {
		case a.special(address):
			found = refused(model.ReasonSpecialAddress, "it requests %s, which is not the address of a single host", address)
		case slices.ContainsFunc(a.VIPs, func(vip netip.Addr) bool { return plain(vip) == address }):
			found = refused(model.ReasonVirtualAddress, "it requests %s, which is a virtual address of the cluster", address)
		case a.network(address) != "":
			found = refused(model.ReasonClusterNetwork, "it requests %s, which is in the cluster's network %s", address, a.network(address))
		case foreign:
			found = refused(model.ReasonForeignAddress, "it requests %s, which belongs to %s", address, other)
		}
		if found != nil {
			a.verdict.Addresses = []netip.Addr{address}
			return found
		}
	}
	return nil
}

// special reports whether an address means something else on each machine, or no machine. IPv4
// that is written as IPv6 is one: no kubelet asks for such an address.
func (j *judge) special(address netip.Addr) bool {
	return address.IsLoopback() || address.IsLinkLocalUnicast() || address.IsMulticast() || address.Is4In6() ||
		slices.ContainsFunc(j.reserved, func(network netip.Prefix) bool { return network.Contains(address) })
}

// reserved are networks whose addresses cannot be those of a machine.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"),      // this network, and the unspecified address
		netip.MustParsePrefix("240.0.0.0/4"),    // not in use, and the broadcast address
		netip.MustParsePrefix("::/96"),          // IPv4 below zeros, and the unspecified address
		netip.MustParsePrefix("64:ff9b::/96"),   // IPv4 behind a translator
		netip.MustParsePrefix("64:ff9b:1::/48"), // the same, within one site
		netip.MustParsePrefix("100::/64"),       // routers discard it
	}
}

// network is the network of pods or services that an address is in, if any.
func (j *judge) network(address netip.Addr) string {
	for _, network := range j.Networks {
		own := network
		if own.Addr().Is4In6() && own.Bits() >= 96 {
			own = netip.PrefixFrom(own.Addr().Unmap(), own.Bits()-96)
		}
		if own.Contains(address) {
			return network.String()
		}
	}
	return ""
}

// another names one of those that a name or an address is of, other than this host and its Node.
func (a *pendingRequest) another(all []holder) (string, bool) {
	for _, one := range all {
		switch {
		case one.host < 0 && one.node != a.verdict.Node:
			return "the Node " + quoted(one.node), true
		case one.host >= 0 && &a.Hosts[one.host] != a.host:
			return "the host " + quoted(a.Hosts[one.host].Hostname), true
		}
	}
	return "", false
}

func (a *pendingRequest) hasNode() *finding {
	if a.nodes[a.verdict.Node] != nil {
		return nil
	}
	return &finding{model.RequestWait, model.ReasonNodeMissing, "its Node does not exist yet"}
}

// provenNode asks that the Node's own certificate is of this installation: a client request
// of that name was approved since the reboot, by whomever, or, since the cluster forgets
// approved requests after an hour, the Node is younger than the reboot. It was then made
// with such a certificate, as Nodes are. Here no clock may be behind, for a kubelet of an
// earlier installation may run until the reboot.
func (a *pendingRequest) provenNode() *finding {
	node := a.nodes[a.verdict.Node]
	if a.granted[a.verdict.Node].proving != nil || node.Created.After(a.host.Rebooted) {
		return nil
	}
	return refused(model.ReasonUnprovenNode,
		"oaictl knows of no approved client request with that name since the host %s rebooted at %s, and the Node was created at %s",
		quoted(a.host.Name), stamp(a.host.Rebooted), stamp(node.Created))
}

// knownAddresses asks a person about addresses that the host has not had so far: many change
// as its interface becomes part of a bridge.
func (a *pendingRequest) knownAddresses() *finding {
	var known, unknown []netip.Addr
	for _, address := range slices.Concat(a.host.Addresses, a.host.Allowed) {
		known = append(known, plain(address))
	}
	for _, address := range a.claim.addresses() {
		if !slices.Contains(known, address) {
			unknown = append(unknown, address)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	a.verdict.Addresses = unknown
	return &finding{model.RequestAsk, model.ReasonUnknownAddress,
		fmt.Sprintf("it requests %s, but the known addresses of the host %s are %s", addresses(unknown), quoted(a.host.Name), addresses(known))}
}

// addresses are those asked for, each once, as they are written.
func (c *claim) addresses() []netip.Addr {
	var all []netip.Addr
	for _, ip := range c.IPAddresses {
		if address, ok := netip.AddrFromSlice(ip); ok && !slices.Contains(all, address) {
			all = append(all, address)
		}
	}
	return all
}
