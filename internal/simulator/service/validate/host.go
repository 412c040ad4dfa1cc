package validate

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openshift/assisted-service/models"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/oaictl/oaictl/internal/simulator/service/wire"
	"github.com/oaictl/oaictl/internal/simulator/versions"
)

const hostnamePattern = "^[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*$"

// hostnameShape is compiled once, as it is asked for every host on every tick, and not before: it is large.
var hostnameShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(hostnamePattern) })

// ForbiddenHostnames are names that no host may have.
func ForbiddenHostnames() []string {
	return []string{"localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6", "localhost6.localdomain6"}
}

const maxHostname = 63

func validHostname(name string) bool {
	return len(name) <= maxHostname && hostnameShape().MatchString(name)
}

// CheckHostname refuses a name in the words of PATCH host.
func CheckHostname(name string) error {
	if len(name) > maxHostname {
		return wire.BadRequest("hostname is too long, must be 63 characters or less. Hostname: %s has %d characters", name, len(name))
	}
	if slices.Contains(ForbiddenHostnames(), name) {
		return wire.BadRequest("The host name %s is forbidden", name)
	}
	if !hostnameShape().MatchString(name) {
		return wire.BadRequest("Hostname does not pass required regex validation: %s. Hostname: %s", hostnamePattern, name)
	}
	return nil
}

type hostCheck struct {
	h     *model.Host
	c     *model.Cluster // nil for a host of the pool
	need  versions.Hardware
	names map[string]int // how many hosts of the cluster have a name
	now   time.Time
}

// Host judges a host. names counts the host names of its cluster.
func Host(h *model.Host, names map[string]int, now time.Time) []model.Check {
	e := &hostCheck{h: h, c: h.Cluster, need: Requirements(h.Cluster, h.EffectiveRole()), names: names, now: now}
	s := hostSubject()
	list := s.judge(e, rules().Host)
	if e.c == nil {
		return list
	}
	return append(list, s.operators(e, e.c, rules().HostOperators)...)
}

// How far a host's clock may be from the service's.
const (
	mostBehind = 20 * time.Minute
	mostAhead  = 60 * time.Minute
)

// memoryTolerance is how much less memory than asked for will do, in MiB.
const memoryTolerance = 100

var hostSubject = sync.OnceValue(func() subject[*hostCheck] {
	return subject[*hostCheck]{facts: hostFacts(), values: hostValues()}
})

func hostFacts() map[string]func(*hostCheck) bool {
	return map[string]func(*hostCheck) bool{
		"cluster": func(e *hostCheck) bool { return e.c != nil },
		// live says that the agent still runs: the machine has not been rebooted.
		"live": func(e *hostCheck) bool {
			return !model.OneOf(e.h.Stage(), model.StageRebooting, model.StageIgnition, model.StageConfiguring, model.StageJoined, model.StageDone)
		},
		// early says that the installation has not begun.
		"early": func(e *hostCheck) bool {
			return !model.OneOf(
				e.h.State, model.HostInProgress, model.HostInstalled, model.HostAdded, model.HostPendingUser, model.HostError,
				model.HostCancelled,
			)
		},
		"inventory":   func(e *hostCheck) bool { return e.h.Inv != nil },
		"cpuKnown":    func(e *hostCheck) bool { return e.h.Inv != nil && e.h.Inv.CPU != nil },
		"memoryKnown": func(e *hostCheck) bool { return e.h.Inv != nil && e.h.Inv.Memory != nil },
		"measured":    func(e *hostCheck) bool { return e.h.Inv != nil && e.h.Inv.CPU != nil && e.h.Inv.Memory != nil },
		"vendor":      func(e *hostCheck) bool { return e.h.Inv != nil && e.h.Inv.SystemVendor != nil },
		"vmware":      func(e *hostCheck) bool { return e.h.Inv != nil && e.h.Inv.OfVMware() },
		"enoughCores": func(e *hostCheck) bool { return e.h.Inv.CPU.Count >= minimumHardware().CPUCores },
		"enoughMemory": func(e *hostCheck) bool {
			return e.h.Inv.Memory.PhysicalBytes >= (minimumHardware().RAMMiB-memoryTolerance)<<20
		},
		"eligibleDisks":      func(e *hostCheck) bool { return len(e.h.Inv.EligibleDisks()) > 0 },
		"enoughCoresForRole": func(e *hostCheck) bool { return e.h.Inv.CPU.Count >= e.need.CPUCores },
		"enoughMemoryForRole": func(e *hostCheck) bool {
			return e.h.Inv.Memory.PhysicalBytes >= (e.need.RAMMiB-memoryTolerance)<<20
		},
		"soleName":      func(e *hostCheck) bool { return e.names[e.h.Name()] <= 1 },
		"forbiddenName": func(e *hostCheck) bool { return slices.Contains(ForbiddenHostnames(), e.h.Name()) },
		"validName":     func(e *hostCheck) bool { return validHostname(e.h.Name()) },
		"diskTested":    func(e *hostCheck) bool { return e.h.DiskTested || e.h.BootsFromDisk() },
		"diskFailed":    func(e *hostCheck) bool { return e.h.DiskFailed },
		"platformFits":  (*hostCheck).platformFits,
		"disksHaveUUIDs": func(e *hostCheck) bool {
			return !slices.ContainsFunc(e.h.Inv.EligibleDisks(), func(d *models.Disk) bool { return !d.HasUUID })
		},
		"encryption": func(e *hostCheck) bool {
			return e.c.DiskEncryption != nil && !model.OneOf(e.c.DiskEncryption.EnableOn, "", "none")
		},
		"roleKnown":    func(e *hostCheck) bool { return e.h.EffectiveRole() != model.RoleAuto },
		"roleEncrypts": func(e *hostCheck) bool { return SelectsRole(e.c.DiskEncryption.EnableOn, e.h.EffectiveRole()) },
		"tang":         func(e *hostCheck) bool { return e.c.DiskEncryption.Mode == "tang" },
		"tangTested":   func(e *hostCheck) bool { return e.h.Tang != nil },
		"tangReached":  func(e *hostCheck) bool { return e.h.Tang.IsSuccess },
		"tpm2":         func(e *hostCheck) bool { return e.h.Inv.TpmVersion == "2.0" },
		"noTPM":        func(e *hostCheck) bool { return e.h.Inv.TpmVersion == "none" },
		"skipsInstallationDisk": func(e *hostCheck) bool {
			return slices.Contains(e.h.SkipDisks, e.h.InstallationDiskID) && e.h.InstallationDiskID != ""
		},
		"skipsMissingDisk": func(e *hostCheck) bool {
			return slices.ContainsFunc(e.h.SkipDisks, func(id string) bool { return e.h.Inv.FindDisk(id) == nil })
		},
		"connected":       func(e *hostCheck) bool { return e.h.Connected(e.now) },
		"day2":            func(e *hostCheck) bool { return e.c.IsDay2() },
		"added":           func(e *hostCheck) bool { return e.h.Kind == model.KindAddedHost },
		"unbound":         func(e *hostCheck) bool { return model.HostUnbound(e.h.State) },
		"single":          func(e *hostCheck) bool { return e.c.IsSingle() },
		"userManaged":     func(e *hostCheck) bool { return e.c.UserManaged() },
		"userBalanced":    func(e *hostCheck) bool { return e.c.UserBalanced() },
		"vipsByDHCP":      func(e *hostCheck) bool { return e.c.AllocatesVips() },
		"machineNetworks": func(e *hostCheck) bool { return len(e.c.Before.Machine) > 0 },
		"inSomeNetwork":   func(e *hostCheck) bool { return slices.ContainsFunc(e.c.Before.Machine, e.isIn) },
		"inAllNetworks": func(e *hostCheck) bool {
			return !slices.ContainsFunc(e.c.Before.Machine, func(n model.MachineNetwork) bool { return !e.isIn(n) })
		},
		"apiTested":   func(e *hostCheck) bool { return e.h.APICheck != nil },
		"apiReached":  func(e *hostCheck) bool { return e.h.APICheck.IsSuccess },
		"inMajority":  (*hostCheck).inMajority,
		"tooFewHosts": func(e *hostCheck) bool { return len(e.c.Hosts) < leastGroup(e.c) },
		"resolutions": func(e *hostCheck) bool { return e.h.Resolutions != nil },
		"ntpSynced": func(e *hostCheck) bool {
			return slices.ContainsFunc(e.h.NTP, func(s models.NtpSource) bool { return s.SourceState == models.SourceStateSynced })
		},
		"ntpSources":  func(e *hostCheck) bool { return len(e.h.NTP) > 0 },
		"clock":       func(e *hostCheck) bool { return e.h.Timestamp != 0 },
		"clockBehind": func(e *hostCheck) bool { return e.now.Sub(time.Unix(e.h.Timestamp, 0)) > mostBehind },
		"clockAhead":  func(e *hostCheck) bool { return time.Unix(e.h.Timestamp, 0).Sub(e.now) > mostAhead },
		"alone": func(e *hostCheck) bool {
			return len(e.c.Hosts) == 1 || e.h.EffectiveRole() == model.RoleAuto || e.h.Kind == model.KindAddedHost
		},
		"latencyLimited": func(e *hostCheck) bool { return e.need.LatencyMs != nil },
		"lossLimited":    func(e *hostCheck) bool { return e.need.PacketLoss != nil },
		"imported":       func(e *hostCheck) bool { return e.c.Imported },
		"apiReachedBySome": func(e *hostCheck) bool {
			return slices.ContainsFunc(e.c.Hosts, func(h *model.Host) bool { return h.APICheck != nil && h.APICheck.IsSuccess })
		},
		"resolvesAPI":           func(e *hostCheck) bool { return e.resolves("api.%s") },
		"resolvesInternalAPI":   func(e *hostCheck) bool { return e.resolves("api-int.%s") },
		"resolvesApps":          func(e *hostCheck) bool { return e.resolves("console-openshift-console.apps.%s") },
		"wildcardAsked":         func(e *hostCheck) bool { return e.asked(wildcardName) },
		"wildcardAbsoluteAsked": func(e *hostCheck) bool { return e.asked(wildcardAbsolute) },
		"worker":                func(e *hostCheck) bool { return e.h.EffectiveRole() == model.RoleWorker },
		"arbiter":               func(e *hostCheck) bool { return e.h.EffectiveRole() == model.RoleArbiter },
		// schedulable says that the control plane takes ordinary workloads.
		"schedulable":      func(e *hostCheck) bool { return e.c.IsSingle() || WorkersAsked(e.c) == 0 },
		"spareDisk":        func(e *hostCheck) bool { return spareDisks(e.h, 0) > 0 },
		"storageDisk":      func(e *hostCheck) bool { return spareDisks(e.h, storageDiskGB) > 0 },
		"storesData":       func(e *hostCheck) bool { return storesData(storageMode(e.c), e.h.Role) },
		"storageRolesOpen": func(e *hostCheck) bool { return e.h.Role == model.RoleAuto && len(e.c.Hosts) != storageHosts },
		"virtualizes": func(e *hostCheck) bool {
			return slices.ContainsFunc(e.h.Inv.CPU.Flags, func(flag string) bool { return flag == "vmx" || flag == "svm" })
		},
		"enoughCoresForVMs":  func(e *hostCheck) bool { return e.h.Inv.CPU.Count >= e.needForVMs().CPUCores },
		"enoughMemoryForVMs": func(e *hostCheck) bool { return e.h.Inv.Memory.UsableBytes >= e.needForVMs().RAMMiB<<20 },
		"defaultRoute":       func(e *hostCheck) bool { return e.h.Inv.DefaultRoute() != nil },
		// collisionsSearched says that the cluster has looked for addresses that two cards answer at.
		"collisionsSearched": func(e *hostCheck) bool { return e.c.Before.Searched },
	}
}

func hostValues() map[string]func(*hostCheck) any {
	return map[string]func(*hostCheck) any{
		"id":           func(e *hostCheck) any { return e.h.ID },
		"name":         func(e *hostCheck) any { return e.h.Name() },
		"namePattern":  func(*hostCheck) any { return hostnamePattern },
		"role":         func(e *hostCheck) any { return e.h.EffectiveRole() },
		"cores":        func(e *hostCheck) any { return e.h.Inv.CPU.Count },
		"leastCores":   func(*hostCheck) any { return minimumHardware().CPUCores },
		"neededCores":  func(e *hostCheck) any { return e.need.CPUCores },
		"memory":       func(e *hostCheck) any { return model.BinaryBytes(e.h.Inv.Memory.PhysicalBytes) },
		"leastMemory":  func(*hostCheck) any { return model.BinaryBytes(minimumHardware().RAMMiB << 20) },
		"neededMemory": func(e *hostCheck) any { return model.BinaryBytes(e.need.RAMMiB << 20) },
		"platform":     func(e *hostCheck) any { return e.c.PlatformType() },
		"product":      func(e *hostCheck) any { return e.h.Inv.SystemVendor.ProductName },
		"tangAnswer":   func(e *hostCheck) any { return e.h.TangConnectivity },
		"tpm":          func(e *hostCheck) any { return e.h.Inv.TpmVersion },
		"mediaDisconnected": func(e *hostCheck) any {
			if e.h.MediaStatus == "disconnected" {
				return model.InfoMediaDisconnected
			}
			return ""
		},
		"apiURL":       func(e *hostCheck) any { return e.h.APICheck.URL },
		"apiProblem":   func(e *hostCheck) any { return e.h.APICheck.DownloadError },
		"groups":       func(e *hostCheck) any { return e.c.Before.Groups.Text },
		"connectivity": func(e *hostCheck) any { return e.h.Connectivity },
		"brokenMTU":    (*hostCheck).brokenMTU,
		"mostBehind":   func(*hostCheck) any { return mostBehind.Minutes() },
		"mostAhead":    func(*hostCheck) any { return mostAhead.Minutes() },
		"serviceTime":  func(e *hostCheck) any { return e.now },
		"failedImages": (*hostCheck).failedImages,
		"latencyLimit": func(e *hostCheck) any { return *e.need.LatencyMs },
		"lossLimit":    func(e *hostCheck) any { return *e.need.PacketLoss },
		"slowHosts": func(e *hostCheck) any {
			return e.beyond(e.h.Network.Latency, func(l *models.L3Connectivity) float64 { return l.AverageRTTMs }, *e.need.LatencyMs, " ms")
		},
		"lossyHosts": func(e *hostCheck) any {
			return e.beyond(e.h.Network.Loss, func(l *models.L3Connectivity) float64 { return l.PacketLossPercentage }, *e.need.PacketLoss, "%")
		},
		"baseDomain":        func(e *hostCheck) any { return e.c.BaseDNSDomain },
		"domain":            func(e *hostCheck) any { return e.domain() },
		"wildcard":          (*hostCheck).wildcard,
		"coresForVMs":       func(e *hostCheck) any { return e.needForVMs().CPUCores },
		"memoryForVMs":      func(e *hostCheck) any { return e.needForVMs().RAMMiB },
		"usableMemory":      func(e *hostCheck) any { return e.h.Inv.Memory.UsableBytes >> 20 },
		"storageModeInText": func(e *hostCheck) any { return strings.ToLower(storageMode(e.c)) },
		"overlap":           (*hostCheck).overlap,
		"collisions":        (*hostCheck).collisions,
	}
}

func (e *hostCheck) needForVMs() versions.Hardware {
	return OperatorHardware(e.c.OpenshiftVersion, hardwareRole(e.c, e.h.EffectiveRole()), "cnv")
}

func (e *hostCheck) platformFits() bool {
	switch e.c.PlatformType() {
	case "vsphere":
		return e.h.Inv.OfVMware()
	case "nutanix":
		return e.h.Inv.SystemVendor != nil && e.h.Inv.SystemVendor.Manufacturer == "Nutanix"
	}
	return true
}

// SelectsRole reports whether an option such as disk encryption, which is on for some roles, is so for one.
func SelectsRole(roles, role string) bool {
	if roles == "" || roles == "none" || role == model.RoleAuto {
		return false
	}
	return roles == "all" || strings.Contains(","+roles+",", ","+role+"s,")
}

// NeedsTPM reports whether machines of a role keep the key of their disk in a TPM.
func NeedsTPM(c *model.Cluster, role string) bool {
	e := c.DiskEncryption
	return e != nil && e.Mode == "tpmv2" && SelectsRole(e.EnableOn, role)
}

func (e *hostCheck) isIn(n model.MachineNetwork) bool {
	_, in := e.h.Inv.InAny([]model.MachineNetwork{n})
	return in
}

// inMajority reports whether the host reaches most of the others: by its machine networks, or
// by pings where the cluster's networks are the user's.
func (e *hostCheck) inMajority() bool {
	groups := e.c.Before.Groups
	if e.c.UserManaged() || e.c.UserBalanced() {
		return e.isPinged(groups.L3[e.h.ID])
	}
	return !slices.ContainsFunc(e.c.Before.Machine, func(n model.MachineNetwork) bool {
		return !slices.Contains(groups.Networks[n.CIDR], e.h.ID)
	})
}

// isPinged reports whether all others reach the host in each family of the cluster's networks.
func (e *hostCheck) isPinged(reached []string) bool {
	machine, clusterNets, services := e.c.CIDRs()
	wanted := families(slices.Concat(machine, clusterNets, services))
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(four bool) bool {
		return !slices.ContainsFunc(reached, func(address string) bool { return strings.Contains(address, ".") == four })
	})
}

// brokenMTU names a card whose full packets did not arrive.
func (e *hostCheck) brokenMTU() any {
	for _, m := range e.h.Network.BrokenMTU {
		if e.c.UserManaged() || InAny(m.RemoteIPAddress, e.c.Before.Machine) {
			return fmt.Sprintf("MTU is broken. Interface: %s, remote IP address: %s", m.OutgoingNic, m.RemoteIPAddress)
		}
	}
	return ""
}

func (e *hostCheck) failedImages() any {
	var broken []string
	for name, r := range e.h.ImageResults {
		if r.Result != "success" {
			broken = append(broken, name)
		}
	}
	slices.Sort(broken)
	return strings.Join(broken, ",")
}

// beyond names the hosts of the same role that a measurement is too high for.
func (e *hostCheck) beyond(worst float64, measure func(*models.L3Connectivity) float64, limit float64, unit string) string {
	if worst <= limit {
		return ""
	}
	var names []string
	for _, other := range e.c.Hosts {
		remote, known := e.h.Peers[other.ID]
		if !known || other == e.h || other.EffectiveRole() != e.h.EffectiveRole() || len(names) > 2 {
			continue
		}
		for _, l := range remote.L3Connectivity {
			if v := measure(l); v > limit {
				names = append(names, fmt.Sprintf("%s (%.2f%s)", other.Name(), v, unit))
				break
			}
		}
	}
	return strings.Join(names, ", ")
}

func (e *hostCheck) overlap() any {
	list := e.h.Inv.Addresses
	for i, a := range list {
		for _, b := range list[i+1:] {
			if a.NIC == b.NIC || a.Prefix.Addr().IsLinkLocalUnicast() || !a.Prefix.Overlaps(b.Prefix) {
				continue
			}
			x, y := e.h.Inv.Interfaces[a.NIC].Name, e.h.Inv.Interfaces[b.NIC].Name
			if a.Prefix.Masked() == b.Prefix.Masked() {
				return fmt.Sprintf("Address networks are overlapping: Address network %s appears on multiple interfaces [%s, %s]", a.Prefix.Masked(), x,
					y)
			}
			return fmt.Sprintf("Address networks are overlapping: Address networks %s in interface %s and %s in interface %s overlap",
				a.Prefix.Masked(), x, b.Prefix.Masked(), y)
		}
	}
	return ""
}

// collisions are the host's addresses that several cards answer at, one a line.
func (e *hostCheck) collisions() any {
	var lines strings.Builder
	for _, ip := range slices.Sorted(maps.Keys(e.c.Before.Collisions)) {
		addr, err := netip.ParseAddr(ip)
		if err != nil || !slices.ContainsFunc(e.h.Inv.Addresses, func(a model.Address) bool { return a.Prefix.Addr() == addr }) {
			continue
		}
		fmt.Fprintf(&lines, "Collisions detected for host ID %s, IP address: %s Mac addresses: %s\n", e.h.ID, ip,
			strings.Join(e.c.Before.Collisions[ip], ","))
	}
	return lines.String()
}

// resolved are the addresses that a host found for a name of its cluster; false if it was not asked.
func (e *hostCheck) resolved(name string) (addresses string, asked bool) {
	name = fmt.Sprintf(name, e.domain())
	for _, r := range e.h.Resolutions {
		if model.Value(r.DomainName) != name {
			continue
		}
		var all []string
		for _, a := range r.IPV4Addresses {
			all = append(all, a.String())
		}
		for _, a := range r.IPV6Addresses {
			all = append(all, a.String())
		}
		return strings.Join(all, ", "), true
	}
	return "", false
}

func (e *hostCheck) resolves(name string) bool {
	addresses, _ := e.resolved(name)
	return addresses != ""
}

func (e *hostCheck) domain() string { return e.c.Name + "." + e.c.BaseDNSDomain }

// The names of which a host asks whether any name of the cluster's domain resolves: with a
// search list, and without.
const (
	wildcardName     = "validateNoWildcardDNS.%s"
	wildcardAbsolute = "validateNoWildcardDNS.%s."
)

func (e *hostCheck) asked(name string) bool {
	_, asked := e.resolved(name)
	return asked
}

// wildcard are the addresses of the first of both names that resolves.
func (e *hostCheck) wildcard() any {
	relative, _ := e.resolved(wildcardName)
	absolute, _ := e.resolved(wildcardAbsolute)
	return cmp.Or(relative, absolute)
}
