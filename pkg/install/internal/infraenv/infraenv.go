// Package infraenv says which InfraEnvs a cluster.yaml needs, and which of them each host
// boots: by the architectures of the hosts, and by how many static networks one image holds.
package infraenv

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oaictl/oaictl/internal/shared/clustersettings"
	"github.com/oaictl/oaictl/pkg/install/internal/ignitionsize"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Plans are the InfraEnvs of a cluster: one, or one for each CPU
// architecture where the cluster's is multi, and further ones where the static
// networks of the hosts do not fit into the discovery Ignition of one; and behind these
// one for each host that has its own (match.infraEnv). have are
// those that the service has already: a host whose network is in one of them
// stays there. The same file and the same InfraEnvs always give the same plans,
// and a plan that is carried out in part is gone on with.
func Plans(c *spec.Cluster, have []model.InfraEnv) ([]model.InfraEnvPlan, error) {
	arches, byArch := archesOf(c)
	own, taken := newOwnEnvs(c, have), map[int]bool{}
	for i := range c.Spec.Hosts {
		taken[envNumber(c.Metadata.Name, c.Spec.Hosts[i].Match.InfraEnv)] = true
	}
	var plans []model.InfraEnvPlan
	for place, arch := range arches {
		settings, err := clustersettings.OfInfraEnv(c, arch)
		if err != nil {
			return nil, err
		}
		s := &split{cluster: c, own: own, taken: taken, seats: map[int][]seat{},
			room: sync.OnceValue(func() int { return networkRoom(settings) })}
		s.fits = func(number int) bool {
			if len(arches) == 1 {
				return true
			}
			if reported := own[number].Settings[model.SettingArch].Text(); reported != "" {
				return reported == string(arch)
			}
			return number == place+1
		}
		s.distribute(byArch[arch])
		for _, number := range slices.Sorted(maps.Keys(s.seats)) {
			taken[number] = true
			plan := model.InfraEnvPlan{Name: NameOf(c.Metadata.Name, number), Arch: arch, Settings: maps.Clone(settings)}
			for _, h := range s.seats[number] {
				plan.Hosts = append(plan.Hosts, h.name)
			}
			if networks := networksOf(s.seats[number]); len(networks) > 0 {
				plan.Settings[model.SettingStaticNetworks] = model.ValueOf(networks)
			}
			plans = append(plans, plan)
		}
	}
	for i := range c.Spec.Hosts {
		if host := &c.Spec.Hosts[i]; host.Match.InfraEnv != "" {
			plan, err := aloneFor(c, host)
			if err != nil {
				return nil, err
			}
			plans = append(plans, plan)
		}
	}
	return plans, nil
}

// aloneFor is the InfraEnv that serves a host alone.
func aloneFor(c *spec.Cluster, host *spec.Host) (model.InfraEnvPlan, error) {
	plan := model.InfraEnvPlan{Name: host.Match.InfraEnv, Alone: host.Name, Hosts: []string{host.Name}, Arch: imageArch(c, host.Arch)}
	settings, err := clustersettings.OfInfraEnv(c.ForInfraEnv(plan.Name), plan.Arch)
	if err != nil {
		return model.InfraEnvPlan{}, err
	}
	plan.Settings = settings
	if network := staticNetworkOf(c, host); network != nil {
		settings[model.SettingStaticNetworks] = model.ValueOf([]model.StaticNetwork{*network})
	}
	return plan, nil
}

// archesOf are the architectures of the machines that share InfraEnvs, x86_64 always first, and their hosts in the
// order of the file. There are none where every host has its own InfraEnv, or comes from a pool, and the file accepts
// no other host; and none where no host is to be added to an imported cluster.
func archesOf(c *spec.Cluster) (arches []spec.Arch, byArch map[spec.Arch][]seat) {
	byArch = map[spec.Arch][]seat{}
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		if host.Match.InfraEnv != "" || host.Match.Agent != "" {
			continue
		}
		arch := imageArch(c, host.Arch)
		byArch[arch] = append(byArch[arch], seat{index: i, name: host.Name, network: staticNetworkOf(c, host)})
	}
	if len(byArch) == 0 && (len(c.Spec.Hosts) == 0 && !c.Imported() || c.Spec.AcceptUnknownHosts) {
		byArch[imageArch(c, "")] = nil
	}
	arches = slices.SortedFunc(maps.Keys(byArch), func(a, b spec.Arch) int {
		switch { // the most common one first
		case a == b:
			return 0
		case a == spec.X86:
			return -1
		case b == spec.X86:
			return 1
		}
		return cmp.Compare(a, b)
	})
	return arches, byArch
}

// staticNetworkOf is the network of a host, nil for DHCP.
func staticNetworkOf(c *spec.Cluster, host *spec.Host) *model.StaticNetwork {
	yaml, macs, ok := c.StaticNetwork(host)
	if !ok {
		return nil
	}
	network := &model.StaticNetwork{YAML: yaml}
	for _, mac := range macs {
		network.MACs = append(network.MACs, spec.NIC{MAC: clustersettings.MAC(mac.MAC), Name: mac.Name})
	}
	return network
}

// imageArch is the architecture of a host's image: its own in a cluster of several.
func imageArch(c *spec.Cluster, host spec.Arch) spec.Arch {
	arch := c.Spec.OpenShift.Arch
	if arch == spec.Multi {
		return cmp.Or(host, spec.X86)
	}
	return arch
}

const (
	margin = 10 // what is left free of a discovery image's room, in percent
	// othersRoom is what the service's own discovery Ignition takes, compressed:
	// its units and scripts, and the pull secret.
	othersRoom = 32 << 10
	// leastRoom is the room for networks even if everything else takes more: the service reports an error to a user who
	// gives too much.
	leastRoom = 64 << 10
	// laterRoom is how much of the room, in percent, the hosts of an InfraEnv that
	// is there may take so that others are still added to it. It is less than what
	// a new one is filled to, so that one that was filled stays as it is.
	laterRoom = 80
	step      = 48 << 10 // how much text goes from one InfraEnv to the next at once
)

// networkRoom is how many compressed bytes the static networks of one InfraEnv may take.
func networkRoom(settings model.Settings) int {
	p := &ignitionsize.Packing{}
	p.Add(settings[model.SettingDiscoveryIgnition].Text())
	p.Add(base64.StdEncoding.EncodeToString([]byte(settings[model.SettingTrustBundle].Text())))
	p.Add(settings[model.SettingSSHKeys].Text())
	p.Add(string(settings[model.SettingProxy]))
	return max(leastRoom, ignitionsize.EmbedArea*(100-margin)/100-othersRoom-p.Compressed())
}

// seat is a place in an InfraEnv for a host.
type seat struct {
	index   int // in the file
	name    string
	network *model.StaticNetwork // nil: the host's network says itself what it is
}

// ownEnvs are the InfraEnvs of a cluster by their numbers: 1 is the one that is called like the cluster. Of several of
// one name, the first counts. An InfraEnv that serves only one host has no number, even if its name has one.
type ownEnvs map[int]*model.InfraEnv

func newOwnEnvs(c *spec.Cluster, have []model.InfraEnv) ownEnvs {
	own := ownEnvs{}
	for i := range have {
		if number := envNumber(c.Metadata.Name, have[i].Name); MayShare(c, have[i].Name) && own[number] == nil {
			own[number] = &have[i]
		}
	}
	return own
}

// MayShare reports whether an InfraEnv of that name is one that hosts of the cluster share.
func MayShare(c *spec.Cluster, name string) bool {
	return envNumber(c.Metadata.Name, name) > 0 && c.HostAloneIn(name) == nil
}

func envNumber(cluster, name string) int {
	if name == cluster {
		return 1
	}
	text, numbered := strings.CutPrefix(name, cluster+"-")
	number, err := strconv.Atoi(text)
	if !numbered || err != nil || number < 2 || text != strconv.Itoa(number) {
		return 0
	}
	return number
}

// NameOf is the name of a cluster's InfraEnv by its number, from 1.
func NameOf(cluster string, number int) string {
	if number == 1 {
		return cluster
	}
	return cluster + "-" + strconv.Itoa(number)
}

// split is the distribution of the hosts of one architecture over InfraEnvs.
type split struct {
	cluster *spec.Cluster
	own     ownEnvs
	taken   map[int]bool   // numbers that other architectures have
	fits    func(int) bool // an InfraEnv that is there is of this architecture
	room    func() int     // bytes for networks in each
	seats   map[int][]seat // by number
}

// distribute gives every host an InfraEnv. A host with its network in an InfraEnv stays there, even if the others move;
// the rest fill up the InfraEnvs that are there and then new ones, in the order of the file.
func (s *split) distribute(hosts []seat) {
	var later []seat
	first := s.next(1)
	owners := s.owners()
	for _, h := range hosts {
		switch number, known := owners.of(h.network); {
		case h.network == nil:
			s.seats[first] = append(s.seats[first], h)
		case known:
			s.seats[number] = append(s.seats[number], h)
		default:
			later = append(later, h)
		}
	}
	for number := first; len(later) > 0; number = s.next(number + 1) {
		later = s.fill(number, later)
	}
	if len(s.seats) == 0 {
		s.seats[first] = nil // for machines that the file does not name
	}
	for _, seats := range s.seats {
		slices.SortFunc(seats, func(a, b seat) int { return cmp.Compare(a.index, b.index) })
	}
}

// next is the first InfraEnv, from a number on, that may take hosts of this
// architecture: one that is there, or one to be made.
func (s *split) next(number int) int {
	for s.taken[number] || s.own[number] != nil && !s.fits(number) {
		number++
	}
	return number
}

// fill adds hosts to an InfraEnv as long as they fit, and returns the rest. A new
// one takes one host at least.
func (s *split) fill(number int, hosts []seat) []seat {
	limit, isNew := s.room(), s.own[number] == nil
	if !isNew {
		limit = limit * laterRoom / 100
	}
	p := &ignitionsize.Packing{}
	for _, h := range s.seats[number] {
		if h.network != nil {
			p.Add(ignitionsize.Profiles(p.Pending(), h.network))
		}
	}
	for _, network := range Others(s.cluster, s.own[number]) {
		p.Add(ignitionsize.Profiles(p.Pending(), &network))
	}
	for place := 0; len(hosts) > 0; {
		n := 0
		for begun := p.Raw; n < len(hosts) && p.Raw-begun < step; n++ {
			p.Add(ignitionsize.Profiles(place+n, hosts[n].network))
		}
		if !p.Within(limit) && (place > 0 || !isNew) {
			break
		}
		s.seats[number] = append(s.seats[number], hosts[:n]...)
		hosts, place = hosts[n:], place+n
	}
	return hosts
}

// owners says, by MAC address, which InfraEnv holds the network of a machine.
type owners map[string]int

func (s *split) owners() owners {
	found := owners{}
	for number, env := range s.own {
		if !s.fits(number) {
			continue
		}
		var networks []model.StaticNetwork
		if env.Settings[model.SettingStaticNetworks].Decode(&networks) != nil {
			continue // it holds none
		}
		for i := range networks {
			for _, m := range networks[i].MACs {
				mac := clustersettings.MAC(m.MAC)
				if other, known := found[mac]; !known || number < other {
					found[mac] = number
				}
			}
		}
	}
	return found
}

func (o owners) of(n *model.StaticNetwork) (number int, known bool) {
	if n == nil {
		return 0, false
	}
	for _, m := range n.MACs {
		if number, known = o[clustersettings.MAC(m.MAC)]; known {
			return number, true
		}
	}
	return 0, false
}

// Others are the networks in an InfraEnv that stay there beside those of the file's hosts:
// of machines that a file which only adds hosts does not name. They may have yet to boot.
func Others(c *spec.Cluster, env *model.InfraEnv) []model.StaticNetwork {
	var others []model.StaticNetwork
	if !c.OnlyAdds() || env == nil || env.Settings[model.SettingStaticNetworks].Decode(&others) != nil {
		return nil
	}
	own := map[string]bool{}
	for i := range c.Spec.Hosts {
		host := &c.Spec.Hosts[i]
		own[clustersettings.MAC(host.Match.MAC)] = true
		if network := staticNetworkOf(c, host); network != nil {
			for _, nic := range network.MACs {
				own[clustersettings.MAC(nic.MAC)] = true
			}
		}
	}
	return slices.DeleteFunc(others, func(n model.StaticNetwork) bool {
		return slices.ContainsFunc(n.MACs, func(nic spec.NIC) bool { return own[clustersettings.MAC(nic.MAC)] })
	})
}

func networksOf(seats []seat) []model.StaticNetwork {
	var networks []model.StaticNetwork
	for _, h := range seats {
		if h.network != nil {
			networks = append(networks, *h.network)
		}
	}
	slices.SortFunc(networks, func(a, b model.StaticNetwork) int {
		return cmp.Compare(clustersettings.FirstMAC(a), clustersettings.FirstMAC(b))
	})
	return networks
}

// Serves reports whether an InfraEnv's image runs on the machines of an intended one.
func Serves(i *model.InfraEnvPlan, env *model.InfraEnv) bool {
	arch := env.Settings[model.SettingArch].Text()
	return i.Arch == "" || arch == "" || arch == string(i.Arch)
}

// HeldBy reports whether an InfraEnv is for the hosts of a plan, where several are for machines of one architecture: it
// holds their networks.
func HeldBy(i *model.InfraEnvPlan, env *model.InfraEnv, intended []model.InfraEnvPlan) bool {
	alike := 0
	for _, other := range intended {
		if other.Arch == i.Arch && other.Alone == "" {
			alike++
		}
	}
	if alike == 1 {
		return true
	}
	var have, want []model.StaticNetwork
	_ = env.Settings[model.SettingStaticNetworks].Decode(&have) // none where the service says none
	_ = i.Settings[model.SettingStaticNetworks].Decode(&want)
	held := map[string]bool{}
	for _, n := range have {
		held[clustersettings.MAC(clustersettings.FirstMAC(n))] = true
	}
	return len(want) == 0 && len(have) == 0 || slices.ContainsFunc(want,
		func(n model.StaticNetwork) bool { return held[clustersettings.MAC(clustersettings.FirstMAC(n))] })
}
