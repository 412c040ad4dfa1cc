package rewording

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/oaictl/oaictl/pkg/capi/api/bootstrap/v1beta1"
	"github.com/oaictl/oaictl/pkg/install/model"
)

// Reasons of CertificateRequestPending, and the reasons of the library's blockers that it summarizes.
const (
	reasonPending   = "CertificateRequestPending"
	reasonRefused   = "RequestRefused"
	reasonNoRequest = "NoCertificateRequestPending"
)

// Node is what a plan says of the node of a Machine: whether a certificate request of it waits for a person, with
// the command that answers it, as the condition CertificateRequestPending of the Machine's objects; and what else
// keeps the node, a sentence each.
func Node(plan *model.Plan, machine string) (pending metav1.Condition, others []string) {
	scope := model.ScopeNode.Of(machine)
	var requests []string
	for _, b := range plan.Blockers {
		switch {
		case b.Scope != scope:
		case b.Reason == reasonPending || b.Reason == reasonRefused:
			requests = append(requests, Sentence(b.Message, b.Remedy))
		default:
			others = append(others, Sentence(b.Message, b.Remedy))
		}
	}
	for _, w := range plan.Waits {
		if w.Scope == scope && w.Who == model.WhoUser && w.Next != "" {
			requests = append(requests, Sentence("waiting for "+w.For, w.Next))
		}
	}
	pending = metav1.Condition{Type: bootstrapv1.CertificateRequestPendingCondition, Status: metav1.ConditionFalse, Reason: reasonNoRequest}
	if len(requests) > 0 {
		pending.Status, pending.Reason, pending.Message = metav1.ConditionTrue, reasonPending, Lines(requests)
	}
	return pending, others
}
