package spec

import (
	"fmt"
	"net/netip"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
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
		k.Report("spec.network.vips", fmt.Sprintf("there are %d addresses for the API and %d for ingress", len(v.API), len(v.Ingress)), "give as many for one as for the other")
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
				k.Report(i.field, fmt.Sprintf("%s is the API's address already", i.ip), "use another address, unless loadBalancer is user-managed")
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
			k.Report(field, "a single node has no virtual addresses: its own address is the cluster's", "leave them out")
		}
		return false
	case c.Spec.Platform.Type == NoneType || c.Spec.Platform.Type == External || isTrue(c.Spec.Network.UserManaged):
		if given {
			k.Report(field, fmt.Sprintf("with platform %s the cluster has no virtual addresses: a load balancer outside has them", c.Spec.Platform.Type), "leave them out, and point DNS at the load balancer")
		}
		return false
	case !given:
		k.Report(field, "is missing", "write an unused address of the machine network each for api and ingress")
		return false
	}
	return true
}

func (k *checker) vipList(field string, texts []string) []vip {
	var list []vip
	for i, text := range texts {
		at := fmt.Sprintf("%s[%d]", field, i)
		if k.IsFailed(at) {
			continue
		}
		if ip, ok := k.Address(at, text); ok {
			list = append(list, vip{ip, at})
		}
	}
	if len(texts) > 2 || len(list) == 2 && list[0].ip.Is4() == list[1].ip.Is4() {
		k.Report(field, "there is one virtual address, or one of each family", "")
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
	if len(machine) > 0 && !values.Inside(address.ip, machine) {
		k.Report(address.field, fmt.Sprintf("%s is not in the machine network %s", address.ip, values.Joined(machine)), "use an unused address of the machine network")
		return
	}
	for _, network := range machine {
		if network.Contains(address.ip) && values.IsEdge(address.ip, network) {
			k.Report(address.field, fmt.Sprintf("%s is the first or last address of %s, which no machine can have", address.ip, network), "")
		}
	}
	d := k.cluster.Spec.Network.Defaults
	if values.SameAddress(d.Gateway, address.ip) || values.SameAddress(d.Gateway6, address.ip) {
		k.Report(address.field, fmt.Sprintf("%s is the gateway's address", address.ip), "use an unused address of the machine network")
	}
}
