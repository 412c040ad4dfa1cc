package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// whyDegraded is what to type where an installed cluster is not what it should
// be: what looks into it, and what adds the hosts that it lacks.
func (p *planner) whyDegraded() model.Advice {
	next := model.Command("why cluster", p.name)
	if len(p.plan.Missing) > 0 {
		next += ", then {add-node -f FILE}"
	}
	return next
}

// degradations says what is wrong with an installed cluster, and what a person can do
// about each. A worker that is not required and failed, or never came, is missing, not
// wrong.
func (p *planner) degradations() []model.Blocker {
	var out []model.Blocker
	wrong := func(key, reason string, scope model.Scope, message string, remedy model.Advice) {
		out = append(out, model.Blocker{Key: "cluster/degraded/" + key, Scope: scope, Reason: reason, Cure: model.CurePerson, Message: message, Remedy: remedy})
	}
	inspect := model.Advicef("look at the cluster: kubectl %s get clusteroperators,csv -A", p.kubeconfigFlag())
	said := ""
	if strings.Contains(p.cluster.StatusInfo, "degraded") {
		said = p.cluster.StatusInfo
		wrong("status", "ClusterDegraded", model.ScopeCluster, said, inspect)
	}
	for _, o := range p.cluster.Operators {
		if o.Status == "failed" && !strings.Contains(said, o.Name) {
			wrong("operator/"+o.Name, "OperatorFailed", model.ScopeCluster, "operator "+o.Name+" failed", inspect)
		}
	}
	var lost []string
	workers, add := 0, model.Advice("add it: {add-node -f FILE}")
	for _, h := range p.roster.Part {
		name := p.roster.Call(h)
		why := fmt.Sprintf("%s failed: %s", name, cmp.Or(h.StatusInfo, h.Status))
		switch {
		case h.Day2 && h.State != model.HostAdded:
		case h.State == model.HostFailed && h.Role == spec.Worker:
			lost = append(lost, why)
			p.plan.Missing = append(p.plan.Missing, name)
		case h.State == model.HostFailed:
			wrong("host/"+p.roster.id(h), reasonHostFailed, model.HostScope(p.roster.id(h)), why, model.Command("logs host", name)+", then "+add)
		case h.Role == spec.Worker:
			workers++
		}
	}
	for i := range p.spec.Spec.Hosts {
		if host := &p.spec.Spec.Hosts[i]; host.Role != spec.Worker && p.roster.ByName[host.Name] == nil {
			wrong("host/"+host.Name, "HostMissing", model.HostScope(host.Name), host.Name+" is missing", add)
		}
	}
	if short := p.attendance.counts().requiredWorkers - workers; short > 0 {
		missing := slices.Concat(lost, p.plan.Missing[:len(p.plan.Missing)-len(lost)])
		wrong("workers", "WorkersMissing", model.ScopeCluster, fmt.Sprintf("%d of the required workers are missing: %s", short, strings.Join(missing, "; ")), "{add-node -f FILE}")
	}
	return out
}
