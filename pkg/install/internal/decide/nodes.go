package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/oaictl/oaictl/internal/shared/names"
	"github.com/oaictl/oaictl/pkg/install/internal/nodes"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// AsksSpoke reports whether the next decision needs to know of the installed cluster itself.
func AsksSpoke(desired *model.Desired, observed *model.Observed) bool {
	c := observed.Cluster
	return (desired.Options.AddNodes || desired.Options.Remove != nil) && c != nil && c.State.Installed()
}

// spokeIsMeant reports whether hosts may be added as far as the installed cluster itself can
// say: that it does not answer keeps none from booting.
func (p *planner) spokeIsMeant() bool {
	if p.observed.Spoke == nil {
		return true
	}
	answer := nodes.Reached(p.question.About())
	if len(p.members.newNodes()) == 0 { // those that are on their way are waited for as it is
		answer.Waits = nil
	}
	p.take(answer)
	return !slices.ContainsFunc(answer.Blockers, func(b model.Blocker) bool { return b.Reason != nodes.ReasonUnreachable })
}

// cannotJoin names the hosts of the file that could not become nodes as things stand, and says
// why. While others are on their way, the run goes on.
func (p *planner) cannotJoin(again []*spec.Host) []*spec.Host {
	if !p.question.Answers() {
		return nil
	}
	var hosts []nodes.Host
	under := false
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.roster.ByName[want.Name]
		switch of := membershipOf(have); {
		case slices.Contains(again, want):
		case of == outside, of == joining:
			hosts = append(hosts, nodes.Host{Name: want.Name, Want: want, Have: have})
			under = under || have != nil && started(have)
		}
	}
	answer := nodes.Ahead(p.question.About(hosts...))
	under = under || len(answer.Blockers) > 0 && p.isJoining()
	var not []*spec.Host
	for i := range answer.Blockers {
		for _, name := range answer.Blockers[i].Hosts {
			not = append(not, p.spec.Host(name))
		}
		if under {
			answer.Blockers[i].Cure = model.CurePerson
		}
	}
	p.take(answer)
	return not
}

// isJoining reports whether a host that was added of late is no node yet that takes work.
func (p *planner) isJoining() bool {
	late, _ := nodes.Late(p.question.About(p.members.newNodes()...))
	return len(nodes.Join(p.question.About(late...)).Ready) < len(late)
}

// registeredAgain are the hosts of the file that are nodes already, and have registered with the
// service once more, and what a person has to know about them.
func (p *planner) registeredAgain() (again []*spec.Host, told nodes.Answer) {
	if !p.question.Answers() || !nodes.IsMeant(p.question.About()) {
		return nil, told
	}
	var hosts []nodes.Host
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		if have := p.roster.ByName[want.Name]; membershipOf(have) == joining && have.Day2 {
			hosts = append(hosts, nodes.Host{Name: want.Name, Want: want, Have: have})
		}
	}
	hosts, told = nodes.Again(p.question.About(hosts...))
	for _, h := range hosts {
		again = append(again, h.Want)
	}
	return again, told
}

// recordedOtherwise refuses hosts of a file that only adds, if their machines are part of the cluster already under
// other names: nothing would be added, and the user would not know. Other hosts that are being added go on.
func (p *planner) recordedOtherwise(others bool) {
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.roster.ByName[want.Name]
		if !p.members.isAnother(want, have) {
			continue
		}
		b := nodes.Recorded(p.desired, want, have, "match")
		if others {
			b.Cure = model.CurePerson
		}
		p.block(b)
	}
}

// joinNodes follows the hosts that run from their disks until their nodes take work.
func (p *planner) joinNodes() {
	if !p.question.Answers() {
		return
	}
	hosts, gone := nodes.Late(p.question.About(p.members.newNodes()...))
	p.take(gone)
	for _, w := range gone.Warnings {
		p.plan.Missing = append(p.plan.Missing, w.Scope.Host())
	}
	answer := nodes.Join(p.question.About(hosts...))
	p.take(answer)
	p.plan.Ready = answer.Ready
	if len(hosts) > len(answer.Ready) || len(hosts) == 0 || !p.atRest() {
		return
	}
	settled, worse := nodes.Settle(p.question.About(hosts...))
	p.take(settled)
	if len(worse) > 0 {
		p.end(model.VerdictDegraded, addedAndReady(answer.Ready)+", but operators of the cluster are worse than before: "+names.Few(worse), "kubectl get clusteroperators")
	}
}

// markNodes gives the nodes of hosts that have been part of the cluster for long what the file says of them. Nodes that
// were added recently get it as they join. It holds nothing up: what the cluster refuses is reported.
func (p *planner) markNodes() {
	if !p.question.Answers() || !nodes.IsMeant(p.question.About()) {
		return
	}
	fresh := p.members.newNodes()
	var old []nodes.Host
	for i := range p.spec.Spec.Hosts {
		want := &p.spec.Spec.Hosts[i]
		have := p.roster.ByName[want.Name]
		clear := len(p.roster.doubles[want.Name]) == 0 && have != nil && len(p.roster.several[have.ID]) == 0
		if !clear || membershipOf(have) != member || p.members.isAnother(want, have) {
			continue
		}
		if !slices.ContainsFunc(fresh, func(h nodes.Host) bool { return h.Name == want.Name && !nodes.LongAgo(h.Have, p.now) }) {
			old = append(old, nodes.Host{Name: want.Name, Want: want, Have: have})
		}
	}
	answer := nodes.Marks(p.question.About(old...))
	for i := 0; i < len(answer.Actions); {
		a := answer.Actions[i]
		refused, was := p.memory.Refused[a.Key]
		unattended := p.options.Unattended
		if !was || refused.Inputs != a.Fingerprint() || unattended && !rests(refused, p.options.Unattended, p.now) {
			i++
			continue
		}
		if unattended {
			p.plan.TryAgain(refused)
		}
		answer.Actions = slices.Delete(answer.Actions, i, i+1)
		answer.Warnings = append(answer.Warnings, model.Warning{
			Key: a.Key, Scope: a.Scope, Reason: "NodeNotMarked", Next: model.Advice(refused.Next),
			Message: fmt.Sprintf("the node %s is not given what %s says of it: %s", a.Name, p.desired.Source(), refused.Error),
		})
	}
	p.take(answer)
}

func addedAndReady(ready []string) string { return "added, and Ready: " + names.Few(ready) }

// allReady ends the run: every host that was added is a node that takes work.
func (p *planner) allReady() {
	p.end(model.VerdictInstalled, addedAndReady(p.plan.Ready), model.Advicef("kubectl %s get nodes", p.kubeconfigFlag()))
}

// JudgeRequests judges the installed cluster's requests for certificates as if the file named
// the hosts of these names.
func JudgeRequests(desired *model.Desired, observed *model.Observed, memory model.Memory, now time.Time, of []string) []model.RequestVerdict {
	p := newPlanner(desired, observed, memory, now)
	var hosts []nodes.Host
	for i := range observed.Hosts {
		h := &observed.Hosts[i]
		if slices.Contains(of, p.roster.Call(h)) || slices.Contains(of, h.Hostname) || slices.Contains(of, h.ID) {
			hosts = append(hosts, nodes.Host{Name: p.roster.Call(h), Want: p.spec.Host(p.roster.Names[h.ID]), Have: h})
		}
	}
	return nodes.Judge(p.question.About(hosts...))
}
