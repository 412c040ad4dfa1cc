package nodeplan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Late are the hosts that were added recently, and are followed until their nodes take work. Hosts that were added long
// ago hold up no run, and what was done to them since stays: where one has no node any more, or none that is Ready, the
// answer reports it.
func Late(q Question) (late []Host, answer Answer) {
	a := newAsker(q)
	for _, h := range q.Hosts {
		n := a.spoke.NodeByName(h.Have.Hostname)
		switch {
		case !LongAgo(h.Have, q.Now):
			late = append(late, h)
		case n == nil || !n.Ready:
			a.warn(model.Warning{
				Key: string(scopeOf(h)) + "/gone", Scope: scopeOf(h), Reason: "NodeGone",
				Message: fmt.Sprintf("%s was added at %s, but now there is no Ready node for it; oaictl does not wait for it", h.Name,
					cmp.Or(h.Have.Rebooted, h.Have.Since).UTC().Format(time.RFC3339)),
				Next: model.Command("get nodes", q.Desired.Spec.Metadata.Name),
			})
		}
	}
	return late, a.answer
}

// LongAgo reports whether a host was added so long ago that a run does not follow it any more.
func LongAgo(have *model.Host, now time.Time) bool {
	since := cmp.Or(have.Rebooted, have.Since)
	return memberState(have.State) && have.Day2 && !since.IsZero() && now.Sub(since) > newFor
}

// AnyNew reports whether hosts have been added of late.
func AnyNew(observed *model.Observed) bool {
	return slices.ContainsFunc(observed.Hosts, func(h model.Host) bool { return h.Day2 && !LongAgo(&h, observed.At) })
}

// readySince is when the last of the hosts' nodes became Ready.
func (a *answerBuilder) readySince() time.Time {
	var last time.Time
	for _, h := range a.Hosts {
		if n := a.spoke.NodeByName(h.Have.Hostname); n != nil && n.ReadySince.After(last) {
			last = n.ReadySince
		}
	}
	return last
}

// OtherName reports whether a host of the file is a machine that the service has by another name,
// domains aside.
func OtherName(want *spec.Host, have *model.Host) bool {
	label := func(hostname string) string {
		first, _, _ := strings.Cut(strings.ToLower(hostname), ".")
		return first
	}
	return want.Hostname != "" && have.Hostname != "" && label(want.Hostname) != label(have.Hostname)
}
