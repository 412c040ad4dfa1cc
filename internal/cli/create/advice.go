package create

import (
	"strings"

	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/pkg/install"
)

// location is where a cluster's file and its results are: what the library advises is
// completed with them.
type location struct{ file, dir string }

// complete puts them into what to type next for a cluster.
func (p location) complete(next string) string {
	if p.file == "" {
		return next
	}
	addNode := "oaictl add-node -f " + names.Quoted(p.file)
	if p.dir != "." {
		addNode += " --dir " + names.Quoted(p.dir)
	}
	return strings.ReplaceAll(strings.ReplaceAll(next, addNodeHint, addNode), " -f FILE", " -f "+names.Quoted(p.file))
}

// completeAdvice completes what a run advises.
func (o *runOptions) completeAdvice(next string) string {
	return location{o.File, o.Dir}.complete(next)
}

// completePlan completes what a plan advises.
func (p location) completePlan(plan install.Plan) install.Plan {
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
