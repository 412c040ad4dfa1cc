package host

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/simulator/scenario"
	"github.com/openshift/assisted-service/models"
)

// activeRule is a rule about one machine.
type activeRule struct {
	rule scenario.Rule
	// begun is when its time came; zero before.
	begun time.Time
	// over is true once it has been put right by hand, or is used up.
	over bool
}

// left is how long a trouble still lasts; ends is false for one that stays until a user acts.
func (t *activeRule) left(now time.Time) (d time.Duration, ends bool) {
	if t.rule.For() == 0 {
		return 0, false
	}
	return t.begun.Add(t.rule.For()).Sub(now), true
}

func (t *activeRule) standing(now time.Time) bool {
	if t.over || t.begun.IsZero() {
		return false
	}
	left, ends := t.left(now)
	return !ends || left > 0
}

func (l *machineRun) notice() {
	if len(l.troubles) == 0 {
		return
	}
	now := l.fleet.now()
	roleIndex := l.fleet.roleIndex(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	moment := scenario.Moment{State: l.status, Stage: string(l.stage), Answered: l.answered, Elapsed: now.Sub(l.fleet.start)}
	who := scenario.Host{Name: l.spec.Name, Role: l.knownRole(), Index: l.index, RoleIndex: roleIndex, MACs: l.spec.MACs()}
	for _, t := range l.troubles {
		if t.begun.IsZero() && t.rule.Match.Host(who) && t.rule.At.Reached(moment) {
			t.begun = now
		}
	}
}

// knownRole is the wanted role, or else the service's. The caller holds mu.
func (l *machineRun) knownRole() string {
	if l.spec.Role != "" {
		return l.spec.Role
	}
	return l.role
}

func (l *machineRun) trouble(do ...string) *activeRule {
	now := l.fleet.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.troubles {
		if slices.Contains(do, t.rule.Do) && t.standing(now) {
			return t
		}
	}
	return nil
}

func (l *machineRun) enter(stage models.HostStage) {
	l.setStage(stage)
	l.notice()
}

func (l *machineRun) finish(t *activeRule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.over = true
}

// settleTroubles puts right what a person in front of the machine puts right.
func (l *machineRun) settleTroubles() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.troubles {
		switch t.rule.Do {
		case scenario.DoStall, scenario.DoPowerOff, scenario.DoBootISO, scenario.DoFail, scenario.DoStopAgent:
			if !t.begun.IsZero() {
				t.over = true
			}
		}
	}
}

// standing is a word for the set of troubles that stand, to tell two moments with different ones apart.
func (l *machineRun) standing() string {
	now := l.fleet.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	var word strings.Builder
	for _, t := range l.troubles {
		fmt.Fprint(&word, t.standing(now))
	}
	return word.String()
}

// present is the machine as the troubles of the moment make it.
func (l *machineRun) present() (Machine, map[string]any) {
	m := l.spec
	m.Disks, m.NICs, m.Gateways = slices.Clone(m.Disks), slices.Clone(m.NICs), slices.Clone(m.Gateways)
	m.Hostname = cmp.Or(l.image.Load().hostname, m.Hostname)
	var patch map[string]any
	if t := l.trouble(scenario.DoHostname); t != nil {
		m.Hostname = t.rule.Args.String("name", "localhost")
	}
	if t := l.trouble(scenario.DoInventory); t != nil {
		m.CPUs = t.rule.Args.Int("cpus", m.CPUs)
		m.MemoryBytes = int64(t.rule.Args.Int("memory", int(m.MemoryBytes)))
		for i := range m.Disks {
			m.Disks[i].SizeBytes = int64(t.rule.Args.Int("disk", int(m.Disks[i].SizeBytes)))
		}
		patch = t.rule.Args.Map("patch")
	}
	if t := l.trouble(scenario.DoNetwork); t != nil {
		m.move(netip.MustParsePrefix(t.rule.Args.String("subnet", "10.99.0.0/24")), l.index)
	}
	return m, patch
}

func (m *Machine) move(subnet netip.Prefix, index int) {
	m.NICs[0].Addresses = nil
	m.Gateways = nil
	if err := m.join(subnet, index, nil); err != nil {
		// The subnet is too small for the index: any address in it is as wrong as is wanted.
		m.NICs[0].Addresses = []netip.Prefix{netip.PrefixFrom(subnet.Masked().Addr().Next().Next(), subnet.Bits())}
	}
}

func (f *Fleet) roleIndex(l *machineRun) int {
	role := l.lockedRole()
	n := 0
	for _, other := range f.all() {
		if other == l {
			return n
		}
		if !other.stranger && other.lockedRole() == role {
			n++
		}
	}
	return n
}

func (l *machineRun) lockedRole() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return scenario.NormalRole(l.knownRole())
}

// strangers are the machines that the scenario makes appear. Each boots when its rule's time has come.
func (f *Fleet) strangers() ([]*machineRun, error) {
	var lives []*machineRun
	for _, rule := range f.cfg.Scenario.HostRules() {
		if rule.Do != scenario.DoAppear {
			continue
		}
		if rule.At.State != "" || rule.At.Stage != "" {
			return nil, fmt.Errorf("scenario line %d: a machine can only appear at: {after: …}", rule.Line)
		}
		index := len(f.cfg.Machines) + len(lives)
		m, err := NewMachine(f.cfg.Seed, index, f.network())
		if err != nil {
			return nil, fmt.Errorf("making the machine that appears: %w", err)
		}
		m.Name = rule.Args.String("name", fmt.Sprintf("stranger-%d", len(lives)))
		m.Hostname = m.Name
		m.NICs[0].MAC = rule.Args.String("mac", m.NICs[0].MAC)
		m.Serial = rule.Args.String("serial", m.Serial)
		if bmc := rule.Args.String("bmc", ""); bmc != "" {
			m.BMC = bmcAddress(bmc)
		}
		m.InfraEnvID = f.cfg.InfraEnvID
		if m.InfraEnvID == "" && len(f.cfg.Machines) > 0 {
			m.InfraEnvID = f.cfg.Machines[0].InfraEnvID
		}
		l := newLife(f, index, m)
		l.stranger = true
		l.troubles = []*activeRule{{rule: scenario.Rule{Do: scenario.DoAppear, At: rule.At}}}
		lives = append(lives, l)
	}
	return lives, nil
}

// network is where the fleet's machines sit, for one more of them.
func (f *Fleet) network() Network {
	n := NetworkFor(len(f.cfg.Machines) + 1)
	if len(f.cfg.Machines) == 0 {
		return n
	}
	n = Network{}
	for _, m := range f.cfg.Machines {
		for _, nic := range m.NICs {
			for _, a := range nic.Addresses {
				n.Avoid = append(n.Avoid, a.Addr())
				if a.Addr().Is4() {
					n.V4 = a.Masked()
				} else {
					n.V6 = a.Masked()
				}
			}
		}
	}
	return n
}
