package manifest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec"
)

// hostField is the path of a field of a host in cluster.yaml.
func hostField(i int, name string) string { return fmt.Sprintf("spec.hosts[%d].%s", i, name) }

// addHost adds a host that came from n, and gives back its number.
func (r *reader) addHost(n *node) int {
	i := len(r.cluster.Spec.Hosts)
	r.cluster.Spec.Hosts = append(r.cluster.Spec.Hosts, spec.Host{})
	r.from(fmt.Sprintf("spec.hosts[%d]", i), n)
	return i
}

func (r *reader) host(i int) *spec.Host { return &r.cluster.Spec.Hosts[i] }

// hostWithMAC is the host that has one of the addresses, -1 for none.
func (r *reader) hostWithMAC(macs ...string) int {
	for i := range r.cluster.Spec.Hosts {
		h := r.host(i)
		for _, mac := range macs {
			if mac == "" {
				continue
			}
			if sameMAC(h.Match.MAC, mac) {
				return i
			}
			if h.Net == nil {
				continue
			}
			for _, nic := range h.Net.Interfaces {
				if sameMAC(nic.MAC, mac) {
					return i
				}
			}
		}
	}
	return -1
}

// sameMAC compares two addresses however they are written.
func sameMAC(a, b string) bool { return a != "" && canonicalMAC(a) == canonicalMAC(b) }

func canonicalMAC(text string) string {
	return strings.ToLower(strings.ReplaceAll(text, "-", ":"))
}

// hostNamed is the host of that name or hostname, -1 for none.
func (r *reader) hostNamed(name string) int {
	for i := range r.cluster.Spec.Hosts {
		if h := r.host(i); name != "" && (h.Name == name || h.Hostname == name) {
			return i
		}
	}
	return -1
}

// nameHost gives a host without a name one, and the machine keeps its own.
func (r *reader) nameHost(i int) {
	h := r.host(i)
	if h.Name != "" {
		return
	}
	if h.Hostname != "" {
		h.Name, h.Hostname = h.Hostname, ""
		return
	}
	h.Name = fmt.Sprintf("host-%d", i)
	for n := i; r.hostNamed(h.Name) != i; n++ {
		h.Name = fmt.Sprintf("host-%d-%d", i, n)
	}
	r.present[hostField(i, "hostname")] = true
}

// role carries the role of a host over.
func (r *reader) role(i int, n *node) {
	if n == nil {
		return
	}
	h, field := r.host(i), hostField(i, "role")
	role := roleOf(n.peek())
	if h.Role != "" && h.Role != role {
		r.second(field, n)
		return
	}
	h.Role = role
	r.text(n)
	r.from(field, n)
}

// roleOf is a role in the words of this format.
func roleOf(word string) spec.Role {
	switch word {
	case "master":
		return spec.ControlPlane
	case "auto-assign":
		return spec.Auto
	default:
		return spec.Role(word)
	}
}

// archOf is a CPU architecture in the words of this format.
func archOf(word string) spec.Arch {
	switch word {
	case "amd64", "x86-64":
		return spec.X86
	case "aarch64":
		return spec.ARM
	default:
		return spec.Arch(word)
	}
}

// hints carries root device hints over, which all formats write alike.
func (r *reader) hints(i int, n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	to, field := &r.host(i).Disk.Hints, hostField(i, "disk.hints")
	r.from(field, n)
	setText(r, field+".deviceName", &to.DeviceName, n.get("deviceName"))
	setText(r, field+".hctl", &to.HCTL, n.get("hctl"))
	setText(r, field+".model", &to.Model, n.get("model"))
	setText(r, field+".vendor", &to.Vendor, n.get("vendor"))
	setText(r, field+".serialNumber", &to.SerialNumber, n.get("serialNumber"))
	r.setNumber(field+".minSizeGigabytes", &to.MinSizeGigabytes, n.get("minSizeGigabytes"))
	setText(r, field+".wwn", &to.WWN, n.get("wwn"))
	setText(r, field+".wwnWithExtension", &to.WWNWithExtension, n.get("wwnWithExtension"))
	setText(r, field+".wwnVendorExtension", &to.WWNVendorExtension, n.get("wwnVendorExtension"))
	r.setBool(field+".rotational", &to.Rotational, n.get("rotational"))
}

// network carries the static network of a host over: nmstate, and the interfaces
// that it speaks of. Without nmstate the host uses DHCP and is only recognised by
// its interfaces.
func (r *reader) network(i int, interfaces, config *node) {
	h := r.host(i)
	if config != nil && len(config.children) == 0 {
		r.meansEmpty(config, "is empty, which is DHCP")
		config = nil
	}
	switch {
	case config == nil:
	case h.Net != nil && h.Net.NMState != nil:
		if r.sameDocument(h.Net.NMState, config) {
			config.take()
		} else {
			r.second(hostField(i, "net.nmstate"), config)
		}
		config = nil
	default:
		if document := r.document(hostField(i, "net.nmstate"), config); document != nil {
			if h.Net == nil {
				h.Net = &spec.HostNet{}
			}
			h.Net.NMState = document
		}
	}
	for j, nic := range r.listOf(interfaces) {
		r.nic(i, j, nic)
	}
}

// nic carries one interface of a host over.
func (r *reader) nic(i, j int, n *node) {
	if n = r.mapOf(n); n == nil {
		return
	}
	h, mac, name := r.host(i), n.get("macAddress"), n.get("name")
	if h.Match.MAC == "" && mac != nil {
		h.Match.MAC = mac.peek()
		r.from(hostField(i, "match.mac"), mac)
	}
	if h.Net == nil || h.Net.NMState == nil {
		r.means(name, "names an interface that no network configuration speaks of")
		if mac != nil && sameMAC(mac.peek(), h.Match.MAC) {
			r.text(mac)
			return
		}
		r.lose(mac, "a machine is recognised by one MAC address, "+h.Match.MAC+", and the host has no network configuration that speaks of this one")
		return
	}
	for _, known := range h.Net.Interfaces {
		if name != nil && known.Name == name.peek() && sameMAC(known.MAC, mac.peek()) {
			n.take()
			return
		}
	}
	field := fmt.Sprintf("%s[%d]", hostField(i, "net.interfaces"), len(h.Net.Interfaces))
	r.from(field, n)
	var nic spec.NIC
	setText(r, field+".name", &nic.Name, name)
	setText(r, field+".mac", &nic.MAC, mac)
	h.Net.Interfaces = append(h.Net.Interfaces, nic)
}

// redfishURL matches addresses with a scheme that oaictl speaks.
var redfishURL = regexp.MustCompile(`(?i)^(?:(?:redfish(?:-virtualmedia)?|(?:idrac|ilo4|ilo5)-virtualmedia)(?:\+https?)?|https?)://`)

// isRedfish says whether oaictl can speak to a BMC. metal3 takes an address
// without a scheme for IPMI.
func (r *reader) isRedfish(address string) bool {
	return redfishURL.MatchString(address) || r.bareRedfish && !strings.Contains(address, "://")
}

// bmc carries the address of a BMC and its flag over; false where it is one that
// oaictl cannot speak to.
func (r *reader) bmc(i int, whole, address, insecure *node) bool {
	if address == nil || address.peek() == "" {
		if address != nil {
			address.taken = true
		}
		return false
	}
	field := hostField(i, "bmc")
	if !r.isRedfish(address.peek()) {
		r.lose(whole, "oaictl speaks Redfish with virtual media only: write the BMC's Redfish address in "+field+", or boot the machine by hand")
		return false
	}
	h := r.host(i)
	if h.BMC == nil {
		h.BMC = &spec.BMC{}
	}
	r.from(field, address)
	setText(r, field+".address", &h.BMC.Address, address)
	if flag := r.boolean(insecure); flag != nil {
		h.BMC.Insecure = *flag
	}
	return true
}
