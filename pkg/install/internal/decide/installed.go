package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// installed fetches the results of an installed cluster, and says how complete it is.
type installed struct {
	*collector
	options    *model.Options
	spec       *spec.Cluster
	name       string
	saved      model.Results
	cluster    *model.Cluster
	roster     *roster
	attendance *attendance
	drift      *drift
	results    *results
	added      *added
}

// follow fetches the results and says how complete the cluster is.
func (in *installed) follow() {
	in.plan.Missing = in.attendance.missingHosts()
	in.drift.report()
	if !in.spec.OnlyAdds() { // the user who installed it has its credentials
		in.results.saveAll()
	}
	if in.options.AddNodes {
		in.added.all()
	}
	switch {
	case !in.atRest() || in.plan.Verdict != "":
		return
	case in.options.AddNodes:
		in.allAdded()
		return
	}
	in.conclude()
}

// recorded goes first of all that is done to an installed cluster: adding hosts
// stands on it. Whether the cluster is installed does not depend on it.
func (in *installed) recorded() {
	if !in.cluster.Unrecorded || in.options.ReadOnly {
		return
	}
	in.plan.Actions = slices.Insert(in.plan.Actions, 0, model.Action{
		Key: "cluster/record", Scope: model.ScopeCluster, Kind: model.RecordInstalled, Target: in.cluster.ID, Name: in.name,
		Reason: "the cluster is installed, but no controller records this",
	})
}

// conclude ends the run with what the cluster has become.
func (in *installed) conclude() {
	next := model.Command("download kubeconfig", in.name)
	if in.saved.Kubeconfig {
		next = model.Advicef("kubectl %s get nodes", in.kubeconfigFlag())
	}
	trouble := in.degradations()
	if len(trouble) > 0 {
		texts := make([]string, 0, len(trouble))
		for _, b := range trouble {
			texts = append(texts, b.Message)
			in.block(b)
		}
		in.end(model.VerdictDegraded, "installed, but "+strings.Join(texts, "; "), in.whyDegraded())
		return
	}
	message := "installed"
	if len(in.plan.Missing) > 0 {
		message = "installed, but workers that are not " +
			"required are missing: " + strings.Join(in.plan.Missing, ", ") + "; oaictl add-node adds them"
		next = "{add-node -f FILE}"
	}
	in.end(model.VerdictInstalled, message, next)
}

// degradations says what is wrong with an installed cluster, and what a person can do
// about each. A worker that is not required and failed, or never came, is missing, not
// wrong.
func (in *installed) degradations() []model.Blocker {
	var out []model.Blocker
	wrong := func(key, reason string, scope model.Scope, message string, remedy model.Advice) {
		out = append(out, model.Blocker{Key: "cluster/degraded/" + key, Scope: scope, Reason: reason, Cure: model.CurePerson, Message: message,
			Remedy: remedy})
	}
	inspect := model.Advicef("look at the cluster: kubectl %s get clusteroperators,csv -A", in.kubeconfigFlag())
	said := ""
	if strings.Contains(in.cluster.StatusInfo, "degraded") {
		said = in.cluster.StatusInfo
		wrong("status", "ClusterDegraded", model.ScopeCluster, said, inspect)
	}
	for _, o := range in.cluster.Operators {
		if o.Status == "failed" && !strings.Contains(said, o.Name) {
			wrong("operator/"+o.Name, "OperatorFailed", model.ScopeCluster, "operator "+o.Name+" failed", inspect)
		}
	}
	var lost []string
	workers, add := 0, model.Advice("add it: {add-node -f FILE}")
	for _, h := range in.roster.Part {
		name := in.roster.Call(h)
		why := fmt.Sprintf("%s failed: %s", name, cmp.Or(h.StatusInfo, h.Status))
		switch {
		case h.Day2 && h.State != model.HostAdded:
		case h.State == model.HostFailed && h.Role == spec.Worker:
			lost = append(lost, why)
			in.plan.Missing = append(in.plan.Missing, name)
		case h.State == model.HostFailed:
			wrong("host/"+in.roster.id(h), reasonHostFailed, model.ScopeHost.Of(in.roster.id(h)), why,
				model.Command("logs host", name)+", then "+add)
		case h.Role == spec.Worker:
			workers++
		}
	}
	for i := range in.spec.Spec.Hosts {
		if host := &in.spec.Spec.Hosts[i]; host.Role != spec.Worker && in.roster.ByName[host.Name] == nil {
			wrong("host/"+host.Name, "HostMissing", model.ScopeHost.Of(host.Name), host.Name+" is missing", add)
		}
	}
	if short := in.attendance.counts().requiredWorkers - workers; short > 0 {
		missing := slices.Concat(lost, in.plan.Missing[:len(in.plan.Missing)-len(lost)])
		wrong("workers", "WorkersMissing", model.ScopeCluster, fmt.Sprintf("%d of the required workers are missing: %s", short,
			strings.Join(missing, "; ")), "{add-node -f FILE}")
	}
	return out
}

// whyDegraded is what to type where an installed cluster is not what it should
// be: what looks into it, and what adds the hosts that it lacks.
func (in *installed) whyDegraded() model.Advice {
	next := model.Command("why cluster", in.name)
	if len(in.plan.Missing) > 0 {
		next += ", then {add-node -f FILE}"
	}
	return next
}

// allAdded ends the run: every host of the file is part of the cluster, as far
// as the service can see.
func (in *installed) allAdded() {
	in.plan.Missing = nil
	for _, b := range in.degradations() {
		in.warn(model.Warning{Key: b.Key, Scope: model.ScopeCluster, Reason: "Degraded", Message: "the cluster was installed, but " + b.Message,
			Next: model.Command("why cluster", in.name)})
	}
	for _, h := range in.roster.Part {
		ours := in.roster.Names[h.ID] != "" || in.spec.Existing() == "" && in.spec.Spec.AcceptUnknownHosts // else another file may have added it
		if h.Day2 && membershipOf(h) == member && ours {
			in.plan.Added = append(in.plan.Added, in.roster.Call(h))
		}
	}
	switch {
	case len(in.plan.Ready) > 0:
		in.allReady()
	case len(in.plan.Added) > 0 && (in.spec.Imported() || in.spec.OnlyAdds() && !in.cluster.Kubeconfig):
		in.end(model.VerdictInstalled, addedText(in.plan.Added),
			"kubectl get csr, with the cluster's own kubeconfig, and for each request that is Pending: kubectl certificate approve NAME")
	case len(in.plan.Added) == 0:
		in.end(model.VerdictInstalled, "installed, with every host of the file", model.Advicef("kubectl %s get nodes", in.kubeconfigFlag()))
	case !in.saved.Kubeconfig:
		in.end(model.VerdictInstalled, addedText(in.plan.Added), model.Command("download kubeconfig", in.name))
	default:
		in.end(model.VerdictInstalled, addedText(in.plan.Added), model.Advicef(
			"kubectl %[1]s get csr, and for each request that is Pending: kubectl %[1]s certificate approve NAME", in.kubeconfigFlag()))
	}
}

// addedText says what is known of nodes that were added, and what is not: the
// service's knowledge ends with the reboot.
func addedText(nodes []string) string {
	return fmt.Sprintf("added: %s; the service cannot see whether these nodes have joined: perhaps their certificate requests wait "+
		"for approval in the cluster", listtext.ListText(nodes))
}

// allReady ends the run: every host that was added is a node that takes work.
func (in *installed) allReady() {
	in.end(model.VerdictInstalled, addedAndReady(in.plan.Ready), model.Advicef("kubectl %s get nodes", in.kubeconfigFlag()))
}

// kubeconfigFlag names the cluster's kubeconfig to a program, where one lies or will.
func (in *installed) kubeconfigFlag() string {
	return "--kubeconfig " + listtext.Quoted(cmp.Or(in.options.ClusterKubeconfig, in.saved.KubeconfigPath,
		in.name+"/auth/"+model.KubeconfigFile))
}
