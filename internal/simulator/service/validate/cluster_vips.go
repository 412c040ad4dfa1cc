package validate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
)

// vipless says why a cluster needs no virtual addresses; empty if it does.
func (e *clusterCheck) vipless() string {
	switch {
	case e.c.UserManaged():
		return "User Managed Networking"
	case e.c.IsSingle():
		return "SNO"
	}
	return ""
}

func (e *clusterCheck) vipsDefined(name string, list []model.VIP) (string, string) {
	if why := e.vipless(); why != "" {
		return model.Passed, fmt.Sprintf("%s virtual IPs are not required: %s", name, why)
	}
	if len(list) > 0 {
		return model.Passed, name + " virtual IPs are defined."
	}
	return model.Failed, name + " virtual IPs are undefined and must be provided."
}

func (e *clusterCheck) vipsValid(name string, list []model.VIP) (string, string) {
	if why := e.vipless(); why != "" {
		return model.Passed, fmt.Sprintf("%s virtual IPs are not required: %s", name, why)
	}
	if len(list) == 0 {
		return model.Pending, name + " virtual IPs are undefined."
	}
	if !e.found || len(e.machine) == 0 {
		return model.Pending, "Hosts have not been discovered yet"
	}
	if e.c.UserBalanced() {
		label, first := strings.ToLower(name)+" vip", list[0].IP
		if !InAny(first, e.machine) {
			return model.Failed, Elsewhere(label, first, e.machine)
		}
		return model.Passed, fmt.Sprintf("%s %s is valid", label, first)
	}
	label := strings.ToLower(name) + " vips"
	var texts, problems []string
	for _, v := range list {
		texts = append(texts, v.IP)
		network := e.machineNetworkOf(v.IP)
		switch verdict := vipVerdict(e.c, v, network); {
		case network == "":
			problems = append(problems, fmt.Sprintf("%s <%s> does not belong to machine-network-cidr <%s>", label, v.IP, e.machine[0].CIDR))
		case verdict == VipInUse:
			problems = append(problems, VipInUseAs(e.c, label, v.IP, network))
		case verdict != vipFree:
			problems = append(problems, fmt.Sprintf("%s <%s> are not verified yet.", label, v.IP))
		}
	}
	if len(problems) > 0 {
		return model.Failed, strings.Join(problems, ";")
	}
	return model.Passed, fmt.Sprintf("%s %s belongs to the Machine CIDR and is not in use.", label, strings.Join(texts, ", "))
}

// What is known of a virtual address, beside nothing.
const (
	vipFree  = "succeeded"
	VipInUse = "failed"
)

// vipVerdict is what hosts found out about an address: free, in use, or nothing yet.
func vipVerdict(c *model.Cluster, v model.VIP, network string) string {
	if v.Verification == vipFree || v.Verification == VipInUse {
		return v.Verification
	}
	return ListedAsFree(c, v.IP, network)
}

// ListedAsFree tells, by the hosts' lists of free addresses of a network, whether an
// address is free or in use. An address has to be in all of them; where they have none
// in common they prove nothing.
func ListedAsFree(c *model.Cluster, ip, network string) string {
	var lists [][]strfmt.IPv4
	for _, h := range c.Hosts {
		if list, ok := h.FreeNetworks[network]; ok {
			lists = append(lists, list)
		}
	}
	inAll := func(a strfmt.IPv4) bool {
		return !slices.ContainsFunc(lists, func(list []strfmt.IPv4) bool { return !slices.Contains(list, a) })
	}
	switch {
	case len(lists) == 0:
		return ""
	case inAll(strfmt.IPv4(ip)):
		return vipFree
	case slices.ContainsFunc(lists[0], inAll):
		return VipInUse
	}
	return ""
}

// VipInUseAs says that an address is not free, and whether its network is too small at all.
func VipInUseAs(c *model.Cluster, name, ip, network string) string {
	text := fmt.Sprintf("%s <%s> is already in use in cidr %s", name, ip, network)
	if !fits(c, network) {
		text += ". The machine network range is too small for the cluster. Please redefine the network."
	}
	return text
}

// fits tells whether a network holds the hosts, two virtual addresses and its own two.
func fits(c *model.Cluster, network string) bool {
	p, err := netip.ParsePrefix(network)
	if err != nil {
		return true
	}
	bits := p.Addr().BitLen() - p.Bits()
	if len(c.Hosts) == 1 {
		return bits >= 1
	}
	return bits >= 32 || 1<<bits >= len(c.Hosts)+4
}

func (e *clusterCheck) machineNetworkOf(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ""
	}
	for _, n := range e.machine {
		if network, err := netip.ParsePrefix(n.CIDR); err == nil && network.Contains(addr) {
			return n.CIDR
		}
	}
	return ""
}
