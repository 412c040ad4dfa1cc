package cli

import (
	"strings"

	"github.com/oaictl/oaictl/pkg/install"
)

// place is where a cluster's file and its results are: what the library advises is
// completed with them.
type place struct{ file, dir string }

// complete puts them into what to type next for a cluster.
func (p place) complete(next string) string {
	if p.file == "" {
		return next
	}
	addNode := "oaictl add-node -f " + quoted(p.file)
	if p.dir != "." {
		addNode += " --dir " + quoted(p.dir)
	}
	return strings.ReplaceAll(strings.ReplaceAll(next, addNodeHint, addNode), " -f FILE", " -f "+quoted(p.file))
}

// placed completes what a run advises.
func (o *runOptions) placed(next string) string {
	return place{o.File, o.Dir}.complete(next)
}

// placed completes what a plan advises.
func (p place) placed(plan install.Plan) install.Plan {
	plan.Next = p.complete(plan.Next)
	for i := range plan.Blockers {
		plan.Blockers[i].Remedy = p.complete(plan.Blockers[i].Remedy)
	}
	for i := range plan.Warnings {
		plan.Warnings[i].Next = p.complete(plan.Warnings[i].Next)
	}
	for i := range plan.Waits {
		plan.Waits[i].Next = p.complete(plan.Waits[i].Next)
	}
	return plan
}
