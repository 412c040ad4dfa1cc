package spec

import (
	"fmt"
	"net/netip"
)

// vip is a virtual address, and the field that it stands in.
type vip struct {
	ip    netip.Addr
	field string
}

func (k *checker) vips() {
	v := k.cluster.Spec.Network.VIPs
	if !k.vipsFit(v) {
		return
	}
	api := k.vipList("spec.network.vips.api", v.API)
	ingress := k.vipList("spec.network.vips.ingress", v.Ingress)
	if len(v.API) != len(v.Ingress) {
		k.report("spec.network.vips", fmt.Sprintf("there are %d addresses for the API and %d for ingress", len(v.API), len(v.Ingress)), "give as many for one as for the other")
	}
	machine := k.machineNetworks()
	for _, address := range append(api, ingress...) {
		k.vipPlace(address, machine)
	}
	if k.cluster.Spec.Network.LoadBalancer == UserManaged {
		return
	}
	for _, a := range api {
		for _, i := range ingress {
			if a.ip == i.ip {
				k.report(i.field, fmt.Sprintf("%s is the API's address already", i.ip), "use another address, unless loadBalancer is user-managed")
			}
		}
	}
}

// vipsFit says whether virtual addresses go with the platform; they are looked
// at only then.
func (k *checker) vipsFit(v VIPs) bool {
	c := k.cluster
	given := len(v.API)+len(v.Ingress) > 0
	const field = "spec.network.vips"
	switch {
	case c.SingleNode():
		if given {
			k.report(field, "a single node has no virtual addresses: its own address is the cluster's", "leave them out")
		}
		return false
	case c.Spec.Platform.Type == NoneType || c.Spec.Platform.Type == External || isTrue(c.Spec.Network.UserManaged):
		if given {
			k.report(field, fmt.Sprintf("with platform %s the cluster has no virtual addresses: a load balancer outside has them", c.Spec.Platform.Type), "leave them out, and point DNS at the load balancer")
		}
		return false
	case !given:
		k.report(field, "is missing", "write an unused address of the machine network each for api and ingress")
		return false
	}
	return true
}

func (k *checker) vipList(field string, texts []string) []vip {
	var list []vip
	for i, text := range texts {
		at := fmt.Sprintf("%s[%d]", field, i)
		if k.isFailed(at) {
			continue
		}
		if ip, ok := k.address(at, text); ok {
			list = append(list, vip{ip, at})
		}
	}
	if len(texts) > 2 || len(list) == 2 && list[0].ip.Is4() == list[1].ip.Is4() {
		k.report(field, "there is one virtual address, or one of each family", "")
	}
	return list
}

// machineNetworks is the machine networks that can be read.
func (k *checker) machineNetworks() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range k.cluster.Spec.Network.Machine {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			list = append(list, prefix.Masked())
		}
	}
	return list
}

func (k *checker) vipPlace(address vip, machine []netip.Prefix) {
	if len(machine) > 0 && !inside(address.ip, machine) {
		k.report(address.field, fmt.Sprintf("%s is not in the machine network %s", address.ip, joined(machine)), "use an unused address of the machine network")
		return
	}
	for _, network := range machine {
		if network.Contains(address.ip) && isEdge(address.ip, network) {
			k.report(address.field, fmt.Sprintf("%s is the first or last address of %s, which no machine can have", address.ip, network), "")
		}
	}
	d := k.cluster.Spec.Network.Defaults
	if sameAddress(d.Gateway, address.ip) || sameAddress(d.Gateway6, address.ip) {
		k.report(address.field, fmt.Sprintf("%s is the gateway's address", address.ip), "use an unused address of the machine network")
	}
}

func inside(ip netip.Addr, networks []netip.Prefix) bool {
	for _, network := range networks {
		if network.Contains(ip) {
			return true
		}
	}
	return false
}

// isEdge says whether ip is a network's own or its broadcast address. IPv6 has
// no broadcast, and a network of one or two addresses has no edges (RFC 3021).
func isEdge(ip netip.Addr, network netip.Prefix) bool {
	if network.Addr().BitLen()-network.Bits() < 2 {
		return false
	}
	if ip == network.Masked().Addr() {
		return true
	}
	return ip.Is4() && !network.Contains(ip.Next())
}

func sameAddress(text string, ip netip.Addr) bool {
	other, err := netip.ParseAddr(text)
	return err == nil && other == ip
}

func joined(networks []netip.Prefix) string {
	text := ""
	for i, network := range networks {
		if i > 0 {
			text += " or "
		}
		text += network.String()
	}
	return text
}
