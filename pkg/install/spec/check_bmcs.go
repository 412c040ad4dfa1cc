package spec

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
)

// controller is which system of which management controller a host is, however
// its address is written.
type controller struct {
	endpoint string // scheme, host and port
	system   string // its id, "" for the only one
}

// controllerOf reads a host's bmc. What does not say otherwise is HTTPS, at the port
// of its scheme; an address that is none is compared as it is.
func controllerOf(b *BMC) controller {
	kind, rest, found := strings.Cut(b.Address, "://")
	if !found {
		kind, rest = "https", b.Address
	}
	scheme, port := "https", "443"
	if kind = strings.ToLower(kind); kind == "http" || strings.HasSuffix(kind, "+http") {
		scheme, port = "http", "80"
	}
	if ip, err := netip.ParseAddr(rest); err == nil && ip.Is6() {
		rest = "[" + rest + "]"
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil || u.Hostname() == "" {
		return controller{strings.ToLower(b.Address), b.System}
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	c := controller{endpoint: scheme + "://" + net.JoinHostPort(host, cmp.Or(u.Port(), port)), system: b.System}
	if _, id, found := strings.Cut(u.Path, "/Systems/"); found && c.system == "" {
		c.system = id
	}
	c.system = path.Base("/" + strings.Trim(c.system, "/"))
	if c.system == "/" {
		c.system = ""
	}
	return c
}

// sharedBMCs reports hosts that are one machine, or may be: of two at one
// controller both have to say which of its systems they are.
func (k *checker) sharedBMCs() {
	type owned struct {
		controller
		host int
	}
	var before []owned
	for i := range k.cluster.Spec.Hosts {
		h := &k.cluster.Spec.Hosts[i]
		if h.BMC == nil || h.BMC.Address == "" {
			continue
		}
		mine := owned{controllerOf(h.BMC), i}
		for _, other := range before {
			if other.endpoint != mine.endpoint || other.system != mine.system && other.system != "" && mine.system != "" {
				continue
			}
			owner, hint := k.hostLabel(other.host), ""
			if owner == k.hostLabel(i) {
				owner = fmt.Sprintf("spec.hosts[%d]", other.host)
			}
			if mine.system == "" || other.system == "" {
				hint = "write each machine's own address, or, where one BMC has several systems, bmc.system for each"
			}
			k.report(hostField(i, "bmc.address"), fmt.Sprintf("the BMC %s belongs to %s already", bmcHost(h.BMC.Address), owner), hint)
			break
		}
		before = append(before, mine)
	}
}
