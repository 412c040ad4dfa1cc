package pool

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// HostRequirements are what a machine asks of its host. What is zero is not asked for.
type HostRequirements struct {
	Selector    labels.Selector // nil: any
	Arch        spec.Arch
	CPUs        int
	MemoryBytes int64
	DiskBytes   int64
	Role        spec.Role
	Domain      string // name of a failure domain
	Spread      []Spread
}

// Spread says over which label's values machines that are alike are spread.
type Spread struct {
	Key string
	// MaxSkew is by how many machines a value may have more than the one with the fewest.
	MaxSkew int
	// Strict leaves out hosts by which it would be more, and those without the label. Otherwise
	// they come last.
	Strict bool
}

// What the service demands of a machine of the control plane, and of all others.
const (
	gib               = 1 << 30
	controlPlaneCPUs  = 4
	singleNodeCPUs    = 8
	controlPlaneBytes = 16 * gib
	otherCPUs         = 2
	otherBytes        = 8 * gib
)

// Demand fills in what the service demands of a role where the machine asks for nothing. A single
// node is more than one of three.
func (w *HostRequirements) Demand(singleNode bool) {
	cpus, memory := otherCPUs, int64(otherBytes)
	if w.Role == spec.ControlPlane {
		cpus, memory = controlPlaneCPUs, controlPlaneBytes
		if singleNode {
			cpus = singleNodeCPUs
		}
	}
	w.CPUs, w.MemoryBytes = cmp.Or(w.CPUs, cpus), cmp.Or(w.MemoryBytes, memory)
}

// Choose is the host for a machine: of the free hosts that fit, the one that spreads similar machines best, and of
// equals the smallest. alike are the hosts that those machines have. The same hosts give the same choice, in any order.
// If there is none, it says for each host what prevents the choice.
func Choose(hosts []Host, w HostRequirements, alike []Host) (*Host, Obstacles) {
	var obstacles Obstacles
	var fits []Host
	for i := range hosts {
		h := &hosts[i]
		if why := cmp.Or(w.misfit(h), obstacle(h)); why != "" {
			obstacles.add(why, h)
			continue
		}
		fits = append(fits, *h)
	}
	skews := newSkews(w.Spread, fits, alike)
	best := -1
	for i := range fits {
		switch {
		case skews.isTooMuch(&fits[i]):
			obstacles.add(whySpread, &fits[i])
		case best < 0 || w.compare(&fits[i], &fits[best], skews) < 0:
			best = i
		}
	}
	if best < 0 {
		return nil, obstacles
	}
	return &fits[best], obstacles
}

// misfit is why a host is not what the machine asks for, "" where it is, as far as is known.
func (w *HostRequirements) misfit(h *Host) obstacleReason {
	switch {
	case w.Selector != nil && !w.Selector.Matches(labels.Set(h.Labels)):
		return whyLabels
	case w.Domain != "" && h.Domain != w.Domain:
		return whyDomain
	case w.Role == spec.ControlPlane && h.Closed:
		return whyClosed
	case !h.isFor(w.Role):
		return whyRole
	case !h.Known:
		return ""
	case w.Arch != "" && w.Arch != spec.Multi && h.Arch != w.Arch:
		return whyArch
	case h.CPUs < w.CPUs:
		return whyCPUs
	case h.MemoryBytes < w.MemoryBytes:
		return whyMemory
	case h.DiskBytes < w.DiskBytes:
		return whyDisk
	}
	return ""
}

// obstacle is what keeps a host from being taken, "" for nothing.
func obstacle(h *Host) obstacleReason {
	switch {
	case h.Deleting:
		return whyDeleting
	case h.Cluster != "":
		return whyBound
	case h.Reserved:
		return whyReserved
	case h.State == model.HostDiscovering:
		return whyNew
	case h.State != model.HostUnbound:
		return whyReturning
	case !h.Approved:
		return whyApproval
	case !h.Connected:
		return whyConnection
	case !h.Validated:
		return whyValidations
	case !h.Known || h.Status != Ready:
		return whyNew
	}
	return ""
}

// compare puts the better of two hosts first.
func (w *HostRequirements) compare(a, b *Host, s *skews) int {
	if by := slices.Compare(s.of(a), s.of(b)); by != 0 {
		return by
	}
	general := func(h *Host) int { // a host that could be anything is kept for machines that need it
		if h.Role == w.Role {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(s.domains[a.Domain], s.domains[b.Domain]), cmp.Compare(general(a), general(b)),
		cmp.Compare(a.CPUs, b.CPUs), cmp.Compare(a.MemoryBytes, b.MemoryBytes), cmp.Compare(a.DiskBytes, b.DiskBytes), byName(*a, *b),
	)
}

// skews are how machines that are alike are spread now.
type skews struct {
	spread  []Spread
	counts  []map[string]int // machines by value, for each key
	least   []int            // of the values that there are, the fewest machines
	domains map[string]int   // machines by failure domain
}

// newSkews counts. The values to spread over are those of hosts that could be taken, and of those that machines have
// already: a value that only hosts of other clusters have does not count.
func newSkews(spread []Spread, fits, alike []Host) *skews {
	s := &skews{spread: spread, domains: map[string]int{}}
	for i := range alike {
		s.domains[alike[i].Domain]++
	}
	for _, one := range spread {
		counts := map[string]int{}
		for i := range fits {
			if value, has := fits[i].Labels[one.Key]; has {
				counts[value] += 0
			}
		}
		for i := range alike {
			if value, has := alike[i].Labels[one.Key]; has {
				counts[value]++
			}
		}
		least := -1
		for _, n := range counts {
			if least < 0 || n < least {
				least = n
			}
		}
		s.counts, s.least = append(s.counts, counts), append(s.least, max(0, least))
	}
	return s
}

// without is the skew of a host that does not have the label: behind all that do.
const without = 1 << 20

// skew is by how many machines a host's value would have more than the one with the fewest.
func (s *skews) skew(at int, h *Host) int {
	value, has := h.Labels[s.spread[at].Key]
	if !has {
		return without
	}
	return s.counts[at][value] + 1 - s.least[at]
}

// of are the skews that a host would make, for all labels.
func (s *skews) of(h *Host) []int {
	all := make([]int, len(s.spread))
	for at := range s.spread {
		all[at] = s.skew(at, h)
	}
	return all
}

func (s *skews) isTooMuch(h *Host) bool {
	for at, one := range s.spread {
		if one.Strict && s.skew(at, h) > max(1, one.MaxSkew) {
			return true
		}
	}
	return false
}
