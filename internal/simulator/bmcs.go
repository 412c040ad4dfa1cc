package simulator

import (
	"cmp"
	"slices"

	"github.com/oaictl/oaictl/internal/clock"
	"github.com/oaictl/oaictl/internal/simulator/bmc"
	"github.com/oaictl/oaictl/internal/simulator/host"
	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// BMCConfig says whose management controllers are simulated.
type BMCConfig struct {
	Clock    clock.Clock
	Seed     int64
	Scenario *scenario.Scenario
	// Cluster names the machines and their controllers.
	Cluster *spec.Cluster
	Logf    func(format string, args ...any)
}

// NewBMCs makes the controllers of the machines that a file has booted through
// them: with an address and credentials, where the method of booting is redfish.
// Without any such machine it returns nil.
func NewBMCs(config BMCConfig) (*bmc.Server, error) {
	if config.Cluster == nil {
		return nil, nil
	}
	machines, err := machinesOf(config.Cluster, uint64(config.Seed))
	if err != nil {
		return nil, err
	}
	var controlled []bmc.Machine
	roles := map[string]int{}
	for i := range config.Cluster.Spec.Hosts {
		h, m := &config.Cluster.Spec.Hosts[i], &machines[i]
		role := scenario.NormalRole(string(h.Role))
		if bootsByBMC(config.Cluster, h) {
			user, password, _ := h.BMC.Credentials.Login()
			controlled = append(controlled, bmc.Machine{
				Name: m.Name, Role: m.Role, Index: i, RoleIndex: roles[role], MACs: macsOf(m), UUID: m.UUID, Serial: m.Serial,
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

// bootsByBMC says whether a host is booted through its controller, by the words that the library goes by.
func bootsByBMC(c *spec.Cluster, h *spec.Host) bool {
	method := cmp.Or(c.Spec.Boot.Method, spec.BootRedfish)
	return h.BMC != nil && !h.BMC.Credentials.IsZero() && method == spec.BootRedfish
}

func macsOf(m *host.Machine) []string {
	var macs []string
	for _, n := range m.NICs {
		macs = append(macs, n.MAC)
	}
	return macs
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
