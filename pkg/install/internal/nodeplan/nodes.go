// Package nodeplan decides about the nodes of an installed cluster: which certificate requests are approved, what a joining
// node still lacks, what prevents a host from becoming a node, and how a node is removed. It is pure.
package nodeplan

import (
	"fmt"
	"strings"
	"time"

	"github.com/oaictl/oaictl/internal/shared/statuses"
	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// Question is what is asked: how hosts get on with becoming nodes of the cluster that was
// observed.
type Question struct {
	Desired  *model.Desired // as it is desired of the cluster as it was observed
	Observed *model.Observed
	Memory   model.Memory
	Now      time.Time // on the service's clock
	// Hosts are those that the question is about.
	Hosts []Host
}

// About is the question about other hosts.
func (q *Question) About(hosts ...Host) Question {
	about := *q
	about.Hosts = hosts
	return about
}

// Answers reports whether the installed cluster can be worked with.
func (q *Question) Answers() bool { return q.Observed.Spoke != nil && q.Observed.Spoke.Trouble == "" }

// Host is a host that becomes a node, or is to.
type Host struct {
	Name string      // in the file, else the service's
	Want *spec.Host  // nil for one that the file does not name
	Have *model.Host // nil for one that has not registered
	// Asked is the name by which its removal was asked for, and Several are the hosts of the
	// service that have it, where that is not one.
	Asked   string
	Several []string

	hostname string // that the node has where no record says it
}

// Answer is what follows for the hosts.
type Answer struct {
	Actions  []model.Action
	Waits    []model.Wait
	Blockers []model.Blocker
	Warnings []model.Warning
	Requests []model.RequestVerdict
	// Questions are those that only a person can answer.
	Questions []model.RequestVerdict
	// Ready are the hosts whose nodes take work, by their names.
	Ready []string
	// Removals are the nodes that are to be removed, with what is still to be done.
	Removals []model.NodeRemoval
}

// answerBuilder gathers an answer.
type answerBuilder struct {
	Question
	spoke  *model.Spoke
	answer Answer
}

func newAsker(q Question) *answerBuilder { return &answerBuilder{Question: q, spoke: q.Observed.Spoke} }

func (a *answerBuilder) act(x model.Action) {
	if !a.Desired.Options.ReadOnly {
		a.answer.Actions = append(a.answer.Actions, x)
	}
}
func (a *answerBuilder) wait(x model.Wait)     { a.answer.Waits = append(a.answer.Waits, x) }
func (a *answerBuilder) block(x model.Blocker) { a.answer.Blockers = append(a.answer.Blockers, x) }
func (a *answerBuilder) warn(x model.Warning)  { a.answer.Warnings = append(a.answer.Warnings, x) }

// Reached answers whether the installed cluster can be worked with at all: that its API server
// answers, and that it is the cluster that is meant.
func Reached(q Question) Answer {
	a := newAsker(q)
	a.reached()
	return a.answer
}

func (a *answerBuilder) reached() {
	name := a.Desired.Spec.Metadata.Name
	const key = "spoke/reached"
	switch s := a.spoke; {
	case s.TroubleKind == model.TroubleNoKubeconfig:
		a.block(model.Blocker{
			Key: key, Scope: model.ScopeCluster, Reason: "NoClusterKubeconfig", Cure: model.CureNow,
			Message: "oaictl cannot see the nodes of " + name + ": " + s.Trouble,
			Remedy:  a.otherwise("give the installed cluster's own kubeconfig, --cluster-kubeconfig FILE"),
		})
	case s.TroubleKind == model.TroubleCredentials:
		a.block(model.Blocker{
			Key: key, Scope: model.ScopeCluster, Reason: "ClusterAccess", Cure: model.CureAuth,
			Message: fmt.Sprintf("the API server of %s rejects the credentials of %s: %s", name, s.From, s.Trouble),
			Remedy:  model.Command("kubeconfig refresh", name) + ", or give another kubeconfig of its administrator, --cluster-kubeconfig FILE",
		})
	case s.Trouble != "" && !s.Since.IsZero() && a.Now.Sub(s.Since) > answersWithin:
		a.block(model.Blocker{
			Key: key, Scope: model.ScopeCluster, Reason: ReasonUnreachable, Cure: model.CurePerson, Since: s.Since.Add(answersWithin),
			Message: fmt.Sprintf("the API server of %s has not answered for %s: %s", name, a.Now.Sub(s.Since).Round(time.Minute), s.Trouble),
			Remedy:  a.otherwise("repair the API server, or give a kubeconfig that reaches it from here, --cluster-kubeconfig FILE"),
		})
	case s.Trouble != "":
		if s.ID == "" && a.Desired.Options.AddNodes {
			a.warn(model.Warning{
				Key: "spoke/unseen", Scope: model.ScopeCluster, Reason: "ClusterUnseen",
				Message: fmt.Sprintf("the API server of %s does not answer: until it does, oaictl boots hosts without a check that they do "+
					"not conflict with the cluster's nodes", name),
				Next: a.otherwise("give a kubeconfig that reaches it from here, --cluster-kubeconfig FILE"),
			})
		}
		a.wait(model.Wait{Key: key, Scope: model.ScopeCluster, Who: model.WhoService, Since: s.Since,
			For: fmt.Sprintf("the API server of %s to answer: %s", name, s.Trouble)})
	default:
		a.isMeant(key)
	}
}

// otherwise is advice, and how to do without the cluster.
func (a *answerBuilder) otherwise(next model.Advice) model.Advice {
	if a.Desired.Options.Remove != nil {
		return next
	}
	return next + ", or do not wait for the nodes, --until added"
}

// ReasonUnreachable is the reason of the blocker of a cluster that does not answer: everything that can be done without
// the cluster goes on.
const ReasonUnreachable = "ClusterUnreachable"

// answersWithin is how long an API server may be away until a person is to look at it.
const answersWithin = 15 * time.Minute

// IsMeant reports whether the installed cluster that answers is the one that is meant.
func IsMeant(q Question) bool { return len(Reached(q).Blockers) == 0 }

// isMeant holds what the cluster says of itself against what the service knows of it.
func (a *answerBuilder) isMeant(key string) {
	s, c := a.spoke, a.Observed.Cluster
	is, means := c.Identity(s.ID, s.API, a.Desired.FullName())
	if strings.EqualFold(is, means) {
		return
	}
	if is == "" {
		is = "a cluster without a known ID"
	}
	a.block(model.Blocker{
		Key: key, Scope: model.ScopeCluster, Reason: "OtherCluster", Cure: model.CureNow,
		Message: fmt.Sprintf("the kubeconfig %s is for another cluster: it reaches %s, but %s is %s", s.From, is,
			a.Desired.Spec.Metadata.Name, means),
		Remedy: "give the kubeconfig of this cluster, --cluster-kubeconfig FILE",
	})
}

// node is the node that a host has become, or nil.
func (a *answerBuilder) node(h Host) *model.Node {
	if h.Have == nil || h.Have.Hostname == "" {
		return nil
	}
	return a.spoke.NodeByName(h.Have.Hostname)
}

// pool is the machine config pool that a host joins.
func pool(h Host) string {
	if h.Want != nil && h.Want.MachineConfigPool != "" {
		return h.Want.MachineConfigPool
	}
	role := spec.Worker
	switch {
	case h.Want != nil && h.Want.Role != "" && h.Want.Role != spec.Auto:
		role = h.Want.Role
	case h.Have != nil && h.Have.Role != "" && h.Have.Role != spec.Auto:
		role = h.Have.Role
	}
	return statuses.RoleWord(role)
}

func scopeOf(h Host) model.Scope { return model.ScopeNode.Of(h.Name) }
