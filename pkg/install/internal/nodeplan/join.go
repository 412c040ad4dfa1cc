package nodeplan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// How long a step may take until a person is to look at it.
const (
	asksWithin       = 10 * time.Minute // from the reboot to the first request, usually
	joinsWithin      = 30 * time.Minute // from the reboot to the node
	readyWithin      = 30 * time.Minute // from the node to Ready
	configuredWithin = time.Hour        // from Ready to the machine config
	settlesWithin    = 20 * time.Minute // from Ready until the operators are what they were
)

// Join answers what is next for hosts that run from their disks, until their nodes take work.
func Join(q Question) Answer {
	a := &joins{answerBuilder: newAsker(q)}
	a.verdicts = slices.DeleteFunc(Judge(q), func(v model.RequestVerdict) bool { return v.Decision == model.RequestIgnore && v.Host == "" })
	a.answer.Requests = a.verdicts
	var missing []string
	for _, h := range q.Hosts {
		node := a.node(h)
		if node == nil && a.Now.Sub(rebooted(q, h.Have)) > asksWithin {
			missing = append(missing, h.Name)
		}
		a.join(h, node)
	}
	a.strangers(missing)
	a.flood()
	return a.answer
}

// joins follows hosts that run from their disks, until their nodes take work.
type joins struct {
	*answerBuilder
	verdicts []model.RequestVerdict // on the requests for certificates
}

// join is what is next for one host.
func (a *joins) join(h Host, node *model.Node) {
	if node != nil && a.isOld(h, node) {
		return
	}
	served := a.certificates(h, node)
	if node == nil {
		a.awaitNode(h)
		return
	}
	if node.Deleting {
		a.wait(model.Wait{Key: string(scopeOf(h)) + "/deleted", Scope: scopeOf(h), Who: model.WhoService,
			For: "the deletion of the node " + node.Name + " to end"})
		return
	}
	a.mark(h, node)
	ready := a.awaitReady(h, node)
	configured := a.awaitConfig(h, node)
	voting := a.joinEtcd(h, node)
	if ready && configured && served && voting {
		a.answer.Ready = append(a.answer.Ready, h.Name)
		a.unnoticed(h, node)
	}
}

// unnoticed reports a node that takes work while the service still reports it as being installed: on a hub the service
// asks the cluster itself, and reports nothing if it does not reach it.
func (a *joins) unnoticed(h Host, node *model.Node) {
	if memberState(h.Have.State) || node.ReadySince.IsZero() || a.Now.Sub(node.ReadySince) < settlesWithin {
		return
	}
	a.block(model.Blocker{
		Key: string(scopeOf(h)) + "/unnoticed", Scope: scopeOf(h), Reason: "ServiceUnaware", Cure: model.CurePerson,
		Since: node.ReadySince.Add(settlesWithin), Hosts: []string{h.Name},
		Message: fmt.Sprintf("the node %s has been Ready for %s, but the service still reports the host as %s", node.Name,
			a.Now.Sub(node.ReadySince).Round(time.Minute), h.Have.Status),
		Remedy: "check that the service can reach the API server of the cluster: a hub uses the kubeconfig in the Secret that the " +
			"ClusterDeployment names",
	})
}

// isOld reports whether a node was there before the host was installed: while it is, no request for a certificate of
// that name is approved, from any machine.
func (a *joins) isOld(h Host, node *model.Node) bool {
	since := h.Have.Rebooted // by the service's own date
	if since.IsZero() || !node.Created.Before(since.Add(-skew)) {
		return false
	}
	a.block(model.Blocker{
		Key: string(scopeOf(h)) + "/old", Scope: scopeOf(h), Reason: "NodeNameTaken", Cure: a.forPerson(), Hosts: []string{h.Name},
		Message: fmt.Sprintf("the cluster has a node %s that is older than the installation of %s. While it exists, no certificate is "+
			"issued for that name",
			node.Name, h.Name),
		Remedy: model.Advicef("if the machine of that node does not exist any more: kubectl delete node %s (if LVM Storage runs on it, "+
			"this also deletes its volumes)",
			listtext.Quoted(node.Name)),
	})
	return true
}

// skew is how much the clocks of the service and of the installed cluster may differ.
const skew = time.Minute

// awaitNode waits for a host to join, if there is no other report about it.
func (a *joins) awaitNode(h Host) {
	since := rebooted(a.Question, h.Have)
	key := string(scopeOf(h)) + "/join"
	if a.said(h) {
		return
	}
	if !since.IsZero() && a.Now.Sub(since) > joinsWithin {
		a.block(model.Blocker{
			Key: key, Scope: scopeOf(h), Reason: "NodeNotJoined", Cure: model.CurePerson, Since: since.Add(joinsWithin), Hosts: []string{h.Name},
			Message: fmt.Sprintf("%s rebooted %s ago, but %s", h.Name, a.Now.Sub(since).Round(time.Minute), a.howFar(h)),
			Remedy: "look at its console: does it boot from its disk, and does it reach the cluster's API (port 6443) and machine config " +
				"server (port 22623)?",
		})
		return
	}
	a.wait(model.Wait{Key: key, Scope: scopeOf(h), Who: model.WhoMachine, Since: since,
		For: h.Name + " to boot from its disk and join the cluster"})
}

// howFar is how far a host got that is no node.
func (a *joins) howFar(h Host) string {
	for _, v := range a.named(h, model.RequestClient) {
		if request := a.request(v.Name); request != nil && request.Approved {
			return "was given a certificate, but has not registered as a node"
		}
	}
	return "has not asked for a certificate"
}

// said reports whether there is a report about a host already.
func (a *joins) said(h Host) bool {
	scope := scopeOf(h)
	return slices.ContainsFunc(a.answer.Actions, func(x model.Action) bool { return x.Scope == scope }) ||
		slices.ContainsFunc(a.answer.Waits, func(x model.Wait) bool { return x.Scope == scope }) ||
		slices.ContainsFunc(a.answer.Blockers, func(x model.Blocker) bool { return x.Scope == scope })
}

// awaitReady reports whether the node is Ready.
func (a *joins) awaitReady(h Host, node *model.Node) bool {
	if node.Ready {
		return a.awaitSchedulable(h, node)
	}
	why := cmp.Or(node.Message, node.Reason, "its kubelet has not reported yet")
	key, since := string(scopeOf(h))+"/ready", cmp.Or(node.ReadySince, node.Created)
	if a.Now.Sub(node.Created) > readyWithin && a.Now.Sub(since) > readyWithin {
		a.block(model.Blocker{
			Key: key, Scope: scopeOf(h), Reason: "NodeNotReady", Cure: model.CurePerson, Since: since.Add(readyWithin), Hosts: []string{h.Name},
			Message: fmt.Sprintf("the node %s has not been Ready for %s: %s", node.Name, a.Now.Sub(since).Round(time.Minute), why),
			Remedy: "kubectl describe node, and look at the network operator's pods on it: kubectl get pods -A --field-selector " +
				"spec.nodeName=NODE",
		})
		return false
	}
	a.wait(model.Wait{Key: key, Scope: scopeOf(h), Who: model.WhoMachine, Since: since,
		For: fmt.Sprintf("the node %s to be Ready: %s", node.Name, why)})
	return false
}

// awaitSchedulable reports whether pods can be scheduled on a node that is Ready.
func (a *joins) awaitSchedulable(h Host, node *model.Node) bool {
	why := ""
	for _, t := range node.Taints {
		if t.Key == "node.cloudprovider.kubernetes.io/uninitialized" || strings.HasPrefix(t.Key, "node.kubernetes.io/") &&
			t.Key != "node.kubernetes.io/unschedulable" {
			why = "its taint " + t.Key + " to go"
		}
	}
	if node.Cordoned {
		why = "it to be uncordoned"
	}
	if why == "" {
		return true
	}
	a.wait(model.Wait{Key: string(scopeOf(h)) + "/schedulable", Scope: scopeOf(h), Who: model.WhoService, Since: node.ReadySince,
		For: fmt.Sprintf("the node %s to take work: it waits for %s", node.Name, why)})
	return false
}

// awaitConfig reports whether the machine config operator is done with the node, or will not get on with it: a pool
// that is paused or degraded is reported, and the run does not wait for it.
func (a *joins) awaitConfig(h Host, node *model.Node) bool {
	p := a.spoke.Pool(pool(h))
	if len(a.spoke.Pools) == 0 || node.Config.Done() && (p == nil || p.Paused || p.Config == "" || p.Config == node.Config.Desired) {
		return true
	}
	key := string(scopeOf(h)) + "/config"
	stuck := func(reason, what string) bool {
		a.warn(model.Warning{Key: key, Scope: scopeOf(h), Reason: reason,
			Message: fmt.Sprintf("oaictl does not wait for the machine config of %s: %s",
				node.Name, what), Next: "kubectl get machineconfigpools"})
		return true
	}
	switch {
	case node.Config.State == "Degraded", node.Config.State == "Unreconcilable":
		a.block(model.Blocker{
			Key: key, Scope: scopeOf(h), Reason: "NodeDegraded", Cure: model.CurePerson, Hosts: []string{h.Name},
			Message: fmt.Sprintf("the machine config daemon of %s has stopped with an error: %s",
				node.Name, cmp.Or(node.Config.Reason, "it does not say why")),
			Remedy: "kubectl describe machineconfigpools, and the logs of the machine-config-daemon on that node",
		})
		return false
	case p != nil && p.Paused:
		return stuck("PoolPaused", "its pool "+p.Name+" is paused")
	case p != nil && p.Degraded:
		return stuck("PoolDegraded", fmt.Sprintf("its pool %s is degraded: %s", p.Name, p.Message))
	}
	if since := cmp.Or(node.ReadySince, node.Created); node.Ready && a.Now.Sub(since) > configuredWithin {
		a.block(model.Blocker{
			Key: key, Scope: scopeOf(h), Reason: "NodeNotConfigured", Cure: model.CurePerson, Hosts: []string{h.Name},
			Since: since.Add(configuredWithin),
			Message: fmt.Sprintf("%s has had the wrong machine config for %s: it has %s, expected %s (%s)", node.Name,
				a.Now.Sub(since).Round(time.Minute),
				cmp.Or(node.Config.Current, "none"), cmp.Or(node.Config.Desired, "none"), cmp.Or(node.Config.State, "not begun")),
			Remedy: "kubectl get machineconfigpools: the pool may be waiting for another node, or the node belongs to another pool",
		})
		return false
	}
	a.wait(model.Wait{
		Key: key, Scope: scopeOf(h), Who: model.WhoService, Since: node.Created,
		For: fmt.Sprintf("%s to get its machine config (%s)", node.Name, cmp.Or(node.Config.State, "not begun")),
	})
	return false
}

// Settle answers whether the operators of the cluster are no worse than when the loop began, once the nodes are Ready.
// What is still worse after a while is reported, and the run does not wait for it any longer.
func Settle(q Question) (answer Answer, worse []string) {
	a := newAsker(q)
	since := a.readySince()
	var texts []string
	for i := range a.spoke.Operators {
		o := &a.spoke.Operators[i]
		switch before, known := q.Memory.Operators[o.Name]; {
		case o.Well():
		case known && !before, q.Memory.Operators == nil: // which a single look cannot compare
			a.warn(model.Warning{
				Key: "spoke/operator/" + o.Name, Scope: model.ScopeCluster, Reason: "OperatorDegraded",
				Message: fmt.Sprintf("the operator %s is not healthy. It was not healthy before, as far as oaictl knows, so oaictl does "+
					"not wait for it: %s", o.Name,
					cmp.Or(o.Message, "it does not say why")),
			})
		default:
			worse = append(worse, o.Name)
			texts = append(texts, fmt.Sprintf("%s (%s)", o.Name, cmp.Or(o.Message, "it does not say why")))
		}
	}
	if len(worse) == 0 || q.Now.Sub(since) > settlesWithin {
		return a.answer, worse
	}
	a.wait(model.Wait{
		Key: "spoke/operators", Scope: model.ScopeCluster, Who: model.WhoService, Since: since,
		For: "the cluster's operators to be as healthy as before: " + listtext.ListText(texts),
	})
	return a.answer, nil
}
