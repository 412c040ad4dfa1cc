package decide

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// roster says which hosts of the file there are, and which machine each of them is.
type roster struct {
	Matches
	spec, whole *spec.Cluster // as it is desired now, and with the hosts that are added later
}

// waitFor is a wait for a host.
func (r *roster) waitFor(h *model.Host, what string, who model.Who) model.Wait {
	scope := model.ScopeHost.Of(r.id(h))
	return model.Wait{Key: string(scope) + "/" + strings.ReplaceAll(what, " ", "-"), Scope: scope, For: r.Call(h) + " " + what, Since: h.Since,
		Who: who}
}

// later reports whether a host is one that the cluster is installed without, however long it takes.
func (r *roster) later(name string) bool {
	first := r.whole.AtInstall()
	return first != r.whole && first.Host(name) == nil
}

// matchesAnother reports whether the machine of a host of the file has registered but was taken for another host, which
// is reported there.
func (r *roster) matchesAnother(name string) bool {
	for _, names := range r.several {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// everybody are the hosts of the file, and those that the service has beside them.
func (r *roster) everybody(observed *model.Observed) []nodeplan.Host {
	var all []nodeplan.Host
	for i := range r.whole.Spec.Hosts {
		want := &r.whole.Spec.Hosts[i]
		all = append(all, nodeplan.Host{Name: want.Name, Want: want, Have: r.ByName[want.Name]})
	}
	for i := range observed.Hosts {
		if have := &observed.Hosts[i]; r.Names[have.ID] == "" && !boundToAnother(observed, have) {
			all = append(all, nodeplan.Host{Have: have})
		}
	}
	return all
}

// hostField is how the field of a host of the file begins.
func hostField(name string) string { return "spec.hosts[" + name + "]." }

// Matches says which observed host is which host of the file.
type Matches struct {
	ByName  map[string]*model.Host // name in the file → observed host
	Names   map[string]string
	Part    []*model.Host // all that take part: the hosts of the cluster and those that the file names
	unknown []*model.Host // of the cluster, but no host of the file; their inventory is known
	unread  []*model.Host // of the cluster, and cannot be identified yet: no inventory
	pool    []*model.Host // bound to no cluster, and not named: not considered until they are bound
	leftOut []*model.Host // of the cluster, and it is installed without them
	doubles map[string][]*model.Host
	several map[string][]string // id of a machine → further names in the file that fit it
	envs    map[string]string   // id of an InfraEnv → its name
}

// MatchHosts finds the machine of every host of the file. All that a host's match says has to fit, and exactly: never a
// prefix. A machine that belongs to another cluster is not considered.
func MatchHosts(hosts []spec.Host, observed *model.Observed) Matches {
	m := Matches{
		ByName: map[string]*model.Host{}, Names: map[string]string{}, doubles: map[string][]*model.Host{}, several: map[string][]string{},
		envs: make(map[string]string, len(observed.InfraEnvs)),
	}
	for i := range observed.InfraEnvs {
		m.envs[observed.InfraEnvs[i].ID] = observed.InfraEnvs[i].Name
	}
	candidates := newIdentities(hosts)
	for i := range observed.Hosts {
		host := &observed.Hosts[i]
		if boundToAnother(observed, host) {
			continue
		}
		var fits []int
		for _, j := range candidates.of(host, m.envs[host.InfraEnvID]) {
			if !slices.Contains(fits, j) && m.identifies(&hosts[j].Match, host) {
				fits = append(fits, j)
			}
		}
		slices.Sort(fits)
		m.add(hosts, host, fits)
	}
	return m
}

// add puts a machine where it belongs; fits are the places of the hosts of the
// file that it may be.
func (m *Matches) add(hosts []spec.Host, host *model.Host, fits []int) {
	switch {
	case len(fits) > 0:
		name := hosts[fits[0]].Name
		m.Part = append(m.Part, host)
		for _, j := range fits[1:] {
			m.several[host.ID] = append(m.several[host.ID], hosts[j].Name)
		}
		if m.ByName[name] != nil {
			m.doubles[name] = append(m.doubles[name], host)
			return
		}
		m.ByName[name] = host
		m.Names[host.ID] = name
	case host.Unbound() && host.Reserved != "": // and is not what the file says of it
	case host.Unbound():
		m.pool = append(m.pool, host)
	case !host.Inventory.Known:
		m.Part = append(m.Part, host)
		m.unread = append(m.unread, host)
	default:
		m.Part = append(m.Part, host)
		m.unknown = append(m.unknown, host)
	}
}

// leaveOut takes hosts out of those that take part. They keep their names.
func (m *Matches) leaveOut(hosts []spec.Host) {
	if len(hosts) == 0 {
		return
	}
	out := map[string]bool{}
	for i := range hosts {
		name := hosts[i].Name
		for _, h := range append(m.doubles[name], m.ByName[name]) {
			if h == nil {
				continue
			}
			out[h.ID], m.Names[h.ID] = true, name
			if !h.Unbound() {
				m.leftOut = append(m.leftOut, h)
			}
		}
		delete(m.ByName, name)
		delete(m.doubles, name)
	}
	m.Part = slices.DeleteFunc(m.Part, func(h *model.Host) bool { return out[h.ID] })
}

// Call is what people call a host: by its name in the file, or else by the one
// that the service has for it.
func (m *Matches) Call(h *model.Host) string { return cmp.Or(m.Names[h.ID], h.Hostname, h.ID) }

// id is what keys and scopes call a host: by its name in the file, or else by
// its id, since the service's names are neither unique nor stable.
func (m *Matches) id(h *model.Host) string { return cmp.Or(m.Names[h.ID], h.ID) }

// identities finds hosts of the file by one of the things that their match says, so that hundreds of machines need not
// be compared with hundreds of hosts.
type identities map[string][]int

func newIdentities(hosts []spec.Host) identities {
	ids := identities{}
	for i := range hosts {
		m := &hosts[i].Match
		key := ""
		switch {
		case m.MAC != "":
			key = "mac " + clustersettings.MAC(m.MAC)
		case m.Serial != "":
			key = "serial " + m.Serial
		case m.UUID != "":
			key = "uuid " + strings.ToLower(m.UUID)
		case m.Hostname != "":
			key = "hostname " + m.Hostname
		case m.InfraEnv != "":
			key = "infra-env " + m.InfraEnv
		case m.Agent != "":
			key = "agent " + m.Agent
		default:
			key = "bmc " + normaliseAddress(m.BMC)
		}
		ids[key] = append(ids[key], i)
	}
	return ids
}

// of are the places of the hosts that a machine may be which registered from an InfraEnv of
// that name.
func (ids identities) of(host *model.Host, infraEnv string) []int {
	inventory := &host.Inventory
	keys := []string{
		"infra-env " + infraEnv, "agent " + host.Reserved, "serial " + inventory.Serial, "uuid " + strings.ToLower(host.ID),
		"uuid " + strings.ToLower(inventory.UUID),
		"hostname " + inventory.Hostname, "bmc " + normaliseAddress(inventory.BMC),
	}
	for _, i := range inventory.Interfaces {
		keys = append(keys, "mac "+clustersettings.MAC(i.MAC))
	}
	var places []int
	for _, key := range keys {
		places = append(places, ids[key]...)
	}
	return places
}

func normaliseAddress(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return text
	}
	return address.Unmap().String()
}

// identifies reports whether a machine is the one that match describes.
func (m *Matches) identifies(match *spec.Match, host *model.Host) bool {
	known, fits := 0, true
	check := func(want string, same bool) {
		if want != "" {
			known++
			fits = fits && same
		}
	}
	inventory := host.Inventory
	check(match.UUID, strings.EqualFold(match.UUID, host.ID) || (inventory.UUID != "" && strings.EqualFold(match.UUID, inventory.UUID)))
	check(match.MAC, slices.ContainsFunc(inventory.Interfaces, func(i model.Interface) bool {
		return clustersettings.MAC(i.MAC) == clustersettings.MAC(match.MAC)
	}))
	check(match.Serial, inventory.Serial == match.Serial)
	check(match.Hostname, inventory.Hostname == match.Hostname)
	check(match.BMC, match.BMC != "" && sameAddress(inventory.BMC, match.BMC))
	check(match.InfraEnv, m.envs[host.InfraEnvID] == match.InfraEnv)
	check(match.Agent, host.Reserved == match.Agent)
	return known > 0 && fits
}

func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x.Unmap() == y.Unmap()
}

// boundToAnother reports whether a machine is bound to another cluster.
func boundToAnother(o *model.Observed, h *model.Host) bool {
	return o.Cluster != nil && h.ClusterID != "" && h.ClusterID != o.Cluster.ID
}
