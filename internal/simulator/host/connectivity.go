package host

import (
	"net/netip"
	"slices"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"
)

type peer struct {
	HostID string `json:"host_id"`
	NICs   []struct {
		Name      string   `json:"name"`
		MAC       string   `json:"mac"`
		Addresses []string `json:"ip_addresses"`
	} `json:"nics"`
}

// checkConnectivity answers which other hosts the machine reaches: directly in
// the networks it shares with them, and through its gateway elsewhere.
func (l *life) checkConnectivity(s step) (any, error) {
	var peers []peer
	if err := argument(s, &peers); err != nil {
		return nil, err
	}
	m, _ := l.present()
	remotes := make([]*models.ConnectivityRemoteHost, 0, len(peers))
	for _, p := range peers {
		r := &models.ConnectivityRemoteHost{
			HostID: strfmt.UUID(p.HostID), L2Connectivity: []*models.L2Connectivity{}, L3Connectivity: []*models.L3Connectivity{}, MtuReport: []*models.MtuReport{},
		}
		for _, nic := range p.NICs {
			for _, text := range nic.Addresses {
				if address, err := parseAddress(text); err == nil {
					m.reach(r, address, nic.MAC)
				}
			}
		}
		remotes = append(remotes, r)
	}
	return models.ConnectivityReport{RemoteHosts: remotes}, nil
}

func parseAddress(text string) (netip.Addr, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Addr(), nil
	}
	return netip.ParseAddr(text)
}

func (m Machine) reach(r *models.ConnectivityRemoteHost, remote netip.Addr, mac string) {
	for _, n := range m.NICs {
		for _, a := range n.Addresses {
			if a.Addr().Is4() != remote.Is4() {
				continue
			}
			rtt := 0.3
			if a.Masked().Contains(remote) {
				r.L2Connectivity = append(r.L2Connectivity, &models.L2Connectivity{
					OutgoingNic: n.Name, OutgoingIPAddress: a.Addr().String(), RemoteIPAddress: remote.String(), RemoteMac: mac, Successful: true,
				})
			} else {
				rtt = 1.2
			}
			routed := slices.ContainsFunc(m.Gateways, func(g netip.Addr) bool { return g.Is4() == remote.Is4() })
			reachable := a.Masked().Contains(remote) || routed
			link := &models.L3Connectivity{OutgoingNic: n.Name, RemoteIPAddress: remote.String(), Successful: reachable, AverageRTTMs: rtt}
			if !reachable {
				link.AverageRTTMs, link.PacketLossPercentage = 0, 100
			}
			r.L3Connectivity = append(r.L3Connectivity, link)
			r.MtuReport = append(r.MtuReport, &models.MtuReport{OutgoingNic: n.Name, RemoteIPAddress: remote.String(), MtuSuccessful: reachable})
		}
	}
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
	lists := make([]models.FreeNetworkAddresses, 0, len(networks))
	for _, text := range networks {
		subnet, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		list := models.FreeNetworkAddresses{Network: text, FreeAddresses: []strfmt.IPv4{}}
		for a := subnet.Masked().Addr(); a.Is4() && subnet.Contains(a) && len(list.FreeAddresses) < addressLimit; a = a.Next() {
			if !taken[a] {
				list.FreeAddresses = append(list.FreeAddresses, strfmt.IPv4(a.String()))
			}
		}
		lists = append(lists, list)
	}
	return lists, nil
}
