package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// unknownHosts makes sure that no machine is wiped that the file does not name.
type unknownHosts struct {
	*collector
	spec         *spec.Cluster
	roster       *roster
	attendance   *attendance
	images       *images
	hostSettings *hostSettings
	hostStates   *hostStates
}

// check makes sure that no machine is wiped that the file does not name.
func (u *unknownHosts) check() {
	if u.spec.Spec.AcceptUnknownHosts {
		u.accept()
		return
	}
	for _, host := range u.roster.unread {
		if host.State == model.HostDisconnected {
			u.hostStates.disconnected(host)
			continue
		}
		u.wait(model.Wait{
			Key: "host/" + host.ID + "/inventory", Scope: model.ScopeHost.Of(host.ID), Since: host.Registered, Who: model.WhoMachine,
			For: "the inventory of a new host, to identify it",
		})
	}
	for _, host := range u.roster.unknown {
		if u.tooEarly(host) {
			continue
		}
		u.block(model.Blocker{
			Key: "host/" + host.ID + "/unknown", Scope: model.ScopeHost.Of(host.ID), Reason: "UnknownHost", Cure: model.CurePerson,
			Since: host.Registered, Field: "spec.hosts",
			Message: fmt.Sprintf("%s registered, but the file does not name it; the installation would wipe it", host.Label()),
			Remedy:  model.Advicef("power it off and `{delete host %s --yes}`, or add it to spec.hosts", host.ID),
			Hosts:   []string{cmp.Or(host.Hostname, host.ID)},
		})
	}
}

// accept lets machines take part that the file counts without naming them.
func (u *unknownHosts) accept() {
	unnamed := slices.DeleteFunc(slices.Concat(u.roster.unknown, u.roster.unread), u.tooEarly)
	if u.surplus(unnamed) {
		return
	}
	for _, host := range unnamed {
		switch {
		case u.images.runsOldImage(host):
			u.hostStates.bootNewImage(host)
		case u.hostStates.usable(host):
			u.hostSettings.approveUnnamed(host)
			if host.State == model.HostReady {
				u.hostSettings.wipes(u.roster.Call(host), host)
			}
		}
	}
	if u.attendance.unnamedMissing() > 0 {
		for _, host := range u.bindable() {
			u.hostStates.bind(host)
		}
	}
}

// bindable are the machines of a pool that could become part of the cluster.
func (u *unknownHosts) bindable() []*model.Host {
	return slices.DeleteFunc(slices.Clone(u.roster.pool), func(h *model.Host) bool {
		return h.State != model.HostUnbound || !h.Inventory.Known || h.Status != "known-unbound" || u.images.runsOldImage(h)
	})
}

// surplus reports whether more machines came than the file counts, or are in a pool than are still missing. The service
// would install every one that belongs to the cluster; which of them are meant is for a person to say.
func (u *unknownHosts) surplus(unnamed []*model.Host) bool {
	room := u.attendance.counts().total() - len(u.spec.Spec.Hosts)
	candidates := slices.DeleteFunc(slices.Clone(unnamed), func(h *model.Host) bool { return !h.Inventory.Known })
	if missing := room - len(candidates); missing > 0 {
		if pool := u.bindable(); len(pool) > missing {
			candidates = append(candidates, pool...)
		}
	}
	if len(candidates) <= room {
		return false
	}
	var labels, names []string
	for _, h := range candidates {
		labels = append(labels, fmt.Sprintf("%s, id %s", h.Label(), h.ID))
		names = append(names, cmp.Or(h.Hostname, h.ID))
	}
	u.block(model.Blocker{
		Key: "hosts/surplus", Scope: model.ScopeCluster, Reason: "SurplusHosts", Cure: model.CurePerson, Field: "spec.topology",
		Message: fmt.Sprintf("%d machines registered that the file does not name, but it has room for only %d of them; the installation "+
			"would wipe them all: %s",
			len(candidates), room, strings.Join(labels, "; ")),
		Remedy: "power off the machines that do not belong to the cluster and `{delete host ID --yes}` each, or add the others to spec.hosts",
		Hosts:  names,
	})
	return true
}

// tooEarly reports whether a machine that is no host of the install is one that is added later, and has it taken out of
// the way: it is no stranger.
func (u *unknownHosts) tooEarly(h *model.Host) bool {
	if u.roster.whole == u.spec {
		return false
	}
	name := ""
	hosts := u.roster.whole.Spec.Hosts
	if i := slices.IndexFunc(hosts, func(w spec.Host) bool { return u.roster.later(w.Name) && u.roster.identifies(&w.Match, h) }); i >= 0 {
		name = hosts[i].Name
	} else if !u.spec.Spec.AcceptUnknownHosts || len(u.spec.Spec.Hosts) == 0 {
		return false // of no cluster, or perhaps the single node itself
	}
	u.block(model.Blocker{
		Key: "host/" + h.ID + "/early", Scope: model.ScopeHost.Of(h.ID), Reason: "TooEarly", Cure: model.CurePerson, Since: h.Registered,
		Message: fmt.Sprintf("%s registered too early: a single node cluster accepts workers only after its installation",
			cmp.Or(name, h.Label())),
		Remedy: model.Advicef("switch it off and `{delete host %s --yes}`; after the installation of the cluster, `{add-node "+
			"-f FILE}` adds it", h.ID),
		Hosts: []string{cmp.Or(name, h.Hostname, h.ID)},
	})
	return true
}
