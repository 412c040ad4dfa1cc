package install

import (
	"cmp"
	"fmt"
	"slices"
)

// unknownHosts sees to it that no machine is wiped that the file does not name.
func (p *planner) unknownHosts() {
	if p.spec.Spec.AcceptUnknownHosts {
		p.acceptUnknown()
		return
	}
	for _, host := range p.matches.unread {
		if host.State == HostDisconnected {
			p.disconnected(host)
			continue
		}
		p.wait(Wait{
			Key: "host/" + host.ID + "/inventory", Scope: HostScope(host.ID), Since: host.Registered, Who: WhoMachine,
			For: "the inventory of a new host, to see which one it is",
		})
	}
	for _, host := range p.matches.unknown {
		if p.tooEarly(host) {
			continue
		}
		p.block(Blocker{
			Key: "host/" + host.ID + "/unknown", Scope: HostScope(host.ID), Reason: "UnknownHost", Cure: CurePerson, Since: host.Registered, Field: "spec.hosts",
			Message: fmt.Sprintf("%s registered, but the file does not name it; installing would wipe it", host.label()),
			Remedy:  fmt.Sprintf("power it off and `oaictl delete host %s --yes`, or add it to spec.hosts", host.ID),
			Hosts:   []string{cmp.Or(host.Hostname, host.ID)},
		})
	}
}

// acceptUnknown lets machines take part that the file allows without naming
// them. Of a pool it takes as many as are missing and no more: the rest may be
// meant for others.
func (p *planner) acceptUnknown() {
	for _, host := range slices.Concat(p.matches.unknown, p.matches.unread) {
		switch {
		case p.tooEarly(host):
		case p.runsOldImage(host):
			p.bootNewImage(host)
		case p.usable(host):
			p.approveUnnamed(host)
			if host.State == HostReady {
				p.wipes(p.hostName(host), host)
			}
		}
	}
	wanted := p.unnamedMissing()
	for _, host := range p.matches.pool {
		if wanted > 0 && host.State == HostUnbound && host.Inventory.Known && host.Status == "known-unbound" && !p.runsOldImage(host) {
			p.bind(host)
			wanted--
		}
	}
}
