package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// failed ends the run with the reason, and with what can still be had. The causes are the
// hosts that failed by themselves; without any, what the service says of the cluster.
func (p *planner) failed() {
	p.saveNoIngress()
	var causes []model.Blocker
	again := "cure the cause, then " + p.cluster.StartOver()
	reasons := []string{cmp.Or(p.cluster.StatusInfo, p.cluster.Status)}
	if p.finalized() { // what it waited for to the end
		reasons[0] += p.unavailable()
	}
	for _, h := range p.matches.Part {
		if h.State != model.HostFailed || h.StatusInfo == failedWithCluster {
			continue
		}
		name := p.hostName(h)
		reason := fmt.Sprintf("%s: %s", name, cmp.Or(h.StatusInfo, h.Status))
		reasons = append(reasons, reason)
		causes = append(causes, model.Blocker{
			Key: "host/" + p.hostID(h) + "/failed", Scope: model.ScopeHost.Of(p.hostID(h)), Reason: reasonHostFailed, Cure: model.CureNone, Since: h.Since, Hosts: []string{name},
			Message: reason, Remedy: model.Command("logs host", name) + ", " + again,
		})
	}
	slices.Sort(reasons[1:])
	slices.SortFunc(causes, func(a, b model.Blocker) int { return cmp.Compare(a.Message, b.Message) })
	if len(causes) == 0 {
		causes = append(causes, model.Blocker{
			Key: "cluster/failed", Scope: model.ScopeCluster, Reason: "ClusterFailed", Cure: model.CureNone, Since: p.cluster.StatusSince,
			Message: cmp.Or(reasons[0], "the installation failed"), Remedy: model.Command("logs", p.name()) + ", " + again,
		})
	}
	p.plan.Blockers = append(p.plan.Blockers, causes...)
	p.end(model.VerdictFailed, "the installation failed: "+strings.Join(reasons, "; "), model.Command("logs", p.name())+", then "+p.cluster.StartOver())
}

// finalized reports whether an install that failed had come to where only operators are
// waited for. Services older than the stages of finalizing do not say so: there all the
// nodes are done.
func (p *planner) finalized() bool {
	return !p.cluster.Progress.FinalizingSince.IsZero() || len(p.matches.Part) > 0 &&
		!slices.ContainsFunc(p.matches.Part, func(h *model.Host) bool { return !h.Day2 && h.Progress.Stage != "Done" })
}

// failedWithCluster is what the service says of a host that did nothing wrong.
const failedWithCluster = "Host is part of a cluster that failed to install"

// cancelled ends the run: a user cancelled the installation.
func (p *planner) cancelled() {
	p.block(model.Blocker{
		Key: "cluster/cancelled", Scope: model.ScopeCluster, Reason: "ClusterCancelled", Cure: model.CureNone, Since: p.cluster.StatusSince,
		Message: cmp.Or(p.cluster.StatusInfo, "the installation was cancelled"), Remedy: p.cluster.StartOver(),
	})
	p.end(model.VerdictCancelled, "the installation was cancelled", p.cluster.StartOver())
}

// whyDegraded is what to type where an installed cluster is not what it should
// be: what looks into it, and what adds the hosts that it lacks.
func (p *planner) whyDegraded() model.Advice {
	next := model.Command("why cluster", p.name())
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
	for _, h := range p.matches.Part {
		name := p.hostName(h)
		why := fmt.Sprintf("%s failed: %s", name, cmp.Or(h.StatusInfo, h.Status))
		switch {
		case h.Day2 && h.State != model.HostAdded:
		case h.State == model.HostFailed && h.Role == spec.Worker:
			lost = append(lost, why)
			p.plan.Missing = append(p.plan.Missing, name)
		case h.State == model.HostFailed:
			wrong("host/"+p.hostID(h), reasonHostFailed, model.ScopeHost.Of(p.hostID(h)), why, model.Command("logs host", name)+", then "+add)
		case h.Role == spec.Worker:
			workers++
		}
	}
	for i := range p.spec.Spec.Hosts {
		if host := &p.spec.Spec.Hosts[i]; host.Role != spec.Worker && p.matches.ByName[host.Name] == nil {
			wrong("host/"+host.Name, "HostMissing", model.ScopeHost.Of(host.Name), host.Name+" is missing", add)
		}
	}
	if short := p.counts().requiredWorkers - workers; short > 0 {
		missing := slices.Concat(lost, p.plan.Missing[:len(p.plan.Missing)-len(lost)])
		wrong("workers", "WorkersMissing", model.ScopeCluster, fmt.Sprintf("%d of the required workers are missing: %s", short, strings.Join(missing, "; ")), "{add-node -f FILE}")
	}
	return out
}
