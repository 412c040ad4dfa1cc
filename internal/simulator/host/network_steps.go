package host

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/go-openapi/strfmt"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/openshift/assisted-service/models"
)

type ntpRequest struct {
	Source string `json:"ntp_source"`
}

// synchronize answers which time sources the machine reaches: those it is told, or that of DHCP.
func (l *life) synchronize(asked ntpRequest) (any, error) {
	names := strings.FieldsFunc(asked.Source, func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) == 0 {
		names = []string{"clock.example.com"}
	}
	sources := make([]models.NtpSource, 0, len(names))
	for i, name := range names {
		state := models.SourceStateCombined
		if i == 0 {
			state = models.SourceStateSynced
		}
		if l.trouble(scenario.DoUnreachableNTP) != nil {
			state = models.SourceStateUnreachable
		}
		sources = append(sources, models.NtpSource{SourceName: name, SourceState: state})
	}
	return map[string]any{"ntp_sources": sources}, nil
}

type domainsRequest struct {
	Domains []struct {
		Name string `json:"domain_name"`
	}
}

func (l *life) resolveDomains(asked domainsRequest) (any, error) {
	results := make([]*models.DomainResolutionResponseDomain, 0, len(asked.Domains))
	for _, d := range asked.Domains {
		r := &models.DomainResolutionResponseDomain{DomainName: &d.Name, IPV4Addresses: []strfmt.IPv4{}, IPV6Addresses: []strfmt.IPv6{}, Cnames: []string{}}
		for _, a := range l.lookUp(d.Name) {
			if a.Is4() {
				r.IPV4Addresses = append(r.IPV4Addresses, strfmt.IPv4(a.String()))
			} else {
				r.IPV6Addresses = append(r.IPV6Addresses, strfmt.IPv6(a.String()))
			}
		}
		results = append(results, r)
	}
	return models.DomainResolutionResponse{Resolutions: results}, nil
}

// wildcardProbe begins the names by which the service finds out whether the
// domain answers for every name, which it must not.
const wildcardProbe = "validatenowildcarddns"

func (l *life) lookUp(name string) []netip.Addr {
	if strings.HasPrefix(strings.ToLower(name), wildcardProbe) {
		return nil
	}
	if l.fleet.cfg.DNS != nil {
		return l.fleet.cfg.DNS(strings.TrimSuffix(name, "."))
	}
	var found []netip.Addr
	for _, subnet := range l.spec.subnets() {
		found = append(found, addressAt(subnet, firstFree))
	}
	return found
}

func (m Machine) subnets() []netip.Prefix {
	var subnets []netip.Prefix
	for _, n := range m.NICs {
		for _, a := range n.Addresses {
			subnets = append(subnets, a.Masked())
		}
	}
	return subnets
}

type vip struct {
	Address      string `json:"vip"`
	Type         string `json:"vip_type"`
	Verification string `json:"verification"`
}

func (l *life) verifyVIPs(vips []vip) (any, error) {
	taken := l.fleet.addresses()
	for i := range vips {
		vips[i].Verification = "succeeded"
		if a, err := netip.ParseAddr(vips[i].Address); err != nil || taken[a] {
			vips[i].Verification = "failed"
		}
	}
	return vips, nil
}

func (f *Fleet) addresses() map[netip.Addr]bool {
	taken := map[netip.Addr]bool{}
	for _, l := range f.lives {
		for _, n := range l.spec.NICs {
			for _, p := range n.Addresses {
				taken[p.Addr()] = true
			}
		}
	}
	return taken
}

func (l *life) leaseVIPs() (any, error) {
	reply := map[string]string{}
	for _, subnet := range l.spec.subnets() {
		if !subnet.Addr().Is4() {
			continue
		}
		for i, name := range []string{"api", "ingress"} {
			address := addressAt(subnet, uint64(firstFree+i)).String()
			reply[name+"_vip_address"] = address
			reply[name+"_vip_lease"] = "lease {\n  interface \"" + name + "\";\n  fixed-address " + address + ";\n}"
		}
	}
	return reply, nil
}

// fetchPointerIgnition answers what the machine config server of the running
// cluster says to a new machine.
func fetchPointerIgnition(asked struct{ URL string }) (any, error) {
	return models.APIVipConnectivityResponse{
		IsSuccess: true, URL: asked.URL, Ignition: `{"ignition":{"config":{},"version":"3.2.0"},"storage":{"files":[]}}`,
	}, nil
}

type tangRequest struct {
	Servers string `json:"tang_servers"`
}

func reachTang(asked tangRequest) (any, error) {
	var servers []struct{ URL string }
	if err := json.Unmarshal([]byte(asked.Servers), &servers); err != nil {
		return nil, fmt.Errorf("read the Tang servers: %w", err)
	}
	response := models.TangConnectivityResponse{IsSuccess: true, TangServerResponse: []*models.TangServerResponse{}}
	for _, server := range servers {
		response.TangServerResponse = append(response.TangServerResponse, &models.TangServerResponse{
			TangURL: server.URL, Payload: "eyJrZXlzIjpbXX0", Signatures: []*models.TangServerSignatures{},
		})
	}
	return response, nil
}

type remoteHost struct {
	HostID strfmt.UUID             `json:"host_id"`
	L2     []models.L2Connectivity `json:"l2_connectivity"`
	L3     []ping                  `json:"l3_connectivity"`
	MTU    []models.MtuReport      `json:"mtu_report"`
}

// ping tells the loss even where nothing is lost.
type ping struct {
	models.L3Connectivity

	Loss float64 `json:"packet_loss_percentage"`
}

// checkConnectivity answers which other hosts the machine reaches: directly in
// the networks it shares with them, and through its gateway elsewhere.
func (l *life) checkConnectivity(peers []models.ConnectivityCheckHost) (any, error) {
	m, _ := l.present()
	remotes := make([]*remoteHost, 0, len(peers))
	for _, p := range peers {
		r := &remoteHost{HostID: p.HostID, L2: []models.L2Connectivity{}, L3: []ping{}, MTU: []models.MtuReport{}}
		for _, nic := range p.Nics {
			for _, text := range nic.IPAddresses {
				if address, err := parseAddress(text); err == nil {
					m.reach(r, address, nic.Mac.String())
				}
			}
		}
		remotes = append(remotes, r)
	}
	return map[string]any{"remote_hosts": remotes}, nil
}

func parseAddress(text string) (netip.Addr, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Addr(), nil
	}
	return netip.ParseAddr(text)
}

func (m Machine) reach(r *remoteHost, remote netip.Addr, mac string) {
	for _, n := range m.NICs {
		for _, a := range n.Addresses {
			if a.Addr().Is4() != remote.Is4() {
				continue
			}
			rtt := 0.3
			if a.Masked().Contains(remote) {
				r.L2 = append(r.L2, models.L2Connectivity{
					OutgoingNic: n.Name, OutgoingIPAddress: a.Addr().String(), RemoteIPAddress: remote.String(), RemoteMac: mac, Successful: true,
				})
			} else {
				rtt = 1.2
			}
			routed := slices.ContainsFunc(m.Gateways, func(g netip.Addr) bool { return g.Is4() == remote.Is4() })
			reachable := a.Masked().Contains(remote) || routed
			link := ping{L3Connectivity: models.L3Connectivity{OutgoingNic: n.Name, RemoteIPAddress: remote.String(), Successful: reachable, AverageRTTMs: rtt}}
			if !reachable {
				link.AverageRTTMs, link.Loss = 0, 100
			}
			r.L3 = append(r.L3, link)
			r.MTU = append(r.MTU, models.MtuReport{OutgoingNic: n.Name, RemoteIPAddress: remote.String(), MtuSuccessful: reachable})
		}
	}
}

// addressLimit is how many free addresses of a network an agent lists at most.
const addressLimit = 8000

// findFreeAddresses answers the IPv4 addresses of each network at which nobody answers.
func (l *life) findFreeAddresses(networks []string) (any, error) {
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
