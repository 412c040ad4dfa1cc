package dhcp

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"
)

// Lease is an address that a server has given for some time.
type Lease struct {
	Address, Server netip.Addr
	Mask            netip.Addr // invalid if the server did not say it
	Routers         []netip.Addr
	NameServers     []netip.Addr
	Length          time.Duration
	// Renewal, Rebinding and Expiry are when the lease has to be asked for again, and ends.
	Renewal, Rebinding, Expiry time.Time
}

// leaseOf reads what a server has given at a time.
func leaseOf(r reply, now time.Time) Lease {
	length := r.duration(optionLeaseTime)
	const half, eighths = 2, 8
	renewal := cmp.Or(r.duration(optionRenewal), length/half)
	rebinding := cmp.Or(r.duration(optionRebinding), length-length/eighths)
	lease := Lease{
		Address: r.address, Server: r.server(), Routers: r.addresses(optionRouters), NameServers: r.addresses(optionNameServers), Length: length,
		Renewal: now.Add(renewal), Rebinding: now.Add(rebinding), Expiry: now.Add(length),
	}
	if masks := r.addresses(optionMask); len(masks) == 1 {
		lease.Mask = masks[0]
	}
	return lease
}

// Text is the lease as the program dhclient keeps it in its file of leases, for an interface with a name.
func (l Lease) Text(name string) string {
	var text strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&text, "  "+format+";\n", values...) }
	text.WriteString("lease {\n")
	line("interface %q", name)
	line("fixed-address %s", l.Address)
	if l.Mask.IsValid() {
		line("option subnet-mask %s", l.Mask)
	}
	if len(l.Routers) > 0 {
		line("option routers %s", list(l.Routers))
	}
	line("option dhcp-lease-time %d", int64(l.Length/time.Second))
	line("option dhcp-message-type %d", ack)
	if len(l.NameServers) > 0 {
		line("option domain-name-servers %s", list(l.NameServers))
	}
	line("option dhcp-server-identifier %s", l.Server)
	line("renew %s", moment(l.Renewal))
	line("rebind %s", moment(l.Rebinding))
	line("expire %s", moment(l.Expiry))
	return text.String() + "}"
}

func list(addresses []netip.Addr) string {
	texts := make([]string, len(addresses))
	for i, a := range addresses {
		texts[i] = a.String()
	}
	return strings.Join(texts, ",")
}

// moment is a time as dhclient writes it: the number of the weekday, then the date and time of UTC.
func moment(t time.Time) string {
	t = t.UTC()
	return fmt.Sprintf("%d %s", t.Weekday(), t.Format("2006/01/02 15:04:05"))
}

var fixedAddress = regexp.MustCompile(`fixed-address\s+([0-9.]+)\s*;`)

// AddressIn is the address of the last lease in a file of dhclient, invalid if there is none.
func AddressIn(leases string) netip.Addr {
	found := fixedAddress.FindAllStringSubmatch(leases, -1)
	if len(found) == 0 {
		return netip.Addr{}
	}
	ip, err := netip.ParseAddr(found[len(found)-1][1])
	if err != nil {
		return netip.Addr{}
	}
	return ip
}
