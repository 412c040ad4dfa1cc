package create

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/oaictl/oaictl/internal/cli/base"
	"github.com/oaictl/oaictl/pkg/install"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// location is where a cluster's file and its results are. The library knows no folders,
// and of the file at most its name: what it advises is completed with them.
type location struct{ file, dir string }

// complete puts the file and the folder into what to type next for a cluster.
func (p location) complete(next string, cluster *spec.Cluster) string {
	if next == "" {
		return ""
	}
	name := cluster.Metadata.Name
	auth := filepath.Join(p.dir, name, "auth")
	if kubeconfig := firstThere(filepath.Join(auth, "kubeconfig"), filepath.Join(auth, "kubeconfig-noingress")); kubeconfig != "" {
		next = strings.ReplaceAll(next, "--kubeconfig "+name+"/auth/kubeconfig", "--kubeconfig "+base.Quoted(kubeconfig))
	}
	if p.file == "" {
		return next
	}
	addNode := "oaictl add-node -f " + base.Quoted(p.file)
	if p.dir != "." {
		addNode += " --dir " + base.Quoted(p.dir)
	}
	return strings.ReplaceAll(strings.ReplaceAll(next, addNodeHint, addNode), " -f FILE", " -f "+base.Quoted(p.file))
}

// firstThere is the first of the files that exists, "" if none does.
func firstThere(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// completeAdvice completes what a run advises.
func (o *runOptions) completeAdvice(next string, cluster *spec.Cluster) string {
	return location{o.File, o.Dir}.complete(next, cluster)
}

// completePlan completes what a plan advises.
func (p location) completePlan(plan install.Plan, cluster *spec.Cluster) install.Plan {
	plan.Next = p.complete(plan.Next, cluster)
	for i := range plan.Blockers {
		plan.Blockers[i].Remedy = p.complete(plan.Blockers[i].Remedy, cluster)
	}
	for i := range plan.Warnings {
		plan.Warnings[i].Next = p.complete(plan.Warnings[i].Next, cluster)
	}
	for i := range plan.Waits {
		plan.Waits[i].Next = p.complete(plan.Waits[i].Next, cluster)
	}
	return plan
}
