package host

import (
	"net/netip"
	"slices"
)

// peer is another host in the argument of connectivity-check.
type peer struct {
	HostID string `json:"host_id"`
	NICs   []struct {
		Name      string   `json:"name"`
		MAC       string   `json:"mac"`
		Addresses []string `json:"ip_addresses"`
	} `json:"nics"`
}

type remoteHost struct {
	HostID string      `json:"host_id"`
	L2     []l2Link    `json:"l2_connectivity"`
	L3     []l3Link    `json:"l3_connectivity"`
	MTU    []mtuReport `json:"mtu_report"`
}

type l2Link struct {
	NIC           string `json:"outgoing_nic"`
	Address       string `json:"outgoing_ip_address"`
	RemoteAddress string `json:"remote_ip_address"`
	RemoteMAC     string `json:"remote_mac"`
	Successful    bool   `json:"successful"`
}

type l3Link struct {
	NIC           string  `json:"outgoing_nic"`
	RemoteAddress string  `json:"remote_ip_address"`
	Successful    bool    `json:"successful"`
	RTT           float64 `json:"average_rtt_ms"`
	Loss          float64 `json:"packet_loss_percentage"`
}

type mtuReport struct {
	NIC           string `json:"outgoing_nic"`
	RemoteAddress string `json:"remote_ip_address"`
	Successful    bool   `json:"mtu_successful"`
}

// checkConnectivity answers which other hosts the machine reaches: directly in
// the networks it shares with them, and through its gateway elsewhere.
func (l *life) checkConnectivity(s step) (any, error) {
	var peers []peer
	if err := argument(s, &peers); err != nil {
		return nil, err
	}
	m, _ := l.present()
	remotes := make([]remoteHost, 0, len(peers))
	for _, p := range peers {
		r := remoteHost{HostID: p.HostID, L2: []l2Link{}, L3: []l3Link{}, MTU: []mtuReport{}}
		for _, nic := range p.NICs {
			for _, text := range nic.Addresses {
				if address, err := parseAddress(text); err == nil {
					m.reach(&r, address, nic.MAC)
				}
			}
		}
		remotes = append(remotes, r)
	}
	return map[string]any{"remote_hosts": remotes}, nil
}

// parseAddress reads an address with or without the length of its network.
func parseAddress(text string) (netip.Addr, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Addr(), nil
	}
	return netip.ParseAddr(text)
}

// reach adds the ways from the machine to a remote address.
func (m Machine) reach(r *remoteHost, remote netip.Addr, mac string) {
	for _, n := range m.NICs {
		for _, a := range n.Addresses {
			if a.Addr().Is4() != remote.Is4() {
				continue
			}
			rtt := 0.3
			if a.Masked().Contains(remote) {
				r.L2 = append(r.L2, l2Link{
					NIC: n.Name, Address: a.Addr().String(), RemoteAddress: remote.String(), RemoteMAC: mac, Successful: true,
				})
			} else {
				rtt = 1.2
			}
			routed := slices.ContainsFunc(m.Gateways, func(g netip.Addr) bool { return g.Is4() == remote.Is4() })
			reachable := a.Masked().Contains(remote) || routed
			link := l3Link{NIC: n.Name, RemoteAddress: remote.String(), Successful: reachable, RTT: rtt}
			if !reachable {
				link.RTT, link.Loss = 0, 100
			}
			r.L3 = append(r.L3, link)
			r.MTU = append(r.MTU, mtuReport{NIC: n.Name, RemoteAddress: remote.String(), Successful: reachable})
		}
	}
}

type freeAddressList struct {
	Network   string   `json:"network"`
	Addresses []string `json:"free_addresses"`
}

// addressLimit is how many free addresses of a network an agent lists at most.
const addressLimit = 8000

// findFreeAddresses answers every IPv4 address of each network at which neither a
// machine nor a router answers.
func (l *life) findFreeAddresses(s step) (any, error) {
	var networks []string
	if err := argument(s, &networks); err != nil {
		return nil, err
	}
	taken := l.fleet.addresses()
	for _, g := range l.spec.Gateways {
		taken[g] = true
	}
	lists := make([]freeAddressList, 0, len(networks))
	for _, text := range networks {
		subnet, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		list := freeAddressList{Network: text, Addresses: []string{}}
		for a := subnet.Masked().Addr(); a.Is4() && subnet.Contains(a) && len(list.Addresses) < addressLimit; a = a.Next() {
			if !taken[a] {
				list.Addresses = append(list.Addresses, a.String())
			}
		}
		lists = append(lists, list)
	}
	return lists, nil
}
