package pool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/names"
)

// why is what keeps a host from being a machine's, as it is told of several.
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

// Obstacles are how many hosts each reason keeps from being a machine's.
type Obstacles struct {
	counts map[why]int
	total  int
}

func (o *Obstacles) add(because why) {
	if o.counts == nil {
		o.counts = map[why]int{}
	}
	o.counts[because]++
	o.total++
}

// Total is how many hosts were looked at in vain.
func (o *Obstacles) Total() int { return o.total }

// Text says it in one line: "7 Agents: 3 not approved, 2 bound to a cluster, …". thing is what a host
// is called.
func (o *Obstacles) Text(thing string) string {
	if o.total == 0 {
		return "no " + thing + "s"
	}
	reasons := make([]why, 0, len(o.counts))
	for because := range o.counts {
		reasons = append(reasons, because)
	}
	slices.SortFunc(reasons, func(a, b why) int { return cmp.Or(o.counts[b]-o.counts[a], strings.Compare(string(a), string(b))) })
	parts := make([]string, 0, len(reasons))
	for _, because := range reasons {
		parts = append(parts, fmt.Sprintf("%d %s", o.counts[because], because))
	}
	return names.Counted(o.total, thing) + ": " + strings.Join(parts, ", ")
}
