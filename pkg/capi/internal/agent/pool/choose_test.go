package pool_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/oaictl/oaictl/pkg/capi/internal/agent/pool"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

const gib = 1 << 30

// free is a host that can be taken, of a size.
func free(name string, cpus, memoryGiB int, changes ...func(*pool.Host)) pool.Host {
	h := pool.Host{
		NamespacedName: types.NamespacedName{Namespace: "pool", Name: name}, Labels: map[string]string{}, Approved: true, Validated: true, Connected: true,
		State: model.HostUnbound, Status: pool.Ready, Role: spec.Auto, Known: true, Arch: spec.X86, CPUs: cpus, MemoryBytes: int64(memoryGiB) * gib, DiskBytes: 500e9,
	}
	for _, change := range changes {
		change(&h)
	}
	return h
}

func labelled(key, value string) func(*pool.Host) {
	return func(h *pool.Host) { h.Labels[key] = value }
}

func meant(role spec.Role) func(*pool.Host) { return func(h *pool.Host) { h.Role = role } }

func TestChoose(t *testing.T) {
	selector := labels.SelectorFromSet(labels.Set{"rack": "a"})
	for name, test := range map[string]struct {
		hosts []pool.Host
		w     pool.HostRequirements
		alike []pool.Host
		want  string
	}{
		"the smallest that suffices": {
			hosts: []pool.Host{free("a", 64, 512), free("b", 8, 32), free("c", 8, 16), free("d", 4, 64)},
			w:     pool.HostRequirements{CPUs: 8, MemoryBytes: 16 * gib}, want: "c",
		},
		"by name where all are the same":           {hosts: []pool.Host{free("b", 8, 32), free("a", 8, 32)}, want: "a"},
		"a label":                                  {hosts: []pool.Host{free("a", 8, 32), free("b", 8, 64, labelled("rack", "a"))}, w: pool.HostRequirements{Selector: selector}, want: "b"},
		"an architecture":                          {hosts: []pool.Host{free("a", 8, 32), free("b", 8, 64, func(h *pool.Host) { h.Arch = spec.ARM })}, w: pool.HostRequirements{Arch: spec.ARM}, want: "b"},
		"any architecture of a cluster of several": {hosts: []pool.Host{free("a", 8, 32)}, w: pool.HostRequirements{Arch: spec.Multi}, want: "a"},
		"a disk": {hosts: []pool.Host{free("a", 8, 32), free("b", 8, 64, func(h *pool.Host) { h.DiskBytes = 4e12 })}, w: pool.HostRequirements{DiskBytes: 1e12}, want: "b"},
		"what is meant for the role goes first": {
			hosts: []pool.Host{free("a", 8, 32), free("b", 8, 64, meant(spec.ControlPlane))},
			w:     pool.HostRequirements{Role: spec.ControlPlane}, want: "b",
		},
		"what is meant for another role is passed over": {
			hosts: []pool.Host{free("a", 8, 32, meant(spec.ControlPlane)), free("b", 8, 64)},
			w:     pool.HostRequirements{Role: spec.Worker}, want: "b",
		},
		"a failure domain": {
			hosts: []pool.Host{free("a", 8, 32), free("b", 8, 64, func(h *pool.Host) { h.Domain = "row-2" })},
			w:     pool.HostRequirements{Domain: "row-2"}, want: "b",
		},
		"no control plane in a closed failure domain": {
			hosts: []pool.Host{free("a", 8, 32, func(h *pool.Host) { h.Domain, h.Closed = "row-1", true }), free("b", 8, 64)},
			w:     pool.HostRequirements{Role: spec.ControlPlane}, want: "b",
		},
		"machines spread over failure domains by themselves": {
			hosts: []pool.Host{free("a", 8, 32, func(h *pool.Host) { h.Domain = "row-1" }), free("b", 8, 64, func(h *pool.Host) { h.Domain = "row-2" })},
			alike: []pool.Host{free("x", 8, 32, func(h *pool.Host) { h.Domain = "row-1" })}, want: "b",
		},
		"spread": {
			hosts: []pool.Host{free("a", 8, 32, labelled("rack", "a")), free("b", 8, 64, labelled("rack", "b"))},
			w:     pool.HostRequirements{Spread: []pool.Spread{{Key: "rack"}}}, alike: []pool.Host{free("x", 8, 32, labelled("rack", "a"))}, want: "b",
		},
		"spread that cannot be": {
			hosts: []pool.Host{free("a", 8, 32, labelled("rack", "a"))},
			w:     pool.HostRequirements{Spread: []pool.Spread{{Key: "rack"}}}, alike: []pool.Host{free("x", 8, 32, labelled("rack", "a")), free("y", 8, 32, labelled("rack", "b"))}, want: "a",
		},
		"spread that has to be": {
			hosts: []pool.Host{free("a", 8, 32, labelled("rack", "a"))},
			w:     pool.HostRequirements{Spread: []pool.Spread{{Key: "rack", Strict: true}}}, alike: []pool.Host{free("x", 8, 32, labelled("rack", "a")), free("y", 8, 32, labelled("rack", "b"))}, want: "a",
		},
		"spread that would be too much": {
			hosts: []pool.Host{free("a", 8, 32, labelled("rack", "a"))},
			w:     pool.HostRequirements{Spread: []pool.Spread{{Key: "rack", Strict: true}}}, alike: []pool.Host{free("x", 8, 32, labelled("rack", "a")), free("z", 8, 32, labelled("rack", "a")), free("y", 8, 32, labelled("rack", "b"))},
		},
		"spread with room": {
			hosts: []pool.Host{free("a", 8, 32, labelled("rack", "a"))},
			w:     pool.HostRequirements{Spread: []pool.Spread{{Key: "rack", Strict: true, MaxSkew: 2}}}, alike: []pool.Host{free("x", 8, 32, labelled("rack", "a")), free("z", 8, 32, labelled("rack", "a")), free("y", 8, 32, labelled("rack", "b"))}, want: "a",
		},
		"a host without the label comes last":            {hosts: []pool.Host{free("a", 8, 32), free("b", 8, 64, labelled("rack", "b"))}, w: pool.HostRequirements{Spread: []pool.Spread{{Key: "rack"}}}, want: "b"},
		"and not at all where the spread has to be kept": {hosts: []pool.Host{free("a", 8, 32)}, w: pool.HostRequirements{Spread: []pool.Spread{{Key: "rack", Strict: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, obstacles := pool.Choose(test.hosts, test.w, test.alike)
			if have := nameOf(got); have != test.want {
				t.Errorf("%q, want %q (%s)", have, test.want, obstacles.Text("Agent", ""))
			}
		})
	}
}

func nameOf(h *pool.Host) string {
	if h == nil {
		return ""
	}
	return h.Name
}

// TestObstaclesNameHosts says of each host the one thing that keeps it from being the machine's.
func TestObstaclesNameHosts(t *testing.T) {
	with := func(change func(*pool.Host)) pool.Host { return free("x", 8, 32, change) }
	unapproved, bound := func(h *pool.Host) { h.Approved = false }, func(h *pool.Host) { h.Cluster = "a/b" }
	hosts := []pool.Host{
		free("c", 8, 32, unapproved, func(h *pool.Host) { h.Hostname = "localhost" }), free("b", 8, 32, unapproved), free("a", 8, 32, unapproved),
		free("d", 8, 32, bound, func(h *pool.Host) { h.Hostname = "rack-1" }), free("e", 8, 32, bound),
		free("f", 8, 1),
		free("g", 8, 32, func(h *pool.Host) { h.Arch = spec.ARM }),
	}
	_, obstacles := pool.Choose(hosts, pool.HostRequirements{Arch: spec.X86, MemoryBytes: 16 * gib}, nil)
	const want = "none of 7 Agents in namespace metal fits: 3 not approved (a, b, c), 2 bound to a cluster (e, rack-1), " +
		"1 of another architecture (g), 1 with too little memory (f)"
	if got := obstacles.Text("Agent", " in namespace metal"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for want, change := range map[string]func(*pool.Host){
		"being deleted":                       func(h *pool.Host) { h.Deleting = true },
		"reserved for another machine":        func(h *pool.Host) { h.Reserved = true },
		"not back in the pool":                func(h *pool.Host) { h.State, h.Status = model.HostReleasing, "unbinding-pending-user-action" },
		"disconnected":                        func(h *pool.Host) { h.Connected = false },
		"failing their validations":           func(h *pool.Host) { h.Validated = false },
		"not known yet":                       func(h *pool.Host) { h.Known, h.Status = false, "discovering-unbound" },
		"with too few CPUs":                   func(h *pool.Host) { h.CPUs = 1 },
		"without a disk that is large enough": func(h *pool.Host) { h.DiskBytes = 0 },
	} {
		_, obstacles := pool.Choose([]pool.Host{with(change)}, pool.HostRequirements{CPUs: 2, DiskBytes: 1}, nil)
		if got := obstacles.Text("Agent", ""); got != "none of 1 Agent fits: 1 "+want+" (x)" {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if _, none := pool.Choose(nil, pool.HostRequirements{}, nil); none.Text("Agent", " in namespace metal") != "there are no Agents in namespace metal" {
		t.Errorf("an empty pool: %s", none.Text("Agent", " in namespace metal"))
	}
}

// anyPool makes hosts of all kinds.
func anyPool(random *rand.Rand) []pool.Host {
	hosts := make([]pool.Host, random.IntN(12))
	maybe := func() bool { return random.IntN(6) == 0 }
	for i := range hosts {
		hosts[i] = free(fmt.Sprintf("host-%02d", i), 1<<random.IntN(6), 4<<random.IntN(5))
		h := &hosts[i]
		if random.IntN(4) > 0 {
			h.Labels["rack"] = string(rune('a' + random.IntN(3)))
		}
		h.DiskBytes = int64(random.IntN(4)) * 250e9
		if maybe() {
			h.Arch = spec.ARM
		}
		if maybe() {
			h.Role = []spec.Role{spec.ControlPlane, spec.Worker}[random.IntN(2)]
		}
		h.Approved, h.Validated, h.Connected, h.Reserved = !maybe(), !maybe(), !maybe(), maybe()
		if maybe() {
			h.Cluster, h.State = "a/b", model.HostInstalled
		}
	}
	return hosts
}

func anyWishes(random *rand.Rand) pool.HostRequirements {
	w := pool.HostRequirements{Role: []spec.Role{spec.ControlPlane, spec.Worker}[random.IntN(2)]}
	if random.IntN(2) == 0 {
		w.Arch = spec.X86
	}
	if random.IntN(2) == 0 {
		w.Demand(random.IntN(2) == 0)
	}
	if random.IntN(3) == 0 {
		w.DiskBytes = 250e9
	}
	if random.IntN(2) == 0 {
		w.Spread = []pool.Spread{{Key: "rack", MaxSkew: 1 + random.IntN(2), Strict: random.IntN(2) == 0}}
	}
	return w
}

// TestChoiceIsTheSmallestThatFits holds for any pool and any wishes: the choice is free and fits, nothing
// that is as good in all else is smaller in all, the order of the hosts does not matter, hosts that
// cannot be taken do not either, and every host that was not chosen for a reason is counted.
func TestChoiceIsTheSmallestThatFits(t *testing.T) {
	for seed := range uint64(5000) {
		random := rand.New(rand.NewPCG(seed, 1))
		hosts, w := anyPool(random), anyWishes(random)
		var alike []pool.Host
		for range random.IntN(4) {
			alike = append(alike, free("alike", 8, 32, labelled("rack", string(rune('a'+random.IntN(3))))))
		}
		before := slices.Clone(hosts)
		got, obstacles := pool.Choose(hosts, w, alike)
		random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		again, _ := pool.Choose(hosts, w, alike)
		if nameOf(got) != nameOf(again) {
			t.Fatalf("seed %d: %q and, in another order, %q", seed, nameOf(got), nameOf(again))
		}
		if got == nil {
			if obstacles.Total() != len(hosts) {
				t.Fatalf("seed %d: %s of %d", seed, obstacles.Text("Agent", ""), len(hosts))
			}
			continue
		}
		if !got.Free() || got.CPUs < w.CPUs || got.MemoryBytes < w.MemoryBytes || got.DiskBytes < w.DiskBytes || w.Arch != "" && got.Arch != w.Arch {
			t.Fatalf("seed %d: %+v for %+v", seed, got, w)
		}
		for i := range before {
			h := &before[i]
			if alone, _ := pool.Choose([]pool.Host{*h}, pool.HostRequirements{Role: w.Role, Arch: w.Arch, CPUs: w.CPUs, MemoryBytes: w.MemoryBytes, DiskBytes: w.DiskBytes}, nil); alone == nil {
				continue
			}
			if h.Role == got.Role && h.Labels["rack"] == got.Labels["rack"] && h.CPUs <= got.CPUs && h.MemoryBytes <= got.MemoryBytes && h.DiskBytes <= got.DiskBytes &&
				(h.CPUs < got.CPUs || h.MemoryBytes < got.MemoryBytes || h.DiskBytes < got.DiskBytes) {
				t.Fatalf("seed %d: %+v, but %+v is smaller", seed, got, h)
			}
		}
		able := slices.DeleteFunc(slices.Clone(before), func(h pool.Host) bool { return !h.Free() })
		if only, _ := pool.Choose(able, w, alike); nameOf(only) != got.Name {
			t.Fatalf("seed %d: %q, and %q among those that are free alone", seed, got.Name, nameOf(only))
		}
	}
}

// TestMachinesSpreadEvenly takes hosts one after the other: no rack has two more machines than another
// that still has hosts.
func TestMachinesSpreadEvenly(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 2))
		var hosts []pool.Host
		for i := range 4 + random.IntN(12) {
			hosts = append(hosts, free(fmt.Sprintf("host-%02d", i), 1<<random.IntN(6), 32, labelled("rack", string(rune('a'+random.IntN(4))))))
		}
		strict := random.IntN(2) == 0
		w := pool.HostRequirements{Spread: []pool.Spread{{Key: "rack", MaxSkew: 1, Strict: strict}}}
		var taken []pool.Host
		for {
			got, _ := pool.Choose(hosts, w, taken)
			if got == nil {
				break
			}
			at := slices.IndexFunc(hosts, func(h pool.Host) bool { return h.Name == got.Name })
			left, used := racks(hosts), racks(taken)
			for rack := range left {
				if used[rack] < used[got.Labels["rack"]] {
					t.Fatalf("seed %d: the %dth machine is in rack %s, which has %d; %s has %d", seed, len(taken), got.Labels["rack"], used[got.Labels["rack"]], rack, used[rack])
				}
			}
			taken = append(taken, hosts[at])
			hosts = slices.Delete(hosts, at, at+1)
		}
		if !strict && len(hosts) > 0 {
			t.Fatalf("seed %d: %d hosts are left over", seed, len(hosts))
		}
		if counts := racks(taken); strict && len(counts) > 1 {
			most, least := 0, len(taken)
			for _, n := range counts {
				most, least = max(most, n), min(least, n)
			}
			if most-least > 1 {
				t.Fatalf("seed %d: strictly spread, %v", seed, counts)
			}
		}
	}
}

func racks(hosts []pool.Host) map[string]int {
	counts := map[string]int{}
	for i := range hosts {
		counts[hosts[i].Labels["rack"]]++
	}
	return counts
}

// TestCapacityIsThatOfTheSmallest shows what a machine would be like, also while none is free.
func TestCapacityIsThatOfTheSmallest(t *testing.T) {
	bound := func(h *pool.Host) { h.Cluster = "a/b" }
	hosts := []pool.Host{free("small", 2, 8), free("busy", 8, 16, bound), free("large", 32, 128), free("middle", 16, 64)}
	w := pool.HostRequirements{CPUs: 4}
	if smallest, n := pool.Capacity(hosts, w); nameOf(smallest) != "middle" || n != 2 {
		t.Errorf("%q, %d free", nameOf(smallest), n)
	}
	if smallest, n := pool.Capacity(hosts[:2], w); nameOf(smallest) != "busy" || n != 0 {
		t.Errorf("with none that is free: %q, %d free", nameOf(smallest), n)
	}
	if smallest, _ := pool.Capacity(hosts[:1], w); smallest != nil {
		t.Errorf("none fits: %q", nameOf(smallest))
	}
}

// TestLongNamesHaveLabels keeps names apart that differ behind what a label has room for.
func TestLongNamesHaveLabels(t *testing.T) {
	long := strings.Repeat("a", 70)
	if got := pool.LabelOf("worker-1"); got != "worker-1" {
		t.Errorf("worker-1 is %s", got)
	}
	a, b := pool.LabelOf(long+"1"), pool.LabelOf(long+"2")
	if a == b || len(a) > 63 || !strings.HasPrefix(a, "aaaa") {
		t.Errorf("%s and %s", a, b)
	}
	if dotted := pool.LabelOf(strings.Repeat("a", 46) + "." + strings.Repeat("b", 60)); strings.Contains(dotted, ".-") {
		t.Errorf("%s", dotted)
	}
}
