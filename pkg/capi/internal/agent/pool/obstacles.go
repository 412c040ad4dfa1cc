package pool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
)

// obstacleReason is the reason that keeps a host from being a machine's, as it is reported for several hosts.
type obstacleReason string

const (
	whyLabels      obstacleReason = "without the labels that are selected"
	whyDomain      obstacleReason = "outside of the failure domain"
	whyClosed      obstacleReason = "in a failure domain without control plane"
	whyRole        obstacleReason = "meant for another role"
	whyArch        obstacleReason = "of another architecture"
	whyCPUs        obstacleReason = "with too few CPUs"
	whyMemory      obstacleReason = "with too little memory"
	whyDisk        obstacleReason = "without a disk that is large enough"
	whyDeleting    obstacleReason = "being deleted"
	whyBound       obstacleReason = "bound to a cluster"
	whyReserved    obstacleReason = "reserved for another machine"
	whyReturning   obstacleReason = "not back in the pool"
	whyApproval    obstacleReason = "not approved"
	whyConnection  obstacleReason = "disconnected"
	whyValidations obstacleReason = "failing their validations"
	whyNew         obstacleReason = "not known yet"
	whySpread      obstacleReason = "where there are enough machines that are alike"
)

// Obstacles are which hosts each reason keeps from being a machine's.
type Obstacles struct {
	hosts map[obstacleReason][]string
	total int
}

func (o *Obstacles) add(because obstacleReason, h *Host) {
	if o.hosts == nil {
		o.hosts = map[obstacleReason][]string{}
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
	reasons := slices.SortedFunc(maps.Keys(o.hosts), func(a, b obstacleReason) int {
		return cmp.Or(len(o.hosts[b])-len(o.hosts[a]), strings.Compare(string(a), string(b)))
	})
	parts := make([]string, 0, len(reasons))
	for _, because := range reasons {
		hosts := slices.Sorted(slices.Values(o.hosts[because]))
		parts = append(parts, fmt.Sprintf("%d %s (%s)", len(hosts), because, listtext.ListText(hosts)))
	}
	return "none of " + listtext.CountText(o.total, thing) + where + " fits: " + strings.Join(parts, ", ")
}
