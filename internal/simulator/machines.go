package simulator

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

func (c *BootConfig) machines() ([]host.Machine, error) {
	if c.Cluster != nil {
		machines, err := machinesOf(c.Cluster, c.seed())
		if err != nil || c.Day == host.Day2 {
			return machines, err
		}
		return installed(c.Cluster, machines), nil
	}
	machines := make([]host.Machine, 0, c.Count)
	for i := range c.Count {
		machine, err := host.NewMachine(uint64(c.Seed), i, host.NetworkFor(c.Count))
		if err != nil {
			return nil, err
		}
		machines = append(machines, machine)
	}
	return machines, nil
}

// seed is the seed of the machines. A file of kind Nodes has another seed than the file of its cluster: both
// count their machines from 0.
func (c *BootConfig) seed() uint64 {
	if c.Cluster.Existing() == "" {
		return uint64(c.Seed)
	}
	names := make([]string, 0, len(c.Cluster.Spec.Hosts))
	for i := range c.Cluster.Spec.Hosts {
		names = append(names, c.Cluster.Spec.Hosts[i].Name)
	}
	return uint64(c.Seed) ^ hashOf(names...)
}

func hashOf(names ...string) uint64 {
	sum := fnv.New64a()
	for _, name := range names {
		_, _ = sum.Write([]byte(name))
	}
	return sum.Sum64()
}

// names resolves the cluster's names to its virtual addresses, else to what the machines make up.
func (c *BootConfig) names() func(string) []netip.Addr {
	if c.Cluster == nil || len(c.Cluster.Spec.Network.VIPs.API) == 0 {
		return nil
	}
	addresses := func(texts []string) []netip.Addr {
		var out []netip.Addr
		for _, text := range texts {
			if address, err := netip.ParseAddr(text); err == nil {
				out = append(out, address)
			}
		}
		return out
	}
	api, ingress := addresses(c.Cluster.Spec.Network.VIPs.API), addresses(c.Cluster.Spec.Network.VIPs.Ingress)
	return func(name string) []netip.Addr {
		if strings.Contains(strings.ToLower(name), ".apps.") {
			return ingress
		}
		return api
	}
}

// machinesOf are a cluster.yaml's machines; where it names none, as many as its topology asks for.
func machinesOf(c *spec.Cluster, seed uint64) ([]host.Machine, error) {
	machines, err := ordinary(c, seed)
	for i := range machines {
		machines[i].On(string(c.Spec.Platform.Type))
	}
	return machines, err
}

// firstAddresses are the addresses that the machines of the cluster of another file take.
func firstAddresses(network netip.Prefix) []netip.Addr {
	if !network.IsValid() {
		network = host.NetworkFor(1).V4
	}
	var all []netip.Addr
	for address := network.Masked().Addr(); len(all) < 100 && network.Contains(address); address = address.Next() {
		all = append(all, address)
	}
	return all
}

func ordinary(c *spec.Cluster, seed uint64) ([]host.Machine, error) {
	network, err := networkOf(c)
	if err != nil {
		return nil, err
	}
	if len(c.Spec.Hosts) > 0 {
		wants, err := wantsOf(c)
		if err != nil {
			return nil, err
		}
		if c.Existing() != "" {
			network.Avoid = append(network.Avoid, firstAddresses(network.V4)...)
		}
		return host.Machines(seed, network, wants)
	}
	machines := []host.Machine{}
	for i := range c.ControlPlaneCount() + c.WorkerCount() + c.ArbiterCount() {
		machine, err := host.NewMachine(seed, i, network)
		if err != nil {
			return nil, err
		}
		machines = append(machines, machine)
	}
	return machines, nil
}

// newcomer is the machine of a host that takes the place of another one in the file of its cluster.
func newcomer(c *spec.Cluster, h *spec.Host, seed uint64) (host.Machine, error) {
	network, err := networkOf(c)
	if err != nil {
		return host.Machine{}, err
	}
	network.Avoid = append(network.Avoid, firstAddresses(network.V4)...)
	alone := *c
	alone.Spec.Hosts = []spec.Host{*h}
	wants, err := wantsOf(&alone)
	if err != nil || len(wants) == 0 {
		return host.Machine{}, err
	}
	machines, err := host.Machines(seed^hashOf(h.Name), network, wants)
	if err != nil {
		return host.Machine{}, err
	}
	machines[0].On(string(c.Spec.Platform.Type))
	return machines[0], nil
}

// installed are the machines that a cluster is installed with: a single node's workers boot on day 2.
func installed(c *spec.Cluster, machines []host.Machine) []host.Machine {
	first := c.AtInstall()
	switch {
	case first == c:
		return machines
	case len(c.Spec.Hosts) == 0:
		return machines[:first.ControlPlaneCount()]
	}
	return slices.DeleteFunc(machines, func(m host.Machine) bool { return first.Host(m.Name) == nil })
}

func wantsOf(c *spec.Cluster) ([]host.Want, error) {
	var wants []host.Want
	for i := range c.Spec.Hosts {
		h := &c.Spec.Hosts[i]
		if h.Match.Agent != "" {
			continue // one of a pool, which runs already
		}
		want := host.Want{
			Name: h.Name, MAC: h.Match.MAC, Serial: h.Match.Serial, UUID: h.Match.UUID, Hostname: h.Match.Hostname, BMC: h.Match.BMC,
			Role: string(h.Role), CPUArch: string(h.Arch), Disk: h.Disk.Hints,
		}
		if want.BMC == "" && h.BMC != nil {
			want.BMC = h.BMC.Address
		}
		if want.CPUArch == "" && c.Spec.OpenShift.Arch != spec.Multi {
			want.CPUArch = string(c.Spec.OpenShift.Arch)
		}
		if err := addresses(&want, h.Net, c.Spec.Network.Defaults); err != nil {
			return nil, fmt.Errorf("read the network of %s: %w", h.Name, err)
		}
		if h.Net != nil && want.MAC == "" {
			want.MAC = h.Net.MAC
		}
		wants = append(wants, want)
	}
	return wants, nil
}

func addresses(want *host.Want, net *spec.HostNet, defaults spec.NetworkDefaults) error {
	if net == nil {
		return nil
	}
	for _, text := range []string{net.IP, net.IP6} {
		if text == "" || text == "dhcp" || text == "auto" {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return err
		}
		want.Addresses = append(want.Addresses, prefix)
	}
	if gateway := cmp.Or(net.Gateway, defaults.Gateway); gateway != "" && len(want.Addresses) > 0 {
		address, err := netip.ParseAddr(gateway)
		if err != nil {
			return err
		}
		want.Gateway = address
	}
	return nil
}

// networkOf is a cluster's machine networks, or else those around its virtual addresses.
func networkOf(c *spec.Cluster) (host.Network, error) {
	var network host.Network
	place := func(prefix netip.Prefix) {
		if prefix.Addr().Is4() && !network.V4.IsValid() {
			network.V4 = prefix.Masked()
		}
		if prefix.Addr().Is6() && !network.V6.IsValid() {
			network.V6 = prefix.Masked()
		}
	}
	for _, text := range c.Spec.Network.Machine {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return host.Network{}, fmt.Errorf("read spec.network.machine: %w", err)
		}
		place(prefix)
	}
	vips := append(append([]string{}, c.Spec.Network.VIPs.API...), c.Spec.Network.VIPs.Ingress...)
	for _, text := range vips {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return host.Network{}, fmt.Errorf("read spec.network.vips: %w", err)
		}
		bits := 24
		if address.Is6() {
			bits = 64
		}
		place(netip.PrefixFrom(address, bits))
		network.Avoid = append(network.Avoid, address)
	}
	if !network.V4.IsValid() && !network.V6.IsValid() {
		network.V4 = host.NetworkFor(len(c.Spec.Hosts)).V4
	}
	return network, nil
}

// NewBMCs makes the controllers of the machines that a file has booted through
// them: with an address and credentials, where the method of booting is redfish.
// Without any such machine it returns nil.
func NewBMCs(config BootConfig) (*bmc.Server, error) {
	if config.Cluster == nil {
		return nil, nil
	}
	machines, err := machinesOf(config.Cluster, uint64(config.Seed))
	if err != nil {
		return nil, err
	}
	var controlled []bmc.Machine
	roles := map[string]int{}
	for i := range machines {
		m := &machines[i]
		h := config.Cluster.Host(m.Name)
		if h == nil {
			continue
		}
		role := scenario.NormalRole(string(h.Role))
		if bootsByBMC(config.Cluster, h) {
			user, password, _ := h.BMC.Credentials.Login()
			controlled = append(controlled, bmc.Machine{
				Name: m.Name, Role: m.Role, Index: i, RoleIndex: roles[role], MACs: m.MACs(), UUID: m.UUID, Serial: m.Serial,
				Address: h.BMC.Address, SystemID: h.BMC.System, User: user, Password: password.Reveal(),
			})
		}
		roles[role]++
	}
	if len(controlled) == 0 {
		return nil, nil
	}
	return bmc.New(bmc.Config{Clock: config.Clock, Machines: controlled, Scenario: config.Scenario, Logf: config.Logf})
}

// OpenBMCs makes the controllers and a listener on loopback for them; both are nil where there are none.
func OpenBMCs(config BootConfig) (*bmc.Server, net.Listener, error) {
	bmcs, err := NewBMCs(config)
	if err != nil || bmcs == nil {
		return nil, nil, err
	}
	doors, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the simulated BMCs: %w", err)
	}
	return bmcs, doors, nil
}

// bootsByBMC says whether a host is booted through its controller, by the words that the library goes by.
func bootsByBMC(c *spec.Cluster, h *spec.Host) bool {
	method := cmp.Or(c.Spec.Boot.Method, spec.BootRedfish)
	return h.BMC != nil && !h.BMC.Credentials.IsZero() && method == spec.BootRedfish
}

// controlled gives the machines their controllers' hold on them.
func controlled(machines []host.Machine, bmcs *bmc.Server) {
	for i := range machines {
		if s := bmcs.System(machines[i].Name); s != nil {
			machines[i].Chassis = s
		}
	}
}

// findsImage says whether a machine finds its image in its virtual drive, when it
// is told to. On day 2 all wait until there is one, since it tells who is part of
// the cluster already.
func (c *BootConfig) findsImage(m *host.Machine) bool { return m.Chassis != nil && c.Day != host.Day2 }

// runOn marks those that do not boot, since they run what they were installed with, as switched on.
func runOn(machines, boot []host.Machine) {
	for _, m := range machines {
		stays := !slices.ContainsFunc(boot, func(b host.Machine) bool { return b.UUID == m.UUID })
		if m.Chassis != nil && stays {
			m.Chassis.SetPower(true)
		}
	}
}

// mostEndings is how many machines get a line of their own.
const mostEndings = 20

// stages writes the progress of the machines for a user.
type stages struct {
	report func(format string, args ...any) // nil drops what is told

	mu                      sync.Mutex
	all, registered, silent int // of the silent ones nothing will come any more
	ended                   int
	known                   map[string]bool
}

func newStages(report func(format string, args ...any), machines []host.Machine) *stages {
	if report == nil {
		report = func(string, ...any) {}
	}
	return &stages{report: report, all: len(machines), known: map[string]bool{}}
}

func (s *stages) found(list []infraEnv, machines []host.Machine) {
	var names []infraEnv
	booting := 0
	for i := range machines {
		if machines[i].Chassis != nil {
			continue
		}
		booting++
		at := slices.IndexFunc(list, func(env infraEnv) bool { return env.ID == machines[i].InfraEnvID })
		if at >= 0 && !slices.Contains(names, list[at]) {
			names = append(names, list[at])
		}
	}
	if switched := len(machines) - booting; switched > 0 {
		s.report("%s when a BMC says so", machinesDo(switched, "boots", "boot"))
	}
	switch {
	case len(machines) == 0:
		s.report("No machine boots: the cluster has all of them")
	case booting > 0:
		s.report("Found the InfraEnv %s: %s its image", strings.ReplaceAll(named(names), ", ", " and "), machinesDo(booting, "boots", "boot"))
	}
}

func (s *stages) register(machine string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[machine] = true
	s.registered++
	s.reportRegistered()
}

// reportRegistered tells of them once all have come that will; mu is held.
func (s *stages) reportRegistered() {
	switch {
	case s.registered == 0 || s.registered+s.silent != s.all:
	case s.silent == 0:
		s.report("%s registered", machinesDo(s.all, "is", "are"))
	default:
		s.report("%s registered, of %d", machinesDo(s.registered, "is", "are"), s.all)
	}
}

func (s *stages) end(machine, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended++; s.ended <= mostEndings {
		s.report("%s %s", machine, why)
	}
	if !s.known[machine] {
		s.silent++
		s.reportRegistered()
	}
}

func (s *stages) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if more := s.ended - mostEndings; more > 0 {
		s.report("%s, too", machinesDo(more, "has come to its end", "have come to their end"))
	}
}

// machinesDo is what so many of them do, in the words for one and for more.
func machinesDo(n int, one, more string) string {
	if n == 1 {
		return "1 machine " + one
	}
	return fmt.Sprintf("%d machines %s", n, more)
}
