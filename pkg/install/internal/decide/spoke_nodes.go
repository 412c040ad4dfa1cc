package decide

import (
	"fmt"
	"slices"

	"github.com/oaictl/oaictl/internal/shared/listtext"
	"github.com/oaictl/oaictl/pkg/install/internal/nodeplan"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// spokeNodes asks package nodes how hosts get on with becoming nodes of the installed cluster.
type spokeNodes struct {
	*collector
	spec     *spec.Cluster
	question *nodeplan.Question
	roster   *roster
	members  *members
}

// meant reports whether hosts may be added as far as the installed cluster itself can
// say: that it does not answer keeps none from booting.
func (s *spokeNodes) meant() bool {
	if s.question.Observed.Spoke == nil {
		return true
	}
	answer := nodeplan.Reached(s.question.About())
	if len(s.members.newNodes()) == 0 { // those that are on their way are waited for as it is
		answer.Waits = nil
	}
	s.take(answer)
	return !slices.ContainsFunc(answer.Blockers, func(b model.Blocker) bool { return b.Reason != nodeplan.ReasonUnreachable })
}

// cannotJoin names the hosts of the file that could not become nodes as things stand, and says
// why. While others are on their way, the run goes on.
func (s *spokeNodes) cannotJoin(again []*spec.Host) []*spec.Host {
	if !s.question.Answers() {
		return nil
	}
	var hosts []nodeplan.Host
	under := false
	for i := range s.spec.Spec.Hosts {
		want := &s.spec.Spec.Hosts[i]
		have := s.roster.ByName[want.Name]
		switch of := membershipOf(have); {
		case slices.Contains(again, want):
		case of == outside, of == joining:
			hosts = append(hosts, nodeplan.Host{Name: want.Name, Want: want, Have: have})
			under = under || have != nil && started(have)
		}
	}
	answer := nodeplan.Ahead(s.question.About(hosts...))
	under = under || len(answer.Blockers) > 0 && s.isJoining()
	var not []*spec.Host
	for i := range answer.Blockers {
		for _, name := range answer.Blockers[i].Hosts {
			not = append(not, s.spec.Host(name))
		}
		if under {
			answer.Blockers[i].Cure = model.CurePerson
		}
	}
	s.take(answer)
	return not
}

// isJoining reports whether a host that was added of late is no node yet that takes work.
func (s *spokeNodes) isJoining() bool {
	late, _ := nodeplan.Late(s.question.About(s.members.newNodes()...))
	return len(nodeplan.Join(s.question.About(late...)).Ready) < len(late)
}

// registeredAgain are the hosts of the file that are nodes already, and have registered with the
// service once more, and what a person has to know about them.
func (s *spokeNodes) registeredAgain() (again []*spec.Host, told nodeplan.Answer) {
	if !s.question.Answers() || !nodeplan.IsMeant(s.question.About()) {
		return nil, told
	}
	var hosts []nodeplan.Host
	for i := range s.spec.Spec.Hosts {
		want := &s.spec.Spec.Hosts[i]
		if have := s.roster.ByName[want.Name]; membershipOf(have) == joining && have.Day2 {
			hosts = append(hosts, nodeplan.Host{Name: want.Name, Want: want, Have: have})
		}
	}
	hosts, told = nodeplan.Again(s.question.About(hosts...))
	for _, h := range hosts {
		again = append(again, h.Want)
	}
	return again, told
}

// recordedOtherwise refuses hosts of a file that only adds, if their machines are part of the cluster already under
// other names: nothing would be added, and the user would not know. Other hosts that are being added go on.
func (s *spokeNodes) recordedOtherwise(others bool) {
	for i := range s.spec.Spec.Hosts {
		want := &s.spec.Spec.Hosts[i]
		have := s.roster.ByName[want.Name]
		if !s.members.isAnother(want, have) {
			continue
		}
		b := nodeplan.Recorded(s.question.Desired, want, have, "match")
		if others {
			b.Cure = model.CurePerson
		}
		s.block(b)
	}
}

// join follows the hosts that run from their disks until their nodes take work.
func (s *spokeNodes) join() {
	if !s.question.Answers() {
		return
	}
	hosts, gone := nodeplan.Late(s.question.About(s.members.newNodes()...))
	s.take(gone)
	for _, w := range gone.Warnings {
		s.plan.Missing = append(s.plan.Missing, w.Scope.Host())
	}
	answer := nodeplan.Join(s.question.About(hosts...))
	s.take(answer)
	s.plan.Ready = answer.Ready
	if len(hosts) > len(answer.Ready) || len(hosts) == 0 || !s.atRest() {
		return
	}
	settled, worse := nodeplan.Settle(s.question.About(hosts...))
	s.take(settled)
	if len(worse) > 0 {
		s.end(model.VerdictDegraded, addedAndReady(answer.Ready)+", but these operators of the cluster are less healthy than before: "+
			listtext.ListText(worse),
			"kubectl get clusteroperators")
	}
}

// mark gives the nodes of hosts that have been part of the cluster for long what the file says of them. Nodes that
// were added recently get it as they join. It holds nothing up: what the cluster refuses is reported.
func (s *spokeNodes) mark() {
	if !s.question.Answers() || !nodeplan.IsMeant(s.question.About()) {
		return
	}
	fresh := s.members.newNodes()
	var old []nodeplan.Host
	for i := range s.spec.Spec.Hosts {
		want := &s.spec.Spec.Hosts[i]
		have := s.roster.ByName[want.Name]
		clear := len(s.roster.doubles[want.Name]) == 0 && have != nil && len(s.roster.several[have.ID]) == 0
		if !clear || membershipOf(have) != member || s.members.isAnother(want, have) {
			continue
		}
		if !slices.ContainsFunc(fresh, func(h nodeplan.Host) bool { return h.Name == want.Name && !nodeplan.LongAgo(h.Have, s.question.Now) }) {
			old = append(old, nodeplan.Host{Name: want.Name, Want: want, Have: have})
		}
	}
	answer := nodeplan.Marks(s.question.About(old...))
	for i := 0; i < len(answer.Actions); {
		a := answer.Actions[i]
		refused, was := s.question.Memory.Refused[a.Key]
		unattended := s.question.Desired.Options.Unattended
		if !was || refused.Inputs != a.Fingerprint() || unattended && !rests(refused, s.question.Desired.Options.Unattended, s.question.Now) {
			i++
			continue
		}
		if unattended {
			s.plan.TryAgain(refused)
		}
		answer.Actions = slices.Delete(answer.Actions, i, i+1)
		answer.Warnings = append(answer.Warnings, model.Warning{
			Key: a.Key, Scope: a.Scope, Reason: "NodeNotMarked", Next: model.Advice(refused.Next),
			Message: fmt.Sprintf("the node %s does not get the settings of %s: %s", a.Name, s.question.Desired.Source(), refused.Error),
		})
	}
	s.take(answer)
}

func addedAndReady(ready []string) string { return "added, and Ready: " + listtext.ListText(ready) }
