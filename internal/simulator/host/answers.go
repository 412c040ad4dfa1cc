package host

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/openshift/assisted-service/models"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
)

type ntpRequest struct {
	Source string `json:"ntp_source"`
}

// synchronize answers which time sources the machine reaches: those it is told, or that of DHCP.
func (l *machineRun) synchronize(asked ntpRequest) (any, error) {
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

func (l *machineRun) resolveDomains(asked domainsRequest) (any, error) {
	results := make([]*models.DomainResolutionResponseDomain, 0, len(asked.Domains))
	for _, d := range asked.Domains {
		r := &models.DomainResolutionResponseDomain{
			DomainName: &d.Name, IPV4Addresses: []strfmt.IPv4{}, IPV6Addresses: []strfmt.IPv6{}, Cnames: []string{},
		}
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

func (l *machineRun) lookUp(name string) []netip.Addr {
	var wildcard bool
	var missing []string
	if t := l.trouble(scenario.DoDNS); t != nil {
		wildcard, missing = t.rule.Args.Bool("wildcard", false), t.rule.Args.Strings("missing")
		if !wildcard && missing == nil { // no server answers
			return nil
		}
	}
	labels := strings.Split(name, ".")
	switch {
	case !wildcard && strings.HasPrefix(strings.ToLower(name), wildcardProbe):
		return nil
	case slices.Contains(missing, labels[0]), len(labels) > 1 && labels[1] == "apps" && slices.Contains(missing, "apps"):
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

func (l *machineRun) verifyVIPs(vips []vip) (any, error) {
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
	for _, l := range f.all() {
		for _, n := range l.spec.NICs {
			for _, p := range n.Addresses {
				taken[p.Addr()] = true
			}
		}
	}
	return taken
}

func (l *machineRun) leaseVIPs() (any, error) {
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
func (l *machineRun) checkConnectivity(peers []models.ConnectivityCheckHost) (any, error) {
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
			link := ping{L3Connectivity: models.L3Connectivity{
				OutgoingNic: n.Name, RemoteIPAddress: remote.String(), Successful: reachable, AverageRTTMs: rtt,
			}}
			if !reachable {
				link.AverageRTTMs, link.Loss = 0, 100
			}
			r.L3 = append(r.L3, link)
			r.MTU = append(r.MTU, models.MtuReport{OutgoingNic: n.Name, RemoteIPAddress: remote.String(), MtuSuccessful: reachable})
		}
	}
}

const addressLimit = 8000

func (l *machineRun) findFreeAddresses(networks []string) (any, error) {
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

const (
	familyIPv4 = 2
	familyIPv6 = 10
)

// inventory is the service's, with what agents say even where it is false.
type inventory struct {
	models.Inventory

	Disks        []disk `json:"disks"`
	SystemVendor vendor `json:"system_vendor"`
	Timestamp    int64  `json:"timestamp"`
}

type disk struct {
	models.Disk

	Bootable bool `json:"bootable"`
}

type vendor struct {
	models.SystemVendor

	Virtual bool `json:"virtual"`
}

func (m Machine) inventory(at time.Time) inventory {
	inv := inventory{Disks: []disk{}, Timestamp: at.Unix(), SystemVendor: vendor{
		SystemVendor: models.SystemVendor{Manufacturer: m.Manufacturer, ProductName: m.Product, SerialNumber: m.Serial}, Virtual: m.Virtual,
	}}
	inv.Inventory = models.Inventory{
		Hostname:     m.Hostname,
		BmcAddress:   "0.0.0.0",
		BmcV6address: "::/0",
		Boot: &models.Boot{
			CurrentBootMode: m.BootMode, DeviceType: "ephemeral", SecureBootState: models.SecureBootStateNotSupported,
			CommandLine: "BOOT_IMAGE=/images/pxeboot/vmlinuz coreos.liveiso=rhcos ignition.firstboot ignition.platform.id=metal",
		},
		CPU: &models.CPU{
			Architecture: m.CPUArch, Count: int64(m.CPUs), Frequency: 2400, Flags: []string{"vmx", "aes", "sse4_2"},
			ModelName: "Intel(R) Xeon(R) Gold 6338N CPU @ 2.20GHz",
		},
		Memory: &models.Memory{
			PhysicalBytes: m.MemoryBytes, UsableBytes: m.MemoryBytes - m.MemoryBytes/32, PhysicalBytesMethod: models.MemoryMethodDmidecode,
		},
		Gpus: []*models.Gpu{}, Interfaces: []*models.Interface{}, Routes: m.routes(), TpmVersion: m.TPM,
	}
	switch {
	case m.BMC.Is4():
		inv.BmcAddress = m.BMC.String()
	case m.BMC.Is6():
		inv.BmcV6address = m.BMC.String()
	}
	for _, d := range m.Disks {
		inv.Disks = append(inv.Disks, disk{Disk: d.info()})
	}
	for i, n := range m.NICs {
		inv.Interfaces = append(inv.Interfaces, n.info(i))
	}
	return inv
}

// bootedFromDisk makes it that of a machine that runs a discovery system from its own disk.
func (inv *inventory) bootedFromDisk() {
	inv.Boot.DeviceType = models.BootDeviceTypePersistent
	inv.Boot.CommandLine = "BOOT_IMAGE=(hd0,gpt3)/boot/ostree/rhcos/vmlinuz ostree=/ostree/boot.1/rhcos/0 ignition.platform.id=openstack"
}

func (d Disk) info() models.Disk {
	info := models.Disk{
		Path: "/dev/" + d.Name, Name: d.Name, Wwn: d.WWN, Serial: d.Serial, Hctl: d.HCTL,
		Model: d.Model, Vendor: d.Vendor, DriveType: models.DriveType(d.DriveType), SizeBytes: d.SizeBytes,
		Removable: d.Removable, HasUUID: d.HasUUID, Smart: "{}",
		// The service decides on eligibility itself, from the size and type.
		InstallationEligibility: models.DiskInstallationEligibility{Eligible: true, NotEligibleReasons: []string{}},
	}
	info.ID = info.Path
	if d.ByPath != "" {
		info.ByPath = "/dev/disk/by-path/" + d.ByPath
		info.ID = info.ByPath
	}
	if d.WWN != "" {
		info.ByID = "/dev/disk/by-id/wwn-" + d.WWN
		info.ID = info.ByID
	}
	return info
}

func (n NIC) info(index int) *models.Interface {
	info := &models.Interface{
		Name: n.Name, MacAddress: n.MAC, HasCarrier: n.Carrier, Mtu: int64(n.MTU), SpeedMbps: int64(n.SpeedMbps),
		IPV4Addresses: []string{}, IPV6Addresses: []string{}, Type: "physical",
		Flags: []string{"up", "broadcast", "multicast"}, Vendor: "0x8086", Product: "0x1592",
		Biosdevname: fmt.Sprintf("em%d", index+1),
	}
	for _, a := range n.Addresses {
		if a.Addr().Is4() {
			info.IPV4Addresses = append(info.IPV4Addresses, a.String())
		} else {
			info.IPV6Addresses = append(info.IPV6Addresses, a.String())
		}
	}
	return info
}

func (m Machine) routes() []*models.Route {
	routes := []*models.Route{}
	add := func(nic string, destination netip.Prefix, gateway string) {
		r := &models.Route{Interface: nic, Destination: destination.String(), Gateway: gateway, Family: familyIPv4, Metric: 100}
		if destination.Addr().Is6() {
			r.Family = familyIPv6
		}
		if destination.Bits() == 0 {
			// The agent prints the default route's destination without a length.
			r.Destination = destination.Addr().String()
		}
		routes = append(routes, r)
	}
	for _, g := range m.Gateways {
		for _, n := range m.NICs {
			if slices.ContainsFunc(n.Addresses, func(a netip.Prefix) bool { return a.Masked().Contains(g) }) {
				everywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
				if g.Is6() {
					everywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
				}
				add(n.Name, everywhere, g.String())
			}
		}
	}
	for _, n := range m.NICs {
		for _, a := range n.Addresses {
			add(n.Name, a.Masked(), "")
		}
	}
	return routes
}

// encode is the inventory as the agent sends it, with a patch merged in (RFC 7396).
func (inv inventory) encode(patch map[string]any) (string, error) {
	raw, err := json.Marshal(inv)
	if err != nil || patch == nil {
		return string(raw), err
	}
	changes, err := json.Marshal(patch)
	if err != nil {
		return "", err
	}
	raw, err = jsonpatch.MergePatch(raw, changes)
	return string(raw), err
}
