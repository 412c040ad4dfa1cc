package spec

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// providerID is text without spaces: Kubernetes asks for no more.
var providerID = regexp.MustCompile(`^[!-~]+$`)

// taints checks what Kubernetes does. A node has one taint of a key and an effect.
func (k *checker) taints(i int, taints []Taint) {
	for j, taint := range taints {
		field := fmt.Sprintf("%s[%d]", hostField(i, "taints"), j)
		if k.Required(field+".key", taint.Key, "name the taint") {
			k.LabelKey(field+".key", "a taint", taint.Key)
		}
		k.LabelValue(field+".value", "a taint", taint.Value)
		k.Required(field+".effect", string(taint.Effect), "write NoSchedule, PreferNoSchedule or NoExecute")
		if slices.ContainsFunc(taints[:j], func(t Taint) bool { return t.Key == taint.Key && t.Effect == taint.Effect && t.Key != "" }) {
			k.Report(field, fmt.Sprintf("%s:%s appears here twice", taint.Key, taint.Effect), "a node can have only one taint with the "+
				"same key and effect")
		}
	}
}

// nodeAddresses checks addresses that nodes may have beside those of their networks. used maps each address that is
// taken to what has it.
func (k *checker) nodeAddresses(used map[netip.Addr]string) {
	for i := range k.cluster.Spec.Hosts {
		own := "the address of " + k.hostLabel(i)
		for j, text := range k.cluster.Spec.Hosts[i].Addresses {
			field := fmt.Sprintf("%s[%d]", hostField(i, "addresses"), j)
			ip, ok := k.Address(field, text)
			switch owner := used[ip]; {
			case !ok || k.isBroken(i):
			case ip.IsLinkLocalUnicast() || strings.Contains(text, "%"):
				k.Report(field, fmt.Sprintf("%q is a link-local address", text), "write an address that no other machine has")
			case slices.Contains(k.cluster.Spec.Hosts[i].Addresses[:j], text):
				k.Report(field, fmt.Sprintf("%s appears here twice", text), "")
			case owner != "" && owner != own:
				k.Report(field, fmt.Sprintf("%s is %s already", ip, owner), "")
			default:
				used[ip] = own
			}
		}
	}
}
