package document

import (
	"slices"

	"github.com/oaictl/oaictl/pkg/install"
)

// Why is `why -o json`.
type Why struct {
	Cluster  string    `json:"cluster"`
	State    string    `json:"state"`
	Blockers []Blocker `json:"blockers"`
	// Waits are what is expected to pass by itself.
	Waits []Wait `json:"waits"`
	// Warnings are checks that fail and hold nothing up.
	Warnings []Warning `json:"warnings"`
}

// OfWhy is the form of what stands in the way of a cluster.
func OfWhy(cluster, state string, plan install.Plan) Why {
	why := Why{Cluster: cluster, State: state, Blockers: Blockers(plan.Blockers), Waits: []Wait{}, Warnings: []Warning{}}
	for _, w := range plan.Waits {
		why.Waits = append(why.Waits, Wait{Scope: w.Scope, For: w.For, Since: moment(w.Since), Who: w.Who})
	}
	for _, w := range slices.Concat(plan.Checks, plan.Warnings) {
		why.Warnings = append(why.Warnings, Warning{Scope: w.Scope, Reason: w.Reason, Message: w.Message, Next: w.Next.String()})
	}
	return why
}
