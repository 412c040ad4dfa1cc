package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-openapi/strfmt"

	"github.com/oaictl/oaictl/internal/shared/installcfg"
	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
)

type clusterCheck struct {
	c *model.Cluster
	// machine is the cluster's machine networks as the tick found them.
	machine []model.MachineNetwork
}

// Cluster judges a cluster.
func Cluster(c *model.Cluster) []model.Check {
	e, s := &clusterCheck{c: c, machine: c.MachineNetworks}, clusterSubject()
	return append(s.judge(e, rules().Cluster), s.operators(e, c, rules().ClusterOperators)...)
}

var clusterSubject = sync.OnceValue(func() subject[*clusterCheck] {
	return subject[*clusterCheck]{facts: clusterFacts(), values: clusterValues(), computed: map[string]func(*clusterCheck) (string, string){
		"api-vips-valid":     func(e *clusterCheck) (string, string) { return e.vipsValid("API", e.c.APIVips) },
		"ingress-vips-valid": func(e *clusterCheck) (string, string) { return e.vipsValid("Ingress", e.c.IngressVips) },
	}}
})

func clusterFacts() map[string]func(*clusterCheck) bool {
	return map[string]func(*clusterCheck) bool{
		"oracleCloud": func(e *clusterCheck) bool {
			return e.c.PlatformType() == "external" && e.c.OnOracleCloud()
		},
		"customManifest": func(e *clusterCheck) bool { return e.c.MakesUseOf("Custom manifest") },
		"pullSecret":     func(e *clusterCheck) bool { return e.c.PullSecretSet },
		"hostsReady": func(e *clusterCheck) bool {
			return !slices.ContainsFunc(e.c.Hosts, func(h *model.Host) bool {
				return !model.OneOf(h.State, model.HostKnown, model.HostPreparing, model.HostPrepared)
			})
		},
		"discovered": func(e *clusterCheck) bool {
			return slices.ContainsFunc(e.c.Hosts, func(h *model.Host) bool { return h.Inv != nil })
		},
		"single": func(e *clusterCheck) bool { return e.c.IsSingle() },
		"soleMaster": func(e *clusterCheck) bool {
			masters, _, workers := castRoles(e.c)
			return masters == 1 && workers == 0
		},
		"mastersCount": func(e *clusterCheck) bool {
			masters, _, _ := castRoles(e.c)
			return masters == int(e.c.ControlPlaneCount)
		},
		"userManaged":          func(e *clusterCheck) bool { return e.c.UserManaged() },
		"userBalanced":         func(e *clusterCheck) bool { return e.c.UserBalanced() },
		"vipsByDHCP":           func(e *clusterCheck) bool { return e.c.AllocatesVips() },
		"apiVips":              func(e *clusterCheck) bool { return len(e.c.APIVips) > 0 },
		"ingressVips":          func(e *clusterCheck) bool { return len(e.c.IngressVips) > 0 },
		"clusterNetworks":      func(e *clusterCheck) bool { return len(e.c.ClusterNetworks) > 0 },
		"serviceNetworks":      func(e *clusterCheck) bool { return len(e.c.ServiceNetworks) > 0 },
		"machineNetworks":      func(e *clusterCheck) bool { return len(e.machine) > 0 },
		"machineNetworkNeeded": (*clusterCheck).machineNetworkNeeded,
		"networksMissing": func(e *clusterCheck) bool {
			return len(e.c.ClusterNetworks) == 0 || len(e.c.ServiceNetworks) == 0 || e.machineNetworkNeeded() && len(e.machine) == 0
		},
		"sameFamilies": func(e *clusterCheck) bool {
			_, clusterNets, services := e.c.CIDRs()
			return slices.Equal(families(services), families(clusterNets))
		},
		"sameMachineFamilies": func(e *clusterCheck) bool {
			machine, _, services := e.c.CIDRs()
			return slices.Equal(families(services), families(machine))
		},
		"asManyServiceNetworks": func(e *clusterCheck) bool { return len(e.c.ClusterNetworks) == len(e.c.ServiceNetworks) },
		"clocksApart":           (*clusterCheck).clocksApart,
		"storersUnknown": func(e *clusterCheck) bool {
			return slices.ContainsFunc(storing(e.c), func(h *model.Host) bool { return h.Inv == nil })
		},
		"enoughStorers": func(e *clusterCheck) bool {
			lacks := func(h *model.Host) bool { return spareDisks(h, storageDiskGB) == 0 }
			return len(slices.DeleteFunc(storing(e.c), lacks)) >= storageHosts
		},
		"enoughAIWorkers": func(e *clusterCheck) bool { return WorkersAsked(e.c) >= minAIWorkers },
		"gpus": func(e *clusterCheck) bool {
			return slices.ContainsFunc(e.c.Hosts, func(h *model.Host) bool { return h.Inv != nil && len(h.Inv.Gpus) > 0 })
		},
		"gpuOperator": func(e *clusterCheck) bool { return e.c.HasOperator("nvidia-gpu") || e.c.HasOperator("amd-gpu") },
	}
}

func clusterValues() map[string]func(*clusterCheck) any {
	return map[string]func(*clusterCheck) any{
		"baseDomain":          func(e *clusterCheck) any { return e.c.BaseDNSDomain },
		"controlPlane":        func(e *clusterCheck) any { return e.c.ControlPlaneCount },
		"fencingNeed":         (*clusterCheck).fencingNeed,
		"vipless":             func(e *clusterCheck) any { return e.vipless() },
		"foreignNetwork":      (*clusterCheck).foreignNetwork,
		"calculationProblems": (*clusterCheck).calculationProblems,
		"prefixProblem":       (*clusterCheck).prefixProblem,
		"overlap":             (*clusterCheck).overlap,
		"storageMode":         func(e *clusterCheck) any { return storageMode(e.c) },
		"storageModeInText":   func(e *clusterCheck) any { return strings.ToLower(storageMode(e.c)) },
		"storageHosts":        func(*clusterCheck) any { return storageHosts },
		"storageDisk":         func(*clusterCheck) any { return storageDiskGB },
		"workers":             func(e *clusterCheck) any { return WorkersAsked(e.c) },
		"leastAIWorkers":      func(*clusterCheck) any { return minAIWorkers },
		"clockTolerance":      func(*clusterCheck) any { return int(clockTolerance.Minutes()) },
	}
}

// machineNetworkNeeded says that the machine network counts: a user's own network is none of
// the service's business, but for that of a single node.
func (e *clusterCheck) machineNetworkNeeded() bool { return !e.c.UserManaged() || e.c.IsSingle() }

// fencingNeed is what two control plane nodes lack that have no arbiter.
func (e *clusterCheck) fencingNeed() any {
	_, arbiters, _ := castRoles(e.c)
	fenced := 0
	for _, h := range e.c.Hosts {
		fenced += min(1, len(h.FencingCredentials))
	}
	if e.c.ControlPlaneCount == 2 && arbiters == 0 && fenced < 2 {
		return " and at least 1 arbiter node or the control plane nodes must have fencing credentials"
	}
	return ""
}

// castRoles counts the hosts by role, where open ones fill up the control plane, then an
// arbiter where one is needed, if they are strong enough; the others are workers.
func castRoles(c *model.Cluster) (masters, arbiters, workers int) {
	masters, arbiters, workers, _ = CountRoles(c)
	for _, h := range c.Hosts {
		switch {
		case h.EffectiveRole() != model.RoleAuto:
		case masters < int(c.ControlPlaneCount) && StrongEnough(c, h, model.RoleMaster):
			masters++
		case c.ControlPlaneCount == 2 && arbiters == 0 && StrongEnough(c, h, model.RoleArbiter):
			arbiters++
		default:
			workers++
		}
	}
	return masters, arbiters, workers
}

// CountRoles counts the hosts by role; open ones have none yet.
func CountRoles(c *model.Cluster) (masters, arbiters, workers, open int) {
	for _, h := range c.Hosts {
		switch h.EffectiveRole() {
		case model.RoleMaster, model.RoleBootstrap:
			masters++
		case model.RoleArbiter:
			arbiters++
		case model.RoleWorker:
			workers++
		default:
			open++
		}
	}
	return masters, arbiters, workers, open
}

func (e *clusterCheck) foreignNetwork() any {
	kind := e.c.NetworkType
	var overrides installcfg.InstallerConfigBaremetal
	if e.c.InstallConfigOverrides != "" && json.NewDecoder(strings.NewReader(e.c.InstallConfigOverrides)).Decode(&overrides) == nil {
		kind = cmp.Or(overrides.Networking.NetworkType, kind)
	}
	if !model.OneOf(kind, "Cilium", "Calico", "CiscoACI", "None") {
		return ""
	}
	return kind
}

// calculationProblems says where the machine networks are not those of the virtual addresses.
func (e *clusterCheck) calculationProblems() any {
	var problems []string
	for i, v := range e.c.APIVips {
		calculated := NetworkOfVip(e.c, v.IP)
		switch {
		case calculated == "":
			problems = append(problems, "No suitable matching CIDR found for VIP "+v.IP)
		case i < len(e.machine) && e.machine[i].CIDR != calculated:
			problems = append(problems, fmt.Sprintf("The Cluster Machine CIDR %s is different than the calculated CIDR %s.", e.machine[i].CIDR,
				calculated))
		}
	}
	if len(problems) == 0 {
		return ""
	}
	return wire.Problems(problems...)
}

func (e *clusterCheck) prefixProblem() any {
	for _, n := range e.c.ClusterNetworks {
		if n.HostPrefix <= 0 {
			return fmt.Sprintf("Invalid Cluster Network prefix: Host prefix, now %d, must be a positive integer.", n.HostPrefix)
		}
		network, err := netip.ParsePrefix(n.CIDR)
		if err != nil {
			continue
		}
		width := network.Addr().BitLen()
		if int(n.HostPrefix) > width-7 {
			return fmt.Sprintf("Host prefix, now %d, must be less than or equal to %d to allow at least 128 addresses", n.HostPrefix, width-7)
		}
		if room := int(n.HostPrefix) - network.Bits(); room < 0 || room < 31 && 1<<room < max(4, len(e.c.Hosts)) {
			return fmt.Sprintf("Cluster network CIDR prefix %d does not contain enough addresses for %d hosts each one with %d "+
				"prefix (%d addresses)",
				network.Bits(), max(4, len(e.c.Hosts)), n.HostPrefix, 1<<min(62, width-int(n.HostPrefix)))
		}
	}
	return ""
}

func families(cidrs []string) []bool {
	var list []bool
	for _, text := range cidrs {
		if p, err := netip.ParsePrefix(text); err == nil && !slices.Contains(list, p.Addr().Is4()) {
			list = append(list, p.Addr().Is4())
		}
	}
	return list
}

func (e *clusterCheck) overlap() any {
	machine, clusterNets, services := e.c.CIDRs()
	own := "" // the last one goes with all families that come after it
	for i := range clusterNets {
		if i < len(machine) {
			own = machine[i]
		}
		for _, pair := range []struct{ names, a, b string }{
			{"MachineNetworkCIDR and ServiceNetworkCIDR", own, services[i]},
			{"MachineNetworkCIDR and ClusterNetworkCidr", own, clusterNets[i]},
			{"ServiceNetworkCidr and ClusterNetworkCidr", services[i], clusterNets[i]},
		} {
			if pair.a == own && e.c.UserManaged() && !e.c.IsSingle() {
				continue
			}
			x, err := netip.ParsePrefix(pair.a)
			y, err2 := netip.ParsePrefix(pair.b)
			if err == nil && err2 == nil && x.Overlaps(y) {
				return fmt.Sprintf("CIDRS Overlapping: %s: CIDRS %s and %s overlap.", pair.names, pair.a, pair.b)
			}
		}
	}
	return ""
}

const clockTolerance = 4 * time.Minute

func (e *clusterCheck) clocksApart() bool {
	var ahead []time.Duration
	for _, h := range e.c.Hosts {
		if h.Timestamp != 0 && model.OneOf(h.State, model.HostDiscovering, model.HostPendingInput, model.HostInsufficient, model.HostKnown) {
			ahead = append(ahead, time.Unix(h.Timestamp, 0).Sub(time.Time(h.CheckedInAt)))
		}
	}
	return len(ahead) > 0 && slices.Max(ahead)-slices.Min(ahead) > clockTolerance
}

func (e *clusterCheck) vipless() string {
	switch {
	case e.c.UserManaged():
		return "User Managed Networking"
	case e.c.IsSingle():
		return "SNO"
	}
	return ""
}

func (e *clusterCheck) vipsValid(name string, list []model.VIP) (string, string) {
	if e.c.UserBalanced() {
		label, first := strings.ToLower(name)+" vip", list[0].IP
		if !InAny(first, e.machine) {
			return model.Failed, Elsewhere(label, first, e.machine)
		}
		return model.Passed, fmt.Sprintf("%s %s is valid", label, first)
	}
	label := strings.ToLower(name) + " vips"
	var texts, problems []string
	for _, v := range list {
		texts = append(texts, v.IP)
		network := networkWith(v.IP, e.machine)
		switch verdict := vipVerdict(e.c, v, network); {
		case network == "":
			problems = append(problems, fmt.Sprintf("%s <%s> does not belong to machine-network-cidr <%s>", label, v.IP, e.machine[0].CIDR))
		case verdict == VipInUse:
			problems = append(problems, VipInUseAs(e.c, label, v.IP, network))
		case verdict != vipFree:
			problems = append(problems, fmt.Sprintf("%s <%s> are not verified yet.", label, v.IP))
		}
	}
	if len(problems) > 0 {
		return model.Failed, strings.Join(problems, ";")
	}
	return model.Passed, fmt.Sprintf("%s %s belongs to the Machine CIDR and is not in use.", label, strings.Join(texts, ", "))
}

// What is known of a virtual address, beside nothing.
const (
	vipFree  = "succeeded"
	VipInUse = "failed"
)

// vipVerdict is what hosts found out about an address: free, in use, or nothing yet.
func vipVerdict(c *model.Cluster, v model.VIP, network string) string {
	if v.Verification == vipFree || v.Verification == VipInUse {
		return v.Verification
	}
	return ListedAsFree(c, v.IP, network)
}

// ListedAsFree reports whether an address is free or in use: it has to be in all the hosts'
// lists of free addresses. Where these have none in common they prove nothing.
func ListedAsFree(c *model.Cluster, ip, network string) string {
	var lists [][]strfmt.IPv4
	for _, h := range c.Hosts {
		if list, ok := h.FreeNetworks[network]; ok {
			lists = append(lists, list)
		}
	}
	inAll := func(a strfmt.IPv4) bool {
		return !slices.ContainsFunc(lists, func(list []strfmt.IPv4) bool { return !slices.Contains(list, a) })
	}
	switch {
	case len(lists) == 0:
		return ""
	case inAll(strfmt.IPv4(ip)):
		return vipFree
	case slices.ContainsFunc(lists[0], inAll):
		return VipInUse
	}
	return ""
}

// VipInUseAs says that an address is not free, and whether its network is too small at all.
func VipInUseAs(c *model.Cluster, name, ip, network string) string {
	text := fmt.Sprintf("%s <%s> is already in use in cidr %s", name, ip, network)
	if !fits(c, network) {
		text += ". The machine network range is too small for the cluster. Please redefine the network."
	}
	return text
}

func fits(c *model.Cluster, network string) bool {
	p, err := netip.ParsePrefix(network)
	if err != nil {
		return true
	}
	bits := p.Addr().BitLen() - p.Bits()
	if len(c.Hosts) == 1 {
		return bits >= 1
	}
	return bits >= 32 || 1<<bits >= len(c.Hosts)+4
}
