package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/catalogue"
	"github.com/oaictl/oaictl/internal/model"
	"github.com/oaictl/oaictl/internal/names"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// running follows an install that is under way: nothing is written, results
// are fetched, and whoever has to act is named.
func (p *planner) running() {
	p.plan.Missing = p.missingHosts()
	p.driftAfterStart()
	p.saveNoIngress()
	switch p.cluster.State {
	case model.ClusterPreparing:
		if p.cluster.Released {
			p.preparationFailed() // a hub tries again by itself, for ever
		}
		p.wait(model.Wait{Key: "cluster/prepare", Scope: model.ScopeCluster, For: "the service to prepare the installation", Since: p.cluster.StatusSince, Who: model.WhoService})
	case model.ClusterFinalizing:
		p.finalizing()
	}
	for _, h := range p.matches.Part {
		if !h.Day2 && !h.Unbound() {
			p.runningHost(h)
		}
	}
	if p.cluster.State == model.ClusterNeedsUser && p.unhindered() { // and no host says what for
		p.block(model.Blocker{
			Key: "cluster/needs-user", Scope: model.ScopeCluster, Reason: "ClusterNeedsUser", Cure: model.CurePerson, Since: p.cluster.StatusSince,
			Message: cmp.Or(p.cluster.StatusInfo, "somebody has to act at a machine"), Remedy: "look at the machines' consoles; the installation then goes on by itself",
		})
	}
	// A host that takes too long may well wait for another, in whose way
	// something stands: that goes first.
	slices.SortStableFunc(p.plan.Blockers, func(a, b model.Blocker) int { return cmp.Compare(bit(slow(a)), bit(slow(b))) })
	p.otherwise("the service to go on with the installation")
}

// slow says whether a blocker is that something takes too long, and no more is
// known.
func slow(b model.Blocker) bool {
	return b.Reason == "StageTimedOut" || b.Reason == "FinalizingTimedOut"
}

// missingHosts names the hosts of the file that the service has not seen, or
// that came too late for the install and have not been added since.
func (p *planner) missingHosts() []string {
	var missing []string
	for i := range p.spec.Spec.Hosts {
		name := p.spec.Spec.Hosts[i].Name
		if have := p.matches.ByName[name]; have == nil || have.Day2 && have.State != model.HostAdded {
			missing = append(missing, name)
		}
	}
	return missing
}

func (p *planner) finalizing() {
	stage, progress := p.cluster.Progress.FinalizingStage, p.cluster.Progress
	what := "the cluster to finish"
	if stage != "" {
		what = "the cluster to finish: " + stage
	}
	operators := p.unavailable()
	what += operators
	since := progress.FinalizingSince
	if since.IsZero() {
		since = p.cluster.StatusSince
	}
	p.wait(model.Wait{Key: "cluster/finalize", Scope: model.ScopeCluster, For: what, Since: since, Who: model.WhoService})
	if progress.FinalizingTimedOut {
		p.block(model.Blocker{
			Key: "cluster/finalize/slow", Scope: model.ScopeCluster, Reason: "FinalizingTimedOut", Cure: model.CurePerson, Since: since,
			Message: fmt.Sprintf("%s%s has taken longer than the service allows for it", stage, operators),
			Remedy:  "look at the cluster with auth/kubeconfig-noingress: oc get clusteroperators",
		})
	}
}

// unavailable names, in brackets, the operators that are not available yet.
func (p *planner) unavailable() string {
	var operators []string
	for _, o := range p.cluster.Operators {
		if o.Status != "available" {
			operators = append(operators, o.Name)
		}
	}
	if len(operators) == 0 {
		return ""
	}
	return " (" + strings.Join(operators, ", ") + ")"
}

// runningHost says what a host of a running install waits for.
func (p *planner) runningHost(h *model.Host) {
	name := p.hostName(h)
	switch h.State {
	case model.HostNeedsUser:
		p.bootOrder(h)
	case model.HostDisconnected:
		p.disconnected(h)
	case model.HostFailed:
		p.warn(model.Warning{
			Key: "host/" + p.hostID(h) + "/failed", Scope: model.HostScope(p.hostID(h)), Reason: reasonHostFailed,
			Message: fmt.Sprintf("%s failed: %s", name, cmp.Or(h.StatusInfo, h.Status)), Next: "oaictl logs host " + name,
		})
	case model.HostInstalled, model.HostAdded, model.HostCancelled:
	default:
		p.runningStage(h)
	}
}

func (p *planner) runningStage(h *model.Host) {
	name, stage := p.hostName(h), h.Progress.Stage
	if stage == "" {
		p.waitHost(h, "to start installing", model.WhoMachine)
		return
	}
	scope := model.HostScope(p.hostID(h))
	p.wait(model.Wait{Key: string(scope) + "/stage", Scope: scope, For: fmt.Sprintf("%s: %s", name, stage), Since: h.Progress.Since, Who: model.WhoMachine})
	if since, stuck := p.stuck(h); stuck {
		p.block(model.Blocker{
			Key: string(scope) + "/stuck", Scope: scope, Reason: "StageTimedOut", Cure: model.CurePerson, Since: since, Hosts: []string{name},
			Message: fmt.Sprintf("%s has been at %q since %s, longer than it should take", name, stage, h.Progress.Since.UTC().Format(time.TimeOnly)),
			Remedy:  p.stageRemedy(stage, name),
		})
	}
}

// stuck says whether a host has been in its stage for too long: the service's
// own word for it, or else the stage's budget.
func (p *planner) stuck(h *model.Host) (since time.Time, stuck bool) {
	began := h.Progress.Updated
	if began.IsZero() {
		began = h.Progress.Since
	}
	stage, known := catalogue.Stage(h.Progress.Stage)
	budget := stage.Budget
	if p.spec.SingleNode() && stage.SingleNodeBudget > 0 {
		budget = stage.SingleNodeBudget
	}
	end := began.Add(budget)
	if h.Progress.TimedOut {
		return end, true
	}
	if !known || budget == 0 || began.IsZero() {
		return time.Time{}, false
	}
	return end, p.now.After(end)
}

func (p *planner) stageRemedy(stage, name string) string {
	if entry, ok := catalogue.Stage(stage); ok && entry.Remedy != "" {
		return catalogue.Fill(entry.Remedy, catalogue.Names{Cluster: p.name(), Hosts: []string{name}, Stage: stage})
	}
	return "look at the console of " + name
}

func (p *planner) saveNoIngress() {
	if p.cluster.NoIngress && !p.observed.Results.NoIngress {
		p.save(model.SaveNoIngress, "kubeconfig-noingress", "the cluster's API can be reached with it from now on")
	}
}

func (p *planner) save(kind model.Kind, name, reason string) {
	p.act(model.Action{
		Key: "cluster/save/" + name, Scope: model.ScopeCluster, Kind: kind, Target: p.cluster.ID, Name: name, Reason: reason,
		Changes: []model.Change{{Field: "auth/" + name, To: "[redacted]"}},
	})
}

// installed fetches the results and says how complete the cluster is.
func (p *planner) installed() {
	p.plan.Missing = p.missingHosts()
	p.driftAfterStart()
	if !p.spec.Imported() { // whoever installed it has its credentials
		p.saveCredentials()
	}
	if p.desired.Options.AddNodes {
		p.addNodes()
	}
	switch {
	case !p.idle() || !p.unhindered() || len(p.plan.Waits) > 0 || p.plan.Verdict != "":
		return
	case p.desired.Options.AddNodes:
		p.allAdded()
		return
	}
	p.endInstalled()
}

// saveCredentials saves what the service has of the installed cluster's.
func (p *planner) saveCredentials() {
	p.saveNoIngress()
	if p.cluster.Kubeconfig && !p.observed.Results.Kubeconfig {
		p.save(model.SaveKubeconfig, "kubeconfig", "the cluster is installed")
	}
	if p.cluster.Kubeconfig && !p.observed.Results.Password {
		p.save(model.SavePassword, "kubeadmin-password", "the cluster is installed")
	}
}

// endInstalled ends the run with what the cluster has become.
func (p *planner) endInstalled() {
	next := "oaictl download kubeconfig " + p.name()
	if p.observed.Results.Kubeconfig {
		next = "oc " + p.kubeconfigFlag() + " get nodes"
	}
	trouble := p.degradations()
	if len(trouble) > 0 {
		texts := make([]string, 0, len(trouble))
		for _, b := range trouble {
			texts = append(texts, b.Message)
			p.block(b)
		}
		p.end(model.VerdictDegraded, "installed, but "+strings.Join(texts, "; "), p.whyDegraded())
		return
	}
	message := "installed"
	if len(p.plan.Missing) > 0 {
		message = "installed, without workers that are not required: " + strings.Join(p.plan.Missing, ", ") + "; oaictl add-node adds them"
		next = "oaictl add-node -f FILE"
	}
	p.end(model.VerdictInstalled, message, next)
}

// whyDegraded is what to type where an installed cluster is not what it should
// be: what looks into it, and what adds the hosts that it lacks.
func (p *planner) whyDegraded() string {
	next := "oaictl why cluster " + p.name()
	if len(p.plan.Missing) > 0 {
		next += ", then oaictl add-node -f FILE"
	}
	return next
}

// degradations says what is wrong with an installed cluster, and what a person can do
// about each. A worker that is not required and failed, or never came, is missing, not
// wrong.
func (p *planner) degradations() []model.Blocker {
	var out []model.Blocker
	wrong := func(key, reason string, scope model.Scope, message, remedy string) {
		out = append(out, model.Blocker{Key: "cluster/degraded/" + key, Scope: scope, Reason: reason, Cure: model.CurePerson, Message: message, Remedy: remedy})
	}
	look := "look at the cluster: oc " + p.kubeconfigFlag() + " get clusteroperators,csv -A"
	said := ""
	if strings.Contains(p.cluster.StatusInfo, "degraded") {
		said = p.cluster.StatusInfo
		wrong("status", "ClusterDegraded", model.ScopeCluster, said, look)
	}
	for _, o := range p.cluster.Operators {
		if o.Status == "failed" && !strings.Contains(said, o.Name) {
			wrong("operator/"+o.Name, "OperatorFailed", model.ScopeCluster, "operator "+o.Name+" failed", look)
		}
	}
	var lost []string
	workers, add := 0, "add it: oaictl add-node -f FILE"
	for _, h := range p.matches.Part {
		name := p.hostName(h)
		why := fmt.Sprintf("%s failed: %s", name, cmp.Or(h.StatusInfo, h.Status))
		switch {
		case h.Day2 && h.State != model.HostAdded:
		case h.State == model.HostFailed && h.Role == model.RoleWorker:
			lost = append(lost, why)
			p.plan.Missing = append(p.plan.Missing, name)
		case h.State == model.HostFailed:
			wrong("host/"+p.hostID(h), reasonHostFailed, model.HostScope(p.hostID(h)), why, "oaictl logs host "+name+", then "+add)
		case h.Role == model.RoleWorker:
			workers++
		}
	}
	for i := range p.spec.Spec.Hosts {
		if host := &p.spec.Spec.Hosts[i]; host.Role != spec.Worker && p.matches.ByName[host.Name] == nil {
			wrong("host/"+host.Name, "HostMissing", model.HostScope(host.Name), host.Name+" is missing", add)
		}
	}
	if short := p.counts().requiredWorkers - workers; short > 0 {
		missing := slices.Concat(lost, p.plan.Missing[:len(p.plan.Missing)-len(lost)])
		wrong("workers", "WorkersMissing", model.ScopeCluster, fmt.Sprintf("%d of the required workers are missing: %s", short, strings.Join(missing, "; ")), "oaictl add-node -f FILE")
	}
	return out
}

// reasonHostFailed is the reason of what is said of a host that failed.
const reasonHostFailed = "HostFailed"

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
			Key: "host/" + p.hostID(h) + "/failed", Scope: model.HostScope(p.hostID(h)), Reason: reasonHostFailed, Cure: model.CureNone, Since: h.Since, Hosts: []string{name},
			Message: reason, Remedy: "oaictl logs host " + name + ", " + again,
		})
	}
	slices.Sort(reasons[1:])
	slices.SortFunc(causes, func(a, b model.Blocker) int { return cmp.Compare(a.Message, b.Message) })
	if len(causes) == 0 {
		causes = append(causes, model.Blocker{
			Key: "cluster/failed", Scope: model.ScopeCluster, Reason: "ClusterFailed", Cure: model.CureNone, Since: p.cluster.StatusSince,
			Message: cmp.Or(reasons[0], "the installation failed"), Remedy: "oaictl logs " + p.name() + ", " + again,
		})
	}
	p.plan.Blockers = append(p.plan.Blockers, causes...)
	p.end(model.VerdictFailed, "the installation failed: "+strings.Join(reasons, "; "), "oaictl logs "+p.name()+", then "+p.cluster.StartOver())
}

// finalized tells whether an install that failed had come to where only operators are
// waited for. Services older than the stages of finalizing do not say so: there all the
// nodes are done.
func (p *planner) finalized() bool {
	return !p.cluster.Progress.FinalizingSince.IsZero() || len(p.matches.Part) > 0 &&
		!slices.ContainsFunc(p.matches.Part, func(h *model.Host) bool { return !h.Day2 && h.Progress.Stage != "Done" })
}

// failedWithCluster is what the service says of a host that did nothing wrong.
const failedWithCluster = "Host is part of a cluster that failed to install"

// cancelled ends the run: somebody cancelled the install.
func (p *planner) cancelled() {
	p.block(model.Blocker{
		Key: "cluster/cancelled", Scope: model.ScopeCluster, Reason: "ClusterCancelled", Cure: model.CureNone, Since: p.cluster.StatusSince,
		Message: cmp.Or(p.cluster.StatusInfo, "the installation was cancelled"), Remedy: p.cluster.StartOver(),
	})
	p.end(model.VerdictCancelled, "the installation was cancelled", p.cluster.StartOver())
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// kubeconfigFlag names the cluster's kubeconfig to a program, where one lies or will.
func (p *planner) kubeconfigFlag() string {
	return "--kubeconfig " + names.Quoted(cmp.Or(p.observed.Results.KubeconfigPath, p.name()+"/auth/"+model.KubeconfigFile))
}
