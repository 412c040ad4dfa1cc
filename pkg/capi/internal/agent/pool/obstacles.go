package pool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/names"
)

// why is the reason that keeps a host from being a machine's, as it is reported for several hosts.
type why string

const (
	whyLabels      why = "without the labels that are selected"
	whyDomain      why = "outside of the failure domain"
	whyClosed      why = "in a failure domain without control plane"
	whyRole        why = "meant for another role"
	whyArch        why = "of another architecture"
	whyCPUs        why = "with too few CPUs"
	whyMemory      why = "with too little memory"
	whyDisk        why = "without a disk that is large enough"
	whyDeleting    why = "being deleted"
	whyBound       why = "bound to a cluster"
	whyReserved    why = "reserved for another machine"
	whyReturning   why = "not back in the pool"
	whyApproval    why = "not approved"
	whyConnection  why = "disconnected"
	whyValidations why = "failing their validations"
	whyNew         why = "not known yet"
	whySpread      why = "where there are enough machines that are alike"
)

// Obstacles are which hosts each reason keeps from being a machine's.
type Obstacles struct {
	hosts map[why][]string
	total int
}

func (o *Obstacles) add(because why, h *Host) {
	if o.hosts == nil {
		o.hosts = map[why][]string{}
	}
	o.hosts[because] = append(o.hosts[because], h.shownName())
	o.total++
}

// Total is how many hosts were considered in vain.
func (o *Obstacles) Total() int { return o.total }

// Text says it in one line: "none of 3 Agents fits: 2 not approved (rack-1, rack-2), 1 bound to a cluster (rack-3)".
// thing is what a host is called, and where the pool is: " in namespace metal".
func (o *Obstacles) Text(thing, where string) string {
	if o.total == 0 {
		return "there are no " + thing + "s" + where
	}
	reasons := slices.SortedFunc(maps.Keys(o.hosts), func(a, b why) int {
		return cmp.Or(len(o.hosts[b])-len(o.hosts[a]), strings.Compare(string(a), string(b)))
	})
	parts := make([]string, 0, len(reasons))
	for _, because := range reasons {
		hosts := slices.Sorted(slices.Values(o.hosts[because]))
		parts = append(parts, fmt.Sprintf("%d %s (%s)", len(hosts), because, names.Few(hosts)))
	}
	return "none of " + names.Counted(o.total, thing) + where + " fits: " + strings.Join(parts, ", ")
}
