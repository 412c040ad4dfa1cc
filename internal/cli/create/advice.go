package create

import (
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// location is where a cluster's file and its results are: what the library advises is
// completed with them.
type location struct{ file, dir string }

// complete puts them into the commands to type next for a cluster.
func (p location) complete(next install.Advice) install.Advice {
	if p.file == "" {
		return next
	}
	return next.Map(func(command string) string {
		file := " -f " + names.Quoted(p.file)
		if rest, is := strings.CutPrefix(command, "add-node -f FILE"); is && p.dir != "." {
			return "add-node" + file + " --dir " + names.Quoted(p.dir) + rest
		}
		return strings.Replace(command, " -f FILE", file, 1)
	})
}

// lookingWith is a client that also looks at the results of a cluster, and at the machines
// of its file that boot through their BMCs.
func lookingWith(a *base.App, service *install.Client, at location, cluster string, booted []*spec.Host, proxy string) (*install.Client, error) {
	options := []install.Option{install.WithFiles(install.NewFiles(at.dir))}
	if len(booted) > 0 {
		machines, err := a.WatchMachines(filepath.Join(at.dir, cluster), proxy)
		if err != nil {
			return nil, err
		}
		options = append(options, install.WithMachines(machines))
	}
	return service.With(options...), nil
}

// completeAdvice completes what a run advises.
func (o *runOptions) completeAdvice(next install.Advice) install.Advice {
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
