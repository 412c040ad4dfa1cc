package spec

import (
	"cmp"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/spec/internal/values"
)

// Default fills in what follows from the rest of the cluster, and brings words,
// MAC addresses and the like to one spelling:
//
//   - topology.controlPlane, .workers, .arbiters and .fencing from the roles of
//     the hosts; without hosts, three control plane machines;
//   - where the document has only what is added (OnlyAdds), the topology is the hosts
//     that are added;
//   - platform none for a single node, for ppc64le and s390x, and where the
//     network is user-managed; else baremetal;
//   - disk encryption of all roles where it names none;
//   - each host's role (auto), hostname (its name, unless written and empty, or of a pool),
//     match (the MAC address of its short network form, else the IP address of
//     its BMC), and fencing address and credentials (those of its BMC, after what
//     hosts' BMCs share);
//   - boot.method redfish where every host has a BMC, else iso; infraEnv.bind
//     early.
//
// What it fills in is not Present. Load and Resolve call it; calling it again
// changes nothing.
func (c *Cluster) Default() {
	canonicalWords(c)
	for i := range c.Spec.Hosts {
		c.defaultHost(i)
	}
	c.defaultTopology()
	s := &c.Spec
	if s.Platform.Type == "" {
		s.Platform.Type = BareMetal
		if c.SingleNode() || s.OpenShift.Arch == Power || s.OpenShift.Arch == Z || valueOf(s.Network.UserManaged) {
			s.Platform.Type = NoneType
		}
		if s.Platform.External != nil {
			s.Platform.Type = External
		}
	}
	if s.Boot.Image == "" && s.InfraEnv.Ref == "" && s.Platform.onOracleCloud() {
		s.Boot.Image = ImageMinimal // the service makes no other for it
	}
	if s.DiskEncryption != nil && len(s.DiskEncryption.On) == 0 {
		s.DiskEncryption.On = RoleSet{AllRoles}
	}
	s.InfraEnv.Bind = cmp.Or(s.InfraEnv.Bind, BindEarly)
	method := BootRedfish
	if len(s.Hosts) == 0 || slices.ContainsFunc(s.Hosts, func(h Host) bool { return h.BMC == nil }) {
		method = bootISO
	}
	s.Boot.Method = cmp.Or(s.Boot.Method, method)
}

func (c *Cluster) defaultHost(i int) {
	h := &c.Spec.Hosts[i]
	h.Role = cmp.Or(h.Role, Auto)
	if h.Hostname == "" && h.Match.Agent == "" && !c.Present(hostField(i, "hostname")) {
		h.Hostname = h.Name
	}
	h.Match.MAC = values.CanonicalMAC(h.Match.MAC)
	h.Match.UUID = strings.ToLower(h.Match.UUID)
	for j, text := range h.Addresses {
		if ip, err := netip.ParseAddr(text); err == nil {
			h.Addresses[j] = ip.String()
		}
	}
	if h.Net != nil {
		h.Net.MAC = values.CanonicalMAC(h.Net.MAC)
		for j := range h.Net.Interfaces {
			h.Net.Interfaces[j].MAC = values.CanonicalMAC(h.Net.Interfaces[j].MAC)
		}
	}
	if h.Match == (Match{}) {
		h.Match = impliedMatch(h)
	}
	h.Fencing = h.FencedBy()
}

// defaultBMCs gives hosts' BMCs the shared values, once these have been read, so that a
// wrong one is reported once.
func (c *Cluster) defaultBMCs() {
	shared := c.Spec.Network.Defaults.BMC
	for i := range c.Spec.Hosts {
		h := &c.Spec.Hosts[i]
		if h.BMC == nil {
			continue
		}
		if h.BMC.Credentials.IsZero() {
			h.BMC.Credentials = shared.Credentials
		}
		if !c.Present(hostField(i, "bmc.insecure")) {
			h.BMC.Insecure = h.BMC.Insecure || shared.Insecure
		}
		h.Fencing = h.FencedBy()
	}
}

func impliedMatch(h *Host) Match {
	switch {
	case h.Net != nil && h.Net.MAC != "":
		return Match{MAC: h.Net.MAC}
	case h.Net != nil && len(h.Net.Interfaces) > 0:
		return Match{MAC: h.Net.Interfaces[0].MAC}
	case h.BMC != nil:
		if ip, err := netip.ParseAddr(values.BMCHost(h.BMC.Address)); err == nil {
			return Match{BMC: ip.String()}
		}
	}
	return Match{}
}

// FencedBy is the host's fencing, with what it leaves out taken from its BMC, and its address in the form that clusters
// take, if there is one; nil for none.
func (h *Host) FencedBy() *Fencing {
	if h.Fencing == nil {
		return nil
	}
	f := *h.Fencing
	if f.Address != "" {
		f.Address, _ = values.FencingAddress(f.Address, "")
	}
	if h.BMC == nil {
		return &f
	}
	if f.Address == "" && h.BMC.Address != "" {
		f.Address, _ = values.FencingAddress(h.BMC.Address, h.BMC.System)
	}
	if f.Credentials.IsZero() {
		f.Credentials = h.BMC.Credentials
	}
	if f.Insecure == nil && h.BMC.Insecure {
		f.Insecure = new(true)
	}
	return &f
}

// defaultTopology counts the hosts: where only they are added to a cluster, one of any
// role becomes a worker.
func (c *Cluster) defaultTopology() {
	t, roles, added := &c.Spec.Topology, c.rolesOfHosts(), c.OnlyAdds()
	arbiters, controlPlane := roles[Arbiter], controlPlaneFor(roles, len(c.Spec.Hosts))
	if added {
		controlPlane = roles[ControlPlane]
	}
	t.Arbiters, t.ControlPlane = cmp.Or(t.Arbiters, &arbiters), cmp.Or(t.ControlPlane, &controlPlane)
	workers := max(roles[Worker], len(c.Spec.Hosts)-*t.ControlPlane-*t.Arbiters, 0)
	if added {
		workers = roles[Worker] + roles[Auto]
	}
	t.Workers = cmp.Or(t.Workers, &workers)
	if !added && *t.ControlPlane == 2 && *t.Arbiters == 0 && roles[Auto] == 0 && !c.Present("spec.topology.fencing") {
		fenced := slices.DeleteFunc(slices.Clone(c.Spec.Hosts), func(h Host) bool { return h.Fencing == nil })
		t.Fencing = len(fenced) == 2
	}
}

// controlPlaneFor is how many control plane machines there are: hosts of that role,
// joined by those of any, up to three.
func controlPlaneFor(roles map[Role]int, hosts int) int {
	switch {
	case hosts == 0:
		return 3
	case roles[ControlPlane] > 0 && roles[Auto] == 0:
		return roles[ControlPlane]
	case hosts == 1:
		return 1
	default:
		return max(3, roles[ControlPlane])
	}
}

func (c *Cluster) rolesOfHosts() map[Role]int {
	roles := map[Role]int{}
	for i := range c.Spec.Hosts {
		roles[c.Spec.Hosts[i].Role]++
	}
	return roles
}

// ControlPlaneCount is the number of control plane machines.
func (c *Cluster) ControlPlaneCount() int { return valueOf(c.Spec.Topology.ControlPlane) }

// WorkerCount is the number of workers.
func (c *Cluster) WorkerCount() int { return valueOf(c.Spec.Topology.Workers) }

// ArbiterCount is the number of arbiters.
func (c *Cluster) ArbiterCount() int { return valueOf(c.Spec.Topology.Arbiters) }

// RequiredWorkers is how many workers have to be installed; by default all of them.
func (c *Cluster) RequiredWorkers() int {
	return valueOf(cmp.Or(c.Spec.Topology.Required.Workers, c.Spec.Topology.Workers))
}

// SingleNode reports whether the cluster is one machine when it is installed.
func (c *Cluster) SingleNode() bool { return c.ControlPlaneCount() == 1 && !c.OnlyAdds() }

// valueOf is what a pointer leads to, and the zero value for nil.
func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// canonicalWords spells every known word as oaictl does.
func canonicalWords(c *Cluster) {
	walk(reflect.ValueOf(c).Elem(), "", func(v reflect.Value, _ string) bool {
		if !mayBeWord(v) {
			return true
		}
		field := v.Interface()
		if roles, is := field.(RoleSet); is && roles != nil {
			if set, unknown := roles.Normalise(); len(unknown) == 0 {
				v.Set(reflect.ValueOf(append(RoleSet{}, set...)))
			}
		} else if value, known := canonical(field, v.String()); known {
			v.SetString(value)
		}
		return true
	})
}

// AtInstall is the cluster without the workers that are added to a single node once it
// is installed. Without any it is the cluster itself.
func (c *Cluster) AtInstall() *Cluster {
	if !c.SingleNode() || c.WorkerCount() == 0 || c.RequiredWorkers() != 0 {
		return c
	}
	first := *c
	first.Spec.Topology.Workers = new(0)
	first.Spec.Hosts, first.indexes = nil, nil
	for i := range c.Spec.Hosts {
		if c.Spec.Hosts[i].Role != Worker {
			first.Spec.Hosts, first.indexes = append(first.Spec.Hosts, c.Spec.Hosts[i]), append(first.indexes, i)
		}
	}
	return &first
}
