package infraenv

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/oaictl/oaictl/internal/ignitionsize"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/setting"
)

const (
	// margin is what is left free of a discovery image's room, in percent.
	margin = 10
	// othersRoom is what the service's own discovery Ignition takes, compressed:
	// its units and scripts, and the pull secret.
	othersRoom = 32 << 10
	// leastRoom is what networks are given however much else there is: the
	// service tells whoever gives too much.
	leastRoom = 64 << 10
	// laterRoom is how much of the room, in percent, the hosts of an InfraEnv that
	// is there may take so that others are still added to it. It is less than what
	// a new one is filled to, so that one that was filled stays as it is.
	laterRoom = 80
	// step is how much text goes from one InfraEnv to the next at once.
	step = 48 << 10
)

// networkRoom is how many bytes the static networks of one InfraEnv may take,
// compressed.
func networkRoom(settings model.Settings) int {
	p := &ignitionsize.Packing{}
	p.Add(settings[setting.DiscIgnition].Text())
	p.Add(base64.StdEncoding.EncodeToString([]byte(settings[setting.TrustBundle].Text())))
	p.Add(settings[setting.SSHKeys].Text())
	p.Add(string(settings[setting.Proxy]))
	return max(leastRoom, ignitionsize.EmbedArea*(100-margin)/100-othersRoom-p.Compressed())
}

// seat is a place in an InfraEnv for a host.
type seat struct {
	place   int // in the file
	name    string
	network *setting.StaticNetwork // nil: the host's network says itself what it is
}

// ownEnvs are the InfraEnvs of a cluster by their numbers: 1 is the one that is
// called like the cluster. Of several of one name, the first counts.
type ownEnvs map[int]*model.InfraEnv

func newOwnEnvs(cluster string, have []model.InfraEnv) ownEnvs {
	own := ownEnvs{}
	for i := range have {
		if number := envNumber(cluster, have[i].Name); number > 0 && own[number] == nil {
			own[number] = &have[i]
		}
	}
	return own
}

// envNumber is the number of a cluster's InfraEnv, 0 for another name.
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
	own   ownEnvs
	taken map[int]bool   // numbers that other architectures have
	fits  func(int) bool // an InfraEnv that is there is of this architecture
	room  func() int     // bytes for networks in each
	seats map[int][]seat // by number
}

// distribute gives every host an InfraEnv. One whose network is in an InfraEnv
// stays there, whatever becomes of the others; the rest fills up what is there
// and then new ones, in the order of the file.
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
		slices.SortFunc(seats, func(a, b seat) int { return cmp.Compare(a.place, b.place) })
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
		var networks []setting.StaticNetwork
		if env.Settings[setting.StaticNetworks].Decode(&networks) != nil {
			continue // it holds none
		}
		for i := range networks {
			for _, m := range networks[i].MACs {
				mac := setting.MAC(m.MAC)
				if other, known := found[mac]; !known || number < other {
					found[mac] = number
				}
			}
		}
	}
	return found
}

func (o owners) of(n *setting.StaticNetwork) (number int, known bool) {
	if n == nil {
		return 0, false
	}
	for _, m := range n.MACs {
		if number, known = o[setting.MAC(m.MAC)]; known {
			return number, true
		}
	}
	return 0, false
}

// networksOf are the networks of hosts, sorted by their first MAC addresses.
func networksOf(seats []seat) []setting.StaticNetwork {
	var networks []setting.StaticNetwork
	for _, h := range seats {
		if h.network != nil {
			networks = append(networks, *h.network)
		}
	}
	slices.SortFunc(networks, func(a, b setting.StaticNetwork) int { return cmp.Compare(setting.FirstMAC(a), setting.FirstMAC(b)) })
	return networks
}
