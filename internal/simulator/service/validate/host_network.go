package validate

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/simulator/service/model"
	"github.com/openshift/assisted-service/models"
)

func (e *hostCheck) isIn(n model.MachineNetwork) bool {
	_, in := e.h.Inv.InAny([]model.MachineNetwork{n})
	return in
}

// inMajority tells whether the host reaches most of the others: by its machine networks, or
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

// isPinged tells whether all others reach the host in each family of the cluster's networks.
func (e *hostCheck) isPinged(reached []string) bool {
	machine, clusterNets, services := e.c.CIDRs()
	wanted := families(slices.Concat(machine, clusterNets, services))
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(four bool) bool {
		return !slices.ContainsFunc(reached, func(address string) bool { return strings.Contains(address, ".") == four })
	})
}

// brokenMTU names a card whose full packets did not arrive.
func (e *hostCheck) brokenMTU() any {
	for _, remote := range e.h.Peers {
		for _, m := range remote.MtuReport {
			if !m.MtuSuccessful && (e.c.UserManaged() || InAny(m.RemoteIPAddress, e.c.Before.Machine)) {
				return fmt.Sprintf("MTU is broken. Interface: %s, remote IP address: %s", m.OutgoingNic, m.RemoteIPAddress)
			}
		}
	}
	return ""
}

func (e *hostCheck) ntpSynced() bool {
	return slices.ContainsFunc(e.h.NTP, func(s models.NtpSource) bool { return s.SourceState == models.SourceStateSynced })
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

func (e *hostCheck) alone() bool {
	return len(e.c.Hosts) == 1 || e.h.EffectiveRole() == model.RoleAuto || e.h.Kind == model.KindAddedHost
}

// beyond names the hosts of the same role that a measurement is too high for.
func (e *hostCheck) beyond(measure func(*models.L3Connectivity) float64, limit float64, unit string) string {
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
				return fmt.Sprintf("Address networks are overlapping: Address network %s appears on multiple interfaces [%s, %s]", a.Prefix.Masked(), x, y)
			}
			return fmt.Sprintf("Address networks are overlapping: Address networks %s in interface %s and %s in interface %s overlap", a.Prefix.Masked(), x, b.Prefix.Masked(), y)
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
		fmt.Fprintf(&lines, "Collisions detected for host ID %s, IP address: %s Mac addresses: %s\n", e.h.ID, ip, strings.Join(e.c.Before.Collisions[ip], ","))
	}
	return lines.String()
}

// resolves judges whether the host finds a name of the cluster; shown is the name as people know it.
func (e *hostCheck) resolves(lookup, shown, target string) (status, message string) {
	base := e.c.Name + "." + e.c.BaseDNSDomain
	lookup, shown = lookup+base, shown+base
	fine := fmt.Sprintf("Domain name resolution for the %s domain was successful or not required", shown)
	if e.c.Imported {
		if !slices.ContainsFunc(e.c.Hosts, func(h *model.Host) bool { return h.APICheck != nil && h.APICheck.IsSuccess }) {
			return model.Pending, fmt.Sprintf("DNS validation for the %s domain cannot be completed at the moment. This could be due to other validations", shown)
		}
	} else if !e.c.UserManaged() && !e.c.UserBalanced() {
		return model.Passed, fine
	}
	if e.c.IsSingle() && !e.c.IsDay2() {
		return model.Passed, fine // the node brings its own name server
	}
	if e.c.BaseDNSDomain == "" {
		return model.Errored, fmt.Sprintf("DNS validation for the %s domain cannot be completed because the cluster does not have base_dns_domain set. Please update the cluster with the correct base_dns_domain", target)
	}
	if e.h.Resolutions == nil {
		return model.Errored, "Error while evaluating DNS resolution on this host"
	}
	if all, _ := e.resolved(lookup); len(all) == 0 {
		return model.Failed, fmt.Sprintf("Couldn't resolve domain name %s on the host. To continue installation, create the necessary DNS entries to resolve this domain name to your cluster's %s IP address", shown, target)
	}
	return model.Passed, fine
}

// resolved are the addresses that a host found for a name; false if it was not asked.
func (e *hostCheck) resolved(name string) ([]string, bool) {
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
		return all, true
	}
	return nil, false
}

func (e *hostCheck) wildcard() (status, message string) {
	base := "validateNoWildcardDNS." + e.c.Name + "." + e.c.BaseDNSDomain
	for _, name := range []string{base, base + "."} {
		all, found := e.resolved(name)
		if !found {
			return model.Errored, "Internal error - DNS wildcard check cannot be performed because the DNS validation result doesn't contain the wildcard domain"
		}
		if len(all) > 0 {
			return model.Failed, fmt.Sprintf("DNS wildcard configuration was detected for domain *.%s.%s - the installation will not be able to complete while this record exists. Please remove it to proceed. The domain resolves to addresses %s",
				e.c.Name, e.c.BaseDNSDomain, strings.Join(all, ", "))
		}
	}
	return model.Passed, "DNS wildcard check was successful"
}
