package document

import (
	"github.com/oaictl/oaictl/internal/diagnose"
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

// OfWhy is the form of what stands in the way of a cluster: what a decision
// blocks on, and the warnings and waits of the checks.
func OfWhy(cluster, state string, blockers []install.Blocker, waits []install.Wait, report diagnose.Report) Why {
	why := Why{Cluster: cluster, State: state, Blockers: Blockers(blockers), Waits: []Wait{}, Warnings: []Warning{}}
	for _, w := range waits {
		why.Waits = append(why.Waits, Wait{Scope: w.Scope, For: w.For, Since: moment(w.Since), Who: w.Who})
	}
	for _, cause := range report.Warnings {
		why.Warnings = append(why.Warnings, Warning{Scope: scopeOf(cause), Reason: cause.ID, Message: messageOf(cause), Next: cause.Remedy})
	}
	return why
}

// scopeOf is the host that a cause is about, if it is about one alone.
func scopeOf(cause diagnose.Cause) install.Scope {
	if len(cause.Hosts) == 1 {
		return install.HostScope(cause.Hosts[0])
	}
	return install.ScopeCluster
}

// messageOf is what the service says of a cause, or what it means.
func messageOf(cause diagnose.Cause) string {
	if len(cause.Messages) > 0 && cause.Messages[0].Text != "" {
		return cause.Messages[0].Text
	}
	return cause.Meaning
}
