package spec

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/oaictl/oaictl/internal/yamltree"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/decode"
	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// readNMState finds what an nmstate document says about names: the interfaces
// that it ties to MAC addresses, by itself or through net.interfaces, and those
// that it does not. Virtual interfaces need none.
func readNMState(n *HostNet) (doc *nmstateDoc, macs []NIC, err error) {
	root, problems := decode.ParseTree([]byte(n.NMState.Text()))
	if len(problems) > 0 {
		return nil, nil, fmt.Errorf("line %d %s", problems[0].At.Line, problems[0].Message)
	}
	if root.Kind != yamltree.Map {
		return nil, nil, fmt.Errorf("has to be a map, but is %s", root.Kind)
	}
	doc = &nmstateDoc{}
	doc.read(root)
	for _, nic := range doc.nics {
		if known, ok := nicNamed(n.Interfaces, nic.Name); ok {
			nic.MAC = known.MAC
		}
		if nic.MAC == "" {
			doc.unnamed = append(doc.unnamed, nic.Name)
			continue
		}
		macs = append(macs, NIC{Name: nic.Name, MAC: values.CanonicalMAC(nic.MAC)})
	}
	// A document may name a port only in its bond, its bridge or its VLAN: it is
	// tied to the machine all the same.
	for _, nic := range n.Interfaces {
		tied := slices.ContainsFunc(macs, func(m NIC) bool { return m.Name == nic.Name })
		if nic.Name != "" && nic.MAC != "" && !tied {
			macs = append(macs, NIC{Name: nic.Name, MAC: values.CanonicalMAC(nic.MAC)})
		}
	}
	return doc, macs, nil
}

// nmstateDoc is the part of an nmstate document that can be checked against the
// rest of the cluster.
type nmstateDoc struct {
	nics      []NIC // of ethernet interfaces
	unnamed   []string
	addresses []netip.Prefix
}

func (doc *nmstateDoc) read(root *yamltree.Node) {
	interfaces, _ := root.Get("interfaces")
	if interfaces == nil {
		return
	}
	for _, item := range interfaces.Items {
		name, kind, mac := textOf(item, "name"), textOf(item, "type"), textOf(item, "mac-address")
		if name != "" && (kind == "ethernet" || kind == "" || kind == "infiniband") {
			doc.nics = append(doc.nics, NIC{Name: name, MAC: mac})
		}
		for _, family := range []string{"ipv4", "ipv6"} {
			doc.addressesOf(item, family)
		}
	}
}

func (doc *nmstateDoc) addressesOf(item *yamltree.Node, family string) {
	settings, ok := item.Get(family)
	if !ok {
		return
	}
	list, ok := settings.Get("address")
	if !ok {
		return
	}
	for _, address := range list.Items {
		if prefix, err := netip.ParsePrefix(textOf(address, "ip") + "/" + textOf(address, "prefix-length")); err == nil && !everyMachines(prefix.Addr()) {
			doc.addresses = append(doc.addresses, prefix)
		}
	}
}

func everyMachines(ip netip.Addr) bool { return ip.IsLoopback() || ip.IsLinkLocalUnicast() }

func textOf(n *yamltree.Node, key string) string {
	if value, ok := n.Get(key); ok {
		return value.Text
	}
	return ""
}
