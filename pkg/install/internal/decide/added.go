package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// notInstalled refuses to add nodes to, or to remove them from, what is no cluster yet: to
// install one is another command.
func (p *planner) notInstalled() {
	change := "added to"
	if p.desired.Options.Remove != nil {
		change = "removed from"
	}
	b := model.Blocker{
		Key: "cluster/add-nodes", Scope: model.ScopeCluster, Reason: "ClusterNotInstalled", Cure: model.CureNone,
		Message: "nodes can be " + change + " an installed cluster only", Remedy: "{create cluster -f FILE}",
	}
	if p.cluster == nil {
		b.Cure, b.Message = model.CureOwner, fmt.Sprintf("there is no cluster %s to %s", p.full(), Op(p.desired))
	} else {
		b.Message += fmt.Sprintf("; %s is %s", p.full(), strings.ToLower(string(p.cluster.State)))
	}
	if p.spec.Existing() != "" { // which no cluster can be made of
		b.Field, b.Remedy = "spec.cluster", "{get clusters}"
	}
	p.block(b)
}

// addNodes brings the hosts of the file that are not part of an installed
// cluster into it: each for itself, so that none waits for a slower one.
func (p *planner) addNodes() {
	unnamed := p.unnamedNodes()
	again, told := p.registeredAgain()
	alone := slices.DeleteFunc(p.leftAlone(), func(h *spec.Host) bool { return slices.Contains(again, h) })
	left := slices.Concat(alone, again)
	complete := !p.incomplete(left) && !unnamed.open()
	p.recordedOtherwise(p.incomplete(nil))
	defer p.markNodes()
	if !(complete && len(p.newNodes()) == 0) && !p.spokeIsMeant() {
		return
	}
	if p.spokeAnswers() && !(complete && len(p.newNodes()) == 0) {
		p.take(nodes.Approvers(p.question()))
	}
	if complete {
		p.joinNodes()
		p.accounts(alone, told)
		return
	}
	cannot := p.cannotJoin(again)
	if len(cannot) > 0 && !unnamed.open() && !p.incomplete(slices.Concat(cannot, left)) {
		p.joinNodes()
		p.accounts(alone, told)
		return // nothing is begun for hosts that cannot be added
	}
	if p.cluster.State == model.ClusterInstalled {
		p.act(model.Action{
			Key: "cluster/allow-add-hosts", Scope: model.ScopeCluster, Kind: model.AllowAddHosts, Target: p.cluster.ID, Name: p.name(),
			Reason: "the cluster is installed and takes no more hosts until it is told to",
		})
		return
	}
	p.lateImages(unnamed.missing > 0)
	p.held = !p.idle() || !p.unhindered()
	var failed []*model.Host
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.matches.ByName[want.Name]
		if slices.Contains(left, want) || slices.Contains(cannot, want) {
			continue
		}
		switch membershipOf(have) {
		case outside:
			p.awaitBoot(want, have)
		case refused:
			failed = append(failed, have)
		case joining:
			if !p.ambiguous(want, have) {
				p.addNode(have, func() { p.configureHost(want, have) })
			}
		}
	}
	failed = append(failed, p.addUnnamed(unnamed)...)
	p.strangers(unnamed)
	p.newcomerChecks(again)
	p.joinNodes()
	p.accounts(alone, told)
	p.notAdded(failed)
}

// incomplete reports whether a host of the file is not part of the cluster, beside those that are left alone.
func (p *planner) incomplete(alone []*spec.Host) bool {
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		if membershipOf(p.matches.ByName[want.Name]) != member && !slices.Contains(alone, want) {
			return true
		}
	}
	return false
}

// awaitBoot waits for a host to boot an image that the cluster still takes hosts from. The image itself is handled
// elsewhere.
func (p *planner) awaitBoot(want *spec.Host, have *model.Host) {
	switch {
	case !isReserved(want):
	case have == nil:
		p.awaitMachine(want, model.Wait{Key: "host/" + want.Name + "/register", Scope: model.ScopeHost.Of(want.Name)})
		return
	default: // it runs none of our images that it could boot again
		p.leftOver(have)
		return
	}
	env := p.lateEnvOf(want.Name)
	if env == nil || env.Image.State != model.ImageReady || have == nil && p.matchesAnother(want.Name) {
		return
	}
	again := ""
	if have != nil {
		again = ", anew: it was lost in the install"
	}
	wait := model.Wait{
		Key: "host/" + want.Name + "/register", Scope: model.ScopeHost.Of(want.Name), Who: model.WhoUser, Since: env.Created,
		For:  fmt.Sprintf("%s to boot the discovery image %s and register%s", want.Name, env.Name, again),
		Next: model.Command("download iso --infra-env", env.Name),
	}
	if have == nil {
		p.awaitMachine(want, wait)
		return
	}
	if !p.bootByService(want, wait) && !p.bootByBMC(want, wait) {
		p.wait(wait)
	}
}

// newcomerChecks explains what blocks hosts that are to be added. The checks of the cluster itself were those of its
// install. Hosts that are nodes already are not among them.
func (p *planner) newcomerChecks(again []*spec.Host) {
	var newcomers []*model.Host
	for _, h := range p.matches.Part {
		if h.Day2 && h.State == model.HostBlocked && p.matches.Names[h.ID] != "" && !slices.Contains(again, p.spec.Host(p.matches.Names[h.ID])) {
			newcomers = append(newcomers, h)
		}
	}
	alone := *p
	alone.cluster = nil
	p.causes(alone.explain(newcomers))
}

// notAdded ends the run once nothing is left but hosts that could not be added.
func (p *planner) notAdded(failed []*model.Host) {
	var reasons, names []string
	for _, h := range failed {
		p.runningHost(h)
		names = append(names, p.hostName(h))
		reasons = append(reasons, fmt.Sprintf("%s: %s", p.hostName(h), cmp.Or(h.StatusInfo, h.Status)))
	}
	if len(failed) > 0 && p.idle() && p.unhindered() && len(p.plan.Waits) == 0 {
		p.plan.Missing = names
		p.end(model.VerdictFailed, "not added: "+strings.Join(reasons, "; "), model.Advicef(
			"{logs host %s}, then `{delete host %s --yes}`, boot it from the discovery image and run the same command again", names[0], failed[0].ID))
		return
	}
	p.otherwise("the service to check the hosts that are to be added")
}

// allAdded ends the run: every host of the file is part of the cluster, as far
// as the service can see.
func (p *planner) allAdded() {
	p.plan.Missing = nil
	for _, b := range p.degradations() {
		p.warn(model.Warning{Key: b.Key, Scope: model.ScopeCluster, Reason: "Degraded", Message: "the cluster was installed, but " + b.Message, Next: model.Command("why cluster", p.name())})
	}
	for _, h := range p.matches.Part {
		ours := p.matches.Names[h.ID] != "" || p.spec.Existing() == "" && p.spec.Spec.AcceptUnknownHosts // else another file may have added it
		if h.Day2 && membershipOf(h) == member && ours {
			p.plan.Added = append(p.plan.Added, p.hostName(h))
		}
	}
	switch {
	case len(p.plan.Ready) > 0:
		p.allReady()
	case len(p.plan.Added) > 0 && (p.spec.Imported() || p.spec.OnlyAdds() && !p.cluster.Kubeconfig):
		p.end(model.VerdictInstalled, addedText(p.plan.Added), "kubectl get csr, with the cluster's own kubeconfig, and for each that is Pending: kubectl certificate approve NAME")
	case len(p.plan.Added) == 0:
		p.end(model.VerdictInstalled, "installed, with every host of the file", model.Advicef("kubectl %s get nodes", p.kubeconfigFlag()))
	case !p.observed.Results.Kubeconfig:
		p.end(model.VerdictInstalled, addedText(p.plan.Added), model.Command("download kubeconfig", p.name()))
	default:
		p.end(model.VerdictInstalled, addedText(p.plan.Added), model.Advicef(
			"kubectl %[1]s get csr, and for each that is Pending: kubectl %[1]s certificate approve NAME", p.kubeconfigFlag()))
	}
}

// addedText says what is known of nodes that were added, and what is not: the
// service's knowledge ends with the reboot.
func addedText(nodes []string) string {
	return fmt.Sprintf("added: %s; the service cannot see whether they have joined: their certificate requests may wait for approval in the cluster", names.Few(nodes))
}
