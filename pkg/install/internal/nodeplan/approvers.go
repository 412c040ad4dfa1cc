package nodeplan

import (
	"strings"
	"time"

	"github.com/oaictl/oaictl/pkg/install/model"
	"github.com/oaictl/oaictl/pkg/install/spec"
)

// dayOneSays is in the message by which the controller of an installation approves.
const dayOneSays = "approved by the assisted-installer-controller"

// dayOneLasts is how long after an approval of that controller it may still be there. It approves
// every half minute.
const dayOneLasts = 5 * time.Minute

// Approvers answers which other components will approve the requests for certificates of the hosts, if a person wants
// to decide: it is worth little to be asked while others approve without asking.
func Approvers(q Question) Answer {
	a := newAsker(q)
	mode := q.Desired.Options.Approve
	if mode != model.ApproveAsk && mode != model.ApproveOff {
		return a.answer
	}
	others := a.approvers()
	w := model.Warning{Key: "spoke/approvers", Scope: model.ScopeCluster, Reason: "OthersApprove"}
	switch {
	case len(others) > 0:
		w.Message = "regardless of --approve, certificate requests of nodes are also approved by " + strings.Join(others, "; by ")
		w.Next = "the file csr-audit.jsonl records what they approve"
	case mode == model.ApproveOff:
		w.Reason, w.Message = "NobodyApproves", "oaictl does not approve the certificate requests of nodes (--approve off), and it "+
			"knows of no other approver"
		w.Next = model.Advicef("approve each request when it comes: {approve NODE --cluster %s}", q.Desired.Spec.Metadata.Name)
	default:
		return a.answer
	}
	a.warn(w)
	return a.answer
}

// approvers are the components that approve beside oaictl, as far as can be seen, and what each approves.
func (a *answerBuilder) approvers() []string {
	var others []string
	s := a.spoke
	if s.MachineAPI && len(s.Machines) > 0 {
		others = append(others, "the cluster's machine-approver (for nodes that have a Machine)")
	}
	metal := s.MachineAPI && a.Desired.Spec.Spec.Boot.Method == spec.BootMetal3 // then it leaves them to the cluster
	if by := a.Observed.Cluster.Approver; by != "" && !metal {
		others = append(others, by+" (for the hosts that it adds)")
	}
	for i := range s.Requests {
		if r := &s.Requests[i]; r.Approved && strings.Contains(r.Message, dayOneSays) && a.Now.Sub(r.ConditionAt) < dayOneLasts {
			others = append(others, "the controller of the installation, which still runs (for all nodes)")
			break
		}
	}
	return others
}
